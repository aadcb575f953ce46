//! Traces of block I/O and fio job files as inputs.

use crate::common::{folder, goodness, refused, text};
use serde_json::Value;
use std::fmt::Write as _;
use std::path::Path;

/// A line of ftrace, `us` after the first second.
fn event(us: u64, pid: u32, what: &str, place: &str) -> String {
    let (bytes, tail) = match what {
        "block_bio_queue" => ("", "[dd]"),
        "block_rq_complete" => ("() ", "[0]"),
        _ => ("4096 () ", "[dd]"),
    };
    format!("dd-{pid} [000] ..... {}.{:06}: {what}: 8,0 R {bytes}{place} {tail}\n", 1 + us / 1_000_000, us % 1_000_000)
}

/// Two readers, one after the other, with 200 us of think time, far apart on the disk.
fn trace() -> String {
    let mut lines = String::new();
    for turn in 0..50u64 {
        let at = turn * 4_000;
        for (pid, start) in [(11, 0u64), (12, 1_000_000_000)] {
            let place = format!("{} + 8", start + turn * 8);
            let at = at + u64::from(pid - 11) * 1_500;
            lines += &event(at, pid, "block_bio_queue", &place);
            lines += &event(at + 5, pid, "block_rq_issue", &place);
            lines += &event(at + 1_005, pid, "block_rq_complete", &place);
        }
    }
    lines
}

const SWITCHES: &str = "a-1 [000] d..2. 1.000000: sched_switch: prev_comm=a prev_pid=1 prev_prio=120 prev_state=S ==> \
                        next_comm=b next_pid=2 next_prio=120\nb-2 [000] d..2. 1.100000: sched_switch: prev_comm=b \
                        prev_pid=2 prev_prio=120 prev_state=S ==> next_comm=a next_pid=1 next_prio=120\n";

const JOBS: &str = "[global]\ndirect=1\nioengine=libaio\nruntime=20ms\ntime_based\nsize=64m\n[reads]\nrw=randread\n\
                    iodepth=4\nnumjobs=2\n[after]\nstonewall\nrw=write\nbs=64k\n";

fn report(folder: &Path, words: &[&str]) -> Value {
    let output = goodness(folder, words);
    assert_eq!(output.status.code(), Some(0), "{words:?}: {}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON and nothing else")
}

/// Completed I/O of one elevator's task, by name.
fn done(report: &Value, arm: usize, task: &str) -> u64 {
    let tasks = report["policies"][arm]["tasks"].as_array().expect("tasks");
    let found = tasks.iter().filter(|it| it["name"] == task);
    found.map(|it| it["io"]["done"].as_u64().expect("it does I/O")).sum()
}

#[test]
fn a_block_trace_is_compared_under_elevators_with_its_own_service_times() {
    let here = folder();
    std::fs::write(here.path().join("t.txt"), trace()).unwrap();
    let words =
        ["compare", "t.txt", "--elevator", "none", "--elevator", "bfq", "--runs", "2", "--no-html", "--json", "-"];
    let report = report(here.path(), &words);
    assert_eq!((report["input"]["kind"].as_str(), report["input"]["name"].as_str()), (Some("trace"), Some("t.txt")));
    for arm in 0..2 {
        assert_eq!(done(&report, arm, "dd"), 100, "arm {arm}");
    }
    let latency = report["policies"][0]["metrics"]["io_latency_p50"]["value"].as_f64().expect("measured");
    assert!((latency - 1e6).abs() < 1e5, "{latency}: each took 1 ms in the recording");
    let notes = report["details"]["workload_notes"].to_string();
    for expected in ["100 arrivals", "2 submitters", "closed loop", "service times of the trace", "eevdf+bfq: 100 subm"]
    {
        assert!(notes.contains(expected), "\"{expected}\" is not in {notes}");
    }
}

#[test]
fn a_closed_loop_waits_for_a_slower_disk_and_an_open_one_does_not() {
    let here = folder();
    std::fs::write(here.path().join("t.txt"), trace()).unwrap();
    let once = ["--ends", "recorded", "--json", "-"];
    let slow = [&["run", "t.txt", "--elevator", "none", "--device", "null:latency=20ms"][..], &once].concat();
    let length = |extra: &[&str]| {
        let report = report(here.path(), &[&slow[..], extra].concat());
        report["policies"][0]["metrics"]["completion_time"]["value"].as_f64().expect("measured") / 1e6
    };
    let (closed, open) = (length(&[]), length(&["--arrivals", "recorded"]));
    // 50 reads of 20 ms, 3 ms of thinking between them; the last of 50 arrivals 4 ms apart takes 20 ms.
    assert!((1140.0..1160.0).contains(&closed), "{closed} ms");
    assert!((210.0..225.0).contains(&open), "{open} ms");
}

#[test]
fn a_recording_with_both_is_scheduling_unless_block_io_is_asked_for() {
    let here = folder();
    std::fs::write(here.path().join("both.txt"), format!("{SWITCHES}{}", trace())).unwrap();
    let both = report(here.path(), &["run", "both.txt", "--json", "-"]);
    assert!(both["policies"][0]["metrics"]["iops"]["value"].is_null());
    let block = report(here.path(), &["run", "both.txt", "--block-only", "--elevator", "none", "--json", "-"]);
    assert_eq!(done(&block, 0, "dd"), 100);
    refused(here.path(), &["run", "both.txt", "--device", "null"], &["--device", "--block-only"]);
}

#[test]
fn fio_jobs_run_in_waves_on_the_disk_that_is_named() {
    let here = folder();
    std::fs::write(here.path().join("jobs.fio"), JOBS).unwrap();
    let words = ["run", "jobs.fio", "--device", "null:latency=100us", "--elevator", "none", "--json", "-"];
    let first = report(here.path(), &words);
    assert_eq!(first["input"]["kind"], "fio");
    // 20 ms with 4 under way, each 100 us and a little CPU time; then 20 ms one at a time.
    let (reads, writes) = (done(&first, 0, "reads"), done(&first, 0, "after"));
    assert!((1400..=1610).contains(&reads), "{reads}");
    assert!((180..=200).contains(&writes), "{writes}");
    let length = first["policies"][0]["metrics"]["completion_time"]["value"].as_f64().expect("measured");
    assert!((40e6..41e6).contains(&length), "{length}");
    let same = |a: &Value, b: &Value| a["policies"][0]["metrics"] == b["policies"][0]["metrics"];
    assert!(same(&first, &report(here.path(), &words)));
}

#[test]
fn what_cannot_be_replayed_is_refused_in_one_sentence() {
    let here = folder();
    std::fs::write(here.path().join("t.txt"), trace()).unwrap();
    std::fs::write(here.path().join("jobs.fio"), JOBS).unwrap();
    std::fs::write(here.path().join("bad.fio"), "[a]\nrw=randread\nsize=1g\niodpeth=4\n").unwrap();
    std::fs::write(here.path().join("large.fio"), "[a]\nsize=99t\n").unwrap();
    let mut queued = String::new();
    write!(queued, "{}", event(0, 9, "block_bio_queue", "8 + 8")).unwrap();
    std::fs::write(here.path().join("queued.txt"), queued).unwrap();
    std::fs::write(here.path().join("prose.txt"), "Dear reader,\nthis is no trace.\n").unwrap();
    for (words, expected) in [
        (&["run", "t.txt", "--device", "sata-7200"][..], &["sata-7200-4tb"][..]),
        (&["run", "t.txt", "--io-cost", "1us"], &["--io-cost is for fio jobs", "leave it out"]),
        (&["run", "queued.txt", "--block-events", "issue"], &["queued.txt", "no issues"]),
        (&["run", "jobs.fio", "--block-only"], &["--block-only is for recordings", "a fio job file"]),
        (&["run", "jobs.fio", "--io-cost", "soon"], &["--io-cost"]),
        (&["run", "jobs.fio", "--elevator", "bqf"], &["nearest is \"bfq\""]),
        (&["run", "bad.fio"], &["bad.fio, line 4", "iodepth"]),
        (&["run", "large.fio"], &["large.fio, line 1", "--device"]),
        (&["run", "mixed", "--recorded-by", "cfs"], &["--recorded-by is for recordings", "a built-in workload"]),
        (&["run", "mixed", "--device", "null"], &["--device is for block traces and fio jobs", "a built-in workload"]),
        (&["run", "prose.txt"], &["prose.txt", "ftrace", "blktrace", "begins with"]),
        (&["run", ".", "--block-only"], &["."]),
    ] {
        refused(here.path(), words, expected);
    }
}

#[test]
fn block_formats_are_in_the_list_of_formats() {
    let here = folder();
    let listed = text(&goodness(here.path(), &["list", "formats"]).stdout);
    for name in ["ftrace", "blktrace", "blkparse", "block-events", "msr", "spc"] {
        assert!(listed.contains(name), "{name} is not in {listed}");
    }
}
