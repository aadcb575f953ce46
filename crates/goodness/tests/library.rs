//! Tests the library's interface: matching errors, cancelling through progress, and opening without side effects.

use goodness::{
    Contender, Kind, OpenOptions, Plan, PolicySpec, Progress, Refusal, See, Work, open, open_recording, shipped,
    unwatched,
};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};

fn work(text: &str) -> Work {
    open(text, &OpenOptions::default(), &unwatched).unwrap_or_else(|refusal| panic!("{refusal}"))
}

fn contenders(names: &[&str]) -> Vec<Contender> {
    names.iter().map(|name| Contender::policy(PolicySpec::parse(name).unwrap())).collect()
}

fn refused(text: &str, options: &OpenOptions) -> Refusal {
    open(text, options, &unwatched).err().unwrap_or_else(|| panic!("{text} was opened"))
}

#[test]
fn refusals_say_what_where_and_in_which_list_to_look_and_name_no_command() {
    let machine = OpenOptions { machine: Some("ideel".into()), ..OpenOptions::default() };
    let device = OpenOptions { device: Some("null".into()), ..OpenOptions::default() };
    let plain = OpenOptions::default();
    let cases = [
        (refused("mixd", &plain), Some(See::WorkloadsAndRecordings), None),
        (refused("mixed:hog=3", &plain), Some(See::Workloads(Some("mixed"))), None),
        (refused("mixed", &machine), Some(See::Machines), None),
        (refused("mixed", &device), None, Some("device")),
        (refused("missing.toml", &plain), None, None),
        (goodness::check_rank("latency").unwrap_err(), Some(See::Metrics), None),
    ];
    for (refusal, see, option) in cases {
        assert_eq!((refusal.kind, refusal.see, refusal.option), (Kind::Usage, see, option), "{refusal}");
        assert!(!refusal.to_string().contains("goodness "), "{refusal}");
    }
}

#[test]
fn a_metric_that_was_not_measured_ranks_nothing_and_those_that_were_are_named() {
    let work = work("mixed:duration=200ms");
    let runs = Plan { runs: 2, ..Plan::of(&work, contenders(&["rr"])) }.run(&unwatched).unwrap();
    let sentence = runs.can_rank_by("completion_time").unwrap_err().to_string();
    assert!(
        sentence.contains("completion_time was not measured") && sentence.contains("wakeup_latency_p99"),
        "{sentence}"
    );
    assert_eq!(runs.can_rank_by("wakeup_latency_p99"), Ok(()));
}

#[test]
fn who_is_told_of_progress_can_end_it() {
    let work = work("mixed:duration=200ms");
    let plan = Plan { runs: 20, ..Plan::of(&work, contenders(&["rr", "eevdf"])) };
    let told = AtomicU64::new(0);
    let cancelled = plan.run(&|progress: Progress| {
        assert!(matches!(progress, Progress::Simulated { of: 40, .. }), "{progress:?}");
        told.fetch_add(1, Ordering::Relaxed);
        ControlFlow::Break(())
    });
    assert_eq!(cancelled.err().map(|refusal| refusal.kind), Some(Kind::Cancelled));
    assert!(told.into_inner() < 20, "what was under way ended, and no more was begun");
}

#[test]
fn a_recording_is_opened_unsimulated_and_its_error_is_stated_by_a_step_of_the_plan() {
    let count = AtomicU64::new(0);
    let watch = |progress: Progress| {
        if matches!(progress, Progress::Simulated { .. }) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        ControlFlow::Continue(())
    };
    let work = open("apache-ab-c4-1cpu", &OpenOptions::default(), &watch).unwrap();
    assert_eq!(count.load(Ordering::Relaxed), 0);
    let recorded = work.recorded.as_ref().expect("a recording").policy.clone();
    let runs = |plan: Plan| plan.run(&watch).unwrap();
    let alone = runs(Plan::of(&work, Vec::new()));
    assert_eq!(count.swap(0, Ordering::Relaxed), 1, "the replay under the policy that recorded");
    let with = runs(Plan { runs: 1, ..Plan::of(&work, vec![Contender::policy(recorded)]) });
    assert_eq!(count.swap(0, Ordering::Relaxed), 1, "the run that is made anyway is that replay");
    assert!(alone.fidelity.is_some() && alone.fidelity == with.fidelity);
    let other = runs(Plan { runs: 1, ..Plan::of(&work, contenders(&["rr"])) });
    assert_eq!(count.load(Ordering::Relaxed), 2);
    assert_eq!(other.fidelity, alone.fidelity);
}

/// The negative control of `verify`: a policy that did not make the recording is detected, on every recording.
#[test]
fn a_wrong_policy_misses_a_bound_on_every_shipped_recording() {
    let options = OpenOptions { recorded_by: Some("fifo".into()), ..OpenOptions::default() };
    for recording in shipped::RECORDINGS {
        let work = open_recording(recording.name, &options, &unwatched).expect("it is shipped");
        let fidelity = Plan::of(&work, Vec::new()).run(&unwatched).expect("it runs").fidelity;
        let metrics = fidelity.expect("a recording's plan states its error").metrics;
        assert!(metrics.iter().any(|it| it.keeps_promise() == Some(false)), "{}: {metrics:?}", recording.name);
    }
}
