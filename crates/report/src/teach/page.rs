//! A lesson as one self-contained page: the schedules under each other on one time axis, with a stepper.

use super::axis::{MARGIN, WIDTH, x};
use super::gantt::ms;
use super::places::pictures;
use super::text::decisions;
use super::{Job, Lesson, Means, Piece, Schedule, Times};
use crate::colour;
use crate::shell::{self, Cell, Mood, Shell, escape};
use serde_json::{Value, json};
use std::collections::BTreeSet;

const SCRIPT: &str = include_str!("../../web/teach.js");
/// Height of a row in px.
const ROW: f64 = 28.0;

/// The page; `command` makes it again.
#[must_use]
pub fn render(lesson: &Lesson, command: &str) -> String {
    let end = lesson.policies.iter().map(Schedule::end_ns).max().unwrap_or(0).max(1);
    let mut page = Shell::new("teach", &jobs(lesson), command)
        .headline(&headline(lesson), Mood::Sure)
        .script(SCRIPT, &steps(lesson, end).to_string());
    let charts: String = lesson.policies.iter().enumerate().map(|(index, it)| chart(lesson, index, it, end)).collect();
    page.section("Schedules, step by step", &(CONTROLS.to_string() + &charts));
    page.section("Times of each job, in ms", &times(lesson));
    page.finish()
}

const CONTROLS: &str = "<p class=\"controls\"><button id=\"first\">First</button><button id=\"back\">Back</button>\
    <button id=\"on\">Next</button><button id=\"last\">Last</button> <b id=\"time\" aria-live=\"polite\"></b> \
    <span class=\"hint\">Keys: <kbd>←</kbd> <kbd>→</kbd></span></p>\n";

/// Who waits least, in a sentence.
fn headline(lesson: &Lesson) -> String {
    let wait = |it: &&Schedule| it.mean.waiting_ns;
    let by_wait = |a: &&Schedule, b: &&Schedule| wait(a).total_cmp(&wait(b));
    let all = || lesson.policies.iter();
    let (Some(least), Some(most)) = (all().min_by(by_wait), all().max_by(by_wait)) else { return String::new() };
    let said = |it: &Schedule| format!("{} ms", ms(it.mean.waiting_ns));
    let same = all().filter(|it| wait(it) == wait(&least)).map(|it| it.policy.clone()).collect::<Vec<_>>();
    match (lesson.policies.len(), same.len()) {
        (1, _) => format!("Under {} the jobs wait {} on average.", least.policy, said(least)),
        (all, same) if all == same => format!("The jobs wait {} on average under each policy.", said(least)),
        _ => format!(
            "The jobs wait least under {}: {} on average; most under {}: {}.",
            same.join(" and "),
            said(least),
            most.policy,
            said(most)
        ),
    }
}

/// Waiting, response and turnaround of each job under each policy.
fn times(lesson: &Lesson) -> String {
    let table = |caption: &str, of: fn(&Times) -> u64, mean: fn(&Means) -> f64| {
        let heads: Vec<&str> = ["job"].into_iter().chain(lesson.policies.iter().map(|it| it.policy.as_str())).collect();
        let row = |(index, job): (usize, &Job)| {
            let cells = lesson.policies.iter().map(|it| Cell::number(&ms(of(&it.times[index]) as f64)));
            [Cell::text(&job.name)].into_iter().chain(cells).collect()
        };
        let means = lesson.policies.iter().map(|it| Cell::number(&ms(mean(&it.mean))));
        let means: Vec<Cell> = [Cell::text("mean")].into_iter().chain(means).collect();
        let rows: Vec<Vec<Cell>> = lesson.jobs.iter().enumerate().map(row).chain([means]).collect();
        shell::table(caption, &heads, &rows)
    };
    table("Waiting: in the run queue, from arrival to end", |it| it.waiting_ns, |it| it.waiting_ns)
        + &table("Response: from arrival to the first time on a CPU", |it| it.response_ns, |it| it.response_ns)
        + &table("Turnaround: from arrival to end", |it| it.turnaround_ns, |it| it.turnaround_ns)
}

fn jobs(lesson: &Lesson) -> String {
    let one = |job: &Job| format!("{} (at {}, {} ms)", job.name, ms(job.arrival_ns as f64), ms(job.burst_ns as f64));
    lesson.jobs.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// The times of all decisions, and the decisions of each policy.
fn steps(lesson: &Lesson, end: u64) -> Value {
    let all: Vec<Vec<(u64, String)>> = lesson.policies.iter().map(|it| decisions(lesson, it)).collect();
    let times: BTreeSet<u64> = all.iter().flatten().map(|(at, _)| *at).chain([end]).collect();
    let time = |at: u64| json!({ "at": at, "label": ms(at as f64), "x": (x(at, end) * 10.0).round() / 10.0 });
    let decision = |(at, text): &(u64, String)| json!({ "at": at, "text": text });
    json!({
        "times": times.into_iter().map(time).collect::<Vec<_>>(),
        "policies": all.iter().map(|it| it.iter().map(decision).collect()).collect::<Vec<Vec<Value>>>(),
    })
}

fn chart(lesson: &Lesson, index: usize, schedule: &Schedule, end: u64) -> String {
    let height = ROW * f64::from(lesson.cpus) + 22.0;
    let mean = &schedule.mean;
    let [wait, response, turnaround] = [mean.waiting_ns, mean.response_ns, mean.turnaround_ns].map(ms);
    let bars: String = schedule.slices.iter().map(|it| bar(lesson, it, end)).collect();
    let ticks: String = ticks(schedule, end)
        .iter()
        .map(|(x, text)| format!("<text x=\"{x:.1}\" y=\"{}\" class=\"middle\">{text}</text>\n", height - 6.0))
        .collect();
    let svg = format!(
        "<svg viewBox=\"0 0 {} {height}\" role=\"img\" aria-label=\"Schedule under {}\">\n{bars}{ticks}<line \
         id=\"line-{index}\" x1=\"-9\" x2=\"-9\" y1=\"0\" y2=\"{}\" class=\"mark\"/>\n</svg>",
        MARGIN + WIDTH + 20.0,
        escape(&schedule.policy),
        height - 18.0
    );
    format!(
        "<h3>{}</h3>\n<p class=\"about\">Means: waiting {wait} ms, response {response} ms, turnaround {turnaround} \
         ms</p>\n{}<p class=\"said\" id=\"said-{index}\"></p>\n{}",
        escape(&schedule.policy),
        shell::picture(&svg, &format!("schedule under {}", schedule.policy)),
        pictures(lesson, schedule, end)
    )
}

fn bar(lesson: &Lesson, it: &Piece, end: u64) -> String {
    let (left, right, y) = (x(it.start_ns, end), x(it.end_ns, end), ROW * f64::from(it.cpu));
    let name = escape(&lesson.jobs[it.job].name);
    let title = format!("{name}: {} to {} ms", ms(it.start_ns as f64), ms(it.end_ns as f64));
    let fits = right - left > 8.0 * lesson.jobs[it.job].name.chars().count() as f64 + 4.0;
    let text = if fits {
        format!("<text x=\"{:.1}\" y=\"{:.1}\" class=\"middle dark\">{name}</text>", (left + right) / 2.0, y + 17.0)
    } else {
        String::new()
    };
    format!(
        "<g><title>{title}</title><rect x=\"{left:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"{}\" \
         stroke=\"#00000040\"/>{text}</g>\n",
        (right - left).max(0.5),
        ROW - 4.0,
        colour::of(it.job)
    )
}

/// Times of switches with their places, as far as there is room.
fn ticks(schedule: &Schedule, end: u64) -> Vec<(f64, String)> {
    let times: BTreeSet<u64> = schedule.slices.iter().flat_map(|it| [it.start_ns, it.end_ns]).collect();
    let mut ticks: Vec<(f64, String)> = Vec::new();
    for at in times {
        let (place, text) = (x(at, end), ms(at as f64));
        if ticks.last().is_none_or(|(last, _)| place - last > 9.0 * text.len() as f64) {
            ticks.push((place, text));
        }
    }
    ticks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::teach::SCHEMA;

    #[test]
    fn a_page_has_a_chart_for_each_policy_and_names_add_no_element() {
        let name = "<img src=x>";
        let jobs = vec![Job { name: name.into(), burst_ns: 5, ..Job::default() }];
        let piece = Piece { end_ns: 5, then: "ended".into(), ..Piece::default() };
        let policies = ["fifo", "rr"].map(|it| Schedule::of(it.into(), &jobs, vec![piece.clone()]));
        let page = render(&Lesson { schema: SCHEMA, jobs, cpus: 1, policies: policies.to_vec() }, name);
        assert!(!page.contains("<img"), "{page}");
        assert_eq!((page.matches("<figure").count(), page.matches("id=\"said-").count()), (2, 2));
        assert!(page.contains("\\u003cimg"), "the steps name it as text");
    }
}
