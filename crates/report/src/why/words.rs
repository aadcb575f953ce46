//! Causes and rules in words.

use super::{Link, Part, Who};
use crate::figure;
use std::collections::BTreeSet;

/// What a sum of time was spent on, in words.
#[must_use]
pub fn part(part: &Part) -> String {
    let who = part.culprit.as_deref().map(figure::name).unwrap_or_default();
    match part.cause.as_str() {
        "computing" => format!("computing: {who}"),
        "behind" => format!("waiting for a CPU behind {who}"),
        "behind_own" => format!("waiting for a CPU behind {who} (mostly each other)"),
        "idle_cpu_allowed" => format!("waiting behind {who} while an allowed CPU idled"),
        "idle_cpu_forbidden" => format!("waiting behind {who}; the idle CPU is not in its affinity"),
        "throttled" => format!("throttled, because group {who} was out of quota"),
        "cpu_starts" => "waiting until an idle CPU ran it".into(),
        "scheduler" => format!("in the scheduler's own work: {who}"),
        "asleep" => format!("asleep until a timer or something outside woke {who}"),
        "device" => format!("asleep on a device: {who}"),
        "disk_queue" => format!("asleep while the disk served others first, most of them of {who}"),
        _ => "in ways that the events do not tell".into(),
    }
}

/// Links of one chain that differ in numbers alone.
pub(super) struct Joined<'a> {
    /// The first one.
    pub link: &'a Link,
    /// Sum of their lengths.
    pub total: u64,
    /// Their number.
    pub times: usize,
    /// Numbers of the tasks on which the latency depended.
    pub tasks: BTreeSet<u64>,
    /// Numbers of those that it waited behind.
    pub culprits: BTreeSet<u64>,
}

/// Links of a chain.
pub(super) fn link(joined: &Joined) -> String {
    let Joined { link, times, tasks, culprits, .. } = joined;
    let task = some(&link.task, tasks.len());
    let who = link.culprit.as_ref().map(|who| some(who, culprits.len())).unwrap_or_default();
    let many = if *times > 1 { format!(", {times} times") } else { String::new() };
    let said = match link.cause.as_str() {
        "computing" => format!("{task} computed on CPU {}", link.cpu),
        "behind" | "behind_own" => format!("{task} waited for CPU {} behind {who}", link.cpu),
        "idle_cpu_allowed" => format!("{task} waited for CPU {} behind {who}; an allowed CPU idled", link.cpu),
        "idle_cpu_forbidden" => {
            format!("{task} waited for CPU {} behind {who}; the idle CPU is not in its affinity", link.cpu)
        }
        "throttled" => format!("{task} was throttled, group {who} out of quota"),
        "cpu_starts" => format!("{task} waited until the idle CPU {} ran it", link.cpu),
        "scheduler" => format!("the scheduler worked on CPU {}: {who}", link.cpu),
        "asleep" => format!("{task} slept until a timer or something outside woke it"),
        "device" => format!("{task} slept on a device"),
        "disk_queue" => {
            let [requests, writes] = link.served_first.unwrap_or_default();
            format!(
                "{task} slept while its disk served {requests} requests first, {writes} of them writes, most of {who}"
            )
        }
        _ => "not told by the events".into(),
    };
    match &link.rule {
        Some(rule) if *times == 1 => format!("{said}: {}", rule.said),
        Some(rule) => format!("{said}{many}: first {}", rule.said),
        None => said + &many,
    }
}

/// One task, or several of a name.
fn some(who: &Who, count: usize) -> String {
    if count > 1 { format!("{count} {}", figure::name(&who.name)) } else { self::who(who) }
}

/// A task by name, and by its number where it is a thread's.
pub(super) fn who(who: &Who) -> String {
    match who.id {
        0 => figure::name(&who.name),
        id => format!("{} {id}", figure::name(&who.name)),
    }
}
