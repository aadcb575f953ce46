//! Behaviours: experiment files, rt-app files and work recovered from a recording.

pub mod experiment;
pub mod json;
pub mod machine;
pub mod models;
pub mod replay;
pub mod rtapp;
pub mod script;
