//! Multi-level feedback queues: tasks start on a high level and drop as they use the CPU.
//!
//! Idea: level l is served before level l + 1, in turns of 2^l quanta. A task that uses up its allotment of a level, in
//! however many turns, drops one level. So short jobs overtake long ones without being known in advance.
//!
//! Source: specs section 11, general knowledge throughout.
//! Inferred: a preempted program keeps its used part of the level's allotment, so it spends at most 2^l quanta there;
//! on the last level a program stays and gets new turns. Nice, class and other systems' priorities do not count. On
//! several CPUs one queue serves all.
//! Weakness: long jobs starve behind a stream of short ones.

use crate::parts::levels::Levels;
use crate::parts::running_cpus::RunningCpus;
use goodness_core::{
    About, Context, CpuId, CpuPolicy, Dequeue, Effort, Enqueue, Machine, PerTask, Pick, Reason, Registered, Rejected,
    Resched, Seed, Span, State, Stop, TaskId, Time, Tunables, Why,
};
use goodness_queues::Links;
use std::cmp::{Ordering, Reverse};
use std::fmt::Debug;
use std::marker::PhantomData;

/// Differences between `mlfq` and `ctss`.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// Turn of level 0; that of level l is 2^l times as long.
    pub quantum: Span,
    /// Number of levels, at most 32.
    pub levels: u8,
    /// The initial level of a task.
    pub start: u8,
    /// Quanta of its level after which a task falls.
    pub allotment: u64,
    /// Time after which all tasks return to level 0; 0 for never.
    pub boost: Span,
    /// A woken task starts anew.
    pub wakes_anew: bool,
    /// Put a preempted task at the tail of its list.
    pub preempted_last: bool,
}

/// Name, tunables and rules of one of the queues.
pub trait Profile: Debug + 'static {
    /// The policy's entry in the registry.
    const ABOUT: About;
    /// Its tunables.
    type Settings: Tunables;
    /// Its rules under these settings.
    fn rules(settings: &Self::Settings) -> Rules;
}

#[derive(Clone, Copy, Debug, Default)]
struct Entity {
    level: u8,
    /// CPU time left before it drops a level.
    left: Span,
    /// CPU time left in its time slice.
    turn: Span,
    /// Time of its last pick.
    picked: Time,
}

/// The levels, and the task that each CPU runs.
#[derive(Debug)]
pub struct Feedback<P> {
    rules: Rules,
    entities: PerTask<Entity>,
    links: Links,
    queue: Levels<1>,
    running_cpus: RunningCpus<Reverse<u8>>,
    running: usize,
    next_boost: Time,
    profile: PhantomData<P>,
}

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
            running_cpus: RunningCpus::all(machine),
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
        if matches!(why, Enqueue::Wakeup { .. }) && rules.wakes_anew {
            *entity = rules.entity(rules.start);
        }
        if entity.left == Span::ZERO {
            *entity = rules.entity((entity.level + 1).min(rules.levels - 1));
        } else if why != Enqueue::Preempted {
            entity.turn = rules.turn(entity.level).min(entity.left);
        }
        let level = entity.level;
        let whole = entity.turn == rules.turn(level) || rules.preempted_last;
        match why {
            Enqueue::Preempted if !whole => self.queue.push_front(&mut self.links, usize::from(level), task),
            _ => self.queue.push_back(&mut self.links, usize::from(level), task),
        }
        match why {
            // Its own CPU is about to choose.
            Enqueue::Preempted | Enqueue::SliceEnd | Enqueue::Yielded => self.running_cpus.claim_idle(cx, cpu, task),
            _ => self.running_cpus.claim(cx, cpu, task, Reverse(level)),
        }
    }

    fn dequeue(&mut self, _: &Context, _: CpuId, task: TaskId, _: Dequeue) {
        self.queue.remove(&mut self.links, usize::from(self.entities[task].level), task);
    }

    fn pick_next(&mut self, cx: &Context, cpu: CpuId) -> Option<Pick> {
        let found = self.queue.take_allowed(&mut self.links, cx, cpu);
        self.running_cpus.set(cpu, found.map(|(level, task)| (task, Reverse(level as u8))));
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

    fn why(&self, _: &Context, _: CpuId, Why { ahead, waiting, is_pick }: Why) -> Option<Reason> {
        let [own, other] = [ahead?, waiting].map(|task| i32::from(self.entities[task].level));
        match own.cmp(&other) {
            Ordering::Less => Some(Reason::Level { ahead: own, waiting: other }),
            Ordering::Equal if is_pick => Some(Reason::First),
            Ordering::Equal => Some(Reason::SliceNotOver),
            Ordering::Greater => None,
        }
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

    /// A new task on `level`.
    fn entity(&self, level: u8) -> Entity {
        Entity { level, left: Span(self.turn(level).0 * self.allotment), turn: self.turn(level), picked: Time::ZERO }
    }
}

impl<P> Feedback<P> {
    /// Applies the boosts missed while no task was runnable; several count as one.
    fn catch_up(&mut self, now: Time) {
        if self.rules.boost == Span::ZERO || now < self.next_boost || self.queue.len() + self.running > 0 {
            return;
        }
        let missed = now.since(self.next_boost).0 / self.rules.boost.0 + 1;
        self.next_boost = Time(self.next_boost.0 + missed * self.rules.boost.0);
        self.entities.iter_mut().for_each(|(_, entity)| *entity = self.rules.entity(0));
    }

    /// Moves all tasks to level 0, waiting ones in the order in which they would have run.
    fn boost(&mut self, cx: &Context) {
        for level in 1..self.rules.levels {
            while let Some(task) = self.queue.front(usize::from(level)) {
                self.queue.remove(&mut self.links, usize::from(level), task);
                self.queue.push_back(&mut self.links, 0, task);
            }
        }
        for (task, entity) in self.entities.iter_mut() {
            cx.examined(Effort::Recalculate, u32::from(cx.tasks.state(task) != State::Exited));
            *entity = Entity { picked: entity.picked, ..self.rules.entity(0) };
        }
        for cpu in cx.machine.cpu_ids() {
            let Some((task, _)) = self.running_cpus.on(cpu).filter(|(task, _)| cx.tasks.state(*task) == State::Running)
            else {
                continue;
            };
            self.running_cpus.revalue(cpu, Reverse(0));
            // Its CPU time before the boost is charged when it stops, and must not count.
            let entity = &mut self.entities[task];
            entity.left += cx.now.since(entity.picked);
        }
    }
}
