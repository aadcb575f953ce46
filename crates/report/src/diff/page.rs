//! A comparison as one self-contained page: the answer, the decision, both schedules, then the tables.

use super::sentence::{change, headline, judged, request, task};
use super::{Choice, Diff, Difference, FirstDifference, Outcome, Queued, QueuedRequest, picture};
use crate::figure;
use crate::shell::Cell;
use crate::shell::{self, Mood, Shell};

/// The page; `command` makes it again.
#[must_use]
pub fn render(diff: &Diff, command: &str) -> String {
    let mood = match diff.outcome() {
        _ if diff.is_untrusted() => Mood::Untrusted,
        Some(Outcome::Inconclusive) => Mood::Open,
        _ => Mood::Sure,
    };
    let lead = format!("A = {}, B = {} · {}", side(&diff.a), side(&diff.b), diff.samples);
    let mut page = Shell::new("diff", &format!("{} against {}", diff.b.label, diff.a.label), command)
        .headline(&headline(diff), mood)
        .lead(&lead);
    if !diff.gates.is_empty() {
        page.section("Conditions", &gates(diff));
    }
    if let Some(first) = &diff.first_difference {
        let drawn = picture::svg(diff).map(|svg| shell::picture(&svg, "Both schedules")).unwrap_or_default();
        page.section("First decision that differs", &(decision(diff, first) + &drawn));
    }
    metrics(diff, &mut page);
    tasks(diff, &mut page);
    let notes = diff.remarks();
    if !notes.is_empty() {
        page.folded(&format!("{} notes", notes.len()), &shell::list(&notes));
    }
    page.finish()
}

fn side(side: &super::Side) -> String {
    if side.label == side.input { side.label.clone() } else { format!("{} ({})", side.label, side.input) }
}

fn gates(diff: &Diff) -> String {
    let row = |gate: &super::Gate| {
        let class = match gate.outcome {
            Outcome::Holds => "verdict better",
            Outcome::Fails => "verdict worse",
            Outcome::Inconclusive => "verdict unsure",
        };
        let outcome = Cell::of_class(gate.outcome.name(), class);
        vec![Cell::text(&gate.condition), outcome, Cell::of_class(&gate.because, "note")]
    };
    let rows: Vec<Vec<Cell>> = diff.gates.iter().map(row).collect();
    shell::table("Conditions of --fail-if", &["fails if", "gate", "because"], &rows)
}

fn decision(diff: &Diff, first: &FirstDifference) -> String {
    let (number, at) = (first.replication + 1, figure::time(Some(first.at_ns)));
    let (place, before, none) = match (first.cpu, first.disk) {
        (_, Some(disk)) => (format!(", disk {disk}"), "requests at the disk", "no request"),
        (Some(cpu), _) => (format!(", CPU {cpu}"), "running before", "nobody"),
        (None, None) => (String::new(), "running before", "nobody"),
    };
    let row = |name: &str, label: &str, it: &Choice| {
        let since = |who: String, span: u64| format!("{who} ({})", figure::time(Some(span)));
        let tasks = it.queue.iter().map(|it: &Queued| since(task(&it.task), it.waited_ns));
        let requests = it.requests.iter().map(|it: &QueuedRequest| since(request(it), it.waited_ns));
        let queue: Vec<String> = tasks.chain(requests).collect();
        let running = it.running.as_ref().map_or("idle".into(), task);
        let now = it.in_flight.map_or(running, |count| count.to_string());
        let rule = it.rule.as_ref().map(|rule| format!(", because {}", rule.said)).unwrap_or_default();
        let queue = if queue.is_empty() { none.into() } else { queue.join(", ") };
        [format!("{name} {label}"), format!("{}{rule}", it.did), now, queue].map(|it| Cell::text(&it)).to_vec()
    };
    let caption = format!("{at} into run {number} (seed {}){place}", first.seed);
    let rows = [row("A", &diff.a.label, &first.a), row("B", &diff.b.label, &first.b)];
    shell::table(&caption, &["side", "did", before, "waiting, since"], &rows)
}

fn metrics(diff: &Diff, page: &mut Shell) {
    let table = |caption: &str, rows: &[&Difference]| {
        let row = |it: &&Difference| [vec![Cell::text(&figure::titled(&it.name))], cells(diff, it)].concat();
        let rows: Vec<Vec<Cell>> = rows.iter().map(row).collect();
        shell::table(caption, &["metric", "A", "B", "B against A, 95 %", "verdict"], &rows)
    };
    let (different, others): (Vec<&Difference>, Vec<&Difference>) =
        diff.metrics.iter().partition(|it| it.finding.is_different());
    let shown = match different.is_empty() {
        true => shell::paragraph("No metric differs."),
        false => table("Metrics that differ beyond chance", &different),
    };
    page.section("Metrics that differ", &shown);
    if !others.is_empty() {
        page.folded(&format!("{} other metrics", others.len()), &table("Equal, alike, or undecided", &others));
    }
}

fn tasks(diff: &Diff, page: &mut Shell) {
    let row = |(of, it): (&super::TaskDifference, &Difference)| {
        [vec![Cell::text(&task(&of.task)), Cell::text(&it.name)], cells(diff, it)].concat()
    };
    let all = diff.tasks.iter().flat_map(|of| of.metrics.iter().map(move |it| (of, it)));
    let rows: Vec<Vec<Cell>> = all.filter(|(_, it)| it.finding.is_different()).map(row).collect();
    if !rows.is_empty() {
        let heads = ["task", "measure", "A", "B", "B against A, 95 %", "verdict"];
        let summary = format!("{} measures of tasks that differ", rows.len());
        page.folded(&summary, &shell::table("Measures that differ beyond chance", &heads, &rows));
    }
}

fn cells(diff: &Diff, it: &Difference) -> Vec<Cell> {
    let [a, b] = [it.a, it.b].map(|value| Cell::number(&figure::show(value, &it.unit)));
    let verdict = match judged(it) {
        word @ "better" => Cell::of_class(word, "verdict better"),
        word @ "worse" => Cell::of_class(word, "verdict worse"),
        word => Cell::of_class(word, "verdict"),
    };
    vec![a, b, Cell::number(&change(it, diff.kind)), verdict]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::{Kind, Side, Slice, TaskName, text};
    use crate::text::Extent;

    #[test]
    fn the_queue_of_a_disk_is_shown_with_the_requests_that_the_disk_has() {
        let waits = QueuedRequest { operation: "read".into(), sector: 8, sectors: 1, by: None, waited_ns: 2_000_000 };
        let a = Choice { in_flight: Some(1), requests: vec![waits], ..Choice::default() };
        let b = Choice { in_flight: Some(0), ..Choice::default() };
        let mut diff = Diff::new(Kind::Arms, Side::default(), Side::default());
        diff.first_difference = Some(FirstDifference { disk: Some(3), a, b, ..FirstDifference::default() });
        diff.conclude();
        let said = text::render(&diff, 80, Extent::Answer);
        assert!(said.contains("1 request at the disk; read at 8 (waited 2 ms)"), "{said}");
        assert!(said.contains("0 requests at the disk; no request waiting"), "{said}");
        let page = render(&diff, "");
        assert!(page.contains("disk 3") && page.contains("requests at the disk"), "{page}");
        assert!(page.contains("read at 8 (2 ms)") && page.contains("no request"), "{page}");
    }

    #[test]
    fn names_from_outside_add_no_element_and_both_schedules_are_drawn() {
        let name = "<img src=x>";
        let task = TaskName { name: name.into(), id: 7 };
        let slice = |end_ns| Slice { task: task.clone(), cpu: 0, start_ns: 0, end_ns };
        let choice = |end| Choice { did: name.into(), schedule: vec![slice(end)], ..Choice::default() };
        let mut diff = Diff::new(Kind::Arms, Side { label: name.into(), ..Side::default() }, Side::default());
        diff.first_difference =
            Some(FirstDifference { at_ns: 5, cpu: Some(0), a: choice(9), b: choice(10), ..FirstDifference::default() });
        diff.conclude();
        let page = render(&diff, "goodness diff '<b>'");
        assert!(!page.contains("<img") && !page.contains("<b>"), "{page}");
        assert_eq!(page.matches("<rect").count(), 3, "a slice each, and the legend");
        assert!(page.contains("class=\"mark\"") && !page.contains("<script"));
        assert!(page.contains("Save as SVG") && page.contains("Run it again"));
    }
}
