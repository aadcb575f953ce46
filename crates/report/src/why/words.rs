//! Causes and rules in words.

use super::{Latency, Lever, LeverKind, Link, Part, Who};
use crate::figure;
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// The rule of an elevator that keeps its disk idle.
const IDLES: &str = "idles";

/// What a sum of time was spent on, in words.
#[must_use]
pub fn part(part: &Part) -> String {
    let who = part.culprit.as_deref().map(figure::name).unwrap_or_default();
    match part.cause.as_str() {
        "computing" => format!("computing: {who}"),
        "behind" => format!("waiting for a CPU behind {who}"),
        "behind_own" => format!("waiting for a CPU behind {who}, whose tasks mostly queued behind each other"),
        "idle_cpu_allowed" => format!("waiting behind {who} while an allowed CPU idled"),
        "idle_cpu_forbidden" => format!("waiting behind {who} while a forbidden CPU idled"),
        "throttled" => format!("throttled, because group {who} was out of quota"),
        "io_limit" => format!("held back, because group {who} was at its I/O limit"),
        "cpu_starts" => "waiting for an idle CPU to start".into(),
        "scheduler" => format!("in the scheduler's own work: {who}"),
        "asleep" => format!("asleep until a timer or something outside woke {who}"),
        "device" => format!("waiting for a device: {who}"),
        "dirty_memory" => format!("waiting while too much memory was dirty: {who}"),
        "lock" => format!("asleep for lock {who}"),
        "disk_queue" if part.rule.as_ref().is_some_and(|rule| rule.name == IDLES) => {
            format!("waiting while the disk idled for {who}, or served it first")
        }
        "disk_queue" => format!("waiting while the disk served others first, most of them of {who}"),
        _ => "for reasons that the events do not show".into(),
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

impl Joined<'_> {
    /// One link alone.
    pub fn of(link: &Link) -> Joined<'_> {
        Joined {
            link,
            total: link.length_ns,
            times: 1,
            tasks: BTreeSet::from([link.task.id]),
            culprits: link.culprit.iter().map(|who| who.id).collect(),
        }
    }
}

/// Links of a chain.
pub(super) fn link(joined: &Joined) -> String {
    let Joined { link, times, tasks, culprits, .. } = joined;
    let (task, of_lock) = locked(link, some(&link.task, tasks.len()));
    let who = link.culprit.as_ref().map(|who| some(who, culprits.len())).unwrap_or_default();
    let many = if *times > 1 { format!(", {times} times") } else { String::new() };
    let said = match link.cause.as_str() {
        "computing" => format!("{task} computed on CPU {}", link.cpu),
        "behind" | "behind_own" => format!("{task} waited for CPU {} behind {who}", link.cpu),
        "idle_cpu_allowed" => format!("{task} waited for CPU {} behind {who}; an allowed CPU idled", link.cpu),
        "idle_cpu_forbidden" => {
            format!("{task} waited for CPU {} behind {who}; a forbidden CPU idled", link.cpu)
        }
        "throttled" => format!("{task} was throttled, group {who} out of quota"),
        "io_limit" => format!("{task}'s I/O was held back, group {who} at its I/O limit"),
        "cpu_starts" => format!("{task} waited until the idle CPU {} ran it", link.cpu),
        "scheduler" => format!("the scheduler worked on CPU {}: {who}", link.cpu),
        "asleep" => format!("{task} slept until a timer or something outside woke it"),
        "device" => format!("{task} waited for its device"),
        "dirty_memory" => format!("{task} waited while too much memory was dirty"),
        "disk_queue" if link.served_first == Some([0, 0]) => format!("{task} waited while its disk idled for {who}"),
        "disk_queue" => {
            let [requests, writes] = link.served_first.unwrap_or_default();
            let most = link.served_most.as_ref().map_or_else(|| who.clone(), self::who);
            let idled = link.rule.as_ref().filter(|rule| rule.name == IDLES);
            let idled = idled.map_or_else(String::new, |_| format!(", then idled for {who}"));
            format!(
                "{task} waited while its disk served {requests} requests first, {writes} of them writes, \
                 most of {most}{idled}"
            )
        }
        _ => "not told by the events".into(),
    };
    let said = match &link.rule {
        Some(rule) if rule.name == IDLES && link.cause == "disk_queue" => said + &many,
        Some(rule) if *times == 1 => format!("{said}: {}", figure::printable(&rule.said)),
        Some(rule) => format!("{said}{many}, the first time because {}", figure::printable(&rule.said)),
        None => said + &many,
    };
    let first = if *times > 1 { " the first time" } else { "" };
    let placed = link.placed.as_ref().map(|rule| format!("; placed there{first} because {}", rule.said));
    said + &placed.unwrap_or_default() + &of_lock
}

/// The task of a link as the holder of a lock, and what remains to be said of the lock.
fn locked(link: &Link, task: String) -> (String, String) {
    match &link.lock {
        None => (task, String::new()),
        Some(lock) if lock.holder == link.task => {
            (format!("{task}, holding lock {},", figure::name(&lock.name)), String::new())
        }
        Some(lock) => {
            let [waiter, holder] = [&lock.waiter, &lock.holder].map(who);
            (task, format!("; {waiter} waited for lock {}, held by {holder}", figure::name(&lock.name)))
        }
    }
}

/// One task, or several of a name.
fn some(who: &Who, count: usize) -> String {
    if count > 1 { format!("{count} {}", figure::name(&who.name)) } else { self::who(who) }
}

/// A task by name, and by its number where it is a thread's.
#[must_use]
pub fn who(who: &Who) -> String {
    match who.id {
        0 => figure::name(&who.name),
        id => format!("{} {id}", figure::name(&who.name)),
    }
}

/// What there is less of.
pub(super) fn lesser(lever: &Lever) -> String {
    let what = figure::name(&lever.what);
    match lever.kind {
        LeverKind::Compute => format!("the CPU time of {what}"),
        LeverKind::Hold => format!("the time lock {what} is held"),
        LeverKind::Service => format!("the service time of disk {what}"),
    }
}

/// A change with its 95 % interval: `-48.9 % (-52…-45)`.
pub(super) fn with_interval(change: Option<f64>, ends: Option<[f64; 2]>) -> String {
    let ends = ends.filter(|[low, high]| low < high).map(|ends| ends.map(|end| format!("{:+.0}", 100.0 * end)));
    signed(change) + &ends.map_or_else(String::new, |[low, high]| format!(" ({low}…{high})"))
}

/// A change with its sign.
pub(super) fn signed(change: Option<f64>) -> String {
    match change {
        Some(change) if change > 0.0 => format!("+{}", figure::percent(Some(change))),
        change => figure::percent(change),
    }
}

/// Whose latency it is, and how it began.
pub(super) fn began(latency: &Latency) -> String {
    let task = who(&latency.task);
    let open = if latency.is_open { ", not over at the end" } else { "" };
    let how = match (latency.began.as_str(), &latency.woken_by) {
        ("woken", Some(waker)) => format!(", woken by {}", who(waker)),
        ("woken", None) => ", woken from outside".into(),
        ("lost_cpu", _) => ", preempted".into(),
        ("asked", _) => ", a request".into(),
        ("submitted", _) => ", an I/O".into(),
        _ => String::new(),
    };
    format!("{task}{how}{open}")
}

/// The links of a chain by names and cause, longest first, each with its sum, its number, and that of the culprits.
pub(super) fn joined(chain: &[Link]) -> Vec<Joined<'_>> {
    let mut joined: Vec<Joined> = Vec::new();
    for link in chain {
        let key = |it: &Link| {
            let name = |who: &Who| who.name.clone();
            let rule = it.rule.as_ref().map(|rule| rule.name.clone());
            let lock = it.lock.as_ref().map(|lock| (lock.name.clone(), name(&lock.holder)));
            (name(&it.task), it.cause.clone(), it.culprit.as_ref().map(name), rule, lock)
        };
        match joined.iter_mut().find(|it| key(it.link) == key(link)) {
            Some(it) => {
                it.total += link.length_ns;
                it.times += 1;
                it.tasks.insert(link.task.id);
                it.culprits.extend(link.culprit.as_ref().map(|who| who.id));
            }
            None => joined.push(Joined::of(link)),
        }
    }
    joined.sort_by_key(|it| Reverse(it.total));
    joined
}

/// A time on the clock of the recording or the run.
pub(super) fn moment(at_ns: u64) -> String {
    format!("{}.{:06} s", at_ns / 1_000_000_000, at_ns / 1_000 % 1_000_000)
}

#[test]
fn the_rule_of_several_links_is_that_of_the_first() {
    let by = goodness_core::Span::from_us(2_000);
    let [task, culprit] = [("b", 7), ("a", 9)].map(|(name, id)| Who { name: name.into(), id });
    let one = Link {
        from_ns: 0,
        length_ns: 5,
        rule: Some(crate::rule::Rule::over(goodness_core::Reason::NotEligible { lag: by }, &who(&task))),
        task,
        cpu: 0,
        cause: "behind".into(),
        culprit: Some(culprit),
        placed: None,
        lock: None,
        served_first: None,
        served_most: None,
    };
    let said = |chain: &[Link]| link(&joined(chain)[0]);
    assert_eq!(said(std::slice::from_ref(&one)), "b 7 waited for CPU 0 behind a 9: b 7 had 2 ms more than its share");
    let twice = "b 7 waited for CPU 0 behind a 9, 2 times, the first time because b 7 had 2 ms more than its share";
    assert_eq!(said(&[one.clone(), one]), twice);
}

#[test]
fn a_disk_that_idles_is_told_beside_what_it_served() {
    let [task, idled_for, most] = [("r", 1), ("s", 2), ("w", 3)].map(|(name, id)| Who { name: name.into(), id });
    let rule = crate::rule::Rule { name: IDLES.into(), said: String::new() };
    let one = Link {
        from_ns: 0,
        length_ns: 5,
        task,
        cpu: 0,
        cause: "disk_queue".into(),
        culprit: Some(idled_for),
        rule: Some(rule.clone()),
        placed: None,
        lock: None,
        served_first: Some([3, 0]),
        served_most: Some(most),
    };
    let served = "r 1 waited while its disk served 3 requests first, 0 of them writes, most of w 3, then idled for s 2";
    assert_eq!(link(&Joined::of(&one)), served);
    let only = Link { served_first: Some([0, 0]), served_most: None, ..one };
    assert_eq!(link(&Joined::of(&only)), "r 1 waited while its disk idled for s 2");
    let cause = "disk_queue".into();
    let sum = Part { cause, culprit: Some("s".into()), total_ns: 5, share: 1.0, rule: Some(rule) };
    assert_eq!(part(&sum), "waiting while the disk idled for s, or served it first");
}
