//! SCHED_DEADLINE under `cfs` and `eevdf`: the facts of specs/smp.md section 6.3 and specs section 11.

mod harness;

use goodness_core::*;
use goodness_sim::{Options, simulate_with};
use harness::*;

/// Kernels before and with the fair server.
const KERNELS: [(&str, &str); 5] =
    [("cfs", "6.1"), ("eevdf", "6.6"), ("eevdf", "6.12"), ("eevdf", "6.18"), ("eevdf", "7.2")];

fn reserving(runtime: Span, deadline: Span, period: Span, mut spec: TaskSpec) -> TaskSpec {
    spec.task.class = Class::Deadline;
    spec.task.reservation = Some(Reservation { runtime, deadline, period });
    spec
}

/// `runtime` of each `period`, in ms.
fn of(runtime: u64, period: u64, spec: TaskSpec) -> TaskSpec {
    reserving(MS(runtime), MS(period), MS(period), spec)
}

/// Works for its reservation in each period.
fn working(runtime: u64, period: u64) -> TaskSpec {
    of(runtime, period, periodic(runtime, period))
}

fn history(kernel: (&str, &str), machine: &Machine, tasks: Vec<TaskSpec>, until: Span) -> History {
    run_of(goodness_policies::entry(kernel.0).expect("a policy"), machine, &[("kernel", kernel.1)], tasks, until)
}

/// Specs section 11 "Check": a hog with Q = 10, P = 100 receives 10 % ± one tick beside ordinary tasks.
#[test]
fn a_hog_with_10_of_100_ms_gets_a_tenth_beside_ordinary_tasks() {
    let until = Span::from_s(10);
    for kernel in KERNELS {
        for hz in [250, 1000] {
            let tasks = vec![of(10, 100, hog()), hog(), class(Class::Fifo, 50, pausing())];
            let history = history(kernel, &one_cpu(hz), tasks, until);
            let tick = 1_000_000_000 / u64::from(hz);
            for k in 0..100 {
                let got = between(&history, until, 0, 100 * k, 100 * (k + 1));
                assert!(got.abs_diff(10_000_000) <= tick, "{kernel:?}, period {k}: {got} ns");
            }
            let all = cpu_time(&history, until, 0).0;
            assert!(all.abs_diff(1_000_000_000) <= tick, "{kernel:?}: what was overrun is paid back: {all}");
        }
    }
}

/// A real-time task that leaves the CPU now and then.
fn pausing() -> TaskSpec {
    cycle(&[Step::Compute(MS(3)), Step::Sleep(MS(4))])
}

/// The negative control of the above: a reservation of another class is none.
#[test]
fn without_its_class_a_reservation_is_ignored() {
    for kernel in KERNELS {
        let mut first = of(10, 100, hog());
        first.task.class = Class::Normal;
        let history = history(kernel, &one_cpu(1000), vec![first, hog()], Span::from_s(2));
        let got = cpu_time(&history, Span::from_s(2), 0).0;
        assert!(got.abs_diff(1_000_000_000) < 20_000_000, "{kernel:?}: half, not a tenth: {got}");
    }
}

/// Specs section 11: an overrun never harms another server; the earliest deadline runs, above FIFO tasks.
#[test]
fn servers_that_overrun_harm_no_other() {
    let until = Span::from_s(12);
    for kernel in KERNELS {
        let mut tasks = vec![of(10, 100, hog()), of(20, 80, hog()), of(3, 30, hog())];
        tasks.extend([working(5, 20), working(4, 30), class(Class::Fifo, 99, hog())]);
        let history = history(kernel, &one_cpu(1000), tasks, until);
        for (task, (runtime, period)) in [(3, (5, 20)), (4, (4, 30))] {
            assert_eq!(missed(&history, until, task, runtime, period), 0, "{kernel:?}: {runtime} of {period}");
        }
        for (task, (runtime, period)) in (0..).zip([(10, 100), (20, 80), (3, 30)]) {
            let promised = until.0 / period * runtime;
            let got = cpu_time(&history, until, task).0;
            assert!(got <= promised + (runtime + 1) * 1_000_000, "{kernel:?}: {got} of {promised}");
        }
    }
}

/// Specs section 11 "Wake rule": a new deadline and budget if q ≥ (d − t)·Q/P, else the old ones.
#[test]
fn a_server_keeps_budget_and_deadline_unless_they_exceed_its_bandwidth() {
    for kernel in KERNELS {
        let after_sleep = |sleep: u64| {
            let work = task(&[Step::Compute(MS(1)), Step::Sleep(MS(sleep)), Step::Compute(MS(30))]);
            let history = history(kernel, &one_cpu(1000), vec![of(4, 10, work), hog()], MS(16));
            schedule_of(&history, MS(16))
        };
        // At 2 ms 3 < (10 − 2)·0.4: what is left of the budget, then throttled until 10.
        assert_eq!(after_sleep(1), "a 0..1  b 1..2  a 2..5  b 5..10  a 10..14  b 14..16");
        // At 5 ms 3 ≥ (10 − 5)·0.4: a whole budget until 15.
        assert_eq!(after_sleep(4), "a 0..1  b 1..5  a 5..9  b 9..15  a 15..16");
    }
}

/// A task that wakes behind its deadline waits for its next period; one that wakes at it has a new one at once.
#[test]
fn a_server_that_wakes_between_its_deadline_and_its_period_waits() {
    for kernel in KERNELS {
        let after_sleep = |sleep: u64| {
            let work = task(&[Step::Compute(MS(1)), Step::Sleep(MS(sleep)), Step::Compute(MS(3))]);
            let tasks = vec![reserving(MS(4), MS(10), MS(20), work), hog()];
            schedule_of(&history(kernel, &one_cpu(1000), tasks, MS(25)), MS(25))
        };
        assert_eq!(after_sleep(9), "a 0..1  b 1..10  a 10..13  b 13..25", "{kernel:?}");
        assert_eq!(after_sleep(10), "a 0..1  b 1..20  a 20..23  b 23..25", "{kernel:?}");
    }
}

/// Of two servers with budget the earlier deadline runs, whenever it came.
#[test]
fn the_earliest_deadline_preempts() {
    for kernel in KERNELS {
        let late = of(10, 100, task(&[Step::Compute(MS(9))]));
        let early = starting(Start::At(Time(2_000_000)), of(5, 20, task(&[Step::Compute(MS(4))])));
        let history = history(kernel, &one_cpu(1000), vec![late, early], MS(20));
        assert_eq!(schedule_of(&history, MS(20)), "a 0..2  b 2..6  a 6..13", "{kernel:?}");
    }
}

/// specs/smp.md section 6.3: a server whose deadline is later is pushed to a CPU without one; three on two CPUs run by
/// deadline.
#[test]
fn the_earliest_deadlines_of_all_cpus_run() {
    let machine = Machine::flat(2, 1000).unwrap();
    for kernel in KERNELS {
        let job = |compute: u64, period: u64| of(compute, period, task(&[Step::Compute(MS(compute))]));
        // All come on CPU 0, where a real-time task runs; CPU 1 has an ordinary one.
        let tasks = vec![job(20, 200), job(20, 100), job(20, 150), class(Class::Fifo, 10, hog()), hog()];
        let history = history(kernel, &machine, tasks, MS(60));
        let ran = |task| between(&history, MS(60), task, 0, 20);
        assert_eq!([0, 1, 2].map(ran), [0, 20_000_000, 20_000_000], "{kernel:?}: deadlines 100 and 150 first");
        assert_eq!(between(&history, MS(60), 0, 20, 40), 20_000_000, "{kernel:?}: then 200");
    }
}

/// A task that may use one CPU alone makes one that may use both go to the other.
#[test]
fn a_pinned_earlier_deadline_sends_the_later_one_elsewhere() {
    let machine = Machine::flat(2, 1000).unwrap();
    for kernel in KERNELS {
        let free = of(40, 200, task(&[Step::Compute(MS(30))]));
        let bound = starting(Start::At(Time(10_000_000)), pinned(0, of(20, 100, task(&[Step::Compute(MS(20))]))));
        let history = history(kernel, &machine, vec![free, bound, pinned(1, hog())], MS(60));
        assert_eq!(between(&history, MS(60), 0, 0, 30), 30_000_000, "{kernel:?}: never stops");
        assert_eq!(between(&history, MS(60), 1, 10, 30), 20_000_000, "{kernel:?}");
    }
}

/// specs/smp.md section 6.2: fair tasks starved by reservations have the fair server's 50 ms from 6.12 on.
#[test]
fn starved_fair_tasks_have_the_fair_server() {
    for kernel in KERNELS {
        let has_server = matches!(kernel.1, "6.12" | "6.18" | "7.2");
        let reserved = if has_server { 90 } else { 94 };
        let tasks = vec![of(reserved, 100, hog()), class(Class::Fifo, 50, hog()), hog()];
        let until = Span::from_s(10);
        let history = history(kernel, &one_cpu(1000), tasks, until);
        let fair = cpu_time(&history, until, 2).0 as f64 / 1e10;
        // Up to 6.11 the time of reservations counts for the limit of real-time tasks: these are off ever earlier in a
        // period, and fair tasks get what the reservation leaves then.
        let expected = if has_server { 0.049..0.051 } else { 0.01..0.02 };
        assert!(expected.contains(&fair), "{kernel:?}: {fair}");
    }
}

/// Specs section 11 "Admission": Σ Q/P ≤ M · 0.95, less the fair servers' 0.05 where there are any. Linux 6.18.44 on
/// two CPUs took 0.90 beside 0.90 and refused 0.91 (`chrt -d -T 91000000 -P 100000000 -D 100000000 0 true`).
#[test]
fn no_more_than_95_percent_of_the_machine_are_promised_those_of_fair_servers_included() {
    for (name, kernel) in KERNELS {
        let refusal = |periods: &[u64]| {
            let tasks = periods.iter().map(|runtime| of(*runtime, 100, hog())).collect();
            let (machine, options) = (Machine::flat(2, 1000).expect("a machine"), Options::default());
            let entry = goodness_policies::entry(name).expect("a policy");
            let made = (entry.make)(&machine, &[("kernel".into(), kernel.into())], options.seed).expect("settings");
            let work = Workload { tasks, horizon: Some(Time(1_000_000)), ..Workload::default() };
            simulate_with(&machine, made, work, None, &mut (), options).err().map(|why| why.to_string())
        };
        let most = if matches!(kernel, "6.1" | "6.6") { 95 } else { 90 };
        assert_eq!(refusal(&[most, most]), None, "{kernel}");
        let why = refusal(&[most, most + 1]).expect("a percent more does not fit");
        assert!(why.contains(&format!("of the {} % that 2 CPU(s) may promise", 2 * most)), "{why}");
        assert!(why.contains("reserve less or use more CPUs"), "{why}");
    }
}

/// A drawn run with reservations, real-time and ordinary tasks on up to four CPUs; the referee's objection.
fn drawn(seed: u64, wrap: impl Fn(MadePolicy) -> MadePolicy) -> Option<String> {
    let rng = &mut Seed(seed).stream("reservations", 0).rng();
    let cpus = 1 + rng.below(4);
    let mut machine = Machine::flat(cpus as u32, [100, 250, 1000][rng.below(3) as usize]).expect("a machine");
    if rng.below(2) == 0 {
        let (interrupt, idle_exit, switch) = (Span(2_000), Span(rng.below(50_000)), Span(1_000));
        machine.costs = Costs { interrupt, idle_exit, switch, ..Costs::default() };
    }
    let mut tasks = Vec::new();
    for _ in 0..rng.within(2, 8) {
        let work = Span(rng.within(100_000, 6_000_000));
        let steps = [Step::Compute(work), Step::Sleep(Span(rng.within(100_000, 9_000_000)))];
        let mut spec = cycle(&steps);
        match rng.below(4) {
            0 => spec = class(Class::Fifo, rng.within(1, 5) as u8, spec),
            1 => {}
            _ => {
                let period = Span(rng.within(2_000_000, 40_000_000));
                let deadline = if rng.below(3) == 0 { Span(period.0 / 2) } else { period };
                spec = reserving(Span(period.0 / 9), deadline, period, spec);
            }
        }
        if rng.below(3) == 0 {
            let bits = 1 + rng.below((1 << cpus) - 1);
            spec.task.affinity = CpuSet::Small(bits);
            spec.task.first_cpu = CpuId(bits.trailing_zeros());
        }
        spec.start = Start::At(Time(rng.below(3_000_000)));
        tasks.push(spec);
    }
    let (name, kernel) = KERNELS[rng.below(4) as usize];
    let entry = goodness_policies::entry(name).expect("a policy");
    let options = Options { seed: Seed(seed), event_limit: 30_000, ..Options::default() };
    let made = (entry.make)(&machine, &[("kernel".into(), kernel.into())], options.seed).expect("valid settings");
    let work = Workload { tasks, horizon: Some(Time(60_000_000)), ..Workload::default() };
    let ran = simulate_with(&machine, wrap(made), work, None, &mut (), options);
    ran.err().map(|why| format!("seed {seed}: {why}"))
}

#[test]
fn no_reservation_waits_for_a_later_deadline_in_five_thousand_drawn_runs() {
    let found: Vec<String> = (0..5_000).filter_map(|seed| drawn(seed, |made| made)).collect();
    assert!(found.is_empty(), "{} runs, such as {}", found.len(), found[0]);
}

/// The policy with a fault: it forgets to push, or does not ask a CPU to pick a task whose period begins.
struct Planted {
    policy: Box<dyn CpuPolicy>,
    is_deaf: bool,
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
        match self.policy.enqueue(cx, cpu, task, why) {
            _ if self.is_deaf => Resched::Keep,
            answer => answer,
        }
    }

    fn dequeue(&mut self, cx: &Context, cpu: CpuId, task: TaskId, why: Dequeue) {
        self.policy.dequeue(cx, cpu, task, why);
    }

    fn pick_next(&mut self, cx: &Context, cpu: CpuId) -> Option<Pick> {
        self.policy.pick_next(cx, cpu)
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

    fn waiting_reservations(&self) -> Option<u32> {
        self.policy.waiting_reservations()
    }

    fn deadline(&self, task: TaskId) -> Option<Time> {
        self.policy.deadline(task)
    }

    fn served_deadline(&self, cpu: CpuId) -> Option<Time> {
        self.policy.served_deadline(cpu)
    }

    fn next_timer(&self) -> Option<Time> {
        self.policy.next_timer()
    }

    fn timer(&mut self, cx: &Context) -> Resched {
        let answer = self.policy.timer(cx);
        if self.is_deaf { answer } else { Resched::Keep }
    }
}

/// The controls of the referee's check.
#[test]
fn a_policy_that_does_not_push_or_does_not_preempt_is_refused() {
    for is_deaf in [false, true] {
        let planted =
            |made: MadePolicy| MadePolicy { policy: Box::new(Planted { policy: made.policy, is_deaf }), ..made };
        let found: Vec<String> = (0..200).filter_map(|seed| drawn(seed, planted)).collect();
        assert!(found.len() > 20 && found[0].contains("whose deadline is"), "{}: {found:?}", found.len());
    }
}
