//! The ratio of two sets of runs, with an interval of any level.
//!
//! If all values are positive, the ratio is the geometric mean of the runs' ratios, from the mean of their logarithms.
//! This treats "twice as long" and "half as long" alike. Its interval is Student's (paired) or Welch's (independent;
//! Welch, Biometrika 34, 1947), transformed back.
//!
//! A value of 0 or below has no logarithm. Then the ratio is that of the means, with Fieller's interval: every factor
//! that a t test of `candidate - factor · reference` does not reject (Fieller, "Some problems in interval estimation",
//! JRSS B 16(2), 1954). It is unbounded if the reference's mean is negative or not significantly different from 0.

use super::Interval;
use super::distribution::{student_critical, student_two_sided};
use super::summary::{mean, standard_deviation};
use super::{Confidence, require_finite};

/// Relation of run `i` of one side to run `i` of the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pairing {
    /// Same seed or input, or neighbours in an interleaved race.
    Paired,
    /// No relation between the runs.
    Independent,
}

/// Variation from input to input, measured elsewhere. A ratio r varies with the standard deviation
/// `√(deviation² + (relative · ln r)²)`, as a logarithm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Between {
    /// Standard deviation of the natural logarithm of the ratio, where that is near 1. No unit.
    pub deviation: f64,
    /// Addition to it for each unit of the logarithm itself, in quadrature: large effects vary more. No unit.
    pub relative: f64,
    /// Degrees of freedom of that estimate, above 0.
    pub freedom: f64,
}

impl Between {
    /// Variance of a log ratio of this size.
    fn variance(self, log_ratio: f64) -> f64 {
        self.deviation.powi(2) + (self.relative * log_ratio).powi(2)
    }

    /// The factor by which an interval of this confidence is moved out at each end.
    #[must_use]
    pub fn factor(self, confidence: Confidence) -> f64 {
        (student_critical(confidence.alpha(), self.freedom) * self.deviation).exp()
    }
}

/// Method of a ratio's interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RatioMethod {
    /// The runs do not vary, or the simulation is deterministic: the ratio is exact.
    Exact,
    /// t interval of the mean log ratio.
    LogStudent,
    /// Fieller's interval of the ratio of means.
    Fieller,
}

/// The ratio candidate / reference with intervals of any level. No unit.
#[derive(Clone, Debug, PartialEq)]
pub struct Ratio {
    /// The factor; `None` when the reference's mean is not positive and the candidate's differs.
    pub estimate: Option<f64>,
    /// Method of the intervals.
    pub method: RatioMethod,
    spread: Spread,
}

#[derive(Clone, Debug, PartialEq)]
enum Spread {
    None,
    Logs { mean: f64, error: f64, freedom: f64 },
    Means(Means),
}

/// Two means, and the variances and covariance of these means.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Means {
    reference: f64,
    candidate: f64,
    reference_variance: f64,
    candidate_variance: f64,
    covariance: f64,
    freedom: f64,
}

impl Ratio {
    /// The ratio of runs that vary.
    ///
    /// `None` when a side has fewer than two runs, so that their spread is unknown.
    ///
    /// # Panics
    /// If a value is not finite, or paired sides differ in length.
    pub fn of_samples(reference: &[f64], candidate: &[f64], pairing: Pairing) -> Option<Self> {
        check(reference, candidate, pairing);
        if reference.len() < 2 || candidate.len() < 2 {
            return None;
        }
        let means = Means::of(reference, candidate, pairing);
        if means.vary_not_at_all() {
            return Self::of_exact(reference, candidate);
        }
        let Some(logs) = logs_of(reference, candidate) else {
            let estimate = means.ratio();
            return Some(Self { estimate, method: RatioMethod::Fieller, spread: Spread::Means(means) });
        };
        let (mean, error, freedom) = match pairing {
            Pairing::Paired => paired_logs(&logs.0, &logs.1),
            Pairing::Independent => welch(&logs.0, &logs.1),
        };
        let estimate = Some(mean.exp());
        if error == 0.0 {
            return Some(Self { estimate, method: RatioMethod::Exact, spread: Spread::None });
        }
        Some(Self { estimate, method: RatioMethod::LogStudent, spread: Spread::Logs { mean, error, freedom } })
    }

    /// The ratio of deterministic runs, of which one is enough.
    ///
    /// `None` when a side is empty.
    pub fn of_exact(reference: &[f64], candidate: &[f64]) -> Option<Self> {
        let (reference, candidate) = (mean(reference)?, mean(candidate)?);
        let estimate = ratio_of(reference, candidate);
        Some(Self { estimate, method: RatioMethod::Exact, spread: Spread::None })
    }

    /// The same ratio, where the runs share what varies between inputs: `between` is the standard deviation of the
    /// log ratio from input to input, which repeated runs of one input do not show. A ratio of means (Fieller) stays as
    /// it is.
    #[must_use]
    pub fn with_between(self, between: Between) -> Self {
        let (mean, error, freedom) = match (&self.spread, self.estimate) {
            (Spread::Logs { mean, error, freedom }, _) => (*mean, *error, *freedom),
            (Spread::None, Some(estimate)) if estimate > 0.0 => (estimate.ln(), 0.0, f64::INFINITY),
            _ => return self,
        };
        let [own, other] = [error * error, between.variance(mean)];
        if other == 0.0 {
            return self;
        }
        let freedom = (own + other).powi(2) / (own * own / freedom + other * other / between.freedom);
        let spread = Spread::Logs { mean, error: (own + other).sqrt(), freedom };
        Self { estimate: self.estimate, method: RatioMethod::LogStudent, spread }
    }

    /// The interval of the ratio; `None` where it has no ends or there is no ratio.
    pub fn interval(&self, confidence: Confidence) -> Option<Interval> {
        match &self.spread {
            Spread::None => self.estimate.map(Interval::exact),
            Spread::Logs { mean, error, freedom } => {
                let half = student_critical(confidence.alpha(), *freedom) * error;
                let (low, high) = ((mean - half).exp(), (mean + half).exp());
                high.is_finite().then(|| Interval::new(low, high))
            }
            Spread::Means(means) => means.fieller(confidence),
        }
    }

    /// Two-sided p-value of the hypothesis that both sides are equal, by the method of the interval: the interval at
    /// level `1 - p` ends at 1.
    pub fn p_value(&self) -> f64 {
        match &self.spread {
            Spread::None => f64::from(u8::from(self.estimate == Some(1.0))),
            Spread::Logs { mean, error, freedom } => student_two_sided(mean / error, *freedom),
            Spread::Means(means) => means.equality(),
        }
    }
}

impl Means {
    fn of(reference: &[f64], candidate: &[f64], pairing: Pairing) -> Self {
        let centre = |values| mean(values).expect("each side has runs");
        let (r, c) = (centre(reference), centre(candidate));
        let variance = |values: &[f64]| standard_deviation(values).map_or(0.0, |sd| sd * sd / values.len() as f64);
        let n = reference.len() as f64;
        let together: f64 = reference.iter().zip(candidate).map(|(x, y)| (x - r) * (y - c)).sum();
        let (covariance, freedom) = match pairing {
            Pairing::Paired => (together / (n - 1.0) / n, n - 1.0),
            // The smaller side's degrees never overstate what the two know together.
            Pairing::Independent => (0.0, reference.len().min(candidate.len()) as f64 - 1.0),
        };
        let (reference_variance, candidate_variance) = (variance(reference), variance(candidate));
        Self { reference: r, candidate: c, reference_variance, candidate_variance, covariance, freedom }
    }

    fn vary_not_at_all(&self) -> bool {
        self.reference_variance == 0.0 && self.candidate_variance == 0.0
    }

    fn ratio(&self) -> Option<f64> {
        ratio_of(self.reference, self.candidate)
    }

    /// Solves `(c - f·r)² = t² · var(c - f·r)` for f; the factors between the roots are covered.
    fn fieller(&self, confidence: Confidence) -> Option<Interval> {
        let t2 = student_critical(confidence.alpha(), self.freedom).powi(2);
        let square = self.reference.powi(2) - t2 * self.reference_variance;
        let half_linear = self.reference * self.candidate - t2 * self.covariance;
        let constant = self.candidate.powi(2) - t2 * self.candidate_variance;
        if self.reference <= 0.0 || square <= 0.0 {
            return None;
        }
        // The estimate itself is always covered, so only rounding can make this negative.
        let root = (half_linear * half_linear - square * constant).max(0.0).sqrt();
        Some(Interval::new((half_linear - root) / square, (half_linear + root) / square))
    }

    /// The t test of equal means: Fieller's question at the factor 1.
    fn equality(&self) -> f64 {
        let difference = self.candidate - self.reference;
        let variance = (self.candidate_variance + self.reference_variance - 2.0 * self.covariance).max(0.0);
        if difference == 0.0 {
            return 1.0;
        }
        student_two_sided(difference / variance.sqrt(), self.freedom)
    }
}

/// The ratio of two means. Equal means have the ratio 1, even if both are 0. `None` for other multiples of 0, and for a
/// negative reference, which would turn "more" into "less".
fn ratio_of(reference: f64, candidate: f64) -> Option<f64> {
    if reference == candidate {
        return Some(1.0);
    }
    (reference > 0.0).then(|| candidate / reference)
}

/// Logarithms of both sides; `None` when a value has none.
fn logs_of(reference: &[f64], candidate: &[f64]) -> Option<(Vec<f64>, Vec<f64>)> {
    let positive = reference.iter().chain(candidate).all(|&value| value > 0.0);
    let logs = |values: &[f64]| values.iter().map(|value| value.ln()).collect();
    positive.then(|| (logs(reference), logs(candidate)))
}

/// Mean difference of paired logs, its standard error and degrees of freedom.
fn paired_logs(reference: &[f64], candidate: &[f64]) -> (f64, f64, f64) {
    let differences: Vec<f64> = candidate.iter().zip(reference).map(|(c, r)| c - r).collect();
    let n = differences.len() as f64;
    let mean = mean(&differences).expect("there are runs");
    let sd = standard_deviation(&differences).expect("there are two runs");
    (mean, sd / n.sqrt(), n - 1.0)
}

/// Difference of mean logs, its standard error and Welch's degrees of freedom.
fn welch(reference: &[f64], candidate: &[f64]) -> (f64, f64, f64) {
    let part = |values: &[f64]| {
        let sd = standard_deviation(values).expect("there are two runs");
        (mean(values).expect("there are runs"), sd * sd / values.len() as f64, values.len() as f64 - 1.0)
    };
    let ((r, r_variance, r_freedom), (c, c_variance, c_freedom)) = (part(reference), part(candidate));
    let variance = r_variance + c_variance;
    let freedom = variance.powi(2) / (r_variance.powi(2) / r_freedom + c_variance.powi(2) / c_freedom);
    (c - r, variance.sqrt(), freedom)
}

fn check(reference: &[f64], candidate: &[f64], pairing: Pairing) {
    require_finite(reference);
    require_finite(candidate);
    if pairing == Pairing::Paired {
        assert_eq!(reference.len(), candidate.len(), "paired runs must be as many on both sides");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paired(reference: &[f64], candidate: &[f64]) -> Ratio {
        Ratio::of_samples(reference, candidate, Pairing::Paired).unwrap()
    }

    #[test]
    fn runs_that_do_not_vary_have_an_exact_ratio() {
        let ratio = paired(&[4.0; 3], &[2.0; 3]);
        assert_eq!((ratio.method, ratio.estimate), (RatioMethod::Exact, Some(0.5)));
        assert_eq!(ratio.interval(Confidence::P95), Some(Interval::exact(0.5)));
        assert_eq!(ratio.p_value(), 0.0);
    }

    /// The normal quantile 1.96 of 95 %, of a deviation of 0.1: `exp(±0.196)`.
    #[test]
    fn what_varies_between_inputs_widens_the_interval_and_counts_in_the_p_value() {
        let between = Between { deviation: 0.1, relative: 0.0, freedom: 1e9 };
        let exact = paired(&[4.0; 3], &[2.0; 3]).with_between(between);
        let interval = exact.interval(Confidence::P95).unwrap();
        assert!((interval.low - 0.5 * (-0.196_f64).exp()).abs() < 1e-3, "{interval:?}");
        assert!((interval.high - 0.5 * 0.196_f64.exp()).abs() < 1e-3, "{interval:?}");
        let ratio = || paired(&[10.0, 12.0, 11.0, 9.0], &[9.0, 11.0, 10.0, 8.5]);
        let none = Between { deviation: 0.0, relative: 0.0, freedom: 5.0 };
        assert_eq!(ratio().with_between(none), ratio(), "no variation changes nothing");
        assert!(ratio().p_value() < 0.05, "the runs differ");
        assert!(ratio().with_between(between).p_value() > 0.05, "inputs differ as much");
        // Both spreads of the same size: together they are wider by the root of two.
        let Spread::Logs { error, freedom, .. } = ratio().spread else { panic!("the runs differ") };
        let twice = ratio().with_between(Between { deviation: error, relative: 0.0, freedom });
        let Spread::Logs { error: both, freedom: of_both, .. } = twice.spread else { panic!("they still do") };
        assert!((both / error - 2.0_f64.sqrt()).abs() < 1e-9 && (of_both / freedom - 2.0).abs() < 1e-9, "{both}");
        let few = Between { freedom: 2.0, ..between };
        let wide = ratio().with_between(few).interval(Confidence::P95).unwrap();
        let narrow = ratio().with_between(between).interval(Confidence::P95).unwrap();
        assert!(wide.width() > narrow.width(), "an estimate from few inputs is worth less");
        let relative = Between { relative: 0.5, ..none };
        let large = paired(&[4.0; 3], &[2.0; 3]).with_between(relative).interval(Confidence::P95).unwrap();
        assert!((large.high / 0.5).ln() > 0.8 * 0.5 * 2.0_f64.ln() * 1.96, "{large:?}");
        assert_eq!(paired(&[4.0; 3], &[4.0; 3]).with_between(relative).estimate, Some(1.0));
    }

    #[test]
    fn nothing_against_nothing_is_equal_and_something_against_nothing_has_no_ratio() {
        assert_eq!(paired(&[0.0; 3], &[0.0; 3]).estimate, Some(1.0));
        let ratio = paired(&[0.0; 4], &[1.0, 2.0, 1.5, 1.2]);
        assert_eq!((ratio.estimate, ratio.interval(Confidence::P95)), (None, None));
        assert!(ratio.p_value() < 0.01);
    }

    #[test]
    fn a_zero_among_the_values_is_handled_without_logarithms() {
        let ratio = paired(&[10.0, 12.0, 11.0, 9.0, 10.0], &[1.0, 0.0, 2.0, 1.0, 0.0]);
        assert_eq!(ratio.method, RatioMethod::Fieller);
        let interval = ratio.interval(Confidence::P95).unwrap();
        assert!(interval.contains(ratio.estimate.unwrap()) && interval.high < 0.3, "{interval:?}");
    }

    #[test]
    fn the_interval_at_one_less_p_ends_at_equality() {
        let (reference, candidate) = ([10.0, 12.0, 11.0, 9.0], [11.0, 12.5, 13.0, 9.1]);
        let with_zero = ([0.0, 12.0, 11.0, 9.0], [0.0, 12.5, 13.0, 9.1]);
        let independent = Ratio::of_samples(&reference, &candidate, Pairing::Independent).unwrap();
        for ratio in [paired(&reference, &candidate), independent, paired(&with_zero.0, &with_zero.1)] {
            let interval = ratio.interval(Confidence::new(1.0 - ratio.p_value()).unwrap()).unwrap();
            assert!((interval.low - 1.0).abs() < 1e-9, "{:?}: {interval:?}", ratio.method);
        }
    }

    #[test]
    fn one_run_says_nothing_of_the_spread() {
        assert_eq!(Ratio::of_samples(&[1.0], &[2.0], Pairing::Paired), None);
        assert_eq!(Ratio::of_exact(&[1.0], &[2.0]).unwrap().estimate, Some(2.0));
        assert_eq!(Ratio::of_exact(&[], &[2.0]), None);
    }

    #[test]
    fn pairing_removes_what_the_seeds_have_in_common() {
        let (reference, candidate) = ([10.0, 20.0, 30.0, 40.0], [11.0, 21.9, 33.2, 43.8]);
        let independent = Ratio::of_samples(&reference, &candidate, Pairing::Independent).unwrap();
        let width = |ratio: &Ratio| ratio.interval(Confidence::P95).unwrap().width();
        assert!(width(&paired(&reference, &candidate)) * 20.0 < width(&independent));
    }

    /// Of infinitely many inputs: e to the power of the normal quantile 1.96 of 95 % times the deviation.
    #[test]
    fn the_factor_between_inputs_is_that_of_the_normal_quantile() {
        let of = |deviation| Between { deviation, relative: 0.0, freedom: 1e9 }.factor(Confidence::P95);
        assert!((of(0.1) - 0.195_996_4_f64.exp()).abs() < 1e-6, "{}", of(0.1));
        assert_eq!(of(0.0), 1.0, "no variation moves no end");
        // Student's quantile of two degrees is 4.302653 (tables).
        let few = Between { deviation: 0.1, relative: 0.0, freedom: 2.0 }.factor(Confidence::P95);
        assert!((few - 0.430_265_3_f64.exp()).abs() < 1e-5, "{few}");
    }
}
