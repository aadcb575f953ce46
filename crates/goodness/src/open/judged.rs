//! Whom the answer is about: the tasks of a recording or of an experiment that the caller names.

use crate::edit::{self, matches};
use crate::refusal::Refusal;
use goodness_core::spelling::suggest;
use goodness_replay::Participant;
use goodness_trace::{Attributes, Recording};
use std::collections::BTreeSet;

/// Longest name of a task in Linux, in bytes. Longer ones are cut.
const NAME_MAX: usize = 15;

/// A task of a recording, with everything that can mean it.
pub(super) struct Known<'a> {
    recording: &'a Recording,
    /// Its name.
    name: &'a str,
    /// Its thread id.
    pid: u32,
    /// Its attributes in the header.
    stated: Option<&'a Attributes>,
    /// Its process.
    tgid: Option<u32>,
}

/// Judges the tasks of `recording` that `patterns` mean, and no others; without patterns, those that it selects.
///
/// # Errors
/// A pattern that means no task; the nearest name is named.
pub(super) fn select(
    recording: &Recording,
    participants: &mut [Participant],
    patterns: &[String],
) -> Result<(), Refusal> {
    if patterns.is_empty() {
        return Ok(());
    }
    let mut met = vec![false; patterns.len()];
    for participant in participants.iter_mut() {
        let known = Known::of(recording, participant);
        let meant: Vec<bool> = patterns.iter().map(|pattern| known.is_meant(pattern)).collect();
        met.iter_mut().zip(&meant).for_each(|(met, meant)| *met |= meant);
        participant.judged = meant.contains(&true);
    }
    match patterns.iter().zip(met).find(|(_, met)| !met) {
        None => Ok(()),
        Some((pattern, _)) => Err(nobody(recording, participants, pattern)),
    }
}

/// The tasks of simulated work, given by names and ids, that `patterns` mean.
///
/// # Errors
/// A pattern that means no task; the nearest name is named.
pub(crate) fn meant(work: &str, tasks: &[(&str, u64)], patterns: &[String]) -> Result<Vec<bool>, Refusal> {
    let means = |pattern: &str, &(name, id): &(&str, u64)| edit::is_meant(pattern, name, id);
    match patterns.iter().find(|pattern| !tasks.iter().any(|task| means(pattern, task))) {
        Some(pattern) => {
            let names = tasks.iter().map(|(name, _)| *name);
            Err(wrong(pattern, &format!("no task of {work} has that name")).remedy(suggest(pattern, names)))
        }
        None => Ok(tasks.iter().map(|task| patterns.iter().any(|pattern| means(pattern, task))).collect()),
    }
}

/// The refusal of a pattern that means nobody.
fn nobody(recording: &Recording, participants: &[Participant], pattern: &str) -> Refusal {
    let name = &recording.name;
    if pattern.starts_with('/') {
        let stated = recording.metadata.attributes.iter().filter_map(|it| it.cgroup.as_deref());
        let groups: BTreeSet<&str> = stated.collect();
        return match groups.is_empty() {
            true => wrong(pattern, &format!("{name} states no cgroups")).remedy("name tasks or their ids instead"),
            false => wrong(pattern, &format!("no task of {name} is in that cgroup")).remedy(suggest(pattern, groups)),
        };
    }
    if pattern.parse::<u32>().is_ok() {
        let what = format!("no thread or process of {name} has that id");
        return wrong(pattern, &what).remedy("name the tasks instead");
    }
    let names: BTreeSet<&str> = participants.iter().map(|it| it.name.as_str()).collect();
    wrong(pattern, &format!("no task of {name} has that name")).remedy(suggest(pattern, names))
}

/// The refusal of `pattern`.
pub(super) fn wrong(pattern: &str, what: &str) -> Refusal {
    Refusal::usage(format!("judge \"{pattern}\": {what}")).option("judge")
}

impl<'a> Known<'a> {
    /// `participant`, as `recording` shows it.
    pub fn of(recording: &'a Recording, participant: &'a Participant) -> Known<'a> {
        let Participant { ref name, pid, .. } = *participant;
        let stated = recording.metadata.attributes_of(pid);
        let traced = || recording.tasks.owner(pid).and_then(|task| recording.tasks.get(task)?.tgid);
        Known { recording, name, pid, stated, tgid: stated.and_then(|it| it.tgid).or_else(traced) }
    }

    /// True if `pattern` means the task: its name or its process's, its id or its process's, or a cgroup around it.
    pub fn is_meant(&self, pattern: &str) -> bool {
        if pattern.starts_with('/') {
            return self.is_in(pattern);
        }
        if let Ok(id) = pattern.parse() {
            return self.pid == id || self.tgid == Some(id);
        }
        let leader = self.tgid.and_then(|tgid| self.recording.tasks.get(self.recording.tasks.owner(tgid)?));
        is_called(pattern, self.name) || leader.is_some_and(|leader| is_called(pattern, &leader.comm.to_string()))
    }

    /// True if it was in the cgroup `path`, or in one inside, at any time.
    fn is_in(&self, path: &str) -> bool {
        let path = path.trim_end_matches('/');
        let later = self.stated.iter().flat_map(|it| &it.changes).filter_map(|change| change.cgroup.as_deref());
        let mut groups = self.stated.and_then(|it| it.cgroup.as_deref()).into_iter().chain(later);
        groups.any(|group| matches(path, group) || matches(&format!("{path}/*"), group))
    }
}

/// True if a task of that `name` is meant. Linux cuts long names.
fn is_called(pattern: &str, name: &str) -> bool {
    matches(pattern, name) || name.len() == NAME_MAX && pattern.starts_with(name)
}
