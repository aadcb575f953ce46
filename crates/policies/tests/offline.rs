//! CPUs that go offline and come back under every policy, with all checkers on.

mod harness;

use goodness_core::*;
use goodness_observe::{Checkers, Ending, Subject};
use goodness_sim::{End, Options, simulate_with};
use harness::*;

/// CPU 1 is offline from 50 ms on, for 100 ms.
const OFFLINE: MachineFault =
    MachineFault { kind: FaultKind::Offline, at: Time(50_000_000), span: Span::from_ms(100), cpu: Some(CpuId(1)) };
const UNTIL: Span = Span::from_ms(400);

fn busy_work() -> Vec<TaskSpec> {
    let mut tasks: Vec<TaskSpec> = (0..5).map(|_| cycle(&[Step::Compute(MS(7)), Step::Sleep(MS(2))])).collect();
    tasks.extend([hog(), hog()]);
    tasks[0].task.affinity = CpuSet::of(&[CpuId(0), CpuId(1)]);
    tasks[1].task.affinity = CpuSet::of(&[CpuId(1)]);
    tasks
}

/// The events under `policy`, unless something is wrong; then that.
fn held(policy: MadePolicy, tasks: Vec<TaskSpec>, faults: Vec<MachineFault>) -> Result<History, String> {
    let work = Workload { tasks, faults, horizon: Some(Time(UNTIL.0)), ..Workload::default() };
    let machine = Machine::flat(3, 1000).unwrap();
    let checkers = Checkers::new(3, &Subject::all(&work)).with_forgotten(MS(100));
    let mut observer = (History::new(), checkers);
    let outcome = simulate_with(&machine, policy, work, None, &mut observer, Options::default());
    let outcome = outcome.map_err(|fault| fault.to_string())?;
    let ending = if outcome.reason == End::Horizon { Ending::Horizon } else { Ending::Quiet };
    let checked = observer.1.finish(outcome.end, ending);
    checked.violations.first().map_or(Ok(observer.0), |it| Err(it.to_string()))
}

fn made(entry: &PolicyEntry) -> MadePolicy {
    (entry.make)(&Machine::flat(3, 1000).unwrap(), &[], Seed(1)).expect("defaults are settings")
}

/// True if a task runs on CPU 1 between two times, in ms.
fn is_used(history: &History, from: u64, until: u64) -> bool {
    let (from, until) = (Time(from * 1_000_000), Time(until * 1_000_000));
    stretches(history, UNTIL).iter().any(|it| it.1 == CpuId(1) && it.0 < until && it.3 > from)
}

#[test]
fn every_policy_leaves_a_cpu_that_is_offline_and_uses_it_again_when_it_is_back() {
    for about in goodness_policies::ALL {
        let entry = goodness_policies::entry(about.name).expect("a listed policy is found");
        let history = held(made(entry), busy_work(), vec![OFFLINE]).unwrap_or_else(|it| panic!("{}: {it}", about.name));
        let used = [(0, 50), (50, 150), (150, 400)].map(|(from, until)| is_used(&history, from, until));
        assert_eq!(used, [true, false, true], "{}", about.name);
        let usual = held(made(entry), busy_work(), vec![]).expect("it runs");
        assert!(is_used(&usual, 50, 150), "{}: without the fault", about.name);
    }
}

/// Idle balancing does not wait for passes that were made in vain while the CPU was away. Without the rule it is 52 ms.
#[test]
fn the_fair_classes_use_a_cpu_within_three_ticks_of_its_return() {
    let machine = Machine::flat(2, 250).unwrap();
    let away = MachineFault { at: Time(300_000_000), span: Span::from_ms(200), ..OFFLINE };
    for name in ["cfs", "eevdf"] {
        let entry = goodness_policies::entry(name).expect("a listed policy is found");
        let tasks = (0..4).map(|_| hog()).collect();
        let work = Workload { tasks, faults: vec![away], horizon: Some(Time(600_000_000)), ..Workload::default() };
        let policy = (entry.make)(&machine, &[], Seed(1)).expect("defaults are settings");
        let mut history = History::new();
        simulate_with(&machine, policy, work, None, &mut history, Options::default()).expect("it runs");
        let back = history.iter().find(|(at, event)| {
            *at >= away.at + away.span && matches!(event, Event::Switch { cpu: CpuId(1), next: Some(_), .. })
        });
        let late = back.expect("it is used again").0.since(away.at + away.span);
        assert!(late <= Span::from_ms(12), "{name}: {late:?}");
    }
}

/// A policy with one mistake about CPUs that go offline.
struct Wrong {
    inner: Box<dyn CpuPolicy>,
    mistake: Mistake,
}

#[derive(Clone, Copy, PartialEq)]
enum Mistake {
    None,
    /// Keeps a task on the CPU it had.
    Keeps,
    /// Does not queue a task that is moved.
    Loses,
    /// Gives a moved task to a CPU other than the one it was placed on, as if it were still there.
    Forgets,
}

impl CpuPolicy for Wrong {
    fn admit(&mut self, cx: &Context, task: TaskId, parent: Option<TaskId>) -> Result<(), Rejected> {
        self.inner.admit(cx, task, parent)
    }

    fn select_cpu(&mut self, cx: &Context, task: TaskId, why: &Enqueue) -> CpuId {
        if self.mistake == Mistake::Keeps { cx.tasks.cpu(task) } else { self.inner.select_cpu(cx, task, why) }
    }

    fn enqueue(&mut self, cx: &Context, cpu: CpuId, task: TaskId, why: Enqueue) -> Resched {
        match self.mistake {
            Mistake::Loses if why == Enqueue::Migrated => Resched::Keep,
            Mistake::Forgets if why == Enqueue::Migrated => self.inner.enqueue(cx, CpuId(1), task, why),
            _ => self.inner.enqueue(cx, cpu, task, why),
        }
    }

    fn dequeue(&mut self, cx: &Context, cpu: CpuId, task: TaskId, why: Dequeue) {
        self.inner.dequeue(cx, cpu, task, why);
    }

    fn pick_next(&mut self, cx: &Context, cpu: CpuId) -> Option<Pick> {
        self.inner.pick_next(cx, cpu)
    }

    fn charge(&mut self, cx: &Context, cpu: CpuId, task: TaskId, ran: Span, why: Stop) -> Resched {
        self.inner.charge(cx, cpu, task, ran, why)
    }
}

/// The complaint about `name` with a mistake, on a CPU that goes offline and does not come back.
fn complaint(name: &str, mistake: Mistake) -> Option<String> {
    let made = made(goodness_policies::entry(name).expect("a policy"));
    let policy = MadePolicy { policy: Box::new(Wrong { inner: made.policy, mistake }), ..made };
    let at_home = |cpu| {
        let mut it = task(&[Step::Compute(MS(90))]);
        it.task.first_cpu = CpuId(cpu);
        it
    };
    let tasks = (0..3).map(at_home).collect();
    held(policy, tasks, vec![MachineFault { span: Span::from_ms(1_000), ..OFFLINE }]).err()
}

/// The negative controls.
#[test]
fn a_policy_that_keeps_or_loses_a_task_of_an_offline_cpu_is_found() {
    for name in ["fifo", "ule"] {
        assert_eq!(complaint(name, Mistake::None), None, "{name}");
        let says = |mistake, part: &str| {
            let said = complaint(name, mistake).unwrap_or_default();
            assert!(said.contains(part), "{name}, {part}: {said}");
        };
        says(Mistake::Keeps, "selected cpu 1 for task 1, which its affinity");
        says(Mistake::Loses, "no_lost_task");
    }
    let said = complaint("ule", Mistake::Forgets).unwrap_or_default();
    assert!(said.contains("picked task 1 for cpu 1, which its affinity forbids"), "{said}");
}
