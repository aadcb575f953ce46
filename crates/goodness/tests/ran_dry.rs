//! Replays that wait for what was not recorded are not trusted.

use goodness::why::{Explained, Question, why_simulated};
use goodness::{Circumstances, Contender, Ends, OpenOptions, Plan, ReplayOptions, Work, open, unwatched};
use std::path::Path;

fn opened(recording: &str, options: &OpenOptions) -> Work {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../recordings/{recording}.ftrace.zst"));
    open(&path.to_string_lossy(), options, &unwatched).unwrap_or_else(|it| panic!("{it}"))
}

/// Reasons not to trust a comparison of `arms` on a shipped recording that name a lull.
fn lulls(recording: &str, options: &OpenOptions, arms: &[&str]) -> Vec<String> {
    let work = opened(recording, options);
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
    trust.because.into_iter().filter(|why| why.contains("without an answered request")).collect()
}

/// The clients' next requests were not recorded: a backend waits for a postmaster that was idle, or half of each lap is
/// a start-up without load.
const DRY: [&str; 5] = [
    "guest/postgres-statements-4",
    "guest/nginx-wrk-t1c8",
    "guest/nginx-wrk-t2c16-2cpu",
    "repeats/redis-benchmark-4.5",
    "repeats/redis-benchmark-16.1",
];

#[test]
fn a_replay_that_is_served_faster_than_its_recording_goes_on_is_not_trusted() {
    for recording in DRY {
        let said = lulls(recording, &OpenOptions::default(), &["base", "*.compute=50%"]);
        assert!(said.len() == 1 && said[0].starts_with("*.compute=50%: "), "{recording}: {said:?}");
    }
}

/// The controls: closed loops that go on, the recorded pace, and policies under which the service waits for a CPU.
#[test]
fn a_replay_that_goes_on_or_whose_service_waits_for_a_cpu_did_not_run_dry() {
    let usual = OpenOptions::default();
    assert_eq!(lulls("redis-benchmark-8", &usual, &["base", "*.compute=50%", "fifo"]), [""; 0]);
    assert_eq!(lulls("guest/postgres-statements-4", &usual, &["base", "cfs", "rr"]), [""; 0]);
    let client = OpenOptions { judge: vec!["sysbench".into()], ..OpenOptions::default() };
    for options in [usual, client] {
        assert_eq!(lulls("mariadb-sysbench-64", &options, &["base", "fifo", "lottery"]), [""; 0]);
    }
}

/// Work that ends with what was recorded is done early, and waits for nothing.
#[test]
fn a_replay_that_ends_with_its_recording_did_not_run_dry() {
    let replay = ReplayOptions { ends: Ends::Recorded, ..ReplayOptions::default() };
    let once = OpenOptions { replay, ..OpenOptions::default() };
    assert_eq!(lulls(DRY[0], &once, &["base", "*.compute=50%"]), [""; 0]);
}

/// What `why` checks: a removal after which the service waits for the clients is no answer; the control, which asks
/// another CPU for `pgbench` alone, is one.
#[test]
fn a_removal_after_which_the_replay_runs_dry_is_not_counted_as_checked() {
    let work = opened(DRY[0], &OpenOptions::default());
    let contender = Contender::arms(&["base".to_string()], &work.standard_policy().unwrap()).unwrap().remove(0);
    let run = Explained { work: &work, contender: &contender, seed: 1, replication: 0, judge: &[] };
    let why = why_simulated(run, &Question::default(), &unwatched).unwrap_or_else(|it| panic!("{it}"));
    let verdict =
        |removed: &str| why.checks.iter().find(|it| it.removed.starts_with(removed)).map(|it| &it.verdict[..]);
    assert_eq!(verdict("postgres.compute=50%"), Some("not_checked"));
    assert_eq!(verdict("pgbench.affinity=own"), Some("holds"));
}
