//! Functions fit on a screen.

use super::Rule;
use crate::code;
use crate::tree::{Finding, Source, Tree};

pub(super) const RULE: Rule =
    Rule { name: "function_length", summary: "A function has at most 50 lines, tests included.", check };

const MOST_LINES: usize = 50;

/// Exceptions: file, name, reason. An unnecessary entry is a finding.
const EXCEPTIONS: &[(&str, &str, &str)] = &[];

fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings: Vec<Finding> = tree.rust().flat_map(|file| long_functions(file, EXCEPTIONS)).collect();
    findings.extend(needless_exceptions(tree, EXCEPTIONS));
    findings
}

fn long_functions(file: &Source, exceptions: &[(&str, &str, &str)]) -> Vec<Finding> {
    let too_long = |(at, name): (usize, &str)| {
        let lines = lines_of(file, at)?;
        let excepted = exceptions.iter().any(|(path, function, _)| *path == file.path && *function == name);
        let says = || format!("fn {name} has {lines} lines; split it so that none has more than {MOST_LINES}");
        (lines > MOST_LINES && !excepted).then(|| file.finding(at, says()))
    };
    code::names(&file.code, "fn").filter_map(too_long).collect()
}

fn lines_of(file: &Source, at: usize) -> Option<usize> {
    let body = code::body(&file.code, at)?;
    Some(file.code[at..body.end].bytes().filter(|b| *b == b'\n').count() + 1)
}

fn needless_exceptions(tree: &Tree, exceptions: &[(&str, &str, &str)]) -> Vec<Finding> {
    let needed = |(path, name, _): &(&str, &str, &str)| {
        tree.get(path).is_some_and(|file| {
            code::names(&file.code, "fn")
                .any(|(at, found)| found == *name && lines_of(file, at).is_some_and(|lines| lines > MOST_LINES))
        })
    };
    let unneeded = exceptions.iter().filter(|exception| !needed(exception));
    unneeded
        .map(|(path, name, _)| Finding {
            path: (*path).into(),
            line: 0,
            sentence: format!("fn {name} needs no exception any more; take it off the list"),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(name: &str, lines: usize) -> String {
        format!("fn {name}() {{\n{}}}\n", "    work();\n".repeat(lines - 2))
    }

    #[test]
    fn a_function_of_51_lines_is_found_and_one_of_50_is_not() {
        let text = function("fits", 50) + &function("bursts", 51);
        let found = super::super::found(&RULE, "crates/x/src/a.rs", &text);
        assert_eq!(found, ["51: fn bursts has 51 lines; split it so that none has more than 50"]);
    }

    #[test]
    fn an_exception_holds_while_it_is_needed() {
        let exceptions = [("a.rs", "bursts", "a table"), ("a.rs", "fits", "was long once")];
        let tree = Tree::of(&[("a.rs", &(function("fits", 50) + &function("bursts", 51)))]);
        assert_eq!(long_functions(&tree.files[0], &exceptions), []);
        let needless = needless_exceptions(&tree, &exceptions);
        assert_eq!(needless.len(), 1);
        assert!(needless[0].sentence.contains("fn fits"));
    }
}
