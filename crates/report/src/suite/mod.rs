//! Several unlike inputs ranked together: of each arm the ratio on each input, and their geometric mean.
//!
//! Values of unlike works are never pooled: a ratio has no unit, and each is to the reference on its own input, in the
//! metric that ranks that input.

mod page;
mod rows;
mod text;

use crate::figure;
use crate::json;
use crate::model::{Better, PolicyReport, Report, Verdict};
pub use rows::COSTS;
use serde::Serialize;

/// Ratios nearer to 1 than this are the same, as in comparisons.
const MARGIN: f64 = 0.01;

/// The result of a suite: schema `goodness.suite/1`.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Suite {
    /// Always `goodness.suite/1`.
    pub schema: &'static str,
    /// Its name; empty for inputs that were listed.
    pub name: String,
    /// The inputs in order.
    pub inputs: Vec<SuiteInput>,
    /// The arms in the requested order.
    pub arms: Vec<SuiteArm>,
    /// The report of each input.
    pub reports: Vec<Report>,
}

/// An input of a suite.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SuiteInput {
    /// Its name.
    pub name: String,
    /// The metric that ranks it; `None` if none was measured.
    pub metric: Option<String>,
    /// False if the replay of the recording cannot be trusted.
    pub is_trusted: bool,
}

/// An arm over all inputs.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SuiteArm {
    /// As typed.
    pub label: String,
    /// True if the others are compared with this one.
    pub is_reference: bool,
    /// On all inputs: the geometric mean.
    pub overall: Cost,
    /// On each input, in order.
    pub on: Vec<Cost>,
}

/// Cost relative to the reference.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cost {
    /// Below 1 is better: the ratio of the metric, or its inverse where more is better. `None` if it was not measured.
    pub ratio: Option<f64>,
    /// 95 % confidence interval, low and high.
    pub ci95: Option<[f64; 2]>,
    /// Verdict.
    pub verdict: Verdict,
}

impl Suite {
    /// The suite `name` of one report an input.
    ///
    /// # Errors
    /// A sentence that names two inputs whose arms are not the same: every policy runs with every elevator where an
    /// input has disks.
    pub fn of(name: &str, reports: Vec<Report>) -> Result<Suite, String> {
        let labels = reports.first().map_or_else(Vec::new, Report::labels);
        if let Some(other) = reports.iter().find(|it| it.policies.len() != labels.len()) {
            let [first, other] = [&reports[0], other].map(|it| figure::printable(&it.input.name));
            return Err(format!("{first} and {other} have other arms, as one has disks; compare them one by one"));
        }
        let input = |report: &Report| SuiteInput {
            name: report.input.name.clone(),
            metric: report.ranked_by().map(String::from),
            is_trusted: report.trust.as_ref().is_none_or(|trust| !trust.is_untrusted()),
        };
        let inputs: Vec<SuiteInput> = reports.iter().map(input).collect();
        let arm = |(index, label): (usize, String)| {
            let on = |report: &Report| match (report.policies.get(index), report.ranked_by()) {
                (Some(policy), Some(metric)) => cost(policy, metric),
                _ => Cost::default(),
            };
            let on: Vec<Cost> = reports.iter().map(on).collect();
            let is_reference =
                reports.iter().all(|report| report.policies.get(index).is_some_and(|it| it.is_reference));
            SuiteArm { label, is_reference, overall: overall(&on, &inputs), on }
        };
        let arms = labels.into_iter().enumerate().map(arm).collect();
        Ok(Suite { schema: "goodness.suite/1", name: name.into(), inputs, arms, reports })
    }

    /// The JSON text with a final newline.
    #[must_use]
    pub fn json(&self) -> String {
        json::text(self)
    }

    /// True if a verdict over all inputs is open.
    #[must_use]
    pub fn is_undecided(&self) -> bool {
        self.arms.iter().any(|arm| !arm.is_reference && arm.overall.verdict == Verdict::Inconclusive)
    }

    /// The arms, least cost first; those without a mean last.
    fn ranking(&self) -> Vec<&SuiteArm> {
        let mut arms: Vec<&SuiteArm> = self.arms.iter().collect();
        let cost = |arm: &SuiteArm| if arm.is_reference { 1.0 } else { arm.overall.ratio.unwrap_or(f64::INFINITY) };
        arms.sort_by(|a, b| cost(a).total_cmp(&cost(b)));
        arms
    }
}

/// The cost of an arm on one input.
fn cost(policy: &PolicyReport, metric: &str) -> Cost {
    let Some(metric) = policy.metric(metric) else { return Cost::default() };
    let Some(versus) = metric.vs_reference.filter(|_| policy.violations.is_empty()) else { return Cost::default() };
    let is_inverse = metric.better == Better::Higher;
    Cost {
        ratio: versus.ratio.map(|ratio| if is_inverse { 1.0 / ratio } else { ratio }),
        ci95: versus.ci95.map(|[low, high]| if is_inverse { [1.0 / high, 1.0 / low] } else { [low, high] }),
        verdict: versus.verdict,
    }
}

/// The geometric mean over inputs. Its interval has the geometric means of their ends: it is right if the errors of all
/// inputs go together, as those of one model may, and too wide otherwise. Without a ratio on every input there is none.
fn overall(on: &[Cost], inputs: &[SuiteInput]) -> Cost {
    let ratio = mean(on.iter().map(|cost| cost.ratio));
    let end = |place: usize| mean(on.iter().map(|cost| cost.ci95.map(|ends| ends[place])));
    let ci95 = end(0).zip(end(1)).map(|(low, high)| [low, high]);
    let is_trusted = inputs.iter().all(|input| input.is_trusted);
    Cost { ratio, ci95, verdict: ci95.filter(|_| is_trusted).map_or(Verdict::Inconclusive, verdict) }
}

/// The geometric mean; `None` if a value is missing or not above 0.
fn mean(values: impl ExactSizeIterator<Item = Option<f64>>) -> Option<f64> {
    let count = values.len() as f64;
    let logs: Option<Vec<f64>> = values.map(|it| it.filter(|it| *it > 0.0 && it.is_finite()).map(f64::ln)).collect();
    logs.filter(|it| !it.is_empty()).map(|logs| (logs.iter().sum::<f64>() / count).exp())
}

fn verdict([low, high]: [f64; 2]) -> Verdict {
    match (low, high) {
        _ if low > 1.0 - MARGIN && high < 1.0 + MARGIN => Verdict::Same,
        _ if high < 1.0 => Verdict::Better,
        _ if low > 1.0 => Verdict::Worse,
        _ => Verdict::Inconclusive,
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::model::{Input, MetricSummary, VsReference};
    use goodness_core::{Rng, Seed};
    use goodness_stats::Confidence;
    use goodness_stats::ratio::{Pairing, Ratio};

    /// Two arms on two inputs: the second arm is twice as good on the one and worse on the other.
    pub fn suite(name: &str) -> Suite {
        let report = |name: &str, ratio: f64, verdict: Verdict| {
            let arm = |label: &str, vs_reference: Option<VsReference>| {
                let value = Some(1e6 * vs_reference.map_or(1.0, |_| ratio));
                let (metric, unit) = ("wakeup_latency_p99".into(), "ns".into());
                let metric = MetricSummary {
                    name: metric,
                    unit,
                    better: Better::Lower,
                    value,
                    vs_reference,
                    ..MetricSummary::default()
                };
                let is_reference = vs_reference.is_none();
                PolicyReport { label: label.into(), is_reference, metrics: vec![metric], ..PolicyReport::default() }
            };
            let versus = VsReference { ratio: Some(ratio), ci95: Some([ratio * 0.95, ratio * 1.05]), verdict };
            let policies = vec![arm("eevdf", None), arm("cfs", Some(versus))];
            Report { input: Input { name: name.into(), ..Input::default() }, policies, ..Report::default() }
        };
        let reports = vec![report(name, 0.5, Verdict::Better), report("b", 1.2, Verdict::Worse)];
        Suite::of("server", reports).expect("equal arms")
    }

    /// A draw around 0 with variance 1 (Irwin and Hall).
    fn drawn(random: &mut Rng) -> f64 {
        (0..12).map(|_| random.below(1 << 20) as f64 / (1u64 << 20) as f64).sum::<f64>() - 6.0
    }

    /// Suites of two arms that are equal, on inputs of unlike scales whose errors are the same (`shared` = 1) or have
    /// nothing in common (0), of which an arm is called better or worse. If `is_narrow`, by the interval that takes the
    /// errors to be independent.
    fn called_different(suites: u64, shared: f64, is_narrow: bool) -> u32 {
        const INPUTS: usize = 3;
        let of_one = |seed: u64| {
            let mut random = Seed(seed).stream("suite", 0).rng();
            let mut runs = vec![(Vec::new(), Vec::new()); INPUTS];
            for _ in 0..10 {
                let common = drawn(&mut random);
                for (place, (reference, arm)) in runs.iter_mut().enumerate() {
                    let own = shared * common + (1.0 - shared * shared).sqrt() * drawn(&mut random);
                    let scale = 10f64.powi(3 * place as i32);
                    reference.push(scale);
                    arm.push(scale * (0.2 * own).exp());
                }
            }
            let cost = |(reference, arm): &(Vec<f64>, Vec<f64>)| {
                let ratio = Ratio::of_samples(reference, arm, Pairing::Paired).expect("runs");
                let ends = ratio.interval(Confidence::P95).expect("an interval");
                measured(ratio.estimate.expect("a ratio"), [ends.low, ends.high])
            };
            let on: Vec<Cost> = runs.iter().map(cost).collect();
            let mut all = overall(&on, &trusted(INPUTS));
            if let Some((ratio, ends)) = all.ratio.zip(all.ci95).filter(|_| is_narrow) {
                let narrow = |end: f64| ratio * (end / ratio).powf((INPUTS as f64).sqrt().recip());
                all.verdict = verdict(ends.map(narrow));
            }
            matches!(all.verdict, Verdict::Better | Verdict::Worse)
        };
        (0..suites).map(|seed| u32::from(of_one(seed))).sum()
    }

    /// 5 % of 1 000 are 50, with a standard error of 7. The control: an interval for independent errors.
    #[test]
    fn equal_arms_are_called_different_in_at_most_one_suite_of_twenty_whatever_the_errors_share() {
        let [same, apart] = [1.0, 0.0].map(|shared| called_different(1_000, shared, false));
        assert!((36..=64).contains(&same), "errors that go together: {same} of 1000");
        assert!(apart < 25, "errors that do not: {apart} of 1000");
        let control = called_different(1_000, 1.0, true);
        assert!(control > 150, "the control: {control} of 1000");
    }

    fn trusted(count: usize) -> Vec<SuiteInput> {
        vec![SuiteInput { name: "x".into(), metric: None, is_trusted: true }; count]
    }

    fn measured(ratio: f64, ends: [f64; 2]) -> Cost {
        Cost { ratio: Some(ratio), ci95: Some(ends), verdict: Verdict::Inconclusive }
    }

    fn near(one: Option<f64>, other: f64) -> bool {
        one.is_some_and(|it| (it - other).abs() < 1e-9)
    }

    #[test]
    fn a_gain_and_an_equal_loss_cancel_whatever_the_scale_of_the_inputs() {
        let both = overall(&[measured(0.5, [0.4, 0.6]), measured(2.0, [1.6, 2.5])], &trusted(2));
        assert!(near(both.ratio, 1.0), "{both:?}");
        assert!(near(both.ci95.map(|it| it[0]), 0.8) && near(both.ci95.map(|it| it[1]), 1.5f64.sqrt()), "{both:?}");
        assert_eq!(both.verdict, Verdict::Inconclusive);
    }

    #[test]
    fn what_is_better_on_all_inputs_is_better_and_what_is_missing_or_untrusted_decides_nothing() {
        let gains = [measured(0.8, [0.7, 0.9]), measured(0.9, [0.85, 0.95])];
        assert_eq!(overall(&gains, &trusted(2)).verdict, Verdict::Better);
        let one_is_missing = [gains[0], Cost::default()];
        assert_eq!(overall(&one_is_missing, &trusted(2)).ratio, None);
        let mut inputs = trusted(2);
        inputs[1].is_trusted = false;
        assert_eq!(overall(&gains, &inputs).verdict, Verdict::Inconclusive);
    }
}
