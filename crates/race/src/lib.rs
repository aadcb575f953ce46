//! Races: real servers under what the kernel of this machine offers, run in pairs, interleaved, and restored.
//!
//! A *load* ([`load::Load`]) is a server with its clients, or a benchmark; an *arm* is what the kernel is set to while
//! a load runs. The load knows nothing of arms: it starts every process through its [`place::Place`], which puts the
//! process under the arm that is being run.

pub mod arm;
pub mod bench;
pub mod beside;
pub mod cell;
pub mod client;
pub mod config;
pub mod doctor;
pub mod engine;
pub mod load;
pub mod measure;
pub mod page;
pub mod part;
pub mod place;
pub mod predict;
pub mod shipped;
