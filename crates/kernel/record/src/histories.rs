//! The scheduling attributes of each thread during a recording: the initial ones, and each change.

use std::collections::BTreeMap;

use serde_json::Value;

use super::attributes::Attributes;
use super::changes::Change;

/// Attributes of all threads over time. Call its methods in order of time.
#[derive(Debug, Default)]
pub struct Histories {
    /// Of the last owner of each thread id.
    lives: BTreeMap<i32, Vec<(u64, Attributes)>>,
    /// Changes of threads that had ended before they could be read.
    pub missed: u64,
}

impl Histories {
    /// Begins with the threads that were alive at `at_ns`.
    pub fn new(at_ns: u64, alive: impl Iterator<Item = (i32, Attributes)>) -> Self {
        Self { lives: alive.map(|(tid, attributes)| (tid, vec![(at_ns, attributes)])).collect(), missed: 0 }
    }

    /// `parent` created `child`, which inherits its attributes.
    pub fn fork(&mut self, at_ns: u64, parent: i32, child: i32) {
        match self.at_last(parent).map(Attributes::inherited) {
            Some(inherited) => drop(self.lives.insert(child, vec![(at_ns, inherited)])),
            None => drop(self.lives.remove(&child)),
        }
    }

    /// A call changed a thread.
    pub fn change(&mut self, change: &Change) {
        let Some(task) = &change.task else {
            self.missed += 1;
            return;
        };
        let life = self.lives.entry(change.tid).or_default();
        if life.last().is_none_or(|(_, before)| *before != task.attributes) {
            life.push((change.at_ns, task.attributes.clone()));
        }
    }

    /// The last attributes of `tid`.
    pub fn at_last(&self, tid: i32) -> Option<&Attributes> {
        self.lives.get(&tid)?.last().map(|(_, attributes)| attributes)
    }

    /// The history of `tid` as JSON: its initial attributes, then each change with its time. Empty if nothing changed.
    pub fn changes(&self, tid: i32, group_name: &dyn Fn(&str) -> String) -> Vec<Value> {
        let life = self.lives.get(&tid).map_or(&[][..], Vec::as_slice);
        if life.len() < 2 {
            return Vec::new();
        }
        let mut before = None;
        let entry = |(at_ns, attributes): &(u64, Attributes)| {
            let fields = shown_fields(attributes, group_name);
            let mut entry = fields.clone();
            if let Some(before) = before.replace(fields) {
                entry.retain(|name, value| before.get(name) != Some(value));
            }
            entry.insert("at_ns".into(), (*at_ns).into());
            Value::Object(entry)
        };
        life.iter().map(entry).collect()
    }
}

/// The fields of `attributes`, with the paths of groups as `group_name` gives them.
pub fn shown_fields(attributes: &Attributes, group_name: &dyn Fn(&str) -> String) -> serde_json::Map<String, Value> {
    let mut shown = attributes.clone();
    for path in [&mut shown.cgroup, &mut shown.cpuset].into_iter().flatten() {
        *path = group_name(path);
    }
    shown.fields()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tasks::{Seen, Task};
    use serde_json::json;

    fn attributes(nice: i32, affinity: &[u32]) -> Attributes {
        Attributes { policy: Some("other"), nice, affinity: Some(affinity.to_vec()), ..Attributes::default() }
    }

    fn change(at_ns: u64, tid: i32, attributes: Attributes) -> Change {
        let comm = b"a".to_vec();
        let (seen, zombie, at_end) = (Seen::Later, false, false);
        let task = Task { tgid: tid, parent: 1, comm, kernel: false, attributes, seen, zombie, at_end };
        Change { at_ns, tid, task: Some(task) }
    }

    fn histories() -> Histories {
        let mut histories = Histories::new(10, [(1, attributes(0, &[0, 1]))].into_iter());
        histories.fork(20, 1, 2);
        histories.change(&change(30, 2, attributes(0, &[1])));
        histories.change(&change(40, 2, attributes(5, &[1])));
        histories.change(&change(50, 2, attributes(5, &[1])));
        histories.fork(60, 2, 3);
        histories
    }

    #[test]
    fn a_thread_begins_as_its_creator_and_its_changes_are_kept() {
        let histories = histories();
        let changes = histories.changes(2, &str::to_string);
        assert_eq!(changes.len(), 3, "a call that changed nothing is not a change");
        assert_eq!((&changes[0]["at_ns"], &changes[0]["affinity"]), (&json!(20), &json!([0, 1])));
        assert_eq!(changes[1], json!({"at_ns": 30, "affinity": [1]}));
        assert_eq!(changes[2], json!({"at_ns": 40, "nice": 5}));
        assert_eq!(histories.at_last(3), Some(&attributes(5, &[1])));
        assert!(histories.changes(3, &str::to_string).is_empty(), "it kept what it began with");
    }

    #[test]
    fn nothing_is_known_of_a_thread_whose_creator_is_unknown() {
        let mut histories = histories();
        histories.fork(70, 99, 2);
        assert_eq!(histories.at_last(2), None, "the id belongs to a new thread");
        histories.change(&Change { at_ns: 80, tid: 2, task: None });
        assert_eq!((histories.at_last(2), histories.missed), (None, 1));
    }
}
