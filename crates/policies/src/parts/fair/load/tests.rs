//! Averages against the numbers of specs/smp.md.

use super::super::weight::UNIT;
use super::series::{DECAY, MOST, PERIOD, decayed};
use super::*;

/// Time after `units` of 1024 ns.
fn at(units: u64) -> Time {
    Time(units * 1024)
}

fn always(tasks: u64) -> Presence {
    Presence { weight: tasks * UNIT, tasks, runs: tasks > 0 }
}

#[test]
fn the_decay_halves_in_32_periods() {
    let exact = |periods: usize| (4_294_967_295.0 * 2f64.powf(-(periods as f64) / 32.0)) as u64;
    assert_eq!(DECAY.to_vec(), (0..32).map(exact).collect::<Vec<_>>());
    assert_eq!((decayed(1_000, 32), decayed(1_000, 64), decayed(u64::from(u32::MAX), 2_017)), (499, 249, 0));
    assert_eq!((decayed(MOST, 1), decayed(1_024, 1)), (46_718, 1_002));
}

/// specs/smp.md T-SMP-3.
#[test]
fn utilisation_grows_from_nothing_as_in_the_kernel() {
    let mut series = Series::default();
    let mut seen = Vec::new();
    for period in 1..=128 {
        series.advance(at(period * PERIOD), always(1), 1);
        if period.is_power_of_two() {
            seen.push((series.util, series.load));
        }
    }
    let util: Vec<u64> = seen.iter().map(|it| it.0).collect();
    assert_eq!(util, [21, 43, 85, 163, 300, 512, 768, 960]);
}

/// specs/smp.md T-SMP-4.
#[test]
fn what_an_idle_cpu_had_decays_as_in_the_kernel() {
    let decays = |periods: u64| {
        let mut series = Series::default();
        series.set(UNIT, [FULL, FULL, FULL]);
        for period in 1..=periods {
            series.advance(at(period * PERIOD), Presence::default(), 1);
        }
        series.util
    };
    assert_eq!([1, 8, 16, 32, 64, 128].map(decays), [1002, 861, 724, 511, 255, 63]);
}

/// specs/smp.md T-SMP-5.
#[test]
fn parts_of_periods_count_as_in_the_kernel() {
    let mut series = Series::default();
    series.advance(at(3_500), Presence { weight: 1, tasks: 1, runs: true }, UNIT);
    assert_eq!((series.util_sum, series.load_sum, series.partial(), series.util), (3_447_808, 3_367, 428, 73));
    series.advance(at(5_500), Presence::default(), UNIT);
    assert_eq!((series.util_sum, series.load_sum, series.partial(), series.util), (3_301_632, 3_224, 380, 70));
}

/// specs/smp.md T-SMP-6.
#[test]
fn a_new_task_has_half_of_what_is_free() {
    assert_eq!(initial_utilisation(UNIT, Series::default(), FULL), 512);
    assert_eq!(initial_utilisation(UNIT, Series { util: 600, load: 1024, ..Series::default() }, FULL), 212);
}

/// docs/fidelity/smp-rules.md, "Threads of the kernel": after 32 periods half is left of what a task began with that
/// has slept from the start. The control is a new one.
#[test]
fn a_task_that_existed_from_the_start_has_slept_since() {
    let loads = |periods: u64, wakes: bool| {
        let mut loads = Loads::new(&Machine::flat(2, 250).expect("a machine"));
        loads.admit(TaskId(0));
        loads.attach(at(periods * PERIOD), (CpuId(0), QueueId(0)), TaskId(0), UNIT, wakes);
        let Series { load, util, .. } = loads.tasks[TaskId(0)].series;
        [load, util]
    };
    assert_eq!([loads(32, false), loads(32, true)], [[1_024, 512], [511, 255]]);
    assert_eq!(loads(0, true), [1_024, 512], "the start itself");
}

/// specs/smp.md section 2.3.
#[test]
fn estimates_jump_up_and_sink_slowly() {
    let util = |util| Series { util, runnable: util, ..Series::default() };
    assert_eq!([600, 700].map(|now| estimate(600, util(now))), [600, 700]);
    assert_eq!((estimate(600, util(200)), estimate(500, util(200))), (500, 425));
    assert_eq!(estimate(600, Series { util: 200, runnable: 300, ..Series::default() }), 600, "it had to wait");
}

/// docs/fidelity/smp-rules.md, "Load of a task that wakes". The control is its load now, of which half is left.
#[test]
fn the_load_of_a_sleeper_is_that_of_its_sleep() {
    let mut driver = crate::parts::verb_driver::VerbDriver::<crate::eevdf::Eevdf>::with(2, Default::default());
    let task = driver.admit_as(goodness_core::Task::default(), None);
    let _ = driver.enqueue(task, CpuId(1), goodness_core::Enqueue::Fork { parent: None });
    let loads = driver.call(|stack, cx| {
        let slept = cx.now;
        stack.loads.leaves(slept, task, true);
        let woken = slept + Span(32 * PERIOD * 1024);
        [stack.loads.last_of_task(woken, task), stack.loads.of_task(woken, task), stack.loads.last_of_task(woken, task)]
    });
    assert_eq!(loads, [1_024, 511, 511]);
}
