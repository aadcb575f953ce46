//! A schedule as text: its slices line by line, or a map of the task on each CPU. CPUs that go offline have lines, too.

use crate::offline::Offline;
use crate::table;
use crate::timeline::{Slice, Timeline};
use goodness_core::{CpuId, Off, Span, TaskId};

/// The first `count` slices in order.
fn in_order(timeline: &Timeline, count: usize) -> Vec<&Slice> {
    let mut slices: Vec<&Slice> = timeline.slices.iter().collect();
    slices.sort_by_key(|slice| (slice.start, slice.cpu));
    slices.truncate(count);
    slices
}

/// The times offline that begin before the last of these slices; all of them if these are all slices.
fn offline_beside<'a>(timeline: &'a Timeline, slices: &[&Slice]) -> &'a [Offline] {
    let is_all = slices.len() == timeline.slices.len();
    let last = slices.last().map_or(0, |slice| slice.start);
    let shown = timeline.offline.iter().take_while(|it| is_all || it.from <= last).count();
    &timeline.offline[..shown]
}

/// The first `count` slices, one a line, as `perf sched timehist` has them.
#[must_use]
pub fn history(timeline: &Timeline, count: usize, width: u16) -> String {
    let slices = in_order(timeline, count);
    let mut table = table::new(width);
    table.set_header(["time", "CPU", "task", "waited", "ran", "then"]);
    let mut offline = offline_beside(timeline, &slices).iter().peekable();
    for slice in &slices {
        while let Some(it) = offline.next_if(|it| it.from <= slice.start) {
            table.add_row(offline_row(it, timeline.end));
        }
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
    offline.for_each(|it| {
        table.add_row(offline_row(it, timeline.end));
    });
    table::align_right(&mut table, [0, 1, 3, 4]);
    format!("history, first {} of {} slices\n{table}", slices.len(), timeline.slices.len())
}

/// A time offline as a row of the history.
fn offline_row(it: &Offline, end: u64) -> [String; 6] {
    let then = if it.to < end { "online again" } else { "still offline" };
    let (time, span) = (Span(it.from).to_string(), Span(it.to - it.from).to_string());
    [time, it.cpu.0.to_string(), "(offline)".into(), String::new(), span, then.into()]
}

/// The first `count` switches, one a line, as `perf sched map` has them: one column a CPU; `.` is an idle CPU, `off` is
/// one that is offline, with a line where it goes and one where it is back.
#[must_use]
pub fn map(timeline: &Timeline, count: usize) -> String {
    let slices = in_order(timeline, count);
    let mut letters: Vec<TaskId> = Vec::new();
    let mut columns = vec![String::from("."); timeline.cpus as usize];
    let mut ends: Vec<(u64, CpuId)> = Vec::new();
    let mut lines = vec![format!("map, first {} switches", slices.len())];
    let plugs = plugs(offline_beside(timeline, &slices), timeline.end);
    let mut plugs = plugs.iter().peekable();
    for slice in &slices {
        while let Some(plug) = plugs.next_if(|it| it.at <= slice.start) {
            end_slices(&mut ends, &mut columns, plug.at);
            lines.push(plug_line(plug, &mut columns, &mut ends));
        }
        end_slices(&mut ends, &mut columns, slice.start);
        let new = !letters.contains(&slice.task);
        if new {
            letters.push(slice.task);
        }
        let place = letters.iter().position(|t| *t == slice.task).unwrap_or_default();
        columns[slice.cpu.index()] = letter(place);
        ends.retain(|(_, cpu)| *cpu != slice.cpu);
        ends.push((slice.end, slice.cpu));
        let note =
            if new { format!("{} => {}", letter(place), timeline.task_label(slice.task)) } else { String::new() };
        lines.push(line(&columns, slice.cpu, slice.start, &note));
    }
    // Behind the last shown switch, what the other CPUs do is not told.
    for plug in plugs.filter(|_| slices.len() == timeline.slices.len()) {
        end_slices(&mut ends, &mut columns, plug.at);
        lines.push(plug_line(plug, &mut columns, &mut ends));
    }
    lines.join("\n")
}

/// A line of the map, about one of the CPUs.
fn line(columns: &[String], of: CpuId, at: u64, note: &str) -> String {
    let mark = |cpu| if cpu == of.index() { '*' } else { ' ' };
    let row: Vec<String> = columns.iter().enumerate().map(|(cpu, who)| format!("{}{who:<3}", mark(cpu))).collect();
    format!("{}  {:>12}  {note}", row.concat(), Span(at).to_string())
}

/// Shows CPUs idle whose slices ended before `at`.
fn end_slices(ends: &mut Vec<(u64, CpuId)>, columns: &mut [String], at: u64) {
    for (_, cpu) in ends.extract_if(.., |(end, _)| *end < at) {
        columns[cpu.index()] = ".".into();
    }
}

/// A CPU goes offline or is back.
struct Plug {
    at: u64,
    cpu: CpuId,
    is_back: bool,
}

/// All of them in order; a CPU that is offline when the timeline ends does not come back.
fn plugs(offline: &[Offline], end: u64) -> Vec<Plug> {
    let goes = offline.iter().map(|it| Plug { at: it.from, cpu: it.cpu, is_back: false });
    let back = offline.iter().filter(|it| it.to < end).map(|it| Plug { at: it.to, cpu: it.cpu, is_back: true });
    let mut plugs: Vec<Plug> = goes.chain(back).collect();
    plugs.sort_by_key(|it| (it.at, !it.is_back));
    plugs
}

fn plug_line(plug: &Plug, columns: &mut [String], ends: &mut Vec<(u64, CpuId)>) -> String {
    let (column, note) = if plug.is_back { (".", "online again") } else { ("off", "offline") };
    columns[plug.cpu.index()] = column.into();
    ends.retain(|(_, cpu)| *cpu != plug.cpu);
    line(columns, plug.cpu, plug.at, &format!("CPU {} is {note}", plug.cpu.0))
}

/// `A` … `Z`, then `A1` and so on.
fn letter(place: usize) -> String {
    let letter = char::from(b'A' + (place % 26) as u8);
    if place < 26 { letter.to_string() } else { format!("{letter}{}", place / 26) }
}

/// The first `slices` as a list and the first `switches` as a map; without either, the number of slices and, if they
/// are to be told, of `decisions`.
#[must_use]
pub fn text(
    timeline: &Timeline,
    (slices, switches): (Option<usize>, Option<usize>),
    decisions: Option<u64>,
    width: u16,
) -> String {
    let list = slices.map(|count| format!("\n{}", history(timeline, count, width)));
    let map = switches.map(|count| format!("\n{}", map(timeline, count)));
    match (list, map, decisions) {
        (None, None, Some(decisions)) => {
            format!("{} slices, {decisions} decisions; --timehist lists them, --map draws them", timeline.slices.len())
        }
        (list, map, _) => list.into_iter().chain(map).collect::<Vec<_>>().join("\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timeline() -> Timeline {
        let slice = |task, cpu, start, end| Slice {
            task: TaskId(task),
            cpu: CpuId(cpu),
            start,
            end,
            waited: 0,
            woken: None,
            off: Some(Off::Preempted),
        };
        let slices = vec![slice(0, 0, 0, 100), slice(1, 1, 0, 40), slice(1, 1, 70, 100)];
        Timeline { cpus: 2, slices, end: 100, ..Timeline::default() }
    }

    /// Lines with single spaces.
    fn shown(text: &str) -> Vec<String> {
        text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
    }

    #[test]
    fn a_map_and_a_history_tell_when_a_cpu_is_offline() {
        let offline = timeline().with_offline(vec![Offline { cpu: CpuId(1), from: 40, to: 60 }]);
        let map = shown(&map(&offline, 10));
        assert_eq!(map[3..], ["A *off 40ns CPU 1 is offline", "A *. 60ns CPU 1 is online again", "A *B 70ns"]);
        let history = history(&offline, 10, 80);
        let row = history.lines().find(|line| line.contains("(offline)")).expect("a row");
        assert!(row.contains("20ns") && row.contains("online again"), "{row}");
    }

    #[test]
    fn idle_cpus_are_not_offline_and_those_offline_at_the_end_do_not_come_back() {
        assert!(!map(&timeline(), 10).contains("off") && !history(&timeline(), 10, 80).contains("offline"));
        let mut to_the_end = timeline();
        to_the_end.slices.pop();
        let to_the_end = to_the_end.with_offline(vec![Offline { cpu: CpuId(1), from: 40, to: 900 }]);
        assert!(map(&to_the_end, 10).ends_with("CPU 1 is offline"));
        assert!(history(&to_the_end, 10, 80).contains("still offline"));
    }

    #[test]
    fn what_begins_behind_the_last_shown_line_is_left_out() {
        let offline = timeline().with_offline(vec![Offline { cpu: CpuId(1), from: 40, to: 60 }]);
        assert!(!map(&offline, 2).contains("off"));
        let mut longer = timeline().with_offline(vec![Offline { cpu: CpuId(1), from: 40, to: 80 }]);
        longer.slices[2] = Slice { cpu: CpuId(0), start: 50, ..longer.slices[2] };
        longer.slices.push(Slice { start: 90, ..longer.slices[2] });
        assert!(map(&longer, 3).contains("is offline") && !map(&longer, 3).contains("online again"));
        assert!(map(&longer, 4).contains("online again"));
    }
}
