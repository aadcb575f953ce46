//! Scheduling domains: the groups of CPUs that balancing compares, how loaded each is, and how much should move.
//!
//! Source: specs/smp.md sections 1 and 3.4. A CPU's capacity is what real-time tasks leave of its own. Left out:
//! energy-aware choice, cache-aware balancing.

use super::capacity::is_greater;
use super::load::FULL;
use super::order::Version;
use goodness_core::{CpuId, Level, Machine};
use std::cmp::Reverse;

/// One level of balancing around a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Domain {
    /// The level.
    pub level: Level,
    /// The level below, whose groups are compared; `None` if each is one CPU.
    pub below: Option<Level>,
}

impl Domain {
    /// The domains of `cpu`, the smallest first: levels with more CPUs than the one below.
    pub fn around(machine: &Machine, cpu: CpuId) -> impl Iterator<Item = Domain> + '_ {
        let (mut size, mut below) = (1, None);
        Level::ALL.into_iter().filter_map(move |level| {
            let span = machine.group(cpu, level).len();
            let domain = Domain { level, below };
            let grows = span > size;
            below = Some(level);
            size = span;
            grows.then_some(domain)
        })
    }

    /// Load of the other side, in percent of the own, below which nothing moves.
    pub fn percent(self) -> u64 {
        if self.level == Level::Smt { 110 } else { 117 }
    }

    /// Failed passes after which tasks move although their data is still in the cache.
    pub fn tries(self) -> u32 {
        match self.level {
            Level::Smt => 0,
            Level::Cache | Level::Node => 1,
            Level::Machine => 2,
        }
    }

    /// True if its CPUs share a last-level cache.
    pub fn shares_cache(self) -> bool {
        self.level <= Level::Cache
    }

    /// Tasks in a memory node of `cpu` up to which nodes may be unequal, as long as these tasks may talk to each other
    /// (specs/smp.md section 7.3); 0 below the level of nodes.
    pub fn allowed(self, machine: &Machine, cpu: CpuId) -> u64 {
        if self.level < Level::Machine {
            return 0;
        }
        let [cache, node] = [Level::Cache, Level::Node].map(|level| machine.group(cpu, level).len() as u64);
        match node / cache {
            1 => (node / 8).max(1),
            caches => caches,
        }
    }

    /// The CPUs of the group of `cpu`.
    pub fn group(self, machine: &Machine, cpu: CpuId) -> &[CpuId] {
        match self.below {
            Some(level) => machine.group(cpu, level),
            None => {
                let span = machine.group(cpu, self.level);
                let place = span.partition_point(|other| *other < cpu);
                &span[place..=place]
            }
        }
    }

    /// The groups around `cpu`: its own, then the others in order, around the end.
    pub fn groups(self, machine: &Machine, cpu: CpuId) -> impl Iterator<Item = &[CpuId]> {
        let span = machine.group(cpu, self.level);
        let own = self.group(machine, cpu);
        let start = span.partition_point(|other| *other < own[0]);
        let around = (start..span.len()).chain(0..start).map(move |place| span[place]);
        around
            .filter(move |first| self.group(machine, *first)[0] == *first)
            .map(move |first| self.group(machine, first))
    }
}

/// Load of a group, rising.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// It has room for more.
    Spare,
    /// It is used up, and nobody waits.
    Full,
    /// A task is too large for its CPU; or real-time tasks use much of a lone one's CPU, seen from an idle CPU.
    Misfit,
    /// A core whose threads slow each other, seen from an idle CPU.
    SharedCore,
    /// A level below could not be balanced, because tasks may not run everywhere.
    Pinned,
    /// Tasks wait.
    Overloaded,
}

/// Sums over the CPUs of a group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Group {
    /// CPUs.
    pub cpus: u64,
    /// Cores.
    pub cores: u64,
    /// Sum of what real-time tasks leave of its CPUs, [`FULL`] for a whole one.
    pub capacity: u64,
    /// Idle ones.
    pub idle: u64,
    /// Tasks of all classes.
    pub tasks: u64,
    /// Fair tasks.
    pub fair: u64,
    /// Average load.
    pub load: u64,
    /// Average number of fair tasks, times 1024.
    pub runnable: u64,
    /// Average utilisation.
    pub util: u64,
    /// True if a level below could not be balanced.
    pub is_pinned: bool,
    /// True if its CPUs are threads of one core.
    pub is_core: bool,
    /// The largest load of a CPU with one fair task and reduced capacity; where CPUs are unequal, of a task that is too
    /// large for its CPU.
    pub misfit: u64,
    /// True if it is compared with CPUs of other capacity.
    pub is_unequal: bool,
    /// The least and the greatest capacity of its CPUs.
    pub bounds: [u64; 2],
}

impl Group {
    /// True if a CPU of `capacity` has no business with the tasks of this group, of `kind`, in a domain of CPUs of
    /// unequal capacity: it is smaller; or for a task that is too large, not greater, or not `to_idle`.
    pub fn is_beyond(&self, kind: Kind, to_idle: bool, capacity: u64) -> bool {
        let [least, most] = self.bounds;
        match kind {
            _ if !self.is_unequal => false,
            Kind::Misfit => !to_idle || !is_greater(capacity, most),
            Kind::Spare | Kind::Full => is_greater(least, capacity),
            Kind::SharedCore | Kind::Pinned | Kind::Overloaded => false,
        }
    }

    /// Load per capacity.
    pub fn density(&self) -> u64 {
        self.load * FULL / self.capacity.max(1)
    }

    /// Its kind at a domain of `percent`; `to_idle` if the CPU that balances is idle.
    pub fn kind(&self, percent: u64, to_idle: bool, version: Version) -> Kind {
        let capacity = self.capacity;
        let is_short = capacity * 100 < self.util * percent || capacity * percent < self.runnable * 100;
        if self.tasks > self.cpus && is_short {
            Kind::Overloaded
        } else if self.is_pinned {
            Kind::Pinned
        } else if version.knows_cores && to_idle && self.is_core && self.fair > 1 {
            Kind::SharedCore
        } else if (to_idle || self.is_unequal) && self.misfit > 0 {
            Kind::Misfit
        } else if self.tasks < self.cpus
            || (self.runnable * 100 <= capacity * percent && capacity * 100 > self.util * percent)
        {
            Kind::Spare
        } else {
            Kind::Full
        }
    }

    /// Order among groups of one kind: the largest is the busiest.
    pub fn rank(&self, kind: Kind) -> (u64, Reverse<u64>, u64) {
        match kind {
            Kind::Overloaded => (self.density(), Reverse(0), 0),
            Kind::Misfit => (self.misfit, Reverse(0), 0),
            Kind::Spare | Kind::SharedCore => (0, Reverse(self.idle), self.tasks),
            Kind::Full => (u64::from(self.is_core), Reverse(0), 0),
            Kind::Pinned => (0, Reverse(0), 0),
        }
    }
}

/// Amount that should move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Imbalance {
    /// This much load.
    Load(u64),
    /// This much utilisation.
    Util(u64),
    /// This many tasks.
    Tasks(u64),
    /// A task that is too large for its CPU.
    Misfit,
}

impl Imbalance {
    /// True if nothing is left to move.
    pub fn is_none(self) -> bool {
        matches!(self, Imbalance::Load(0) | Imbalance::Util(0) | Imbalance::Tasks(0))
    }
}

/// Two groups and the domain they are in, as the CPU that balances sees them.
#[derive(Clone, Copy, Debug)]
pub struct Comparison {
    /// The domain.
    pub domain: Domain,
    /// The group of the CPU that balances, with its kind.
    pub local: (Group, Kind),
    /// The busiest other group.
    pub busiest: (Group, Kind),
    /// Load of all groups per capacity.
    pub average: u64,
    /// True if the CPU that balances is idle.
    pub to_idle: bool,
    /// What [`Domain::allowed`] says.
    pub allowed: u64,
}

/// Difference in tasks up to which memory nodes may be unequal.
const NODES_MAY_DIFFER: u64 = 2;

/// `difference` in tasks or idle CPUs between memory nodes that counts if `local` has this many tasks: none where
/// `allowed` says so.
pub fn beyond_allowed(difference: u64, local: u64, allowed: u64) -> u64 {
    if local < allowed && difference <= NODES_MAY_DIFFER { 0 } else { difference }
}

impl Comparison {
    /// The amount that should move to the local group; `None` if the two are balanced.
    pub fn imbalance(&self, version: Version) -> Option<Imbalance> {
        let ((local, own), (busiest, other)) = (self.local, self.busiest);
        if !matches!(other, Kind::Pinned | Kind::Misfit) {
            if own > other {
                return None;
            }
            if own == Kind::Overloaded && self.is_load_balanced() {
                return None;
            }
            let spreads = self.prefers_siblings() && own == Kind::Spare && self.difference(version) > 1;
            if !spreads && other != Kind::Overloaded && self.leaves_alone() {
                return None;
            }
        }
        let amount = match (own, other) {
            (_, Kind::Misfit) if busiest.is_unequal => Imbalance::Misfit,
            (_, Kind::Misfit) => Imbalance::Load(busiest.misfit),
            (_, Kind::SharedCore | Kind::Pinned) => Imbalance::Tasks(1),
            (Kind::Spare, _) if other > Kind::Full && !self.domain.shares_cache() => {
                match local.capacity.saturating_sub(local.util) {
                    0 if self.to_idle => Imbalance::Tasks(1),
                    free => Imbalance::Util(free),
                }
            }
            (Kind::Spare, _) if busiest.cpus == 1 || self.prefers_siblings() => {
                Imbalance::Tasks(beyond_allowed(self.difference(version), local.tasks, self.allowed) / 2)
            }
            (Kind::Spare, _) => {
                let difference = local.idle.saturating_sub(busiest.idle);
                Imbalance::Tasks(beyond_allowed(difference, local.tasks, self.allowed) / 2)
            }
            _ => Imbalance::Load(self.load()),
        };
        Some(amount).filter(|amount| !amount.is_none())
    }

    /// True if tasks should be spread over the groups, whose CPUs share something.
    fn prefers_siblings(&self) -> bool {
        self.busiest.0.cpus > 1 && !self.busiest.0.is_unequal
    }

    /// Both are overloaded, and the difference is too small to matter.
    fn is_load_balanced(&self) -> bool {
        let (own, other) = (self.local.0.density(), self.busiest.0.density());
        own >= other || own >= self.average || 100 * other <= self.domain.percent() * own
    }

    /// The busiest is not overloaded, and nothing is gained by moving one of its tasks.
    fn leaves_alone(&self) -> bool {
        let (local, busiest) = (self.local.0, self.busiest.0);
        if !self.to_idle {
            return true;
        }
        if self.busiest.1 == Kind::SharedCore && busiest.is_core != local.is_core {
            return false;
        }
        (busiest.cpus > 1 && local.idle <= busiest.idle + 1) || busiest.fair == 1
    }

    /// By how many tasks the busiest group has more than its part: than the local group, or from 6.6 on for its cores.
    fn difference(&self, version: Version) -> u64 {
        let (local, busiest) = (self.local.0, self.busiest.0);
        if !version.knows_cores {
            return busiest.tasks.saturating_sub(local.tasks);
        }
        if !self.to_idle {
            return 0;
        }
        if local.cores == busiest.cores {
            return busiest.tasks.saturating_sub(local.tasks);
        }
        let sum = local.cores + busiest.cores;
        let more = (2 * local.cores * busiest.tasks).saturating_sub(2 * busiest.cores * local.tasks);
        let difference = (more + sum) / sum;
        if difference <= 1 && local.tasks == 0 && busiest.tasks > 1 { 2 } else { difference }
    }

    fn load(&self) -> u64 {
        let (own, other) = (self.local.0.density(), self.busiest.0.density());
        if own >= other || own >= self.average {
            return 0;
        }
        let above = match other.checked_sub(self.average) {
            Some(above) => above * self.busiest.0.capacity,
            None => u64::MAX,
        };
        let below = (self.average - own) * self.local.0.capacity;
        above.min(below) / FULL
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const V: Version = Version::V6_18;
    const CACHE: Domain = Domain { level: Level::Cache, below: None };

    /// A CPU with this many hogs, of this utilisation.
    fn cpu(hogs: u64, util: u64) -> Group {
        Group {
            cpus: 1,
            cores: 1,
            capacity: FULL,
            idle: u64::from(hogs == 0),
            tasks: hogs,
            fair: hogs,
            load: hogs * 1024,
            runnable: hogs * 1024,
            util,
            ..Group::default()
        }
    }

    fn busy(local: Group, busiest: Group, average: u64) -> Comparison {
        let kind = |group: Group| (group, group.kind(117, false, V));
        let (local, busiest) = (kind(local), kind(busiest));
        Comparison { domain: CACHE, local, busiest, average, to_idle: false, allowed: 0 }
    }

    /// specs/smp.md section 3.4: for one CPU overloaded from two tasks, fully busy from a utilisation of 876.
    #[test]
    fn a_cpu_is_overloaded_full_or_has_room() {
        let kinds = [cpu(2, 1024), cpu(1, 876), cpu(1, 875), cpu(0, 0)].map(|it| it.kind(117, false, V));
        assert_eq!(kinds, [Kind::Overloaded, Kind::Full, Kind::Spare, Kind::Spare]);
    }

    /// specs/smp.md section 3.9: the amounts of load for N + 1 hogs on N CPUs, and nothing in the first 60 ms.
    #[test]
    fn a_full_cpu_takes_its_part_of_the_load_and_one_with_room_takes_nothing_while_busy() {
        let amount = |n: u64| busy(cpu(1, 1024), cpu(2, 1024), (n + 1) * 1024 / n).imbalance(V);
        assert_eq!([2, 4, 8].map(amount), [512, 256, 128].map(|load| Some(Imbalance::Load(load))));
        assert_eq!(busy(cpu(1, 512), cpu(2, 1024), 1536).imbalance(V), None);
        assert_eq!(busy(cpu(2, 1024), cpu(1, 1024), 1536).imbalance(V), None, "the other way round");
    }

    /// The amounts of the kernel have no sign: a probe in Linux 6.12 saw a CPU of load 890 ask one of 2048 for what it
    /// lacked to the average of 2295. The control is a busiest CPU above the average.
    #[test]
    fn a_cpu_takes_all_it_lacks_from_one_below_the_average() {
        let of = |load: u64| Group { load, ..cpu(2, 1024) };
        assert_eq!(busy(of(890), of(2048), 2295).imbalance(V), Some(Imbalance::Load(1405)));
        assert_eq!(busy(of(890), of(2395), 2295).imbalance(V), Some(Imbalance::Load(100)));
    }

    /// specs/smp.md T-SMP-10: two hogs on one CPU, the other idle.
    #[test]
    fn an_idle_cpu_takes_one_of_two_tasks() {
        let idle = Comparison { to_idle: true, ..busy(cpu(0, 0), cpu(2, 1024), 1024) };
        assert_eq!(idle.imbalance(V), Some(Imbalance::Tasks(1)));
        let one = Comparison { to_idle: true, ..busy(cpu(0, 0), cpu(1, 1024), 512) };
        assert_eq!(one.imbalance(V), None);
    }

    /// specs/smp.md section 3.9: half of the difference in idle CPUs. The control has CPUs of one capacity, where tasks
    /// count.
    #[test]
    fn groups_of_unequal_cpus_share_by_what_idles() {
        let amount = |is_unequal: bool| {
            let group = |tasks: u64, idle: u64| {
                let group = Group { cpus: 4, cores: 4, tasks, fair: tasks, idle, is_unequal, ..Group::default() };
                (Group { capacity: 4 * FULL, ..group }, Kind::Spare)
            };
            let (local, busiest) = (group(0, 4), group(6, 0));
            Comparison { domain: CACHE, local, busiest, average: 0, to_idle: true, allowed: 0 }.imbalance(V)
        };
        assert_eq!([amount(true), amount(false)], [Some(Imbalance::Tasks(2)), Some(Imbalance::Tasks(3))]);
    }

    /// specs/smp.md section 7.3: the examples, and the rule. The control is a level below the nodes.
    #[test]
    fn memory_nodes_may_differ_by_two_tasks_while_few_run() {
        let allowed = |node: u32, cache: u32, level: Level| {
            let cpu = |it: u32| goodness_core::Cpu { core: it, cache: it / cache, node: it / node, capacity: 1024 };
            let machine = Machine::new("nodes", (0..2 * node).map(cpu).collect(), 250).expect("a machine");
            let domains: Vec<Domain> = Domain::around(&machine, CpuId(0)).collect();
            domains.iter().find(|it| it.level == level).map(|it| it.allowed(&machine, CpuId(0)))
        };
        assert_eq!(
            [(16, 16), (64, 64), (16, 8)].map(|(n, c)| allowed(n, c, Level::Machine)),
            [Some(2), Some(8), Some(2)]
        );
        assert_eq!([allowed(2, 2, Level::Machine), allowed(16, 8, Level::Node)], [Some(1), Some(0)]);
        assert_eq!([(2, 1), (2, 2), (3, 1)].map(|(more, local)| beyond_allowed(more, local, 2)), [0, 2, 3]);
        let busy = Group { cpus: 16, cores: 16, tasks: 2, fair: 2, idle: 14, capacity: 16 * FULL, ..Group::default() };
        let free = Group { tasks: 0, fair: 0, idle: 16, ..busy };
        let (local, busiest) = ((free, Kind::Spare), (busy, Kind::Spare));
        let nodes = |allowed: u64| {
            let domain = Domain { level: Level::Machine, below: Some(Level::Cache) };
            Comparison { domain, local, busiest, average: 0, to_idle: true, allowed }.imbalance(V)
        };
        assert_eq!([nodes(2), nodes(0)], [None, Some(Imbalance::Tasks(1))]);
    }

    #[test]
    fn domains_are_the_levels_that_grow_and_groups_begin_with_the_own() {
        let machine = Machine::flat(4, 250).expect("a machine");
        let domains: Vec<Domain> = Domain::around(&machine, CpuId(2)).collect();
        assert_eq!(domains.len(), 1);
        let groups: Vec<u32> = domains[0].groups(&machine, CpuId(2)).map(|group| group[0].0).collect();
        assert_eq!(groups, [2, 3, 0, 1]);
    }

    /// specs/smp.md section 3: what the busiest group has above its part for its cores, rounded to whole tasks.
    #[test]
    fn groups_with_different_cores_differ_by_tasks_for_each_core() {
        let of = |(cores, tasks): (u64, u64), (more_cores, more_tasks): (u64, u64)| {
            let local = Group { cores, ..cpu(tasks, 0) };
            let busiest = Group { cores: more_cores, ..cpu(more_tasks, 0) };
            Comparison { to_idle: true, ..busy(local, busiest, 0) }.difference(V)
        };
        assert_eq!(of((2, 1), (4, 6)), 3, "2 × (2 × 6 - 4 × 1) / 6 is 2.7");
        assert_eq!(of((1, 0), (2, 4)), 3, "2 × 4 / 3 is 2.7");
        assert_eq!(of((2, 2), (4, 4)), 1, "as many for each core");
        assert_eq!([of((1, 0), (8, 2)), of((1, 0), (8, 1)), of((1, 1), (8, 2))], [2, 1, 1], "to an empty group");
        assert_eq!([of((2, 1), (2, 4)), of((2, 4), (2, 1))], [3, 0], "as many cores");
    }
}
