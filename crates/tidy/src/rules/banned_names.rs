//! Names are specific.

use super::Rule;
use crate::code;
use crate::tree::{Finding, Source, Tree};

pub(super) const RULE: Rule = Rule {
    name: "banned_names",
    summary: "No file, module, type or function is called after nothing in particular (utils, helper, manager, data, \
        info).",
    check,
};

/// Words without meaning anywhere in a name.
const ANYWHERE: [&str; 7] = ["util", "utils", "utility", "helper", "helpers", "manager", "misc"];
/// Words without meaning as a whole name, or as the last word of a type's.
const ALONE: [&str; 3] = ["data", "info", "stuff"];

fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in &tree.files {
        if is_banned(file.stem(), false) {
            findings.push(file.finding(0, sentence("file", file.stem())));
        }
        findings.extend(items(file));
    }
    findings
}

fn items(file: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (keyword, is_type) in
        [("mod", false), ("fn", false), ("struct", true), ("enum", true), ("trait", true), ("type", true)]
    {
        for (at, name) in code::names(&file.code, keyword) {
            if is_banned(name, is_type) {
                findings.push(file.finding(at, sentence(keyword, name)));
            }
        }
    }
    findings
}

fn sentence(kind: &str, name: &str) -> String {
    format!("the {kind} {name} is called after nothing in particular; name it after what it is or does")
}

fn is_banned(name: &str, is_type: bool) -> bool {
    let words = words(name);
    let last = words.last().map_or("", String::as_str);
    words.iter().any(|w| ANYWHERE.contains(&w.as_str())) || ((words.len() == 1 || is_type) && ALONE.contains(&last))
}

/// The words of a name in snake or camel case, in lower case.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    for c in name.chars() {
        if c == '_' || c == '-' || (c.is_uppercase() && words.last().is_some_and(|w| !w.is_empty())) {
            words.push(String::new());
        }
        if c.is_alphanumeric() {
            words.last_mut().expect("there is a first word").extend(c.to_lowercase());
        }
    }
    words.retain(|w| !w.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::super::found;
    use super::*;

    #[test]
    fn names_after_nothing_in_particular_are_found() {
        let text = "mod helpers; fn task_utils() {} struct TaskInfo; enum Manager {} fn data() {}";
        assert_eq!(found(&RULE, "crates/x/src/a.rs", text).len(), 5);
        assert_eq!(found(&RULE, "crates/x/src/utils.rs", "").len(), 1);
    }

    #[test]
    fn names_that_say_something_pass() {
        let text = "mod database; fn read_data_line() {} struct Information; fn utilisation() {} // helper";
        assert_eq!(found(&RULE, "crates/x/src/metadata.rs", text), [""; 0]);
    }
}
