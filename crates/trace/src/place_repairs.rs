//! Moves repaired events to their final positions, once all records are known.

use crate::event::{Origin, Record, SchedEvent};
use crate::prev_state::PrevState;
use goodness_core::TaskId;
use std::collections::BTreeMap;

/// A task's next event after a switch that took it off its CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Next {
    /// None.
    #[default]
    Nothing,
    /// It is woken.
    Woken,
    /// It gets a CPU.
    Runs,
}

/// Sorts all records in place. `late` records go before the record whose number they name; early wakings go behind the
/// switch that starts the sleep they end. Unknown leave states are resolved by the task's next event.
pub(crate) fn place_repairs(records: &mut Vec<Record>, mut late: Vec<(u64, Record)>, tasks: usize) {
    late.sort_by_key(|(before, record)| (*before, record.at));
    insert(records, &late);
    resolve_unknown(records, tasks);
    move_early_wakings(records, tasks);
}

/// Inserts each of `late` before the record whose number it names, from last to first.
fn insert(records: &mut Vec<Record>, late: &[(u64, Record)]) {
    let Some((_, filler)) = late.first() else { return };
    let mut unmoved = records.len();
    records.reserve_exact(late.len());
    records.resize(unmoved + late.len(), *filler);
    for (after, (before, record)) in late.iter().enumerate().rev() {
        let before = unmoved.min(*before as usize);
        records.copy_within(before..unmoved, before + after + 1);
        records[before + after] = *record;
        unmoved = before;
    }
}

/// Resolves unknown leave states: a task that runs next without a waking was preempted; one that is woken next was
/// asleep.
fn resolve_unknown(records: &mut [Record], tasks: usize) {
    let mut next = vec![Next::default(); tasks];
    for record in records.iter_mut().rev() {
        match &mut record.event {
            SchedEvent::Switch { prev, next: to, prev_state, .. } => {
                if let Some(task) = to {
                    next[task.index()] = Next::Runs;
                }
                if let Some(task) = prev
                    && *prev_state == PrevState::UNKNOWN
                {
                    *prev_state = match next[task.index()] {
                        Next::Runs => PrevState::RUNNABLE,
                        Next::Woken => PrevState::SLEEPING,
                        Next::Nothing => PrevState::UNKNOWN,
                    };
                }
            }
            SchedEvent::Waking(wake) | SchedEvent::Wakeup(wake) | SchedEvent::WakeupNew(wake) => {
                next[wake.task.index()] = Next::Woken;
            }
            _ => {}
        }
    }
}

/// Progress of a task towards an early waking.
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
        match record.event {
            SchedEvent::Switch { prev, next, prev_state, .. } => {
                if let Some(task) = next {
                    arrives(task, &mut ways, &mut moves);
                }
                if let Some(task) = prev {
                    let way = &mut ways[task.index()];
                    let asleep = !prev_state.is_runnable() && !prev_state.is_dead();
                    *way = match *way {
                        Way::Woken(waking) if asleep && is_early(&records[waking], record) => {
                            Way::Asleep(waking, number)
                        }
                        _ => Way::Off,
                    };
                }
            }
            SchedEvent::Waking(wake) => {
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

/// Moves each record `.1` behind record `.0` and gives it that time. Records are read before they are overwritten,
/// because later entries of the list have already left their positions.
fn apply(records: &mut Vec<Record>, mut moves: Vec<(usize, usize)>) {
    moves.sort_unstable();
    let mut wakings: BTreeMap<usize, Option<Record>> = moves.iter().map(|(_, from)| (*from, None)).collect();
    let Some((&first, _)) = wakings.first_key_value() else { return };
    let mut moves = moves.into_iter().peekable();
    let mut place = first;
    for number in first..records.len() {
        let record = records[number];
        match wakings.get_mut(&number) {
            Some(waking) => *waking = Some(record),
            None => {
                records[place] = record;
                place += 1;
            }
        }
        while let Some((_, from)) = moves.next_if(|(behind, _)| *behind == number) {
            if let Some(waking) = wakings.remove(&from).flatten() {
                records[place] = Record { at: record.at, origin: Origin::Repaired, ..waking };
                place += 1;
            }
        }
    }
    records.truncate(place);
}
