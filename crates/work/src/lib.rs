//! Sources of work, and machines to run it on.
//!
//! | module | contents |
//! |---|---|
//! | [`models`] | built-in workloads, by name |
//! | [`experiment`] | experiment files (TOML) |
//! | [`fio`] | fio job files |
//! | [`rtapp`] | rt-app files, parsed by [`json`] |
//! | [`container`] | CPU requests and limits of containers |
//! | [`key`] | keys of these files, for readers and the reference |
//! | [`script`] | the common form they compile to |
//! | [`machine`] | machines by name, as typed, or from a file |
//! | [`text_file`] | small text files, read up to a limit |
//! | [`workers`] | threads of a machine's kernel, beside the work |

pub mod container;
pub mod experiment;
pub mod fio;
pub mod json;
pub mod key;
pub mod machine;
pub mod models;
pub mod rtapp;
pub mod script;
pub mod soundness;
pub mod text_file;
pub mod workers;
