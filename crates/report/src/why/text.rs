//! The answer for a terminal: the main cause first.

use super::headline::{figures, headline, slowest};
use super::words::{Joined, began, joined, lesser, link, moment, part, who, with_interval};
use super::{Check, Lever, Why};
use crate::{figure, table};
use std::collections::BTreeSet;
use std::fmt::Write;

/// Parts of the sum that are shown without `-v`. A choice: the answer fits a terminal of 24 lines.
const PARTS: usize = 4;
/// Locks that are shown of the sum without `-v`.
const LOCKS: usize = 2;
/// Links that are shown of the worst latency without `-v`; of the others only the longest.
const LINKS: usize = 3;
/// Latencies that are shown without `-v`.
const WORST: usize = 2;

/// The answer in `width` columns; everything that was asked for if `is_long`.
#[must_use]
pub fn text(why: &Why, width: u16, is_long: bool) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "{}", table::wrapped("", &headline(why), width, ""));
    let _ = writeln!(out, "{}", table::wrapped("", &figures(why), width, "  "));
    sums(why, width, is_long, &mut out);
    checks(&why.checks, width, &mut out);
    levers(why, width, &mut out);
    worst(why, width, is_long, &mut out);
    for note in why.doubts.iter().skip(1).chain(&why.notes) {
        let _ = writeln!(out, "{}", table::wrapped("note: ", &figure::printable(note), width, "  "));
    }
    out
}

/// Causes that are not shown.
fn others(count: usize) -> String {
    if count == 1 { "1 other cause".into() } else { format!("{count} other causes") }
}

fn sums(why: &Why, width: u16, is_long: bool, out: &mut String) {
    let tail = &why.tail;
    if tail.parts.is_empty() {
        return;
    }
    let of = format!("time of {}", slowest(tail));
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
    for it in &tail.locks[..if is_long { tail.locks.len() } else { LOCKS.min(tail.locks.len()) }] {
        let head = format!("{:>8}  ", figure::percent(Some(it.share)));
        let text = format!("counted above, too: {}, held by {}", part(&it.part()), figure::name(&it.holder));
        let _ = writeln!(out, "{}", table::wrapped(&head, &text, width, "            "));
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

/// The levers that are shown to move something, best first, and the names of the others.
fn levers(why: &Why, width: u16, out: &mut String) {
    let is_told = |it: &&Lever| it.is_p99_told || it.is_throughput_told;
    let told: Vec<&Lever> = why.profile.iter().filter(is_told).collect();
    if !told.is_empty() {
        let _ = writeln!(out, "\n  {:<28} {:>5} {:>20}  {:>20}", "less of", "by", "p99, 95 %", "throughput, 95 %");
    }
    for lever in &told {
        let (less, by) = (lesser(lever), figure::percent(Some(lever.less)));
        let p99 = with_interval(lever.p99, lever.p99_ci95);
        let throughput = with_interval(lever.throughput, lever.throughput_ci95);
        let _ = writeln!(out, "  {less:<28} {by:>5} {p99:>20}  {throughput:>20}");
    }
    let names: BTreeSet<String> = told.iter().map(|it| lesser(it)).collect();
    let others: BTreeSet<String> = why.profile.iter().map(lesser).filter(|it| !names.contains(it)).collect();
    if !others.is_empty() {
        let others = others.into_iter().collect::<Vec<_>>().join(", ");
        let _ = writeln!(
            out,
            "\n{}",
            table::wrapped("  less of these is not shown to change anything: ", &others, width, "    ")
        );
    }
}

fn worst(why: &Why, width: u16, is_long: bool, out: &mut String) {
    let shown = if is_long { why.worst.len() } else { WORST.min(why.worst.len()) };
    if shown > 0 {
        let _ = writeln!(out, "\n  the worst, at the time they began");
    }
    for (rank, latency) in why.worst[..shown].iter().enumerate() {
        let at = moment(latency.at_ns);
        let head = format!("{:>4}  {at}  {}  ", rank + 1, figure::time(Some(latency.length_ns)));
        let links = joined(&latency.chain);
        if rank > 0 && !is_long {
            let first = links.first().map_or_else(String::new, |first| brief(first, latency.length_ns));
            let _ = writeln!(out, "{}", figure::cut(&format!("{head}{}{first}", who(&latency.task)), width.into()));
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
        ("io_limit", Some(group)) => format!(": {share} held by io.max of {}", figure::name(&group.name)),
        ("scheduler", Some(kind)) => format!(": {share} scheduler, {}", kind.name),
        (_, Some(who)) => format!(": {share} behind {}", figure::name(&who.name)),
        (cause, None) => format!(": {share} {}", cause.replace('_', " ")),
    }
}
