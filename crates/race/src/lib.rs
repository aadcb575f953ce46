//! Races: compares real servers under different kernel settings, in interleaved, paired runs, and restores all
//! settings.
//!
//! A *load* ([`load::Load`]) is a server with its clients, or a benchmark. An *arm* is a set of kernel settings during
//! a load. The load does not know the arms: it starts every process through its [`workspace::Workspace`], which applies
//! the current arm.
//!
//! | module | holds |
//! |---|---|
//! | [`config`], [`shipped`] | race files; those shipped with the program |
//! | [`engine`] | order of runs, outside load, early end, verdicts: [`engine::race`] |
//! | [`arm`] | kinds of settings, one each a file |
//! | [`load`] | servers with clients, and benchmarks, one each a file |
//! | [`load_generator`], [`benchmarks`] | the built-in client of web servers; the built-in benchmarks |
//! | [`subprocess`] | how these two run as processes |
//! | [`workspace`], [`role`], `cgroup` | private folder of a run; servers and clients; their cgroups |
//! | [`measure`], [`sweep`] | figures of a run; runs at several numbers of connections |
//! | [`prediction`] | what the simulator predicts for a race |
//! | [`page`], [`doctor`] | the result as HTML; what races need of this machine |

pub mod arm;
pub mod benchmarks;
mod cgroup;
mod conclusion;
pub mod config;
pub mod doctor;
pub mod engine;
pub mod examination;
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
pub mod table;
pub mod text;
pub mod workspace;
