//! The causal profile: what would less CPU time of tasks change, a shorter hold of a lock, a faster disk?

use super::Question;
use super::check::changed;
use super::names::Names;
use super::run::{Explained, Found, names};
use crate::edit::Edit;
use crate::parallel::{Counted, Told, each_watched};
use crate::plan::Ready;
use crate::progress::Watch;
use crate::refusal::Refusal;
use crate::simulation::Beside;
use goodness_core::{Event, LockId, Observer, TaskId, Time};
use goodness_observe::blame::Of;
use goodness_report::why::{Lever, LeverKind};
use goodness_stats::ratio::{Pairing, Ratio};
use goodness_stats::{Confidence, measured_pairs};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// By how much time is shortened, in percent.
const STEPS: [u32; 3] = [5, 10, 25];
/// Runs of each, with the same seeds. A choice: with fewer, intervals are too wide to tell 5 % apart.
const RUNS: u32 = 6;
/// Kinds of tasks that are tried: those that use most CPU time. A choice.
const KINDS: usize = 6;
/// Locks that are tried, those first for which tasks fall asleep most often, and disks. A choice.
const PLACES: usize = 4;

/// Something of which there could be less.
struct Lesser {
    kind: LeverKind,
    what: String,
}

impl Lesser {
    /// The edit that leaves `percent`.
    fn edit(&self, percent: u32) -> Edit {
        match self.kind {
            LeverKind::Compute => Edit::computes(&self.what, percent),
            LeverKind::Hold => Edit::holds(&self.what, percent),
            LeverKind::Service => Edit::serves(&self.what, percent),
        }
    }
}

/// A run with less of something, or as it is.
type Job<'a> = (Option<(&'a Lesser, u32)>, u32);

/// The figures of the runs with less of something, or of those as they are: by run.
struct Figures {
    p99: Vec<Option<f64>>,
    rate: Vec<Option<f64>>,
}

impl Figures {
    fn of(runs: &[Found]) -> Figures {
        let p99 = |found: &Found| found.lateness.p99.map(|span| span.0 as f64);
        let rate = |found: &Found| Some(found.served as f64 / found.length.0.max(1) as f64);
        Figures { p99: runs.iter().map(p99).collect(), rate: runs.iter().map(rate).collect() }
    }
}

/// Simulates `run` and the replications after it with less of each. What is shown to shorten the 99th percentile most
/// comes first, then what is shown to raise the throughput.
///
/// # Errors
/// As [`crate::Plan::run`].
pub(super) fn profile(run: Explained, of: Of, watch: &Watch) -> Result<Vec<Lever>, Refusal> {
    let lesser = Counted::new(watch, 1).run(|told| lesser(run, told))?;
    let steps = lesser.iter().flat_map(|it| STEPS.map(|step| Some((it, step))));
    let jobs: Vec<Job> =
        std::iter::once(None).chain(steps).flat_map(|it| (0..RUNS).map(move |run| (it, run))).collect();
    let question = Question { of: Some(of), at: None, worst: 0, checks: 0, profile: false };
    let found = each_watched(&jobs, watch, |(less, number), told| {
        let run = Explained { replication: run.replication.saturating_add(*number), ..run };
        let Some((it, step)) = less else { return run.find(&question, told) };
        let contender = changed(run.contender, &it.edit(100 - step));
        Explained { contender: &contender, ..run }.find(&question, told)
    })?;
    let found: Vec<Found> = found.into_iter().collect::<Result<_, Refusal>>()?;
    let all: Vec<Figures> = found.chunks(RUNS as usize).map(Figures::of).collect();
    let Some((own, less)) = all.split_first() else { return Ok(Vec::new()) };
    // Each thing is tried for two figures.
    let level = Confidence::P95.shared_among((2 * lesser.len()).max(1));
    let levers = lesser.iter().zip(less.chunks(STEPS.len())).flat_map(|(it, less)| levers(it, own, less, level));
    let mut levers: Vec<Lever> = levers.collect();
    let p99 = |it: &Lever| it.p99.filter(|_| it.is_p99_told).unwrap_or(0.0);
    let loss = |it: &Lever| -it.throughput.filter(|_| it.is_throughput_told).unwrap_or(0.0);
    levers.sort_by(|a, b| p99(a).total_cmp(&p99(b)).then(loss(a).total_cmp(&loss(b))));
    Ok(levers)
}

/// The levers of one thing, by step. A smaller step is shown to change something only where the larger ones are, so
/// that each thing is one test.
fn levers(it: &Lesser, own: &Figures, less: &[Figures], level: Confidence) -> Vec<Lever> {
    let (mut is_p99_told, mut is_throughput_told) = (true, true);
    let mut levers: Vec<Lever> = STEPS
        .iter()
        .zip(less)
        .rev()
        .map(|(step, less)| {
            let (p99, rate) = (ratio(&own.p99, &less.p99), ratio(&own.rate, &less.rate));
            is_p99_told &= is_told(p99.as_ref(), level);
            is_throughput_told &= is_told(rate.as_ref(), level);
            Lever {
                kind: it.kind,
                what: it.what.clone(),
                less: f64::from(*step) / 100.0,
                p99: change(p99.as_ref()),
                throughput: change(rate.as_ref()),
                p99_ci95: interval(p99.as_ref()),
                throughput_ci95: interval(rate.as_ref()),
                is_p99_told,
                is_throughput_told,
            }
        })
        .collect();
    levers.reverse();
    levers
}

/// The ratio of the runs with less to those as they are, paired.
fn ratio(own: &[Option<f64>], less: &[Option<f64>]) -> Option<Ratio> {
    let (own, less) = measured_pairs(own, less);
    Ratio::of_samples(&own, &less, Pairing::Paired)
}

fn is_told(ratio: Option<&Ratio>, level: Confidence) -> bool {
    ratio.and_then(|it| it.interval(level)).is_some_and(|it| !it.contains(1.0))
}

fn change(ratio: Option<&Ratio>) -> Option<f64> {
    Some(ratio?.estimate? - 1.0)
}

fn interval(ratio: Option<&Ratio>) -> Option<[f64; 2]> {
    let interval = ratio?.interval(Confidence::P95)?;
    Some([interval.low - 1.0, interval.high - 1.0]).filter(|ends| ends.iter().all(|end| end.is_finite()))
}

/// Everything to try: the kinds of tasks that use most CPU time, the locks for which most sleep, the disks.
fn lesser(run: Explained, told: Told) -> Result<Vec<Lesser>, Refusal> {
    let (plan, ready) = (run.plan(), run.ready()?);
    let names = names(&ready, run.work);
    let disks = disks(&ready);
    let mut sleeps = Sleeps(vec![0; ready.work.locks.len()]);
    let measured = plan.run_first(ready, Beside::watched(&mut sleeps), told)?.measured;
    let used = measured.tasks.iter().map(|task| (names.kind(TaskId(task.task.0)), task.cpu_time.0));
    let kinds = busiest(used).into_iter().map(|kind| (LeverKind::Compute, names.of_kind(kind).to_string()));
    let all = kinds.chain(sleeps.locks(&names)).chain(disks);
    Ok(all.map(|(kind, what)| Lesser { kind, what }).collect())
}

fn disks(ready: &Ready) -> Vec<(LeverKind, String)> {
    let disks = ready.work.storage.disks.iter().take(PLACES);
    disks.map(|disk| (LeverKind::Service, disk.name.clone())).collect()
}

/// The kinds with the largest sums above 0, largest first.
fn busiest(used: impl Iterator<Item = (u32, u64)>) -> Vec<u32> {
    let mut sums = BTreeMap::<u32, u64>::new();
    used.for_each(|(kind, time)| *sums.entry(kind).or_default() += time);
    let mut sums: Vec<(u32, u64)> = sums.into_iter().filter(|(_, sum)| *sum > 0).collect();
    sums.sort_by_key(|(kind, sum)| (Reverse(*sum), *kind));
    sums.into_iter().take(KINDS).map(|(kind, _)| kind).collect()
}

/// Counts how often tasks fall asleep for each lock.
struct Sleeps(Vec<u64>);

impl Sleeps {
    fn locks(&self, names: &Names) -> Vec<(LeverKind, String)> {
        let mut locks: Vec<(LockId, u64)> = (0..).map(LockId).zip(self.0.iter().copied()).collect();
        locks.sort_by_key(|(lock, count)| (Reverse(*count), *lock));
        locks.into_iter().take(PLACES).map(|(lock, _)| (LeverKind::Hold, names.lock(lock).to_string())).collect()
    }
}

impl Observer for Sleeps {
    fn observe(&mut self, _: Time, event: &Event) {
        if let Event::Contended { lock, .. } = event {
            self.0[lock.0 as usize] += 1;
        }
    }
}
