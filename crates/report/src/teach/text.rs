//! A lesson for the terminal: a Gantt chart of each policy, then the times of each job.

use super::gantt::{Scale, axis, bar, letters, ms};
use super::places;
use super::{Lesson, Piece, Schedule, Times};
use crate::figure::printable;
use crate::table::wrapped;

/// Columns before a bar.
const MARGIN: usize = 2;
/// Columns of the job's name, and of each time.
const NAME: usize = 6;
const TIME: usize = 6;

/// The lesson as text with a final newline, for `width` columns, with ANSI colours if `colour`; with every decision in
/// words if `verbose`.
#[must_use]
pub fn render(lesson: &Lesson, width: u16, colour: bool, verbose: bool) -> String {
    let width = usize::from(width);
    let scale = Scale::of(lesson, width - MARGIN - 8);
    let letters = letters(&lesson.jobs);
    let mut lines = vec![legend(lesson, &letters, width)];
    for schedule in &lesson.policies {
        let wait = ms(schedule.mean.waiting_ns);
        lines.push(format!("{}: mean waiting time {wait} ms", printable(&schedule.policy)));
        for cpu in 0..lesson.cpus {
            lines.push(format!("{:MARGIN$}{}", "", bar(schedule, cpu, scale, &letters, colour)));
        }
        lines.push(format!("{:MARGIN$}{}", "", axis(schedule, scale)));
        if verbose {
            lines.extend(
                decisions(lesson, schedule).into_iter().map(|(_, it)| wrapped("    ", &it, width as u16, "      ")),
            );
            lines.extend(places::table(lesson, schedule, width));
        }
    }
    lines.push(String::new());
    lines.extend(tables(lesson, width));
    lines.join("\n") + "\n"
}

/// The jobs, if their names are not their letters.
fn legend(lesson: &Lesson, letters: &[char], width: usize) -> String {
    let has_priorities = lesson.jobs.iter().any(|job| job.priority != 0);
    let one = |(job, letter): (&super::Job, &char)| {
        let name = printable(&job.name);
        let name = if name == letter.to_string() { name } else { format!("{letter} = {name}") };
        let priority = if has_priorities { format!(", priority {}", job.priority) } else { String::new() };
        format!("{name} (at {}, {} ms{priority})", ms(job.arrival_ns as f64), ms(job.burst_ns as f64))
    };
    let all: Vec<String> = lesson.jobs.iter().zip(letters).map(one).collect();
    wrapped("", &format!("Jobs: {}", all.join("; ")), width as u16, "  ")
}

/// Tables of as many policies as fit beside each other.
fn tables(lesson: &Lesson, width: usize) -> Vec<String> {
    let fit = ((width - NAME) / (3 * TIME)).max(1);
    lesson.policies.chunks(fit).flat_map(|policies| table(lesson, policies)).collect()
}

fn table(lesson: &Lesson, policies: &[Schedule]) -> Vec<String> {
    let cut = |text: &str, room: usize| text.chars().take(room).collect::<String>();
    let names: String = policies.iter().map(|it| format!("{:>18}", cut(&it.policy, 17))).collect();
    let heads = format!("{:>TIME$}{:>TIME$}{:>TIME$}", "wait", "resp", "turn").repeat(policies.len());
    let row = |name: &str, of: &dyn Fn(&Schedule) -> [f64; 3]| {
        let cells: String = policies.iter().map(|it| of(it).map(|ns| format!("{:>TIME$}", ms(ns))).concat()).collect();
        format!("{:<NAME$}{cells}", cut(name, NAME))
    };
    let mut lines = vec![format!("{:<NAME$}{names}", ""), format!("{:<NAME$}{heads}", "ms")];
    for (index, job) in lesson.jobs.iter().enumerate() {
        lines.push(row(&printable(&job.name), &|it| {
            let Times { waiting_ns, response_ns, turnaround_ns } = it.times[index];
            [waiting_ns, response_ns, turnaround_ns].map(|ns| ns as f64)
        }));
    }
    lines.push(row("mean", &|it| [it.mean.waiting_ns, it.mean.response_ns, it.mean.turnaround_ns]));
    lines
}

/// Each decision in words, with its time: who got the CPU, and who waited.
pub(super) fn decisions(lesson: &Lesson, schedule: &Schedule) -> Vec<(u64, String)> {
    let mut slices: Vec<&Piece> = schedule.slices.iter().collect();
    slices.sort_by_key(|it| (it.start_ns, it.cpu));
    slices.iter().map(|slice| (slice.start_ns, decision(lesson, schedule, slice))).collect()
}

fn decision(lesson: &Lesson, schedule: &Schedule, slice: &Piece) -> String {
    let (at, name) = (slice.start_ns, |job: usize| printable(&lesson.jobs[job].name));
    let before = schedule.slices.iter().find(|it| it.cpu == slice.cpu && it.end_ns == at);
    let why = before.map_or("the CPU was idle".into(), |it| match it.then.as_str() {
        "ended" => format!("{} ended", name(it.job)),
        "slice_over" => {
            format!("the slice of {} was over, with {} ms left", name(it.job), ms(left(lesson, schedule, it.job, at)))
        }
        "yielded" => format!("{} yielded", name(it.job)),
        _ => format!("{} was stopped with {} ms left", name(it.job), ms(left(lesson, schedule, it.job, at))),
    });
    let waits = |job: &usize| {
        let is_here = lesson.jobs[*job].arrival_ns <= at && left(lesson, schedule, *job, at) > 0.0;
        let runs = schedule.slices.iter().any(|it| it.job == *job && it.start_ns <= at && at < it.end_ns);
        is_here && !runs
    };
    let said = |job: usize| {
        format!(
            "{} ({} ms left, waited {})",
            name(job),
            ms(left(lesson, schedule, job, at)),
            ms(waited(lesson, schedule, job, at))
        )
    };
    let waiting: Vec<String> = (0..lesson.jobs.len()).filter(waits).map(said).collect();
    let waiting =
        if waiting.is_empty() { "nobody else waits".into() } else { format!("waiting: {}", waiting.join(", ")) };
    let place = if lesson.cpus > 1 { format!(" on CPU {}", slice.cpu) } else { String::new() };
    let own = format!(
        "{} ms left, waited {}",
        ms(left(lesson, schedule, slice.job, at)),
        ms(waited(lesson, schedule, slice.job, at))
    );
    let rule = because(slice, |job| left(lesson, schedule, job, at) > 0.0);
    format!("{} ms: {why}; {} runs{place} ({own}){rule}; {waiting}", ms(at as f64), name(slice.job))
}

/// The rules by which a job is ahead of those that wait. Who `needs` no time has yet to leave, and waits for nothing.
fn because(slice: &Piece, needs: impl Fn(usize) -> bool) -> String {
    let waiting = slice.ahead_of.iter().filter(|it| needs(it.job));
    let mut said: Vec<String> = waiting.map(|it| printable(&it.rule.said)).collect();
    said.dedup();
    if said.is_empty() { String::new() } else { format!(", because {}", said.join(" and ")) }
}

/// CPU time that `job` still needs at `at`, in ns.
fn left(lesson: &Lesson, schedule: &Schedule, job: usize, at: u64) -> f64 {
    lesson.jobs[job].burst_ns.saturating_sub(ran(schedule, job, at)) as f64
}

/// Time that `job` had waited by `at`, in ns.
fn waited(lesson: &Lesson, schedule: &Schedule, job: usize, at: u64) -> f64 {
    at.saturating_sub(lesson.jobs[job].arrival_ns).saturating_sub(ran(schedule, job, at)) as f64
}

fn ran(schedule: &Schedule, job: usize, at: u64) -> u64 {
    let own = schedule.slices.iter().filter(|it| it.job == job);
    own.map(|it| it.end_ns.min(at).saturating_sub(it.start_ns)).sum()
}
