//! Sources of work, and the machines it is done on.
//!
//! | module | holds |
//! |---|---|
//! | [`models`] | built-in workloads, by name |
//! | [`experiment`] | experiment files (TOML) |
//! | [`fio`] | fio job files |
//! | [`rtapp`] | rt-app files, read by [`json`] |
//! | [`script`] | what they all compile to |
//! | [`machine`] | machines by name, as typed, or from a file |
//! | [`text_file`] | small texts, read up to a limit |

pub mod experiment;
pub mod fio;
pub mod json;
pub mod machine;
pub mod models;
pub mod rtapp;
pub mod script;
pub mod soundness;
pub mod text_file;
