//! Several recordings: of one load, which makes the recording the sample; or each as an arm of its own.

use crate::contender::Contender;
use crate::recorded::{Recorded, RecordedTask};
use crate::refusal::Refusal;
use crate::run::{Named, RunResult};
use crate::runs::{Arm, FAMILIES, OfInput, Runs};
use crate::work::Work;
use goodness_core::{Groups, Remarked, TaskId, Time};
use goodness_observe::{Checked, Measured, TaskMeasured};
use goodness_report::model::{Details, Fidelity, FidelityMetric, Input, MachineSummary, Sampling};
use goodness_sim::{End, Outcome};
use std::borrow::Borrow;

/// Runs the same arms on several recordings of one load. Each recording gives one value of each metric, the mean of its
/// replays, so that intervals are over recordings. One input alone may be any work.
///
/// # Errors
/// Those of `open` and `run`; several inputs that are not all recordings, or whose arms differ, because they were made
/// under different schedulers.
///
/// # Panics
/// Without inputs.
pub fn of_one_load<E: From<Refusal>, W: Borrow<Work>>(
    inputs: &[String],
    open: impl Fn(&str) -> Result<W, E>,
    run: impl Fn(&str, &Work) -> Result<Runs, E>,
) -> Result<(Runs, Input, Details), E> {
    let mut about = Several::of(inputs);
    let mut merged: Option<Runs> = None;
    for name in inputs {
        let work = open(name)?;
        let work = work.borrow();
        about.add(name, work)?;
        let mut runs = run(name, work)?;
        if inputs.len() > 1 {
            check_replayed(name, &runs)?;
            runs.arms.iter_mut().for_each(|arm| arm.average(shown(name)));
        }
        match &mut merged {
            None => merged = Some(runs),
            Some(merged) => merged.join(runs, [&inputs[0], name])?,
        }
        about.details.what_varies.get_or_insert_with(|| work.source.what_varies().into());
    }
    let mut merged = merged.expect("there is an input");
    if inputs.len() > 1 {
        merged.sampling = Sampling::Recordings(inputs.len() as u32);
        let worst = format!(", the worst of {} recordings in each metric", inputs.len());
        merged.fidelity.iter_mut().for_each(|it| it.policy.push_str(&worst));
    }
    Ok((merged, about.input, about.details))
}

/// Refuses recordings of which two are the same.
///
/// # Errors
/// A sentence that names both.
pub(crate) fn of_distinct<'a>(works: impl Iterator<Item = (&'a str, &'a Work)>) -> Result<(), Refusal> {
    let (names, works): (Vec<String>, Vec<&Work>) = works.map(|(name, work)| (name.to_string(), work)).unzip();
    let mut about = Several::of(&names);
    names.iter().zip(works).try_for_each(|(name, work)| match work.recorded.is_some() {
        true => about.add(name, work),
        false => Err(not_a_recording(name)),
    })
}

/// Recordings compared as they were made: each is an arm, and nothing is replayed. The first is the reference.
///
/// # Errors
/// Those of `open`; work that is not a recording of scheduling, or fewer than two.
pub fn as_arms<E: From<Refusal>>(
    inputs: &[String],
    open: impl Fn(&str) -> Result<Work, E>,
) -> Result<(Runs, Input, Details), E> {
    if inputs.len() < 2 {
        let refusal = Refusal::usage("one recording as an arm has nothing to compare with".to_string());
        return Err(refusal.remedy("name two or more").into());
    }
    let mut about = Several::of(inputs);
    let (mut arms, mut cpus, mut machine) = (Vec::new(), 0, None);
    for name in inputs {
        let work = open(name)?;
        about.add(name, &work)?;
        cpus = cpus.max(work.recorded.as_ref().map_or(0, |it| it.cpus));
        machine.get_or_insert_with(|| summary(&work));
        arms.push(as_arm(name, work.recorded)?);
    }
    // Gaps matter to replays, not to the recording itself.
    about.details.unknowns.clear();
    let machine = machine.unwrap_or_default();
    let runs = Runs {
        arms,
        fidelity: None,
        machine,
        cpus,
        seed: 0,
        first: 0,
        runs: 1,
        stopped: None,
        free_elevators: None,
        remark: None,
        sampling: Sampling::Arms,
    };
    Ok((runs, about.input, about.details))
}

fn summary(work: &Work) -> MachineSummary {
    MachineSummary { name: work.machine.name.clone(), cpus: work.machine.cpu_count() as u32, hz: work.machine.hz }
}

/// The description of several inputs.
struct Several<'a> {
    inputs: &'a [String],
    /// Measured values of each recording; no two recordings share them.
    measured: Vec<Vec<Option<f64>>>,
    input: Input,
    details: Details,
}

impl Several<'_> {
    fn of(inputs: &[String]) -> Several<'_> {
        Several { inputs, measured: Vec::new(), input: Input::default(), details: Details::default() }
    }

    /// Takes the description of one more, its warnings and lost events.
    fn add(&mut self, name: &str, work: &Work) -> Result<(), Refusal> {
        let details = work.details.clone();
        let values = work.recorded.iter().flat_map(|it| &it.measured.values).map(|it| it.value).collect();
        if let Some(twin) = self.measured.iter().position(|it| *it == values) {
            let what = format!("\"{name}\" is the same recording as \"{}\"", self.inputs[twin]);
            return Err(Refusal::usage(what).remedy("name each recording once"));
        }
        let is_first = self.measured.is_empty();
        self.measured.push(values);
        if is_first {
            (self.input, self.details) = (work.about.clone(), details);
            if self.inputs.len() > 1 {
                let names: Vec<&str> = self.inputs.iter().map(|input| shown(input)).collect();
                self.input = Input { name: names.join(", "), sha256: None, ..self.input.clone() };
            }
            return Ok(());
        }
        let named = |warning: String| format!("{}: {warning}", shown(name));
        self.details.warnings.extend(details.warnings.into_iter().map(named));
        self.input.lost_events = match (self.input.lost_events, work.about.lost_events) {
            (Some(one), Some(other)) => Some(one + other),
            (one, other) => one.or(other),
        };
        Ok(())
    }
}

fn check_replayed(name: &str, runs: &Runs) -> Result<(), Refusal> {
    match runs.sampling {
        Sampling::Replays => Ok(()),
        _ => Err(not_a_recording(name)),
    }
}

fn not_a_recording(name: &str) -> Refusal {
    Refusal::usage(format!("\"{name}\" is not a recording of scheduling"))
        .remedy("name one input, or several recordings of one load")
}

impl Runs {
    /// Adds the runs on another recording; `names` are the first one's and the other's.
    fn join(&mut self, other: Runs, names: [&str; 2]) -> Result<(), Refusal> {
        if let Some((a, b)) = self.arms.iter().zip(&other.arms).find(|(a, b)| a.contender != b.contender) {
            let what = format!("{} has the arm {} and {} has {}", names[0], a.contender, names[1], b.contender);
            return Err(Refusal::usage(what).remedy("name the arms, or compare the recordings as arms"));
        }
        if self.machine.cpus != other.machine.cpus || self.cpus != other.cpus {
            let cpus = |runs: &Runs| format!("{} of {} CPUs", runs.cpus, runs.machine.cpus);
            let what = format!("{} has {} and {} has {}", names[0], cpus(self), names[1], cpus(&other));
            return Err(Refusal::usage(what).remedy("compare recordings of one load, or the recordings as arms"));
        }
        self.arms.iter_mut().zip(other.arms).for_each(|(into, arm)| into.join(arm));
        self.fidelity = worst(self.fidelity.take(), other.fidelity, names[1]);
        self.remark = self.remark.take().or(other.remark);
        Ok(())
    }
}

impl Arm {
    /// Counts what was observed in one replay instead of in all of them: they repeat the same recorded observations.
    pub(crate) fn count_observations_once(&mut self) {
        self.samples = self.first.measured.values.iter().map(|value| value.samples).collect();
    }

    /// Turns the values of the replays of one recording, `input`, into one value each, and keeps them.
    fn average(&mut self, input: &str) {
        self.count_observations_once();
        let mean = |values: &Vec<Option<f64>>| {
            let known: Vec<f64> = values.iter().flatten().copied().collect();
            vec![goodness_stats::summary::mean(&known)]
        };
        let means = self.values.iter().map(mean).collect();
        self.by_input.push(OfInput {
            input: input.to_string(),
            values: std::mem::replace(&mut self.values, means),
            requests: std::mem::take(&mut self.requests),
        });
    }

    /// Adds another recording of the same load.
    fn join(&mut self, other: Arm) {
        self.values.iter_mut().zip(other.values).for_each(|(own, more)| own.extend(more));
        self.by_input.extend(other.by_input);
        self.samples.iter_mut().zip(other.samples).for_each(|(own, more)| *own += more);
        self.distributions.iter_mut().zip(&other.distributions).for_each(|(own, more)| own.merge(more));
        self.decisions += other.decisions;
        self.wall_ns = self.wall_ns.zip(other.wall_ns).map(|(a, b)| a + b);
        self.violations.extend(other.violations);
        self.overdue = self.overdue.take().or(other.overdue);
    }
}

/// A recording's name for display: its file's, without folder and endings.
#[must_use]
pub fn shown(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    let name = [".zst", ".gz", ".xz"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
    name.strip_suffix(".ftrace").or(name.strip_suffix(".txt")).unwrap_or(name)
}

/// Of each metric the worse error of two recordings.
fn worst(one: Option<Fidelity>, other: Option<Fidelity>, name: &str) -> Option<Fidelity> {
    let (mut one, other) = (one?, other?);
    for metric in other.metrics {
        match one.metrics.iter_mut().find(|it| it.name == metric.name) {
            None => one.metrics.push(metric),
            Some(known) if known.factor() < metric.factor() => *known = FidelityMetric { ..metric },
            Some(_) => {}
        }
    }
    one.lacks.extend(other.lacks.into_iter().map(|lack| format!("{name}: {lack}")));
    Some(one)
}

/// A recording as an arm: its own metrics.
fn as_arm(name: &str, recorded: Option<Recorded>) -> Result<Arm, Refusal> {
    let Some(recorded) = recorded else {
        let what = format!("\"{name}\" is not a recording of scheduling, so it was not measured");
        return Err(Refusal::usage(what).remedy("leave it out"));
    };
    let own = |(index, who): (usize, &RecordedTask)| {
        let task = recorded.measured.tasks.get(who.recorded)?.clone();
        Some((who.named.clone(), TaskMeasured { task: TaskId(index as u32), ..task }))
    };
    let (named, tasks): (Vec<Named>, Vec<TaskMeasured>) = recorded.tasks.iter().enumerate().filter_map(own).unzip();
    let measured = Measured { tasks, ..recorded.measured };
    let outcome = Outcome {
        end: Time::ZERO + measured.window.to.since(measured.window.from),
        reason: End::Horizon,
        decisions: 0,
        events: 0,
        waiting: Vec::new(),
        cpu_stats: Vec::new(),
        set_free: Vec::new(),
    };
    Ok(Arm {
        label: Some(shown(name).into()),
        contender: Contender::policy(recorded.policy),
        values: measured.values.iter().map(|it| vec![it.value.filter(|_| it.samples >= it.about.fewest())]).collect(),
        requests: vec![measured.distributions.request_latency.count()],
        by_input: Vec::new(),
        samples: measured.values.iter().map(|it| it.samples).collect(),
        batch_errors: recorded.batch_errors,
        decisions: 0,
        wall_ns: None,
        distributions: FAMILIES.iter().map(|(_, pick)| pick(&measured.distributions).clone()).collect(),
        tasks: Vec::new(),
        violations: Vec::new(),
        overdue: None,
        first: RunResult {
            fifths: None,
            measured,
            checked: Checked::default(),
            outcome,
            wall_ns: None,
            timeline: None,
            tasks: named,
            groups: Groups::default(),
            remarks: Remarked::default(),
            unheeded: Vec::new(),
            fitted: Vec::new(),
            devices: Vec::new(),
        },
    })
}
