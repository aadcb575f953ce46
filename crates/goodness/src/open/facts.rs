//! Attributes of recorded tasks that the trace does not state: affinity, class, slice.

use crate::edit::{Edit, is_meant};
use crate::refusal::Refusal;
use goodness_core::spelling::suggest;
use goodness_core::{CpuId, CpuSet, Task};
use goodness_replay::{History, Participant};
use goodness_trace::{Recording, SchedEvent};
use std::collections::BTreeSet;

/// Remedy for a fact that cannot be.
const ASK: &str = "leave it out, or ask what if with an edit of an arm";

/// Names in the note on inferred affinities. A choice.
const LISTED: usize = 5;

/// Puts `facts` into the tasks of `history`; forked tasks inherit an affinity. Returns a note on inferred affinities,
/// if there are any.
///
/// # Errors
/// A fact that is none, that means nobody, that the recording states itself, or that its events contradict.
pub(super) fn apply(recording: &Recording, history: &mut History, facts: &[String]) -> Result<Option<String>, Refusal> {
    let facts = read(facts)?;
    let used = if facts.is_empty() { Vec::new() } else { used_cpus(history) };
    let mut met = vec![false; facts.len()];
    // Affinities that facts give. Parents come before the tasks they forked.
    let mut given: Vec<Option<CpuSet>> = Vec::new();
    for (it, used) in history.participants.iter_mut().zip(&used) {
        let inherited = it.parent.and_then(|parent| given.get(parent.index())?.clone());
        let mut affinity = inherited.filter(|set| leaves(set, used).is_none());
        it.task.affinity = affinity.clone().unwrap_or_else(|| it.task.affinity.clone());
        for (fact, met) in facts.iter().zip(&mut met) {
            if !is_about(fact, it) {
                continue;
            }
            *met = true;
            put(fact, it, used, recording)?;
            affinity = if fact.kind() == "affinity" { Some(it.task.affinity.clone()) } else { affinity };
        }
        given.push(affinity);
    }
    match facts.iter().zip(met).find(|(_, met)| !met) {
        None => Ok(inferred(recording, history, &given)),
        Some((fact, _)) => Err(nobody(fact, recording, history)),
    }
}

/// The facts as typed, several with blanks in between.
fn read(typed: &[String]) -> Result<Vec<Edit>, Refusal> {
    let mut facts: Vec<Edit> = Vec::new();
    for text in typed {
        if text.trim().is_empty() {
            let remedy = "write TASK.affinity=0-1, or leave the option out";
            return Err(Refusal::usage("fact is empty".to_string()).remedy(remedy).option("fact"));
        }
        for fact in text.split_whitespace().map(Edit::fact) {
            let fact = fact?;
            if let Some(former) = facts.iter().find(|it| it.sets_as(&fact)) {
                return Err(wrong(&fact, &format!("{former} is a fact, too")).remedy("leave one out"));
            }
            facts.push(fact);
        }
    }
    Ok(facts)
}

/// Puts `fact` into `participant`, which ran on the CPUs `used`, one after the other.
fn put(fact: &Edit, it: &mut Participant, used: &[CpuId], recording: &Recording) -> Result<(), Refusal> {
    let (name, who) = (&recording.name, format!("{} {}", it.name, it.pid));
    if recording.metadata.attributes_of(it.pid).is_some() {
        return Err(wrong(fact, &format!("{name} itself states the attributes of {who}")).remedy(ASK));
    }
    let priority = |task: &Task| (task.nice, task.class.is_realtime(), task.rt_priority);
    let shown = it.task.clone();
    fact.set(&mut it.task);
    if priority(&it.task) != priority(&shown) {
        let priority = match shown.class.is_realtime() {
            true => format!("real-time priority {}", shown.rt_priority),
            false => format!("nice {}", shown.nice.get()),
        };
        return Err(wrong(fact, &format!("the events of {name} show {who} with {priority}")).remedy(ASK));
    }
    match leaves(&it.task.affinity, used) {
        None => Ok(()),
        Some(cpu) => {
            let what = format!("the events of {name} show {who} on CPU {}", cpu.0);
            Err(wrong(fact, &what).remedy("name every CPU that it could use"))
        }
    }
}

/// The CPU outside `affinity` that the task ran on, if there is one. It may begin elsewhere: `taskset` runs before it
/// pins itself.
fn leaves(affinity: &CpuSet, used: &[CpuId]) -> Option<CpuId> {
    let begin = used.iter().position(|cpu| affinity.contains(*cpu)).unwrap_or(0);
    used[begin..].iter().copied().find(|cpu| !affinity.contains(*cpu))
}

/// The CPUs on which each task ran, one after the other.
fn used_cpus(history: &History) -> Vec<Vec<CpuId>> {
    let mut used = vec![Vec::new(); history.participants.len()];
    for record in history.records {
        if let SchedEvent::Switch { prev, next, .. } = record.event {
            for task in [prev, next].into_iter().flatten() {
                let used = &mut used[task.index()];
                if used.last() != Some(&record.cpu) {
                    used.push(record.cpu);
                }
            }
        }
    }
    used
}

fn is_about(fact: &Edit, participant: &Participant) -> bool {
    fact.whom().is_some_and(|whom| is_meant(whom, &participant.name, participant.pid.into()))
}

/// The refusal of a fact that means nobody.
fn nobody(fact: &Edit, recording: &Recording, history: &History) -> Refusal {
    let names: BTreeSet<&str> = history.participants.iter().map(|it| it.name.as_str()).collect();
    let whom = fact.whom().unwrap_or_default();
    wrong(fact, &format!("no task of {} is called \"{whom}\"", recording.name)).remedy(suggest(whom, names))
}

fn wrong(fact: &Edit, what: &str) -> Refusal {
    Refusal::usage(format!("fact \"{fact}\": {what}")).option("fact")
}

/// Tasks that the replay keeps on some CPUs though neither the trace nor a fact says so, as a sentence.
fn inferred(recording: &Recording, history: &History, given: &[Option<CpuSet>]) -> Option<String> {
    let is_given = |index| given.get(index).is_some_and(Option::is_some);
    let tasks = history.participants.iter().enumerate().filter(|(index, it)| {
        recording.metadata.attributes.is_empty() && it.task.affinity != CpuSet::All && !is_given(*index)
    });
    let names: BTreeSet<&str> = tasks.map(|(_, it)| it.name.as_str()).collect();
    let first = names.first()?;
    let more = if names.len() > LISTED { format!(" and {} more", names.len() - LISTED) } else { String::new() };
    let all = names.iter().take(LISTED).copied().collect::<Vec<_>>().join(", ");
    Some(format!(
        "taken as pinned, because they waited beside idle CPUs: {all}{more}; a fact such as {first}.affinity=0-{} says \
         otherwise",
        history.cpus.saturating_sub(1)
    ))
}
