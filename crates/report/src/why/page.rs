//! The answer as one self-contained page: what the slowest were spent on, the checks, then the worst one by one.

use super::headline::{figures, headline, mood, slowest, trust};
use super::words::{Joined, began, joined, lesser, link, moment, part, who, with_interval};
use super::{Check, Latency, LockPart, Part, Tail, Why, picture};
use crate::figure::{self, printable};
use crate::rule::in_general;
use crate::shell::{self, Cell, Shell};

/// Latencies that are drawn without being unfolded.
const OPEN: usize = 3;
/// Most latencies on a page, and most links of one that are listed; `--json` has all.
const LATENCIES: usize = 100;
const LINKS: usize = 300;

/// The page; `command` makes it again.
#[must_use]
pub fn page(why: &Why, command: &str) -> String {
    let mut page = Shell::new("why", &printable(&why.input), command)
        .headline(&headline(why), mood(why))
        .lead(&format!("{}. {}", figures(why), trust(why)));
    if !why.tail.parts.is_empty() {
        page.section("Where the time went", &sums(why));
    }
    if !why.checks.is_empty() {
        page.section("Checked by simulation without the cause", &checks(&why.checks));
    }
    if !why.profile.is_empty() {
        page.section("What would help", &levers(why));
    }
    worst(why, &mut page);
    let notes: Vec<String> = why.doubts.iter().skip(1).chain(&why.notes).map(|note| printable(note)).collect();
    if !notes.is_empty() {
        let summary = if notes.len() == 1 { "1 note".into() } else { format!("{} notes", notes.len()) };
        page.folded(&summary, &shell::list(&notes));
    }
    page.finish()
}

/// A cause with its colour.
fn spent(cause: &str, said: &str) -> Cell {
    Cell::html(picture::swatch(cause) + &shell::escape(said), "")
}

fn sums(why: &Why) -> String {
    let tail = &why.tail;
    let has_rules = tail.parts.iter().any(|it| it.rule.is_some());
    let columns = if has_rules { 4 } else { 3 };
    let row = |it: &Part| {
        let rule = it.rule.as_ref().map_or("", |rule| in_general(&rule.name));
        let mut cells = vec![
            spent(&it.cause, &part(it)),
            Cell::number(&figure::percent(Some(it.share))),
            Cell::number(&figure::time(Some(it.total_ns))),
            Cell::of_class(rule, "quiet"),
        ];
        cells.truncate(columns);
        cells
    };
    let caption = format!("Time of {}", slowest(tail));
    let rows: Vec<Vec<Cell>> = tail.parts.iter().map(row).collect();
    shell::picture(&picture::shares(tail), "Where the time went")
        + &shell::table(&caption, &["spent", "share", "time", "rule"][..columns], &rows)
        + &locks(tail)
}

/// The locks, whose time is in the causes, too.
fn locks(tail: &Tail) -> String {
    let row = |it: &LockPart| {
        vec![
            Cell::text(&figure::name(&it.lock)),
            Cell::text(&figure::name(&it.holder)),
            Cell::number(&figure::percent(Some(it.share))),
            Cell::number(&figure::time(Some(it.total_ns))),
        ]
    };
    let rows: Vec<Vec<Cell>> = tail.locks.iter().map(row).collect();
    match rows.is_empty() {
        true => String::new(),
        false => shell::table(
            "Asleep for a lock: time that is counted above, too",
            &["lock", "held by", "share", "time"],
            &rows,
        ),
    }
}

fn checks(checks: &[Check]) -> String {
    let row = |it: &Check| {
        let (verdict, class) = match (it.without_ns, it.verdict.as_str()) {
            (None, _) => ("open", "verdict unsure"),
            (_, "holds") => ("holds", "verdict better"),
            (_, "partly") => ("partly", "verdict unsure"),
            (_, verdict) => (verdict, "verdict worse"),
        };
        let without = it.without_ns.map_or_else(String::new, |ns| figure::show(Some(ns), "ns"));
        vec![
            Cell::text(&printable(&it.removed)),
            Cell::of_class(verdict, class),
            Cell::number(&figure::show(Some(it.with_ns), "ns")),
            Cell::number(&without),
            Cell::number(&figure::percent(Some(it.expected()))),
            Cell::number(&it.gone.map_or_else(String::new, |gone| figure::percent(Some(gone)))),
            Cell::of_class(&printable(&it.because), "note"),
        ]
    };
    let heads = ["changed", "verdict", "mean before", "mean after", "expected", "reduction", "note"];
    let about = "Each main cause was taken away, or halved, and the run simulated again with the same seed. The blame \
                 holds if at least the blamed part of the slowest latencies went away; of a cause that was halved, \
                 half of it.";
    let rows: Vec<Vec<Cell>> = checks.iter().map(row).collect();
    shell::paragraph(about) + &shell::table("Mean of the slowest latencies", &heads, &rows)
}

fn levers(why: &Why) -> String {
    let row = |it: &super::Lever| {
        vec![
            Cell::text(&lesser(it)),
            Cell::number(&figure::percent(Some(it.less))),
            Cell::number(&with_interval(it.p99, it.p99_ci95)),
            Cell::number(&with_interval(it.throughput, it.throughput_ci95)),
            Cell::text(if it.is_p99_told || it.is_throughput_told { "yes" } else { "no" }),
        ]
    };
    let rows: Vec<Vec<Cell>> = why.profile.iter().map(row).collect();
    let heads = ["less of", "by", "p99 changes by, 95 %", "throughput changes by, 95 %", "change is shown"];
    shell::table("Simulated with less of one thing, best first", &heads, &rows)
}

fn worst(why: &Why, page: &mut Shell) {
    let all: Vec<String> = (1..).zip(why.worst.iter().take(LATENCIES)).map(|(rank, it)| one(rank, it)).collect();
    let (open, folded) = all.split_at(OPEN.min(all.len()));
    if !open.is_empty() {
        let about = "A row is a task on which the latency depended; the axis begins where the latency did.";
        page.section("The worst, one by one", &(shell::paragraph(about) + &open.concat()));
    }
    let left = why.worst.len() - all.len();
    let left = match left {
        0 => String::new(),
        _ => shell::paragraph(&format!("{left} more are not on this page; goodness why --json has all of them.")),
    };
    if !folded.is_empty() {
        page.folded(&format!("{} more of the worst", why.worst.len() - open.len()), &(folded.concat() + &left));
    }
}

fn one(rank: usize, latency: &Latency) -> String {
    let length = figure::time(Some(latency.length_ns));
    let name = format!("{rank}. {length} at {}: {}", moment(latency.at_ns), began(latency));
    let share = |ns: u64| figure::percent(Some(ns as f64 / latency.length_ns.max(1) as f64));
    let row = |it: &Joined| {
        let what = spent(&it.link.cause, &link(it));
        vec![what, Cell::number(&share(it.total)), Cell::number(&figure::time(Some(it.total)))]
    };
    let rows: Vec<Vec<Cell>> = joined(&latency.chain).iter().map(row).collect();
    let file = format!("why {rank} {}", who(&latency.task));
    format!(
        "<h3>{}</h3>\n{}{}{}\n",
        shell::escape(&name),
        shell::picture(&picture::chain(latency, &name), &file),
        shell::table(&format!("What number {rank} was spent on"), &["spent", "share", "time"], &rows),
        in_order(rank, latency)
    )
}

/// The links in order of time, where that says more than their sums.
fn in_order(rank: usize, latency: &Latency) -> String {
    if latency.chain.len() < 3 {
        return String::new();
    }
    let row = |it: &super::Link| {
        vec![
            Cell::number(&figure::time(Some(it.from_ns.saturating_sub(latency.at_ns)))),
            Cell::number(&figure::time(Some(it.length_ns))),
            spent(&it.cause, &link(&Joined::of(it))),
        ]
    };
    let rows: Vec<Vec<Cell>> = latency.chain.iter().take(LINKS).map(row).collect();
    let caption = match latency.chain.len() > LINKS {
        true => format!("The first {LINKS} of {} links of number {rank}, in order of time", latency.chain.len()),
        false => format!("Links of number {rank}, in order of time"),
    };
    let summary = format!("{} links in order of time", latency.chain.len());
    shell::fold(&summary, &shell::table(&caption, &["after", "time", "what"], &rows), false)
}

#[cfg(test)]
mod tests {
    use super::super::{Held, Lever, LeverKind, Link, SCHEMA, Who};
    use super::*;
    use crate::rule::Rule;

    const HOSTILE: &str = "</script><img src=x onerror=alert(1)>\"'";

    fn hostile_rule() -> Rule {
        Rule { name: "class".into(), said: HOSTILE.into() }
    }

    fn latency() -> Latency {
        let task = Who { name: HOSTILE.into(), id: 7 };
        let link = |from_ns, cause: &str| Link {
            from_ns,
            length_ns: 1_000_000,
            task: task.clone(),
            cpu: 0,
            cause: cause.into(),
            culprit: Some(task.clone()),
            rule: Some(hostile_rule()),
            placed: None,
            lock: Some(Held { name: HOSTILE.into(), waiter: task.clone(), holder: task.clone() }),
            served_first: None,
            served_most: None,
        };
        let chain = vec![link(0, "behind"), link(1_000_000, "computing"), link(2_000_000, HOSTILE)];
        Latency {
            at_ns: 0,
            length_ns: 3_000_000,
            task: task.clone(),
            began: "woken".into(),
            woken_by: Some(task.clone()),
            is_open: false,
            chain,
        }
    }

    fn found(verdict: &str) -> Why {
        let rule = hostile_rule();
        let part = Part {
            cause: "behind".into(),
            culprit: Some(HOSTILE.into()),
            total_ns: 3_000_000,
            share: 1.0,
            rule: Some(rule),
        };
        let lock = LockPart { lock: HOSTILE.into(), holder: HOSTILE.into(), total_ns: 3_000_000, share: 1.0 };
        let check = Check {
            cause: "behind".into(),
            culprit: Some(HOSTILE.into()),
            removed: HOSTILE.into(),
            blamed: 1.0,
            with_ns: 3e6,
            without_ns: Some(1e6),
            gone: Some(0.67),
            verdict: verdict.into(),
            because: HOSTILE.into(),
        };
        Why {
            schema: SCHEMA.into(),
            input: HOSTILE.into(),
            policy: Some(HOSTILE.into()),
            seed: Some(1),
            of: "waits".into(),
            whom: HOSTILE.into(),
            count: 1,
            mean_ns: Some(3_000_000),
            p99_ns: Some(3_000_000),
            worst_ns: Some(3_000_000),
            tail: Tail { count: 1, from_ns: 3_000_000, total_ns: 3_000_000, parts: vec![part], locks: vec![lock] },
            worst: vec![latency(); 5],
            checks: vec![check],
            profile: vec![Lever {
                kind: LeverKind::Hold,
                what: HOSTILE.into(),
                less: 0.1,
                p99: Some(-0.2),
                throughput: None,
                p99_ci95: Some([-0.3, -0.1]),
                throughput_ci95: None,
                is_p99_told: true,
                is_throughput_told: false,
            }],
            doubts: vec![HOSTILE.into()],
            notes: vec![HOSTILE.into()],
        }
    }

    #[test]
    fn names_from_outside_add_no_element_and_every_part_is_there() {
        let page = page(&found("holds"), HOSTILE);
        assert!(!page.contains("<img") && !page.contains("</script>") && page.contains("&lt;img"), "{page}");
        for forbidden in ["<script", "src=\"", "@import", "url(", "https://", "NaN"] {
            assert!(!page.contains(forbidden), "the page holds {forbidden}");
        }
        let place = |text: &str| page.find(text).unwrap_or_else(|| panic!("{text} is missing"));
        let order =
            ["conclusion untrusted", "Where the time went", "Checked by", "What would help", "The worst, one by one"];
        assert!(order.map(place).is_sorted(), "{page}");
        assert_eq!(page.matches("role=\"img\"").count(), 1 + 5, "the sum, and each latency");
        assert_eq!(page.matches("download=").count(), 1 + 5);
        assert!(place("2 more of the worst") < place(">4. 3 ms at"), "the third is open, the fourth is folded");
    }

    #[test]
    fn what_a_cause_is_blamed_for_is_halved_where_half_of_it_was_taken_away() {
        let mut why = found("holds");
        why.checks[0] = Check { removed: "log.hold=50%".into(), blamed: 0.964, ..why.checks[0].clone() };
        let shown = page(&why, "goodness why");
        assert!(shown.contains("48.2 %") && !shown.contains("96.4 %"), "{shown}");
        why.checks[0].removed = "log.affinity=own".into();
        assert!(page(&why, "goodness why").contains("96.4 %"));
    }

    #[test]
    fn blame_that_a_run_without_it_does_not_confirm_is_untrusted() {
        let page = page(&found("fails"), "goodness why");
        assert!(page.contains("conclusion untrusted") && page.contains("does not confirm the main cause"), "{page}");
    }

    #[test]
    fn nothing_late_is_said_without_pictures() {
        let empty = Why { tail: Tail::default(), worst: vec![], checks: vec![], profile: vec![], ..found("holds") };
        let page = page(&empty, "goodness why");
        assert!(page.contains("Nothing is late") && !page.contains("<svg"), "{page}");
    }
}
