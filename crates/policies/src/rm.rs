//! Rate-monotonic priorities: the job of the task with the shortest period runs.
//!
//! Source: Liu and Layland 1973; specs section 11 (general knowledge, not checked against the paper). The period of the
//! reservation is a fixed priority. On one CPU n tasks whose sum of runtime/period is at most n·(2^(1/n) − 1) meet all
//! deadlines at the ends of their periods; beyond that some sets do and some do not. Background tasks: see `jobs.rs`.
//! Weakness: up to 31 % of a CPU cannot be promised; nothing stops a job that overruns.

use crate::parts::jobs::{Jobs, Rule};
use goodness_core::{About, Needs, Reason, Reservation, Span, Time};

pub use crate::parts::jobs::Settings;

/// The rule of shortest periods.
#[derive(Clone, Copy, Debug)]
pub struct ShortestPeriod;

impl Rule for ShortestPeriod {
    const ABOUT: About = About {
        name: "rm",
        summary: "Rate monotonic: the shortest period runs first; tasks without a reservation in the background.",
        source: "Liu and Layland 1973; specs section 11",
        needs: Needs { tick: false, timer: false, balance: false, global_lock: true },
    };

    fn key(reservation: &Reservation, _: Time) -> i64 {
        reservation.period.0 as i64
    }

    fn reason(by: Span) -> Reason {
        Reason::ShorterPeriod { by }
    }
}

/// Rate-monotonic scheduling.
pub type Rm = Jobs<ShortestPeriod>;
