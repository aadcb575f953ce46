//! Builds the report from the runs: intervals, comparisons with the reference, verdicts.

use crate::again::Again;
use crate::apply;
use crate::change_error::{is_of_elevators, is_unresolved};
use crate::compared_kernels::not_compared;
use crate::contender::Contender;
use crate::device_error::FittedDisk;
use crate::kernel::other_kernel;
use crate::model_error::{in_short, sentence};
use crate::prediction_error::Basis;
use crate::run::RunResult;
use crate::runs::{Arm, FAMILIES, Runs};
use crate::spec::PolicySpec;
use crate::spread::Spread;
use goodness_core::{CpuStat, GroupId};
use goodness_observe::{About, Better, Histogram, METRICS, TaskIo, title};
use goodness_report::every_run::{PolicyRuns, RunValues};
use goodness_report::figure;
use goodness_report::groups::GroupReport;
use goodness_report::model::{
    self, Application, Build, Details, Distribution, EffectRow, Effects, Input, MetricAbout, MetricSummary,
    PolicyReport, QUANTILES, Report, Sampling, Setting, TaskIoReport, TaskReport, Trust, VsReference,
};
use goodness_stats::compare::{Because, Comparison, Direction, Doubt, Settings, compare_each};
use goodness_stats::factorial;
use goodness_stats::ratio::Pairing;
use goodness_stats::summary::{Summary, summarise};
use goodness_stats::{Confidence, Interval, measured};

/// Fewest observations in a recording for a verdict. A choice: as many as a measured spread had (`docs/statistics.md`).
const FEWEST: u64 = 30;

/// Parts of a report that do not come from the runs.
pub struct Circumstances<'a> {
    /// Description of the work.
    pub input: Input,
    /// For people.
    pub details: Details,
    /// Commit the program was built from, if known.
    pub commit: Option<String>,
    /// Command that reproduces a run, for violations.
    pub again: &'a dyn Fn(&Again) -> String,
}

impl Runs {
    /// Puts a report together. The first contender is the reference: the others are compared with it.
    #[must_use]
    pub fn report(&self, circumstances: Circumstances) -> Report {
        let Circumstances { input, mut details, commit, again } = circumstances;
        self.warn(&mut details);
        let comparisons = self.compare_all();
        details.has_arms = self.has_arms();
        let policies = self.arms.iter().enumerate().map(|(index, arm)| PolicyReport {
            name: arm.contender.name(),
            label: self.name(arm),
            settings: settings(arm),
            is_reference: index == 0,
            metrics: self.metrics(index, &comparisons),
            tasks: tasks(&arm.first),
            groups: groups(&arm.first),
            decisions: Some(arm.decisions),
            simulation_wall_ns: arm.wall_ns,
            violations: violations(arm, again),
            application: self.application(arm),
            distributions: distributions(arm),
        });
        let mut report = Report {
            goodness: Build { version: env!("CARGO_PKG_VERSION").into(), commit },
            input,
            machine: self.machine.clone(),
            seed: self.seed,
            runs_per_policy: self.runs,
            simulated_ns: self.arms.first().map_or(0, |arm| arm.first.outcome.end.0),
            fidelity: self.fidelity.clone(),
            sampling: self.sampling,
            policies: policies.collect(),
            details: Details { metrics: abouts(), samples: self.sampled(), ..details },
            ..Report::default()
        };
        report.details.warnings.extend(self.without_commands(&report));
        let in_short = report.ranked_by().and_then(|metric| in_short(self.contenders(), self.cpus, metric));
        report.details.warnings.extend(in_short);
        report.trust = Trust::of(report.fidelity.as_ref(), report.ranked_by(), self.doubts());
        report.runs = self.every_run(&report);
        report.details.effects = report.ranked_by().and_then(|metric| effects(&self.arms, metric));
        report
    }
}

fn abouts() -> Vec<MetricAbout> {
    let about = |m: &About| MetricAbout { name: m.name.into(), title: title(m.name), summary: m.summary.into() };
    METRICS.iter().map(about).collect()
}

fn settings(arm: &Arm) -> Vec<Setting> {
    let Contender { policy, elevator, .. } = &arm.contender;
    let of_policy = policy.values().into_iter().flatten();
    let of_policy = of_policy.map(|(name, value)| Setting { name: name.into(), value });
    let of_elevator = elevator.iter().flat_map(|elevator| elevator.values().into_iter().flatten());
    let of_elevator = of_elevator.map(|(name, value)| Setting { name: format!("elevator.{name}"), value });
    of_policy.chain(of_elevator).collect()
}

impl Runs {
    /// Sentences about the first run of each arm, behind the arm's name.
    fn each_says<'a>(&'a self, of: fn(&'a Arm) -> &'a [String]) -> impl Iterator<Item = String> + 'a {
        let all = self.arms.iter().flat_map(move |arm| of(arm).iter().map(move |sentence| (arm, sentence)));
        all.map(|(arm, sentence)| format!("{}: {sentence}", self.name(arm)))
    }

    /// Adds what a reader has to know about the runs.
    fn warn(&self, details: &mut Details) {
        details.warnings.extend(self.stopped.clone());
        details.warnings.extend(self.remark.clone());
        details.warnings.extend(self.free_elevators.clone());
        details.warnings.extend(self.arms.iter().filter_map(|arm| arm.overdue.clone()));
        details.warnings.extend(self.each_says(|arm| &arm.first.unheeded));
        details.warnings.extend(self.fitted().iter().filter(|it| it.doubt().is_none()).map(FittedDisk::sentence));
        details.warnings.extend(self.other_kernels());
        details.warnings.extend(self.freed());
        details.warnings.extend(self.without_effect());
        details.workload_notes.extend(self.each_says(|arm| &arm.first.remarks.notes));
        details.workload_notes.extend(self.model_error_notes());
    }

    /// Reasons not to trust the runs.
    pub(crate) fn doubts(&self) -> Vec<String> {
        let of_disks = self.fitted().iter().filter_map(FittedDisk::doubt);
        self.each_says(|arm| &arm.first.remarks.doubts).chain(of_disks).collect()
    }

    /// Sentences about the tasks that a CPU going offline left without one: one for each arm, or a single one if they
    /// are the same.
    fn freed(&self) -> Vec<String> {
        let of = |arm: &Arm| {
            let (set_free, tasks) = (&arm.first.outcome.set_free, &arm.first.tasks);
            let (first, at) = *set_free.first()?;
            let whom = tasks.get(first.index()).map_or_else(|| first.to_string(), |it| figure::name(&it.name));
            let others = set_free.len() - 1;
            let more = if others > 0 { format!(" (and {others} more)") } else { String::new() };
            Some(format!("CPU that {whom}{more} may use was online at {at}: as in Linux, it may use any CPU since"))
        };
        let said: Vec<Option<String>> = self.arms.iter().map(of).collect();
        match said.first() {
            Some(Some(first)) if said.iter().all(|it| it.as_ref() == Some(first)) => vec![format!("No {first}.")],
            _ => {
                let each = self.arms.iter().zip(said);
                each.filter_map(|(arm, said)| Some(format!("{}: no {}.", self.name(arm), said?))).collect()
            }
        }
    }

    /// Arms that have the recorded policy's name and another kernel.
    fn other_kernels(&self) -> Vec<String> {
        let Some(own) = self.fidelity.as_ref().and_then(|it| PolicySpec::parse(&it.policy).ok()) else {
            return Vec::new();
        };
        let mut said: Vec<String> = Vec::new();
        for one in self.arms.iter().filter_map(|arm| other_kernel(&arm.contender.policy, &own)) {
            if !said.contains(&one) {
                said.push(one);
            }
        }
        said
    }

    /// The values of every run, by arm, then input.
    fn every_run(&self, report: &Report) -> Vec<PolicyRuns> {
        let of = |label: &str, input: &str, values: &[Vec<Option<f64>>], requests: &[u64]| {
            let measured = METRICS.iter().zip(values).filter(|(_, values)| values.iter().any(Option::is_some));
            let values = measured.map(|(metric, it)| RunValues { name: metric.name.into(), values: it.clone() });
            let has_requests = requests.iter().any(|count| *count > 0);
            PolicyRuns {
                policy: label.into(),
                input: input.into(),
                first: self.first,
                requests: if has_requests { requests.to_vec() } else { Vec::new() },
                values: values.collect(),
            }
        };
        let of_arm = |(arm, label): (&Arm, String)| -> Vec<PolicyRuns> {
            match arm.by_input.is_empty() {
                true => {
                    vec![of(&label, arm.label.as_deref().unwrap_or(&report.input.name), &arm.values, &arm.requests)]
                }
                false => arm.by_input.iter().map(|it| of(&label, &it.input, &it.values, &it.requests)).collect(),
            }
        };
        self.arms.iter().zip(report.labels()).flat_map(of_arm).collect()
    }

    /// Compares each arm with the first, per metric; empty for metrics without a better direction. All arms of one
    /// metric form one family for the correction.
    fn compare_all(&self) -> Vec<Vec<Comparison>> {
        METRICS.iter().map(|metric| self.compare_in(metric)).collect()
    }

    fn compare_in(&self, metric: &About) -> Vec<Comparison> {
        let direction = match metric.better {
            Better::Lower => Direction::LowerIsBetter,
            Better::Higher => Direction::HigherIsBetter,
            Better::Neither => return Vec::new(),
        };
        let settings = Settings { pairing: self.pairing(), ..Settings::new(direction) };
        let all: Vec<&[Option<f64>]> = self.arms.iter().map(|arm| arm.values(metric.name)).collect();
        let Some((first, others)) = all.split_first() else { return Vec::new() };
        let doubts: Vec<Doubt> = self.arms[1..].iter().map(|arm| self.doubt(arm, metric)).collect();
        let mut compared = compare_each(first, others, &doubts, &settings);
        for ((comparison, doubt), arm) in compared.iter_mut().zip(&doubts).zip(&self.arms[1..]) {
            let is_of_elevators = is_of_elevators(&self.arms[0].contender, &arm.contender, metric.name);
            let is_prediction = self.fidelity.is_some() && comparison.because == Because::IdenticalRuns;
            // Equal runs show that no request waited, and nothing about the time that is not simulated.
            if is_of_elevators && is_prediction || !self.is_known(doubt) || self.observations(arm, metric) < FEWEST {
                comparison.withhold();
            } else if is_prediction {
                comparison.doubt_equality(&settings);
            }
        }
        compared
    }

    /// Observations of `metric` in a recording, the fewer of the two arms; of other work enough.
    fn observations(&self, arm: &Arm, metric: &About) -> u64 {
        let of = |arm: &Arm| arm.first.measured.get(metric.name).samples;
        if self.sampling == Sampling::Runs { FEWEST } else { of(arm).min(of(&self.arms[0])) }
    }

    /// True if `doubt` says as much as a verdict needs: of a prediction its error, of two recordings what recordings of
    /// one load differ.
    fn is_known(&self, doubt: &Doubt) -> bool {
        match self.sampling {
            Sampling::Runs => true,
            Sampling::Replays | Sampling::Recordings(_) => doubt.error.is_some() || self.fidelity.is_none(),
            Sampling::Arms => doubt.between.is_some(),
        }
    }

    pub(crate) fn pairing(&self) -> Pairing {
        if self.sampling == Sampling::Arms { Pairing::Independent } else { Pairing::Paired }
    }

    /// True if enough is known of `metric` under the reference and `arm` for a verdict.
    pub(crate) fn is_judged(&self, arm: &Arm, metric: &About) -> bool {
        self.is_known(&self.doubt(arm, metric)) && self.observations(arm, metric) >= FEWEST
    }

    pub(crate) fn doubt(&self, arm: &Arm, metric: &About) -> Doubt {
        let spread = Spread::of(metric.name, self.cpus);
        let is_change = arm.contender.policy.name == self.arms[0].contender.policy.name;
        let between = match self.sampling {
            Sampling::Runs | Sampling::Recordings(_) => None,
            Sampling::Replays if is_change => spread.map(Spread::between_changes),
            Sampling::Replays => spread.map(Spread::between_policies),
            Sampling::Arms => {
                let errors = [&self.arms[0], arm].map(|it| it.batch_error(metric.name));
                spread.map(|spread| spread.between_recordings(errors))
            }
        };
        let is_known = self.sampling == Sampling::Runs || !is_unresolved(metric.name, self.means(arm, metric));
        let error = self.prediction_error(arm, metric).filter(|_| is_known);
        Doubt { error, between }
    }

    /// What is said of the model's error on several CPUs, for work that is not a recording.
    fn model_error_notes(&self) -> Vec<String> {
        let of_kernel = not_compared(self.contenders(), self.cpus);
        sentence(self.contenders(), self.cpus).into_iter().chain(of_kernel).collect()
    }

    /// Notes on a simulation as such: features that its arms do not heed, and the model's error.
    pub(crate) fn simulation_notes(&self) -> Vec<String> {
        let of_disks = self.fitted().iter().map(FittedDisk::sentence);
        self.each_says(|arm| &arm.first.unheeded).chain(self.model_error_notes()).chain(of_disks).collect()
    }

    /// The contenders of simulated work; none of a recording, whose errors are those of its replay.
    fn contenders(&self) -> impl Iterator<Item = &Contender> + Clone {
        let is_synthetic = self.sampling == Sampling::Runs;
        self.arms.iter().map(|arm| &arm.contender).filter(move |_| is_synthetic)
    }

    /// Values of `metric` under the reference and under `arm`.
    fn means(&self, arm: &Arm, metric: &About) -> [Option<f64>; 2] {
        [&self.arms[0], arm].map(|it| self.summary(&measured(it.values(metric.name))).map(|it| it.mean))
    }

    /// What the predictions of these runs rest on.
    fn basis(&self) -> Basis<'_> {
        Basis {
            fidelity: self.fidelity.as_ref(),
            is_recording: self.sampling != Sampling::Runs,
            machine: self.machine.cpus,
            cpus: self.cpus,
            disks: self.fitted(),
        }
    }

    /// Disks of the first arm whose devices were fitted to real ones.
    fn fitted(&self) -> &[FittedDisk] {
        self.arms.first().map_or(&[], |arm| &arm.first.fitted)
    }

    /// By how much `metric` may be off under `arm`: [`Basis::error`].
    fn error(&self, arm: &Arm, metric: &About) -> Option<f64> {
        let contenders = [&self.arms[0].contender, &arm.contender];
        self.basis().error(contenders, metric.name, self.ratio_of_means(arm, metric))
    }

    /// By how much the comparison of `arm` with the reference may be off: [`Basis::of_comparison`].
    pub(crate) fn prediction_error(&self, arm: &Arm, metric: &About) -> Option<f64> {
        let contenders = [&self.arms[0].contender, &arm.contender];
        self.basis().of_comparison(contenders, metric.name, self.ratio_of_means(arm, metric))
    }

    /// The least change of `metric` under `arm` that can be told from none, however many runs there are, as a factor
    /// less 1: the error of the prediction, and of one recording what others of its load differ from it.
    pub(crate) fn resolution(&self, arm: &Arm, metric: &About) -> f64 {
        let between = self.doubt(arm, metric).between.map_or(1.0, |it| it.factor(Confidence::P95));
        (1.0 + self.prediction_error(arm, metric).unwrap_or(0.0)) * between - 1.0
    }

    fn ratio_of_means(&self, arm: &Arm, metric: &About) -> Option<f64> {
        if let [Some(own), Some(other)] = self.means(arm, metric) { Some(other / own) } else { None }
    }
}

impl Runs {
    fn metrics(&self, index: usize, comparisons: &[Vec<Comparison>]) -> Vec<MetricSummary> {
        let (first, arm) = (&self.arms[0], &self.arms[index]);
        let all = METRICS.iter().zip(comparisons).zip(&arm.samples);
        all.map(|((metric, compared), samples)| {
            let summary = self.summary(&measured(arm.values(metric.name)));
            // Only metrics measured on both sides were compared.
            let is_measured = |arm: &Arm| arm.values(metric.name).iter().any(Option::is_some);
            let compared = compared.iter().filter(|_| is_measured(arm) && is_measured(first));
            let error = summary.as_ref().and_then(|_| self.error(arm, metric));
            MetricSummary {
                name: metric.name.into(),
                unit: unit_of(metric).into(),
                better: metric.better,
                value: summary.as_ref().map(|s| s.mean),
                ci95: summary.and_then(|it| self.interval(arm, metric, &it)).map(ends),
                samples: *samples,
                error_factor: error.map(|error| 1.0 + error),
                vs_reference: index.checked_sub(1).and_then(|other| compared.clone().nth(other)).map(versus),
            }
        })
        .collect()
    }

    /// Mean and interval of `values`. Recordings of one load differ by factors, so theirs are of logarithms.
    fn summary(&self, values: &[f64]) -> Option<Summary> {
        let is_of_factors = matches!(self.sampling, Sampling::Recordings(_)) && values.iter().all(|value| *value > 0.0);
        if !is_of_factors {
            return summarise(values, Confidence::P95);
        }
        let logs: Vec<f64> = values.iter().map(|value| value.ln()).collect();
        let logs = summarise(&logs, Confidence::P95)?;
        let interval = logs.interval.map(|it| Interval::new(it.low.exp(), it.high.exp()));
        Some(Summary { mean: logs.mean.exp(), interval, ..logs })
    }

    /// The interval of a value. It is wider by the error of the prediction or the model, and of one recording also by
    /// what others of its load differ from it.
    fn interval(&self, arm: &Arm, metric: &About, summary: &Summary) -> Option<Interval> {
        let runs = match self.sampling {
            Sampling::Arms => Interval::exact(summary.mean),
            _ => summary.interval?,
        };
        let is_of_one = matches!(self.sampling, Sampling::Replays | Sampling::Arms);
        let spread = Spread::of(metric.name, self.cpus).filter(|_| is_of_one);
        let spread = spread.map_or(1.0, |it| it.between_levels(arm.batch_error(metric.name)).factor(Confidence::P95));
        let error = 1.0 + self.error(arm, metric).unwrap_or(0.0);
        (self.sampling != Sampling::Arms || spread > 1.0).then(|| runs.scaled_out(error * spread))
    }

    /// The commands that apply `arm` to the recorded machine, or to one with the cgroups that an experiment names.
    fn application(&self, arm: &Arm) -> Option<Application> {
        let reference = self.arms.first()?;
        let commands = match self.sampling {
            Sampling::Replays | Sampling::Recordings(_) => apply::application,
            Sampling::Runs => apply::of_groups,
            Sampling::Arms => return None,
        };
        commands(&reference.contender, &arm.contender, &self.recorded_machine(reference))
    }

    /// The machine and the tasks to which commands apply an arm.
    fn recorded_machine<'a>(&self, reference: &'a Arm) -> apply::Recorded<'a> {
        let RunResult { tasks, groups, .. } = &reference.first;
        apply::Recorded { cpus: self.machine.cpus, tasks, groups }
    }

    /// A sentence on the winner, if no command can name a group that it changes, or take back what it changes of tasks.
    fn without_commands(&self, report: &Report) -> Option<String> {
        let winner = report.winner()?;
        let index = report.policies.iter().position(|it| std::ptr::eq(it, winner))?;
        let (reference, arm) = (&self.arms[0], &self.arms[index]);
        match self.sampling {
            Sampling::Runs => self.without_cgroup(arm),
            Sampling::Replays | Sampling::Recordings(_) => {
                apply::unlike_tasks(&reference.contender, &arm.contender, &self.recorded_machine(reference))
            }
            Sampling::Arms => None,
        }
    }

    fn without_cgroup(&self, arm: &Arm) -> Option<String> {
        let reference = &self.arms[0];
        let group = apply::without_cgroup(&reference.contender, &arm.contender, &reference.first.groups)?;
        let name = figure::name(group);
        Some(format!(
            "No command applies it: group \"{name}\" is no cgroup. Name it by its path, such as \
             \"system.slice/{name}.service\"."
        ))
    }

    /// The sampling unit of a value, with its number, where that is not a run.
    fn sampled(&self) -> Option<String> {
        let replays = format!("{} replay{}", self.runs, if self.runs == 1 { "" } else { "s" });
        let each = if self.arms.len() > 1 { " for each" } else { "" };
        match self.sampling {
            Sampling::Runs => {
                let devices = &self.arms.first()?.first.devices;
                let runs = if self.runs == 1 { "run" } else { "runs" };
                (!devices.is_empty()).then(|| format!("{} {runs}{each} on {}", self.runs, devices.join(", ")))
            }
            Sampling::Replays => Some(format!("{replays} of this one recording{each}")),
            Sampling::Recordings(count) => Some(format!("{replays} of each of {count} recordings{each}")),
            Sampling::Arms => Some("a recording, as it was made, for each".into()),
        }
    }
}

/// Unit in reports, which distinguish shares, ratios and counts.
pub fn unit_of(metric: &About) -> &'static str {
    match (metric.unit, metric.name) {
        ("1", "jain_index") => "ratio",
        ("1", name) if name.contains("share") || name == "utilisation" => "share",
        ("1", _) => "count",
        (unit, _) => unit,
    }
}

fn ends(interval: Interval) -> [f64; 2] {
    [interval.low, interval.high]
}

fn versus(comparison: &Comparison) -> VsReference {
    VsReference { ratio: comparison.ratio, ci95: comparison.stated.map(ends), verdict: comparison.verdict }
}

fn violations(arm: &Arm, again: &dyn Fn(&Again) -> String) -> Vec<model::Violation> {
    let entry = |(at, found): &(Again, goodness_observe::Violation)| model::Violation {
        checker: found.checker.into(),
        at_ns: found.at.0,
        message: found.sentence.clone(),
        reproduce: again(at),
    };
    arm.violations.iter().map(entry).collect()
}

/// The judged tasks of one run, then the others.
fn tasks(run: &RunResult) -> Vec<TaskReport> {
    let entry = |task: &goodness_observe::TaskMeasured| {
        let known = run.tasks.get(task.task.index());
        TaskReport {
            name: known.map(|k| k.name.clone()).unwrap_or_default(),
            id: known.map_or(u64::from(task.task.0), |k| k.id),
            nice: known.and_then(|k| k.nice),
            cpu_time_ns: task.cpu_time.0,
            wait_ns: task.wait.0,
            sleep_ns: task.sleep.0,
            switches: u64::from(task.voluntary_switches) + u64::from(task.involuntary_switches),
            wakeups: u64::from(task.wakeups),
            wakeup_latency_p50_ns: task.wakeup_latency_p50.map(|s| s.0),
            wakeup_latency_p99_ns: task.wakeup_latency_p99.map(|s| s.0),
            wakeup_latency_max_ns: task.wakeup_latency_max.map(|s| s.0),
            io: run.measured.io.iter().find(|(it, _)| *it == task.task).map(|(_, io)| task_io(io)),
        }
    };
    let (judged, others): (Vec<_>, Vec<_>) = run.measured.tasks.iter().partition(|t| t.judged);
    judged.into_iter().chain(others).map(entry).collect()
}

/// The groups with a limit.
fn groups(run: &RunResult) -> Vec<GroupReport> {
    let entry = |(group, stat): &(GroupId, CpuStat)| GroupReport {
        name: run.groups[*group].name.clone(),
        nr_periods: stat.periods,
        nr_throttled: stat.throttled_periods,
        throttled_ns: stat.throttled.0,
        nr_bursts: stat.bursts,
        burst_ns: stat.burst.0,
    };
    run.outcome.cpu_stats.iter().map(entry).collect()
}

fn task_io(io: &TaskIo) -> TaskIoReport {
    TaskIoReport {
        done: io.done,
        bytes: io.bytes,
        read_latency_p50_ns: io.reads.quantile(5_000),
        read_latency_p99_ns: io.reads.quantile(9_900),
        write_latency_p50_ns: io.writes.quantile(5_000),
        write_latency_p99_ns: io.writes.quantile(9_900),
    }
}

/// Main effects and interaction in `metric`, if several policies and several elevators were run.
fn effects(arms: &[Arm], metric: &str) -> Option<Effects> {
    let elevators = arms.iter().take_while(|arm| arm.contender.policy == arms[0].contender.policy).count();
    let elevator = |arm: &Arm| arm.contender.elevator.as_ref().map(ToString::to_string);
    let columns: Vec<String> = arms.get(..elevators)?.iter().map(elevator).collect::<Option<_>>()?;
    let cells: Option<Vec<Vec<Vec<f64>>>> = arms
        .chunks(elevators)
        .map(|row| row.iter().map(|arm| arm.values(metric).iter().copied().collect::<Option<Vec<f64>>>()).collect())
        .collect();
    let it = factorial::analyse(&cells?, Confidence::P95)?;
    let row = |factor: &str, level: String, effect: &factorial::Effect| EffectRow {
        factor: factor.into(),
        level,
        ratio: effect.ratio,
        ci95: effect.interval.map(ends),
    };
    let policies: Vec<String> = arms.chunks(elevators).map(|row| row[0].contender.policy.to_string()).collect();
    let of_policies =
        policies.iter().zip(&it.rows).skip(1).map(|(policy, effect)| row("policy", policy.clone(), effect));
    let of_elevators =
        columns.iter().zip(&it.columns).skip(1).map(|(name, effect)| row("elevator", name.clone(), effect));
    let pairs = policies.iter().zip(&it.interaction).skip(1).flat_map(|(policy, effects)| {
        let pair = move |(column, effect): (&String, _)| row("interaction", format!("{policy}+{column}"), effect);
        columns.iter().zip(effects).skip(1).map(pair)
    });
    let rows = of_policies.chain(of_elevators).chain(pairs).collect();
    Some(Effects { metric: metric.into(), rows })
}

/// The distributions of all replications together.
fn distributions(arm: &Arm) -> Vec<Distribution> {
    let families = FAMILIES.iter().zip(&arm.distributions).filter(|(_, all)| all.count() > 0);
    let entry = |((name, _), all): (&(&str, _), &Histogram)| Distribution {
        metric: (*name).into(),
        unit: "ns".into(),
        samples: all.count(),
        quantiles: QUANTILES
            .iter()
            .filter_map(|&q| Some([q, all.quantile((q * 1e4).round() as u32)? as f64]))
            .collect(),
    };
    families.map(entry).collect()
}
