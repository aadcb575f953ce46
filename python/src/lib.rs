//! The Python module `goodness._goodness`; empty without feature `wheel`.
//!
//! The package `goodness` beside it gives names, defaults and types to what is here.

#![cfg(feature = "wheel")]

mod call;
mod command;
mod compare;
mod comparison;
mod contract;
mod differ;
mod document;
mod error;
mod explain;
mod figure;
mod lists;
mod notebook;
mod policy;
mod policy_view;
mod question;
mod studies;
mod suite;
mod sweep;
mod table;
mod tuning;
mod verify;
mod waiting;
mod work;

/// The native part of the package `goodness`.
#[pyo3::pymodule]
mod _goodness {
    #[pymodule_export]
    use super::command::command;
    #[pymodule_export]
    use super::compare::compare;
    #[pymodule_export]
    use super::comparison::Comparison;
    #[pymodule_export]
    use super::contract::check_contract;
    #[pymodule_export]
    use super::differ::{Difference, diff_arms, diff_recordings, diff_results, is_result};
    #[pymodule_export]
    use super::explain::{Explanation, why};
    #[pymodule_export]
    use super::figure::Figure;
    #[pymodule_export]
    use super::lists::listed;
    #[pymodule_export]
    use super::policy_view::{Context, Task};
    #[pymodule_export]
    use super::studies::Results;
    #[pymodule_export]
    use super::studies::study;
    #[pymodule_export]
    use super::suite::{Suite, ranked_together, suite_inputs};
    #[pymodule_export]
    use super::sweep::{SweepFolder, SweepSummary, compute_cells};
    #[pymodule_export]
    use super::table::Table;
    #[pymodule_export]
    use super::tuning::{Tuning, tune};
    #[pymodule_export]
    use super::verify::{Verification, verify};
    #[pymodule_export]
    use super::work::{Work, open_work};

    /// Version of the package.
    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");
}
