//! Periodic timers: what a task asks for when others take its CPU, from a recording in which they did not.

use super::recorder::{CpuTime, Planned, Recorder, run};
use goodness_core::{Machine, Nice, Span, Start, Step, Task, Time};
use goodness_policies::eevdf::Eevdf;
use goodness_replay::program::Instruction;
use goodness_replay::{Recovered, Replay, ReplayOptions, recover};
use goodness_work::script::{Op, Overrun, Plan, Script, TaskPlan};
use std::sync::Arc;

const PERIOD: Span = Span::from_ms(10);
const HORIZON: Time = Time(4_000_000_000);

/// A task that computes for 2 to 4 ms between rests, beside two that compute all the time with this nice.
fn plan(rest: Op, nice: i64) -> Planned {
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
    let tasks = vec![task("t0", 0, script(vec![work, rest], true)), task("t1", nice, hog()), task("t2", nice, hog())];
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

#[test]
fn a_task_that_leaves_out_what_it_missed_asks_for_what_a_timer_allows() {
    let timer = Op::Timer { timer: 0, period: PERIOD, overrun: Overrun::SkipsPassed };
    let recording = recovered(&plan(timer.clone(), 0));
    let ops = recording.tasks[0].ops.iter().map(|op| op.instruction());
    let periods = ops.filter(|it| matches!(it, Instruction::SleepPeriod(it) if it.0.abs_diff(PERIOD.0) < 2_000));
    assert!(periods.count() > 250, "{:?}", &recording.tasks[0].ops[..40]);
    for nice in [-5, -3, 5, 10] {
        let (real, replay) = (simulated(&plan(timer.clone(), nice)), replayed(recording.clone(), nice));
        assert!(real.abs_diff(replay) * 20 <= real, "nice {nice}: {real} ms, replayed {replay}");
    }
}

#[test]
fn a_task_that_sleeps_for_a_time_is_replayed_with_that() {
    let sleep = Op::Do(Step::Sleep(Span::from_ms(5)));
    let recording = recovered(&plan(sleep.clone(), 0));
    assert_eq!(recording.unknowns.expiries, 0);
    for nice in [-5, 5] {
        let (real, replay) = (simulated(&plan(sleep.clone(), nice)), replayed(recording.clone(), nice));
        assert!(real.abs_diff(replay) * 20 <= real, "nice {nice}: {real} ms, replayed {replay}");
    }
}
