//! Real-time tasks and reservations in drawn runs of everything at once: machine, work of all classes with locks,
//! affinities and groups, CPUs that go offline, kernel and settings. The referee checks that the most urgent tasks run
//! which affinity allows, and that no deadline later than a waiting one does; checkers watch the events.
//!
//! `DRAWS=10000 FIRST=0 cargo test --release -p goodness-policies --test invariants -- --nocapture` draws as many runs,
//! from that seed on; without them a few hundred, from another seed in each run.

mod harness;

use goodness_core::*;
use goodness_observe::{Checkers, Ending, Subject};
use goodness_sim::{Options, simulate_with};
use harness::{class, cycle};

const POLICIES: [(&str, &[&str]); 2] =
    [("cfs", &["2.6.24", "6.1"]), ("eevdf", &["6.6", "6.12.0", "6.12", "6.15", "6.18", "7.3"])];
/// Locks of the work: those of kinds that keep their waiters from running for ever.
const LOCKS: [LockKind; 4] = [LockKind::Pi, LockKind::Normal, LockKind::Kernel, LockKind::Fifo];
/// Runs of an ordinary test.
const FEW: u64 = 300;
/// One of so many runs is long enough for fair servers and throttles, which act after 950 ms.
const LONG: u64 = 8;
const MILLISECOND: u64 = 1_000_000;

fn drawn_machine(rng: &mut Rng, cpus: u64) -> Machine {
    let hz = [100, 250, 1000][rng.below(3) as usize];
    let smt = 1 + rng.below(2) as u32;
    let cpu = |i| Cpu { core: i / smt, cache: i / 4, node: 0, capacity: 1024 };
    let mut machine = Machine::new("drawn", (0..cpus as u32).map(cpu).collect(), hz).expect("a machine");
    if rng.below(2) == 0 {
        let (interrupt, idle_exit, switch) = (Span(2_000), Span(rng.below(50_000)), Span(rng.below(4_000)));
        let (preempt, wakeup) = (Span(rng.below(10_000)), Span(rng.below(3_000)));
        machine.costs = Costs { interrupt, idle_exit, switch, preempt, wakeup, ..Costs::default() };
    }
    machine
}

fn drawn_steps(rng: &mut Rng, cpus: u64, groups: u64) -> Vec<Step> {
    let mut steps = vec![Step::Compute(Span(rng.within(100_000, 3 * MILLISECOND)))];
    for _ in 0..rng.within(1, 6) {
        let short = Span(rng.within(1, MILLISECOND));
        let lock = LockId(rng.below(LOCKS.len() as u64) as u32);
        match rng.below(16) {
            0..=5 => steps.push(Step::Compute(Span(rng.within(1, 6 * MILLISECOND)))),
            6..=8 => steps.push(Step::Sleep(Span(rng.within(1, 9 * MILLISECOND)))),
            9..=10 => steps.extend([Step::Lock(lock), Step::Compute(short), Step::Unlock(lock)]),
            11 => steps.push(Step::Kernel(short)),
            12 => steps.push(Step::SetGroup(GroupId(rng.below(groups) as u32))),
            13 => steps.push(Step::Yield),
            14 => steps.push(Step::SetNice(Nice::new(rng.within(0, 39) as i64 - 20).expect("a nice value"))),
            _ => steps.push(Step::SetAffinity(harness::drawn::affinity(rng, cpus))),
        }
    }
    steps
}

/// A task of any class. Those with a reservation ask for a ninth of a CPU.
fn drawn_task(rng: &mut Rng, cpus: u64, groups: u64) -> TaskSpec {
    let steps = drawn_steps(rng, cpus, groups);
    let moves = steps.iter().any(|step| matches!(step, Step::SetAffinity(_)));
    let mut spec = cycle(&steps);
    let priority = rng.within(1, 5) as u8;
    spec = match rng.below(6) {
        0..=1 => class(Class::Fifo, priority, spec),
        2 => class(Class::RoundRobin, priority, spec),
        3 => class(Class::Deadline, 0, spec),
        4 => class([Class::Batch, Class::Idle][rng.below(2) as usize], 0, spec),
        _ => spec,
    };
    if spec.task.class == Class::Deadline {
        let period = Span(rng.within(2 * MILLISECOND, 40 * MILLISECOND));
        let deadline = Span(period.0 / rng.within(1, 2));
        spec.task.reservation = Some(Reservation { runtime: Span(period.0 / 9), deadline, period });
    }
    // Checkers know the first affinity alone.
    spec.task.affinity = if moves { CpuSet::All } else { harness::drawn::affinity(rng, cpus) };
    spec.task.group = GroupId(rng.below(groups) as u32);
    spec.start = Start::At(Time(rng.below(3 * MILLISECOND)));
    spec
}

fn drawn_groups(rng: &mut Rng) -> Groups {
    let mut groups = Groups::default();
    for _ in 0..rng.below(2) * rng.within(1, 3) {
        let mut group = Group::new("drawn", GroupId(rng.below(groups.count() as u64) as u32));
        let limit = Quota::new(Span(rng.within(MILLISECOND, 8 * MILLISECOND)), Span(10 * MILLISECOND));
        group.quota = limit.ok().filter(|_| rng.below(2) == 0);
        groups.add(group);
    }
    groups
}

/// CPUs that go offline, in two of three runs on several; one CPU never does.
fn drawn_faults(seed: u64, cpus: u64) -> Vec<MachineFault> {
    let rng = &mut Seed(seed).stream("offline", 0).rng();
    let spared = rng.below(cpus);
    let count = if cpus > 1 { rng.below(3) * rng.within(1, 3) } else { 0 };
    let mut fault = |_| {
        let cpu = Some(CpuId(((spared + 1 + rng.below(cpus - 1)) % cpus) as u32));
        let (at, span) = (Time(rng.below(50 * MILLISECOND)), Span(rng.within(1, 30 * MILLISECOND)));
        MachineFault { kind: FaultKind::Offline, at, span, cpu }
    };
    (0..count).map(&mut fault).collect()
}

fn drawn_settings(rng: &mut Rng) -> (&'static str, Vec<(String, String)>) {
    let (policy, kernels) = POLICIES[rng.below(2) as usize];
    let kernel = kernels[rng.below(kernels.len() as u64) as usize];
    let preempt = ["none", "full", "lazy"][rng.below(if policy == "eevdf" { 3 } else { 2 }) as usize];
    (policy, vec![("kernel".into(), kernel.into()), ("preempt".into(), preempt.into())])
}

/// A drawn run; the objection of the referee or of a checker.
fn objection(seed: u64, fault: Option<Fault>) -> Option<String> {
    let rng = &mut Seed(seed).stream("invariants", 0).rng();
    let cpus = rng.within(1, 6);
    let machine = drawn_machine(rng, cpus);
    let groups = drawn_groups(rng);
    let tasks = (0..rng.within(2, 9)).map(|_| drawn_task(rng, cpus, groups.count() as u64)).collect();
    let (name, settings) = drawn_settings(rng);
    let entry = goodness_policies::entry(name).expect("a policy");
    let is_long = seed % LONG == LONG - 1;
    let event_limit = if is_long { 3_000_000 } else { 60_000 };
    let options = Options { seed: Seed(seed), event_limit, ..Options::default() };
    let mut made = (entry.make)(&machine, &settings, options.seed).expect("valid settings");
    if let Some(fault) = fault {
        made.policy = Box::new(Planted { policy: made.policy, fault });
    }
    let horizon = Some(Time(if is_long { 2_500 } else { 60 } * MILLISECOND));
    let faults = drawn_faults(seed, cpus);
    let work = Workload { tasks, groups, faults, locks: LOCKS.to_vec(), horizon, ..Workload::default() };
    let mut checkers = Checkers::new(machine.cpu_count(), &Subject::all(&work));
    match simulate_with(&machine, made, work, None, &mut checkers, options) {
        // One of a full machine: what was asked for is not there.
        Err(why) if why.to_string().contains("was refused by") => None,
        Err(why) => Some(format!("seed {seed}, {name} {settings:?}: {why}")),
        Ok(outcome) => {
            let violations = checkers.finish(outcome.end, Ending::Horizon).violations;
            (!violations.is_empty()).then(|| format!("seed {seed}, {name} {settings:?}: {violations:?}"))
        }
    }
}

#[test]
fn the_most_urgent_tasks_run_in_drawn_runs() {
    let seeds = harness::drawn::seeds(FEW);
    let found: Vec<String> = seeds.clone().filter_map(|seed| objection(seed, None)).collect();
    println!("{} runs with a violation", found.len());
    assert!(found.is_empty(), "{} runs of {seeds:?}, such as {}", found.len(), found.join(" | "));
}

/// A fault planted into a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// No other CPU than the one a task joins is asked to pick again.
    NeverPushes,
    /// A CPU picks no real-time task that waits on another one; it idles rather.
    NeverPulls,
    /// A task with a reservation does not preempt, however early its deadline is.
    LaterDeadlineGoesOn,
}

/// A policy with a fault.
struct Planted {
    policy: Box<dyn CpuPolicy>,
    fault: Fault,
}

impl CpuPolicy for Planted {
    fn admit(&mut self, cx: &Context, task: TaskId, parent: Option<TaskId>) -> Result<(), Rejected> {
        self.policy.admit(cx, task, parent)
    }

    fn exit(&mut self, cx: &Context, task: TaskId) {
        self.policy.exit(cx, task);
    }

    fn select_cpu(&mut self, cx: &Context, task: TaskId, why: &Enqueue) -> CpuId {
        self.policy.select_cpu(cx, task, why)
    }

    fn enqueue(&mut self, cx: &Context, cpu: CpuId, task: TaskId, why: Enqueue) -> Resched {
        match (self.fault, self.policy.enqueue(cx, cpu, task, why)) {
            (Fault::NeverPushes, Resched::Preempt(other)) if other != cpu => Resched::Keep,
            (Fault::LaterDeadlineGoesOn, _) if cx.tasks.class(task) == Class::Deadline => Resched::Keep,
            (_, answer) => answer,
        }
    }

    fn dequeue(&mut self, cx: &Context, cpu: CpuId, task: TaskId, why: Dequeue) {
        self.policy.dequeue(cx, cpu, task, why);
    }

    fn pick_next(&mut self, cx: &Context, cpu: CpuId) -> Option<Pick> {
        let pick = self.policy.pick_next(cx, cpu)?;
        let (of, class) = (cx.tasks.cpu(pick.task), cx.tasks.class(pick.task));
        if self.fault == Fault::NeverPulls && of != cpu && class.is_realtime() {
            let _ = self.policy.charge(cx, cpu, pick.task, Span::ZERO, Stop::Preempted);
            let _ = self.policy.enqueue(cx, of, pick.task, Enqueue::Migrated);
            return None;
        }
        Some(pick)
    }

    fn charge(&mut self, cx: &Context, cpu: CpuId, task: TaskId, ran: Span, why: Stop) -> Resched {
        self.policy.charge(cx, cpu, task, ran, why)
    }

    fn balance(&mut self, cx: &Context, cpu: CpuId, idle: Idle) -> Option<Pull> {
        self.policy.balance(cx, cpu, idle)
    }

    fn balances_later(&self, cpu: CpuId) -> bool {
        self.policy.balances_later(cpu)
    }

    fn preemption(&self) -> Preemption {
        self.policy.preemption()
    }

    fn slice_extension(&self) -> Span {
        self.policy.slice_extension()
    }

    fn waits_for_tick(&self, cpu: CpuId) -> bool {
        self.policy.waits_for_tick(cpu)
    }

    fn waiting_realtime(&self) -> Option<u32> {
        self.policy.waiting_realtime()
    }

    fn is_closed_to_realtime(&self, cpu: CpuId) -> bool {
        self.policy.is_closed_to_realtime(cpu)
    }

    fn waiting_reservations(&self) -> Option<u32> {
        self.policy.waiting_reservations()
    }

    fn deadline(&self, task: TaskId) -> Option<Time> {
        self.policy.deadline(task)
    }

    fn served_deadline(&self, cpu: CpuId) -> Option<Time> {
        self.policy.served_deadline(cpu)
    }

    fn is_throttled(&self, task: TaskId) -> Option<bool> {
        self.policy.is_throttled(task)
    }

    fn next_timer(&self) -> Option<Time> {
        self.policy.next_timer()
    }

    fn timer(&mut self, cx: &Context) -> Resched {
        let answer = self.policy.timer(cx);
        if self.fault == Fault::NeverPushes { Resched::Keep } else { answer }
    }
}

/// The controls: each of 300 runs or more shows each fault at least twice in a hundred.
#[test]
fn a_policy_that_does_not_push_or_pull_or_lets_a_later_deadline_go_on_is_refused() {
    for (fault, says) in [
        (Fault::NeverPushes, "waiting on"),
        (Fault::NeverPulls, "left real-time"),
        (Fault::LaterDeadlineGoesOn, "whose deadline is"),
    ] {
        let found: Vec<String> = (0..FEW).filter_map(|seed| objection(seed, Some(fault))).collect();
        let fitting = found.iter().filter(|what| what.contains(says)).count();
        println!("{fault:?}: {fitting} of {FEW} runs refused");
        assert!(fitting as u64 >= FEW / 50, "{fault:?}: {fitting} of {FEW} runs: {found:?}");
    }
}
