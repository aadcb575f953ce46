//! House rules, as tests. Each rule is a file: a function from the tree to what breaks it, and a test that shows it
//! a bad piece of text. `cargo test -p goodness-tidy` holds the repository against all of them.

pub mod code;
pub mod modules;
pub mod rules;
pub mod tree;

pub use rules::{RULES, Rule, incomplete_elevators, incomplete_policies};
pub use tree::{Finding, Source, Tree};
