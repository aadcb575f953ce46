//! Conditions under which a comparison fails: `request_latency_p99 > +5%`.

use super::sentence::change;
use super::{Diff, Difference, Finding, Gate, Kind, Outcome, Verdict};
use goodness_core::spelling::suggest;
use goodness_observe::METRICS;

/// A condition as typed.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    text: String,
    what: What,
}

#[derive(Clone, Debug, PartialEq)]
enum What {
    /// Anything differs.
    Difference,
    /// A metric changes by more than this, as a ratio B / A.
    Change { metric: String, above: bool, ratio: f64 },
}

/// The condition that anything differs.
const DIFFERENCE: &str = "difference";

impl Condition {
    /// Reads `METRIC > +5%`, `METRIC < -5%` or `difference`.
    ///
    /// # Errors
    /// A sentence that says what is wrong and how a condition is written.
    pub fn parse(text: &str) -> Result<Condition, String> {
        let text = text.trim();
        if text == DIFFERENCE {
            return Ok(Condition { text: text.into(), what: What::Difference });
        }
        let form = "write METRIC > +5%, METRIC < -5% or difference";
        let sign = text.find(['<', '>']).ok_or_else(|| format!("\"{text}\" is no condition; {form}"))?;
        let metric = text[..sign].trim();
        if !METRICS.iter().any(|it| it.name == metric) {
            let near = suggest(metric, METRICS.iter().map(|it| it.name));
            return Err(format!("\"{text}\": there is no metric \"{metric}\"; {near}"));
        }
        let limit = text[sign + 1..].trim();
        let percent = limit.strip_suffix('%').and_then(|it| it.trim().parse::<f64>().ok());
        let percent = percent.filter(|it| it.is_finite() && *it > -100.0);
        let percent = percent.ok_or_else(|| format!("\"{text}\": \"{limit}\" is no change in percent; {form}"))?;
        let (above, ratio) = (&text[sign..=sign] == ">", 1.0 + percent / 100.0);
        Ok(Condition { text: text.into(), what: What::Change { metric: metric.into(), above, ratio } })
    }

    /// Decides the condition. It fails if the whole 95 % interval is beyond the limit, and holds if none of it is. A
    /// metric of untrusted replays decides nothing.
    #[must_use]
    pub fn decide(&self, diff: &Diff) -> Gate {
        let (outcome, because) = match &self.what {
            What::Difference if diff.verdict == Verdict::Different => (Outcome::Fails, "There is a difference.".into()),
            // Results have no first decision: only equal values show that there is none.
            What::Difference
                if diff.kind == Kind::Results && !diff.metrics.iter().all(|it| it.finding == Finding::Equal) =>
            {
                (Outcome::Inconclusive, "Values differ, but not beyond chance.".into())
            }
            What::Difference => (Outcome::Holds, "There is no difference.".into()),
            What::Change { metric, above, ratio } => match diff.metrics.iter().find(|it| it.name == *metric) {
                Some(it) => {
                    let is_doubted = diff.is_untrusted();
                    let outcome = if is_doubted { Outcome::Inconclusive } else { outcome(it, *above, *ratio) };
                    let but = if is_doubted { ", by replays that are not to be trusted" } else { "" };
                    (outcome, format!("{metric} of B is {}{but}.", change(it, diff.kind)))
                }
                None => (Outcome::Inconclusive, format!("{metric} was not measured on both sides.")),
            },
        };
        Gate { condition: self.text.clone(), outcome, because }
    }
}

fn outcome(it: &Difference, above: bool, limit: f64) -> Outcome {
    let [low, high] = match (it.finding, it.ci95) {
        (Finding::Equal, _) => [1.0, 1.0],
        (_, Some(interval)) => interval,
        (_, None) => return Outcome::Inconclusive,
    };
    let (is_beyond, is_within) = if above { (low > limit, high <= limit) } else { (high < limit, low >= limit) };
    match (is_beyond, is_within) {
        (true, _) => Outcome::Fails,
        (_, true) => Outcome::Holds,
        _ => Outcome::Inconclusive,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::{Kind, Side};
    use crate::model::{Trust, TrustVerdict};

    fn decided(condition: &str, finding: Finding, ci95: Option<[f64; 2]>) -> Outcome {
        let mut diff = Diff::new(Kind::Arms, Side::default(), Side::default());
        let metric = Difference { name: "throughput".into(), finding, ci95, ..Difference::default() };
        diff.metrics.push(metric);
        Condition::parse(condition).unwrap().decide(&diff).outcome
    }

    #[test]
    fn a_gate_fails_beyond_its_limit_holds_within_and_is_inconclusive_across() {
        let of = |condition, low, high| decided(condition, Finding::Undecided, Some([low, high]));
        assert_eq!(of("throughput > +5%", 1.06, 1.08), Outcome::Fails);
        assert_eq!(of("throughput > +5%", 1.01, 1.05), Outcome::Holds);
        assert_eq!(of("throughput > +5%", 1.01, 1.06), Outcome::Inconclusive);
        assert_eq!(of("throughput<-5%", 0.90, 0.94), Outcome::Fails);
        assert_eq!(of("throughput < -5 %", 0.96, 1.20), Outcome::Holds);
        assert_eq!(of("throughput < -5%", 0.90, 0.96), Outcome::Inconclusive);
    }

    #[test]
    fn a_metric_of_untrusted_replays_decides_nothing() {
        let mut diff = Diff::new(Kind::Arms, Side::default(), Side::default());
        let (finding, ci95) = (Finding::More, Some([1.06, 1.08]));
        diff.metrics.push(Difference { name: "throughput".into(), finding, ci95, ..Difference::default() });
        diff.verdict = Verdict::Different;
        let of = |diff: &Diff, text| Condition::parse(text).unwrap().decide(diff).outcome;
        assert_eq!(of(&diff, "throughput > +5%"), Outcome::Fails);
        diff.trust = Some(Trust { verdict: TrustVerdict::Untrusted, because: vec!["it is off".into()] });
        assert_eq!(of(&diff, "throughput > +5%"), Outcome::Inconclusive);
        assert_eq!(of(&diff, "difference"), Outcome::Fails, "the simulations differ");
        let said = crate::diff::headline(&diff);
        assert!(said.starts_with("Untrusted: it is off. The simulation alone says: Different"), "{said}");
    }

    #[test]
    fn the_reason_names_the_metric() {
        let mut diff = Diff::new(Kind::Arms, Side::default(), Side::default());
        diff.metrics.push(Difference { name: "throughput".into(), finding: Finding::Equal, ..Difference::default() });
        let gate = Condition::parse("throughput < -5%").unwrap().decide(&diff);
        assert_eq!(gate.because, "throughput of B is unchanged.");
    }

    #[test]
    fn equal_runs_hold_without_an_interval_and_what_is_not_measured_is_inconclusive() {
        assert_eq!(decided("throughput > +0%", Finding::Equal, None), Outcome::Holds);
        assert_eq!(decided("throughput > +0%", Finding::Undecided, None), Outcome::Inconclusive);
        assert_eq!(decided("turnaround > +0%", Finding::Equal, None), Outcome::Inconclusive);
        assert_eq!(decided("difference", Finding::Equal, None), Outcome::Holds);
    }

    #[test]
    fn a_wrong_condition_is_refused_with_the_right_form() {
        for (text, part) in [
            ("throughput", "write METRIC > +5%"),
            ("througput > 5%", "throughput"),
            ("throughput > 5", "is no change in percent"),
            ("throughput > -100%", "is no change in percent"),
        ] {
            let why = Condition::parse(text).unwrap_err();
            assert!(why.contains(part), "{why}");
        }
    }
}
