//! Suites: unlike works on which the same arms are ranked together.

use crate::refusal::Refusal;
use goodness_core::spelling::suggest;

/// A named list of inputs.
#[derive(Debug)]
pub struct Suite {
    /// Its name.
    pub name: &'static str,
    /// Its purpose in one sentence.
    pub summary: &'static str,
    /// Shipped recordings and built-in workloads.
    pub inputs: &'static [&'static str],
}

/// All suites.
pub const SUITES: &[Suite] = &[
    Suite {
        name: "interactive",
        summary: "Tasks that somebody waits for, beside work that fills the CPU: how late do they run?",
        inputs: &["mixed", "mixed-cpu", "schbench"],
    },
    Suite {
        name: "server",
        summary: "A web server, a database and a cache under load, recorded on one CPU: how slow are the slowest \
                  requests?",
        inputs: &["apache-ab-c32-1cpu", "mariadb-sysbench-16", "redis-benchmark-8"],
    },
    Suite {
        name: "smp",
        summary: "A web server and a database, recorded on two CPUs: does placing and moving tasks help or harm?",
        inputs: &["apache-ab-c32-2cpu", "mariadb-sysbench-64"],
    },
];

/// Arms of a suite where none is named: settings and policies that a current kernel can have. All inputs have the same.
pub const ARMS: &[&str] =
    &["eevdf", "eevdf:base_slice=300us", "eevdf:base_slice=6ms", "cfs", "scx-bpfland", "scx-lavd"];

/// The suite called `name`.
///
/// # Errors
/// There is none; the nearest is named.
pub fn find(name: &str) -> Result<&'static Suite, Refusal> {
    SUITES.iter().find(|suite| suite.name == name).ok_or_else(|| {
        let near = suggest(name, SUITES.iter().map(|suite| suite.name));
        Refusal::usage(format!("there is no suite \"{name}\"")).remedy(near)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_input_of_a_suite_is_shipped_and_listed_once() {
        for suite in SUITES {
            for input in suite.inputs {
                let is_model = goodness_work::models::WORKLOADS.iter().any(|model| model.name == *input);
                assert!(is_model || crate::shipped::find(input).is_some(), "{}: {input}", suite.name);
                assert_eq!(suite.inputs.iter().filter(|it| *it == input).count(), 1, "{}: {input}", suite.name);
            }
        }
    }

    #[test]
    fn an_unknown_suite_is_refused_with_the_nearest() {
        assert_eq!(find("server").unwrap().name, "server");
        let why = find("sever").unwrap_err().to_string();
        assert!(why.contains("there is no suite \"sever\"") && why.contains("the nearest is \"server\""), "{why}");
    }
}
