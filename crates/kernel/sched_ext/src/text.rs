//! A live run and the replay of its log, as text for a terminal.

use super::outcome::Status;
use super::replay::Replayed;
use super::tally::{TaskTally, share, shown};
use goodness_report::figure::printable;
use std::fmt;

/// CPUs separated by commas.
#[must_use]
pub fn listed(cpus: &[u16]) -> String {
    cpus.iter().map(u16::to_string).collect::<Vec<_>>().join(",")
}

/// Most tasks listed; the rest is counted.
const TASKS_SHOWN: usize = 30;

/// The status as a table.
#[must_use]
pub fn status_table(status: &Status) -> String {
    let settings: Vec<String> = status.settings.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let mut text = format!(
        "{} ({}) on CPU {}, for {}\n{} decisions, {} events, {} commands came too late\n",
        status.policy,
        settings.join(","),
        listed(&status.cpus),
        shown(status.elapsed_ns),
        status.decisions,
        status.events,
        status.outdated,
    );
    if let Some(latency) = status.decision_latency {
        let [p50, p99, max] = [latency.p50_ns, latency.p99_ns, latency.max_ns].map(shown);
        text += &format!("from event to decision in the kernel: p50 {p50}, p99 {p99}, longest {max}\n");
    }
    let mut tasks: Vec<&TaskTally> = status.tasks.iter().collect();
    tasks.sort_by_key(|task| std::cmp::Reverse(task.cpu_time_ns));
    if !tasks.is_empty() {
        text += "\n   thread  name              nice   share   CPU time     turns   wake-ups\n";
    }
    for task in tasks.iter().take(TASKS_SHOWN) {
        text += &format!(
            "{:>9}  {:<16}  {:>4}  {:>5.1}%  {:>9}  {:>8}  {:>9}{}\n",
            task.pid,
            printable(&task.name),
            task.nice,
            share(task, &status.tasks),
            shown(task.cpu_time_ns),
            task.turns,
            task.wakeups,
            if task.is_gone { "  ended" } else { "" },
        );
    }
    if let more @ 1.. = tasks.len().saturating_sub(TASKS_SHOWN) {
        text += &format!("           and {more} more\n");
    }
    text
}

/// Result of a replay without differences: the number of decisions compared.
impl fmt::Display for Replayed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Replayed { policy, inputs, decisions, .. } = self;
        write!(f, "{policy} decides the same: {decisions} of {decisions} commands on {inputs} inputs")?;
        match self.is_cut {
            true => f.write_str("\nthe log is truncated; the missing part was not compared"),
            false => Ok(()),
        }
    }
}
