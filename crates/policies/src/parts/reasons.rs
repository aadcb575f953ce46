//! Rules that several policies tell alike.

use goodness_core::Reason;

/// The rule by which a task of priority `own` is ahead of one of priority `other`, larger first; those of equal
/// priority take turns. `None` where a preemption is under way.
pub(crate) fn by_priority(own: i64, other: i64, is_pick: bool) -> Option<Reason> {
    match own.cmp(&other) {
        std::cmp::Ordering::Greater => Some(Reason::Priority { ahead: own as i32, waiting: other as i32 }),
        std::cmp::Ordering::Equal if is_pick => Some(Reason::First),
        std::cmp::Ordering::Equal => Some(Reason::SliceNotOver),
        std::cmp::Ordering::Less => None,
    }
}
