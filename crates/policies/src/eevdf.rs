//! EEVDF, the fair class of Linux since 6.6: earliest eligible virtual deadline first.
//!
//! Idea: every task has a virtual runtime that advances inversely to its weight. The queue's average V is the service
//! an ideal machine would have given every task. A task is eligible while it is not ahead of V. Of the eligible tasks,
//! the one with the earliest virtual deadline runs. A deadline is one slice of virtual time away, so slices determine
//! latency and weights determine shares, independently. A task's lag (the service it is owed) is kept when it leaves.
//!
//! Source: specs sections 5.2 to 5.7; oracle recordings of 6.12.107 and 6.18.15. Profiles (`kernel`): `6.6` and
//! `6.12.0` as released; `6.12` is the stable kernel with its later backports (0.70 ms slice, protection ends at ticks,
//! yield gives the slice away); `6.15` and `6.18` likewise.
//! Deviations: no task groups, bandwidth limits or core scheduling; SCHED_ISO and SCHED_DEADLINE count as normal; load
//! balance weighs queues by their current weight instead of the decayed average.
//! Weakness: slices below the tick are rounded up to it; a protected task makes short requests wait.

mod rules;

use crate::parts::fair::weight::Weight;
use crate::parts::fair::{Arrival, Departure, Order, Stack};
use goodness_core::{About, Class, Context, CpuId, Effort, Machine, Needs, PerTask, Span, TaskId};
use goodness_queues::{Nodes, Tally, Tree};
use rules::Rules;

goodness_core::choices! {
    /// Kernel whose fair class is modelled.
    pub enum Kernel { V6_6 = "6.6", V6_12_0 = "6.12.0", V6_12 = "6.12", V6_15 = "6.15", V6_18 = "6.18" }
}

goodness_core::tunables! {
    pub struct Settings {
        /// Kernel whose behaviour and defaults apply; `6.12` is the stable kernel with its backports.
        kernel: Kernel = Kernel::V6_12;
        /// Slice of a task that requests none, before scaling by the number of CPUs.
        base_slice: Option<Span> = None, in Span::from_us(100) => Span::from_ms(100);
        /// Keep a task's lag while it sleeps.
        place_lag: Option<bool> = None;
        /// Put a new task's first deadline half a slice away.
        place_deadline_initial: Option<bool> = None;
        /// Keep the distance to the deadline at migration and renice.
        place_rel_deadline: Option<bool> = None;
        /// Protect a task that was picked until its slice is used, while eligible.
        run_to_parity: Option<bool> = None;
        /// End that protection when a task with a shorter slice wakes.
        preempt_short: Option<bool> = None;
        /// Keep a task that sleeps owing CPU time queued until it has worked that off.
        delay_dequeue: Option<bool> = None;
        /// Reset a positive lag that a delayed task has gained by waiting.
        delay_zero: Option<bool> = None;
        /// Let woken tasks preempt.
        wakeup_preemption: bool = true;
        /// Favour the task woken last at the next pick.
        next_buddy: bool = false;
        /// Reconsider a task that has used up its protection at every tick, not only at its deadline.
        expire_protection: Option<bool> = None;
        /// Make a yield give up the whole slice, instead of only delaying the deadline.
        yield_forfeits: Option<bool> = None;
    }
}

/// EEVDF below the real-time classes.
pub type Eevdf = Stack<VirtualDeadlines>;

const NOBODY: u32 = u32::MAX;
/// SCHED_IDLE.
const IDLE_WEIGHT: u64 = 3;
/// The value kept in the tree.
const RUNTIME: usize = 0;

/// State of one task.
#[derive(Clone, Copy, Debug, Default)]
struct Entity {
    /// Virtual runtime.
    runtime: i64,
    /// Virtual deadline; while `relative`, its distance from the virtual runtime.
    deadline: i64,
    /// Lag when it last left a queue, in virtual time; positive if it is owed service.
    lag: i64,
    /// Until which virtual runtime it is protected since it was picked.
    protected: i64,
    slice: u64,
    weight: Weight,
    cpu: CpuId,
    queued: bool,
    /// Asleep, but still queued until it has worked off its negative lag.
    delayed: bool,
    relative: bool,
    idle_class: bool,
}

/// The entities of one CPU. The current one is not in the tree but counts in all sums.
#[derive(Clone, Debug, Default)]
struct Queue {
    tree: Tree,
    current: u32,
    next: u32,
    /// Sums are kept relative to this virtual time.
    base: i64,
    /// Σ weight · (runtime − base) over all entities.
    sum: i128,
    /// Σ weight over all entities.
    load: u64,
    /// The requested slices of all entities.
    slices: Tally,
    /// Entities queued, the current and the delayed ones included.
    count: u32,
    delayed: u32,
}

/// The fair queues of all CPUs, ordered by virtual deadline.
#[derive(Debug)]
pub struct VirtualDeadlines {
    rules: Rules,
    nodes: Nodes<1>,
    entities: PerTask<Entity>,
    queues: Vec<Queue>,
}

impl VirtualDeadlines {
    /// The entity that runs on `cpu` or just stopped there, if it is still queued there.
    #[inline]
    fn running(&self, cpu: CpuId) -> Option<&Entity> {
        let current = self.queues[cpu.index()].current;
        if current == NOBODY {
            return None;
        }
        Some(&self.entities[TaskId(current)]).filter(|e| e.queued && e.cpu == cpu)
    }

    /// V, rounded down. For an empty queue, the last value.
    fn average(&mut self, cpu: CpuId) -> i64 {
        let queue = &mut self.queues[cpu.index()];
        let Queue { sum, load, .. } = *queue;
        if load == 0 {
            return queue.base;
        }
        let relative = match i64::try_from(sum) {
            Ok(small) => small.div_euclid(load as i64),
            Err(_) => sum.div_euclid(i128::from(load)) as i64,
        };
        queue.base += relative;
        queue.sum -= i128::from(queue.load) * i128::from(relative);
        queue.base
    }

    /// A test for "not ahead of V" that needs no division.
    #[inline]
    fn eligibility(&self, cpu: CpuId) -> impl Fn(i64) -> bool + use<> {
        let Queue { sum, load, base, .. } = self.queues[cpu.index()];
        move |runtime| sum >= i128::from(runtime - base) * i128::from(load)
    }

    fn tree_insert(&mut self, cx: &Context, cpu: CpuId, task: u32) {
        let it = &self.entities[TaskId(task)];
        let tree = &mut self.queues[cpu.index()].tree;
        let levels = tree.insert(&mut self.nodes, task, it.deadline, [it.runtime]);
        cx.examined(Effort::Insert, levels);
    }

    fn tree_remove(&mut self, cx: &Context, cpu: CpuId, task: u32) {
        let levels = self.queues[cpu.index()].tree.remove(&mut self.nodes, task);
        cx.examined(Effort::Insert, levels);
    }

    /// Adds `task`, whose virtual runtime and deadline are set, to the sums of `cpu`.
    fn add(&mut self, cx: &Context, cpu: CpuId, task: TaskId) {
        let it = &self.entities[task];
        let queue = &mut self.queues[cpu.index()];
        queue.sum += i128::from(it.runtime - queue.base) * i128::from(it.weight.value);
        queue.load += it.weight.value;
        queue.slices.add(it.slice);
        queue.count += 1;
        if queue.current != task.0 {
            self.tree_insert(cx, cpu, task.0);
        }
    }

    /// The opposite of `add`.
    fn subtract(&mut self, cx: &Context, cpu: CpuId, task: TaskId) {
        let it = &self.entities[task];
        let queue = &mut self.queues[cpu.index()];
        queue.sum -= i128::from(it.runtime - queue.base) * i128::from(it.weight.value);
        queue.load -= it.weight.value;
        queue.slices.remove(it.slice);
        queue.count -= 1;
        if queue.current != task.0 {
            self.tree_remove(cx, cpu, task.0);
        }
    }

    /// The current entity moves on by `distance` of virtual time.
    #[inline]
    fn advance(&mut self, cpu: CpuId, distance: i64) -> &mut Entity {
        let queue = &mut self.queues[cpu.index()];
        let it = &mut self.entities[TaskId(queue.current)];
        it.runtime += distance;
        queue.sum += i128::from(distance) * i128::from(it.weight.value);
        it
    }

    /// Stores the lag of `task`: V − runtime, within limits.
    fn note_lag(&mut self, cpu: CpuId, task: TaskId) {
        let average = self.average(cpu);
        let longest = self.entities[task].slice;
        let it = &mut self.entities[task];
        let span = if self.rules.lag_by_slice_and_tick {
            longest + self.rules.tick
        } else {
            (2 * it.slice).max(self.rules.tick)
        };
        let limit = it.weight.virtual_time(span);
        it.lag = (average - it.runtime).clamp(-limit, limit);
    }

    /// Sets the virtual runtime and deadline of `task`, which is not part of the queue's sums.
    fn place(&mut self, cpu: CpuId, task: TaskId, initial: bool) {
        let average = self.average(cpu);
        let Queue { load, count: others, .. } = self.queues[cpu.index()];
        let rules = self.rules;
        let it = &mut self.entities[task];
        let mut lag = 0;
        if rules.place_lag && others > 0 && it.lag != 0 {
            // Joining moves V towards the newcomer; the lag is inflated so that it holds afterwards.
            let whole = i128::from(it.lag) * i128::from(load + it.weight.value);
            lag = (whole / i128::from(load.max(1))) as i64;
        }
        it.runtime = average - lag;
        if std::mem::take(&mut it.relative) {
            it.deadline += it.runtime;
            return;
        }
        let slice = it.weight.virtual_time(it.slice);
        let half = initial && rules.place_deadline_initial;
        it.deadline = it.runtime + if half { slice / 2 } else { slice };
    }

    /// Updates class, nice and slice of the task, and rescales its virtual times to the new weight.
    fn refresh(&mut self, cx: &Context, task: TaskId) {
        let it = &cx.tasks[task];
        let weight = Weight::of_task(it, IDLE_WEIGHT);
        let entity = &mut self.entities[task];
        entity.idle_class = it.class == Class::Idle;
        entity.slice = it.slice.map_or(self.rules.base_slice, |s| s.0.clamp(100_000, 100_000_000));
        if entity.weight != weight {
            entity.lag = entity.lag * entity.weight.value as i64 / weight.value as i64;
            if entity.relative {
                entity.deadline = entity.deadline * entity.weight.value as i64 / weight.value as i64;
            }
            entity.weight = weight;
        }
    }

    /// The election. `protect`: whether the current entity may insist on its slice.
    fn elect(&mut self, cx: &Context, cpu: CpuId, protect: bool) -> Option<TaskId> {
        let queue = &self.queues[cpu.index()];
        let current = self.running(cpu).map(|it| (TaskId(queue.current), it));
        if queue.count == 1 {
            return current.map(|(task, _)| task).or(queue.tree.first().map(TaskId));
        }
        let eligible = self.eligibility(cpu);
        if protect && queue.next != NOBODY && eligible(self.entities[TaskId(queue.next)].runtime) {
            return Some(TaskId(queue.next));
        }
        let current = current.filter(|(_, it)| eligible(it.runtime));
        if let Some((task, it)) = current
            && protect
            && it.protected > it.runtime
        {
            return Some(task);
        }
        let current = current.map(|(task, it)| (task, it.deadline));
        // Many comparisons against V: one division pays.
        let average = self.average(cpu);
        let queue = &self.queues[cpu.index()];
        let (best, levels) = queue.tree.first_where(&self.nodes, RUNTIME, |runtime| runtime <= average);
        cx.examined(Effort::Search, levels);
        match (current, best) {
            // Of equal deadlines, the current entity's counts as the latest.
            (Some((task, deadline)), Some(best)) if deadline < self.nodes.key(best) => Some(task),
            (Some((task, _)), None) => Some(task),
            (_, best) => best.map(TaskId),
        }
    }

    /// False if `woken` cannot win an election, judged by it and the current entity alone.
    fn would_win(&self, cpu: CpuId, woken: TaskId) -> bool {
        let (eligible, it) = (self.eligibility(cpu), &self.entities[woken]);
        let beaten = |current: &Entity| eligible(current.runtime) && current.deadline < it.deadline;
        let is_favoured = self.queues[cpu.index()].next == woken.0;
        eligible(it.runtime) && (is_favoured || !self.running(cpu).is_some_and(beaten))
    }

    /// Smallest slice of any task on `cpu`.
    fn least_slice(&self, cpu: CpuId) -> u64 {
        self.queues[cpu.index()].slices.least().unwrap_or(u64::MAX)
    }

    /// Starts the slice protection of the current entity, which was just switched in.
    fn protect(&mut self, cpu: CpuId) {
        let least = if self.rules.run_to_parity { self.least_slice(cpu) } else { self.rules.base_slice };
        let current = TaskId(self.queues[cpu.index()].current);
        let rules = self.rules;
        let it = &mut self.entities[current];
        it.protected = match (rules.expire_protection, rules.run_to_parity) {
            (false, false) => it.runtime,
            (true, _) if least < it.slice => it.deadline.min(it.runtime + it.weight.virtual_time(least)),
            _ => it.deadline,
        };
    }

    /// Removes a task from the queue and stores its lag.
    fn detach(&mut self, cx: &Context, cpu: CpuId, task: TaskId) {
        self.note_lag(cpu, task);
        self.subtract(cx, cpu, task);
        let it = &mut self.entities[task];
        it.queued = false;
        let delayed = std::mem::take(&mut it.delayed);
        if delayed && self.rules.delay_zero {
            it.lag = it.lag.min(0);
        }
        let queue = &mut self.queues[cpu.index()];
        queue.delayed -= u32::from(delayed);
        if queue.next == task.0 {
            queue.next = NOBODY;
        }
    }

    /// Makes no entity current. The previous one, if still queued, goes behind its equals.
    fn put_back(&mut self, cx: &Context, cpu: CpuId) {
        let still_queued = self.running(cpu).is_some();
        let current = std::mem::replace(&mut self.queues[cpu.index()].current, NOBODY);
        if still_queued {
            self.tree_insert(cx, cpu, current);
        }
    }

    /// Makes `task` the current entity of `cpu`.
    fn switch_to(&mut self, cx: &Context, cpu: CpuId, task: TaskId) {
        if self.queues[cpu.index()].current == task.0 {
            return;
        }
        self.put_back(cx, cpu);
        self.tree_remove(cx, cpu, task.0);
        let queue = &mut self.queues[cpu.index()];
        queue.current = task.0;
        if queue.next == task.0 {
            queue.next = NOBODY;
        }
        self.protect(cpu);
    }
}

impl Order for VirtualDeadlines {
    const ABOUT: About = About {
        name: "eevdf",
        summary: "Linux since 6.6: of the tasks that are not ahead of their share, the earliest virtual deadline.",
        source: "specs section 5.2-5.7; Stoica and Abdel-Wahab 1995",
        needs: Needs { tick: true, timer: true, balance: true, global_lock: false },
    };
    type Settings = Settings;

    fn new(machine: &Machine, settings: &Settings) -> Self {
        let empty = Queue { current: NOBODY, next: NOBODY, ..Queue::default() };
        VirtualDeadlines {
            rules: Rules::new(machine, settings),
            nodes: Nodes::default(),
            entities: PerTask::default(),
            queues: vec![empty; machine.cpu_count()],
        }
    }

    fn has_fair_server(&self) -> bool {
        self.rules.fair_server
    }

    fn admit(&mut self, _: &Context, task: TaskId) {
        self.nodes.reserve(task.index() + 1);
        self.entities.admit(task);
    }

    fn home(&self, task: TaskId) -> Option<CpuId> {
        let it = &self.entities[task];
        it.queued.then_some(it.cpu)
    }

    fn weight(&self, task: TaskId) -> u64 {
        self.entities[task].weight.value
    }

    fn queued(&self, cpu: CpuId) -> u32 {
        self.queues[cpu.index()].count
    }

    fn runnable(&self, cpu: CpuId) -> u32 {
        let queue = &self.queues[cpu.index()];
        queue.count - queue.delayed
    }

    fn enqueue(&mut self, cx: &Context, cpu: CpuId, task: TaskId, how: Arrival) {
        self.refresh(cx, task);
        if how == Arrival::Fork {
            self.entities[task].lag = 0;
            self.entities[task].relative = false;
        }
        self.place(cpu, task, how == Arrival::Fork);
        let it = &mut self.entities[task];
        it.queued = true;
        it.cpu = cpu;
        self.add(cx, cpu, task);
        if self.queues[cpu.index()].current == task.0 {
            self.protect(cpu);
        }
    }

    fn dequeue(&mut self, cx: &Context, cpu: CpuId, task: TaskId, how: Departure) {
        if how == Departure::Sleep && self.rules.delay_dequeue {
            let eligible = self.eligibility(cpu);
            let it = &mut self.entities[task];
            if !eligible(it.runtime) {
                it.delayed = true;
                self.queues[cpu.index()].delayed += 1;
                return;
            }
        }
        self.detach(cx, cpu, task);
        let it = &mut self.entities[task];
        if how == Departure::Move && self.rules.place_rel_deadline {
            it.deadline -= it.runtime;
            it.relative = true;
        }
    }

    fn rewake(&mut self, cx: &Context, cpu: CpuId, task: TaskId) {
        self.note_lag(cpu, task);
        let it = &mut self.entities[task];
        it.delayed = false;
        self.queues[cpu.index()].delayed -= 1;
        if self.rules.delay_zero && self.entities[task].lag > 0 {
            self.subtract(cx, cpu, task);
            self.entities[task].lag = 0;
            self.place(cpu, task, false);
            self.add(cx, cpu, task);
        }
    }

    fn account(&mut self, cpu: CpuId, ran: Span) -> bool {
        let queue = &self.queues[cpu.index()];
        if queue.current == NOBODY {
            return false;
        }
        let alone = queue.count == 1;
        let weight = self.entities[TaskId(queue.current)].weight;
        let it = self.advance(cpu, weight.virtual_time(ran.0));
        let finished = it.runtime >= it.deadline;
        if finished {
            it.deadline = it.runtime + it.weight.virtual_time(it.slice);
        }
        let Entity { runtime, protected, .. } = *it;
        let unprotected = self.rules.expire_protection && protected <= runtime;
        let again = !alone && (finished || unprotected);
        if again {
            self.queues[cpu.index()].next = NOBODY;
        }
        again
    }

    fn tick(&mut self, _: &Context, _: CpuId) -> bool {
        false
    }

    fn yields(&mut self, cpu: CpuId) {
        let queue = &self.queues[cpu.index()];
        if queue.count <= 1 || queue.current == NOBODY {
            return;
        }
        let current = TaskId(queue.current);
        let eligible = self.eligibility(cpu)(self.entities[current].runtime);
        let Entity { weight, slice, runtime, deadline, .. } = self.entities[current];
        let slice = weight.virtual_time(slice);
        if !self.rules.yield_forfeits {
            self.entities[current].deadline += slice;
        } else if eligible {
            self.advance(cpu, deadline - runtime).deadline += slice;
        }
    }

    fn class_decides(&mut self, cx: &Context, cpu: CpuId, woken: TaskId, is_fork: bool) -> Option<bool> {
        let queue = &mut self.queues[cpu.index()];
        if queue.current == NOBODY || !self.rules.wakeup_preemption {
            return Some(false);
        }
        if self.rules.next_buddy && !is_fork {
            queue.next = woken.0;
        }
        let (running, is_idle) = (&mut self.entities[TaskId(queue.current)], cx.tasks[woken].class == Class::Idle);
        if running.idle_class && !is_idle {
            running.protected = running.protected.min(running.runtime);
            return Some(true);
        }
        if running.idle_class != is_idle || cx.tasks[woken].class != Class::Normal { Some(false) } else { None }
    }

    fn preempts(&mut self, cx: &Context, cpu: CpuId, woken: TaskId) -> bool {
        let (current, it) = (TaskId(self.queues[cpu.index()].current), self.entities[woken]);
        let shorter = self.rules.preempt_short && it.slice < self.entities[current].slice;
        if self.would_win(cpu, woken) && self.elect(cx, cpu, !shorter) == Some(woken) {
            if shorter {
                let running = &mut self.entities[current];
                running.protected = running.protected.min(running.runtime);
            }
            return true;
        }
        if self.rules.run_to_parity && self.rules.expire_protection && shorter {
            let least = self.least_slice(cpu);
            let running = &mut self.entities[current];
            running.protected = running.protected.min(running.runtime + running.weight.virtual_time(least));
        }
        false
    }

    fn current(&self, cpu: CpuId) -> Option<TaskId> {
        self.running(cpu).map(|_| TaskId(self.queues[cpu.index()].current))
    }

    fn pick(&mut self, cx: &Context, cpu: CpuId) -> Option<TaskId> {
        while self.queues[cpu.index()].count > 0 {
            let Some(task) = self.elect(cx, cpu, true) else { break };
            if !self.entities[task].delayed {
                self.switch_to(cx, cpu, task);
                return Some(task);
            }
            self.detach(cx, cpu, task);
        }
        self.put_back(cx, cpu);
        None
    }

    fn put_current(&mut self, cx: &Context, cpu: CpuId) {
        self.put_back(cx, cpu);
    }

    fn first_waiting(&self, cpu: CpuId, accepts: &mut dyn FnMut(TaskId) -> bool) -> Option<TaskId> {
        let tree = &self.queues[cpu.index()].tree;
        tree.iter(&self.nodes).map(TaskId).find(|task| !self.entities[*task].delayed && accepts(*task))
    }
}

#[cfg(test)]
mod tests;
