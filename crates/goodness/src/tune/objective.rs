//! The objective of a tuning, and the guards that a setting must keep.

use crate::refusal::Refusal;
use crate::runs::{check_metric, check_rank};
use crate::work::Work;
use goodness_core::Span;
use goodness_observe::{About, Better, METRICS};
use goodness_stats::Interval;

/// The metric to improve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Objective {
    /// The metric; less or more of it is better.
    pub metric: &'static About,
}

impl Objective {
    /// The objective `metric`.
    ///
    /// # Errors
    /// An unknown metric, or one without a better direction.
    pub fn of(metric: &str) -> Result<Objective, Refusal> {
        check_rank(metric)?;
        Ok(Objective { metric: about(metric) })
    }

    /// The default: what the work asks to be ranked by, the slowest requests of a recording with requests, the slowest
    /// I/O where the elevator is open, or else the slowest wake-ups.
    #[must_use]
    pub fn usual(work: &Work) -> Objective {
        if let Some(asked) = work.details.ranked_by.as_deref().and_then(|metric| Objective::of(metric).ok()) {
            return asked;
        }
        let requests = work.recorded.iter().map(|it| it.measured.get("request_latency_p99"));
        let has_requests = requests.into_iter().any(|it| it.value.is_some() && it.samples >= it.about.fewest());
        Objective {
            metric: about(match has_requests {
                true => "request_latency_p99",
                false if work.source.asks_for_elevator() => "io_latency_p99",
                false => "wakeup_latency_p99",
            }),
        }
    }

    /// Less of `metric`, as typed.
    ///
    /// # Errors
    /// As [`Objective::of`]; a metric of which more is better.
    pub fn minimise(metric: &str) -> Result<Objective, Refusal> {
        Objective::of(metric)?.checked(Better::Lower, "minimise", "maximise")
    }

    /// More of `metric`, as typed.
    ///
    /// # Errors
    /// As [`Objective::of`]; a metric of which less is better.
    pub fn maximise(metric: &str) -> Result<Objective, Refusal> {
        Objective::of(metric)?.checked(Better::Higher, "maximise", "minimise")
    }

    fn checked(self, better: Better, typed: &str, other: &str) -> Result<Objective, Refusal> {
        match self.metric.better == better {
            true => Ok(self),
            false => {
                let what = format!("to {typed} {} makes it worse", self.metric.name);
                Err(Refusal::usage(what).remedy(format!("{other} it")))
            }
        }
    }

    /// True if less of the metric is better.
    #[must_use]
    pub fn is_lower(&self) -> bool {
        self.metric.better == Better::Lower
    }
}

fn about(metric: &str) -> &'static About {
    METRICS.iter().find(|it| it.name == metric).expect("the name was checked")
}

/// A bound on the change of a metric, against the default.
#[derive(Clone, Debug, PartialEq)]
pub struct Guard {
    /// As typed: `throughput >= -1%`.
    pub text: String,
    /// The metric.
    pub metric: &'static About,
    /// The change allowed.
    pub bound: Bound,
    /// True if the change must be the bound or more; false if it must be the bound or less.
    pub is_least: bool,
}

/// A change of a metric.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// As a ratio to the default's value: 0.99 is a loss of 1 %.
    Ratio(f64),
    /// As a difference from the default's value, in the metric's unit.
    Difference(f64),
}

/// How far a guard holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kept {
    /// The whole interval keeps the bound.
    Yes,
    /// The interval of the runs does; with the error of the prediction it does not, or that is not known.
    InSimulation,
    /// The interval contains the bound.
    Open,
    /// The whole interval is beyond the bound.
    No,
}

impl Guard {
    /// A guard as typed: `throughput >= -1%`, `jain_index >= -0.02`, `wakeup_latency_p99 <= +2ms`.
    ///
    /// # Errors
    /// No comparison, an unknown metric, or a bound that is no number of it.
    pub fn parse(text: &str) -> Result<Guard, Refusal> {
        let wrong = |why: &str| {
            let remedy = "write METRIC >= -1%, METRIC <= +20% or, as a difference, METRIC >= -0.02";
            Refusal::usage(format!("guard \"{text}\": {why}")).remedy(remedy)
        };
        let (is_least, sides) = match (text.split_once(">="), text.split_once("<=")) {
            (Some(sides), None) => (true, sides),
            (None, Some(sides)) => (false, sides),
            _ => return Err(wrong("it has no >= or <=")),
        };
        let (metric, bound) = (sides.0.trim(), sides.1.trim());
        check_metric(metric)?;
        let metric = about(metric);
        let number = |text: &str| text.trim().parse::<f64>().ok().filter(|it| it.is_finite());
        let bound = match (bound.strip_suffix('%'), bound.trim_start_matches(['+', '-'])) {
            (Some(percent), _) => number(percent).filter(|it| *it > -100.0).map(|it| Bound::Ratio(1.0 + it / 100.0)),
            (None, time) if metric.unit == "ns" => {
                let sign = if bound.starts_with('-') { -1.0 } else { 1.0 };
                Span::parse(time).ok().map(|span| Bound::Difference(sign * span.0 as f64))
            }
            (None, _) => number(bound).map(Bound::Difference),
        };
        let bound =
            bound.ok_or_else(|| wrong("its bound is neither a percentage nor a change in the metric's unit"))?;
        Ok(Guard { text: text.trim().into(), metric, bound, is_least })
    }

    /// How far the guard holds, given the interval of the ratio or the difference.
    #[must_use]
    pub fn holds(&self, interval: &Interval) -> Kept {
        let bound = match self.bound {
            Bound::Ratio(ratio) => ratio,
            Bound::Difference(difference) => difference,
        };
        let (worst, best) = if self.is_least { (interval.low, interval.high) } else { (interval.high, interval.low) };
        let keeps = |value: f64| if self.is_least { value >= bound } else { value <= bound };
        match (keeps(worst), keeps(best)) {
            (true, _) => Kept::Yes,
            (false, true) => Kept::Open,
            (false, false) => Kept::No,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guard_is_a_ratio_or_a_difference() {
        let of = |text: &str| Guard::parse(text).map(|it| (it.bound, it.is_least)).map_err(|why| why.to_string());
        assert_eq!(of("throughput >= -1%"), Ok((Bound::Ratio(0.99), true)));
        assert_eq!(of("jain_index>=-0.02"), Ok((Bound::Difference(-0.02), true)));
        assert_eq!(of("wakeup_latency_p99 <= +2ms"), Ok((Bound::Difference(2e6), false)));
        assert_eq!(of("context_switches <= +20%"), Ok((Bound::Ratio(1.2), false)));
        for (text, part) in [
            ("throughput", "no >= or <="),
            ("throughpt >= -1%", "throughput"),
            ("throughput >= much", "neither a percentage"),
            ("wakeup_latency_p99 <= 2", "neither a percentage"),
        ] {
            assert!(of(text).is_err_and(|why| why.contains(part)), "{text}: {:?}", of(text));
        }
    }

    #[test]
    fn an_interval_keeps_a_guard_breaks_it_or_leaves_it_open() {
        let guard = Guard::parse("throughput >= -1%").unwrap();
        let of = |low, high| guard.holds(&Interval::new(low, high));
        assert_eq!([of(0.995, 1.1), of(0.9, 1.1), of(0.9, 0.98)], [Kept::Yes, Kept::Open, Kept::No]);
        let most = Guard::parse("context_switches <= +20%").unwrap();
        assert_eq!(most.holds(&Interval::new(1.1, 1.19)), Kept::Yes);
        assert_eq!(most.holds(&Interval::new(1.25, 1.3)), Kept::No);
    }

    #[test]
    fn what_makes_a_metric_worse_is_no_objective() {
        assert!(Objective::minimise("wakeup_latency_p99").is_ok_and(|it| it.is_lower()));
        assert!(Objective::maximise("throughput").is_ok_and(|it| !it.is_lower()));
        assert!(Objective::minimise("throughput").unwrap_err().to_string().contains("maximise it"));
        assert!(Objective::of("context_switches").is_err() && Objective::of("no_such").is_err());
    }
}
