//! A comparison as JSON, and its values as a table.

use super::{Bounds, Conformance, GroupRow, Row, Told, Worst};
use crate::play::push_played;
use goodness_core::Span;
use goodness_observe::TaskMeasured;
use goodness_sys::kernel_release;
use goodness_table::Table;
use goodness_table::long::{self, OneRun};
use serde::Serialize;

/// A comparison: schema `goodness.conform/1`.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Document<'a> {
    /// Always `goodness.conform/1`.
    schema: &'static str,
    /// The input as typed.
    input: &'a str,
    /// Policy of both sides, with its settings.
    policy: String,
    /// True if the policy was loaded into the kernel.
    live: bool,
    /// Random seed of both sides.
    seed: u64,
    /// Number of simulations.
    runs: u32,
    /// The simulated machine.
    machine: MachineFacts<'a>,
    /// For how long the play was measured.
    measured_ns: u64,
    /// True if the measuring thread of the play got a higher priority than the tasks.
    watched_in_time: bool,
    /// Median decision latency of a loaded policy.
    decision_latency_p50_ns: Option<u64>,
    /// 99th percentile of the decision latency.
    decision_latency_p99_ns: Option<u64>,
    /// Largest differences that count as agreement.
    bounds: Bounds,
    /// Task by task.
    tasks: &'a [Row],
    /// Groups with a limit.
    groups: &'a [GroupRow],
    /// Largest differences over all tasks.
    worst: Worst,
    /// True if the figures of every task and group agree.
    agrees: bool,
}

/// The simulated machine.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct MachineFacts<'a> {
    /// Its name.
    name: &'a str,
    /// CPUs.
    cpus: usize,
    /// Timer interrupts per second.
    hz: u32,
}

impl Told<'_> {
    /// As JSON.
    #[must_use]
    pub fn document(&self) -> Document<'_> {
        let Conformance { agreement, machine, played, decisions, .. } = self.found;
        Document {
            schema: "goodness.conform/1",
            input: self.input,
            policy: self.policy.to_string(),
            live: self.is_live,
            seed: self.seed,
            runs: self.runs,
            machine: MachineFacts { name: &machine.name, cpus: machine.cpu_count(), hz: machine.hz },
            measured_ns: played.measured_ns,
            watched_in_time: played.watched_in_time,
            decision_latency_p50_ns: decisions.map(|decisions| decisions.p50.0),
            decision_latency_p99_ns: decisions.map(|decisions| decisions.p99.0),
            bounds: agreement.bounds,
            tasks: &agreement.rows,
            groups: &agreement.groups,
            worst: agreement.worst(),
            agrees: agreement.holds(),
        }
    }

    /// Every value of every task, in each simulation (arm `simulated`) and in the play (arm `played`): schema
    /// `goodness.task-runs/1`.
    #[must_use]
    pub fn table(&self) -> Table {
        let Conformance { machine, played, simulated, .. } = self.found;
        let (mut table, policy, kernel) = (long::task_runs(), self.policy.to_string(), kernel_release());
        let (settings, seed) = (Some(policy.as_str()), Some(self.seed));
        let of = OneRun { input: Some(self.input), settings, seed, ..OneRun::default() };
        let room = played.measured_ns as f64 * played.cpus.len() as f64;
        for (run, tasks) in simulated.iter().enumerate() {
            let run = OneRun { arm: Some("simulated"), machine: Some(&machine.name), run: Some(run as u64), ..of };
            for (index, task) in played.tasks.iter().enumerate() {
                let measured = tasks.iter().find(|it| it.task.index() == index);
                measured.into_iter().for_each(|it| push(&mut table, &run, (&task.name, task.id), it, room));
            }
        }
        push_played(
            &mut table,
            &OneRun { arm: Some("played"), machine: kernel.as_deref(), run: Some(0), ..of },
            played,
        );
        table
    }
}

/// Adds the values of a simulated task, under the names of [`push_played`].
fn push(table: &mut Table, run: &OneRun, task: (&str, u64), it: &TaskMeasured, room: f64) {
    let ns = |span: Option<Span>| (span.map(|span| span.0 as f64), "ns");
    let (voluntary, involuntary) = (f64::from(it.voluntary_switches), f64::from(it.involuntary_switches));
    let values = [
        ("cpu_time", ns(Some(it.cpu_time))),
        ("cpu_share", (Some(it.cpu_time.0 as f64 / room), "share")),
        ("wait_time", ns(Some(it.wait))),
        ("context_switches", (Some(voluntary + involuntary), "count")),
        ("voluntary_switches", (Some(voluntary), "count")),
        ("involuntary_switches", (Some(involuntary), "count")),
        ("wakeups", (Some(f64::from(it.wakeups)), "count")),
        ("wakeup_latency_p50", ns(it.wakeup_latency_p50)),
        ("wakeup_latency_p99", ns(it.wakeup_latency_p99)),
        ("wakeup_latency_max", ns(it.wakeup_latency_max)),
    ];
    for (metric, (value, unit)) in values {
        run.push_of(table, Some(task), (metric, unit), value);
    }
}
