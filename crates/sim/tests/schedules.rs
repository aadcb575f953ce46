//! Small schedules as (who, when) lists.

mod lab;

use goodness_core::*;
use goodness_policies::{fifo::Fifo, rr::RoundRobin};
use goodness_sim::{Blame, End, Options, simulate};
use lab::{MS, cycle, on, one_cpu, programme, run, schedule, task, workload};

#[test]
fn round_robin_takes_turns_and_fifo_does_not() {
    let work = || workload(vec![task(&[Step::Compute(MS(25))]), task(&[Step::Compute(MS(10))])], &[], 0);
    let (events, outcome) = run::<RoundRobin>(&one_cpu(), Default::default(), work());
    assert_eq!(schedule(&events), "a 0..10  b 10..20  a 20..35");
    assert_eq!((outcome.end, outcome.reason), (Time(35_000_000), End::Finished));
    let (events, _) = run::<Fifo>(&one_cpu(), Default::default(), work());
    assert_eq!(schedule(&events), "a 0..25  b 25..35");
}

#[test]
fn a_yielding_task_goes_behind_its_equals() {
    let work = workload(
        vec![task(&[Step::Compute(MS(5)), Step::Yield, Step::Compute(MS(5))]), task(&[Step::Compute(MS(8))])],
        &[],
        0,
    );
    let (events, _) = run::<Fifo>(&one_cpu(), Default::default(), work);
    assert_eq!(schedule(&events), "a 0..5  b 5..13  a 13..18");
}

#[test]
fn a_sleeper_comes_back_when_its_timer_ends_and_waits_its_turn() {
    let work = workload(
        vec![task(&[Step::Compute(MS(1)), Step::Sleep(MS(4)), Step::Compute(MS(1))]), task(&[Step::Compute(MS(9))])],
        &[],
        0,
    );
    let (events, _) = run::<Fifo>(&one_cpu(), Default::default(), work);
    assert_eq!(schedule(&events), "a 0..1  b 1..10  a 10..11");
    assert!(events.contains(&(
        Time(5_000_000),
        Event::Wakeup { task: TaskId(0), waker: None, cpu: CpuId(0), from: WakeSource::Interrupt }
    )));
}

#[test]
fn a_wake_reaches_the_waiter_at_that_point_of_the_wakers_work() {
    let a = task(&[Step::Wait(Channel(0)), Step::Compute(MS(2))]);
    let b = task(&[Step::Compute(MS(3)), Step::Wake(Channel(0)), Step::Compute(MS(3))]);
    let machine = Machine::flat(2, 100).unwrap();
    let (events, _) = run::<Fifo>(&machine, Default::default(), workload(vec![a, b], &[ChannelKind::Semaphore], 0));
    assert_eq!(schedule(&events), "a 0..0  b@1 0..6  a 3..5");
}

#[test]
fn a_contended_lock_is_handed_on_in_turn() {
    let holder = |before: u64| {
        task(&[Step::Compute(MS(before)), Step::Lock(LockId(0)), Step::Compute(MS(5)), Step::Unlock(LockId(0))])
    };
    let machine = Machine::flat(3, 100).unwrap();
    let (events, _) =
        run::<Fifo>(&machine, Default::default(), workload(vec![holder(1), holder(2), holder(3)], &[], 1));
    assert_eq!(schedule(&events), "a 0..6  b@1 0..2  c@2 0..3  b 6..11  c 11..16");
}

#[test]
fn a_condition_gives_up_the_lock_and_takes_it_again() {
    let waiter = task(&[
        Step::Lock(LockId(0)),
        Step::WaitUnlocked(Channel(0), LockId(0)),
        Step::Compute(MS(1)),
        Step::Unlock(LockId(0)),
    ]);
    let signaller = task(&[
        Step::Compute(MS(1)),
        Step::Lock(LockId(0)),
        Step::Wake(Channel(0)),
        Step::Compute(MS(2)),
        Step::Unlock(LockId(0)),
    ]);
    let machine = Machine::flat(2, 100).unwrap();
    let (events, outcome) =
        run::<Fifo>(&machine, Default::default(), workload(vec![waiter, signaller], &[ChannelKind::Condition], 1));
    assert_eq!(outcome.end, Time(4_000_000), "{}", schedule(&events));
}

#[test]
fn a_child_is_forked_where_its_parent_runs_and_may_be_placed_elsewhere() {
    let parent = task(&[Step::Compute(MS(1)), Step::Fork(BehaviourId(1)), Step::Compute(MS(2))]);
    let child = TaskSpec { start: Start::Forked, ..task(&[Step::Compute(MS(2))]) };
    let (events, _) =
        run::<Fifo>(&Machine::flat(2, 100).unwrap(), Default::default(), workload(vec![parent, child], &[], 0));
    assert_eq!(schedule(&events), "a 0..3  b@1 1..3");
}

#[test]
fn affinity_keeps_a_task_off_idle_cpus() {
    let pinned = || {
        let mut spec = task(&[Step::Compute(MS(2))]);
        spec.task.affinity = CpuSet::of(&[CpuId(0)]);
        spec
    };
    let (events, _) =
        run::<Fifo>(&Machine::flat(4, 100).unwrap(), Default::default(), workload(vec![pinned(), pinned()], &[], 0));
    assert_eq!(schedule(&events), "a 0..2  b 2..4");
}

#[test]
fn a_change_of_affinity_moves_the_running_task() {
    let work = workload(
        vec![task(&[Step::Compute(MS(2)), Step::SetAffinity(CpuSet::of(&[CpuId(1)])), Step::Compute(MS(2))])],
        &[],
        0,
    );
    let (events, _) = run::<Fifo>(&Machine::flat(2, 100).unwrap(), Default::default(), work);
    assert_eq!(schedule(&events), "a 0..2  a@1 2..4");
}

#[test]
fn a_task_that_never_uses_time_is_stopped_with_a_sentence() {
    let spin: Box<dyn Behaviour> = Box::new(|_: &mut StepContext| Step::Wake(Channel(0)));
    let work = workload(vec![TaskSpec { behaviour: spin, ..task(&[]) }], &[ChannelKind::Condition], 0);
    let fault = simulate::<Fifo>(&one_cpu(), Default::default(), work, &mut (), Options::default()).unwrap_err();
    assert!(fault.sentence.contains("without using time"), "{fault}");
    assert_eq!((fault.blame, fault.task), (Blame::Workload, Some(TaskId(0))));
}

#[test]
fn a_run_in_which_nobody_can_act_any_more_ends_quietly() {
    let work = workload(vec![task(&[Step::Compute(MS(1)), Step::Wait(Channel(0))])], &[ChannelKind::Semaphore], 0);
    let (_, outcome) = run::<Fifo>(&one_cpu(), Default::default(), work);
    assert_eq!((outcome.end, outcome.reason), (Time(1_000_000), End::Quiet));
    assert_eq!(outcome.waiting, [(TaskId(0), Awaited::Channel(Channel(0)))]);
}

#[test]
fn a_policy_that_answers_what_cannot_be_is_to_blame_itself() {
    let work = || workload(vec![task(&[Step::Sleep(MS(1)), Step::Compute(MS(1))])], &[], 0);
    let fault = simulate::<Inventor>(&one_cpu(), NoSettings::default(), work(), &mut (), Options::default());
    let fault = fault.unwrap_err();
    assert_eq!((fault.blame, fault.task), (Blame::Policy, None));
    assert!(fault.sentence.contains("picked task 99, which does not exist"), "{fault}");
}

/// A faulty policy that picks an unknown task.
struct Inventor;

impl Registered for Inventor {
    const ABOUT: About = About { name: "inventor", ..LastFirst::ABOUT };
    type Settings = NoSettings;
    fn new(_: &Machine, _: NoSettings, _: Seed) -> Self {
        Inventor
    }
}

impl CpuPolicy for Inventor {
    fn admit(&mut self, _: &Context, _: TaskId, _: Option<TaskId>) -> Result<(), Rejected> {
        Ok(())
    }
    fn enqueue(&mut self, _: &Context, _: CpuId, _: TaskId, _: Enqueue) -> Resched {
        Resched::Keep
    }
    fn dequeue(&mut self, _: &Context, _: CpuId, _: TaskId, _: Dequeue) {}
    fn pick_next(&mut self, _: &Context, _: CpuId) -> Option<Pick> {
        Some(Pick { task: TaskId(99), timeslice: None })
    }
    fn charge(&mut self, _: &Context, _: CpuId, _: TaskId, _: Span, _: Stop) -> Resched {
        Resched::Keep
    }
}

#[test]
fn the_horizon_ends_a_run_that_would_go_on() {
    let mut work = workload(vec![task(&[Step::Compute(Span::MAX)])], &[], 0);
    work.horizon = Some(Time(7_000_000));
    let (_, outcome) = run::<RoundRobin>(&one_cpu(), Default::default(), work);
    assert_eq!((outcome.end, outcome.reason), (Time(7_000_000), End::Horizon));
}

#[test]
fn a_slow_cpu_takes_longer_for_the_same_work() {
    let cpus = vec![Cpu { core: 0, cache: 0, node: 0, capacity: 512 }];
    let machine = Machine::new("half", cpus, 100).unwrap();
    let (_, outcome) = run::<Fifo>(&machine, Default::default(), workload(vec![task(&[Step::Compute(MS(3))])], &[], 0));
    assert_eq!(outcome.end, Time(6_000_000));
}

#[test]
fn a_timer_with_slack_is_late_unless_another_interrupt_comes_at_its_instant() {
    let sleepers = |others: Vec<TaskSpec>| {
        let sleeper = task(&[Step::SleepUntil(Time(5_000_000)), Step::Compute(MS(1))]);
        let mut work = workload(std::iter::once(sleeper).chain(others).collect(), &[], 0);
        work.timer_slack = Span::from_us(3);
        schedule(&run::<Fifo>(&one_cpu(), Default::default(), work).0)
    };
    assert!(sleepers(vec![]).ends_with("a 5.003..6.003"));
    let mut urgent = task(&[Step::SleepUntil(Time(5_000_000)), Step::Compute(MS(1))]);
    urgent.task.class = Class::Fifo;
    urgent.task.rt_priority = 1;
    assert!(sleepers(vec![urgent]).ends_with("b 5..6  a 6..7"));
}

/// The policy preempts at each wake-up: the last one queued runs first.
struct LastFirst(Vec<TaskId>);

goodness_core::tunables! {
    pub struct NoSettings {}
}

impl Registered for LastFirst {
    const ABOUT: About = About {
        name: "last-first",
        summary: "For tests.",
        source: "none",
        needs: Needs { tick: false, timer: false, balance: false, global_lock: false },
    };
    type Settings = NoSettings;
    fn new(_: &Machine, _: NoSettings, _: Seed) -> Self {
        LastFirst(Vec::new())
    }
}

impl CpuPolicy for LastFirst {
    fn admit(&mut self, _: &Context, _: TaskId, _: Option<TaskId>) -> Result<(), Rejected> {
        Ok(())
    }
    fn enqueue(&mut self, _: &Context, cpu: CpuId, task: TaskId, why: Enqueue) -> Resched {
        match why {
            Enqueue::Wakeup { .. } => {
                self.0.push(task);
                Resched::Preempt(cpu)
            }
            _ => {
                self.0.insert(0, task);
                Resched::Keep
            }
        }
    }
    fn dequeue(&mut self, _: &Context, _: CpuId, _: TaskId, _: Dequeue) {}
    fn pick_next(&mut self, _: &Context, _: CpuId) -> Option<Pick> {
        self.0.pop().map(|task| Pick { task, timeslice: None })
    }
    fn charge(&mut self, _: &Context, _: CpuId, _: TaskId, _: Span, _: Stop) -> Resched {
        Resched::Keep
    }
}

/// `a` computes, wakes `b` after 2 ms, and continues to compute; `b` waits first.
fn waker_and_woken(after: Step) -> Workload {
    let a = task(&[Step::Compute(MS(2)), Step::Wake(Channel(0)), Step::Compute(MS(1)), after, Step::Compute(MS(3))]);
    let b = task(&[Step::Wait(Channel(0)), Step::Compute(MS(4))]);
    workload(vec![b, a], &[ChannelKind::Semaphore], 0)
}

#[test]
fn a_wake_up_preempts_after_the_time_it_takes_to_leave_the_kernel() {
    let mut machine = one_cpu();
    machine.costs.preempt = Span::from_us(500);
    let (events, _) = run::<LastFirst>(&machine, NoSettings::default(), waker_and_woken(Step::Compute(MS(1))));
    assert_eq!(schedule(&events), "a 0..0  b 0..2.5  a 2.5..6.5  b 6.5..11");
}

#[test]
fn a_cpu_that_picked_meanwhile_owes_no_preemption() {
    let mut machine = one_cpu();
    machine.costs.preempt = MS(2);
    let (events, _) = run::<LastFirst>(&machine, NoSettings::default(), waker_and_woken(Step::Sleep(MS(9))));
    assert_eq!(schedule(&events), "a 0..0  b 0..3  a 3..7  b 12..15");
}

/// The control is a machine on which a wake-up preempts at once.
#[test]
fn a_waker_that_is_preempted_takes_no_other_step_until_then() {
    let told = |preempt: Span| {
        let mut machine = one_cpu();
        machine.costs.preempt = preempt;
        let a = task(&[Step::Compute(MS(2)), Step::Wake(Channel(0)), Step::Sleep(MS(9)), Step::Compute(MS(3))]);
        let b = task(&[Step::Wait(Channel(0)), Step::Compute(MS(4))]);
        let work = workload(vec![b, a], &[ChannelKind::Semaphore], 0);
        run::<LastFirst>(&machine, NoSettings::default(), work).0
    };
    assert_eq!(schedule(&told(Span::ZERO)), "a 0..0  b 0..2  a 2..6  b 6..6  b 15..18");
    let events = told(MS(2));
    assert_eq!(schedule(&events), "a 0..0  b 0..4  a 4..8  b 8..8  b 17..20", "it does not sleep at 2");
    let spent = events.iter().filter_map(|(_, event)| match event {
        Event::Overhead { kind: Overhead::Wakeup, span, .. } => Some(*span),
        _ => None,
    });
    assert_eq!(spent.collect::<Vec<_>>(), [MS(2)]);
}

#[test]
fn a_run_in_which_time_stands_still_is_stopped_with_a_sentence() {
    let spin: Box<dyn Behaviour> = Box::new(|_: &mut StepContext| Step::Yield);
    let work = workload(vec![TaskSpec { behaviour: spin, ..task(&[]) }], &[], 0);
    let fault = simulate::<Fifo>(&one_cpu(), Default::default(), work, &mut (), Options::default()).unwrap_err();
    assert!(fault.sentence.contains("took no time"), "{fault}");
    assert_eq!((fault.blame, fault.task), (Blame::Workload, Some(TaskId(0))));
}

fn outside(start: u64, steps: &[Step]) -> Outsider {
    Outsider { name: "client".into(), start: Time(start), behaviour: programme(steps) }
}

#[test]
fn who_is_outside_wakes_by_interrupt_and_needs_no_cpu() {
    let (request, answer) = (Channel(0), Channel(1));
    let server =
        [Step::Wait(request), Step::Compute(MS(2)), Step::Wake(answer), Step::Wait(request), Step::Compute(MS(1))];
    let mut work = workload(vec![task(&server), task(&[Step::Compute(MS(20))])], &[ChannelKind::Semaphore; 2], 0);
    // Sends at 3 ms, is answered when the server is done, and sends again 5 ms later, whatever the CPU does.
    let client = [Step::Interrupt(request), Step::Wait(answer), Step::Sleep(MS(5)), Step::Interrupt(request)];
    work.outside.push(outside(3_000_000, &client));
    let slice = goodness_policies::rr::Settings { timeslice: MS(4) };
    let (events, outcome) = run::<RoundRobin>(&Machine::flat(1, 100).unwrap(), slice, work);
    assert_eq!(schedule(&events), "a 0..0  b 0..4  a 4..6  b 6..14  a 14..15  b 15..23");
    assert_eq!((outcome.reason, outcome.end), (End::Finished, Time(23_000_000)));
}

#[test]
fn who_is_outside_may_not_use_a_cpu() {
    let mut work = workload(vec![task(&[Step::Compute(MS(1))])], &[], 0);
    work.outside.push(outside(0, &[Step::Compute(MS(1))]));
    let machine = Machine::flat(1, 100).unwrap();
    let fault = simulate::<Fifo>(&machine, Default::default(), work, &mut (), Options::default()).unwrap_err();
    assert!(fault.sentence.contains("\"client\", who is outside the machine, asked for Compute"), "{fault}");
}

#[test]
fn a_wake_up_by_interrupt_delays_whom_it_disturbs() {
    let mut work = workload(
        vec![task(&[Step::Wait(Channel(0)), Step::Compute(MS(1))]), task(&[Step::Compute(MS(9))])],
        &[ChannelKind::Semaphore],
        0,
    );
    work.outside.push(outside(3_000_000, &[Step::Interrupt(Channel(0))]));
    let mut machine = Machine::flat(1, 100).unwrap();
    machine.costs.wakeup = MS(2);
    let (events, _) = run::<Fifo>(&machine, Default::default(), work);
    assert_eq!(schedule(&events), "a 0..0  b 0..11  a 11..12");
}

/// A thread of the kernel goes on for ever; the run does not. The control is one that is part of the work.
#[test]
fn a_run_ends_with_its_work_whatever_threads_of_the_kernel_do() {
    let ended = |workers: usize| {
        let worker = on(1, cycle(&[Step::Compute(MS(4)), Step::Sleep(MS(1))]));
        let worker = TaskSpec { start: Start::WokenAt(Time(1_000_000)), ..worker };
        let work = workload(vec![task(&[Step::Compute(MS(3))]), worker], &[], 0);
        let work = Workload { workers, horizon: (workers == 0).then_some(Time(20_000_000)), ..work };
        let (_, outcome) = run::<Fifo>(&Machine::flat(2, 250).unwrap(), Default::default(), work);
        (outcome.reason, outcome.end)
    };
    assert_eq!(ended(1), (End::Finished, Time(3_000_000)));
    assert_eq!(ended(0), (End::Horizon, Time(20_000_000)));
}
