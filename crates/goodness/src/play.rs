//! Work as real threads of this machine.

use crate::edit::{self, Edit};
use crate::refusal::Refusal;
use crate::replication::Replication;
use crate::work::Work;
use goodness_core::{CpuId, Span, WorkloadSource};
use goodness_play::{PlayClass, PlayError, Played, PlayedGroup, PlayedTask};
use goodness_report::groups::GroupReport;
use goodness_report::{figure, limits, table};
use goodness_sys::kernel_release;
use goodness_table::Table;
use goodness_table::long::{self, OneRun};
use serde::Serialize;
use std::fmt::Write as _;

/// The part of an input to play.
pub struct Part {
    /// Random seed. Lengths are those of the first simulated run with this seed.
    pub seed: u64,
    /// Duration, if not the input's own.
    pub duration: Option<Span>,
    /// The class of tasks that ask for none.
    pub class: PlayClass,
    /// The CPUs that tasks may use, where not all of this command.
    pub cpus: Option<Vec<CpuId>>,
    /// Changes of tasks and groups.
    pub edits: Vec<Edit>,
}

impl Part {
    /// Plays it.
    ///
    /// # Errors
    /// Work that cannot be played, a missing permission, or an edit of a missing task or of the machine.
    pub fn play(self, work: &Work) -> Result<Played, Refusal> {
        let seed = Replication::of(self.seed, 0).seed;
        let mut tasks = work.source.build(seed, 0);
        let cpus = work.machine.cpu_count();
        edit::work(&self.edits, &mut tasks, &*work.source, (cpus, cpus))?;
        let options = goodness_play::Options { duration: self.duration, class: self.class, seed, cpus: self.cpus };
        goodness_play::play(tasks, options).map_err(|error| refusal(&error, &*work.source))
    }
}

/// The edits of tasks and groups in `text`, with blanks in between.
///
/// # Errors
/// An edit of the machine or its scheduler, which a play cannot change.
pub fn edits(text: &str) -> Result<Vec<Edit>, Refusal> {
    let one = |part: &str| match Edit::parse(part)? {
        Some(edit) if edit.is_of_work() => Ok(edit),
        _ => Err(Refusal::usage(format!(
            "\"{part}\" changes no task and no group, and nothing else can be changed in a play"
        ))
        .remedy(
            "write hogs=1, TASK.nice=5, TASK.class, .slice or .affinity, GROUP.cpu_weight=50, .cpu_max=50ms/100ms or \
                .cpuset=0-1",
        )),
    };
    text.split_whitespace().map(one).collect()
}

/// The class of tasks without one, by name: ext, other, batch or idle; any other name means the caller's class.
#[must_use]
pub fn class(name: &str) -> PlayClass {
    match name {
        "ext" => PlayClass::Ext,
        "other" => PlayClass::Other,
        "batch" => PlayClass::Batch,
        "idle" => PlayClass::Idle,
        _ => PlayClass::Inherited,
    }
}

/// A duration that a play can have.
///
/// # Errors
/// None at all, or longer than a day.
pub fn length(span: Span) -> Result<Span, String> {
    if span == Span::ZERO {
        return Err("a play needs some time, such as 5s".into());
    }
    goodness_work::soundness::duration(span)
}

/// An error of the player with the place in the file.
fn refusal(error: &PlayError, source: &dyn WorkloadSource) -> Refusal {
    let place = match error.task() {
        Some(task) => source.place_of(task),
        None if error.is_refusal() => source.place_of_storage(),
        None => None,
    };
    let place = place.unwrap_or_else(|| source.name().to_string());
    if error.is_refusal() {
        Refusal::usage(error.to_string()).at(place)
    } else {
        Refusal::failed(error.to_string()).at(place)
    }
}

/// The results: schema `goodness.play/1`.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Document<'a> {
    /// Always `goodness.play/1`.
    schema: &'static str,
    /// The input as typed.
    input: &'a str,
    /// Random seed.
    seed: u64,
    /// The kernel's release.
    kernel: Option<String>,
    /// Measurements.
    played: &'a Played,
}

impl<'a> Document<'a> {
    /// Of an `input` as typed.
    #[must_use]
    pub fn of(input: &'a str, seed: u64, played: &'a Played) -> Document<'a> {
        Document { schema: "goodness.play/1", input, seed, kernel: kernel_release(), played }
    }

    /// Every measured value of every task, as a table in which the changes `edits` are the settings:
    /// schema `goodness.task-runs/1`.
    #[must_use]
    pub fn table(&self, edits: &str) -> Table {
        let mut table = long::task_runs();
        let run = OneRun {
            input: Some(self.input),
            arm: Some(&self.played.class),
            settings: Some(edits),
            machine: self.kernel.as_deref(),
            seed: Some(self.seed),
            run: Some(0),
        };
        push_played(&mut table, &run, self.played);
        table
    }
}

/// Adds the values of the tasks of a play.
pub(crate) fn push_played(table: &mut Table, run: &OneRun, played: &Played) {
    for task in played.tasks.iter().chain(&played.outside) {
        let ns = |value: Option<u64>| (value.map(|ns| ns as f64), "ns");
        let count = |value: u64| (Some(value as f64), "count");
        let values = [
            ("cpu_time", ns(Some(task.cpu_time_ns))),
            ("cpu_share", (task.share, "share")),
            ("wait_time", ns(task.wait_ns)),
            ("context_switches", count(task.switches)),
            ("voluntary_switches", count(task.voluntary_switches)),
            ("involuntary_switches", count(task.involuntary_switches)),
            ("wakeups", count(task.wakeups)),
            ("wakeup_latency_p50", ns(task.wakeup_latency_p50_ns)),
            ("wakeup_latency_p99", ns(task.wakeup_latency_p99_ns)),
            ("wakeup_latency_max", ns(task.wakeup_latency_max_ns)),
            ("served", count(task.served)),
        ];
        for (metric, (value, unit)) in values {
            run.push_of(table, Some((&task.name, task.id)), (metric, unit), value);
        }
    }
}

/// The results as a table of `width` columns with remarks; `input` as typed.
#[must_use]
pub fn text(input: &str, seed: u64, played: &Played, work: &Work, width: u16) -> String {
    let cpus: Vec<String> = played.cpus.iter().map(u32::to_string).collect();
    let class = format!("{}, CPU {}", played.class, cpus.join(","));
    let mut table = table::new(width);
    table.set_header(["task", "nice", "CPU time", "share", "switches", "forced", "wake-ups", "p50", "p99", "worst"]);
    let mut row = |task: &PlayedTask| {
        table.add_row([
            figure::name(&task.name),
            task.nice.map_or_else(|| "rt".into(), |nice| nice.to_string()),
            figure::time(Some(task.cpu_time_ns)),
            figure::percent(task.share),
            task.switches.to_string(),
            task.involuntary_switches.to_string(),
            task.wakeups.to_string(),
            figure::time(task.wakeup_latency_p50_ns),
            figure::time(task.wakeup_latency_p99_ns),
            figure::time(task.wakeup_latency_max_ns),
        ]);
    };
    played.tasks.iter().for_each(&mut row);
    table::align_right(&mut table, 1..10);
    let mut out = format!("{input} played for {} ({class}), seed {seed}\n{table}\n", Span(played.measured_ns));
    out += "share: of all CPUs' time. p50, p99, worst: wake-up latency.";
    if !played.groups.is_empty() {
        let mut table = table::new(width);
        table.set_header(limits::HEAD);
        for group in &played.groups {
            table.add_row(limits::cells(&report_of(group)));
        }
        table::align_right(&mut table, 1..6);
        let _ = write!(out, "\n{table}");
    }
    for sentence in remarks(played, work) {
        let _ = write!(out, "\nnote: {sentence}");
    }
    out
}

/// A group as reports have it.
fn report_of(group: &PlayedGroup) -> GroupReport {
    let PlayedGroup { name, nr_periods, nr_throttled, throttled_ns, nr_bursts, burst_ns } = group.clone();
    GroupReport { name, nr_periods, nr_throttled, throttled_ns, nr_bursts, burst_ns }
}

/// Remarks on the table.
fn remarks(played: &Played, work: &Work) -> Vec<String> {
    let mut all = work.details.warnings.clone();
    let (has, cpus) = (work.machine.cpu_count(), played.cpus.len());
    if has != cpus {
        all.push(format!("CPUs of the file's machine: {has}; of this play: {cpus}"));
    }
    if !played.watched_in_time {
        all.push(
            "without root the measuring thread competes with the tasks; figures may be from some milliseconds past the \
                end"
                .into(),
        );
    }
    if !played.outside.is_empty() {
        let took = played.outside.iter().map(|it| it.cpu_time_ns).sum();
        let count = played.outside.len();
        all.push(format!("{count} outside clients of the file used {} of CPU time here", figure::time(Some(took))));
    }
    all.extend(played.remarks.iter().cloned());
    if let Some(signal) = played.interrupted_by {
        all.push(format!("ended early by signal {signal}"));
    }
    all
}
