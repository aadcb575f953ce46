//! The list of rules.

mod architecture;
mod banned_calls;
mod banned_names;
mod c_builds;
mod changelog;
mod citations;
mod cli_length;
mod columns;
mod file_length;
mod function_length;
mod head_comment;
mod import_circles;
mod leftover_markers;
mod machine_paths;
mod one_line;
mod paths;
mod policies;
mod test_names;
mod unsafe_code;

pub use policies::{incomplete_elevators, incomplete_policies};

use crate::tree::{Finding, Tree};

/// A house rule.
#[derive(Clone, Copy)]
pub struct Rule {
    /// Name.
    pub name: &'static str,
    /// Summary in one sentence.
    pub summary: &'static str,
    /// Finds what breaks the rule.
    pub check: fn(&Tree) -> Vec<Finding>,
}

/// Every rule that text alone decides.
pub const RULES: &[Rule] = &[
    function_length::RULE,
    file_length::RULE,
    cli_length::RULE,
    columns::RULE,
    head_comment::RULE,
    banned_names::RULE,
    banned_calls::RULE,
    unsafe_code::RULE,
    test_names::RULE,
    leftover_markers::RULE,
    changelog::RULE,
    citations::RULE,
    paths::RULE,
    machine_paths::RULE,
    one_line::RULE,
    architecture::RULE,
    import_circles::RULE,
    c_builds::RULE,
];

/// Findings of a rule in one file, as `line: sentence`, for the rules' tests.
#[cfg(test)]
fn found(rule: &Rule, path: &str, text: &str) -> Vec<String> {
    (rule.check)(&Tree::of(&[(path, text)])).iter().map(|f| format!("{}: {}", f.line, f.sentence)).collect()
}
