//! Random machines and work: all kinds of steps, classes, affinities, locks and groups.

use goodness_core::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A random program: a limited number of steps of all kinds, then exit. Counts the CPU time it requests.
struct Drawn {
    steps: Vec<Step>,
    at: usize,
    /// Every seventh step is preceded by a move to the next of so many groups.
    groups: u32,
    asked: Arc<AtomicU64>,
}

impl Behaviour for Drawn {
    fn next(&mut self, _: &mut StepContext) -> Step {
        let at = self.at as u32;
        self.at += 1;
        if self.groups > 1 && at % 7 == 3 {
            return Step::SetGroup(GroupId(at / 7 % self.groups));
        }
        let moves = if self.groups > 1 { (at + 3) / 7 } else { 0 };
        let step = self.steps.get((at - moves) as usize).cloned().unwrap_or(Step::Exit);
        if let Step::Compute(span) = step {
            self.asked.fetch_add(span.0, Ordering::Relaxed);
        }
        step
    }
}

const CHANNELS: u64 = 4;
/// Kinds of the locks; two of those that boost. Pure spinning is left out, as it lasts for ever where nothing preempts.
const LOCKS: [LockKind; 8] = [
    LockKind::Normal,
    LockKind::Adaptive,
    LockKind::Pi,
    LockKind::Pi,
    LockKind::Fifo,
    LockKind::Kernel,
    LockKind::SLock,
    LockKind::Rwsem,
];
const CLASSES: [Class; 5] = [Class::Normal, Class::Batch, Class::Idle, Class::Fifo, Class::RoundRobin];

fn draw_nice(rng: &mut Rng) -> Nice {
    Nice::new(rng.within(0, 39) as i64 - 20).unwrap()
}

fn draw_steps(rng: &mut Rng, cpus: u64) -> Vec<Step> {
    let mut steps = Vec::new();
    for _ in 0..rng.within(1, 40) {
        let short = Span(rng.within(1, 200_000));
        let channel = Channel(rng.below(CHANNELS) as u32);
        let lock = LockId(rng.below(LOCKS.len() as u64) as u32);
        let longest = [20_000, 300_000, 9_000_000][rng.below(3) as usize];
        match rng.below(16) {
            0..=5 => steps.push(Step::Compute(Span(rng.within(1, longest)))),
            6..=8 => steps.push(Step::Sleep(Span(rng.within(1, 3_000_000)))),
            9 => steps.push(Step::Yield),
            10 => steps.extend([Step::Wake(channel), Step::Compute(short)]),
            11 => steps.push(Step::Wait(channel)),
            12 if LOCKS[lock.0 as usize].is_shareable() && !short.0.is_multiple_of(3) => {
                steps.extend([Step::LockShared(lock), Step::Compute(short), Step::Unlock(lock)]);
            }
            12 if rng.below(3) > 0 => steps.extend([Step::Lock(lock), Step::Compute(short), Step::Unlock(lock)]),
            // Both pass priorities on, in a chain; always in this order, so that nobody waits in a circle.
            12 => steps.extend([
                Step::Lock(LockId(2)),
                Step::Lock(LockId(3)),
                Step::Compute(short),
                Step::Sleep(short),
                Step::Unlock(LockId(3)),
                Step::Unlock(LockId(2)),
            ]),
            13 => steps.push(Step::SetNice(draw_nice(rng))),
            14 => steps.push(Step::SetClass(CLASSES[rng.below(5) as usize], rng.within(1, 99) as u8)),
            _ if rng.below(2) == 0 => steps.extend([Step::SetAffinity(CpuSet::All), Step::Exec]),
            _ => {
                let some: Vec<CpuId> = (0..3).map(|_| CpuId(rng.below(cpus) as u32)).collect();
                steps.push(Step::SetAffinity(CpuSet::of(&some)));
            }
        }
    }
    steps
}

/// A random machine; with `is_unequal` its CPUs have three capacities.
pub(crate) fn draw_machine(rng: &mut Rng, cpus: u32, is_unequal: bool) -> Machine {
    let (smt, cache, node) = (1 + rng.below(2) as u32, 4 << rng.below(2), 16 << rng.below(2));
    let capacity = |core: u32| if is_unequal { [1024, 300, 700][core as usize % 3] } else { 1024 };
    let cpu = |i| Cpu { core: i / smt, cache: i / cache, node: i / node, capacity: capacity(i / smt) };
    let list = (0..cpus).map(cpu).collect();
    let mut machine = Machine::new("drawn", list, [100, 250, 1000, 1024][rng.below(4) as usize]).unwrap();
    machine.first_tick = Span(rng.below(machine.tick().0));
    if rng.below(2) == 0 {
        let switch = Span(rng.below(5_000));
        machine.costs = Costs {
            switch,
            address_space: Span(rng.below(1_000)),
            wakeup: Span(rng.below(2_000)),
            tick: Span(rng.below(3_000)),
            interrupt: Span(rng.below(3_000)),
            preempt: Span(rng.below(20_000)),
            sleep: Span(rng.below(4_000)),
            timer: Span(rng.below(6_000)),
            idle_exit: Span(rng.below(50_000)),
            late_balance: Span(Seed(switch.0).stream("late balance", 0).rng().below(100_000)),
            migration: [Span(100), Span(1_000), Span(5_000), Span(20_000)],
            cache_refill: Span(rng.below(3_000)),
            lock_handover: Span(rng.below(500)),
            effort: std::array::from_fn(|_| Span(rng.below(30))),
            io: draw_io_costs(&mut Seed(switch.0).stream("block I/O", 0).rng()),
        };
    }
    machine
}

fn draw_io_costs(rng: &mut Rng) -> IoCosts {
    IoCosts {
        submit: Span(rng.below(4_000)),
        page: Span(rng.below(200)),
        complete: Span(rng.below(3_000)),
        request: Span(rng.below(1_000)),
        timer: Span(rng.below(2_000)),
        effort: std::array::from_fn(|_| Span(rng.below(100))),
    }
}

/// A random task, possibly with a reservation small enough for admission control.
fn draw_reservation(rng: &mut Rng) -> Task {
    let period = Span(rng.within(1_000_000, 50_000_000));
    let reservation = Reservation { runtime: Span(period.0 / 64), deadline: Span(period.0 / 2), period };
    Task { reservation: (rng.below(4) == 0).then_some(reservation), ..Task::default() }
}

/// A random workload, and the counters of CPU time that its tasks request.
pub(crate) fn draw_work(rng: &mut Rng, cpus: u32, groups: Groups) -> (Workload, Vec<Arc<AtomicU64>>) {
    let count = groups.count() as u32;
    let mut work = Workload { groups, ..Workload::default() };
    let mut asked = Vec::new();
    for _ in 0..rng.within(1, 12 + 2 * u64::from(cpus)) {
        let counter = Arc::new(AtomicU64::new(0));
        asked.push(Arc::clone(&counter));
        let at = Time(rng.below(2_000_000));
        let task = Task {
            nice: draw_nice(rng),
            class: [Class::Normal, Class::Normal, Class::Iso, Class::Batch][rng.below(4) as usize],
            priority: (rng.below(3) == 0).then(|| rng.within(1, 120) as u8),
            tickets: (rng.below(3) == 0).then(|| rng.within(1, 500) as u32),
            ..draw_reservation(rng)
        };
        let some: Vec<CpuId> = (0..2).map(|_| CpuId(rng.below(u64::from(cpus)) as u32)).collect();
        let task = Task {
            affinity: if rng.below(4) == 0 { CpuSet::of(&some) } else { CpuSet::All },
            group: GroupId(asked.len() as u32 % count),
            address_space: (rng.below(4) > 0).then(|| rng.below(5) as u32),
            first_cpu: CpuId(rng.below(u64::from(cpus)) as u32),
            ..task
        };
        work.tasks.push(TaskSpec {
            name: String::new(),
            start: if rng.below(2) == 0 { Start::At(at) } else { Start::WokenAt(at) },
            task,
            behaviour: Box::new(Drawn {
                steps: draw_steps(rng, u64::from(cpus)),
                at: 0,
                groups: count,
                asked: counter,
            }),
            judged: true,
        });
    }
    let kind = |i| if i % 2 == 0 { ChannelKind::Semaphore } else { ChannelKind::Condition };
    work.channels = (0..CHANNELS).map(kind).collect();
    work.locks = LOCKS.to_vec();
    (work, asked)
}

/// CPUs that go offline for a time, for every other work on several; one of them never does.
pub(crate) fn draw_faults(seed: Seed, cpus: u32) -> Vec<MachineFault> {
    let mut rng = seed.stream("faults", cpus.into()).rng();
    let (others, spared) = (u64::from(cpus) - 1, rng.below(cpus.into()));
    let count = if others > 0 { rng.below(2) * rng.within(1, 5) } else { 0 };
    let mut fault = |_| {
        let (at, span) = (Time(rng.below(9_000_000)), Span(rng.within(1, 20_000_000)));
        let cpu = Some(CpuId(((spared + 1 + rng.below(others)) % u64::from(cpus)) as u32));
        MachineFault { kind: FaultKind::Offline, at, span, cpu }
    };
    (0..count).map(&mut fault).collect()
}

/// Groups within groups, for every other work.
pub(crate) fn draw_groups(seed: Seed, cpus: u32) -> Groups {
    let (mut rng, mut groups) = (seed.stream("groups", cpus.into()).rng(), Groups::default());
    for _ in 0..rng.below(2) * rng.within(1, 6) {
        let parent = GroupId(rng.below(groups.count() as u64) as u32);
        let mut group = Group { weight: rng.within(2, 20_000), ..Group::new("group", parent) };
        group.set_idle(rng.below(5) == 0);
        let quota = Quota::new(Span(rng.within(1_000_000, 9_000_000)), Span(rng.within(1_000_000, 50_000_000)));
        group.quota = quota.ok().filter(|_| rng.below(3) == 0);
        if rng.below(3) == 0 {
            let some: Vec<CpuId> = (0..3).map(|_| CpuId(rng.below(u64::from(cpus)) as u32)).collect();
            group.cpus = CpuSet::of(&some);
        }
        groups.add(group);
    }
    groups
}
