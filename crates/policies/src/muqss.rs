//! Con Kolivas' MuQSS: BFS with an ordered queue per group of CPUs instead of one list for all.
//!
//! Source: specs section 6.2 (MuQSS 0.210). Queues are ordered by level and deadline: insertion takes logarithmic time,
//! picking the first constant time. A CPU compares the first task of every queue (`interactive`), or looks at other
//! queues only when its own is empty. CPUs with a common cache share a queue (`rqshare=mc`). A "millisecond" is 2^20
//! ns. General knowledge, inferences and all parts shared with BFS: `virtual_deadline.rs`.
//! General knowledge: queues are compared nearest first, and the nearer wins ties; deadlines are not weighted by
//! distance.
//! Deviations: the 8-level skip lists are balanced trees here; their levels are reported as insertion steps, about as
//! many as in a skip list. Looking at other CPUs' queues without a lock is instantaneous.
//! Weakness: comparing all queues makes each pick access every cache of the machine.

use crate::parts::ordered::{Ordered, Places};
use crate::parts::virtual_deadline::{Entity, IDLE, ISO, NORMAL, Rules, VirtualDeadlines, Waiting, YieldType};
use goodness_core::{
    About, Context, CpuId, Effort, Level, Machine, Needs, PerTask, Registered, Seed, Span, TaskId,
};

goodness_core::choices! {
    /// CPUs that share a queue: none, hardware threads of a core, those of a shared cache, all.
    pub enum RqShare { Nobody = "none", Smt = "smt", Mc = "mc", Smp = "smp" }
}

goodness_core::tunables! {
    pub struct Settings {
        /// Slice of every task in "milliseconds" of 2^20 ns (/proc/sys/kernel/rr_interval).
        rr_interval: u64 = 6, in 1 => 1000;
        /// Compare the first tasks of all queues, instead of looking at the CPU's own until that is empty.
        interactive: bool = true;
        /// Percent of the machine that ISO tasks may use over 5 s before they count as normal.
        iso_cpu: u64 = 70, in 0 => 100;
        /// Effect of sched_yield: 0 nothing, 1 let a better task run, 2 give up slice and deadline.
        yield_type: YieldType = YieldType::Better;
        /// CPUs that share a queue.
        rqshare: RqShare = RqShare::Mc;
        /// Treat requests for FIFO and RR as SCHED_ISO, as for unprivileged users.
        iso: bool = false;
    }
}

/// One ordered queue per group of CPUs.
#[derive(Debug)]
pub struct Queues {
    places: Places,
    queues: Vec<Ordered>,
    /// The queue of each CPU.
    queue_of: Vec<usize>,
    /// For each queue, all queues from the nearest.
    nearest: Vec<Vec<usize>>,
    interactive: bool,
}

/// MuQSS.
pub type Muqss = VirtualDeadlines<Queues>;

impl Registered for Muqss {
    const ABOUT: About = About {
        name: "muqss",
        summary: "MuQSS: BFS's virtual deadlines in an ordered queue for each cache; CPUs compare the first of all.",
        source: "Con Kolivas, MuQSS 0.210; specs section 6.2",
        needs: Needs { tick: false, timer: false, balance: false, global_lock: false },
    };
    type Settings = Settings;

    fn new(machine: &Machine, settings: Settings, _: Seed) -> Self {
        let rules = Rules {
            slice: Span(settings.rr_interval << 20),
            iso_cpu: settings.iso_cpu,
            yield_type: settings.yield_type,
            iso: settings.iso,
        };
        VirtualDeadlines::with(machine, rules, Queues::new(machine, &settings))
    }
}

impl Queues {
    fn new(machine: &Machine, settings: &Settings) -> Queues {
        let first_of = |cpu: CpuId| match settings.rqshare {
            RqShare::Nobody => cpu,
            RqShare::Smt => machine.group(cpu, Level::Smt)[0],
            RqShare::Mc => machine.group(cpu, Level::Cache)[0],
            RqShare::Smp => CpuId(0),
        };
        let mut leaders: Vec<CpuId> = machine.cpu_ids().map(first_of).collect();
        leaders.sort();
        leaders.dedup();
        let index = |leader: CpuId| leaders.binary_search(&leader).expect("each CPU has a leader");
        let order = |from: CpuId| {
            let mut others: Vec<usize> = (0..leaders.len()).collect();
            others.sort_by_key(|to| (machine.distance(from, leaders[*to]).map_or(0, |d| 1 + d as usize), *to));
            others
        };
        Queues {
            places: Places::default(),
            queues: vec![Ordered::default(); leaders.len()],
            queue_of: machine.cpu_ids().map(|cpu| index(first_of(cpu))).collect(),
            nearest: leaders.iter().map(|leader| order(*leader)).collect(),
            interactive: settings.interactive,
        }
    }

    fn of(&self, entity: &Entity) -> usize {
        self.queue_of[entity.home.index()]
    }
}

/// Maps levels to ranges of keys: real-time levels and ISO by number, then normal tasks by deadline, then idle ones.
fn key(entity: &Entity) -> i64 {
    let deadline = entity.deadline.0 as i64;
    match entity.level {
        NORMAL => deadline,
        IDLE => deadline.saturating_add(i64::MAX / 2),
        level => i64::MIN + i64::from(level),
    }
}

impl Waiting for Queues {
    fn reserve(&mut self, count: usize) {
        self.places.reserve(count);
    }

    fn insert(&mut self, cx: &Context, task: TaskId, entity: &Entity, first: bool) {
        let queue = self.of(entity);
        self.queues[queue].insert_at(&mut self.places, cx, task, key(entity), first && entity.level < NORMAL);
    }

    fn remove(&mut self, cx: &Context, task: TaskId, entity: &Entity) {
        let queue = self.of(entity);
        self.queues[queue].remove(&mut self.places, cx, task);
    }

    fn best(&self, cx: &Context, cpu: CpuId, _: &PerTask<Entity>) -> Option<TaskId> {
        let mut best: Option<(i64, TaskId)> = None;
        for queue in &self.nearest[self.queue_of[cpu.index()]] {
            cx.examined(Effort::Search, 1);
            // The search itself counts only what an affinity makes it pass over.
            if let Some((task, key)) = self.queues[*queue].first_allowed_uncounted(&self.places, cx, cpu)
                && best.is_none_or(|(least, _)| key < least)
            {
                best = Some((key, task));
            }
            if best.is_some() && !self.interactive {
                break;
            }
        }
        best.map(|(_, task)| task)
    }

    fn some_iso(&self, entities: &PerTask<Entity>) -> Option<TaskId> {
        self.queues.iter().find_map(|queue| {
            let waiting = queue.iter(&self.places).take_while(|task| entities[*task].level <= ISO);
            waiting.filter(|task| entities[*task].level == ISO).last()
        })
    }
}
