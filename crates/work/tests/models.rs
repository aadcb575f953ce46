//! The built-in models under round robin behave as their documentation states.

use goodness_core::{Machine, Seed, Time, WorkloadSource};
use goodness_observe::{Ending, Measured, MetricsAndCheckers, Subject};
use goodness_policies::rr::RoundRobin;
use goodness_sim::{End, Options, Outcome, simulate};
use goodness_work::models::BuiltIn;

/// Runs the model on `cpus` CPUs without costs; the checkers have to be content.
fn run(model: &str, cpus: u32) -> (Measured, Outcome) {
    let machine = Machine::flat(cpus, 250).unwrap();
    let work = BuiltIn::parse(model).unwrap().build(Seed(1), 0);
    let mut watch = MetricsAndCheckers::new(machine.cpu_count(), Time::ZERO + work.warmup, &Subject::all(&work));
    let options = Options { seed: Seed(1), ..Options::default() };
    let outcome = simulate::<RoundRobin>(&machine, Default::default(), work, &mut watch, options).unwrap();
    let ending = if outcome.reason == End::Horizon { Ending::Horizon } else { Ending::Quiet };
    let (measured, checked) = watch.finish(outcome.end, ending);
    assert_eq!(checked.violations, [], "{model}");
    (measured, outcome)
}

fn value(measured: &Measured, metric: &str) -> f64 {
    measured.get(metric).value.unwrap_or_else(|| panic!("{metric} is not measured"))
}

const MS: f64 = 1e6;

#[test]
fn hackbench_passes_every_message_and_reports_the_time_it_took() {
    // 2 groups of 3 senders, 3 receivers and 50 loops: 900 messages, each written and read in about 2 us.
    for transport in ["pipe", "socket"] {
        for cpus in [1, 2] {
            let small = format!(
                "hackbench:groups=2,fds=3,loops=50,transport={transport},send=1us,receive=1us,capacity=4,contexts=threads"
            );
            let (measured, outcome) = run(&small, cpus);
            assert_eq!(outcome.reason, End::Finished, "everybody has ended");
            assert_eq!(measured.get("request_latency_max").samples, 1, "one request: the whole benchmark");
            let used = outcome.end.since(Time::ZERO).0 as f64 * f64::from(cpus) * value(&measured, "utilisation");
            assert!((0.95..1.05).contains(&(used / 1.8e6)), "CPU time of 900 messages, not {used} ns");
            assert!(value(&measured, "request_latency_max") <= outcome.end.since(Time::ZERO).0 as f64);
        }
    }
}

#[test]
fn a_full_pipe_stops_its_writers() {
    let switches = |capacity: u64| {
        let model = format!("hackbench:groups=1,fds=1,loops=1000,transport=pipe,capacity={capacity}");
        value(&run(&model, 1).0, "context_switches")
    };
    let (narrow, wide) = (switches(1), switches(1_000));
    assert!(
        narrow > 500.0 && wide < 50.0,
        "{narrow} switches through a pipe for one message, {wide} through a wide one"
    );
}

#[test]
fn everybody_of_hackbench_has_a_name_of_their_own() {
    let plan = BuiltIn::parse("hackbench:groups=3,fds=2").unwrap().into_plan().unwrap();
    let names: std::collections::BTreeSet<&str> = plan.tasks.iter().map(|task| task.name.as_str()).collect();
    assert_eq!((names.len(), plan.tasks.len()), (13, 13), "{names:?}");
    assert!(names.contains("2-receiver-1") && names.contains("0-sender-1"));
}

#[test]
fn hackbench_with_its_defaults_is_under_way_after_200_ms() {
    let (measured, outcome) = run("hackbench:duration=200ms", 2);
    assert_eq!(outcome.reason, End::Horizon);
    assert!(value(&measured, "utilisation") > 0.99);
}

#[test]
fn schbench_workers_take_a_sleep_and_a_work_for_each_request_when_there_is_a_cpu_for_each() {
    let (measured, _) = run("schbench:duration=200ms", 4);
    let latency = value(&measured, "request_latency_mean");
    assert!((5.0 * MS..6.4 * MS).contains(&latency), "100 us of sleep and 5.6 ms of work, not {latency} ns");
    assert!(value(&measured, "request_latency_max") < 6.3 * MS);
    // Two workers: about 2 / 5.7 ms.
    let rate = value(&measured, "throughput");
    assert!((310.0..370.0).contains(&rate), "{rate} requests a second");
}

#[test]
fn schbench_hands_out_as_many_requests_a_second_as_it_is_asked_for() {
    let (measured, _) = run("schbench:rps=101,workers=4,work=1ms,duration=2500ms", 4);
    // At 0, 1 and 2 seconds.
    assert_eq!(measured.get("request_latency_mean").samples, 303);
}

#[test]
fn everything_interbench_measures_meets_its_deadlines_on_an_idle_machine() {
    for (measured, period, run_time, frames) in
        [("audio", 50.0, 2.5, 6), ("video", 16.666, 6.666, 18), ("gaming", 100.0, 100.0, 3)]
    {
        let (found, _) = run(&format!("interbench:measured={measured},duration=310ms"), 1);
        let latency = found.get("request_latency_max");
        assert!((value(&found, "request_latency_max") - run_time * MS).abs() < 0.01 * MS, "{measured}: {latency:?}");
        assert!(run_time <= period);
        assert_eq!(latency.samples, frames, "{measured}: none was dropped");
    }
    // X: 100 steps that use time out of 101, once round in 10.1 s.
    let (found, _) = run("interbench:measured=x,duration=10210ms", 1);
    assert_eq!(found.get("request_latency_max").samples, 100);
    assert!((value(&found, "request_latency_max") - 100.0 * MS).abs() < 0.01 * MS);
    assert!((0.49..0.51).contains(&value(&found, "utilisation")), "on average half of a CPU");
}

#[test]
fn four_hogs_make_video_miss_its_deadlines_under_round_robin() {
    let (alone, _) = run("interbench:measured=video,duration=2s", 1);
    let (beside, _) = run("interbench:measured=video,load=burn,duration=2s", 1);
    assert!(value(&beside, "request_latency_p50") > 16.7 * MS);
    let frames = |found: &Measured| found.get("request_latency_p50").samples;
    assert!(frames(&beside) < frames(&alone) / 2, "late frames make others be dropped: {}", frames(&beside));
}

#[test]
fn every_load_of_interbench_runs_beside_everything_measured() {
    for measured in ["audio", "video", "x", "gaming"] {
        for (load, tasks) in [
            ("none", 1),
            ("video", 2),
            ("x", 2),
            ("burn", 5),
            ("write", 2),
            ("read", 2),
            ("compile", 7),
            ("memload", 2),
        ] {
            let model = format!("interbench:measured={measured},load={load},duration=1s");
            assert_eq!(BuiltIn::parse(&model).unwrap().into_plan().unwrap().tasks.len(), tasks, "{model}");
            let (found, _) = run(&model, 1);
            assert!(found.get("request_latency_max").samples > 0, "{model} measures something");
        }
    }
}

#[test]
fn the_disk_and_not_the_cpu_limits_a_writer_and_a_reader() {
    // 20 ms of disk and 1 ms of copying for a megabyte: a CPU share of 1 / 21 each when alone.
    for load in ["write", "read"] {
        let (found, _) = run(&format!("interbench:measured=audio,load={load},duration=20s"), 1);
        let share = value(&found, "utilisation") - 0.05;
        assert!((0.04..0.056).contains(&share), "{load} uses {share} of a CPU");
    }
}

#[test]
fn clients_at_a_rate_leave_the_specweb96_server_idle_between_requests_and_others_do_not() {
    // A request takes 0.4 ms and 4.1 pieces of 0.1 ms on average: at 200 a second 16 % of the CPU.
    let (at_a_rate, _) = run("specweb96:clients=200,workers=220,missed=0,arrivals=5ms,duration=20s", 1);
    let served = value(&at_a_rate, "throughput");
    assert!((180.0..220.0).contains(&served), "{served} a second");
    let busy = value(&at_a_rate, "utilisation");
    assert!((0.13..0.20).contains(&busy), "{busy}");
    let (at_once, _) = run("specweb96:clients=200,workers=220,missed=0,duration=20s", 1);
    assert!(value(&at_once, "utilisation") > 0.99);
}
