//! Costs of decisions and requests, as rows of a table.

use crate::bare_loop::BareLoop;
use crate::pattern::Pattern;
use crate::{Size, dispatch, end_to_end, requests, verbs};
use goodness::{ElevatorSpec, PolicySpec};
use serde::Serialize;
use std::time::Duration;

/// Costs of one policy at one size.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Row {
    /// The policy as typed.
    pub policy: String,
    /// Tasks.
    pub tasks: usize,
    /// CPUs.
    pub cpus: usize,
    /// Cost of the policy alone per decision, ns.
    pub decision_ns: f64,
    /// Cost of the whole simulator per decision, ns.
    pub end_to_end_ns: Option<f64>,
    /// The same as a rate.
    pub decisions_per_s: Option<f64>,
    /// CPU time per decision of the bare loop on the same work.
    pub bare_ns: Option<f64>,
    /// The name of the bare loop.
    pub bare_loop: Option<&'static str>,
    /// Decisions per second over those of the bare loop.
    pub vs_bare: Option<f64>,
    /// Elements examined for one.
    pub effort: f64,
    /// Reason the end-to-end figures are missing, if so.
    #[serde(skip)]
    pub missing: Option<Missing>,
}

/// Reason a row has no end-to-end figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// The run would take minutes.
    TooLong,
    /// The run took no longer than its set-up alone.
    TooShort,
}

impl Missing {
    /// For people.
    #[must_use]
    pub fn sentence(self) -> &'static str {
        match self {
            Missing::TooLong => "not run end to end, because it would take minutes; give --decisions a smaller number",
            Missing::TooShort => "the run took no longer than its set-up alone; give --decisions a larger number",
        }
    }
}

/// Nanoseconds per decision and decisions per second, as printed; missing if the decisions cannot be told apart from
/// the setup, whose time is subtracted.
fn rates(end_to_end_ns: f64) -> Result<(f64, f64), Missing> {
    let ns = round(end_to_end_ns);
    if ns > 0.0 { Ok((ns, (1e9 / ns).round())) } else { Err(Missing::TooShort) }
}

/// Times `policy` at `size`: its calls for `budget`, and a whole run of about `decisions` decisions of `pattern`.
///
/// # Errors
/// An impossible size, or a fault.
pub fn row(policy: &PolicySpec, size: Size, budget: Duration, decisions: u64, pattern: Pattern) -> Result<Row, String> {
    let fail = |sentence: String| format!("{policy}: {sentence}");
    let cost = verbs::cost(policy, size, budget).map_err(fail)?;
    // A policy that looks at every task on each decision would take hours end to end at these sizes.
    let feasible = cost.decision_ns * (decisions as f64) < 20e9;
    let (rates, bare) = match feasible {
        true => {
            let (speed, bare) = end_to_end::speed(policy, size, decisions, pattern).map_err(fail)?;
            (rates(speed.end_to_end_ns), bare.and_then(|bare| rates(bare.end_to_end_ns).ok()))
        }
        false => (Err(Missing::TooLong), None),
    };
    let bare = bare.map(|(ns, _)| ns);
    let vs_bare = rates.ok().zip(bare).map(|((ns, _), bare)| (bare / ns * 100.0).round() / 100.0);
    Ok(Row {
        policy: policy.to_string(),
        tasks: size.tasks,
        cpus: size.cpus,
        decision_ns: round(cost.decision_ns),
        end_to_end_ns: rates.ok().map(|(ns, _)| ns),
        decisions_per_s: rates.ok().map(|(_, per_s)| per_s),
        bare_ns: bare,
        bare_loop: bare.map(|_| BareLoop::beside(policy.name).name()),
        vs_bare,
        effort: round(cost.effort),
        missing: rates.err(),
    })
}

/// A row for each policy and size, as [`row`]; calls `tell` after each.
///
/// # Errors
/// As [`row`].
pub fn rows(
    policies: &[PolicySpec],
    sizes: &[Size],
    budget: Duration,
    decisions: u64,
    pattern: Pattern,
    tell: &dyn Fn(),
) -> Result<Vec<Row>, String> {
    let mut rows = Vec::new();
    for policy in policies {
        for size in sizes {
            rows.push(row(policy, *size, budget, decisions, pattern)?);
            tell();
        }
    }
    Ok(rows)
}

/// A row for each elevator and number of waiting requests, as [`request_row`]; calls `tell` after each.
///
/// # Errors
/// As [`request_row`], with the elevator.
pub fn request_rows(
    elevators: &[ElevatorSpec],
    waiting: &[u32],
    budget: Duration,
    requests: u64,
    tell: &dyn Fn(),
) -> Result<Vec<RequestRow>, String> {
    let mut rows = Vec::new();
    for elevator in elevators {
        for waiting in waiting {
            let row = request_row(elevator, *waiting, budget, requests);
            rows.push(row.map_err(|sentence| format!("{elevator}: {sentence}"))?);
            tell();
        }
    }
    Ok(rows)
}

/// Rounds to one decimal; no clock is better.
fn round(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

/// Costs of one elevator with this many requests waiting.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RequestRow {
    /// The elevator as typed.
    pub elevator: String,
    /// Requests that wait.
    pub waiting: u32,
    /// Cost of the elevator alone per request, ns.
    pub decision_ns: f64,
    /// Cost of the whole block layer per request, ns.
    pub end_to_end_ns: f64,
    /// The same as a rate.
    pub requests_per_s: f64,
    /// Requests per second with an observer that gets every event.
    pub watched_per_s: f64,
}

/// Times `elevator` with `waiting` requests: its calls for `budget`, and a run of `requests`.
///
/// # Errors
/// An impossible size, or a fault.
pub fn request_row(
    elevator: &ElevatorSpec,
    waiting: u32,
    budget: Duration,
    requests: u64,
) -> Result<RequestRow, String> {
    let decision_ns = dispatch::cost(elevator, waiting, budget)?;
    let speed = requests::speed(elevator, waiting, requests)?;
    let per_s = |ns: f64| (1e9 / ns.max(f64::MIN_POSITIVE)).round();
    Ok(RequestRow {
        elevator: elevator.to_string(),
        waiting,
        decision_ns: round(decision_ns),
        end_to_end_ns: round(speed.request_ns),
        requests_per_s: per_s(speed.request_ns),
        watched_per_s: per_s(speed.watched_ns),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_as_short_as_its_set_up_has_no_speed() {
        assert_eq!(rates(0.0), Err(Missing::TooShort));
        assert_eq!(rates(0.04), Err(Missing::TooShort), "it would be printed as 0.0");
        assert_eq!(rates(62.53), Ok((62.5, 16_000_000.0)));
    }
}
