//! Races: real servers under what the kernel of this machine offers, run in pairs, interleaved, and restored.
//!
//! A *load* ([`load::Load`]) is a server with its clients, or a benchmark; an *arm* is what the kernel is set to while
//! a load runs. The load knows nothing of arms: it starts every process through its [`workspace::Workspace`], which
//! puts the process under the arm that is being run.

pub mod arm;
pub mod benchmarks;
pub mod cgroup;
pub mod config;
pub mod doctor;
pub mod engine;
mod latency;
pub mod load;
pub mod load_error;
pub mod load_generator;
pub mod measure;
pub mod page;
pub mod parameter;
pub mod prediction;
pub mod role;
pub mod shipped;
pub mod subprocess;
pub mod sweep;
pub mod workspace;
