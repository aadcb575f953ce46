//! Runs as they end, in any order. A run counts once every contender has run its replication, so that what a stopped
//! plan leaves is a comparison of like with like.

use crate::contender::Contender;
use crate::run::RunResult;
use crate::runs::{Arm, Drawn, FAMILIES};
use crate::watchdog;
use goodness_observe::{Histogram, METRICS, TaskMeasured, Violation};
use std::collections::{BTreeMap, BTreeSet};

/// The runs of a plan that have ended.
pub(crate) struct Collected {
    drawn: Drawn,
    contenders: Vec<OfContender>,
    /// Runs of replications that not every contender has run yet, by contender.
    waiting: BTreeMap<u32, Vec<(usize, Kept)>>,
    /// Replications that every contender has run.
    complete: BTreeSet<u32>,
    by_task: bool,
}

/// The part of one run that is kept.
struct Kept {
    values: Vec<Option<f64>>,
    samples: Vec<u64>,
    requests: u64,
    decisions: u64,
    wall_ns: Option<u64>,
    distributions: Vec<Histogram>,
    tasks: Vec<TaskMeasured>,
    violations: Vec<Violation>,
    overdue: Option<String>,
    /// All of it, of the first run.
    first: Option<RunResult>,
}

impl Collected {
    /// Room for all runs of `contenders`; `by_task` says whether the results of every task are kept.
    pub fn of(contenders: &[Contender], drawn: Drawn, by_task: bool) -> Collected {
        let contenders = contenders.iter().map(|it| OfContender::of(it.clone(), drawn, by_task)).collect();
        Collected { drawn, contenders, waiting: BTreeMap::new(), complete: BTreeSet::new(), by_task }
    }

    /// Run `index` of contender `of` has ended.
    pub fn add(&mut self, of: usize, index: u32, run: RunResult) {
        let kept = Kept::of(&self.contenders[of].contender, index, run, self.by_task);
        let waiting = self.waiting.entry(index).or_default();
        waiting.push((of, kept));
        if waiting.len() == self.contenders.len() {
            self.complete.insert(index);
            for (of, kept) in self.waiting.remove(&index).into_iter().flatten() {
                self.contenders[of].add(index, kept);
            }
        }
    }

    /// Number of replications that every contender has run; none before the first one.
    pub fn runs(&self) -> u32 {
        if self.complete.contains(&0) { self.complete.len() as u32 } else { 0 }
    }

    /// The runs of each contender, in the order of the replications; those that not every one has run are left out.
    ///
    /// # Panics
    /// [`Collected::runs`] is 0.
    pub fn finish(self) -> Vec<Arm> {
        let is_complete: Vec<bool> = (0..self.drawn.runs).map(|index| self.complete.contains(&index)).collect();
        let mut arms: Vec<Arm> = self.contenders.into_iter().map(|it| it.finish(&is_complete)).collect();
        pad(&mut arms, self.complete.len());
        arms
    }
}

/// Gives a metric that some arm measured a place for each run in all arms.
fn pad(arms: &mut [Arm], runs: usize) {
    for metric in 0..METRICS.len() {
        if arms.iter().any(|arm| !arm.values[metric].is_empty()) {
            arms.iter_mut().for_each(|arm| arm.values[metric].resize(runs, None));
        }
    }
}

impl Kept {
    fn of(contender: &Contender, index: u32, mut run: RunResult, by_task: bool) -> Kept {
        let measured = &run.measured;
        Kept {
            values: measured.values.iter().map(|it| it.value.filter(|_| it.samples >= it.about.fewest())).collect(),
            samples: measured.values.iter().map(|it| it.samples).collect(),
            requests: measured.distributions.request_latency.count(),
            decisions: run.outcome.decisions,
            wall_ns: run.wall_ns,
            distributions: FAMILIES.iter().map(|(_, pick)| pick(&measured.distributions).clone()).collect(),
            tasks: if by_task { measured.tasks.clone() } else { Vec::new() },
            violations: std::mem::take(&mut run.checked.violations),
            overdue: watchdog::warning(contender, index + 1, &run),
            first: (index == 0).then_some(run),
        }
    }
}

/// The complete runs of one contender.
struct OfContender {
    contender: Contender,
    drawn: Drawn,
    values: Vec<Vec<Option<f64>>>,
    requests: Vec<u64>,
    samples: Vec<u64>,
    decisions: u64,
    wall_ns: Option<u64>,
    distributions: Vec<Histogram>,
    tasks: Option<Vec<Vec<TaskMeasured>>>,
    violations: Vec<(u32, Violation)>,
    overdue: Option<(u32, String)>,
    first: Option<RunResult>,
}

impl OfContender {
    fn of(contender: Contender, drawn: Drawn, by_task: bool) -> OfContender {
        OfContender {
            contender,
            drawn,
            values: vec![Vec::new(); METRICS.len()],
            requests: vec![0; drawn.runs as usize],
            samples: vec![0; METRICS.len()],
            decisions: 0,
            wall_ns: None,
            distributions: FAMILIES.iter().map(|_| Histogram::default()).collect(),
            tasks: by_task.then(|| vec![Vec::new(); drawn.runs as usize]),
            violations: Vec::new(),
            overdue: None,
            first: None,
        }
    }

    fn add(&mut self, index: u32, run: Kept) {
        for (place, (value, samples)) in run.values.into_iter().zip(run.samples).enumerate() {
            self.samples[place] += samples;
            // Most metrics are not measured on most work: they take no memory by the run.
            if value.is_some() {
                let values = &mut self.values[place];
                values.resize(self.drawn.runs as usize, None);
                values[index as usize] = value;
            }
        }
        self.requests[index as usize] = run.requests;
        self.decisions += run.decisions;
        self.wall_ns = run.wall_ns.map(|ns| ns + self.wall_ns.unwrap_or_default()).or(self.wall_ns);
        self.violations.extend(run.violations.into_iter().map(|violation| (index, violation)));
        if self.overdue.as_ref().is_none_or(|(known, _)| index < *known) {
            self.overdue = run.overdue.map(|warning| (index, warning)).or(self.overdue.take());
        }
        self.distributions.iter_mut().zip(&run.distributions).for_each(|(all, one)| all.merge(one));
        if let Some(tasks) = &mut self.tasks {
            tasks[index as usize] = run.tasks;
        }
        self.first = run.first.or(self.first.take());
    }

    /// All of it, in the order of the replications, of those that are complete.
    fn finish(mut self, is_complete: &[bool]) -> Arm {
        self.violations.sort_by_key(|(index, _)| *index);
        self.values.iter_mut().for_each(|values| keep(values, is_complete));
        keep(&mut self.requests, is_complete);
        let mut tasks = self.tasks.unwrap_or_default();
        keep(&mut tasks, is_complete);
        let (contender, drawn) = (self.contender, self.drawn);
        let again = |index| contender.again(drawn.seed, drawn.first + index);
        Arm {
            label: None,
            values: self.values,
            requests: self.requests,
            by_input: Vec::new(),
            samples: self.samples,
            batch_errors: Vec::new(),
            decisions: self.decisions,
            wall_ns: self.wall_ns,
            distributions: self.distributions,
            tasks,
            violations: self.violations.into_iter().map(|(index, found)| (again(index), found)).collect(),
            overdue: self.overdue.map(|(_, warning)| warning),
            first: self.first.expect("the first run is complete"),
            contender,
        }
    }
}

/// Keeps the runs that are complete of `all`, which may have none.
fn keep<T>(all: &mut Vec<T>, is_complete: &[bool]) {
    let mut is_complete = is_complete.iter();
    all.retain(|_| is_complete.next() == Some(&true));
}
