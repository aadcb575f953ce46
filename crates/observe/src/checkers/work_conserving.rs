//! Work conservation: no CPU idles while a task waits that may run there. Reported always; a violation only above a
//! requested tolerance, because real machines need time to react. Unknown for some affinities (see
//! `Tracker::idles_while_queued`).

use super::Invariant;
use goodness_core::{Span, Time};

pub(super) const INVARIANT: Invariant = Invariant {
    name: "work_conserving",
    summary: "No CPU idles longer than the tolerance asked for while a task waits that may run there.",
};

#[derive(Clone, Debug)]
pub(crate) struct WorkConserving {
    pub tolerance: Span,
    since: Option<Time>,
    longest: Span,
    unknown: bool,
}

impl Default for WorkConserving {
    fn default() -> Self {
        WorkConserving { tolerance: Span::MAX, since: None, longest: Span::ZERO, unknown: false }
    }
}

impl WorkConserving {
    /// True if the state has changed since the last entry.
    #[inline]
    pub fn changes(&self, idles: Option<bool>) -> bool {
        idles != Some(false) || self.since.is_some()
    }

    /// From `at` on, a CPU idles while a task waits, or does not, or it is unknown.
    pub fn changed(&mut self, at: Time, idles: Option<bool>) -> Option<String> {
        if idles == Some(true) {
            self.since.get_or_insert(at);
            return None;
        }
        self.unknown |= idles.is_none();
        let since = self.since.take()?;
        self.idled(since, at)
    }

    fn idled(&mut self, since: Time, until: Time) -> Option<String> {
        let span = until.since(since);
        self.longest = self.longest.max(span);
        let says = || format!("a CPU idled for {span} since {since} while a task waited that may run there");
        (span > self.tolerance).then(says)
    }

    /// The longest continuous time; `None` where it is unknown.
    pub fn longest(&self) -> Option<Span> {
        (!self.unknown).then_some(self.longest)
    }
}
