//! The election of `haiku-fair` and `beosrt`: each occupied level has half the weight of the next higher one.
//!
//! Idea: every level gets its turn. The probability of a level is proportional to its number of threads, halved for
//! each occupied level above it, their distance in priority does not matter. Within a level, the longest-waiting thread
//! runs.
//!
//! Source: specs 7.7, derived from the table of 13 November 2009 (7.6); the algorithm was never published. With counts
//! by level and one word of occupied levels, an election takes a few steps per occupied level, and insertion takes
//! constant time: the measured overhead did not grow with the threads. Parts common to the family: `be_priorities.rs`
//! and `be_elections.rs`.
//! Deviations: several CPUs share the queue. If no thread of the elected level may run on the CPU, the highest level
//! that has one is taken. A level weighs at least 2^−32 of a thread at the top. The random numbers differ.
//! Weakness: priority means little: a thread one occupied level higher gets twice the time, whether 1 or 50 above.

use crate::parts::be_elections::RunQueue;
use crate::parts::be_priorities::{Levels, QUANTUM, descending};
use goodness_core::{About, Context, CpuId, Effort, PerTask, Rng, Seed, Span, TaskId};
use goodness_queues::Links;
use std::fmt::Debug;
use std::marker::PhantomData;

goodness_core::tunables! {
    pub struct Settings {
        /// CPU time until the next election.
        quantum: Span = QUANTUM, in Span::from_us(1) => Span::from_s(10);
    }
}

/// The name under which the algorithm runs.
pub trait Build: Debug + 'static {
    /// The policy's entry in the registry.
    const ABOUT: About;
}

/// Queues by level, elected by size and rank.
#[derive(Debug)]
pub struct Halving<B> {
    quantum: Span,
    rng: Rng,
    links: Links,
    levels: Levels,
    /// The level under which each thread waits.
    level_of: PerTask<u8>,
    build: PhantomData<B>,
}

impl<B: Build> RunQueue for Halving<B> {
    const ABOUT: About = B::ABOUT;
    type Settings = Settings;

    fn new(settings: Settings, seed: Seed) -> Self {
        Halving {
            quantum: settings.quantum,
            rng: seed.stream("haiku-fair", 0).rng(),
            links: Links::default(),
            levels: Levels::default(),
            level_of: PerTask::default(),
            build: PhantomData,
        }
    }

    fn quantum(&self) -> Span {
        self.quantum
    }

    fn admit(&mut self, task: TaskId) {
        self.links.reserve(task.index() + 1);
        self.level_of.admit(task);
    }

    #[inline]
    fn insert(&mut self, _: &Context, task: TaskId, priority: u8) {
        self.level_of[task] = priority;
        self.levels.push_back(&mut self.links, priority, task);
    }

    fn remove(&mut self, _: &Context, task: TaskId) {
        self.levels.remove(&mut self.links, self.level_of[task], task);
    }

    fn elect(&mut self, cx: &Context, cpu: CpuId) -> Option<(TaskId, u8)> {
        let found = self.first_real_time(cx, cpu).or_else(|| {
            let sharing = self.levels.sharing();
            let level = 1 << self.elect_level(cx, sharing)?;
            let first = |levels| self.levels.first_allowed(cx, &self.links, levels, cpu);
            first(level).or_else(|| first(sharing & !level))
        });
        let (task, level) = found?;
        self.levels.remove(&mut self.links, level, task);
        found
    }
}

/// Weight of a thread of the highest level.
const WHOLE: u64 = 1 << 32;

impl<B> Halving<B> {
    #[inline]
    fn first_real_time(&self, cx: &Context, cpu: CpuId) -> Option<(TaskId, u8)> {
        match self.levels.real_time() {
            0 => None,
            levels => self.levels.first_allowed(cx, &self.links, levels, cpu),
        }
    }

    /// The levels of `sharing` from the highest, with their weights; fits for fewer than 2^31 threads.
    #[inline]
    fn weights(&self, sharing: u128) -> impl Iterator<Item = (u8, u64)> {
        let ranked = descending(sharing).enumerate();
        ranked.map(|(rank, level)| (level, ((self.levels.len(level) as u64 * WHOLE) >> rank.min(63)).max(1)))
    }

    /// A random level of `sharing`; `None` if it is empty.
    #[inline]
    fn elect_level(&mut self, cx: &Context, sharing: u128) -> Option<u8> {
        let (mut total, mut count) = (0, 0);
        for (_, weight) in self.weights(sharing) {
            total += weight;
            count += 1;
        }
        if total == 0 {
            return None;
        }
        cx.examined(Effort::Search, count);
        let mut drawn = self.rng.below(total);
        let elected = self.weights(sharing).find(|(_, weight)| {
            let here = drawn < *weight;
            drawn = drawn.wrapping_sub(*weight);
            here
        });
        elected.map(|(level, _)| level)
    }
}
