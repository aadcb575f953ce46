//! Only what talks to the kernel may step outside the language's guarantees, with its reason beside it.

use super::Rule;
use crate::code;
use crate::tree::{Finding, Tree};

pub(super) const RULE: Rule =
    Rule { name: "unsafe_code", summary: "Unsafe code is in crates/kernel, and has its reason beside it.", check };

/// Lines above unsafe code in which its reason may stand.
const NEAR: usize = 6;

fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.rust() {
        for at in code::places(&file.code, "unsafe") {
            if !file.path.starts_with("crates/kernel/") {
                findings.push(file.finding(at, "unsafe code belongs into crates/kernel".into()));
            } else if !has_reason(&file.text, at) {
                let missing = "write why this is sound above it: SAFETY, or # Safety for callers of a function";
                findings.push(file.finding(at, missing.into()));
            }
        }
    }
    findings
}

/// True if the reason for the unsafe code at byte `at` is told close above it.
fn has_reason(text: &str, at: usize) -> bool {
    let end = text[at..].find('\n').map_or(text.len(), |length| at + length);
    text[..end].lines().rev().take(NEAR + 1).any(|line| line.contains("SAFETY") || line.contains("# Safety"))
}

#[cfg(test)]
mod tests {
    use super::super::found;
    use super::*;

    #[test]
    fn unsafe_code_is_found_outside_kernel() {
        assert_eq!(found(&RULE, "crates/sim/src/a.rs", "unsafe { b() }").len(), 1);
        assert_eq!(found(&RULE, "crates/kernel/sys/src/a.rs", "// SAFETY: b is pure.\nunsafe { b() }").len(), 0);
        assert_eq!(found(&RULE, "crates/kernel/sys/src/a.rs", "unsafe { b() }").len(), 1);
        assert_eq!(found(&RULE, "crates/kernel/sys/src/a.rs", "/// # Safety\n/// Once.\nunsafe fn b() {}").len(), 0);
        assert_eq!(found(&RULE, "crates/sim/src/a.rs", "#![deny(unsafe_op_in_unsafe_fn)] // unsafe").len(), 0);
    }
}
