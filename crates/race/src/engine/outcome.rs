//! Results of a race, in the schema `goodness.race/1`.

use super::outside_load::OutsideLoad;
use super::run::{self, Run};
use super::{Judged, Plan, Series};
use crate::measure::Better;
use goodness_stats::compare::{Comparison, Verdict};
use goodness_stats::summary::mean;
use goodness_stats::{Interval, measured};
use goodness_sys::cgroup::Hierarchies;
use serde::Serialize;

/// Name and version of the schema. Fields are added, never renamed.
pub const SCHEMA: &str = "goodness.race/1";

/// Reason a race ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Stopped {
    /// All comparisons were decided.
    Clear,
    /// All blocks were run.
    Blocks,
    /// The time was over.
    Duration,
}

/// Everything a race found.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Outcome {
    /// Always `goodness.race/1`.
    pub schema: &'static str,
    /// The race.
    pub race: String,
    /// The kernel's release.
    pub kernel: String,
    /// Cgroups used.
    pub cgroups: String,
    /// Random seed of order and work.
    pub seed: u64,
    /// Blocks that were counted.
    pub blocks: usize,
    /// Blocks that would have been run at most.
    pub blocks_at_most: u32,
    /// Blocks dropped before.
    pub warmup: u32,
    /// Reason it ended.
    pub stopped: Stopped,
    /// Blocks after which an interim look was taken.
    pub looks: Vec<usize>,
    /// Differences below this part do not matter.
    pub margin: f64,
    /// Accepted outside load, as a fraction of the machine.
    pub outside_bound: f64,
    /// Runs repeated because of outside load.
    pub repeated: u32,
    /// Runs that count although every attempt had too much outside load.
    pub disturbed: usize,
    /// The arms, in the order of the race file.
    pub arms: Vec<ArmOutcome>,
    /// All runs, in order.
    pub runs: Vec<RunOutcome>,
}

/// Results of one arm.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ArmOutcome {
    /// Its name.
    pub name: String,
    /// Its settings.
    pub sets: String,
    /// True if the others are compared with it.
    pub is_reference: bool,
    /// Measurements.
    pub measures: Vec<Measured>,
}

/// One measure of one arm.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Measured {
    /// Its name.
    pub name: String,
    /// Its unit.
    pub unit: &'static str,
    /// `lower` or `higher`.
    pub better: &'static str,
    /// True if it gets a verdict.
    pub decides: bool,
    /// The mean of the counted runs.
    pub mean: Option<f64>,
    /// One value per block.
    pub values: Vec<Option<f64>>,
    /// Against the reference; `None` for the reference itself.
    pub vs_reference: Option<Versus>,
}

impl Measured {
    /// Unit in the form used by figures.
    #[must_use]
    pub fn shown_unit(&self) -> &'static str {
        if self.unit == "1" { "ratio" } else { self.unit }
    }
}

/// One measure of one arm, compared with the reference.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Versus {
    /// This arm's values over the reference's: the geometric mean of the blocks' ratios.
    pub ratio: Option<f64>,
    /// Its interval at `level`.
    pub interval: Option<[f64; 2]>,
    /// Confidence level of the interval: the share of 95 % left after the looks and the other comparisons.
    pub level: Option<f64>,
    /// P-value after Holm's correction; compare it with the alpha that the last look may spend.
    pub p_value: Option<f64>,
    /// Mean difference over standard deviation of the differences.
    pub effect: Option<f64>,
    /// Cliff's delta, -1 to 1: fraction of pairs in which this arm's value is larger, minus the fraction in which it is
    /// smaller.
    pub cliffs_delta: Option<f64>,
    /// Verdict; `None` for measures without one.
    pub verdict: Option<Verdict>,
}

/// One run.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunOutcome {
    /// Block number, from 0; the first ones are warm-up.
    pub block: u32,
    /// Its arm's name.
    pub arm: String,
    /// Duration in ns, including start and stop of servers.
    pub took_ns: u64,
    /// CPU use by other processes, as a fraction of the machine; `None` if unknown.
    pub others: Option<f64>,
    /// CPU time stolen by the hypervisor, as a fraction of the machine.
    pub stolen: f64,
    /// Number of repetitions.
    pub repeated: u32,
    /// True if outside load was too high in spite of repetitions.
    pub disturbed: bool,
}

impl Outcome {
    pub(super) fn of(
        plan: &Plan,
        at: &Hierarchies,
        runs: Vec<Run>,
        judged: Vec<(Judged, bool)>,
        looks: Vec<usize>,
        stopped: Stopped,
    ) -> Outcome {
        let all = run::series(plan, &runs);
        let arm = |(number, arm): (usize, &crate::arm::Arm)| {
            let measures = all.iter().enumerate().map(|(at, series)| {
                let versus = judged.iter().find(|(one, _)| one.arm == number && one.series == at);
                measured_of(series, number, versus.map(|(one, decides)| versus_of(&one.comparison, *decides)))
            });
            let (name, sets) = (arm.name.clone(), arm.describe());
            ArmOutcome { name, sets, is_reference: number == plan.reference, measures: measures.collect() }
        };
        Outcome {
            schema: SCHEMA,
            race: plan.name.clone(),
            kernel: goodness_sys::kernel_release().unwrap_or_default(),
            cgroups: at.describe(),
            seed: plan.seed.0,
            blocks: all.iter().flat_map(|series| &series.values).map(Vec::len).max().unwrap_or(0),
            blocks_at_most: plan.blocks,
            warmup: plan.warmup,
            stopped,
            looks,
            margin: plan.margin,
            outside_bound: plan.outside,
            repeated: runs.iter().map(|run| run.repeated).sum(),
            disturbed: runs.iter().filter(|run| run.disturbed).count(),
            arms: plan.arms.iter().enumerate().map(arm).collect(),
            runs: runs.iter().map(|run| run_of(plan, run)).collect(),
        }
    }

    /// All comparisons with a verdict.
    pub fn verdicts(&self) -> impl Iterator<Item = (&ArmOutcome, &Measured, Verdict)> {
        let of = |arm| move |measured| (arm, measured);
        let all = self.arms.iter().flat_map(move |arm: &ArmOutcome| arm.measures.iter().map(of(arm)));
        all.filter_map(|(arm, measured): (&ArmOutcome, &Measured)| {
            Some((arm, measured, measured.vs_reference.as_ref()?.verdict?))
        })
    }

    /// True if some comparison with a verdict is not decided.
    #[must_use]
    pub fn is_inconclusive(&self) -> bool {
        self.verdicts().any(|(_, _, verdict)| verdict == Verdict::Inconclusive) || self.verdicts().next().is_none()
    }
}

fn measured_of(series: &Series, arm: usize, vs_reference: Option<Versus>) -> Measured {
    let values = series.values[arm].clone();
    let better = match series.better {
        Better::Higher => "higher",
        Better::Lower => "lower",
    };
    let (name, unit, decides) = (series.name.clone(), series.unit, series.decides);
    Measured { name, unit, better, decides, mean: mean(&measured(&values)), values, vs_reference }
}

fn versus_of(comparison: &Comparison, decides: bool) -> Versus {
    let ends = |interval: Interval| [interval.low, interval.high];
    Versus {
        ratio: comparison.ratio,
        interval: comparison.deciding_interval.map(ends),
        level: comparison.deciding_confidence.map(|confidence| confidence.level()),
        p_value: comparison.corrected_p_value.or(comparison.p_value),
        effect: comparison.effect.and_then(|effect| effect.standardized),
        cliffs_delta: comparison.effect.map(|effect| effect.cliffs_delta),
        verdict: decides.then_some(comparison.verdict),
    }
}

fn run_of(plan: &Plan, run: &Run) -> RunOutcome {
    let OutsideLoad { others, stolen } = run.outside;
    RunOutcome {
        block: run.block,
        arm: plan.arms[run.arm].name.clone(),
        took_ns: run.took.as_nanos() as u64,
        others,
        stolen,
        repeated: run.repeated,
        disturbed: run.disturbed,
    }
}
