//! Multi-level feedback queues: jobs begin on a good level and fall as they use the CPU. `ctss` is the original of Corbató
//! (1962), `mlfq` the textbook's.
//!
//! Idea: level l is served before level l + 1, in turns of 2^l quanta. Who uses up its turn (`mlfq`: its allotment, in
//! however many turns) falls one level, so that short jobs pass long ones without anybody's telling which is which.
//! In `ctss` a program begins on the level whose turn is about as long as swapping it in takes,
//! l0 = ⌊log2(⌊size / quantum_words⌋ + 1)⌋; in `mlfq` all begin on level 0, and every `boost` all return there.
//!
//! Source: specs section 11, general knowledge throughout; for `ctss` also the CTSS Programmer's Guide (1963): a quantum is about 200 ms, a
//! program enters anew once a response to its user is completed (read here: when what it waits for happens), and one
//! that is preempted goes to the end of its level.
//! Inferred: a preempted program keeps what it has used of its level, so that it spends at most 2^l quanta there; one
//! below the last level stays and has new turns. `mlfq` keeps level and allotment of who waits. Size and `quantum_words` of `ctss`
//! are settings, alike for all tasks, since tasks have no size; their defaults, and the textbook's 3 levels of 10 ms
//! with a boost each second, are choices.
//! Neither knew nice, classes or other systems' priorities: all count alike. On several CPUs one queue serves all.
//! Weakness: long jobs starve behind a stream of short ones (`mlfq`: until the boost); in `ctss` a wait, however
//! short, is rewarded with the first level.

use crate::levels::Levels;
use crate::seats::Seats;
use goodness_core::{
    About, Context, CpuId, CpuPolicy, Dequeue, Effort, Enqueue, Machine, Needs, PerTask, Pick, Registered, Rejected,
    Resched, Seed, Span, State, Stop, TaskId, Time, Tunables,
};
use goodness_queues::Links;
use std::cmp::Reverse;
use std::fmt::Debug;
use std::marker::PhantomData;

/// Tunables of `ctss`.
pub mod ctss {
    use goodness_core::Span;

    goodness_core::tunables! {
        pub struct Settings {
            /// Turn of level 0; that of level l is 2^l times as long.
            quantum: Span = Span::from_ms(200), in Span::from_us(1) => Span::from_s(10);
            /// Levels; the last has no level below it.
            levels: u64 = 9, in 1 => 32;
            /// Words of each program.
            size: u64 = 4096, in 0 => 1_000_000_000;
            /// Words that are swapped in and out in one quantum.
            quantum_words: u64 = 4096, in 1 => 1_000_000_000;
        }
    }
}

goodness_core::tunables! {
    pub struct Settings {
        /// Turn of level 0; that of level l is 2^l times as long.
        quantum: Span = Span::from_ms(10), in Span::from_us(1) => Span::from_s(10);
        /// Levels; the last has no level below it.
        levels: u64 = 3, in 1 => 32;
        /// Quanta of its level after which a task falls, in however many turns it used them.
        allotment: u64 = 1, in 1 => 1_000;
        /// Time after which all tasks return to level 0; 0 for never.
        boost: Span = Span::from_s(1), in Span::ZERO => Span::from_s(1_000);
    }
}

/// What the two differ in.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    quantum: Span,
    levels: u8,
    /// Where a task begins.
    start: u8,
    allotment: u64,
    boost: Span,
    /// Whether who was woken begins anew.
    anew: bool,
    /// Whether who is preempted goes behind its equals.
    behind: bool,
}

/// A queue to be: its name, settings and rules.
pub trait Profile: Debug {
    /// What the policy says of itself.
    const ABOUT: About;
    /// Its tunables.
    type Settings: Tunables;
    /// Its rules under these settings.
    fn rules(settings: &Self::Settings) -> Rules;
}

/// The textbook's queue.
#[derive(Clone, Copy, Debug)]
pub struct Textbook;

/// The queue of 1962.
#[derive(Clone, Copy, Debug)]
pub struct Original;

impl Profile for Textbook {
    const ABOUT: About = About {
        name: "mlfq",
        summary: "Multi-level feedback queue: users of the CPU fall level by level, a boost lifts all.",
        source: "textbook; specs section 11",
        needs: Needs { tick: false, timer: true, balance: false, global_lock: true },
    };
    type Settings = Settings;

    fn rules(settings: &Settings) -> Rules {
        let Settings { quantum, levels, allotment, boost } = *settings;
        Rules { quantum, levels: levels as u8, start: 0, allotment, boost, anew: false, behind: false }
    }
}

impl Profile for Original {
    const ABOUT: About = About {
        name: "ctss",
        summary: "CTSS: feedback queue whose programs begin on the level that their size asks for.",
        source: "Corbató 1962; specs section 11",
        needs: Needs { tick: false, timer: false, balance: false, global_lock: true },
    };
    type Settings = ctss::Settings;

    fn rules(settings: &ctss::Settings) -> Rules {
        let levels = settings.levels as u8;
        let start = start_level(settings.size, settings.quantum_words).min(levels - 1);
        Rules { quantum: settings.quantum, levels, start, allotment: 1, boost: Span::ZERO, anew: true, behind: true }
    }
}

/// The level on which a program of `size` words begins, when `swapped` words move in a quantum.
fn start_level(size: u64, swapped: u64) -> u8 {
    (size / swapped + 1).ilog2() as u8
}

#[derive(Clone, Copy, Debug, Default)]
struct Entity {
    level: u8,
    /// CPU time left before it falls.
    left: Span,
    /// CPU time left of its turn.
    turn: Span,
    /// When it was last picked.
    picked: Time,
}

/// The levels and who runs.
#[derive(Debug)]
pub struct Feedback<P> {
    rules: Rules,
    entities: PerTask<Entity>,
    links: Links,
    queue: Levels<1>,
    seats: Seats<Reverse<u8>>,
    running: usize,
    next_boost: Time,
    profile: PhantomData<P>,
}

/// The textbook's queue.
pub type Mlfq = Feedback<Textbook>;

/// The queue of 1962.
pub type Ctss = Feedback<Original>;

impl<P: Profile> Registered for Feedback<P> {
    const ABOUT: About = P::ABOUT;
    type Settings = P::Settings;

    fn new(machine: &Machine, settings: P::Settings, _: Seed) -> Self {
        let rules = P::rules(&settings);
        Feedback {
            rules,
            entities: PerTask::default(),
            links: Links::default(),
            queue: Levels::new(usize::from(rules.levels)),
            seats: Seats::all(machine),
            running: 0,
            next_boost: Time(rules.boost.0),
            profile: PhantomData,
        }
    }
}

impl<P: Profile> CpuPolicy for Feedback<P> {
    fn admit(&mut self, _: &Context, task: TaskId, _: Option<TaskId>) -> Result<(), Rejected> {
        self.links.reserve(task.index() + 1);
        *self.entities.admit(task) = self.rules.entity(self.rules.start);
        Ok(())
    }

    fn enqueue(&mut self, cx: &Context, cpu: CpuId, task: TaskId, why: Enqueue) -> Resched {
        self.catch_up(cx.now);
        let rules = self.rules;
        let entity = &mut self.entities[task];
        if matches!(why, Enqueue::Wakeup { .. }) && rules.anew {
            *entity = rules.entity(rules.start);
        }
        if entity.left == Span::ZERO {
            *entity = rules.entity((entity.level + 1).min(rules.levels - 1));
        } else if why != Enqueue::Preempted {
            entity.turn = rules.turn(entity.level).min(entity.left);
        }
        let level = entity.level;
        let whole = entity.turn == rules.turn(level) || rules.behind;
        match why {
            Enqueue::Preempted if !whole => self.queue.push_front(&mut self.links, usize::from(level), task),
            _ => self.queue.push_back(&mut self.links, usize::from(level), task),
        }
        match why {
            // Its own CPU is about to choose.
            Enqueue::Preempted | Enqueue::SliceEnd | Enqueue::Yielded => self.seats.claim_idle(cx, cpu, task),
            _ => self.seats.claim(cx, cpu, task, Reverse(level)),
        }
    }

    fn dequeue(&mut self, _: &Context, _: CpuId, task: TaskId, _: Dequeue) {
        self.queue.remove(&mut self.links, usize::from(self.entities[task].level), task);
    }

    fn pick_next(&mut self, cx: &Context, cpu: CpuId) -> Option<Pick> {
        let found = self.queue.take_allowed(&mut self.links, cx, cpu);
        self.seats.sit(cpu, found.map(|(level, task)| (task, Reverse(level as u8))));
        let (_, task) = found?;
        self.running += 1;
        self.entities[task].picked = cx.now;
        Some(Pick { task, timeslice: Some(self.entities[task].turn) })
    }

    fn charge(&mut self, _: &Context, _: CpuId, task: TaskId, ran: Span, why: Stop) -> Resched {
        let entity = &mut self.entities[task];
        entity.left = entity.left.saturating_sub(ran);
        entity.turn = entity.turn.saturating_sub(ran);
        if entity.turn == Span::ZERO && entity.left > Span::ZERO {
            entity.turn = self.rules.turn(entity.level).min(entity.left);
        }
        self.running -= usize::from(why != Stop::Tick);
        Resched::Keep
    }

    fn next_timer(&self) -> Option<Time> {
        let armed = self.rules.boost > Span::ZERO && self.queue.len() + self.running > 0;
        armed.then_some(self.next_boost)
    }

    fn timer(&mut self, cx: &Context) -> Resched {
        if self.rules.boost > Span::ZERO && cx.now >= self.next_boost {
            self.next_boost += self.rules.boost;
            self.boost(cx);
        }
        Resched::Keep
    }
}

impl Rules {
    fn turn(&self, level: u8) -> Span {
        Span(self.quantum.0 << level)
    }

    /// A task that begins on `level`.
    fn entity(&self, level: u8) -> Entity {
        Entity { level, left: Span(self.turn(level).0 * self.allotment), turn: self.turn(level), picked: Time::ZERO }
    }
}

impl<P> Feedback<P> {
    /// Nobody was runnable for a while: the boosts of that time, as far as sleepers noticed them, are one.
    fn catch_up(&mut self, now: Time) {
        if self.rules.boost == Span::ZERO || now < self.next_boost || self.queue.len() + self.running > 0 {
            return;
        }
        let missed = now.since(self.next_boost).0 / self.rules.boost.0 + 1;
        self.next_boost = Time(self.next_boost.0 + missed * self.rules.boost.0);
        self.entities.iter_mut().for_each(|(_, entity)| *entity = self.rules.entity(0));
    }

    /// All tasks begin anew on level 0; those that wait for the CPU join it in the order in which they would have run.
    fn boost(&mut self, cx: &Context) {
        for level in 1..self.rules.levels {
            while let Some(task) = self.queue.front(usize::from(level)) {
                self.queue.remove(&mut self.links, usize::from(level), task);
                self.queue.push_back(&mut self.links, 0, task);
            }
        }
        for (task, entity) in self.entities.iter_mut() {
            cx.examined(Effort::Recalculate, u32::from(cx.tasks[task].state != State::Exited));
            *entity = Entity { picked: entity.picked, ..self.rules.entity(0) };
        }
        for cpu in cx.machine.cpu_ids() {
            let Some((task, _)) = self.seats.on(cpu).filter(|(task, _)| cx.tasks[*task].state == State::Running) else {
                continue;
            };
            self.seats.revalue(cpu, Reverse(0));
            // What it ran before the boost is charged when it stops, and must not count.
            let entity = &mut self.entities[task];
            entity.left += cx.now.since(entity.picked);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// specs/cpu-schedulers.md 11: l0 = ⌊log2(⌊size / swapped⌋ + 1)⌋
    #[test]
    fn a_program_begins_on_the_level_of_its_size() {
        let levels = [0, 4095, 4096, 3 * 4096 - 1, 3 * 4096, 7 * 4096, 32_768 * 4].map(|size| start_level(size, 4096));
        assert_eq!(levels, [0, 0, 1, 1, 2, 3, 5]);
    }
}
