//! Opened work with its machine and description.

use crate::recorded::Recorded;
use goodness_core::{Machine, WorkloadSource};
use goodness_report::model::{self, Details};

/// Work read by [`crate::open`].
///
/// Work describes what tasks demand, not what they got. A recording's demand is recovered from its schedule; an
/// experiment states it. It is built anew for each replication ([`WorkloadSource::build`]), identically for every
/// policy. [`crate::Plan::of`] plans its runs.
pub struct Work {
    /// The work.
    pub source: Box<dyn WorkloadSource>,
    /// Machine.
    pub machine: Machine,
    /// For the report.
    pub about: model::Input,
    /// For people.
    pub details: Details,
    /// The recording behind the work, if it is one.
    pub recorded: Option<Recorded>,
}

impl Work {
    /// Work that is not a recording and has no further description.
    pub fn of(source: impl WorkloadSource + 'static, machine: Machine, about: model::Input) -> Work {
        Work { source: Box::new(source), machine, about, details: Details::default(), recorded: None }
    }
}
