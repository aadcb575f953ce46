//! Where work comes from, and the machines it is done on.
//!
//! | module | holds |
//! |---|---|
//! | [`models`] | built-in workloads, by name |
//! | [`block_replay`] | work recovered from a trace of block I/O |
//! | [`experiment`] | experiment files (TOML) |
//! | [`fio`] | fio job files |
//! | [`rtapp`] | rt-app files, read by [`json`] |
//! | [`replay`] | work recovered from a recording |
//! | [`script`] | what all but `replay` compile to |
//! | [`machine`] | machines by name, as typed, or from a file |

pub mod block_replay;
pub mod experiment;
pub mod fio;
pub mod json;
pub mod machine;
pub mod models;
pub mod replay;
pub mod rtapp;
pub mod script;
pub mod soundness;
