//! Real-time tasks on several CPUs under `cfs` and `eevdf`: none waits while a CPU that it may use runs something less
//! urgent. The referee checks that in every run; here are the facts of specs/smp.md section 6.1, and a drawn control.

mod harness;

use goodness_core::*;
use goodness_sim::{Options, simulate_with};
use harness::{History, class, cycle, hog, run_of, starting, stretches, task};

const POLICIES: [(&str, &str); 4] = [("cfs", "6.1"), ("eevdf", "6.12"), ("eevdf", "6.18"), ("eevdf", "7.2")];

fn fifo(priority: u8, spec: TaskSpec) -> TaskSpec {
    class(Class::Fifo, priority, spec)
}

fn on(cpus: &[u32], mut spec: TaskSpec) -> TaskSpec {
    spec.task.affinity = CpuSet::of(&cpus.iter().map(|cpu| CpuId(*cpu)).collect::<Vec<_>>());
    spec.task.first_cpu = CpuId(cpus[0]);
    spec
}

fn at(ms: u64, spec: TaskSpec) -> TaskSpec {
    starting(Start::At(Time(ms * 1_000_000)), spec)
}

fn run(policy: (&str, &str), cpus: u32, tasks: Vec<TaskSpec>, ms: u64) -> History {
    let entry = goodness_policies::entry(policy.0).expect("a policy");
    let machine = Machine::flat(cpus, 250).expect("a machine");
    run_of(entry, &machine, &[("kernel", policy.1)], tasks, Span::from_ms(ms))
}

/// The slices of `task`: CPU, from, until, in ms.
fn slices(history: &History, ms: u64, task: u32) -> Vec<(u32, u64, u64)> {
    let all = stretches(history, Span::from_ms(ms));
    let own = all.iter().filter(|slice| slice.2.0 == task);
    own.map(|(from, cpu, _, until)| (cpu.0, from.0 / 1_000_000, until.0 / 1_000_000)).collect()
}

fn migrations(history: &History, task: u32) -> usize {
    let moved = |event: &Event| matches!(event, Event::Migrate { task: it, .. } if it.0 == task);
    history.iter().filter(|(_, event)| moved(event)).count()
}

/// T-SMP-24: priority 40 wakes where 50 runs; the other CPU runs a fair task.
#[test]
fn a_realtime_task_wakes_on_the_cpu_that_runs_a_fair_one() {
    for policy in POLICIES {
        let woken = on(
            &[0, 1],
            task(&[Step::Compute(Span::from_ms(1)), Step::Sleep(Span::from_ms(19)), Step::Compute(Span::from_ms(30))]),
        );
        let tasks = vec![fifo(40, woken), at(10, fifo(50, on(&[0], hog()))), at(5, on(&[1], hog()))];
        let history = run(policy, 2, tasks, 100);
        assert_eq!(slices(&history, 100, 0), [(0, 0, 1), (1, 20, 50)], "{policy:?}");
    }
}

/// Push: a task that a more urgent one preempts goes to the CPU that runs a fair task; nothing runs empty meanwhile.
#[test]
fn a_preempted_realtime_task_goes_on_elsewhere() {
    for policy in POLICIES {
        let tasks = vec![
            fifo(40, task(&[Step::Compute(Span::from_ms(50))])),
            at(5, on(&[1], hog())),
            at(10, fifo(50, on(&[0], hog()))),
        ];
        let history = run(policy, 2, tasks, 100);
        assert_eq!(slices(&history, 100, 0), [(0, 0, 10), (1, 10, 50)], "{policy:?}");
    }
}

/// Pull: the priority of a CPU drops, though it does not run empty.
#[test]
fn a_cpu_whose_priority_drops_takes_a_realtime_task_that_waits() {
    for policy in POLICIES {
        let first = |priority, cpu: u32, ms| fifo(priority, on(&[cpu], task(&[Step::Compute(Span::from_ms(ms))])));
        let waits = at(5, fifo(40, task(&[Step::Compute(Span::from_ms(30))])));
        let tasks = vec![waits, first(50, 0, 80), first(50, 1, 20), on(&[1], hog())];
        let history = run(policy, 2, tasks, 100);
        assert_eq!(slices(&history, 100, 0), [(1, 20, 50)], "{policy:?}");
    }
}

/// T-SMP-24: among equals nobody moves.
#[test]
fn equal_realtime_tasks_stay_where_they_are() {
    for policy in POLICIES {
        let history = run(policy, 2, (0..3).map(|_| fifo(50, hog())).collect(), 900);
        let ran = |history: &History, task: u32| harness::cpu_time(history, Span::from_ms(900), task).0 / 1_000_000;
        let mut shares = [0, 1, 2].map(|it| ran(&history, it));
        shares.sort_unstable();
        assert_eq!(shares, [0, 900, 900], "{policy:?}");
        let history = run(policy, 2, (0..3).map(|_| class(Class::RoundRobin, 50, hog())).collect(), 900);
        let mut shares = [0, 1, 2].map(|it| ran(&history, it));
        shares.sort_unstable();
        assert_eq!(shares, [400, 500, 900], "{policy:?}: turns of 100 ms");
        assert_eq!([0, 1, 2].map(|it| migrations(&history, it)), [0; 3]);
    }
}

/// Specs/smp.md section 6.1: a woken task of equal priority goes first if only the other one can go elsewhere.
#[test]
fn an_equal_task_that_can_go_elsewhere_makes_room() {
    for policy in POLICIES {
        let pinned = on(&[0], task(&[Step::Sleep(Span::from_ms(10)), Step::Compute(Span::from_ms(20))]));
        let tasks = vec![
            fifo(50, pinned),
            at(5, fifo(50, on(&[0, 1], task(&[Step::Compute(Span::from_ms(40))])))),
            on(&[1], hog()),
        ];
        let history = run(policy, 2, tasks, 100);
        assert_eq!(slices(&history, 100, 0)[1..], [(0, 10, 30)], "{policy:?}");
        assert_eq!(slices(&history, 100, 1), [(0, 5, 10), (1, 10, 45)], "{policy:?}");
    }
}

/// T-SMP-25, on two CPUs: a throttled CPU keeps its task, though the other one is idle.
#[test]
fn the_throttle_holds_though_another_cpu_idles() {
    let share =
        |policy| harness::cpu_time(&run(policy, 2, vec![fifo(50, hog())], 4_000), Span::from_s(4), 0).0 / 1_000_000;
    assert!((3_800..=3_860).contains(&share(POLICIES[0])), "{}", share(POLICIES[0]));
    assert_eq!(share(POLICIES[2]), 4_000);
}

const CLASSES: [Class; 4] = [Class::Normal, Class::Fifo, Class::Fifo, Class::RoundRobin];

/// The throttle of CPU 1 closes as its real-time task ends, so nobody waits there when it opens. Who waits on CPU 0
/// comes then.
#[test]
fn a_throttle_that_opens_takes_a_task_that_waits_elsewhere() {
    let long = task(&[Step::Compute(Span::from_us(950_500))]);
    let tasks = vec![
        fifo(50, on(&[1], long)),
        at(900, fifo(50, on(&[0], hog()))),
        at(955, fifo(40, on(&[0, 1], hog()))),
        on(&[1], hog()),
    ];
    let history = run(("cfs", "6.1"), 2, tasks, 1100);
    assert_eq!(slices(&history, 1100, 3), [(1, 950, 1000)], "throttled until the period ends");
    assert_eq!(slices(&history, 1100, 2), [(1, 1000, 1100)]);
}

fn drawn_steps(rng: &mut Rng, cpus: u64) -> Vec<Step> {
    let mut steps = vec![Step::Compute(Span(rng.within(100_000, 3_000_000)))];
    for _ in 0..rng.within(1, 6) {
        match rng.below(8) {
            0..=3 => steps.push(Step::Compute(Span(rng.within(1, 6_000_000)))),
            4..=5 => steps.push(Step::Sleep(Span(rng.within(1, 4_000_000)))),
            6 => steps.push(Step::SetClass(CLASSES[rng.below(4) as usize], rng.within(1, 5) as u8)),
            _ => steps.push(Step::SetAffinity(harness::drawn::affinity(rng, cpus))),
        }
    }
    steps
}

/// A small drawn run; the sentence of the referee, if it found something.
fn drawn(seed: u64, wrap: fn(MadePolicy) -> MadePolicy) -> Option<String> {
    let rng = &mut Seed(seed).stream("realtime", 0).rng();
    let cpus = rng.within(2, 4);
    let mut machine = Machine::flat(cpus as u32, [100, 250, 1000][rng.below(3) as usize]).expect("a machine");
    if rng.below(2) == 0 {
        machine.costs = Costs {
            interrupt: Span(2_000),
            idle_exit: Span(rng.below(50_000)),
            switch: Span(1_000),
            ..Costs::default()
        };
    }
    let mut tasks = Vec::new();
    for _ in 0..rng.within(2, 7) {
        let steps = drawn_steps(rng, cpus);
        let mut spec = class(CLASSES[rng.below(4) as usize], rng.within(1, 5) as u8, cycle(&steps));
        spec.task.affinity = harness::drawn::affinity(rng, cpus);
        spec.start = Start::At(Time(rng.below(3_000_000)));
        tasks.push(spec);
    }
    let (name, kernel) = POLICIES[rng.below(3) as usize];
    let entry = goodness_policies::entry(name).expect("a policy");
    let options = Options { seed: Seed(seed), event_limit: 20_000, ..Options::default() };
    let made = (entry.make)(&machine, &[("kernel".into(), kernel.into())], options.seed).expect("valid settings");
    let work = Workload { tasks, horizon: Some(Time(40_000_000)), ..Workload::default() };
    let ran = simulate_with(&machine, wrap(made), work, None, &mut (), options);
    ran.err().map(|why| format!("seed {seed}: {why}"))
}

/// The policy without its pushes: no other CPU than the one a task joins is asked to pick again.
struct Pushless(Box<dyn CpuPolicy>);

impl CpuPolicy for Pushless {
    fn admit(&mut self, cx: &Context, task: TaskId, parent: Option<TaskId>) -> Result<(), Rejected> {
        self.0.admit(cx, task, parent)
    }

    fn select_cpu(&mut self, cx: &Context, task: TaskId, why: &Enqueue) -> CpuId {
        self.0.select_cpu(cx, task, why)
    }

    fn enqueue(&mut self, cx: &Context, cpu: CpuId, task: TaskId, why: Enqueue) -> Resched {
        match self.0.enqueue(cx, cpu, task, why) {
            Resched::Preempt(other) if other != cpu => Resched::Keep,
            answer => answer,
        }
    }

    fn dequeue(&mut self, cx: &Context, cpu: CpuId, task: TaskId, why: Dequeue) {
        self.0.dequeue(cx, cpu, task, why);
    }

    fn pick_next(&mut self, cx: &Context, cpu: CpuId) -> Option<Pick> {
        self.0.pick_next(cx, cpu)
    }

    fn charge(&mut self, cx: &Context, cpu: CpuId, task: TaskId, ran: Span, why: Stop) -> Resched {
        self.0.charge(cx, cpu, task, ran, why)
    }

    fn balance(&mut self, cx: &Context, cpu: CpuId, idle: Idle) -> Option<Pull> {
        self.0.balance(cx, cpu, idle)
    }

    fn balances_later(&self, cpu: CpuId) -> bool {
        self.0.balances_later(cpu)
    }

    fn waiting_realtime(&self) -> Option<u32> {
        self.0.waiting_realtime()
    }

    fn is_closed_to_realtime(&self, cpu: CpuId) -> bool {
        self.0.is_closed_to_realtime(cpu)
    }
}

#[test]
fn no_realtime_task_waits_for_less_urgent_work_in_ten_thousand_drawn_runs() {
    let found: Vec<String> = (0..10_000).filter_map(|seed| drawn(seed, |made| made)).collect();
    assert!(found.is_empty(), "{} runs, such as {}", found.len(), found[0]);
}

/// The control: the referee finds out a policy that does not push.
#[test]
fn a_policy_that_does_not_push_is_refused() {
    let without = |made: MadePolicy| MadePolicy { policy: Box::new(Pushless(made.policy)), ..made };
    let found: Vec<String> = (0..200).filter_map(|seed| drawn(seed, without)).collect();
    assert!(found.len() > 20 && found[0].contains("left real-time task"), "{found:?}");
}
