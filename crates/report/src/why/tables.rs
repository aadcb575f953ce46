//! Why latencies are long, as tables.

use super::{Latency, LockPart, Part, Why};
use goodness_table::Kind::{Float, Text, Whole};
use goodness_table::{Cell, Column, Table, column};

/// Columns of [`links`].
pub const LINKS: &[Column] = &[
    column("input", Text, "Name of the recording, file or workload."),
    column("policy", Text, "Policy of the simulated run; missing for a recording as it is."),
    column("rank", Whole, "Rank of the latency, 1 for the longest."),
    column("task", Text, "Task that waited, or whose request it is."),
    column("id", Whole, "Its thread id, or its number in the run."),
    column("length", Whole, "Length of the latency in ns."),
    column("link", Whole, "Number of the link in the chain, from 1."),
    column("from", Whole, "Begin of the link in ns."),
    column("span", Whole, "Length of the link in ns."),
    column("share", Float, "Its part of the latency."),
    column("of", Text, "Task on which the latency depended meanwhile."),
    column("cpu", Whole, "CPU on which it ran or for which it waited."),
    column("cause", Text, "Cause."),
    column("culprit", Text, "Task that it waited behind, or group whose limit stopped it."),
    column("rule", Text, "Rule of the policy."),
    column("placed", Text, "Rule by which the policy placed the task on this CPU, where its wait there begins."),
    column("lock", Text, "Lock for which a task slept meanwhile; missing without one."),
    column("holder", Text, "Task that held it."),
];

/// Columns of [`latencies`].
pub const LATENCIES: &[Column] = &[
    column("input", Text, "Name of the recording, file or workload."),
    column("policy", Text, "Policy of the simulated run; missing for a recording as it is."),
    column("rank", Whole, "Rank of the latency, 1 for the longest."),
    column("task", Text, "Task that waited, or whose request it is."),
    column("id", Whole, "Its thread id, or its number in the run."),
    column("at", Whole, "Begin of the latency in ns."),
    column("length", Whole, "Its length in ns."),
    column("began", Text, "Its beginning: woken, lost_cpu, asked, submitted or not_told."),
    column("woken_by", Text, "Task that woke it; missing without one."),
    column("cause", Text, "Cause of its longest link."),
    column("culprit", Text, "Culprit of its longest link; missing without one."),
    column("share", Float, "Part of the latency that this link is."),
];

/// Columns of [`causes`].
pub const CAUSES: &[Column] = &[
    column("input", Text, "Name of the recording, file or workload."),
    column("policy", Text, "Policy of the simulated run; missing for a recording as it is."),
    column("cause", Text, "Cause. The time of a lock is in the other causes, too: what its holder did."),
    column("culprit", Text, "Task, several of one name, group or lock; missing without one."),
    column("time", Whole, "Time of the longest latencies spent on it, in ns."),
    column("share", Float, "Its part of them."),
    column("rule", Text, "Rule of the policy that accounts for most of it."),
    column("verdict", Text, "Check by simulation: holds, partly, fails or not_checked; missing without one."),
    column("gone", Float, "Part of the longest latencies that went away without the cause."),
];

/// The longest latencies, a row for each link of their chains: schema `goodness.why-links/1`.
#[must_use]
pub fn links(why: &Why) -> Table {
    let mut table = Table::new("goodness.why-links/1", LINKS);
    for (rank, latency) in (1..).zip(&why.worst) {
        for (number, link) in (1..).zip(&latency.chain) {
            table.push(&[
                Cell::Text(&why.input),
                why.policy.as_deref().into(),
                Cell::Whole(rank),
                Cell::Text(&latency.task.name),
                Cell::Whole(latency.task.id),
                Cell::Whole(latency.length_ns),
                Cell::Whole(number),
                Cell::Whole(link.from_ns),
                Cell::Whole(link.length_ns),
                Cell::Float(part_of(link.length_ns, latency)),
                Cell::Text(&link.task.name),
                Cell::Whole(link.cpu.into()),
                Cell::Text(&link.cause),
                link.culprit.as_ref().map(|who| who.name.as_str()).into(),
                link.rule.as_ref().map(|rule| rule.name.as_str()).into(),
                link.placed.as_ref().map(|rule| rule.name.as_str()).into(),
                link.lock.as_ref().map(|lock| lock.name.as_str()).into(),
                link.lock.as_ref().map(|lock| lock.holder.name.as_str()).into(),
            ]);
        }
    }
    table
}

/// The longest latencies, a row for each: schema `goodness.why-latencies/1`.
#[must_use]
pub fn latencies(why: &Why) -> Table {
    let mut table = Table::new("goodness.why-latencies/1", LATENCIES);
    for (rank, latency) in (1..).zip(&why.worst) {
        let longest = latency.longest();
        table.push(&[
            Cell::Text(&why.input),
            why.policy.as_deref().into(),
            Cell::Whole(rank),
            Cell::Text(&latency.task.name),
            Cell::Whole(latency.task.id),
            Cell::Whole(latency.at_ns),
            Cell::Whole(latency.length_ns),
            Cell::Text(&latency.began),
            latency.woken_by.as_ref().map(|who| who.name.as_str()).into(),
            longest.map(|link| link.cause.as_str()).into(),
            longest.and_then(|link| link.culprit.as_ref()).map(|who| who.name.as_str()).into(),
            longest.map(|link| part_of(link.length_ns, latency)).into(),
        ]);
    }
    table
}

/// The causes of the longest latencies, then their locks: schema `goodness.why-causes/1`.
#[must_use]
pub fn causes(why: &Why) -> Table {
    let mut table = Table::new("goodness.why-causes/1", CAUSES);
    let locks: Vec<Part> = why.tail.locks.iter().map(LockPart::part).collect();
    for part in why.tail.parts.iter().chain(&locks) {
        let check = why.checks.iter().find(|it| it.cause == part.cause && it.culprit == part.culprit);
        table.push(&[
            Cell::Text(&why.input),
            why.policy.as_deref().into(),
            Cell::Text(&part.cause),
            part.culprit.as_deref().into(),
            Cell::Whole(part.total_ns),
            Cell::Float(part.share),
            part.rule.as_ref().map(|rule| rule.name.as_str()).into(),
            check.map(|it| it.verdict.as_str()).into(),
            check.and_then(|it| it.gone).into(),
        ]);
    }
    table
}

fn part_of(span: u64, latency: &Latency) -> f64 {
    span as f64 / latency.length_ns.max(1) as f64
}
