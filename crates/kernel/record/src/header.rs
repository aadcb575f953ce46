//! The JSON lines at the head of a recording. `docs/recording-format.md` documents each field.

use std::collections::BTreeMap;
use std::fs;

use goodness_sys::Exit;
use serde::Serialize;
use serde_json::json;

use super::attributes::Attributes;
use super::connections::Connections;
use super::histories::{Histories, shown_fields};
use super::machine::{Cpu, Kernel, Unreadable};
use super::participants::{Participants, Role};
use super::tasks::{Census, Seen};
use super::text::Names;

/// Version of the format; raised when a field changes its meaning.
pub const VERSION: u32 = 1;

/// The whole `recording` line.
#[derive(Debug, Serialize)]
pub struct Header {
    /// [`VERSION`].
    pub version: u32,
    /// Program and version.
    pub tool: String,
    /// The kernel.
    pub kernel: Kernel,
    /// The CPUs.
    pub cpus: Cpus,
    /// Trace clock.
    pub clock: &'static str,
    /// The recorded window.
    pub time: Window,
    /// `command`, `duration` or `signal`.
    pub stopped_by: &'static str,
    /// True if strangers were renamed.
    pub anonymized: bool,
    /// Process id of the recorder itself.
    pub recorder: u32,
    /// The recorded command.
    pub command: Option<CommandLine>,
    /// Servers selected.
    pub selected: Selected,
    /// Every thread that belonged to either.
    pub members: Vec<i32>,
    /// Events switched on.
    pub events: Vec<String>,
    /// Losses per CPU.
    pub lost: Vec<Loss>,
    /// Time taken from the machine, per CPU.
    pub steal: Vec<CpuTime>,
    /// `sched_autogroup_enabled`.
    pub autogroup: Option<u32>,
    /// True if all members share one scheduling group.
    pub same_group: Option<bool>,
    /// TCP connections of its processes.
    pub connections: Vec<Connections>,
    /// Scheduler tunables.
    pub tunables: BTreeMap<String, String>,
    /// Facts that could not be read.
    pub unreadable: Vec<Unreadable>,
}

/// The CPUs.
#[derive(Debug, Serialize)]
pub struct Cpus {
    /// Their numbers.
    pub online: Vec<u32>,
    /// CPU topology: shared cores, caches and nodes.
    pub topology: Vec<Cpu>,
}

/// The recorded window.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Window {
    /// On the trace clock.
    pub start_ns: u64,
    /// On the trace clock.
    pub end_ns: u64,
    /// Unix seconds.
    pub started_at: u64,
}

/// The recorded command.
#[derive(Debug, Serialize)]
pub struct CommandLine {
    /// Base name.
    pub name: String,
    /// Dropped when anonymised.
    pub arguments: Option<Vec<String>>,
    /// Process id.
    pub pid: u32,
    /// CPUs it was confined to before it started.
    pub confined_to: Option<Vec<u32>>,
    /// Exit status; `None` while it was still running.
    pub exit: Option<Exit>,
}

/// Processes selected that ran before recording started.
#[derive(Debug, Default, Serialize)]
pub struct Selected {
    /// Selected process ids.
    pub pids: Vec<u32>,
    /// Selected process names.
    pub comms: Vec<String>,
}

/// The kernel's count of lost events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Loss {
    /// CPU number.
    pub cpu: u32,
    /// Overwritten before they were read.
    pub overrun: u64,
    /// Not written for lack of room.
    pub dropped: u64,
    /// Events lost to an interrupt on a full page.
    pub commit_overrun: u64,
}

impl Loss {
    /// All kinds together.
    pub fn total(&self) -> u64 {
        self.overrun + self.dropped + self.commit_overrun
    }
}

/// CPU time by state, in steps of one `/proc/stat` tick.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct CpuTime {
    /// CPU number.
    pub cpu: u32,
    /// Kept by the hypervisor.
    pub steal_ns: u64,
    /// Idle, waiting for I/O included.
    pub idle_ns: u64,
    /// In hard interrupts.
    pub irq_ns: u64,
    /// In soft interrupts.
    pub softirq_ns: u64,
}

impl CpuTime {
    /// Reads the counters since boot.
    pub fn read_all() -> Vec<Self> {
        let text = fs::read_to_string("/proc/stat").unwrap_or_default();
        let tick = 1_000_000_000 / goodness_sys::user_hz();
        text.lines().filter_map(|line| Self::parse(line, tick)).collect()
    }

    /// Parses one `cpuN` line of `/proc/stat`, whose ticks are `tick` nanoseconds long.
    fn parse(line: &str, tick: u64) -> Option<Self> {
        let mut words = line.split_whitespace();
        let cpu = words.next()?.strip_prefix("cpu")?.parse().ok()?;
        let ticks: Vec<u64> = words.map_while(|word| word.parse().ok()).collect();
        let at = |index: usize| ticks.get(index).copied().unwrap_or(0) * tick;
        Some(Self { cpu, steal_ns: at(7), idle_ns: at(3) + at(4), irq_ns: at(5), softirq_ns: at(6) })
    }

    /// Difference between two readings.
    pub fn between(before: &[Self], after: &[Self]) -> Vec<Self> {
        let difference = |after: &Self| {
            let before = before.iter().find(|before| before.cpu == after.cpu)?;
            Some(Self {
                cpu: after.cpu,
                steal_ns: after.steal_ns.saturating_sub(before.steal_ns),
                idle_ns: after.idle_ns.saturating_sub(before.idle_ns),
                irq_ns: after.irq_ns.saturating_sub(before.irq_ns),
                softirq_ns: after.softirq_ns.saturating_sub(before.softirq_ns),
            })
        };
        after.iter().filter_map(difference).collect()
    }
}

/// Appends one line of JSON under the key `kind`.
pub fn write_line(kind: &str, value: serde_json::Value, out: &mut Vec<u8>) {
    out.extend(b"# goodness: ");
    let mut object = serde_json::Map::new();
    object.insert(kind.to_string(), value);
    out.extend(serde_json::Value::Object(object).to_string().bytes());
    out.push(b'\n');
}

/// Sources of the task lines.
pub struct TaskFacts<'a> {
    /// Tasks read from `/proc`.
    pub census: &'a Census,
    /// Tasks of the events.
    pub participants: &'a Participants,
    /// Attributes over time.
    pub histories: &'a Histories,
    /// The path to write for that of a group.
    pub group_name: &'a dyn Fn(&str) -> String,
}

/// Appends a line for each task that took part or was alive at the start.
pub fn write_tasks(facts: &TaskFacts, out: &mut Vec<u8>) {
    let TaskFacts { census, participants, histories, group_name } = *facts;
    let mut tids: Vec<i32> = participants.all().chain(census.tasks.keys().copied()).collect();
    tids.sort_unstable();
    tids.dedup();
    for tid in tids {
        let known = census.tasks.get(&tid);
        let met = participants.switches.contains_key(&tid);
        if !met && known.is_some_and(|task| task.seen != Seen::Start) && participants.role(tid) == Role::Other {
            continue;
        }
        let name = if met {
            participants.current(tid)
        } else {
            known.map_or(b"".as_slice(), |task| participants.shown(tid, &task.comm))
        };
        // A task that ended before the last reading has its inherited attributes and those set by calls.
        let read = known.map(|task| &task.attributes);
        let alive = read.filter(|_| known.is_some_and(|task| task.at_end && !task.zombie));
        let attributes = alive.or_else(|| histories.at_last(tid)).or(read);
        let unread = if attributes.is_some() { Seen::Inherited } else { Seen::Events };
        let mut task = json!({
            "pid": tid,
            "tgid": known.map(|task| task.tgid),
            "parent": known.map(|task| task.parent),
            "comm": String::from_utf8_lossy(name).replace(char::is_control, "?"),
            "role": participants.role(tid),
            "seen": known.map_or(unread, |task| task.seen),
            "switches": participants.switches.get(&tid).copied().unwrap_or(0),
        });
        let fields = attributes.map_or_else(|| Attributes::default().fields(), |it| shown_fields(it, group_name));
        fields.into_iter().for_each(|(name, value)| task[name] = value);
        if attributes.is_none() {
            task["nice"] = serde_json::Value::Null;
            task["rt_priority"] = serde_json::Value::Null;
        }
        let changes = histories.changes(tid, group_name);
        if !changes.is_empty() {
            task["changes"] = changes.into();
        }
        write_line("task", task, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_one_json_object_with_one_key() {
        let mut out = Vec::new();
        write_line("recording", json!({"version": VERSION, "command": {"exit": Exit::Code(0)}}), &mut out);
        let text = String::from_utf8(out).expect("text");
        assert_eq!(text, "# goodness: {\"recording\":{\"version\":1,\"command\":{\"exit\":{\"code\":0}}}}\n");
    }

    #[test]
    fn steal_is_the_eighth_counter_of_a_cpu_line() {
        let before = CpuTime::parse("cpu1 10 0 5 100 1 2 3 4 0 0", 10_000_000).expect("a cpu line");
        let after = CpuTime::parse("cpu1 10 0 5 110 1 2 4 7 0 0", 10_000_000).expect("a cpu line");
        let passed = CpuTime::between(&[before], &[after]);
        assert_eq!((passed[0].cpu, passed[0].steal_ns, passed[0].idle_ns), (1, 30_000_000, 100_000_000));
        assert_eq!(passed[0].softirq_ns, 10_000_000);
        assert_eq!(CpuTime::parse("cpu 1 2 3", 1), None, "the sum over all CPUs is not a CPU");
    }
}
