//! A lesson as one self-contained page: the schedules under each other on one time axis, with a stepper.

use super::axis::{MARGIN, WIDTH, x};
use super::gantt::ms;
use super::places::pictures;
use super::text::decisions;
use super::{Lesson, Piece, Schedule};
use crate::colour;
use crate::html::{plain_head, without_markup};
use crate::shell::escape;
use serde_json::{Value, json};
use std::collections::BTreeSet;

const SCRIPT: &str = include_str!("../../web/teach.js");
/// Height of a row in px.
const ROW: f64 = 28.0;

/// The page.
#[must_use]
pub fn render(lesson: &Lesson) -> String {
    let end = lesson.policies.iter().map(Schedule::end_ns).max().unwrap_or(0).max(1);
    let charts: String = lesson.policies.iter().enumerate().map(|(index, it)| chart(lesson, index, it, end)).collect();
    let steps = without_markup(&steps(lesson, end).to_string());
    format!(
        "{}<main>\n<h1>{}</h1>\n<p class=\"controls\"><button id=\"first\">First</button><button \
         id=\"back\">Back</button><button id=\"on\">Next</button><button id=\"last\">Last</button> <b id=\"time\" \
         aria-live=\"polite\"></b> <span class=\"dim\">Keys: ← →</span></p>\n{charts}</main>\n<footer \
         class=\"dim\">Made by goodness. This file is complete: it loads nothing.</footer>\n<script \
         type=\"application/json\" id=\"steps\">{steps}</script>\n<script type=\"module\">{SCRIPT}</script>\n\
         </body>\n</html>\n",
        plain_head("Schedules", Some(SCRIPT)),
        escape(&jobs(lesson))
    )
}

fn jobs(lesson: &Lesson) -> String {
    let one =
        |job: &super::Job| format!("{} (at {}, {} ms)", job.name, ms(job.arrival_ns as f64), ms(job.burst_ns as f64));
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
        .map(|(x, text)| {
            format!("<text x=\"{x:.1}\" y=\"{}\" class=\"dim\" text-anchor=\"middle\">{text}</text>\n", height - 6.0)
        })
        .collect();
    format!(
        "<h2>{}</h2>\n<p class=\"dim\">Means: waiting {wait} ms, response {response} ms, turnaround {turnaround} \
         ms</p>\n\
         <figure><svg viewBox=\"0 0 {} {height}\" role=\"img\" aria-label=\"Schedule under {0}\">\n{bars}{ticks}<line \
         id=\"line-{index}\" y1=\"0\" y2=\"{}\" class=\"mark\"/>\n</svg></figure>\n<p class=\"said\" \
         id=\"said-{index}\"></p>\n{}",
        escape(&schedule.policy),
        MARGIN + WIDTH + 20.0,
        height - 18.0,
        pictures(lesson, schedule, end)
    )
}

fn bar(lesson: &Lesson, it: &Piece, end: u64) -> String {
    let (left, right, y) = (x(it.start_ns, end), x(it.end_ns, end), ROW * f64::from(it.cpu));
    let name = escape(&lesson.jobs[it.job].name);
    let title = format!("{name}: {} to {} ms", ms(it.start_ns as f64), ms(it.end_ns as f64));
    let fits = right - left > 8.0 * lesson.jobs[it.job].name.chars().count() as f64 + 4.0;
    let text = if fits {
        format!(
            "<text x=\"{:.1}\" y=\"{:.1}\" class=\"in\" text-anchor=\"middle\">{name}</text>",
            (left + right) / 2.0,
            y + 17.0
        )
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
    use crate::teach::{Job, SCHEMA};

    #[test]
    fn a_page_has_a_chart_for_each_policy_and_names_add_no_element() {
        let name = "<img src=x>";
        let jobs = vec![Job { name: name.into(), burst_ns: 5, ..Job::default() }];
        let piece = Piece { end_ns: 5, then: "ended".into(), ..Piece::default() };
        let policies = ["fifo", "rr"].map(|it| Schedule::of(it.into(), &jobs, vec![piece.clone()]));
        let page = render(&Lesson { schema: SCHEMA, jobs, cpus: 1, policies: policies.to_vec() });
        assert!(!page.contains("<img"), "{page}");
        assert_eq!((page.matches("<figure>").count(), page.matches("id=\"said-").count()), (2, 2));
        assert!(page.contains("\\u003cimg"), "the steps name it as text");
    }
}
