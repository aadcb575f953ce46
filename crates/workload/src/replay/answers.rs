//! Answers that leave no trace.
//!
//! A task that is never idle does not wait for the answers to what it sent: when it looks, they are there. No
//! waking tells that it went on because of them, so a replay in which it runs first would let it send everything
//! before anybody answers. What the recording does tell is how many of its messages were ever under way at once:
//! its window. A replay holds the sender to that window: beyond it, it waits until one more of those it woke is
//! done, that is, waits again or ends.
//!
//! A sender with several receivers is an event loop: it waits for any of them. It is held to more, that each answers
//! before it is spoken to again, and to less, since it goes on with whichever answers first ([`super::talks`]).
//!
//! This is an inference, made only where the answers are invisible: a task sends to another program by
//! soft-interrupt edges ([`super::causes`]), at least [`super::causes::RECURRING`] times, and that program's
//! tasks wake it less than half as often as it wakes them. It cannot deadlock: in the recorded order, the sender
//! never had more under way than its window.

use super::causes::{Cause, Kinds, RECURRING, Rule};
use super::story::{Origin, Story, What, Who};
use std::collections::BTreeMap;

/// What one task sends to one program.
#[derive(Clone, Copy, Debug, Default)]
struct Traffic {
    sent: u32,
    answered: u32,
    under_way: u32,
    most: u32,
    /// Who was sent to first, and whether anybody else was since.
    first: Option<Who>,
    has_several: bool,
}

/// What a sender that does not seem to wait for its answers is held to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// One receiver: this many messages under way.
    ToWindow(u32),
    /// Several receivers: the answer of each before it is spoken to again.
    ToAnswers,
}

/// What all senders whose answers are invisible are held to, by sender and receiving program.
pub struct Windows(BTreeMap<(Who, u32), Held>);

impl Windows {
    /// Finds the windows.
    #[must_use]
    pub fn find(story: &Story, rule: &Rule) -> Windows {
        let mut traffic = BTreeMap::<(Who, u32), Traffic>::new();
        let mut asked: Vec<Option<(Who, u32)>> = vec![None; story.cast.len()];
        let party = |who: Who| story.cast[who.index()].party;
        for sighting in &story.sightings {
            match sighting.what {
                What::Waking { task, by, origin } => {
                    let Cause::Edge(by) = rule.judge(task, by, origin, &mut Kinds::default()) else { continue };
                    traffic.entry((task, party(by))).or_default().answered += 1;
                    if origin != Origin::Soft || party(by) == party(task) || asked[task.index()].is_some() {
                        continue;
                    }
                    asked[task.index()] = Some((by, party(task)));
                    let it = traffic.entry((by, party(task))).or_default();
                    it.sent += 1;
                    it.under_way += 1;
                    it.most = it.most.max(it.under_way);
                    it.has_several |= *it.first.get_or_insert(task) != task;
                }
                What::Switch { prev: Some(prev), off, .. } if !off.is_runnable() => {
                    if let Some(it) = asked[prev.index()].take().and_then(|key| traffic.get_mut(&key)) {
                        it.under_way -= 1;
                    }
                }
                _ => {}
            }
        }
        let is_one_way = |t: &Traffic| t.sent >= RECURRING && t.answered * 2 < t.sent;
        let held = |t: Traffic| if t.has_several { Held::ToAnswers } else { Held::ToWindow(t.most) };
        Windows(traffic.into_iter().filter(|(_, t)| is_one_way(t)).map(|(key, t)| (key, held(t))).collect())
    }

    /// What `sender` is held to towards program `party`; `None`: it sends as it likes.
    #[must_use]
    pub fn of(&self, sender: Who, party: u32) -> Option<Held> {
        self.0.get(&(sender, party)).copied()
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
