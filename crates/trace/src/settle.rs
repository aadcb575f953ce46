//! Puts what was concluded late where it belongs, now that all records are known.

use crate::left::Left;
use crate::record::{Origin, Record, What};
use goodness_core::TaskId;

/// What happens next to a task, seen from a switch that put it off its CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Next {
    /// Nothing any more.
    #[default]
    Nothing,
    /// It is woken.
    Woken,
    /// It gets a CPU.
    Runs,
}

/// All records in their order: `late` ones before the record whose number they name, early wakings behind the
/// switch that begins the sleep they end, and unknown ways out resolved by what the task does next.
pub(crate) fn settle(records: Vec<Record>, mut late: Vec<(u64, Record)>, tasks: usize) -> Vec<Record> {
    late.sort_by_key(|(before, record)| (*before, record.at));
    let mut records = merge(records, late);
    resolve_unknown(&mut records, tasks);
    move_early_wakings(&mut records, tasks);
    records
}

fn merge(records: Vec<Record>, late: Vec<(u64, Record)>) -> Vec<Record> {
    if late.is_empty() {
        return records;
    }
    let mut merged = Vec::with_capacity(records.len() + late.len());
    let mut late = late.into_iter().peekable();
    for (number, record) in records.into_iter().enumerate() {
        while let Some((_, early)) = late.next_if(|(before, _)| *before <= number as u64) {
            merged.push(early);
        }
        merged.push(record);
    }
    merged.extend(late.map(|(_, record)| record));
    merged
}

/// Who runs next without a waking was preempted; who is woken next was asleep.
fn resolve_unknown(records: &mut [Record], tasks: usize) {
    let mut next = vec![Next::default(); tasks];
    for record in records.iter_mut().rev() {
        match &mut record.what {
            What::Switch { prev, next: to, left, .. } => {
                if let Some(task) = to {
                    next[task.index()] = Next::Runs;
                }
                if let Some(task) = prev
                    && *left == Left::UNKNOWN
                {
                    *left = match next[task.index()] {
                        Next::Runs => Left::RUNNABLE,
                        Next::Woken => Left::SLEEPING,
                        Next::Nothing => Left::UNKNOWN,
                    };
                }
            }
            What::Waking(wake) | What::Wakeup(wake) | What::WakeupNew(wake) => {
                next[wake.task.index()] = Next::Woken;
            }
            _ => {}
        }
    }
}

/// How far a task is on the way to an early waking.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Way {
    #[default]
    Off,
    /// It runs.
    On,
    /// It runs, and record `.0` wakes it.
    Woken(usize),
    /// It sleeps since record `.1`; record `.0` woke it before.
    Asleep(usize, usize),
}

fn move_early_wakings(records: &mut Vec<Record>, tasks: usize) {
    let mut ways = vec![Way::default(); tasks];
    let mut moves: Vec<(usize, usize)> = Vec::new();
    for (number, record) in records.iter().enumerate() {
        match record.what {
            What::Switch { prev, next, left, .. } => {
                if let Some(task) = next {
                    arrives(task, &mut ways, &mut moves);
                }
                if let Some(task) = prev {
                    let way = &mut ways[task.index()];
                    let asleep = !left.is_runnable() && !left.is_dead();
                    *way = match *way {
                        Way::Woken(waking) if asleep && is_early(&records[waking], record) => {
                            Way::Asleep(waking, number)
                        }
                        _ => Way::Off,
                    };
                }
            }
            What::Waking(wake) => {
                let way = &mut ways[wake.task.index()];
                *way = match *way {
                    Way::On | Way::Woken(_) => Way::Woken(number),
                    _ => Way::Off,
                };
            }
            _ => {}
        }
    }
    apply(records, moves);
}

fn arrives(task: TaskId, ways: &mut [Way], moves: &mut Vec<(usize, usize)>) {
    let way = &mut ways[task.index()];
    if let Way::Asleep(waking, switch) = *way {
        moves.push((switch, waking));
    }
    *way = Way::On;
}

fn is_early(waking: &Record, switch: &Record) -> bool {
    switch.at.since(waking.at).ns() <= crate::repair::EARLY_NS
}

/// Moves each record `.1` behind record `.0`, whose time it takes.
fn apply(records: &mut Vec<Record>, mut moves: Vec<(usize, usize)>) {
    if moves.is_empty() {
        return;
    }
    moves.sort_unstable();
    let mut gone: Vec<usize> = moves.iter().map(|(_, from)| *from).collect();
    gone.sort_unstable();
    let (mut moves, mut gone) = (moves.into_iter().peekable(), gone.into_iter().peekable());
    let mut moved = Vec::with_capacity(records.len());
    for (number, record) in records.iter().enumerate() {
        if gone.next_if_eq(&number).is_none() {
            moved.push(*record);
        }
        while let Some((_, from)) = moves.next_if(|(behind, _)| *behind == number) {
            moved.push(Record { at: record.at, origin: Origin::Repaired, ..records[from] });
        }
    }
    *records = moved;
}
