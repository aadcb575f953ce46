//! A comparison as one self-contained page without scripts: the answer, the decision, both schedules, then the tables.

use super::sentence::{change, headline, judged, task};
use super::{Choice, Diff, Difference, FirstDifference, Queued, picture};
use crate::figure;
use crate::html::plain_head;
use crate::shell::escape;

/// The page.
#[must_use]
pub fn render(diff: &Diff) -> String {
    let title = escape(&format!("{} against {}", diff.b.label, diff.a.label));
    let parts = [
        format!("<h1>{title}</h1>\n<p class=\"answer\">{}</p>\n", escape(&headline(diff))),
        format!("<p class=\"dim\">A = {}, B = {} · {}</p>\n", side(&diff.a), side(&diff.b), escape(&diff.samples)),
        gates(diff),
        diff.first_difference.as_ref().map(|first| decision(diff, first)).unwrap_or_default(),
        picture::svg(diff).map(|svg| format!("<figure>{svg}</figure>\n")).unwrap_or_default(),
        metrics(diff),
        tasks(diff),
        diff.notes.iter().map(|note| format!("<p class=\"dim\">{}</p>\n", escape(note))).collect(),
    ];
    format!(
        "{}<main>\n{}</main>\n<footer class=\"dim\">Made by goodness {}. This file is complete: it loads nothing.\
         </footer>\n</body>\n</html>\n",
        plain_head(&title, None),
        parts.concat(),
        escape(&diff.goodness.version)
    )
}

fn side(side: &super::Side) -> String {
    if side.label == side.input { escape(&side.label) } else { escape(&format!("{} ({})", side.label, side.input)) }
}

fn gates(diff: &Diff) -> String {
    let row = |gate: &super::Gate| {
        let cells = [gate.outcome.name(), &gate.condition, &gate.because].map(escape);
        format!(
            "<tr class=\"{}\"><th scope=\"row\">{}</th><td>{}</td><td>{}</td></tr>\n",
            gate.outcome.name(),
            cells[0],
            cells[1],
            cells[2]
        )
    };
    let rows: String = diff.gates.iter().map(row).collect();
    if rows.is_empty() {
        rows
    } else {
        format!("<h2>Conditions</h2>\n<div class=\"scroll\"><table>\n{rows}</table></div>\n")
    }
}

fn decision(diff: &Diff, first: &FirstDifference) -> String {
    let (number, at) = (first.replication + 1, figure::time(Some(first.at_ns)));
    let place = first.cpu.map(|cpu| format!(", CPU {cpu}")).unwrap_or_default();
    let row = |name: &str, label: &str, it: &Choice| {
        let waits = |it: &Queued| format!("{} ({})", task(&it.task), figure::time(Some(it.waited_ns)));
        let queue: Vec<String> = it.queue.iter().map(waits).collect();
        let running = it.running.as_ref().map_or("idle".into(), task);
        let rule = it.rule.as_ref().map(|rule| format!(", because {}", rule.said)).unwrap_or_default();
        let cells =
            [format!("{name} {label}"), format!("{}{rule}", it.did), running, queue.join(", ")].map(|it| escape(&it));
        format!(
            "<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td>{}</td></tr>\n",
            cells[0], cells[1], cells[2], cells[3]
        )
    };
    format!(
        "<h2>First decision that differs: {} into run {number} (seed {}){place}</h2>\n<div class=\"scroll\"><table>\n\
         <tr><th></th><th>did</th><th>running before</th><th>waiting, since</th></tr>\n{}{}</table></div>\n",
        escape(&at),
        first.seed,
        row("A", &diff.a.label, &first.a),
        row("B", &diff.b.label, &first.b)
    )
}

const HEAD: &str = "<th>A</th><th>B</th><th>B against A, 95 %</th><th></th></tr>\n";

fn metrics(diff: &Diff) -> String {
    let row = |it: &Difference| format!("<tr><th scope=\"row\">{}</th>{}</tr>\n", escape(&it.name), cells(it));
    let (different, others): (Vec<&Difference>, Vec<&Difference>) =
        diff.metrics.iter().partition(|it| it.finding.is_different());
    let table = |rows: &[&Difference]| {
        let rows: String = rows.iter().map(|it| row(it)).collect();
        format!("<div class=\"scroll\"><table>\n<tr><th>metric</th>{HEAD}{rows}</table></div>\n")
    };
    let shown = if different.is_empty() { "<p>No metric differs.</p>\n".into() } else { table(&different) };
    let folded = format!("<details><summary>{} other metrics</summary>\n{}</details>\n", others.len(), table(&others));
    format!("<h2>Metrics that differ</h2>\n{shown}{}", if others.is_empty() { String::new() } else { folded })
}

fn tasks(diff: &Diff) -> String {
    let row = |(of, it): (&super::TaskDifference, &Difference)| {
        format!(
            "<tr><th scope=\"row\">{}</th><td>{}</td>{}</tr>\n",
            escape(&task(&of.task)),
            escape(&it.name),
            cells(it)
        )
    };
    let all = diff.tasks.iter().flat_map(|of| of.metrics.iter().map(move |it| (of, it)));
    let rows: String = all.filter(|(_, it)| it.finding.is_different()).map(row).collect();
    if rows.is_empty() {
        return rows;
    }
    format!(
        "<h2>Tasks</h2>\n<details open><summary>Measures of tasks that differ</summary>\n<div \
         class=\"scroll\"><table>\n<tr><th>task</th><th>measure</th>{HEAD}{rows}</table></div>\n</details>\n"
    )
}

fn cells(it: &Difference) -> String {
    let [a, b] = [it.a, it.b].map(|value| escape(&figure::show(value, &it.unit)));
    let word = judged(it);
    format!(
        "<td class=\"n\">{a}</td><td class=\"n\">{b}</td><td class=\"n\">{}</td><td class=\"{word}\">{word}</td>",
        escape(&change(it))
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::{Kind, Side, Slice, TaskName};

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
        let page = render(&diff);
        assert!(!page.contains("<img"), "{page}");
        assert_eq!(page.matches("<rect").count(), 3, "a slice each, and the legend");
        assert!(page.contains("class=\"mark\"") && !page.contains("<script"));
    }
}
