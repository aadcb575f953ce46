//! Earliest deadline first: the released job with the earliest deadline runs.
//!
//! Source: Liu and Layland 1973; specs section 11 (general knowledge, not checked against the paper). Each wake-up of a
//! task with a reservation releases a job whose deadline is that of its reservation later. On one CPU all deadlines are
//! met when the sum of runtime/period is at most 1 and deadlines equal periods. Background tasks: see `jobs.rs`.
//! Weakness: a job that overruns is not stopped, and can make any other late; on several CPUs the first M deadlines are
//! not always the best choice (Dhall's effect). `deadline` isolates its tasks instead.

use crate::parts::jobs::{Jobs, Rule};
use goodness_core::{About, Needs, Reason, Reservation, Span, Time};

pub use crate::parts::jobs::Settings;

/// The rule of earliest deadlines.
#[derive(Clone, Copy, Debug)]
pub struct EarliestDeadline;

impl Rule for EarliestDeadline {
    const ABOUT: About = About {
        name: "edf",
        summary: "Earliest deadline first; jobs are released at wake-ups, tasks without a reservation in the \
            background.",
        source: "Liu and Layland 1973; specs section 11",
        needs: Needs { tick: false, timer: false, balance: false, global_lock: true },
    };

    fn key(reservation: &Reservation, now: Time) -> i64 {
        (now + reservation.deadline).0 as i64
    }

    fn reason(by: Span) -> Reason {
        Reason::EarlierDeadline { by }
    }
}

/// Earliest deadline first.
pub type Edf = Jobs<EarliestDeadline>;
