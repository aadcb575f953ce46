//! Only what talks to the kernel may step outside the language's guarantees.

use super::Rule;
use crate::code;
use crate::tree::{Finding, Tree};

pub(super) const RULE: Rule =
    Rule { name: "unsafe_code", summary: "There is no unsafe code outside crates/kernel.", check };

fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.rust().filter(|f| !f.path.starts_with("crates/kernel/")) {
        for at in code::places(&file.code, "unsafe") {
            findings.push(file.finding(at, "unsafe code belongs into crates/kernel, with its reason beside it".into()));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::found;
    use super::*;

    #[test]
    fn unsafe_code_is_found_outside_kernel() {
        assert_eq!(found(&RULE, "crates/sim/src/a.rs", "unsafe { b() }").len(), 1);
        assert_eq!(found(&RULE, "crates/kernel/sys/src/a.rs", "unsafe { b() }").len(), 0);
        assert_eq!(found(&RULE, "crates/sim/src/a.rs", "#![deny(unsafe_op_in_unsafe_fn)] // unsafe").len(), 0);
    }
}
