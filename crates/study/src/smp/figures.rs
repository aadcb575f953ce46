//! The figures of a play or a run: the same observers and definitions for both.

use super::{SLICES, placement};
use goodness::RunResult;
use goodness_core::{Event, Machine, Observer, Off, Span, TaskId, Time, Workload};
use goodness_observe::{Measured, Metrics, Subject, TaskMeasured};
use goodness_report::timeline::Recorder;
use goodness_trace::{Record, Recording, SchedEvent};
use std::collections::BTreeMap;

/// Figures by name: `share hog`, `migrations`.
pub type Figures = BTreeMap<String, f64>;

/// Fewest wake-ups for a median, and for a 99th percentile. A choice.
const SAMPLES: [(&str, u64); 2] = [("wakeup_latency_p50", 20), ("wakeup_latency_p99", 100)];
/// Shortest pause of the load's threads that can be the one before a play begins: half of the player's run-up of 20 ms.
const PAUSE: Span = Span(10_000_000);

/// Tasks `hog-0` and `hog-1` together are `hog`.
fn without_number(name: &str) -> &str {
    match name.rsplit_once('-') {
        Some((class, number)) if number.bytes().all(|b| b.is_ascii_digit()) => class,
        _ => name,
    }
}

/// The figures of a run on `machine`; those of its schedule if that was kept.
#[must_use]
pub fn of_run(run: &RunResult, machine: &Machine) -> Figures {
    let tasks = run.tasks.iter().zip(&run.measured.tasks);
    let tasks = tasks.map(|(named, measured)| (named.name.as_str(), measured)).filter(|(_, task)| task.judged);
    let mut figures = figures(&run.measured, machine.cpu_count(), tasks);
    if let Some(timeline) = &run.timeline {
        let window = run.measured.window;
        let of_load = timeline.slices.iter().filter(|slice| run.measured.tasks[slice.task.index()].judged);
        figures.extend(placement::of_slices(machine, of_load, window.from, window.to));
    }
    figures
}

/// The figures of a traced play of `load` on `machine`.
///
/// # Errors
/// The trace does not show the beginning of the play.
pub fn of_trace(recording: &Recording, load: &Workload, machine: &Machine) -> Result<Figures, String> {
    let names: Vec<String> = recording.tasks.iter().map(|(_, entry)| entry.comm.to_string()).collect();
    let subject = |name: &String| match load.tasks.iter().find(|spec| spec.name == *name) {
        Some(spec) => Subject::of(spec),
        None => Subject { judged: false, ..Subject::default() },
    };
    let subjects: Vec<Subject> = names.iter().map(subject).collect();
    let begin = beginning(&recording.records, &subjects).ok_or("the trace shows no pause before the play")?;
    let end = begin + load.horizon.ok_or("the load has no duration")?.since(Time::ZERO);
    let metrics = Metrics::new(machine.cpu_count(), begin + load.warmup, &subjects);
    let mut of_load = OfLoad { subjects: &subjects, end, metrics };
    recording.observe(&mut of_load);
    let measured = of_load.metrics.finish(end);
    let tasks = names.iter().map(String::as_str).zip(&measured.tasks).filter(|(_, task)| task.judged);
    let mut figures = figures(&measured, machine.cpu_count(), tasks);
    let mut recorder = Recorder::new(machine.cpu_count() as u32, SLICES);
    recording.observe(&mut recorder);
    let timeline = recorder.finish(end, 0, Vec::new());
    let of_load = timeline.slices.iter().filter(|slice| subjects[slice.task.index()].judged);
    figures.extend(placement::of_slices(machine, of_load, begin + load.warmup, end));
    Ok(figures)
}

/// Time 0 of a play: the first event of the load's threads after they have all waited for it.
fn beginning(records: &[Record], subjects: &[Subject]) -> Option<Time> {
    let is_of_load = |task: TaskId| subjects[task.index()].judged;
    let mut times = records.iter().filter_map(|record| match record.event {
        SchedEvent::Waking(wake) => is_of_load(wake.task).then_some(record.at),
        SchedEvent::Switch { prev, next, .. } => {
            [prev, next].into_iter().flatten().any(is_of_load).then_some(record.at)
        }
        _ => None,
    });
    let mut before = times.next()?;
    times.find(|at| at.since(std::mem::replace(&mut before, *at)) >= PAUSE)
}

/// Passes what concerns the load on to the metrics, until the end of the play. Threads that are not of the load keep
/// their CPU busy, but never wait.
struct OfLoad<'a> {
    subjects: &'a [Subject],
    end: Time,
    metrics: Metrics,
}

impl OfLoad<'_> {
    fn is_of_load(&self, task: TaskId) -> bool {
        self.subjects[task.index()].judged
    }
}

impl Observer for OfLoad<'_> {
    fn observe(&mut self, at: Time, event: &Event) {
        if at > self.end {
            return;
        }
        match *event {
            Event::Wakeup { task, .. } | Event::Migrate { task, .. } if !self.is_of_load(task) => {}
            Event::Switch { cpu, prev: Some(prev), next, .. } if !self.is_of_load(prev) => {
                let event = Event::Switch { cpu, prev: Some(prev), off: Off::Sleeping, next };
                self.metrics.observe(at, &event);
            }
            _ => self.metrics.observe(at, event),
        }
    }
}

fn figures<'a>(measured: &Measured, cpus: usize, tasks: impl Iterator<Item = (&'a str, &'a TaskMeasured)>) -> Figures {
    let (length, all) = (measured.window.length(), measured.window.length() * cpus as f64);
    let (mut classes, mut migrations, mut switches) = (BTreeMap::<&str, Vec<f64>>::new(), 0, 0);
    for (name, task) in tasks {
        classes.entry(without_number(name)).or_default().push(task.cpu_time.0 as f64);
        migrations += task.migrations;
        switches += task.voluntary_switches + task.involuntary_switches;
    }
    let per_second = |count: u32| f64::from(count) * 1e9 / length;
    let mut figures = Figures::from([
        ("migrations".to_string(), per_second(migrations)),
        ("switches".to_string(), per_second(switches)),
        ("idle_while_waiting".to_string(), 100.0 * measured.get("idle_while_queued").value.unwrap_or(0.0) / length),
    ]);
    let variances: Vec<f64> = classes.values().filter_map(|times| variance(times)).collect();
    if !variances.is_empty() {
        let mean = variances.iter().sum::<f64>() / variances.len() as f64;
        figures.insert("spread".into(), 100.0 * mean.sqrt() / length);
    }
    for (name, times) in classes {
        figures.insert(format!("share {name}"), 100.0 * times.iter().sum::<f64>() / all);
    }
    for (name, fewest) in SAMPLES {
        let value = measured.get(name);
        figures.extend(value.value.filter(|_| value.samples >= fewest).map(|one| (name.to_string(), one)));
    }
    figures
}

/// Variance between equals; `None` of one alone.
fn variance(times: &[f64]) -> Option<f64> {
    let count = times.len() as f64;
    let mean = times.iter().sum::<f64>() / count;
    (times.len() > 1).then(|| times.iter().map(|time| (time - mean).powi(2)).sum::<f64>() / (count - 1.0))
}
