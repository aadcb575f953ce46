//! Why each wait ended: decided for every waking of a recording before programmes are recovered.
//!
//! A waking in task context is an edge from the running task. One in a hard interrupt is external. One in a
//! soft interrupt is either: traffic between local tasks wakes the receiver in the sender's soft interrupt,
//! while timers run in whatever soft interrupt comes next. It counts as an edge when all of this holds:
//!
//! 1. the running task and the woken one are both user tasks, and not the same;
//! 2. the pair of their programs recurs: at least [`RECURRING`] soft-interrupt wakings from the one to the other;
//! 3. the woken task's program waits for little else: the waker's program is at work in at least half of the
//!    soft-interrupt wakings that find anybody at work;
//! 4. the wakings do not sit on the tick: fewer than half of the pair's come within [`AFTER_TICK`] of one, where
//!    timer wheels expire. (Without a known tick this is not asked.)
//!
//! Both kinds are counted in [`Kinds`].

use super::clock::TickGrid;
use super::story::{Origin, Story, What, Who};
use goodness_core::{Span, Time};
use std::collections::BTreeMap;

/// Fewer soft-interrupt wakings between two programs than this may be coincidence. A choice.
pub const RECURRING: u32 = 3;
/// Timers that expire with the tick wake their tasks within this time after it. A choice; the longest seen in
/// the shipped recordings' idle CPUs is below 100 µs.
pub const AFTER_TICK: Span = Span::from_us(250);

/// What ended a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// This task, at this point of its work.
    Edge(Who),
    /// Something outside.
    External,
}

/// How many wakings were of which kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kinds {
    /// By the running task itself.
    pub task_edges: u64,
    /// In a soft interrupt, judged to be the running task's doing.
    pub soft_edges: u64,
    /// In a soft interrupt, judged to be external.
    pub soft_external: u64,
    /// In a hard interrupt: external.
    pub hard_external: u64,
    /// In task context with nobody known to be running: external.
    pub nobody: u64,
}

/// Soft-interrupt wakings from one program to another.
#[derive(Clone, Copy, Debug, Default)]
struct Pair {
    wakings: u32,
    on_tick: u32,
}

/// The rule, with the counts it needs.
pub struct Rule<'a> {
    story: &'a Story,
    pairs: BTreeMap<(u32, u32), Pair>,
    /// Soft-interrupt wakings of a program while anybody was running.
    received: BTreeMap<u32, u32>,
}

impl<'a> Rule<'a> {
    /// Gathers the evidence.
    #[must_use]
    pub fn new(story: &'a Story, grid: Option<TickGrid>) -> Rule<'a> {
        let mut rule = Rule { story, pairs: BTreeMap::new(), received: BTreeMap::new() };
        for sighting in &story.sightings {
            if let What::Waking { task, by: Some(by), origin: Origin::Soft } = sighting.what {
                rule.note(task, by, sighting.at, grid);
            }
        }
        rule
    }

    fn note(&mut self, task: Who, by: Who, at: Time, grid: Option<TickGrid>) {
        let (from, to) = (self.party(by), self.party(task));
        let pair = self.pairs.entry((from, to)).or_default();
        pair.wakings += 1;
        pair.on_tick += u32::from(grid.is_some_and(|g| g.since_tick(at) < AFTER_TICK));
        *self.received.entry(to).or_default() += 1;
    }

    fn party(&self, who: Who) -> u32 {
        self.story.cast[who.index()].party
    }

    fn is_user(&self, who: Who) -> bool {
        self.story.cast[who.index()].task.address_space.is_some()
    }

    /// What ended a wait, and of which kind that was.
    pub fn judge(&self, task: Who, by: Option<Who>, origin: Origin, kinds: &mut Kinds) -> Cause {
        let (count, cause) = match (origin, by.filter(|by| *by != task)) {
            (Origin::Hard, _) => (&mut kinds.hard_external, Cause::External),
            (Origin::Task, Some(by)) => (&mut kinds.task_edges, Cause::Edge(by)),
            (Origin::Task, None) => (&mut kinds.nobody, Cause::External),
            (Origin::Soft, Some(by)) if self.is_traffic(task, by) => (&mut kinds.soft_edges, Cause::Edge(by)),
            (Origin::Soft, _) => (&mut kinds.soft_external, Cause::External),
        };
        *count += 1;
        cause
    }

    fn is_traffic(&self, task: Who, by: Who) -> bool {
        let (from, to) = (self.party(by), self.party(task));
        let pair = self.pairs.get(&(from, to)).copied().unwrap_or_default();
        let received = self.received.get(&to).copied().unwrap_or_default();
        self.is_user(task)
            && self.is_user(by)
            && pair.wakings >= RECURRING
            && pair.wakings * 2 >= received
            && pair.on_tick * 2 < pair.wakings
    }
}
