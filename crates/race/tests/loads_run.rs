//! Runs every load for about a second, if its programs are installed.

use goodness_core::Seed;
use goodness_race::load;
use goodness_race::measure::{Measure, value};
use goodness_race::subprocess::Launcher;
use goodness_race::workspace::Workspace;
use std::path::Path;
use std::sync::Mutex;

fn launcher() -> Launcher {
    Launcher::of(env!("CARGO_BIN_EXE_goodness-race-subprocess").into())
}

/// Runs the load `name:key=value,…`; `None`, with a message, if a program is missing.
fn run(asked: &str) -> Option<Vec<Measure>> {
    let (name, typed) = asked.split_once(':').unwrap_or((asked, ""));
    let about = load::ALL.iter().find(|about| about.name == name).expect("registered");
    if let Some(why) = about.needs.iter().find_map(|program| program.find().err()) {
        println!("SKIPPED {asked}: {why}");
        return None;
    }
    // One at a time: they would measure each other.
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let folder = tempfile::tempdir().expect("a folder");
    let workspace = Workspace::new(folder.path().into());
    let typed = goodness_core::tunable::pairs(typed).expect("settings");
    let mut load = load::make(name, &typed, &launcher()).unwrap_or_else(|why| panic!("{asked}: {why}"));
    load.prepare(&workspace).unwrap_or_else(|why| panic!("{asked}: {why}"));
    // Twice: what a run leaves must not disturb the next one.
    load.run(&workspace, Seed(2)).unwrap_or_else(|why| panic!("{asked}: {why}"));
    let measures = load.run(&workspace, Seed(3)).unwrap_or_else(|why| panic!("{asked}: {why}"));
    for measure in &measures {
        println!("{asked}: {} {} {}", measure.name, measure.value, measure.unit);
    }
    assert!(about.measures.iter().all(|name| measures.iter().any(|m| m.name == *name)), "{asked} lacks a measure");
    assert_eq!(processes_below(folder.path()), Vec::<String>::new(), "{asked} left processes");
    Some(measures)
}

/// The command lines of processes that name a file of `folder`.
fn processes_below(folder: &Path) -> Vec<String> {
    let processes = std::fs::read_dir("/proc").expect("proc is mounted").filter_map(Result::ok);
    let lines = processes.filter_map(|process| std::fs::read_to_string(process.path().join("cmdline")).ok());
    lines.filter(|line| line.contains(&folder.display().to_string())).collect()
}

const SHORT: &str = "duration=500ms,warmup=100ms,connections=4";

#[test]
fn apache_serves_the_own_client_in_a_closed_loop() {
    for server in ["apache-prefork", "apache-event"] {
        for keep_alive in ["on", "off"] {
            let Some(measures) = run(&format!("{server}:{SHORT},keep_alive={keep_alive}")) else { continue };
            // Four connections that never think: their latencies add up to four times the time there was.
            let busy = value(&measures, "throughput") * value(&measures, "request_latency_mean") / 1e9;
            assert!((3.0..=4.1).contains(&busy), "{server} with keep_alive {keep_alive}: {busy} connections busy");
            assert_eq!(value(&measures, "failed_requests"), 0.0);
        }
    }
}

#[test]
fn apache_gets_the_requests_of_an_open_loop_at_their_rate() {
    let Some(measures) = run(&format!("apache-event:{SHORT},pattern=open,rate=400,keep_alive=on")) else { return };
    let rate = value(&measures, "throughput");
    // 200 requests in half a second: four standard deviations of a Poisson process are 57.
    assert!((286.0..514.0).contains(&rate), "{rate}");
}

#[test]
fn apache_serves_ab() {
    let Some(measures) = run("apache-prefork:client=ab,requests=2000,connections=8") else { return };
    let (of_one, across) = (value(&measures, "time_per_request"), value(&measures, "time_per_request_across"));
    // ab prints both to the µs.
    assert!((of_one - 8.0 * across).abs() <= 9.0 * 500.0, "eight connections share the time: {of_one}, {across}");
    assert!(value(&measures, "request_latency_max_minus_min") >= value(&measures, "request_latency_major_minus_min"));
}

#[test]
fn mariadb_serves_sysbench() {
    let Some(measures) = run("mariadb:threads=4,rows=1000,duration=1s,warmup=1s") else { return };
    // Four threads without thinking time: their transactions add up to four times the time there was.
    let busy = value(&measures, "throughput") * value(&measures, "request_latency_mean") / 1e9;
    assert!((3.7..=4.1).contains(&busy), "{busy} threads busy");
    let Some(measures) = run("mariadb:threads=4,rows=1000,requests=200,warmup=1s") else { return };
    let done = value(&measures, "throughput") * value(&measures, "time_to_finish") / 1e9;
    assert!((199.5..200.5).contains(&done), "{done}");
}

#[test]
fn yields_switch_between_contexts_and_cost_what_they_cost() {
    for contexts in ["processes", "threads"] {
        let all = run(&format!("yield:tasks=4,contexts={contexts},duration=300ms")).expect("needs no program");
        assert!(value(&all, "switches_per_yield") > 0.2, "{contexts}: contexts on one CPU that yield are switched");
        // A switch on any machine of this century, and a margin.
        assert!((100.0..1e6).contains(&value(&all, "switch_time")), "{contexts}");
        let all = run(&format!("yield:tasks=4,timed=create,contexts={contexts},duration=300ms")).expect("no program");
        assert!((1e3..1e8).contains(&value(&all, "creation_time")), "{contexts}");
    }
    let all = run("yield:sweep=2 8,timed=both,contexts=threads,duration=50ms").expect("needs no program");
    let named = ["yield_time_2", "creation_time_2", "yield_time_8", "creation_time_8"];
    assert!(named.iter().all(|name| value(&all, name) > 0.0));
    // Other processes may take turns with it for a while.
    let alone = || value(&run("yield:tasks=1,duration=300ms").expect("needs no program"), "switches_per_yield");
    assert!((0..10).any(|_| alone() < 0.5), "one context has nobody to yield to");
}

#[test]
fn hackbench_passes_all_messages() {
    for (transport, contexts) in
        [("pipe", "threads"), ("socket", "threads"), ("pipe", "processes"), ("socket", "processes")]
    {
        let asked = format!("hackbench:groups=2,fds=4,loops=50,transport={transport},contexts={contexts}");
        let all = run(&asked).expect("needs no program");
        let messages = value(&all, "throughput") * value(&all, "completion_time") / 1e9;
        assert_eq!(messages.round(), 2.0 * 4.0 * 4.0 * 50.0, "{asked}");
    }
}

#[test]
fn schbench_workers_compute_what_they_were_told_to() {
    let all = run("schbench:workers=1,work=2ms,sleep=0,warmup=50ms,duration=500ms").expect("needs no program");
    let (rate, request) = (value(&all, "throughput"), value(&all, "request_latency_p50"));
    assert!(request >= 1.99e6, "two milliseconds of work: {request}");
    assert!(rate > 20.0 && rate <= 501.0, "{rate}");
    assert!(value(&all, "wakeup_latency_p50") > 0.0);
}

#[test]
fn fio_runs_a_job_on_a_loop_device_or_on_files() {
    let folder = tempfile::tempdir().expect("a folder");
    let job = folder.path().join("job.fio");
    std::fs::write(&job, "[job]\nrw=randwrite\nbs=4k\nsize=4m\ntime_based\nruntime=1\nioengine=psync\n")
        .expect("written");
    let asked = |on: &str| format!("fio:job={},on={on},size=16", job.display());
    let Some(files) = run(&asked("folder")) else { return };
    assert_eq!(value(&files, "bandwidth").round(), value(&files, "job_write_bandwidth").round());
    if !rustix::process::geteuid().is_root() {
        println!("SKIPPED fio on a loop device: needs root");
        return;
    }
    let disk = run(&asked("loop")).expect("fio is installed");
    let size = value(&disk, "bandwidth") / value(&disk, "iops");
    assert!((4000.0..4200.0).contains(&size), "pieces of 4 KiB: {size}");
}

#[test]
fn dbload_fills_its_tables_twice() {
    if !rustix::process::geteuid().is_root() {
        println!("SKIPPED dbload: needs root for a loop device");
        return;
    }
    let Some(all) = run("dbload:rows=5000,size=128") else { return };
    let rows = value(&all, "throughput") * value(&all, "completion_time") / 1e9;
    assert!((4900.0..=5000.0).contains(&rows.round()), "{rows}");
    assert!(value(&all, "bandwidth") > 0.0, "the device was written to");
}

#[test]
fn the_scheduler_s_share_is_sampled_while_apache_serves() {
    if !rustix::process::geteuid().is_root() {
        println!("SKIPPED scheduler-share: a profile of all CPUs needs root");
        return;
    }
    let Some(all) = run("scheduler-share:sweep=2 8,warmup=100ms,duration=1s") else { return };
    for connections in [2, 8] {
        let share = value(&all, &format!("scheduler_share_{connections}"));
        // Each request is some switches of a few microseconds: some of the time, and never most of it.
        assert!(share > 0.0 && share < 0.6, "{connections} connections: {share}");
    }
}
