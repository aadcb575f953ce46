//! Con Kolivas' BFS: one run queue for the whole machine; the earliest virtual deadline runs.
//!
//! Idea: no estimate of interactivity and no load balancing. A sleeping task keeps its deadline, so its deadline is
//! early when it wakes.
//!
//! Source: specs section 6.1 (design note of 14 Oct 2009, sched-BFS documentation). 103 lists with a bitmap. On the
//! normal and the idle level a CPU searches all tasks for the earliest deadline; a task whose deadline has passed is
//! taken at once. Parts shared with MuQSS, general knowledge and inferences: `virtual_deadline.rs`.
//! Inferred: the penalty for a cold cache doubles or quadruples the time until the deadline; `rr_interval` grows with
//! 1 + log2 of the CPUs ("larger on SMP").
//! Weakness: a pick searches all tasks under one lock. The documentation's rule that shares are the square of the
//! deadline ratio holds only roughly: see `docs/policies/bfs.md`.

use crate::parts::virtual_deadline::{Entity, ISO, LEVELS, NORMAL, Rules, VirtualDeadlines, Waiting, YieldType};
use goodness_core::{
    About, Context, CpuId, Effort, Level, Machine, Needs, PerTask, Registered, Seed, Span, TaskId,
};
use goodness_queues::{Bitmap, Links, List};

goodness_core::tunables! {
    pub struct Settings {
        /// Slice of every task (/proc/sys/kernel/rr_interval; auto: 6 ms, times 1 + log2 of the CPUs).
        rr_interval: Option<Span> = None, in Span::from_ms(1) => Span::from_ms(5000);
        /// Percent of the machine that ISO tasks may use over 5 s before they count as normal.
        iso_cpu: u64 = 70, in 0 => 100;
        /// Effect of sched_yield: 0 nothing, 1 let a better task run, 2 give up slice and deadline.
        yield_type: YieldType = YieldType::Better;
        /// Treat requests for FIFO and RR as SCHED_ISO, as for unprivileged users.
        iso: bool = false;
    }
}

/// One list per level, for all CPUs.
#[derive(Debug)]
pub struct Lists {
    lists: [List; LEVELS],
    filled: Bitmap<2>,
    links: Links,
}

/// BFS.
pub type Bfs = VirtualDeadlines<Lists>;

impl Registered for Bfs {
    const ABOUT: About = About {
        name: "bfs",
        summary: "BFS: one queue for all CPUs; the earliest virtual deadline runs, and sleepers keep theirs.",
        source: "Con Kolivas, October 2009; specs section 6.1",
        needs: Needs { tick: false, timer: false, balance: false, global_lock: true },
    };
    type Settings = Settings;

    fn new(machine: &Machine, settings: Settings, _: Seed) -> Self {
        let auto = Span::from_ms(6) * u64::from(1 + machine.cpu_count().ilog2());
        let rules = Rules {
            slice: settings.rr_interval.unwrap_or(auto),
            iso_cpu: settings.iso_cpu,
            yield_type: settings.yield_type,
            iso: settings.iso,
        };
        let lists = Lists { lists: [List::default(); LEVELS], filled: Bitmap::default(), links: Links::default() };
        VirtualDeadlines::with(machine, rules, lists)
    }
}

impl Waiting for Lists {
    fn reserve(&mut self, count: usize) {
        self.links.reserve(count);
    }

    fn insert(&mut self, _: &Context, task: TaskId, entity: &Entity, first: bool) {
        let level = usize::from(entity.level);
        // Only real-time tasks keep their place when a more urgent one takes their CPU.
        match first && entity.level < NORMAL {
            true => self.lists[level].push_front(&mut self.links, task.0),
            false => self.lists[level].push_back(&mut self.links, task.0),
        }
        self.filled.set(level);
    }

    fn remove(&mut self, _: &Context, task: TaskId, entity: &Entity) {
        let level = usize::from(entity.level);
        self.lists[level].remove(&mut self.links, task.0);
        if self.lists[level].is_empty() {
            self.filled.clear(level);
        }
    }

    fn best(&self, cx: &Context, cpu: CpuId, entities: &PerTask<Entity>) -> Option<TaskId> {
        let first = self.filled.first()?;
        (first..LEVELS).filter(|level| self.filled.contains(*level)).find_map(|level| {
            match level < usize::from(NORMAL) {
                true => self.first_allowed(cx, cpu, level),
                false => self.earliest(cx, cpu, level, entities),
            }
        })
    }

    fn some_iso(&self, _: &PerTask<Entity>) -> Option<TaskId> {
        self.lists[usize::from(ISO)].front().map(TaskId)
    }
}

impl Lists {
    fn first_allowed(&self, cx: &Context, cpu: CpuId, level: usize) -> Option<TaskId> {
        self.lists[level].iter(&self.links).map(TaskId).find(|task| {
            cx.examined(Effort::Search, 1);
            cx.tasks.may_run(*task, cpu)
        })
    }

    /// The task with the earliest deadline as seen from `cpu`. A task whose deadline has passed ends the search.
    fn earliest(&self, cx: &Context, cpu: CpuId, level: usize, entities: &PerTask<Entity>) -> Option<TaskId> {
        let mut best = None;
        let mut looked_at = 0;
        for task in self.lists[level].iter(&self.links).map(TaskId) {
            looked_at += 1;
            if !cx.tasks.may_run(task, cpu) {
                continue;
            }
            let deadline = entities[task].deadline;
            if deadline < cx.now {
                best = Some((Span::ZERO, task));
                break;
            }
            let seen = deadline.since(cx.now) * distance_factor(cx, cx.tasks.cpu(task), cpu);
            if best.is_none_or(|(least, _)| seen < least) {
                best = Some((seen, task));
            }
        }
        cx.examined(Effort::Search, looked_at);
        best.map(|(_, task)| task)
    }
}

/// Factor on the remaining deadline of a task that last ran on a distant CPU (specs 6.1 "Cache bias").
fn distance_factor(cx: &Context, last: CpuId, cpu: CpuId) -> u64 {
    match cx.machine.distance(last, cpu) {
        None | Some(Level::Smt | Level::Cache) => 1,
        Some(Level::Node) => 2,
        Some(Level::Machine) => 4,
    }
}
