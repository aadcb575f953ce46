//! Effort of a decision. Policies count the elements they examine; the host's machine turns them into time.

use std::cell::Cell;

/// Kinds of elements a policy examines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// A candidate looked at while searching the next task.
    Search,
    /// A task whose counters were recalculated.
    Recalculate,
    /// A step of an ordered insertion or removal (a tree level, a list element passed).
    Insert,
    /// A queue or task looked at for placement or balancing.
    Balance,
}

impl Effort {
    /// All kinds, in the order of [`EffortMeter::take`].
    pub const ALL: [Effort; 4] = [Effort::Search, Effort::Recalculate, Effort::Insert, Effort::Balance];

    /// Name used in reports and JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Effort::Search => "search",
            Effort::Recalculate => "recalculate",
            Effort::Insert => "insert",
            Effort::Balance => "balance",
        }
    }
}

/// Counts effort between two readings by the host.
#[derive(Clone, Debug, Default)]
pub struct EffortMeter([Cell<u32>; 4]);

impl EffortMeter {
    /// Reports `elements` more of `kind`.
    #[inline]
    pub fn add(&self, kind: Effort, elements: u32) {
        let cell = &self.0[kind as usize];
        cell.set(cell.get().saturating_add(elements));
    }

    /// Effort reported since the last call, by kind in the order of [`Effort::ALL`].
    #[inline]
    pub fn take(&self) -> [u32; 4] {
        [self.0[0].take(), self.0[1].take(), self.0[2].take(), self.0[3].take()]
    }
}
