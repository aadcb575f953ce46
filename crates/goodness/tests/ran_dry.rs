//! Replays that wait for what was not recorded are not trusted.

use goodness::{Circumstances, Contender, OpenOptions, Plan, open, unwatched};
use std::path::Path;

/// Reasons not to trust a comparison of `arms` on a shipped recording that name a lull.
fn lulls(recording: &str, arms: &[&str]) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../recordings/{recording}.ftrace.zst"));
    let work = open(&path.to_string_lossy(), &OpenOptions::default(), &unwatched).unwrap_or_else(|it| panic!("{it}"));
    let typed: Vec<String> = arms.iter().map(ToString::to_string).collect();
    let arms = Contender::arms(&typed, &work.standard_policy().unwrap()).unwrap_or_else(|it| panic!("{it}"));
    let runs = Plan { runs: 1, ..Plan::of(&work, arms) }.run(&unwatched).unwrap_or_else(|it| panic!("{it}"));
    let about = Circumstances {
        input: work.about.clone(),
        details: work.details.clone(),
        commit: None,
        again: &|_: &goodness::Again| String::new(),
    };
    let trust = runs.report(about).trust.expect("a recording");
    trust.because.into_iter().filter(|why| why.contains("no request is answered")).collect()
}

/// The clients' next requests were not recorded: a backend waits for a postmaster that was idle, or half of each lap is
/// a start-up without load.
#[test]
fn a_replay_that_is_served_faster_than_its_recording_goes_on_is_not_trusted() {
    for recording in ["guest/postgres-statements-4", "guest/nginx-wrk-t1c8", "guest/nginx-wrk-t2c16-2cpu"] {
        let said = lulls(recording, &["base", "*.compute=50%"]);
        assert!(said.len() == 1 && said[0].starts_with("*.compute=50%: for "), "{recording}: {said:?}");
    }
}

/// The controls: a closed loop that goes on, the recorded pace, and a policy that lets the service starve.
#[test]
fn a_replay_that_goes_on_or_whose_service_waits_for_a_cpu_did_not_run_dry() {
    assert_eq!(lulls("redis-benchmark-8", &["base", "*.compute=50%", "fifo"]), [""; 0]);
    assert_eq!(lulls("guest/postgres-statements-4", &["base", "cfs", "rr"]), [""; 0]);
    assert_eq!(lulls("mariadb-sysbench-64", &["base", "fifo", "lottery"]), [""; 0]);
}
