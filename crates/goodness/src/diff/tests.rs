//! Planted differences are found where they were planted, and equal runs differ nowhere.

use super::parting::{Rerun, parting, told};
use crate::refusal::Refusal;
use crate::run::Named;
use crate::simulation::{Beside, surrounded};
use crate::spec::PolicySpec;
use goodness_core::{
    Context, CpuId, CpuPolicy, Dequeue, Enqueue, Idle, Machine, MadePolicy, Pick, Preemption, Pull, Rejected, Resched,
    Seed, Span, Start, State, Step, StepContext, Stop, Task, TaskId, TaskSpec, Time, Workload,
};
use goodness_report::diff::FirstDifference;
use goodness_report::rule::Rule;
use goodness_sim::{Options, simulate_with};
use std::sync::{Arc, Mutex};

/// Cases with a planted decision.
const CASES: usize = 1_000;
/// Policies whose picks are swapped.
const POLICIES: [&str; 8] = ["rr", "fifo", "eevdf", "cfs", "o1", "stride", "staircase", "bsd4"];

/// A pick that was swapped.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Planted {
    at: Time,
    cpu: CpuId,
    /// The policy's own pick, and what was picked instead.
    picks: [TaskId; 2],
}

/// A policy, of which one pick is swapped for the one that would have followed it.
struct Swapping {
    inner: Box<dyn CpuPolicy>,
    /// Number of the pick among those with a choice; `None` swaps none.
    swap: Option<u64>,
    seen: Arc<Mutex<(u64, Option<Planted>)>>,
}

impl CpuPolicy for Swapping {
    fn admit(&mut self, cx: &Context, task: TaskId, parent: Option<TaskId>) -> Result<(), Rejected> {
        self.inner.admit(cx, task, parent)
    }
    fn exit(&mut self, cx: &Context, task: TaskId) {
        self.inner.exit(cx, task);
    }
    fn select_cpu(&mut self, cx: &Context, task: TaskId, why: &Enqueue) -> CpuId {
        self.inner.select_cpu(cx, task, why)
    }
    fn enqueue(&mut self, cx: &Context, cpu: CpuId, task: TaskId, why: Enqueue) -> Resched {
        self.inner.enqueue(cx, cpu, task, why)
    }
    fn dequeue(&mut self, cx: &Context, cpu: CpuId, task: TaskId, why: Dequeue) {
        self.inner.dequeue(cx, cpu, task, why);
    }
    fn pick_next(&mut self, cx: &Context, cpu: CpuId) -> Option<Pick> {
        let waiting =
            |(task, state): (usize, State)| state == State::Queued && cx.tasks.cpu(TaskId(task as u32)) == cpu;
        let has_choice = cx.tasks.states().enumerate().filter(|it| waiting(*it)).count() > 1;
        let mut seen = self.seen.lock().unwrap();
        let number = seen.0;
        seen.0 += u64::from(has_choice);
        let own = self.inner.pick_next(cx, cpu)?;
        if !has_choice || self.swap != Some(number) {
            return Some(own);
        }
        // The policy's own pick goes back and aside, so that the policy picks another.
        let _ = self.inner.charge(cx, cpu, own.task, Span::ZERO, Stop::Preempted);
        let _ = self.inner.enqueue(cx, cpu, own.task, Enqueue::Preempted);
        self.inner.dequeue(cx, cpu, own.task, Dequeue::Change);
        let other = self.inner.pick_next(cx, cpu).expect("another one waits");
        let _ = self.inner.enqueue(cx, cpu, own.task, Enqueue::Restored);
        seen.1 = Some(Planted { at: cx.now, cpu, picks: [own.task, other.task] });
        Some(other)
    }
    fn charge(&mut self, cx: &Context, cpu: CpuId, task: TaskId, ran: Span, why: Stop) -> Resched {
        self.inner.charge(cx, cpu, task, ran, why)
    }
    fn balance(&mut self, cx: &Context, cpu: CpuId, idle: Idle) -> Option<Pull> {
        self.inner.balance(cx, cpu, idle)
    }

    fn balances_later(&self, cpu: CpuId) -> bool {
        self.inner.balances_later(cpu)
    }
    fn preemption(&self) -> Preemption {
        self.inner.preemption()
    }
    fn waits_for_tick(&self, cpu: CpuId) -> bool {
        self.inner.waits_for_tick(cpu)
    }
    fn next_timer(&self) -> Option<Time> {
        self.inner.next_timer()
    }
    fn timer(&mut self, cx: &Context) -> Resched {
        self.inner.timer(cx)
    }
}

/// Tasks that compute and sleep for 20 ms, on one or two CPUs.
struct Case {
    policy: PolicySpec,
    machine: Machine,
    seed: Seed,
    tasks: u64,
}

impl Case {
    fn drawn(number: u64) -> Case {
        let seed = Seed(number);
        let mut rng = seed.stream("case", 0).rng();
        let cpus = 1 + rng.below(2) as u32;
        Case {
            policy: PolicySpec::parse(POLICIES[rng.below(POLICIES.len() as u64) as usize]).unwrap(),
            machine: Machine::flat(cpus, 1_000).unwrap(),
            seed,
            tasks: u64::from(cpus) + 2 + rng.below(3),
        }
    }

    fn work(&self) -> Workload {
        let task = |number: u64| {
            let mut rng = self.seed.stream("task", number).rng();
            let mut is_asleep = true;
            let behaviour = move |_: &mut StepContext| {
                is_asleep = !is_asleep;
                let span = Span(rng.within(50_000, 4_000_000));
                if is_asleep { Step::Sleep(span) } else { Step::Compute(span) }
            };
            TaskSpec {
                name: "t".into(),
                start: Start::At(Time(number * 1_000)),
                task: Task { address_space: Some(number as u32), ..Task::default() },
                behaviour: Box::new(behaviour),
                judged: true,
            }
        };
        Workload { tasks: (0..self.tasks).map(task).collect(), horizon: Some(Time(20_000_000)), ..Workload::default() }
    }

    /// Runs with pick `swap` swapped. Returns how many picks had a choice, and the swapped one.
    fn run(&self, swap: Option<u64>, beside: Beside) -> (u64, Option<Planted>) {
        let MadePolicy { about, policy } = self.policy.make(&self.machine, self.seed);
        let seen = Arc::new(Mutex::new((0, None)));
        let policy = Box::new(Swapping { inner: policy, swap, seen: Arc::clone(&seen) });
        let made = surrounded(MadePolicy { about, policy }, beside.around);
        let options = Options { seed: self.seed, ..Options::default() };
        let mut observer = beside.observer;
        simulate_with(&self.machine, made, self.work(), None, &mut observer, options)
            .unwrap_or_else(|fault| panic!("case {}, {}: {fault}", self.seed.0, self.policy));
        *seen.lock().unwrap()
    }

    fn names(&self) -> Vec<Named> {
        let name = |(index, it): (usize, TaskSpec)| Named::of(&it.name, index as u64 + 1, &it.task);
        self.work().tasks.into_iter().enumerate().map(name).collect()
    }

    /// What is found between the run as it is and the one with pick `swap` swapped.
    fn found(&self, swap: Option<u64>) -> Option<FirstDifference> {
        let rerun = |side: usize, beside: Beside| -> Result<Vec<Named>, Refusal> {
            self.run(swap.filter(|_| side == 1), beside);
            Ok(self.names())
        };
        first(self.machine.cpu_count(), &rerun)
    }
}

fn first(cpus: usize, rerun: &impl Rerun) -> Option<FirstDifference> {
    let parting = parting(rerun).unwrap()?;
    Some(told(&parting, cpus, rerun).unwrap())
}

/// Plants a difference, in a policy that does not tell its rules, and checks that it is named: time, CPU, and both
/// tasks. False if nothing could be planted.
fn names_what_was_planted(number: u64) -> bool {
    let case = Case::drawn(number);
    let (choices, _) = case.run(None, Beside::default());
    if choices == 0 {
        return false;
    }
    let swap = case.seed.stream("swap", 0).rng().below(choices);
    let planted = case.run(Some(swap), Beside::default()).1.expect("a pick was swapped");
    let found = case.found(Some(swap)).unwrap_or_else(|| panic!("case {number}: nothing found of {planted:?}"));
    let picks = [&found.a, &found.b].map(|it| it.picked.as_ref().map(|it| it.id));
    let said = (Time(found.at_ns), found.cpu, picks);
    let expected = (planted.at, Some(planted.cpu.0), planted.picks.map(|task| Some(u64::from(task.0) + 1)));
    assert_eq!(said, expected, "case {number} under {}: {found:?}", case.policy);
    assert_eq!([&found.a.rule, &found.b.rule], [&None; 2], "case {number}: a policy that does not tell says nothing");
    // A task of a queue that CPUs share is moved when it is picked: only one side saw it here.
    let queues = [&found.a, &found.b].into_iter().flat_map(|it| &it.queue).map(|it| &it.task);
    let running = found.a.running.iter().chain(&found.b.running);
    let there: Vec<u64> = queues.chain(running).map(|it| it.id).collect();
    assert!(expected.2.iter().flatten().all(|id| there.contains(id)), "case {number}: both were there: {found:?}");
    true
}

#[test]
fn a_planted_decision_is_named_in_every_case() {
    let planted = (0..2 * CASES as u64).map(names_what_was_planted).filter(|it| *it).take(CASES).count();
    assert_eq!(planted, CASES, "so many cases had a choice to swap");
}

#[test]
fn equal_runs_differ_nowhere() {
    for number in 0..20 {
        assert_eq!(Case::drawn(number).found(None), None, "case {number}");
    }
}

/// The costs of two policies differ, and shift what both decide alike.
#[test]
fn two_policies_that_decide_alike_differ_in_nothing_but_their_costs() {
    let case = Case::drawn(3);
    let of = |names: [&str; 2], tasks| {
        let sides = names.map(|name| Case {
            policy: PolicySpec::parse(name).unwrap(),
            machine: Machine::flat(1, 250).unwrap(),
            seed: case.seed,
            tasks,
        });
        let rerun = |side: usize, beside: Beside| -> Result<Vec<Named>, Refusal> {
            sides[side].run(None, beside);
            Ok(sides[side].names())
        };
        first(1, &rerun)
    };
    assert_eq!(of(["rr:timeslice=100ms", "o1"], 1), None, "one task alone");
    let slices = of(["rr:timeslice=1ms", "rr:timeslice=2ms"], 3).expect("slices differ");
    assert!((1_000_000..2_000_000).contains(&slices.at_ns), "{slices:?}");
    assert!(slices.a.did.ends_with("is preempted)") && slices.b.did.starts_with("keeps"), "{slices:?}");
}

/// The rules of both policies at the first decision that differs, of jobs given by start and length in ms on one CPU.
fn rules(policies: [&str; 2], jobs: &'static [(u64, u64)]) -> [Option<Rule>; 2] {
    let found = differing(1, policies, jobs);
    [found.a.rule, found.b.rule]
}

/// The first decision that differs, of jobs given by start and length in ms.
fn differing(cpus: usize, policies: [&str; 2], jobs: &'static [(u64, u64)]) -> FirstDifference {
    let machine = Machine::flat(cpus as u32, 1_000).unwrap();
    let task = |&(start, length): &(u64, u64)| {
        let mut steps = vec![Step::Exit, Step::Compute(Span::from_ms(length))];
        TaskSpec {
            name: "t".into(),
            start: Start::At(Time(start * 1_000_000)),
            task: Task { burst: Some(Span::from_ms(length)), ..Task::default() },
            behaviour: Box::new(move |_: &mut StepContext| steps.pop().unwrap_or(Step::Exit)),
            judged: true,
        }
    };
    let rerun = |side: usize, beside: Beside| -> Result<Vec<Named>, Refusal> {
        let work = Workload { tasks: jobs.iter().map(task).collect(), ..Workload::default() };
        let names = work.tasks.iter().enumerate().map(|(index, it)| Named::of(&it.name, index as u64 + 1, &it.task));
        let names = names.collect();
        let made = PolicySpec::parse(policies[side]).unwrap().make(&machine, Seed(1));
        let (made, mut observer) = (surrounded(made, beside.around), beside.observer);
        simulate_with(&machine, made, work, None, &mut observer, Options::default()).expect("a run");
        Ok(names)
    };
    first(cpus, &rerun).expect("they differ")
}

#[test]
fn a_policy_says_why_it_places_a_task_where_the_other_one_does_not() {
    let placed = |policies, jobs| {
        let found = differing(2, policies, jobs);
        let task = found.placed.map(|it| it.id);
        (task, [found.a, found.b].map(|it| (it.did, it.rule.map(|rule| rule.name))))
    };
    // The fourth finds both CPUs busy, and a third task that waits for CPU 0.
    assert_eq!(
        placed(["eevdf", "bfs"], &[(0, 8), (0, 8), (0, 9), (1, 4)]),
        (Some(4), [("wakes t 4 on CPU 1".into(), Some("none_idle".into())), ("wakes t 4 on CPU 0".into(), None)])
    );
    // The control: the policy that does not place it on an idle CPU says nothing of one.
    let (task, [fair, other]) = placed(["eevdf", "lottery"], &[(0, 8), (0, 8)]);
    assert_eq!((task, fair.1, other.1), (Some(2), Some("idle_cpu".into()), None));
}

#[test]
fn both_policies_say_their_rules_at_the_first_decision_that_differs() {
    let said = |policies, jobs| rules(policies, jobs).map(|it| it.map_or("nothing".into(), |rule| rule.said));
    // At 1 ms B arrives, shorter than what is left of A.
    assert_eq!(
        said(["fifo", "srtf"], &[(0, 8), (1, 4)]),
        ["it came before t 2", "it needs 4 ms, less than t 1's 7 ms"]
    );
    // At 3 ms both wait.
    let both = ["it came before t 3", "it needs 4 ms, less than t 2's 8 ms"];
    assert_eq!(said(["fifo", "sjf"], &[(0, 3), (1, 8), (2, 4)]), both);
    let slices = ["it came before t 1", "its slice was not over"];
    assert_eq!(said(["rr:timeslice=2ms", "rr:timeslice=4ms"], &[(0, 8), (1, 8)]), slices);
    // Both waited when A was picked; what counts is why A goes on.
    assert_eq!(said(["rr:timeslice=2ms", "rr:timeslice=4ms"], &[(0, 8), (0, 8)])[1], "its slice was not over");
    let [first, fair] = rules(["fifo", "eevdf"], &[(0, 20), (1, 20)]).map(|it| it.expect("both tell").name);
    assert_eq!(first, "first");
    assert!(["not_eligible", "earlier_deadline"].contains(&fair.as_str()), "{fair}");
}
