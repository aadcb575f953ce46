//! Scheduling attributes of a thread: class, nice, slice, CPUs, cgroup and autogroup. Reads them.

use std::fs;

use goodness_sys as sys;
use serde_json::{Map, Value, json};

use super::machine::trimmed;

/// Scheduling attributes of a thread at one time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Attributes {
    /// Scheduling policy; `None` for an unknown number.
    pub policy: Option<&'static str>,
    /// -20 to 19.
    pub nice: i32,
    /// 0 when not real time.
    pub rt_priority: i32,
    /// Slice in the fair classes; `None` if the kernel does not report it.
    pub slice_ns: Option<u64>,
    /// True if a thread that it creates begins with the default class and nice.
    pub reset_on_fork: bool,
    /// CPUs it may use, its cpuset included.
    pub affinity: Option<Vec<u32>>,
    /// Path of its cgroup in the hierarchy of the cpu controller.
    pub cgroup: Option<String>,
    /// Path of its cgroup in the hierarchy of the cpuset controller, if that is another one.
    pub cpuset: Option<String>,
    /// Number and nice value of its autogroup, which counts while it is in the root cgroup.
    pub autogroup: Option<(u32, i32)>,
}

impl Attributes {
    /// Adds the facts about thread `tid` that `stat` does not contain.
    pub fn complete(&mut self, tid: i32) {
        self.affinity = sys::affinity_of(tid);
        if let Ok(found) = sys::process::attributes_of(tid as u32) {
            self.slice_ns = Some(found.runtime).filter(|ns| *ns > 0 && matches!(self.policy, Some("other" | "batch")));
            self.reset_on_fork = found.flags & sys::process::RESET_ON_FORK != 0;
        }
        let text = fs::read_to_string(format!("/proc/{tid}/cgroup")).unwrap_or_default();
        self.cgroup = cgroup_of(&text, "cpu").map(str::to_string);
        self.cpuset = cgroup_of(&text, "cpuset").map(str::to_string).filter(|path| self.cgroup.as_ref() != Some(path));
        self.autogroup = trimmed(format!("/proc/{tid}/autogroup")).and_then(|text| parse_autogroup(&text));
    }

    /// The initial attributes of a child of this thread.
    #[must_use]
    pub fn inherited(&self) -> Self {
        let mut child = Self { reset_on_fork: false, ..self.clone() };
        if self.reset_on_fork {
            if matches!(self.policy, Some("fifo" | "rr" | "deadline")) {
                (child.policy, child.nice, child.rt_priority) = (Some("other"), 0, 0);
            }
            child.nice = child.nice.max(0);
        }
        child
    }

    /// All attributes as JSON fields.
    #[must_use]
    pub fn fields(&self) -> Map<String, Value> {
        let fields = json!({
            "policy": self.policy,
            "nice": self.nice,
            "rt_priority": self.rt_priority,
            "slice_ns": self.slice_ns,
            "affinity": self.affinity,
            "cgroup": self.cgroup,
            "cpuset": self.cpuset,
            "autogroup": self.autogroup.map(|(number, _)| number),
            "autogroup_nice": self.autogroup.map(|(_, nice)| nice),
        });
        let Value::Object(fields) = fields else { unreachable!("an object was made") };
        fields
    }
}

/// The path of a thread's cgroup in the hierarchy of `controller`: version 1 if that has it, else version 2.
pub fn cgroup_of<'a>(text: &'a str, controller: &str) -> Option<&'a str> {
    let has = |line: &str| line.split(':').nth(1).is_some_and(|list| list.split(',').any(|name| name == controller));
    let line = text.lines().find(|line| has(line));
    let line = line.or_else(|| text.lines().find(|line| line.starts_with("0::")))?;
    line.splitn(3, ':').nth(2)
}

/// Parses `/autogroup-123 nice 0`.
fn parse_autogroup(text: &str) -> Option<(u32, i32)> {
    let (number, nice) = text.strip_prefix("/autogroup-")?.split_once(" nice ")?;
    Some((number.parse().ok()?, nice.trim().parse().ok()?))
}

/// Names of the policy numbers in `include/uapi/linux/sched.h`.
pub fn policy_name(number: i64) -> Option<&'static str> {
    Some(match number {
        0 => "other",
        1 => "fifo",
        2 => "rr",
        3 => "batch",
        5 => "idle",
        6 => "deadline",
        7 => "ext",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cpu_controller_of_either_version_is_found() {
        assert_eq!(cgroup_of("4:memory:/m\n1:cpu,cpuacct:/web\n0::/u\n", "cpu"), Some("/web"));
        assert_eq!(cgroup_of("4:cpuset:/m\n1:cpu,cpuacct:/web\n0::/u\n", "cpuset"), Some("/m"));
        assert_eq!(cgroup_of("0::/user.slice\n", "cpu"), Some("/user.slice"));
        assert_eq!(cgroup_of("", "cpu"), None);
    }

    #[test]
    fn an_autogroup_has_a_number_and_a_nice_value() {
        assert_eq!(parse_autogroup("/autogroup-55 nice -3"), Some((55, -3)));
        assert_eq!(parse_autogroup("/autogroup-55"), None);
    }

    #[test]
    fn a_child_inherits_unless_its_creator_resets_it() {
        let parent =
            Attributes { policy: Some("fifo"), rt_priority: 9, affinity: Some(vec![1]), ..Attributes::default() };
        assert_eq!(parent.inherited(), parent);
        let child = Attributes { reset_on_fork: true, ..parent }.inherited();
        assert_eq!((child.policy, child.rt_priority, child.affinity), (Some("other"), 0, Some(vec![1])));
        let child = Attributes { reset_on_fork: true, nice: -5, ..Attributes::default() }.inherited();
        assert_eq!((child.nice, child.reset_on_fork), (0, false));
    }
}
