//! The machine: topology, tick and costs.

use crate::time::{Span, Time};
use std::fmt;

/// The most CPUs of a machine: those of Linux's largest builds. Idle CPUs of the fair classes each look at all others,
/// in one event: with more it would take minutes, in which Ctrl-C does nothing.
pub const CPUS_MAX: usize = 8_192;

/// A CPU's dense number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CpuId(pub u32);

impl CpuId {
    /// The last CPU of the largest machine.
    pub const LAST: CpuId = CpuId(CPUS_MAX as u32 - 1);

    /// The number as an index.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for CpuId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cpu {}", self.0)
    }
}

/// Distance between two CPUs; also the levels of the scheduling domains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Hardware threads of one core.
    Smt,
    /// Cores that share a last-level cache.
    Cache,
    /// CPUs of one memory node.
    Node,
    /// Everything.
    Machine,
}

impl Level {
    /// From the nearest to the farthest.
    pub const ALL: [Level; 4] = [Level::Smt, Level::Cache, Level::Node, Level::Machine];
}

/// Place of a CPU in the topology. Equal numbers mean shared hardware.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cpu {
    /// Core it belongs to.
    pub core: u32,
    /// Last-level cache it uses.
    pub cache: u32,
    /// Memory node it is nearest to.
    pub node: u32,
    /// Speed, 1024 for the fastest CPU of the machine.
    pub capacity: u32,
}

/// Costs that the host charges for its own work, all of them zero in an ideal machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Costs {
    /// Switching from one task to another, CPU time of the CPU that switches.
    pub switch: Span,
    /// Extra cost of a switch to another address space.
    pub address_space: Span,
    /// Waking a task, CPU time of the waker.
    pub wakeup: Span,
    /// CPU time of a timer tick, on the CPU it interrupts.
    pub tick: Span,
    /// From a wake-up or preemption request on another CPU until that CPU reacts.
    pub interrupt: Span,
    /// Delay from a wake-up that preempts on the same CPU until the preempted task is switched out. It continues its
    /// burst until then. A waker that would take another step at once stays in the kernel,
    /// but in work that was recorded and work with disks.
    pub preempt: Span,
    /// CPU time of a sleep call until the task is switched out, while the timer is already running. Extra cost of
    /// blocking; the rest is part of `switch`.
    pub sleep: Span,
    /// CPU time of the interrupt that ends a sleep, on the CPU it interrupts. It counts as part of the running burst,
    /// which continues meanwhile but ends no sooner than the interrupt; other host work waits.
    pub timer: Span,
    /// From the wake-up until an idle CPU runs its first instruction.
    pub idle_exit: Span,
    /// From the tick of a busy CPU until what it balances later: idle CPUs, and as a rule itself. A policy that does
    /// all at the tick ignores it.
    pub late_balance: Span,
    /// Extra CPU time of a task's first slice after a migration, by distance (see [`Level`]).
    pub migration: [Span; 4],
    /// Extra CPU time of a slice if another task ran on the CPU in between.
    pub cache_refill: Span,
    /// Passing a contended lock to its next owner.
    pub lock_handover: Span,
    /// CPU time per element examined, in the order of [`Effort::ALL`](crate::Effort::ALL).
    pub effort: [Span; 4],
    /// Block I/O.
    pub io: IoCosts,
}

/// CPU time of block I/O, all of it zero in an ideal machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IoCosts {
    /// Submitting an I/O, on the CPU of its submitter: the system call, the request and the driver.
    pub submit: Span,
    /// Each page of 4 KiB of it.
    pub page: Span,
    /// The interrupt that completes a request, on the CPU that submitted it.
    pub complete: Span,
    /// What a request costs more where an elevator queues it, whichever: a second tag, its place, the run of the queue.
    pub request: Span,
    /// Arming or cancelling a timer of an elevator, and what it starts.
    pub timer: Span,
    /// Per element that an elevator examines, in the order of [`Effort::ALL`](crate::Effort::ALL). The elevator's lock
    /// is held meanwhile.
    pub effort: [Span; 4],
}

impl IoCosts {
    /// True if block I/O takes no CPU time.
    #[must_use]
    pub fn are_free(&self) -> bool {
        *self == IoCosts::default()
    }
}

impl Costs {
    /// True if a switch costs nothing, neither directly nor through cold caches.
    #[must_use]
    pub fn switching_is_free(&self) -> bool {
        self.switch == Span::ZERO
            && self.address_space == Span::ZERO
            && self.cache_refill == Span::ZERO
            && self.migration == [Span::ZERO; 4]
    }
}

/// Threads of the kernel: one on each CPU, which runs from time to time beside any work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Workers {
    /// Mean time for which a thread sleeps, before the tick at which it wakes. It is exponentially distributed.
    pub every: Span,
    /// CPU time of each run.
    pub run: Span,
}

/// A machine: CPUs, topology, tick and costs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    /// Name of the preset or file.
    pub name: String,
    /// Timer interrupts per second and CPU.
    pub hz: u32,
    /// Time of the first tick; further ticks follow every 1/HZ.
    pub first_tick: Span,
    /// Costs of the host's own work.
    pub costs: Costs,
    /// Speed of a thread of a core while one other thread of it is busy, 1024 if they do not slow each other.
    pub sibling_speed: u32,
    /// Threads of its kernel, beside work that was not recorded; those of a recorded kernel are recorded tasks.
    pub workers: Option<Workers>,
    /// CPU time of each run of the kernel's threads that follow the end of a task, beside work that was not recorded;
    /// `None` if there are none.
    pub rcu_run: Option<Span>,
    is_unequal: bool,
    cpus: Vec<Cpu>,
    /// For each level and CPU, the index of its group in `groups`.
    group_of: [Vec<u32>; 4],
    groups: [Vec<Box<[CpuId]>>; 4],
}

impl Machine {
    /// A machine with these CPUs. Topology levels nest: CPUs of one core share a cache, and so on.
    ///
    /// # Errors
    /// No CPU, more than [`CPUS_MAX`], or no tick, as a sentence.
    pub fn new(name: &str, cpus: Vec<Cpu>, hz: u32) -> Result<Machine, String> {
        if cpus.is_empty() {
            return Err("a machine needs at least one CPU; write for example cpus = 1".into());
        }
        if cpus.len() > CPUS_MAX {
            return Err(format!("{} CPUs are more than the {CPUS_MAX} that are supported", cpus.len()));
        }
        if hz == 0 || hz > 100_000 {
            return Err(format!("hz = {hz} is outside 1 ..= 100000"));
        }
        let mut machine = Machine {
            name: name.into(),
            hz,
            first_tick: Span(1_000_000_000 / u64::from(hz)),
            costs: Costs::default(),
            sibling_speed: 1024,
            workers: None,
            rcu_run: None,
            is_unequal: cpus.iter().any(|cpu| cpu.capacity != cpus[0].capacity),
            group_of: std::array::from_fn(|_| Vec::new()),
            groups: std::array::from_fn(|_| Vec::new()),
            cpus,
        };
        for level in Level::ALL {
            machine.build_groups(level);
        }
        Ok(machine)
    }

    /// `count` equal CPUs that share one cache, without SMT and without costs.
    ///
    /// # Errors
    /// As [`Machine::new`].
    pub fn flat(count: u32, hz: u32) -> Result<Machine, String> {
        let cpus = (0..count.min(65_537)).map(|i| Cpu { core: i, cache: 0, node: 0, capacity: 1024 }).collect();
        Machine::new("flat", cpus, hz)
    }

    fn build_groups(&mut self, level: Level) {
        let key = |cpu: &Cpu| match level {
            Level::Smt => (cpu.core, cpu.cache, cpu.node),
            Level::Cache => (cpu.cache, cpu.node, 0),
            Level::Node => (cpu.node, 0, 0),
            Level::Machine => (0, 0, 0),
        };
        let mut members = std::collections::BTreeMap::<_, Vec<CpuId>>::new();
        for (i, cpu) in self.cpus.iter().enumerate() {
            members.entry(key(cpu)).or_default().push(CpuId(i as u32));
        }
        let mut group_of = vec![0; self.cpus.len()];
        let mut groups: Vec<Box<[CpuId]>> = members.into_values().map(Vec::into_boxed_slice).collect();
        groups.sort_by_key(|g| g[0]);
        for (index, group) in groups.iter().enumerate() {
            for cpu in group {
                group_of[cpu.index()] = index as u32;
            }
        }
        self.group_of[level as usize] = group_of;
        self.groups[level as usize] = groups;
    }

    /// Number of CPUs.
    #[must_use]
    pub fn cpu_count(&self) -> usize {
        self.cpus.len()
    }

    /// All CPUs in order.
    pub fn cpu_ids(&self) -> impl DoubleEndedIterator<Item = CpuId> + use<> {
        (0..self.cpus.len() as u32).map(CpuId)
    }

    /// Place of `cpu` in the topology.
    #[must_use]
    pub fn cpu(&self, cpu: CpuId) -> &Cpu {
        &self.cpus[cpu.index()]
    }

    /// The CPUs that share `level` with `cpu`, including itself, ascending.
    #[inline]
    #[must_use]
    pub fn group(&self, cpu: CpuId, level: Level) -> &[CpuId] {
        &self.groups[level as usize][self.group_of[level as usize][cpu.index()] as usize]
    }

    /// All neighbourhoods of `level`, ascending by their first CPU.
    #[must_use]
    pub fn groups(&self, level: Level) -> &[Box<[CpuId]>] {
        &self.groups[level as usize]
    }

    /// The reason for which idle CPUs cannot be balanced so late; `None` if they can.
    #[must_use]
    pub fn late_balance_is_late(&self) -> Option<String> {
        let (delay, tick) = (self.costs.late_balance, self.tick());
        (delay >= tick).then(|| format!("late_balance = {delay} is no shorter than a tick, {tick}"))
    }

    /// True if some CPU is faster than another.
    #[inline]
    #[must_use]
    pub fn is_unequal(&self) -> bool {
        self.is_unequal
    }

    /// True if the threads of some core slow each other.
    #[must_use]
    pub fn siblings_slow(&self) -> bool {
        self.sibling_speed < 1024 && self.groups(Level::Smt).len() < self.cpu_count()
    }

    /// Speed of `cpu`, 1024 for a full one, while `busy` threads of its core run tasks. Two do twice the work of
    /// [`Machine::sibling_speed`] together; more threads share what two do.
    #[must_use]
    pub fn speed(&self, cpu: CpuId, busy: usize) -> u32 {
        let capacity = self.cpu(cpu).capacity;
        if busy < 2 { capacity } else { (capacity * self.sibling_speed / 512 / busy as u32).max(1) }
    }

    /// The nearest level that contains both CPUs; `None` for the same CPU.
    #[must_use]
    pub fn distance(&self, a: CpuId, b: CpuId) -> Option<Level> {
        if a == b {
            return None;
        }
        Level::ALL.into_iter().find(|l| {
            let of = &self.group_of[*l as usize];
            of[a.index()] == of[b.index()]
        })
    }

    /// The tick period, rounded down to the nanosecond.
    #[inline]
    #[must_use]
    pub fn tick(&self) -> Span {
        Span(1_000_000_000 / u64::from(self.hz))
    }

    /// The first tick strictly after `now`. Ticks do not drift: the k-th after the first comes at `first_tick + k/HZ`.
    #[inline]
    #[must_use]
    pub fn next_tick(&self, now: Time) -> Time {
        let first = self.first_tick.0;
        if now.0 < first {
            return Time(first);
        }
        let hz = u64::from(self.hz);
        let passed = now.0 - first;
        if 1_000_000_000 % hz == 0 {
            let tick = 1_000_000_000 / hz;
            return Time(first + (passed / tick + 1) * tick);
        }
        let at = |k: u128| (k * 1_000_000_000 / u128::from(hz)) as u64;
        let mut k = u128::from(passed) * u128::from(hz) / 1_000_000_000;
        while at(k) <= passed {
            k += 1;
        }
        Time(first + at(k))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_do_not_drift_at_hz_1024() {
        let machine = Machine::flat(1, 1024).unwrap();
        let mut at = Time(machine.first_tick.0);
        for _ in 0..1024 {
            at = machine.next_tick(at);
        }
        assert_eq!(at.0 - machine.first_tick.0, 1_000_000_000);
    }

    #[test]
    fn neighbourhoods_follow_the_topology() {
        let cpus = (0..8).map(|i| Cpu { core: i / 2, cache: i / 4, node: 0, capacity: 1024 }).collect();
        let machine = Machine::new("smt", cpus, 250).unwrap();
        assert_eq!(machine.group(CpuId(3), Level::Smt), [CpuId(2), CpuId(3)]);
        assert_eq!(machine.distance(CpuId(0), CpuId(1)), Some(Level::Smt));
        assert_eq!(machine.distance(CpuId(0), CpuId(3)), Some(Level::Cache));
        assert_eq!(machine.distance(CpuId(0), CpuId(4)), Some(Level::Node));
        assert_eq!(machine.distance(CpuId(5), CpuId(5)), None);
    }

    #[test]
    fn a_machine_without_cpus_is_refused() {
        assert!(Machine::flat(0, 250).unwrap_err().contains("at least one CPU"));
        assert!(Machine::flat(1, 0).is_err());
    }
}
