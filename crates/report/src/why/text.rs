//! The answer for a terminal: the main cause first.

use super::words::{Joined, link, part, who};
use super::{Check, Latency, Link, Who, Why};
use crate::{figure, rule, table};
use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::fmt::Write;

/// Parts of the sum that are shown without `-v`. A choice: the answer fits a terminal of 24 lines.
const PARTS: usize = 4;
/// Links that are shown of the worst latency without `-v`; of the others only the longest.
const LINKS: usize = 3;
/// Latencies that are shown without `-v`.
const WORST: usize = 4;

/// The answer in `width` columns; everything that was asked for if `is_long`.
#[must_use]
pub fn text(why: &Why, width: u16, is_long: bool) -> String {
    let mut out = String::new();
    let by = why.policy.as_ref().map_or_else(String::new, |policy| format!(" under {policy}"));
    let _ = writeln!(out, "{}", table::wrapped("", &headline(why), width, ""));
    let figures = format!(
        "{}{by}: {} {}, mean {}, p99 {}, worst {}",
        figure::printable(&why.input),
        why.count,
        figure::printable(&why.whom),
        figure::time(why.mean_ns),
        figure::time(why.p99_ns),
        figure::time(why.worst_ns)
    );
    let _ = writeln!(out, "{}", table::wrapped("", &figures, width, "  "));
    sums(why, width, is_long, &mut out);
    checks(&why.checks, width, &mut out);
    levers(why, &mut out);
    worst(why, width, is_long, &mut out);
    for note in &why.notes {
        let _ = writeln!(out, "{}", table::wrapped("note: ", &figure::printable(note), width, "  "));
    }
    out
}

/// Causes that are not shown.
fn others(count: usize) -> String {
    if count == 1 { "1 other cause".into() } else { format!("{count} other causes") }
}

/// The main cause in one sentence.
fn headline(why: &Why) -> String {
    let Some(main) = why.tail.parts.first() else {
        return format!("Nothing is late: no {}.", figure::printable(&why.whom));
    };
    let rule = main.rule.as_ref().filter(|_| main.cause != "throttled");
    let rule = rule.map_or_else(String::new, |it| format!("; the rule: {}", rule::in_general(&it.name)));
    let check = why.checks.iter().find(|it| it.cause == main.cause && it.culprit == main.culprit);
    let check = check.map_or_else(String::new, |check| match (check.verdict.as_str(), check.gone) {
        ("fails", Some(_)) => " The check does not confirm it.".into(),
        (_, Some(gone)) if gone <= 0.0 => String::new(),
        (_, Some(gone)) if main.cause == "computing" => {
            format!(" With half of it they are {} shorter.", figure::percent(Some(gone)))
        }
        (_, Some(gone)) => format!(" Without it they are {} shorter.", figure::percent(Some(gone))),
        _ => String::new(),
    });
    let share = figure::percent(Some(main.share));
    let slowest = if why.tail.count * 100 < why.count + 100 { "slowest 1 % of" } else { "slowest" };
    format!("The {slowest} {} spent {share} of their time {}{rule}.{check}", why.of, part(main))
}

fn sums(why: &Why, width: u16, is_long: bool, out: &mut String) {
    let tail = &why.tail;
    if tail.parts.is_empty() {
        return;
    }
    let of = format!("time of the {} slowest ({} and more)", tail.count, figure::time(Some(tail.from_ns)));
    let _ = writeln!(out, "\n  {of}");
    let shown = if is_long { tail.parts.len() } else { PARTS.min(tail.parts.len()) };
    for it in &tail.parts[..shown] {
        let head = format!("{:>8}  ", figure::percent(Some(it.share)));
        let _ = writeln!(out, "{}", table::wrapped(&head, &part(it), width, "            "));
    }
    let rest: f64 = tail.parts[shown..].iter().map(|it| it.share).sum();
    if shown < tail.parts.len() {
        let _ = writeln!(out, "{:>8}  {}", figure::percent(Some(rest)), others(tail.parts.len() - shown));
    }
}

fn checks(checks: &[Check], width: u16, out: &mut String) {
    if checks.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n  checked by simulation without the cause");
    for check in checks {
        let text = match check.without_ns {
            Some(without) => format!(
                "{}: {} to {}, {}",
                figure::printable(&check.removed),
                figure::show(Some(check.with_ns), "ns"),
                figure::show(Some(without), "ns"),
                check.because
            ),
            None => format!("{}: {}", figure::printable(&check.removed), check.because),
        };
        let verdict = if check.without_ns.is_some() { &check.verdict } else { "open" };
        let _ = writeln!(out, "{}", table::wrapped(&format!("{verdict:>8}  "), &text, width, "            "));
    }
}

fn levers(why: &Why, out: &mut String) {
    if why.profile.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n  less CPU time of          by        p99  throughput");
    for lever in &why.profile {
        let _ = writeln!(
            out,
            "  {:<22} {:>5} {:>10}  {:>10}",
            figure::name(&lever.what),
            figure::percent(Some(lever.less)),
            signed(lever.p99),
            signed(lever.throughput)
        );
    }
}

/// A change with its sign.
fn signed(change: Option<f64>) -> String {
    match change {
        Some(change) if change > 0.0 => format!("+{}", figure::percent(Some(change))),
        change => figure::percent(change),
    }
}

fn worst(why: &Why, width: u16, is_long: bool, out: &mut String) {
    let shown = if is_long { why.worst.len() } else { WORST.min(why.worst.len()) };
    if shown > 0 {
        let _ = writeln!(out, "\n  the worst, at the time they began");
    }
    for (rank, latency) in why.worst[..shown].iter().enumerate() {
        let at = format!("{}.{:06} s", latency.at_ns / 1_000_000_000, latency.at_ns / 1_000 % 1_000_000);
        let head = format!("{:>4}  {at}  {}  ", rank + 1, figure::time(Some(latency.length_ns)));
        let links = joined(&latency.chain);
        if rank > 0 && !is_long {
            let first = links.first().map_or_else(String::new, |first| brief(first, latency.length_ns));
            let _ = writeln!(out, "{}", cut(&format!("{head}{}{first}", who(&latency.task)), width));
            continue;
        }
        let _ = writeln!(out, "{}", table::wrapped(&head, &began(latency), width, "      "));
        let most = if is_long { links.len() } else { LINKS.min(links.len()) };
        for it in &links[..most] {
            let head = format!("{:>14}  ", figure::time(Some(it.total)));
            let _ = writeln!(out, "{}", table::wrapped(&head, &link(it), width, "                "));
        }
        let rest: u64 = links[most..].iter().map(|it| it.total).sum();
        if most < links.len() {
            let _ = writeln!(out, "{:>14}  {} (-v)", figure::time(Some(rest)), others(links.len() - most));
        }
    }
    if shown < why.worst.len() {
        let _ = writeln!(out, "      {} more with -v", why.worst.len() - shown);
    }
}

/// The longest part of a latency in a few words.
fn brief(first: &Joined, length: u64) -> String {
    let share = figure::percent(Some(first.total as f64 / length.max(1) as f64));
    match (first.link.cause.as_str(), &first.link.culprit) {
        ("throttled", Some(group)) => format!(": {share} throttled, group {}", figure::name(&group.name)),
        ("scheduler", Some(kind)) => format!(": {share} scheduler, {}", kind.name),
        (_, Some(who)) => format!(": {share} behind {}", figure::name(&who.name)),
        (cause, None) => format!(": {share} {}", cause.replace('_', " ")),
    }
}

/// `line` in `width` columns.
fn cut(line: &str, width: u16) -> String {
    match line.chars().count() > usize::from(width) {
        false => line.into(),
        true => line.chars().take(usize::from(width) - 1).chain(['…']).collect(),
    }
}

/// Whose latency it is, and how it began.
fn began(latency: &Latency) -> String {
    let task = who(&latency.task);
    let open = if latency.is_open { ", not over at the end" } else { "" };
    let how = match (latency.began.as_str(), &latency.woken_by) {
        ("woken", Some(waker)) => format!(", woken by {}", who(waker)),
        ("woken", None) => ", woken from outside".into(),
        ("lost_cpu", _) => ", preempted".into(),
        ("asked", _) => ", a request".into(),
        _ => String::new(),
    };
    format!("{task}{how}{open}")
}

/// The links of a chain by names and cause, longest first, each with its sum, its number, and that of the culprits.
fn joined(chain: &[Link]) -> Vec<Joined<'_>> {
    let mut joined: Vec<Joined> = Vec::new();
    for link in chain {
        let key = |it: &Link| {
            let name = |who: &Who| who.name.clone();
            let rule = it.rule.as_ref().map(|rule| rule.name.clone());
            (name(&it.task), it.cause.clone(), it.culprit.as_ref().map(name), rule)
        };
        let culprit = link.culprit.as_ref().map(|who| who.id);
        match joined.iter_mut().find(|it| key(it.link) == key(link)) {
            Some(it) => {
                it.total += link.length_ns;
                it.times += 1;
                it.tasks.insert(link.task.id);
                it.culprits.extend(culprit);
            }
            None => joined.push(Joined {
                link,
                total: link.length_ns,
                times: 1,
                tasks: BTreeSet::from([link.task.id]),
                culprits: culprit.into_iter().collect(),
            }),
        }
    }
    joined.sort_by_key(|it| Reverse(it.total));
    joined
}
