//! scx_rusty: a dispatch queue per last-level cache, balanced every 2 s.
//!
//! Idea: CPUs that share a cache share a queue ordered by weighted CPU time, so that tasks stay near their cache. Every
//! 2 s a balancer compares the domains' loads and moves waiting tasks; in between, idle CPUs take tasks from other
//! domains. Slices are long until the machine is over-utilised, then short.
//!
//! Source: specs section 12. The kernel side, with departures, is in `scx.rs`.
//! General knowledge, not in the sheet (M): a task may lag by one slice behind its domain's virtual time; a move keeps
//! its distance to that.
//! Inferred, by simple choices: a machine is over-utilised if it is at least 99 % busy in a period of the tuner. Load
//! is the weight of a domain's runnable tasks divided by its CPUs, averaged with a half-life of 1 s in steps of the
//! tuner. The balancer moves waiting tasks, in queue order, from the most to the least loaded domain, as long as each
//! move brings the two closer. In the original it runs outside the kernel; here its effort is the tasks it examines.
//! Weakness: imbalance can last up to 2 s. Within a domain it is scx_simple.

use crate::parts::scx::{Ext, Kernel, SLICE, Scheduler, virtual_time, weight};
use goodness_core::policy::previous_cpu;
use goodness_core::{
    About, Context, CpuId, Effort, Enqueue, Level, Machine, Needs, PerTask, Span, Stop, TaskId, Time,
};

goodness_core::tunables! {
    pub struct Settings {
        /// Slice while the machine has room.
        slice_underutil: Span = SLICE, in Span::from_us(100) => Span::from_s(1);
        /// Slice while all CPUs are busy.
        slice_overutil: Span = Span::from_ms(1), in Span::from_us(100) => Span::from_s(1);
    }
}

/// Least number of waiting tasks for an idle CPU of another domain to steal one.
const GREEDY_THRESHOLD: usize = 1;
/// Period of the tuner.
const TUNE: u64 = 100_000_000;
/// Periods of the tuner between two balances: 2 s.
const BALANCE_EVERY: u64 = 20;
/// Share of the load kept per tuner period: 0.5^0.1 of [`ONE`], for a half-life of 1 s.
const KEPT: u64 = 61_147;
const ONE: u64 = 65_536;
/// Per cent of CPU time from which on the machine counts as over-utilised.
const FULL: u64 = 99;

#[derive(Clone, Copy, Debug, Default)]
struct Entity {
    domain: usize,
    vtime: i64,
    /// Weight it adds to its domain; 0 while it sleeps.
    weight: u64,
}

/// The CPUs of one last-level cache.
#[derive(Clone, Copy, Debug, Default)]
struct Domain {
    cpus: u64,
    vtime_now: i64,
    /// Weight of its runnable tasks.
    weight: u64,
    /// Average load per CPU, in 1/[`ONE`].
    load: u64,
}

/// Domains, virtual times, tuner and balancer.
#[derive(Debug)]
pub struct Rusty {
    settings: Settings,
    entities: PerTask<Entity>,
    domains: Vec<Domain>,
    domain_of: Vec<usize>,
    slice: Span,
    /// Periods of the tuner that are over.
    period: u64,
    tuned_at: Time,
    busy: u64,
    /// Start of each CPU's current slice.
    since: Vec<Option<Time>>,
    /// Room for the tasks of one balance.
    moving: Vec<TaskId>,
}

/// scx_rusty in its kernel.
pub type ScxRusty = Ext<Rusty>;

impl Rusty {
    /// The task's domain, or that of `cpu` if its affinity has left it.
    fn domain_for(&mut self, cx: &Context, cpu: CpuId, task: TaskId) -> usize {
        let (domain, affinity) = (self.entities[task].domain, &cx.tasks[task].affinity);
        if domain == self.domain_of[cpu.index()] {
            return domain;
        }
        let allowed = cx.machine.groups(Level::Cache)[domain].iter().any(|cpu| affinity.contains(*cpu));
        if !allowed {
            self.move_to(task, self.domain_of[cpu.index()]);
        }
        self.entities[task].domain
    }

    /// Moves the task to another domain, keeping its position relative to the domain's vruntime.
    fn move_to(&mut self, task: TaskId, domain: usize) {
        let entity = &mut self.entities[task];
        let from = std::mem::replace(&mut entity.domain, domain);
        entity.vtime += self.domains[domain].vtime_now - self.domains[from].vtime_now;
        self.domains[from].weight -= entity.weight;
        self.domains[domain].weight += entity.weight;
    }

    fn queue(&mut self, cx: &Context, kernel: &mut Kernel, task: TaskId) {
        let entity = &mut self.entities[task];
        entity.vtime = entity.vtime.max(self.domains[entity.domain].vtime_now - self.slice.0 as i64);
        kernel.insert_ordered(cx, entity.domain, task, self.slice, entity.vtime);
    }

    /// Sets the weight of `task`.
    fn weigh(&mut self, task: TaskId, weight: u64) {
        let entity = &mut self.entities[task];
        let domain = &mut self.domains[entity.domain];
        domain.weight = domain.weight - entity.weight + weight;
        entity.weight = weight;
    }

    /// One tuner period: decays the loads and sets the slice from the utilisation.
    fn tune(&mut self, now: Time) {
        for since in self.since.iter_mut().flatten() {
            self.busy += now.since(*since).0;
            *since = now;
        }
        let all = now.since(self.tuned_at).0 * self.since.len() as u64;
        let over = all > 0 && self.busy * 100 >= all * FULL;
        self.slice = if over { self.settings.slice_overutil } else { self.settings.slice_underutil };
        self.tuned_at = now;
        self.busy = 0;
        for domain in &mut self.domains {
            let present = domain.weight * ONE / domain.cpus;
            domain.load = (domain.load * KEPT + present * (ONE - KEPT)) / ONE;
        }
    }

    /// Moves waiting tasks from the most to the least loaded domain.
    fn balance(&mut self, cx: &Context, kernel: &mut Kernel) {
        cx.examined(Effort::Balance, self.domains.len() as u32);
        let order = |index: &usize| (self.domains[*index].load, *index);
        let Some(busiest) = (0..self.domains.len()).max_by_key(order) else { return };
        let Some(idlest) = (0..self.domains.len()).min_by_key(order) else { return };
        if busiest == idlest {
            return;
        }
        let (high, low) = (self.domains[busiest], self.domains[idlest]);
        // Moving weight w changes the loads by w / CPUs of each; they meet half-way.
        let mut room = (high.load - low.load) * high.cpus * low.cpus / (high.cpus + low.cpus) / ONE;
        let mut moving = std::mem::take(&mut self.moving);
        for task in kernel.iter(busiest) {
            if room == 0 {
                break;
            }
            cx.examined(Effort::Balance, 1);
            let weight = self.entities[task].weight;
            let affinity = &cx.tasks[task].affinity;
            let allowed = cx.machine.groups(Level::Cache)[idlest].iter().any(|cpu| affinity.contains(*cpu));
            if weight <= room && allowed {
                room -= weight;
                moving.push(task);
            }
        }
        for task in moving.drain(..) {
            kernel.remove(task);
            self.move_to(task, idlest);
            self.queue(cx, kernel, task);
        }
        self.moving = moving;
    }
}

impl Scheduler for Rusty {
    const ABOUT: About = About {
        name: "scx-rusty",
        summary: "A queue by weighted virtual time for each last-level cache, balanced every 2 s.",
        source: "sched-ext/scx scx_rusty; specs section 12",
        needs: Needs { tick: false, timer: true, balance: false, global_lock: false },
    };
    type Settings = Settings;

    fn new(machine: &Machine, settings: Settings) -> (Self, usize) {
        let caches = machine.groups(Level::Cache);
        let mut domain_of = vec![0; machine.cpu_count()];
        for (domain, cpus) in caches.iter().enumerate() {
            cpus.iter().for_each(|cpu| domain_of[cpu.index()] = domain);
        }
        let domains: Vec<Domain> =
            caches.iter().map(|cpus| Domain { cpus: cpus.len() as u64, ..Domain::default() }).collect();
        let queues = domains.len();
        let rusty = Rusty {
            slice: settings.slice_underutil,
            settings,
            entities: PerTask::default(),
            domains,
            domain_of,
            period: 0,
            tuned_at: Time::ZERO,
            busy: 0,
            since: vec![None; machine.cpu_count()],
            moving: Vec::new(),
        };
        (rusty, queues)
    }

    fn init_task(&mut self, cx: &Context, task: TaskId) {
        let domain = self.domain_of[previous_cpu(cx, task).index()];
        let vtime = self.domains[domain].vtime_now;
        *self.entities.admit(task) = Entity { domain, vtime, weight: 0 };
        self.moving.reserve(task.index() + 1);
    }

    fn runnable(&mut self, cx: &Context, kernel: &Kernel, task: TaskId, _: &Enqueue) {
        let now = cx.now.ns() / TUNE;
        if kernel.runnable() == 1 && now > self.period {
            // The tuner does not run while no task is runnable; that time was idle.
            let missed = (now - self.period).min(1000);
            self.period = now - missed;
            while self.period < now {
                self.period += 1;
                self.tune(Time(self.period * TUNE).max(self.tuned_at));
            }
        }
        self.weigh(task, weight(&cx.tasks[task]));
    }

    fn select_cpu(&mut self, cx: &Context, kernel: &Kernel, task: TaskId) -> CpuId {
        let home = previous_cpu(cx, task);
        let (domain, affinity) = (self.entities[task].domain, &cx.tasks[task].affinity);
        if self.domain_of[home.index()] == domain {
            return kernel.nearest_idle(cx, home, task).unwrap_or(home);
        }
        let mut own = cx.machine.groups(Level::Cache)[domain].iter().copied().filter(|cpu| affinity.contains(*cpu));
        let near = own.clone().find(|cpu| kernel.is_idle(*cpu));
        near.or_else(|| kernel.nearest_idle(cx, home, task)).or_else(|| own.next()).unwrap_or(home)
    }

    fn direct_slice(&self, _: &Context, _: &Kernel, _: TaskId) -> Span {
        self.slice
    }

    fn enqueue(&mut self, cx: &Context, kernel: &mut Kernel, cpu: CpuId, task: TaskId) {
        self.domain_for(cx, cpu, task);
        self.weigh(task, weight(&cx.tasks[task]));
        self.queue(cx, kernel, task);
    }

    fn dispatch(&mut self, cx: &Context, kernel: &mut Kernel, cpu: CpuId) -> Option<TaskId> {
        let (own, count) = (self.domain_of[cpu.index()], self.domains.len());
        if let Some(task) = kernel.take(cx, own, cpu) {
            return Some(task);
        }
        (1..count).map(|step| (own + step) % count).find_map(|domain| {
            cx.examined(Effort::Balance, 1);
            if kernel.queued(domain) >= GREEDY_THRESHOLD { kernel.take(cx, domain, cpu) } else { None }
        })
    }

    fn running(&mut self, cx: &Context, cpu: CpuId, task: TaskId) {
        let Entity { domain, vtime, .. } = self.entities[task];
        let domain = &mut self.domains[domain];
        domain.vtime_now = domain.vtime_now.max(vtime);
        self.since[cpu.index()] = Some(cx.now);
    }

    fn stopping(&mut self, cx: &Context, cpu: CpuId, task: TaskId, ran: Span, _: Stop) {
        self.entities[task].vtime += virtual_time(ran, weight(&cx.tasks[task]));
        self.busy += self.since[cpu.index()].take().map_or(0, |since| cx.now.since(since).0);
    }

    fn quiescent(&mut self, task: TaskId) {
        self.weigh(task, 0);
    }

    fn next_timer(&self) -> Option<Time> {
        Some(Time((self.period + 1) * TUNE))
    }

    fn timer(&mut self, cx: &Context, kernel: &mut Kernel) {
        if cx.now.ns() < (self.period + 1) * TUNE {
            return;
        }
        self.period += 1;
        self.tune(cx.now);
        if self.period.is_multiple_of(BALANCE_EVERY) {
            self.balance(cx, kernel);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rusty() -> Rusty {
        Rusty::new(&Machine::flat(2, 1000).unwrap(), Settings::default()).0
    }

    /// specs/cpu-schedulers.md 12: load half-life 1 s, tuner every 0.1 s
    #[test]
    fn a_load_halves_in_ten_periods_of_the_tuner() {
        let mut rusty = rusty();
        rusty.domains[0].load = 1000 * ONE;
        (1..=10).for_each(|period| rusty.tune(Time(period * TUNE)));
        assert_eq!(rusty.domains[0].load.div_ceil(ONE), 500);
    }

    /// specs/cpu-schedulers.md 12: slice 20 ms under-utilised, 1 ms over-utilised
    #[test]
    fn the_slice_falls_from_20_ms_to_1_when_both_cpus_were_busy() {
        let mut rusty = rusty();
        rusty.since = vec![Some(Time(0)), None];
        rusty.tune(Time(TUNE));
        assert_eq!(rusty.slice, Span::from_ms(20));
        rusty.since = vec![Some(Time(TUNE)); 2];
        rusty.tune(Time(2 * TUNE));
        assert_eq!(rusty.slice, Span::from_ms(1));
    }
}
