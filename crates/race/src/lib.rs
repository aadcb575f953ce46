//! Races: compares real servers under different kernel settings, in interleaved, paired runs, and restores all
//! settings.
//!
//! A *load* ([`load::Load`]) is a server with its clients, or a benchmark. An *arm* is a set of kernel settings during
//! a load. The load does not know the arms: it starts every process through its [`workspace::Workspace`], which applies
//! the current arm.

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
