//! House rules as tests. Each rule is a file: a function from the tree to its findings, with a test on bad text. `cargo
//! test -p goodness-tidy` checks the repository against all of them.

pub mod code;
pub mod dependencies;
pub mod modules;
pub mod rules;
pub mod tree;

pub use rules::{RULES, Rule, incomplete_elevators, incomplete_policies};
pub use tree::{Finding, Source, Tree};
