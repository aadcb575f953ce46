//! Lag and virtual deadlines of the jobs over time, of a policy that has them: as a table and as pictures.

use super::axis::{MARGIN, WIDTH, x};
use super::gantt::ms;
use super::{Job, Lesson, Place, Schedule};
use crate::colour;
use crate::figure::printable;
use crate::legend::legend;
use crate::shell::{Cell, escape, fold, picture as picture_of, table as table_of};
use std::fmt::Write;

/// Columns of the time and the virtual time, and of each job.
const TIMES: usize = 16;
const JOB: usize = 14;
/// Height of a picture in px.
const HEIGHT: f64 = 110.0;

/// Lag and deadline of each job at each pick, in ms; several tables beside each other would not fit `width` columns.
pub(super) fn table(lesson: &Lesson, schedule: &Schedule, width: usize) -> Vec<String> {
    if schedule.places.is_empty() {
        return Vec::new();
    }
    let jobs: Vec<usize> = (0..lesson.jobs.len()).collect();
    let fit = (width.saturating_sub(TIMES + 4) / JOB).max(1);
    let mut lines = vec!["    V = virtual time; of each job its lag, and its virtual deadline, in ms".into()];
    lines.extend(jobs.chunks(fit).flat_map(|jobs| rows(lesson, schedule, jobs)));
    lines
}

fn rows(lesson: &Lesson, schedule: &Schedule, jobs: &[usize]) -> Vec<String> {
    let name = |job: &usize| {
        let name: String = printable(&lesson.jobs[*job].name).chars().take(JOB - 6).collect();
        format!("{:>7}{:>7}", name, "due")
    };
    let head: String = jobs.iter().map(name).collect();
    let mut lines = vec![format!("    {:>8}{:>8}{head}", "at", "V")];
    for at in schedule.places.chunk_by(|a, b| a.at_ns == b.at_ns) {
        let cells: String = jobs.iter().flat_map(|job| of_job(at, *job)).map(|it| format!("{it:>7}")).collect();
        let [time, virtual_time] = [at[0].at_ns as f64, at[0].virtual_time_ns as f64].map(ms);
        lines.push(format!("    {time:>8}{virtual_time:>8}{cells}").trim_end().into());
    }
    lines
}

/// Lag and deadline of a job at one time, in ms; empty where it is not there.
fn of_job(at: &[Place], job: usize) -> [String; 2] {
    at.iter()
        .rfind(|it| it.job == job)
        .map_or_else(Default::default, |it| [it.lag_ns, it.deadline_ns].map(|ns| ms(ns as f64)))
}

/// The pictures of a schedule on the time axis that ends at `end`; empty without places.
pub(super) fn pictures(lesson: &Lesson, schedule: &Schedule, end: u64) -> String {
    if schedule.places.is_empty() {
        return String::new();
    }
    let lags = picture(lesson, schedule, end, &Curve { name: "Lag", of: |it| it.lag_ns, is_stepped: false });
    let deadlines =
        picture(lesson, schedule, end, &Curve { name: "Virtual deadline", of: |it| it.deadline_ns, is_stepped: true });
    format!(
        "<p class=\"about\">Lag: CPU time that a job is owed. A job below the line of 0 had more than its share and is \
         not eligible.</p>\n{lags}<p class=\"about\">Virtual deadlines, and the virtual time (dashed). Of the eligible \
         jobs the one with the earliest deadline runs.</p>\n{deadlines}{}",
        fold("The same as a table", &in_numbers(lesson, schedule), false)
    )
}

/// What the pictures show, a row for each pick.
fn in_numbers(lesson: &Lesson, schedule: &Schedule) -> String {
    let names = |job: &Job| ["lag of", "deadline of"].map(|what| format!("{what} {}", job.name));
    let heads: Vec<String> =
        ["time".into(), "virtual time".into()].into_iter().chain(lesson.jobs.iter().flat_map(names)).collect();
    let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
    let row = |at: &[Place]| {
        let times = [at[0].at_ns as f64, at[0].virtual_time_ns as f64].map(ms);
        let cells = times.into_iter().chain((0..lesson.jobs.len()).flat_map(|job| of_job(at, job)));
        cells.map(|it| Cell::number(&it)).collect()
    };
    let rows: Vec<Vec<Cell>> = schedule.places.chunk_by(|a, b| a.at_ns == b.at_ns).map(row).collect();
    table_of(&format!("Places under {} at each pick, in ms", schedule.policy), &heads, &rows)
}

/// What a picture shows of each place.
struct Curve {
    name: &'static str,
    of: fn(&Place) -> i64,
    /// True if the value holds until the next one.
    is_stepped: bool,
}

fn picture(lesson: &Lesson, schedule: &Schedule, end: u64, curve: &Curve) -> String {
    let values = || schedule.places.iter().map(curve.of);
    let virtual_time = curve.is_stepped.then(|| schedule.places.iter().map(|it| it.virtual_time_ns));
    let low = values().chain(virtual_time.clone().into_iter().flatten()).chain([0]).min().unwrap_or(0);
    let high = values().chain([0]).max().unwrap_or(0).max(low + 1);
    let y = |value: i64| 8.0 + (HEIGHT - 16.0) * (high - value) as f64 / (high - low) as f64;
    let mut lines = String::new();
    for job in 0..lesson.jobs.len() {
        let own: Vec<&Place> = schedule.places.iter().filter(|it| it.job == job).collect();
        let path = path(&own, end, y, curve);
        let name = escape(&lesson.jobs[job].name);
        let _ = writeln!(
            lines,
            "<g><title>{} of {name}</title><path d=\"{path}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2.5\"/></g>",
            curve.name,
            colour::of(job)
        );
    }
    let axis = match virtual_time {
        None => format!("M{:.1} {:.1}H{:.1}", x(0, end), y(0), x(end, end)),
        Some(_) => schedule.places.iter().enumerate().fold(String::new(), |path, (index, it)| {
            format!("{path}{}{:.1} {:.1}", if index == 0 { "M" } else { "L" }, x(it.at_ns, end), y(it.virtual_time_ns))
        }),
    };
    let dashes = if curve.is_stepped { " stroke-dasharray=\"4 3\"" } else { "" };
    let label = |value: i64, dy: f64| {
        format!("<text x=\"0\" y=\"{:.1}\" class=\"hint\">{} ms</text>", y(value) + dy, ms(value as f64))
    };
    let (names, height) = names(lesson, curve);
    let svg = format!(
        "<svg viewBox=\"0 0 {:.0} {height:.0}\" role=\"img\" aria-label=\"{} under {}\">\n<path d=\"{axis}\" \
         fill=\"none\" stroke=\"currentColor\"{dashes}/>\n{lines}{}{}\n{names}</svg>",
        x(end, end) + 20.0,
        curve.name,
        escape(&schedule.policy),
        label(high, 8.0),
        label(low, 0.0)
    );
    picture_of(&svg, &format!("{} under {}", curve.name, schedule.policy))
}

/// The jobs with their colours below a picture, and the height with them.
fn names(lesson: &Lesson, curve: &Curve) -> (String, f64) {
    let virtual_time = curve.is_stepped.then(|| "virtual time".to_string());
    let names: Vec<String> = lesson.jobs.iter().map(|job| printable(&job.name)).chain(virtual_time).collect();
    let swatch = |index: usize, left: f64, top: f64| {
        let (right, middle) = (left + 16.0, top + 6.5);
        let (colour, look) = match index < lesson.jobs.len() {
            true => (colour::of(index), "stroke-width=\"2.5\""),
            false => ("currentColor".into(), "stroke-dasharray=\"4 3\""),
        };
        format!("<path d=\"M{left:.1} {middle:.1}H{right:.1}\" fill=\"none\" stroke=\"{colour}\" {look}/>")
    };
    legend(&names, swatch, (MARGIN + WIDTH, HEIGHT + 4.0))
}

/// The line of one job. It ends where the job left the queue.
fn path(own: &[&Place], end: u64, y: impl Fn(i64) -> f64, curve: &Curve) -> String {
    let mut path = String::new();
    for (index, it) in own.iter().enumerate() {
        let (across, down) = (x(it.at_ns, end), y((curve.of)(it)));
        let _ = match (index, curve.is_stepped) {
            (0, _) => write!(path, "M{across:.1} {down:.1}"),
            (_, true) => write!(path, "H{across:.1}V{down:.1}"),
            (_, false) => write!(path, "L{across:.1} {down:.1}"),
        };
    }
    path
}

#[test]
fn each_job_is_named_in_both_pictures_and_in_the_table() {
    let jobs = ["A", "<i>"].map(|name| Job { name: name.into(), burst_ns: 5, ..Job::default() }).to_vec();
    let places = (0..2).map(|job| Place { job, deadline_ns: 4_000_000, ..Place::default() }).collect();
    let schedule = Schedule { places, ..Schedule::of("eevdf".into(), &jobs, Vec::new()) };
    let lesson = Lesson { schema: super::SCHEMA, jobs, cpus: 1, policies: Vec::new() };
    let html = pictures(&lesson, &schedule, 5);
    assert_eq!((html.matches(">A</text>").count(), html.matches(">&lt;i&gt;</text>").count()), (2, 2), "{html}");
    assert_eq!((html.matches(">virtual time</text>").count(), html.matches("<i>").count()), (1, 0), "{html}");
    let table = html.split("<details>").nth(1).expect("a table, folded");
    assert!(table.contains("deadline of A") && table.contains("lag of &lt;i&gt;"), "{table}");
}
