//! Periodic timers: what a task asks for when others take its CPU, from a recording in which they did not.

use super::recorder::{CpuTime, Planned, Recorder, run};
use super::us;
use goodness_core::{Event, Machine, Nice, Observer, Off, Span, Start, Step, Task, TaskId, Time};
use goodness_policies::eevdf::Eevdf;
use goodness_replay::program::Instruction;
use goodness_replay::{Recovered, Replay, ReplayOptions, recover};
use goodness_work::script::{Op, OutsiderPlan, Overrun, Plan, Script, TaskPlan};
use std::sync::Arc;

const PERIOD: Span = Span::from_ms(10);
fn timer(overrun: Overrun) -> Op {
    Op::Timer { timer: 0, period: PERIOD, overrun }
}

const HORIZON: Time = Time(4_000_000_000);

/// A task that computes for 2 to 4 ms between rests, beside two that compute all the time with this nice.
fn plan(rests: &[Op], nice: i64) -> Planned {
    let script = |ops: Vec<Op>, loops: bool| {
        let mut script = Script { ops, timers: 1, ..Script::default() };
        if loops {
            script.repeat_from(0, None);
        }
        Arc::new(script)
    };
    let task = |name: &str, nice, script| TaskPlan {
        name: name.into(),
        start: Start::WokenAt(Time::ZERO),
        task: Task { address_space: Some(0), nice: Nice::new(nice).expect("a nice"), ..Task::default() },
        line: 0,
        script,
    };
    let work = Op::ComputeBetween(Span::from_ms(2), Span::from_ms(4));
    let hog = || script(vec![Op::Do(Step::Compute(Span::MAX))], false);
    let tasks =
        vec![task("t0", 0, script([&[work], rests].concat(), true)), task("t1", nice, hog()), task("t2", nice, hog())];
    Planned(Plan { tasks, horizon: Some(HORIZON), ..Plan::default() })
}

/// CPU time of the first task, in ms.
fn simulated(source: &impl goodness_core::WorkloadSource) -> u64 {
    let machine = Machine::flat(1, 250).expect("a machine");
    let mut time = CpuTime::new(3);
    run::<Eevdf>(&machine, source, 0, &mut time);
    time.total[0] / 1_000_000
}

fn recovered(source: &Planned) -> Recovered {
    let machine = Machine::flat(1, 250).expect("a machine");
    let mut recorder = Recorder::new(1, 3);
    for it in &mut recorder.written.participants {
        // All are judged, so that the work does not end with the first.
        it.judged = true;
    }
    run::<Eevdf>(&machine, source, 0, &mut recorder);
    recover(&recorder.written.history(), ReplayOptions::default())
}

/// Its CPU time in a replay in which the others have this nice.
fn replayed(mut recovered: Recovered, nice: i64) -> u64 {
    for task in &mut recovered.tasks[1..] {
        task.participant.task.nice = Nice::new(nice).expect("a nice");
    }
    simulated(&Replay::new("timers", recovered))
}

/// In a recording without a change, and with others of this nice: CPU time in reality, in ms, and replayed.
fn compare(rests: &[Op], nice: i64) -> (u64, u64) {
    (simulated(&plan(rests, nice)), replayed(recovered(&plan(rests, 0)), nice))
}

#[test]
fn a_task_that_leaves_out_what_it_missed_asks_for_what_a_timer_allows() {
    let recording = recovered(&plan(&[timer(Overrun::SkipsPassed)], 0));
    let ops = recording.tasks[0].ops.iter().map(|op| op.instruction());
    let periods = ops.filter(|it| matches!(it, Instruction::NextExpiry(it) if it.0.abs_diff(PERIOD.0) < 2_000));
    assert!(periods.count() > 250, "{:?}", &recording.tasks[0].ops[..40]);
    for nice in [-5, -3, 5, 10] {
        let (real, replay) = compare(&[timer(Overrun::SkipsPassed)], nice);
        assert!(real.abs_diff(replay) * 20 <= real, "nice {nice}: {real} ms, replayed {replay}");
    }
}

#[test]
fn a_task_that_makes_up_for_what_it_missed_asks_for_all() {
    for nice in [-3, -1, 5, 10] {
        let (real, replay) = compare(&[timer(Overrun::KeepsGrid)], nice);
        assert!(real.abs_diff(replay) * 20 <= real, "nice {nice}: {real} ms, replayed {replay}");
    }
}

/// A device wait ends in an interrupt, too, but not by the timer.
#[test]
fn waits_for_devices_between_expiries_stay_delays() {
    let inbox = Plan::default().mailbox();
    let read = [Op::AskDevice(inbox), Op::Do(Step::Compute(us(10))), timer(Overrun::SkipsPassed)];
    let disk = |mut it: Planned| {
        let ops = vec![Op::Receive(inbox), Op::SleepBetween(us(200), us(500)), Op::Reply];
        let mut script = Script { ops, ..Script::default() };
        script.repeat_from(0, None);
        assert_eq!(it.0.mailbox(), inbox);
        it.0.outside = vec![OutsiderPlan { name: "disk".into(), start: Time::ZERO, script: Arc::new(script) }];
        it
    };
    let recording = recovered(&disk(plan(&read, 0)));
    let count = |is: fn(Instruction) -> bool| recording.tasks[0].ops.iter().filter(|op| is(op.instruction())).count();
    let timers = count(|it| matches!(it, Instruction::Expiry(_) | Instruction::NextExpiry(_)));
    let delays = count(|it| matches!(it, Instruction::Sleep(_)));
    assert!(timers > 150 && delays > 200, "{timers} expiries, {delays} delays");
    let (real, replay) = (simulated(&disk(plan(&read, -1))), replayed(recording, -1));
    assert!(real.abs_diff(replay) * 10 <= real, "{real} ms, replayed {replay}");
}

/// Its timer begins with it: what it would have done before is not made up for.
#[test]
fn a_task_that_begins_later_than_recorded_has_its_first_expiry_later() {
    let sleeps = |late: u64| {
        let mut plan = plan(&[timer(Overrun::KeepsGrid)], 0);
        plan.0.tasks[0].start = Start::At(Time::ZERO + Span::from_ms(100));
        let mut recovered = recovered(&plan);
        recovered.tasks[0].start = Start::At(Time::ZERO + Span::from_ms(100 + late));
        let mut sleeps = Sleeps(0);
        let machine = Machine::flat(1, 250).expect("a machine");
        run::<Eevdf>(&machine, &Replay::new("late", recovered), 0, &mut sleeps);
        sleeps.0
    };
    let (in_time, late) = (sleeps(0), sleeps(500));
    assert!(in_time > 250 && late * 10 > in_time * 8, "{in_time} sleeps, {late} if it begins later");
}

/// Number of sleeps of the first task.
struct Sleeps(u32);

impl Observer for Sleeps {
    fn observe(&mut self, _: Time, event: &Event) {
        if let Event::Switch { prev: Some(TaskId(0)), off: Off::Sleeping, .. } = *event {
            self.0 += 1;
        }
    }
}

#[test]
fn a_task_that_sleeps_for_a_time_is_replayed_with_that() {
    let sleep = [Op::Do(Step::Sleep(Span::from_ms(5)))];
    assert_eq!(recovered(&plan(&sleep, 0)).unknowns.expiries, 0);
    for nice in [-5, 5] {
        let (real, replay) = compare(&sleep, nice);
        assert!(real.abs_diff(replay) * 20 <= real, "nice {nice}: {real} ms, replayed {replay}");
    }
}

/// The control is the same task in a program of its own, of which nothing says what it does when it is late.
#[test]
fn a_task_that_was_never_late_does_as_late_ones_of_its_program() {
    let skips = |program| {
        let mut plan = plan(&[timer(Overrun::SkipsPassed)], 0);
        let light = vec![Op::ComputeBetween(us(50), us(400)), timer(Overrun::SkipsPassed)];
        let mut script = Script { ops: light, timers: 1, ..Script::default() };
        script.repeat_from(0, None);
        let start = Start::WokenAt(Time::ZERO);
        let task = Task { address_space: Some(0), ..Task::default() };
        plan.0.tasks.push(TaskPlan { name: "t3".into(), start, task, line: 0, script: Arc::new(script) });
        let mut recorder = Recorder::new(1, 4);
        recorder.written.participants[3].program = program;
        run::<Eevdf>(&Machine::flat(1, 250).expect("a machine"), &plan, 0, &mut recorder);
        let recovered = recover(&recorder.written.history(), ReplayOptions::default());
        recovered.tasks[3].ops.iter().filter(|op| matches!(op.instruction(), Instruction::NextExpiry(_))).count()
    };
    let (with_others, alone) = (skips(0), skips(3));
    assert!(with_others > 300 && alone == 0, "{with_others} and {alone} expiries that leave out what was missed");
}

/// Sleeps of any length end at ticks there, so a grid shows nothing. The control is a period that is no whole ticks.
#[test]
fn a_recording_whose_timers_all_expire_at_ticks_shows_no_periods() {
    let expiries = |period| {
        let timer = Op::Timer { timer: 0, period, overrun: Overrun::SkipsPassed };
        recovered(&plan(&[timer], 0)).unknowns.expiries
    };
    let (whole, other) = (expiries(Span::from_ms(8)), expiries(Span::from_ms(9)));
    assert!(whole == 0 && other > 200, "{whole} at ticks, {other} elsewhere");
}
