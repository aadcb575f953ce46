//! Requests of shipped recordings, against what their clients reported.

use goodness::{Contender, OpenOptions, Plan, PolicySpec, Work, open, unwatched};
use goodness_observe::Histogram;
use std::path::Path;

/// Recordings whose client has one connection for each pair of tasks.
const ONE_AT_A_TIME: [&str; 7] = [
    "nginx-wrk-t4c4-1cpu",
    "postgres-select-8-1cpu",
    "postgres-select-8-2cpu",
    "postgres-tpcb-8-1cpu",
    "postgres-tpcb-8-2cpu",
    "mariadb-points-8-1cpu",
    "mariadb-points-8-2cpu",
];

fn work(name: &str) -> Work {
    open(name, &OpenOptions::default(), &unwatched).unwrap_or_else(|refusal| panic!("{refusal}"))
}

fn report(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../recordings").join(format!("{name}.csv"));
    std::fs::read_to_string(path).expect("the report is shipped")
}

fn latencies(work: &Work) -> &Histogram {
    &work.recorded.as_ref().expect("a recording").measured.distributions.request_latency
}

/// A recording of `recordings/reported`, which is not in the library.
fn reported(name: &str) -> Work {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../recordings/reported");
    work(&folder.join(format!("{name}.ftrace.zst")).to_string_lossy())
}

/// Number, median and 99th percentile in ms of the latencies that the client of `name` listed, each with its count.
fn listed(name: &str) -> (f64, f64, f64) {
    let report = report(&format!("reported/{name}"));
    let (head, rows) = report.split_once('\n').expect("a head and rows");
    let ms = match head {
        "us,requests" => 1e-3,
        "ms,requests" => 1.0,
        other => panic!("{name}: unknown columns {other}"),
    };
    let row = |line: &str| line.split_once(',').map(|(at, count)| (at.parse().unwrap(), count.parse().unwrap()));
    let rows: Vec<(f64, f64)> = rows.lines().map(|line| row(line).expect("two columns")).collect();
    let all: f64 = rows.iter().map(|(_, count)| count).sum();
    let quantile = |part: f64| {
        let mut below = 0.0;
        let reaches = |(_, count): &&(f64, f64)| {
            below += count;
            below >= part * all
        };
        rows.iter().find(reaches).expect("a row").0 * ms
    };
    (all, quantile(0.5), quantile(0.99))
}

/// Asserts that `found` is off `reported` by at most `percent`.
fn assert_near(what: &str, found: f64, reported: f64, percent: f64) {
    let off = (found / reported - 1.0) * 100.0;
    println!("{what}: {found:.4} found, {reported:.4} reported: {off:+.1} %");
    assert!(off.abs() <= percent, "{what}: {found} found, {reported} reported: {off:+.1} %");
}

fn quantile_ms(latencies: &Histogram, per_10k: u32) -> f64 {
    latencies.quantile(per_10k).expect("there are some") as f64 / 1e6
}

#[test]
fn redis_benchmark_reports_the_requests_that_are_found() {
    let (work, report) = (work("redis-benchmark-8"), report("redis-benchmark-8"));
    let found = latencies(&work);
    let column = |name: &str| {
        let quoted = |line: &str| line.split(',').map(|it| it.trim_matches('"').to_string()).collect::<Vec<String>>();
        let (names, values) = report.split_once('\n').expect("two lines");
        let at = quoted(names).iter().position(|it| it == name).expect("a column of redis-benchmark");
        quoted(values.trim())[at].parse::<f64>().expect("a number")
    };
    assert_near("requests", found.count() as f64, 40_000.0, 2.0);
    assert_near("mean", found.mean().expect("there are some") / 1e6, column("avg_latency_ms"), 10.0);
    assert_near("p50", quantile_ms(found, 5_000), column("p50_latency_ms"), 10.0);
    assert_near("p99", quantile_ms(found, 9_900), column("p99_latency_ms"), 10.0);
}

#[test]
fn ab_reports_the_requests_that_are_found() {
    let (work, report) = (work("apache-ab-c24-1cpu"), report("apache-ab-c24-1cpu"));
    let found = latencies(&work);
    let row = |line: &str| line.split_once(',').map(|(ms, count)| (ms.parse().unwrap(), count.parse().unwrap()));
    let rows: Vec<(f64, f64)> = report.lines().skip(1).map(|line| row(line).expect("two columns")).collect();
    let all: f64 = rows.iter().map(|(_, count)| count).sum();
    // It rounds to ms: within one, latencies are taken to be even.
    let quantile = |part: f64| {
        let mut below = 0.0;
        let (ms, count) = rows.iter().find(|(_, count)| {
            below += count;
            below >= part * all
        })?;
        Some(ms - 0.5 + (part * all - (below - count)) / count)
    };
    assert_near("requests", found.count() as f64, all, 2.0);
    assert_near("mean", found.mean().unwrap() / 1e6, rows.iter().map(|(ms, n)| ms * n).sum::<f64>() / all, 10.0);
    assert_near("p50", quantile_ms(found, 5_000), quantile(0.5).unwrap(), 10.0);
    assert_near("p99", quantile_ms(found, 9_900), quantile(0.99).unwrap(), 10.0);
}

#[test]
fn servers_of_one_request_at_a_time_and_connection_have_the_requests_that_their_clients_list() {
    for name in ONE_AT_A_TIME {
        let (work, (count, p50, p99)) = (reported(name), listed(name));
        let found = latencies(&work);
        assert_near(&format!("{name}: requests"), found.count() as f64, count, 2.0);
        assert_near(&format!("{name}: p50"), quantile_ms(found, 5_000), p50, 10.0);
        assert_near(&format!("{name}: p99"), quantile_ms(found, 9_900), p99, 10.0);
        assert_eq!(work.recorded.as_ref().unwrap().lacks, [""; 0], "{name}");
    }
}

#[test]
fn several_requests_at_once_between_two_tasks_are_found_wrong_and_said_to_be() {
    for name in ["nginx-wrk-t1c8-1cpu", "nginx-wrk-t2c16-2cpu"] {
        let (work, (count, _, _)) = (reported(name), listed(name));
        let found = latencies(&work).count() as f64;
        assert!((found / count - 1.0).abs() > 0.02, "{name}: {found} of {count}; is this recovered now?");
        let lacks = &work.recorded.as_ref().unwrap().lacks;
        assert!(lacks.iter().any(|why| why.contains("connections to nginx")), "{name}: {lacks:?}");
    }
}

#[test]
fn a_recording_without_conversations_has_no_requests_rather_than_0() {
    let work = work("mixed-cpu");
    let measured = &work.recorded.as_ref().expect("a recording").measured;
    for name in ["throughput", "request_latency_p99", "request_latency_mean"] {
        assert_eq!(measured.get(name).value, None, "{name}");
    }
    let runs = Plan { runs: 1, ..Plan::of(&work, vec![Contender::policy(PolicySpec::parse("rr").unwrap())]) };
    let fidelity = runs.run(&unwatched).unwrap().fidelity.expect("a recording");
    assert!(fidelity.metrics.iter().all(|it| !it.name.starts_with("request")), "nothing to hold a replay against");
}

#[test]
fn a_recording_with_requests_is_ranked_by_their_p99_and_its_replay_held_against_them() {
    let work = work("apache-ab-c32-1cpu");
    let plan = Plan { runs: 1, ..Plan::of(&work, vec![Contender::policy(PolicySpec::parse("fifo").unwrap())]) };
    let runs = plan.run(&unwatched).unwrap();
    assert_eq!(runs.check_rank_by("throughput"), Ok(()));
    let fidelity = runs.fidelity.as_ref().expect("a recording");
    for name in ["requests", "request_latency_p50", "request_latency_p99"] {
        let it = fidelity.metrics.iter().find(|it| it.name == name).expect("it is compared");
        assert!(it.error.unwrap() <= it.tolerance.unwrap(), "{name}: {:?} of {:?}", it.replayed, it.recorded);
    }
}
