//! A schedule as text: its slices line by line, or a map of the task on each CPU.

use crate::table;
use crate::timeline::{Slice, Timeline};
use goodness_core::{CpuId, Off, Span, TaskId};

fn in_order(timeline: &Timeline) -> Vec<&Slice> {
    let mut slices: Vec<&Slice> = timeline.slices.iter().collect();
    slices.sort_by_key(|slice| (slice.start, slice.cpu));
    slices
}

/// The first `count` slices, one a line, as `perf sched timehist` has them.
#[must_use]
pub fn history(timeline: &Timeline, count: usize, width: u16) -> String {
    let slices = in_order(timeline);
    let mut table = table::new(width);
    table.set_header(["time", "CPU", "task", "waited", "ran", "then"]);
    for slice in slices.iter().take(count) {
        let then = slice.off.map_or("still running", Off::name);
        table.add_row([
            Span(slice.start).to_string(),
            slice.cpu.0.to_string(),
            timeline.task_label(slice.task),
            Span(slice.waited).to_string(),
            Span(slice.end - slice.start).to_string(),
            then.to_string(),
        ]);
    }
    table::align_right(&mut table, [0, 1, 3, 4]);
    format!("history, first {} of {} slices\n{table}", count.min(slices.len()), slices.len())
}

/// The first `count` switches, one a line, as `perf sched map` has them: one column a CPU; `.` is an idle CPU.
#[must_use]
pub fn map(timeline: &Timeline, count: usize) -> String {
    let slices = in_order(timeline);
    let mut letters: Vec<TaskId> = Vec::new();
    let mut columns = vec![String::from("."); timeline.cpus as usize];
    let mut ends: Vec<(u64, CpuId)> = Vec::new();
    let mut lines = vec![format!("map, first {} switches", count.min(slices.len()))];
    for slice in slices.iter().take(count) {
        for (_, cpu) in ends.extract_if(.., |(end, _)| *end < slice.start) {
            columns[cpu.index()] = ".".into();
        }
        let new = !letters.contains(&slice.task);
        if new {
            letters.push(slice.task);
        }
        let place = letters.iter().position(|t| *t == slice.task).unwrap_or_default();
        columns[slice.cpu.index()] = letter(place);
        ends.retain(|(_, cpu)| *cpu != slice.cpu);
        ends.push((slice.end, slice.cpu));
        let row: Vec<String> = columns
            .iter()
            .enumerate()
            .map(|(cpu, who)| format!("{}{who:<3}", if cpu == slice.cpu.index() { '*' } else { ' ' }))
            .collect();
        let note =
            if new { format!("{} => {}", letter(place), timeline.task_label(slice.task)) } else { String::new() };
        lines.push(format!("{}  {:>12}  {note}", row.concat(), Span(slice.start).to_string()));
    }
    lines.join("\n")
}

/// `A` … `Z`, then `A1` and so on.
fn letter(place: usize) -> String {
    let letter = char::from(b'A' + (place % 26) as u8);
    if place < 26 { letter.to_string() } else { format!("{letter}{}", place / 26) }
}

/// The first `slices` as a list and the first `switches` as a map; without either, the number of slices and decisions.
#[must_use]
pub fn text(timeline: &Timeline, slices: Option<usize>, switches: Option<usize>, decisions: u64, width: u16) -> String {
    let list = slices.map(|count| format!("\n{}", history(timeline, count, width)));
    let map = switches.map(|count| format!("\n{}", map(timeline, count)));
    match (list, map) {
        (Some(list), Some(map)) => format!("{list}\n{map}"),
        (Some(one), None) | (None, Some(one)) => one,
        (None, None) => {
            format!("{} slices, {decisions} decisions; --timehist lists them, --map draws them", timeline.slices.len())
        }
    }
}
