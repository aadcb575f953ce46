//! Tells requests from control messages, after which a server does next to nothing, such as the end of a connection.
//!
//! A *visit* is a run of a server's task, from the message that wakes it until it waits again. The CPU times of visits
//! are split into short and long ones by Otsu's method (1979, on logarithms). There are control messages between two
//! programs if all of this holds:
//!
//! 1. Short and long visits are far apart: hardly any lies near the limit.
//! 2. A task's visits alternate between short and long more often than by chance. Hits and misses of a cache do not.
//! 3. Short visits wake no client: they answer nothing.

use goodness_core::{Span, TaskId};
use std::collections::BTreeMap;

/// Fewest visits for a decision. A choice.
pub const TELLING: usize = 32;
/// Classes of CPU time for each power of two.
const CLASSES: f64 = 4.0;

/// The run of a server's task for one message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Visit {
    /// The server's task.
    pub task: TaskId,
    /// CPU time.
    pub ran: Span,
    /// True if it woke its client.
    pub answered: bool,
}

/// The longest CPU time of a control message among these visits; `None` if there are none.
#[must_use]
pub fn limit(visits: &[Visit]) -> Option<Span> {
    if visits.len() < TELLING {
        return None;
    }
    let limit = class_limit(visits)?;
    let is_short = |visit: &Visit| class(visit.ran) < limit;
    let near = visits.iter().filter(|visit| class(visit.ran).abs_diff(limit) <= 1).count();
    let mut last = BTreeMap::new();
    let (mut followed, mut changed) = (0, 0);
    for visit in visits {
        if let Some(was_short) = last.insert(visit.task, is_short(visit)) {
            followed += 1;
            changed += usize::from(was_short != is_short(visit));
        }
    }
    let answers = visits.iter().filter(|visit| visit.answered).count();
    let short_answers = visits.iter().filter(|visit| visit.answered && is_short(visit)).count();
    // Of two kinds in any order, at most half of the neighbours differ.
    let are_control_messages =
        near * 50 <= visits.len() && changed * 100 >= followed * 55 && followed > 0 && short_answers * 50 <= answers;
    are_control_messages.then(|| Span(f64::exp2(limit as f64 / CLASSES) as u64))
}

/// Class of a CPU time on a logarithmic scale.
fn class(ran: Span) -> usize {
    ((ran.0.max(1) as f64).log2() * CLASSES) as usize
}

/// The first class of long visits: where the variance between the two halves is largest.
fn class_limit(visits: &[Visit]) -> Option<usize> {
    let mut counts = [0u64; 64 * CLASSES as usize + 1];
    for visit in visits {
        counts[class(visit.ran)] += 1;
    }
    let (all, sum) = counts.iter().enumerate().fold((0, 0), |(n, s), (at, count)| (n + count, s + at as u64 * count));
    let (mut below, mut sum_below) = (0, 0);
    let mut best: Vec<usize> = Vec::new();
    let mut most = 0.0;
    for (at, count) in counts.iter().enumerate() {
        if below > 0 && below < all {
            let mean = sum_below as f64 / below as f64 - (sum - sum_below) as f64 / (all - below) as f64;
            let between = below as f64 * (all - below) as f64 * mean * mean;
            if between > most {
                (most, best) = (between, vec![at]);
            } else if between == most {
                best.push(at);
            }
        }
        (below, sum_below) = (below + count, sum_below + at as u64 * count);
    }
    // All limits between two clusters are equally good: take the middle one.
    best.get(best.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn visit(task: u32, us: u64, answered: bool) -> Visit {
        Visit { task: TaskId(task), ran: Span::from_us(us), answered }
    }

    #[test]
    fn short_visits_that_alternate_with_long_ones_and_answer_nothing_are_control_messages() {
        let visits: Vec<Visit> =
            (0..100).map(|i| visit(i / 20, if i % 2 == 0 { 200 + u64::from(i) } else { 10 }, i % 4 == 0)).collect();
        let limit = limit(&visits).expect("two kinds");
        assert!(limit > Span::from_us(15) && limit < Span::from_us(190), "{limit}");
    }

    #[test]
    fn visits_of_a_cache_are_all_requests() {
        let mut chance = goodness_core::Seed(1).rng();
        let mut visits: Vec<Visit> =
            (0..400).map(|i| visit(i / 80, if chance.below(2) == 0 { 200 } else { 10 }, false)).collect();
        assert_eq!(limit(&visits), None, "short and long ones come by chance");
        for (i, it) in visits.iter_mut().enumerate() {
            *it = visit(0, if i % 2 == 0 { 200 } else { 10 }, true);
        }
        assert_eq!(limit(&visits), None, "short ones answer, too");
        let even: Vec<Visit> = (0..400).map(|i| visit(0, 10 + i % 20, false)).collect();
        assert_eq!(limit(&even), None, "they are of one kind");
        let near: Vec<Visit> = (0..100).map(|i| visit(0, if i % 2 == 0 { 14 } else { 10 }, false)).collect();
        assert_eq!(limit(&near), None, "they are near each other");
        assert_eq!(limit(&visits[..5]), None);
        assert_eq!(limit(&[visit(0, 10, false); 64]), None);
    }
}
