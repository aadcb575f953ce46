//! What is run, on what, and what is known of it.

use crate::recorded::Recorded;
use goodness_core::{Machine, WorkloadSource};
use goodness_report::model::{self, Details};

/// Work that was opened: what [`crate::open`] found out by reading alone.
///
/// Work says what tasks want, not what they got: a recording's is recovered from what one policy let them do, an
/// experiment's is what somebody wrote. It is built anew for each replication ([`WorkloadSource::build`]), the same for
/// every policy. [`crate::Plan::of`] makes runs of it.
pub struct Work {
    /// The work.
    pub source: Box<dyn WorkloadSource>,
    /// On what.
    pub machine: Machine,
    /// For the report.
    pub about: model::Input,
    /// For people.
    pub details: Details,
    /// The recording behind the work, if it is one.
    pub recorded: Option<Recorded>,
}

impl Work {
    /// Work that is no recording, about which there is no more to say.
    pub fn of(source: impl WorkloadSource + 'static, machine: Machine, about: model::Input) -> Work {
        Work { source: Box::new(source), machine, about, details: Details::default(), recorded: None }
    }
}
