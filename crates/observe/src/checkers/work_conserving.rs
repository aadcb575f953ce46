//! Work conservation: no CPU idles while a task waits that may run there. A report; a violation only above a
//! tolerance that was asked for, since real machines need time to notice. Nothing is said where affinities leave
//! it unknown (see [`Tracker::idles_while_queued`]).

use super::Invariant;
use crate::tracker::Tracker;
use goodness_core::{Span, Time};

pub(super) const INVARIANT: Invariant = Invariant {
    name: "work_conserving",
    summary: "No CPU idles longer than the tolerance asked for while a task waits that may run there.",
};

#[derive(Clone, Debug)]
pub(super) struct WorkConserving {
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
    /// The state that the tracker shows has lasted since `from`, and time passes.
    #[inline]
    pub fn pass<T: Default>(&mut self, from: Time, tracker: &Tracker<T>) -> Option<String> {
        match tracker.idles_while_queued() {
            Some(false) if self.since.is_none() => None,
            idles => self.changed(from, idles),
        }
    }

    /// From `at` on a CPU idles while a task waits, or no longer does, or it cannot be known.
    fn changed(&mut self, at: Time, idles: Option<bool>) -> Option<String> {
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

    /// The run ended.
    pub fn at_end<T: Default>(&mut self, end: Time, tracker: &Tracker<T>) -> Option<String> {
        self.unknown |= tracker.idles_while_queued().is_none();
        let since = self.since.take()?;
        self.idled(since, end)
    }

    /// The longest time on end; `None` where it is unknown.
    pub fn longest(&self) -> Option<Span> {
        (!self.unknown).then_some(self.longest)
    }
}
