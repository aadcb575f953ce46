//! Gantt charts of letters.

use super::{Job, Lesson, Piece, Schedule};

/// Most cells of a millisecond.
const CELLS_A_MS: u64 = 3;
const MS: u64 = 1_000_000;
/// ANSI background colours that letters are read on in black: green, yellow, cyan, magenta, blue, red, and bright ones.
const COLOURS: [u8; 10] = [42, 43, 46, 45, 44, 41, 102, 103, 106, 105];

/// The letter of each job: the first or the last one of its name if that tells them apart, else A, B, C.
pub(super) fn letters(jobs: &[Job]) -> Vec<char> {
    let distinct = |of: fn(&Job) -> Option<char>| {
        let letters: Option<Vec<char>> = jobs.iter().map(of).collect();
        letters.filter(|all| {
            all.iter().enumerate().all(|(at, it)| it.is_alphanumeric() && it.is_ascii() && !all[..at].contains(it))
        })
    };
    let first = distinct(|job| job.name.chars().next());
    let last = || distinct(|job| job.name.chars().last());
    let by_place = || (0..jobs.len()).map(|place| char::from(b'A' + (place % 26) as u8)).collect();
    first.or_else(last).unwrap_or_else(by_place)
}

/// The scale of all charts.
#[derive(Clone, Copy)]
pub(super) struct Scale {
    /// Time of a cell in ns.
    cell: u64,
    cells: usize,
}

impl Scale {
    /// The largest scale at which every schedule fits `width` cells.
    pub(super) fn of(lesson: &Lesson, width: usize) -> Scale {
        let end = lesson.policies.iter().map(Schedule::end_ns).max().unwrap_or(0).max(1);
        let width = width.max(10) as u64;
        let whole = (1..=CELLS_A_MS).rev().map(|by| MS / by).find(|cell| end.div_ceil(*cell) <= width);
        let cell = whole.unwrap_or_else(|| end.div_ceil(width));
        Scale { cell, cells: end.div_ceil(cell) as usize }
    }

    fn cell_of(self, at: u64) -> usize {
        ((at + self.cell / 2) / self.cell) as usize
    }
}

/// One line of cells: the job that has most of each.
pub(super) fn bar(schedule: &Schedule, cpu: u32, scale: Scale, letters: &[char], colour: bool) -> String {
    let mut bar = String::new();
    let mut shown = None;
    for cell in 0..scale.cells {
        let job = job_at(schedule, cpu, scale.cell * cell as u64, scale.cell);
        if colour && job != shown {
            bar.push_str(&job.map_or("\u{1b}[0m".into(), |job| format!("\u{1b}[30;{}m", COLOURS[job % COLOURS.len()])));
        }
        shown = job;
        bar.push(job.map_or('.', |job| letters[job]));
    }
    if colour { bar + "\u{1b}[0m" } else { bar.trim_end_matches('.').to_string() }
}

fn job_at(schedule: &Schedule, cpu: u32, from: u64, span: u64) -> Option<usize> {
    let overlap = |it: &Piece| it.end_ns.min(from + span).saturating_sub(it.start_ns.max(from));
    let here = schedule.slices.iter().filter(|it| it.cpu == cpu);
    // Of two with the same part the earlier one.
    let best =
        here.map(|it| (overlap(it), it)).filter(|(part, _)| *part > 0).reduce(|a, b| if b.0 > a.0 { b } else { a });
    best.filter(|(part, _)| part * 2 >= span).map(|(_, it)| it.job)
}

/// The times at which the job of a CPU changes, below the bar, in ms, as far as there is room.
pub(super) fn axis(schedule: &Schedule, scale: Scale) -> String {
    let mut times: Vec<u64> = schedule.slices.iter().flat_map(|it| [it.start_ns, it.end_ns]).collect();
    times.sort_unstable();
    times.dedup();
    let last = times.last().copied();
    let mut line = String::new();
    let room_for_last = last.map_or(0, |at| scale.cell_of(at));
    for at in times {
        let (place, text) = (scale.cell_of(at), ms(at as f64));
        let is_free = place >= line.chars().count() + usize::from(!line.is_empty());
        let leaves_room = Some(at) == last || place + text.chars().count() < room_for_last;
        if is_free && leaves_room {
            line = format!("{line:<place$}{text}");
        }
    }
    line
}

/// A time in ms, with as many decimals as it needs, up to two.
pub(super) fn ms(ns: f64) -> String {
    let text = format!("{:.2}", ns / MS as f64);
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}
