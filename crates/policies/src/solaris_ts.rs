//! The time-sharing class of Solaris and illumos: a table gives, for each of 60 levels, the length of a turn and a
//! thread's new level after using it up, after sleeping, and after waiting too long.
//!
//! Idea: using a turn costs ten levels and brings a longer turn; sleeping brings fifty levels; a thread that waits for
//! a second is lifted as if it had slept. The table defines all behaviour; `default` and `server` are the two published
//! ones.
//!
//! Source: specs section 10. The tables are exact. Three points are from memory, as the sheet says (section 14 (8)):
//! new threads begin at level 29, fork, and yield.
//! General knowledge, not in the sheet: nice n moves the user priority by −3 n (±60 for the whole range). Levels 100 to
//! 159 are for real time; their turns are 1000, 800, 600, 400, 200 and 100 ms for each ten. A preempted thread goes to
//! the head of its level and keeps its turn; a lifted one does the same. Only a strictly better thread preempts.
//! Inferred: a woken thread is at 60 until it is picked, which replaces the return from the kernel. If a better one
//! waits by then, it goes to the head of its own level. Turns are counted in the machine's ticks, at least one.
//! Placement and stealing are in `per_cpu.rs`: an idle CPU takes the best thread of the most loaded queue.
//! `Task::priority` is the first level, at most 59. SCHED_FIFO has no turn; batch, iso and deadline tasks count as
//! normal, idle ones as nice 19.
//! Weakness: with many hogs, the lift each second brings all of them to level 50. Any thread that sleeps counts as
//! interactive.

use crate::parts::levels::Levels;
use crate::parts::per_cpu::PerCpu;
use crate::parts::reasons::by_priority;
use goodness_core::{
    About, Class, Context, CpuId, CpuPolicy, Dequeue, Effort, Enqueue, Idle, Machine, Needs, PerTask, Pick, Pull,
    Reason, Registered, Rejected, Resched, Seed, Span, Stop, Task, TaskId, Time, Why,
};
use goodness_queues::Links;

goodness_core::choices! {
    /// A dispatch table.
    pub enum Table { Default = "default", Server = "server" }
}

goodness_core::tunables! {
    pub struct Settings {
        /// Dispatch table of the time-sharing class.
        table: Table = Table::Default;
    }
}

/// Levels of the time-sharing class.
const TS_LEVELS: u8 = 60;
/// Priority of a thread that returns from sleep in the kernel.
const KERNEL: u8 = 60;
/// First level of the real-time class.
const REALTIME: u8 = 100;
/// All levels.
const LEVELS: u8 = 170;
/// Level of a thread without parent.
const FIRST_LEVEL: u8 = 29;
const SECOND: u64 = 1_000_000_000;
/// The tables count in ticks of HZ 100.
const TABLE_TICK: Span = Span::from_ms(10);

/// One row of the table: the rules of a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Row {
    /// Length of a turn, in ticks of 10 ms.
    quantum: u32,
    /// Level after a whole turn.
    expired: u8,
    /// Level after a sleep.
    slept: u8,
    /// Updates to be waited through before the lift.
    max_wait: u32,
    /// Level after the lift.
    waited: u8,
}

fn default_row(level: u8) -> Row {
    let quantum = [20, 16, 12, 8, 4, 4][usize::from(level / 10)];
    let lifted = match level {
        0..=29 => 50 + level / 10,
        30..=34 => 53,
        35..=39 => 54,
        40..=44 => 55,
        45 => 56,
        46 => 57,
        _ => 58,
    };
    match level {
        59 => Row { quantum: 2, expired: 49, slept: 59, max_wait: 32_000, waited: 59 },
        49..=58 => Row { quantum, expired: level - 10, slept: 58, max_wait: 0, waited: 59 },
        _ => Row { quantum, expired: level.saturating_sub(10), slept: lifted, max_wait: 0, waited: lifted },
    }
}

fn server_row(level: u8) -> Row {
    Row {
        quantum: match level {
            0 => 40,
            1..=19 => 38,
            20..=40 => 36,
            _ => 34,
        },
        expired: if level <= 20 { level / 2 } else { level - 10 },
        slept: (level + 1).min(59),
        max_wait: 2,
        waited: if level < 40 { 40 } else { (level + 1).min(59) },
    }
}

/// The rows of `table` by level.
fn rows(table: Table) -> [Row; TS_LEVELS as usize] {
    std::array::from_fn(|level| match table {
        Table::Default => default_row(level as u8),
        Table::Server => server_row(level as u8),
    })
}

/// Distance by which nice moves a thread from its level.
fn user_priority(task: &Task) -> i64 {
    let nice = if task.class == Class::Idle { 19 } else { task.nice.get() };
    -nice * i64::from(TS_LEVELS) / 20
}

#[derive(Clone, Copy, Debug, Default)]
struct Entity {
    /// Level of the table.
    level: u8,
    /// Priority at which it is queued or runs: `level` adjusted by nice, or a kernel or real-time level.
    priority: u8,
    /// Ticks left in its time slice.
    left: u32,
    /// Updates waited through.
    waited: u32,
    /// Slept in the kernel and has not returned to user mode yet.
    in_kernel: bool,
    queued_on: CpuId,
}

/// Dispatch queue of one CPU.
#[derive(Clone, Debug)]
struct Dispatch {
    queue: Levels<3>,
    current: Option<TaskId>,
}

/// The dispatch queues, the levels and the turns.
#[derive(Debug)]
pub struct SolarisTs {
    rows: [Row; TS_LEVELS as usize],
    /// Ticks of the machine in ten ticks of the table, rounded up.
    hz: u64,
    entities: PerTask<Entity>,
    links: Links,
    cpus: Vec<Dispatch>,
    load: PerCpu,
    runnable: usize,
    /// Threads that exist, which an update walks.
    living: u32,
    next_update: Time,
    /// Room for the threads of one update.
    lifted: Vec<TaskId>,
}

impl Registered for SolarisTs {
    const ABOUT: About = About {
        name: "solaris-ts",
        summary: "Solaris time sharing: a table sets a task's level after a used-up quantum, a sleep or a long wait.",
        source: "illumos ts_dptbl and ts.c; specs section 10",
        needs: Needs { tick: true, timer: true, balance: true, global_lock: false },
    };
    type Settings = Settings;

    fn new(machine: &Machine, settings: Settings, _: Seed) -> Self {
        SolarisTs {
            rows: rows(settings.table),
            hz: u64::from(machine.hz),
            entities: PerTask::default(),
            links: Links::default(),
            cpus: vec![Dispatch { queue: Levels::new(usize::from(LEVELS)), current: None }; machine.cpu_count()],
            load: PerCpu::all(machine),
            runnable: 0,
            living: 0,
            next_update: Time(SECOND),
            lifted: Vec::new(),
        }
    }
}

impl CpuPolicy for SolarisTs {
    fn admit(&mut self, cx: &Context, task: TaskId, parent: Option<TaskId>) -> Result<(), Rejected> {
        self.living += 1;
        self.links.reserve(task.index() + 1);
        self.lifted.reserve(task.index() + 1);
        let own = cx.tasks[task].priority.map_or(FIRST_LEVEL, |level| level.min(TS_LEVELS - 1));
        let level = parent.map_or(own, |p| self.entities[p].level);
        self.entities.admit(task).level = level;
        self.begin_turn(cx, task);
        Ok(())
    }

    fn exit(&mut self, _: &Context, _: TaskId) {
        self.living -= 1;
    }

    fn select_cpu(&mut self, cx: &Context, task: TaskId, _: &Enqueue) -> CpuId {
        self.load.select(cx, task)
    }

    fn enqueue(&mut self, cx: &Context, cpu: CpuId, task: TaskId, why: Enqueue) -> Resched {
        self.wake_the_clock(cx.now);
        let is_realtime = cx.tasks[task].class.is_realtime();
        if matches!(why, Enqueue::Wakeup { .. }) && !is_realtime {
            self.entities[task].level = self.rows[usize::from(self.entities[task].level)].slept;
            self.entities[task].in_kernel = true;
            self.begin_turn(cx, task);
        }
        self.set_priority(cx, task);
        let at_head = why == Enqueue::Preempted && self.entities[task].left > 0;
        if self.entities[task].left == 0 {
            self.begin_turn(cx, task);
        }
        self.push(cpu, task, at_head);
        self.load.queued(cpu);
        self.runnable += 1;
        self.preempt(cpu, self.entities[task].priority)
    }

    fn dequeue(&mut self, _: &Context, cpu: CpuId, task: TaskId, _: Dequeue) {
        self.remove(cpu, task);
        self.load.dequeued(cpu);
        self.runnable -= 1;
    }

    fn pick_next(&mut self, cx: &Context, cpu: CpuId) -> Option<Pick> {
        let task = self.dispatch(cx, cpu);
        self.cpus[cpu.index()].current = task;
        self.load.picked(cpu, task);
        task.map(|task| Pick { task, timeslice: None })
    }

    fn why(&self, _: &Context, _: CpuId, Why { ahead, waiting, is_pick }: Why) -> Option<Reason> {
        let [own, other] = [ahead?, waiting].map(|task| i64::from(self.entities[task].priority));
        // Some tasks go before their equals; which ones the queues do not keep.
        by_priority(own, other, is_pick).filter(|it| *it != Reason::First)
    }

    fn charge(&mut self, cx: &Context, cpu: CpuId, task: TaskId, _: Span, why: Stop) -> Resched {
        if why == Stop::Tick {
            return self.tick(cx, cpu, task);
        }
        self.cpus[cpu.index()].current = None;
        self.load.stopped(cpu);
        self.runnable -= 1;
        Resched::Keep
    }

    fn balance(&mut self, cx: &Context, cpu: CpuId, idle: Idle) -> Option<Pull> {
        match idle {
            Idle::Newly => self.load.steal(cx, cpu, |from| self.cpus[from.index()].queue.iter(&self.links)),
            Idle::Busy | Idle::Later => None,
        }
    }

    fn next_timer(&self) -> Option<Time> {
        (self.runnable > 0).then_some(self.next_update)
    }

    fn timer(&mut self, cx: &Context) -> Resched {
        if cx.now < self.next_update {
            return Resched::Keep;
        }
        self.next_update = Time(self.next_update.0 + SECOND);
        self.update(cx)
    }
}

impl SolarisTs {
    /// Restarts the updates, which pause while no thread is runnable. They come at whole seconds.
    fn wake_the_clock(&mut self, now: Time) {
        if self.runnable == 0 && now > self.next_update {
            self.next_update = Time((now.ns() / SECOND + 1) * SECOND);
        }
    }

    /// Sets the priority: the level adjusted by nice, or that of the kernel or real time.
    fn set_priority(&mut self, cx: &Context, task: TaskId) {
        let it = &cx.tasks[task];
        let entity = &mut self.entities[task];
        entity.priority = match () {
            () if it.class.is_realtime() => REALTIME + realtime_level(it),
            () if entity.in_kernel => KERNEL,
            () => (i64::from(entity.level) + user_priority(it)).clamp(0, i64::from(TS_LEVELS) - 1) as u8,
        };
    }

    /// A whole turn at the present level.
    fn begin_turn(&mut self, cx: &Context, task: TaskId) {
        let entity = &mut self.entities[task];
        let it = &cx.tasks[task];
        let quantum = match it.class.is_realtime() {
            true => [100, 80, 60, 40, 20, 10][usize::from(realtime_level(it) / 10)],
            false => self.rows[usize::from(entity.level)].quantum,
        };
        entity.left = (u64::from(quantum) * TABLE_TICK.0 * self.hz / SECOND).max(1) as u32;
        entity.waited = 0;
    }

    fn push(&mut self, cpu: CpuId, task: TaskId, at_head: bool) {
        let entity = &mut self.entities[task];
        entity.queued_on = cpu;
        let (list, queue) = (usize::from(LEVELS - 1 - entity.priority), &mut self.cpus[cpu.index()].queue);
        match at_head {
            true => queue.push_front(&mut self.links, list, task),
            false => queue.push_back(&mut self.links, list, task),
        }
    }

    fn remove(&mut self, cpu: CpuId, task: TaskId) {
        let list = usize::from(LEVELS - 1 - self.entities[task].priority);
        self.cpus[cpu.index()].queue.remove(&mut self.links, list, task);
    }

    /// The best priority that waits on `cpu`.
    fn best_waiting(&self, cpu: CpuId) -> Option<u8> {
        self.cpus[cpu.index()].queue.best().map(|list| LEVELS - 1 - list as u8)
    }

    /// True if a thread of `priority` preempts the task that runs on `cpu`.
    fn preempt(&self, cpu: CpuId, priority: u8) -> Resched {
        match self.cpus[cpu.index()].current {
            Some(it) if self.entities[it].priority < priority => Resched::Preempt(cpu),
            _ => Resched::Keep,
        }
    }

    /// Picks the best thread. On return from the kernel its own level may be below a waiting one.
    fn dispatch(&mut self, cx: &Context, cpu: CpuId) -> Option<TaskId> {
        loop {
            let queue = &self.cpus[cpu.index()].queue;
            let task = queue.front(queue.best()?)?;
            cx.examined(Effort::Search, 1);
            self.remove(cpu, task);
            if !std::mem::take(&mut self.entities[task].in_kernel) {
                return Some(task);
            }
            self.set_priority(cx, task);
            if self.best_waiting(cpu).is_none_or(|best| best <= self.entities[task].priority) {
                return Some(task);
            }
            self.push(cpu, task, true);
        }
    }

    fn tick(&mut self, cx: &Context, cpu: CpuId, task: TaskId) -> Resched {
        let it = &cx.tasks[task];
        let entity = &mut self.entities[task];
        if it.class != Class::Fifo {
            entity.left = entity.left.saturating_sub(1);
        }
        if entity.left == 0 {
            if !it.class.is_realtime() {
                entity.level = self.rows[usize::from(entity.level)].expired;
                self.set_priority(cx, task);
            }
            return Resched::Preempt(cpu);
        }
        match self.best_waiting(cpu) {
            Some(best) => self.preempt(cpu, best),
            None => Resched::Keep,
        }
    }

    /// Once a second: raises threads that have waited for a CPU longer than their level allows.
    fn update(&mut self, cx: &Context) -> Resched {
        let mut lifted = std::mem::take(&mut self.lifted);
        cx.examined(Effort::Recalculate, self.living);
        for dispatch in &self.cpus {
            for task in dispatch.queue.iter(&self.links).filter(|task| !cx.tasks[*task].class.is_realtime()) {
                let entity = &mut self.entities[task];
                entity.waited += 1;
                if entity.waited > self.rows[usize::from(entity.level)].max_wait {
                    lifted.push(task);
                }
            }
        }
        let mut answer = Resched::Keep;
        for task in lifted.drain(..) {
            let cpu = self.entities[task].queued_on;
            self.remove(cpu, task);
            let entity = &mut self.entities[task];
            entity.level = self.rows[usize::from(entity.level)].waited;
            entity.waited = 0;
            self.set_priority(cx, task);
            self.push(cpu, task, false);
            if let Resched::Preempt(cpu) = self.preempt(cpu, self.entities[task].priority) {
                answer = Resched::Preempt(cpu);
            }
        }
        self.lifted = lifted;
        answer
    }
}

/// The level of a real-time task in its class: 59 for priority 99.
fn realtime_level(task: &Task) -> u8 {
    let urgency = u16::from(task.rt_priority.clamp(1, 99)) - 1;
    (urgency * u16::from(TS_LEVELS - 1) / 98) as u8
}

#[cfg(test)]
mod tests;
