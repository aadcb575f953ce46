//! The kept schedule tells when tasks are out of quota, as the policy's own account and the explanation of waits do.

use goodness::why::{Explained, Latencies, Question, why_simulated};
use goodness::{Contender, OpenOptions, Plan, PolicySpec, Timelines, Work, open, unwatched};
use goodness_report::Timeline;

const SEED: u64 = 7;

/// A hog that may use 30 ms of each 100 ms, on a CPU of its own, for a second.
fn work(limit: &str) -> Work {
    let text = format!(
        "duration = \"1s\"\nmachine = \"cpus=1,hz=1000\"\n[[group]]\nname = \"limited\"\n{limit}\n\
         [[task]]\nname = \"hog\"\ngroup = \"limited\"\nprogram = [ {{ compute = \"forever\" }} ]\n"
    );
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("quota.toml");
    std::fs::write(&path, &text).expect("a file");
    let path = path.to_str().expect("a plain path");
    open(path, &OpenOptions::default(), &unwatched).unwrap_or_else(|why| panic!("{why}\n{text}"))
}

fn contender(policy: &str) -> Contender {
    Contender::policy(PolicySpec::parse(policy).expect("a policy"))
}

fn timeline(policy: &str, work: &Work) -> Timeline {
    let timelines = Timelines { slices: 100_000, ..Timelines::default() };
    let plan = Plan { runs: 1, seed: SEED, timelines, ..Plan::of(work, vec![contender(policy)]) };
    let mut runs = plan.run(&unwatched).unwrap_or_else(|why| panic!("{policy}: {why}"));
    runs.take_timelines().pop().expect("a schedule is kept")
}

fn throttled_ns(timeline: &Timeline) -> u64 {
    timeline.throttled.iter().map(|it| it.to - it.from).sum()
}

#[test]
fn a_limited_hog_is_throttled_whenever_it_does_not_run() {
    let limited = work("cpu_max = \"30ms/100ms\"");
    for policy in ["cfs", "eevdf:kernel=6.15", "eevdf"] {
        let timeline = timeline(policy, &limited);
        let throttled = throttled_ns(&timeline);
        assert!((650_000_000..710_000_000).contains(&throttled), "{policy}: {throttled} {:?}", timeline.throttled);
        let overlaps = timeline.throttled.iter().any(|it| {
            timeline.slices.iter().any(|slice| slice.task == it.task && slice.start < it.to && it.from < slice.end)
        });
        assert!(!overlaps, "{policy}: a task runs while it is throttled");

        let judge = [];
        let run =
            Explained { work: &limited, contender: &contender(policy), seed: SEED, replication: 0, judge: &judge };
        let question = Question { of: Some(Latencies::All), checks: 0, ..Question::default() };
        let why = why_simulated(run, &question, &unwatched).unwrap_or_else(|why| panic!("{policy}: {why}"));
        let explained: u64 = why.tail.parts.iter().filter(|it| it.cause == "throttled").map(|it| it.total_ns).sum();
        assert_eq!(explained / 1_000_000, throttled / 1_000_000, "{policy}: {:?}", why.tail.parts);
    }
}

#[test]
fn without_a_quota_nobody_is_throttled() {
    assert_eq!(timeline("eevdf", &work("")).throttled, []);
}
