//! Tickets of the proportional-share policies: a task's own, or derived from nice.
//!
//! Source: the fair classes' ratio of 1.25 per nice step (specs section 5.1), with 100 tickets for nice 0; the papers
//! on lottery and stride scheduling have no nice. SCHED_IDLE has 1 ticket; real-time classes count by their nice.

use goodness_core::{Class, Task};

/// Tickets by nice, −20 first: 100 · 1.25^−nice, rounded.
const BY_NICE: [u32; 40] = [
    8674, 6939, 5551, 4441, 3553, 2842, 2274, 1819, 1455, 1164, 931, 745, 596, 477, 381, 305, 244, 195, 156, 125, 100,
    80, 64, 51, 41, 33, 26, 21, 17, 13, 11, 9, 7, 5, 4, 4, 3, 2, 2, 1,
];

/// The share of a task, at least 1.
pub(crate) fn tickets_of(task: &Task) -> u64 {
    let by_nice = if task.class == Class::Idle { 1 } else { BY_NICE[task.nice.index()] };
    u64::from(task.tickets.unwrap_or(by_nice).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_nice_is_worth_five_fourths_of_the_next() {
        assert_eq!(BY_NICE[20], 100);
        for nice in -20..20i32 {
            let exact = 100.0 * 1.25f64.powi(-nice);
            let told = f64::from(BY_NICE[(nice + 20) as usize]);
            assert!((told - exact).abs() <= 0.5, "nice {nice}: {told} for {exact}");
        }
    }
}
