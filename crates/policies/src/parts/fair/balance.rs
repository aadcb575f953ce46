//! Load balancing: each CPU compares its groups from time to time and pulls tasks from the busiest; CPUs with waiting
//! tasks do so for idle ones, whose ticks are off; and a CPU that runs out of work looks for some.
//!
//! Source: specs/smp.md sections 1.4 and 3. Departures:
//! - Idle CPUs are balanced for the first CPU that has reason to at its tick, not by the first idle CPU.
//! - A CPU's own passes come before its reschedule; where a machine has `late_balance` three of four come after it.
//! - Ticks come in a fixed order. In the kernel chance decides whether a CPU looks before or after another one's tick;
//!   here it delays a pass by a tick.
//! - If tasks may not run on a CPU, no other CPU of its group is tried.
//! - A pass takes no time: a CPU that runs out of work looks at all levels that the dice allow, and no two CPUs balance
//!   memory nodes at a time.

mod busiest;
mod luck;
mod rounds;

use super::Stack;
use super::capacity::{is_greater, is_unequal};
use super::domains::{Comparison, Domain, Group, Imbalance, Kind};
use super::load::FULL;
use super::moves::Moving;
use super::order::{Order, Version};
use busiest::Busiest;
use goodness_core::{Context, CpuId, Effort, GroupId, Idle, Level, Machine, Pull, Rng, Seed, Span, Time};
pub(super) use luck::Luck;
use rounds::{Attempt, Round, interval};

/// Most tasks that one pass looks at.
const MOST_LOOKED_AT: u32 = 32;
/// Of so many own passes of a CPU one comes before the other CPUs have chosen again at this tick. In traces of hogs on
/// four CPUs, 267 of 346 moved tasks come from a CPU that has switched at the tick.
const EARLY: u64 = 4;
/// Interval up to which passes that found pinned tasks alone become rarer, ms.
const LONGEST_PINNED: u64 = 512;

/// Balancing of all CPUs.
#[derive(Debug)]
pub struct Balancer {
    pub(super) version: Version,
    attempts: Vec<[Attempt; 4]>,
    /// By CPU: the earliest time of its next pass.
    next: Vec<Time>,
    /// The earliest time at which idle CPUs are balanced again.
    next_idle: Time,
    /// CPU whose tick has idle ones balanced, if that is still to come.
    helps: Option<CpuId>,
    /// By CPU: its own passes of this tick are still to come.
    is_late: Vec<bool>,
    /// By first CPU of a group and level: a level below could not be balanced because of pinned tasks.
    pinned: Vec<[bool; 4]>,
    /// Queues in which the present pass found tasks alone that may not run on its CPU.
    pub(super) dropped: Vec<CpuId>,
    rng: Rng,
    round: Round,
}

impl Balancer {
    pub fn new(machine: &Machine, version: Version, seed: Seed) -> Balancer {
        let mut rng = seed.stream("balance", 0).rng();
        let mut attempt = |cpu: CpuId, level: Level| {
            let ms = machine.group(cpu, level).len() as u64;
            let spans = [interval(machine, ms, false), interval(machine, ms, true)];
            let phase = Span(machine.tick().0 * rng.below((spans[0].0 / machine.tick().0).max(1)));
            Attempt { last: Time::ZERO, phase, is_late: false, interval: ms, spans, failed: 0, luck: Luck::NEW }
        };
        let cpus = machine.cpu_count();
        let attempts = machine.cpu_ids().map(|cpu| Level::ALL.map(|level| attempt(cpu, level))).collect();
        Balancer {
            version,
            attempts,
            next: vec![Time::ZERO; cpus],
            next_idle: Time::ZERO,
            helps: None,
            is_late: vec![false; cpus],
            pinned: vec![[false; 4]; cpus],
            dropped: Vec::with_capacity(cpus),
            rng,
            round: Round { cpus: Vec::with_capacity(cpus), ..Round::default() },
        }
    }

    pub(super) fn attempt(&mut self, cpu: CpuId, level: Level) -> &mut Attempt {
        &mut self.attempts[cpu.index()][level as usize]
    }

    /// Passes of `cpu` at `level` come as often as they can.
    pub(super) fn reset_interval(&mut self, machine: &Machine, cpu: CpuId, level: Level) {
        let shortest = machine.group(cpu, level).len() as u64;
        let attempt = self.attempt(cpu, level);
        if attempt.interval != shortest {
            attempt.set_interval(machine, shortest);
        }
    }

    /// A pass of `cpu` at `level` found nothing that it can move. The next come later, unless it just ran out of work.
    pub(super) fn back_off(
        &mut self,
        machine: &Machine,
        cpu: CpuId,
        level: Level,
        is_newly: bool,
        are_all_pinned: bool,
    ) {
        let shortest = machine.group(cpu, level).len() as u64;
        let attempt = self.attempt(cpu, level);
        attempt.failed = 0;
        let is_rarer = (are_all_pinned && attempt.interval < LONGEST_PINNED) || attempt.interval < 2 * shortest;
        if is_rarer && !is_newly {
            attempt.set_interval(machine, 2 * attempt.interval);
        }
        if !are_all_pinned {
            self.set_pinned(machine, cpu, level, false);
        }
    }

    /// Records on the level above whether tasks that may not run everywhere kept the group of `cpu` at `level`
    /// unbalanced.
    pub(super) fn set_pinned(&mut self, machine: &Machine, cpu: CpuId, level: Level, is_pinned: bool) {
        if let Some(parent) = parent(machine, cpu, level) {
            self.pinned[machine.group(cpu, level)[0].index()][parent as usize] = is_pinned;
        }
    }

    /// The next pass of `cpu`, which has no work, comes no later than that of an idle CPU at `level`.
    fn hasten(&mut self, machine: &Machine, cpu: CpuId, level: Level) {
        let due = self.attempts[cpu.index()][level as usize].due(machine, true);
        let next = &mut self.next[cpu.index()];
        *next = due.min(*next);
    }
}

/// The next level above `level` that has a domain.
fn parent(machine: &Machine, cpu: CpuId, level: Level) -> Option<Level> {
    Domain::around(machine, cpu).map(|domain| domain.level).find(|other| *other > level)
}

#[cfg(test)]
impl Balancer {
    pub fn next_pass(&self, cpu: CpuId) -> Time {
        self.next[cpu.index()]
    }

    /// The CPUs of the last round, and the earliest time of the next one for idle CPUs.
    pub fn last_round(&self) -> (Vec<CpuId>, Time) {
        (self.round.cpus.clone(), self.next_idle)
    }
}

impl Balancer {
    /// All passes for `cpu` are made, or it needs none now. The next is due at the first of the levels looked at.
    fn end_cpu(&mut self, machine: &Machine, cpu: CpuId, is_often: bool) {
        let Round { own, levels, next_idle, .. } = self.round;
        let walked = Domain::around(machine, cpu).take(levels);
        let dues = walked.map(|it| self.attempts[cpu.index()][it.level as usize].due(machine, is_often));
        let next = dues.min().unwrap_or(self.next[cpu.index()]);
        self.next[cpu.index()] = next;
        if own != Some(cpu) && is_often {
            self.round.next_idle = Some(next_idle.map_or(next, |soonest| soonest.min(next)));
        }
        self.round.done += 1;
        (self.round.levels, self.round.is_cut) = (0, false);
    }

    /// All CPUs of the round are done: idle ones are balanced again when the first of them is due.
    fn end_round(&mut self) {
        if let Some(next) = self.round.next_idle.take() {
            self.next_idle = next;
        }
    }
}

impl<O: Order> Stack<O> {
    pub(super) fn propose(&mut self, cx: &Context, cpu: CpuId, idle: Idle) -> Option<Pull> {
        if cx.machine.cpu_count() == 1 {
            return None;
        }
        match idle {
            Idle::Newly => self.pull_when_idle(cx, cpu),
            Idle::Busy | Idle::Later => self.go_round(cx, cpu, idle),
        }
    }

    /// Fair tasks on the queue of `cpu`, as its kernel counts them.
    pub(super) fn fair_tasks(&self, cpu: CpuId) -> u32 {
        if self.balancer.version.counts_delayed { self.order.queued(cpu) } else { self.order.runnable(cpu) }
    }

    /// Looks for work for `cpu`, which has none.
    fn pull_when_idle(&mut self, cx: &Context, cpu: CpuId) -> Option<Pull> {
        let is_any_crowded = self.loads.is_any_crowded() || self.is_any_misfit(cx);
        for domain in Domain::around(&cx.machine, cpu) {
            self.balancer.hasten(&cx.machine, cpu, domain.level);
            if !is_any_crowded {
                return None;
            }
            if let Some(pull) = self.pull_at_level(cx, cpu, domain) {
                return Some(pull);
            }
        }
        None
    }

    /// Makes a pass at `domain` for `cpu`, which ran out of work, if the dice allow it.
    fn pull_at_level(&mut self, cx: &Context, cpu: CpuId, domain: Domain) -> Option<Pull> {
        let mut success = 0;
        let by_time = self.balancer.version.looks_when_rare;
        if self.balancer.version.throws_dice {
            let luck = self.balancer.attempts[cpu.index()][domain.level as usize].luck;
            match luck.draw(&mut self.balancer.rng) {
                Some(weight) => success = weight,
                None => {
                    self.balancer.attempt(cpu, domain.level).luck.note(cx.now, 0, by_time);
                    return None;
                }
            }
        }
        let mut pull = None;
        if let Some(mut moving) = self.look(cx, cpu, domain, true, true) {
            pull = self.next_move(cx, &mut moving);
            while pull.is_none()
                && let Some(other) = self.look_elsewhere(cx, &moving)
            {
                moving = other;
                pull = self.next_move(cx, &mut moving);
            }
            pull = self.end_pass(cx, &moving).or(pull);
        } else {
            self.balancer.back_off(&cx.machine, cpu, domain.level, true, false);
        }
        let luck = &mut self.balancer.attempt(cpu, domain.level).luck;
        luck.note(cx.now, if pull.is_some() { success } else { 0 }, by_time);
        pull
    }

    /// True if something is still to be balanced for `by`, which ticked.
    pub(super) fn balances_late(&self, by: CpuId) -> bool {
        self.balancer.is_late[by.index()] || self.balancer.helps == Some(by)
    }

    /// The next move of the round that `by` makes at its tick or after it.
    fn go_round(&mut self, cx: &Context, by: CpuId, idle: Idle) -> Option<Pull> {
        if self.balancer.round.of != Some((cx.now, by, idle)) {
            self.begin_round(cx, by, idle);
        }
        loop {
            if let Some(mut moving) = self.balancer.round.moving.take() {
                if let Some(pull) = self.next_move(cx, &mut moving) {
                    self.balancer.round.moving = Some(moving);
                    return Some(pull);
                }
                if let Some(other) = self.look_elsewhere(cx, &moving) {
                    self.balancer.round.moving = Some(other);
                    continue;
                }
                if let Some(pull) = self.end_pass(cx, &moving) {
                    return Some(pull);
                }
            }
            let round = &self.balancer.round;
            let Some(cpu) = round.cpus.get(round.done).copied() else {
                self.balancer.end_round();
                return None;
            };
            self.next_level(cx, cpu);
        }
    }

    fn begin_round(&mut self, cx: &Context, by: CpuId, idle: Idle) {
        let delay = if idle == Idle::Later { cx.machine.costs.late_balance } else { Span::ZERO };
        let tick = Time(cx.now.0.saturating_sub(delay.0));
        let round = &mut self.balancer.round;
        let mut cpus = std::mem::take(&mut round.cpus);
        cpus.clear();
        *round = Round { of: Some((cx.now, by, idle)), tick, cpus, ..Round::default() };
        self.balancer.dropped.clear();
        if idle == Idle::Busy {
            self.add_own(cx, by);
        }
        if idle == Idle::Later || cx.machine.costs.late_balance == Span::ZERO {
            self.add_late(cx, by);
        }
    }

    /// At its tick `by` makes its own passes, if they are due, or puts them off on machines that do so, and decides
    /// whether idle CPUs are balanced for it.
    fn add_own(&mut self, cx: &Context, by: CpuId) {
        if cx.now >= self.balancer.next_idle && self.has_reason_to_help(cx, by) {
            self.balancer.next_idle = cx.now + cx.machine.tick();
            self.balancer.helps = Some(by);
        }
        if cx.now >= self.balancer.next[by.index()] {
            if cx.machine.costs.late_balance > Span::ZERO && self.balancer.rng.below(EARLY) > 0 {
                self.balancer.is_late[by.index()] = true;
            } else {
                self.balancer.round.add_own(by);
            }
        }
    }

    /// Adds what `by` put off at its tick. If it idles now, it is one of the idle CPUs.
    fn add_late(&mut self, cx: &Context, by: CpuId) {
        if std::mem::take(&mut self.balancer.is_late[by.index()]) && !self.is_idle(by) {
            self.balancer.round.add_own(by);
        }
        if self.balancer.helps == Some(by) {
            self.balancer.helps = None;
            self.add_idle(cx);
        }
    }

    /// Adds the idle CPUs to the round.
    fn add_idle(&mut self, cx: &Context) {
        let own = self.balancer.round.cpus.len();
        // Those that are offline are left alone: passes in vain would put off those after they are back.
        let online = &cx.groups[GroupId::ROOT].cpus;
        for cpu in cx.machine.cpu_ids() {
            if self.is_idle(cpu) && online.contains(cpu) {
                self.balancer.round.cpus.push(cpu);
            }
        }
        // The first idle CPU works for the others, and for itself at the end.
        let idle = &mut self.balancer.round.cpus[own..];
        if !idle.is_empty() {
            idle.rotate_left(1);
        }
    }

    /// True if `cpu` has tasks that wait, or real-time tasks leave little to its fair one, or another busy CPU shares
    /// its cache (where CPUs are unequal: its task does not fit), while some CPU idles.
    fn has_reason_to_help(&mut self, cx: &Context, cpu: CpuId) -> bool {
        if self.wakeups.idle_cpus() == 0 {
            return false;
        }
        let near = cx.machine.group(cpu, Level::Cache).len() as u32;
        let is_near_busy = match cx.machine.is_unequal() {
            true => self.misfit(cx, cpu).is_some(),
            false => near - self.wakeups.idle_nearby(cpu) > 1,
        };
        self.tasks(cpu) >= 2 || is_near_busy || self.is_squeezed(cx, cpu)
    }

    /// True if `cpu` has one fair task, and real-time tasks leave little to it.
    fn is_squeezed(&mut self, cx: &Context, cpu: CpuId) -> bool {
        let percent = Domain::around(&cx.machine, cpu).next().map_or(100, Domain::percent);
        let averages = self.loads.of_cpu(cx.now, cpu);
        self.fair_tasks(cpu) == 1 && averages.capacity * percent < averages.whole * 100
    }

    /// Makes the next pass for `cpu`, or ends its passes.
    fn next_level(&mut self, cx: &Context, cpu: CpuId) {
        let machine = &cx.machine;
        let is_idle = self.is_idle(cpu);
        let Round { own, levels, is_cut, tick, .. } = self.balancer.round;
        let is_helped = own != Some(cpu);
        // A CPU with SCHED_IDLE tasks alone balances as often as an idle one.
        let is_often = is_idle || self.has_only_background(cpu);
        let is_refused = levels == 0 && is_helped && (!is_idle || tick < self.balancer.next[cpu.index()]);
        let next = Domain::around(machine, cpu).nth(levels).filter(|_| !is_refused && !is_cut);
        let Some(domain) = next else {
            return self.balancer.end_cpu(machine, cpu, is_often);
        };
        self.balancer.round.levels += 1;
        if tick >= self.balancer.attempt(cpu, domain.level).due(machine, is_often) {
            self.make_pass(cx, cpu, domain, is_idle);
        }
    }

    /// Makes the pass of `cpu` at `domain`, unless another CPU balances for its group; then the levels above have to
    /// wait.
    fn make_pass(&mut self, cx: &Context, cpu: CpuId, domain: Domain, is_idle: bool) {
        let machine = &cx.machine;
        let is_late = self.balancer.rng.below(2) == 1;
        let tick = self.balancer.round.tick;
        let attempt = self.balancer.attempt(cpu, domain.level);
        (attempt.last, attempt.phase, attempt.is_late) = (tick, Span::ZERO, is_late);
        let is_chosen = self.chosen(machine, cpu, domain) == cpu;
        let moving = if is_chosen { self.look(cx, cpu, domain, is_idle, false) } else { None };
        if moving.is_none() {
            self.balancer.back_off(machine, cpu, domain.level, false, false);
        }
        self.balancer.round.moving = moving;
        self.balancer.round.is_cut = !is_chosen;
    }

    /// The CPU that balances for the group of `cpu`: an idle one, if possible of an idle core, else the first.
    fn chosen(&self, machine: &Machine, cpu: CpuId, domain: Domain) -> CpuId {
        let group = domain.group(machine, cpu);
        let is_free = |cpu: &CpuId| machine.group(*cpu, Level::Smt).iter().all(|it| self.is_idle(*it));
        let mut idle = group.iter().copied().filter(|it| self.is_idle(*it));
        let free = if self.balancer.version.knows_cores { idle.clone().find(|it| is_free(it)) } else { None };
        free.or_else(|| idle.next()).unwrap_or(group[0])
    }

    /// If nothing in the queue of `moving` may run on its CPU, looks again, without that queue.
    fn look_elsewhere(&mut self, cx: &Context, moving: &Moving) -> Option<Moving> {
        if !moving.is_all_pinned() {
            return None;
        }
        let Moving { domain, from, to, to_idle, is_newly, .. } = *moving;
        self.note_pinned(&cx.machine, moving);
        self.balancer.dropped.push(from);
        let mut found = self.look(cx, to, domain, to_idle, is_newly)?;
        found.is_any_pinned = true;
        Some(found)
    }

    /// Looks for the queue from which `cpu` should take tasks, and how many.
    pub(super) fn look(
        &mut self,
        cx: &Context,
        cpu: CpuId,
        domain: Domain,
        to_idle: bool,
        is_newly: bool,
    ) -> Option<Moving> {
        let machine = &cx.machine;
        let version = self.balancer.version;
        cx.examined(Effort::Balance, machine.group(cpu, domain.level).len() as u32);
        let (mut local, mut load, mut capacity, mut util) = (Group::default(), 0, 0, 0);
        let mut busiest = Busiest::default();
        let here = self.loads.of_cpu(cx.now, cpu).capacity;
        for (place, cpus) in domain.groups(machine, cpu).enumerate() {
            let group = self.measure(cx, domain, cpus, to_idle);
            load += group.load;
            util += group.util;
            capacity += group.capacity;
            if place == 0 {
                local = group;
                continue;
            }
            let kind = group.kind(domain.percent(), to_idle, version);
            if group.fair > 0 && !group.is_beyond(kind, to_idle, here) {
                let rng = Some(&mut self.balancer.rng).filter(|_| version.draws_equals);
                busiest.compare((kind, group, cpus), rng);
            }
        }
        if !is_newly && domain.shares_cache() {
            self.wakeups.set_scan(machine, cpu, domain, util);
        }
        let (kind, group, cpus) = busiest.found?;
        let own = local.kind(domain.percent(), false, version);
        let average = load * FULL / capacity.max(1);
        let allowed = domain.allowed(machine, cpu);
        let compared = Comparison { domain, local: (local, own), busiest: (group, kind), average, to_idle, allowed };
        let amount = compared.imbalance(version)?;
        let from = self.busiest_queue(cx, domain, (cpu, cpus), amount)?;
        let looks = MOST_LOOKED_AT.min(self.tasks(from));
        let is_misfit = kind == Kind::Misfit;
        let mut moving = Moving::new(domain, from, cpu, to_idle, amount, looks);
        (moving.is_newly, moving.is_misfit) = (is_newly, is_misfit);
        Some(moving)
    }

    pub(super) fn measure(&mut self, cx: &Context, domain: Domain, cpus: &[CpuId], to_idle: bool) -> Group {
        let machine = &cx.machine;
        let threads = machine.group(cpus[0], Level::Smt).len();
        let is_pinned = self.balancer.pinned[cpus[0].index()][domain.level as usize];
        let is_core = cpus.len() > 1 && cpus.len() == threads;
        let is_unequal = is_unequal(machine, cpus[0], domain.level);
        let bounds = [u64::MAX, 0];
        let mut group = Group { cpus: cpus.len() as u64, is_pinned, is_core, is_unequal, bounds, ..Group::default() };
        for cpu in cpus {
            let averages = self.loads.of_cpu(cx.now, *cpu);
            group.capacity += averages.capacity;
            group.cores += u64::from(cpu == &cpus[0] || machine.group(*cpu, Level::Smt)[0] == *cpu);
            group.bounds = [group.bounds[0].min(averages.capacity), group.bounds[1].max(averages.capacity)];
            if self.balancer.dropped.contains(cpu) {
                continue;
            }
            let fair = self.fair_tasks(*cpu);
            group.load += averages.load;
            group.runnable += averages.runnable;
            group.util += averages.util;
            group.tasks += u64::from(self.tasks(*cpu));
            group.fair += u64::from(fair);
            group.idle += u64::from(self.is_idle(*cpu));
            if is_unequal {
                group.misfit = group.misfit.max(self.misfit(cx, *cpu).unwrap_or(0));
            } else if to_idle && fair == 1 && averages.capacity * domain.percent() < averages.whole * 100 {
                group.misfit = group.misfit.max(averages.load);
            }
        }
        group
    }

    /// The queue among `cpus` that most of `amount` comes from, for `to`.
    fn busiest_queue(
        &mut self,
        cx: &Context,
        domain: Domain,
        (to, cpus): (CpuId, &[CpuId]),
        amount: Imbalance,
    ) -> Option<CpuId> {
        let is_boosted = self.balancer.version.boosts_util;
        let is_unequal = is_unequal(&cx.machine, to, domain.level);
        let here = self.loads.of_cpu(cx.now, to).capacity;
        let mut busiest: Option<(u64, CpuId)> = None;
        for cpu in cpus.iter().copied() {
            let fair = if self.balancer.dropped.contains(&cpu) { 0 } else { self.fair_tasks(cpu) };
            let averages = self.loads.of_cpu(cx.now, cpu);
            let is_squeezed = averages.capacity * domain.percent() < averages.whole * 100;
            let value = match amount {
                _ if fair == 0 => continue,
                _ if is_unequal && self.tasks(cpu) == 1 && !is_greater(here, averages.capacity) => continue,
                Imbalance::Misfit => match self.misfit(cx, cpu) {
                    Some(load) => load,
                    None => continue,
                },
                Imbalance::Load(load) if fair == 1 && averages.load > load && !is_squeezed => continue,
                Imbalance::Util(_) if fair == 1 => continue,
                Imbalance::Load(_) => averages.load * FULL / averages.capacity,
                Imbalance::Util(_) if is_boosted => averages.util.max(averages.runnable),
                Imbalance::Util(_) => averages.util,
                Imbalance::Tasks(_) => fair.into(),
            };
            if busiest.is_none_or(|(most, _)| value > most) {
                busiest = Some((value, cpu));
            }
        }
        busiest.map(|(_, cpu)| cpu)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A group counts cores, not threads, and knows the least and the greatest capacity of its CPUs.
    #[test]
    fn a_group_has_the_cores_and_the_capacities_of_its_cpus() {
        use crate::eevdf::{Eevdf, Settings};
        use goodness_core::{Cpu, Level, Machine};
        let cpu = |it: u32| Cpu { core: it / 2, cache: 0, node: 0, capacity: [1024, 512][it as usize / 4] };
        let machine = Machine::new("threads", (0..8).map(cpu).collect(), 1000).expect("a machine");
        let mut driver = crate::parts::verb_driver::VerbDriver::<Eevdf>::on(machine, Settings::default());
        let mut measured = |cpus: std::ops::Range<u32>| {
            let cpus: Vec<CpuId> = cpus.map(CpuId).collect();
            let domain = Domain { level: Level::Cache, below: Some(Level::Smt) };
            let group = driver.call(|stack, cx| stack.measure(cx, domain, &cpus, false));
            (group.cores, group.bounds)
        };
        assert_eq!(measured(0..8), (4, [512, 1024]));
        assert_eq!([measured(0..2), measured(4..8)], [(1, [1024, 1024]), (2, [512, 512])]);
    }
}
