//! Well-formed but invalid input: endless behaviours without time, deadlocks, shuffled traces, overlong names, pipes
//! without a writer. Each yields one sentence with its place, or a report that names what is missing.

use crate::common::{folder, goodness, refused, text};
use serde_json::Value;
use std::fmt::Write as _;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Writes an experiment with these tasks that lasts a second. Returns its name.
fn experiment(folder: &Path, name: &'static str, tasks: &str) -> &'static str {
    std::fs::write(folder.join(name), format!("duration = \"1s\"\n{tasks}")).unwrap();
    name
}

/// A switch on CPU 1 at `ms`, from thread `from` to thread `to`.
fn switch(ms: u64, from: u32, to: u32) -> String {
    format!(
        "a-{from} [001] d..2. {}.{:03}000: sched_switch: prev_comm=a prev_pid={from} prev_prio=120 prev_state=S ==> \
         next_comm=a next_pid={to} next_prio=120\n",
        ms / 1000,
        ms % 1000
    )
}

/// Two threads in turns of a millisecond, `count` of them.
fn turns(count: u64) -> Vec<String> {
    (1..=count).map(|ms| if ms % 2 == 0 { switch(ms, 4242, 777) } else { switch(ms, 777, 4242) }).collect()
}

#[test]
fn a_trace_of_which_one_cpu_was_kept_is_measured_and_says_so() {
    let here = folder();
    let waking = "a-777 [001] d..2. 0.000500: sched_waking: comm=a pid=4242 prio=120 target_cpu=003\n";
    std::fs::write(here.path().join("one-cpu.txt"), format!("# tracer: nop\n{waking}{}", turns(40).concat())).unwrap();
    for words in [
        &["summarise", "one-cpu.txt"][..],
        &["verify", "one-cpu.txt"],
        &["run", "one-cpu.txt", "-p", "rr"],
        &["compare", "one-cpu.txt", "-p", "rr", "-p", "fifo", "--runs", "2", "--no-html"],
    ] {
        let output = goodness(here.path(), words);
        let said = text(&output.stdout) + &text(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{words:?}: {said}");
        let flat: Vec<&str> = said.split_whitespace().collect();
        assert!(flat.join(" ").contains("CPU 3, which wrote no line"), "{words:?}: {said}");
    }
}

#[test]
fn a_programme_that_never_uses_time_is_bad_input_and_no_policys_fault() {
    let here = folder();
    let fine = "[[task]]\nname = \"fine\"\nprogram = [ { compute = \"1ms\" }, { sleep = \"9ms\" } ]\n";
    let task = |steps: &str| format!("{fine}[[task]]\nname = \"idler\"\nprogram = [ {steps} ]\n");
    for (name, steps) in [
        ("zero.toml", "{ compute = \"0ns\" }, { sleep = \"0ns\" }"),
        ("yield.toml", "{ yield = true }"),
        ("wake.toml", "{ wake = \"nobody\" }"),
    ] {
        let file = experiment(here.path(), name, &task(steps));
        refused(here.path(), &["run", file, "-p", "fifo"], &[name, "line 5", "task \"idler\"", "without using time"]);
    }
    for (name, event) in
        [("run.json", "\"run\": 0"), ("yield.json", "\"yield\": \"\""), ("lone.json", "\"barrier\": \"b\"")]
    {
        let text = format!("{{ \"global\": {{ \"duration\": 1 }}, \"tasks\": {{\n \"idler\": {{ {event} }} }} }}");
        std::fs::write(here.path().join(name), text).unwrap();
        refused(here.path(), &["run", name, "-p", "fifo"], &[name, "line 2", "task \"idler-0\"", "without using time"]);
    }
}

#[test]
fn a_step_is_taken_or_left_out_and_never_switched_off() {
    let here = folder();
    for (name, step) in [("yield.toml", "yield = false"), ("exit.toml", "exit = \"no\"")] {
        let file = experiment(
            here.path(),
            name,
            &format!("[[task]]\nname = \"t\"\nprogram = [ {{ compute = \"1ms\" }},\n {{ {step} }} ]\n"),
        );
        refused(here.path(), &["run", file, "-p", "fifo"], &[name, "line 5", "says nothing", "= true"]);
    }
}

#[test]
fn a_deadlock_is_told_with_who_waits_for_what() {
    let here = folder();
    let embrace = "[[task]]\nname = \"a\"\nprogram = [ { lock = \"x\" }, { sleep = \"1ms\" }, { lock = \"y\" } ]\n\
                   [[task]]\nname = \"b\"\nprogram = [ { lock = \"y\" }, { sleep = \"1ms\" }, { lock = \"x\" } ]\n";
    let file = experiment(here.path(), "embrace.toml", embrace);
    let expected = ["deadlock at 1ms", "task \"a\"", "line 2", "lock \"y\"", "task \"b\"", "line 5", "lock \"x\""];
    refused(here.path(), &["compare", file, "--no-html"], &expected);
    // It is one while others run, too, and with a lock of its own.
    let beside = format!("{embrace}[[task]]\nname = \"hog\"\nprogram = [ {{ compute = \"forever\" }} ]\n");
    let file = experiment(here.path(), "beside.toml", &beside);
    refused(
        here.path(),
        &["compare", file, "--no-html"],
        &["deadlock at 1s: these never continue", "task \"a\"", "task \"b\""],
    );
    let twice = "[[task]]\nname = \"a\"\nprogram = [ { lock = \"x\" }, { lock = \"x\" } ]\n\
                 [[task]]\nname = \"hog\"\nprogram = [ { compute = \"forever\" } ]\n";
    refused(here.path(), &["run", experiment(here.path(), "twice.toml", twice)], &["these never continue: task \"a\""]);
    let asleep = "[[task]]\ncount = 9\nname = \"a\"\nprogram = [ { wait = \"never\" } ]\n";
    let file = experiment(here.path(), "asleep.toml", asleep);
    refused(here.path(), &["run", file], &["deadlock at 0", "task \"a-0\"", "wake = \"never\"", "and 5 more"]);
    // Threads of the kernel go on, and save nobody.
    let quiet = ["run", file, "--machine", "cpus=2,worker_every=100ms"];
    refused(here.path(), &quiet, &["deadlock at 0", "and 5 more"]);
}

#[test]
fn a_server_whose_clients_have_ended_is_no_deadlock_but_is_told() {
    let here = folder();
    let work = "[[task]]\nname = \"server\"\nprogram = [ { wait = \"request\" }, { compute = \"1ms\" } ]\n\
                [[task]]\nname = \"client\"\nloop = 3\nprogram = [ { wake = \"request\" }, { sleep = \"5ms\" } ]\n";
    let output = goodness(here.path(), &["run", experiment(here.path(), "server.toml", work), "-v"]);
    let said = text(&output.stdout).replace('\n', " ");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(said.contains("the run ended at 15ms") && said.contains("task \"server\""), "{said}");
}

#[test]
fn an_absurd_length_and_a_name_without_end_are_refused_with_their_limits() {
    let here = folder();
    let task = "[[task]]\nname = \"a\"\nprogram = [ { compute = \"1ms\" } ]\n";
    std::fs::write(here.path().join("age.toml"), format!("duration = \"500000h\"\n{task}")).unwrap();
    refused(here.path(), &["run", "age.toml"], &["age.toml, line 1", "duration", "24h"]);
    std::fs::write(here.path().join("endless.toml"), task).unwrap();
    refused(
        here.path(),
        &["run", "endless.toml"],
        &["endless.toml, line 1", "the run has no end", "duration = \"10s\""],
    );
    let long = task.replace("\"a\"", &format!("\"{}\"", "x".repeat(100_000)));
    let file = experiment(here.path(), "long.toml", &long);
    refused(here.path(), &["run", file], &["long.toml, line 3", "100000 letters", "at most 255"]);
}

#[test]
fn a_long_name_is_cut_in_text_and_whole_in_json() {
    let here = folder();
    let name = "x".repeat(200);
    let task = format!("[[task]]\nname = \"{name}\"\nprogram = [ {{ compute = \"1ms\" }}, {{ sleep = \"9ms\" }} ]\n");
    let file = experiment(here.path(), "long.toml", &task);
    let output = goodness(here.path(), &["run", file, "--json", "out.json", "--timehist", "3"]);
    let said = text(&output.stdout);
    assert!(said.contains('…') && !said.contains(&"x".repeat(32)), "{said}");
    let report: Value = serde_json::from_slice(&std::fs::read(here.path().join("out.json")).unwrap()).unwrap();
    assert_eq!(report["policies"][0]["tasks"][0]["name"], Value::from(name));
}

#[test]
fn what_a_trace_does_not_show_is_not_measured_rather_than_missed() {
    let here = folder();
    std::fs::write(here.path().join("switches.txt"), turns(60).concat()).unwrap();
    let output = goodness(here.path(), &["verify", "switches.txt"]);
    let said = text(&output.stdout);
    let line = said.lines().find(|l| l.trim().starts_with("p99 wake-up latency ")).unwrap_or_default();
    assert!(line.trim_end().ends_with("not measured"), "{said}");
    assert_eq!(goodness(here.path(), &["verify", "switches.txt", "--strict"]).status.code(), Some(3));
    let words = ["compare", "switches.txt", "-p", "fifo", "-p", "rr", "--runs", "2", "--no-html", "--json", "-"];
    let report: Value = serde_json::from_slice(&goodness(here.path(), &words).stdout).unwrap();
    assert!(report["policies"][1]["metrics"]["request_latency_p99"]["vs_reference"].is_null());
}

#[test]
fn a_replays_tasks_carry_their_recorded_thread_ids() {
    let here = folder();
    std::fs::write(here.path().join("two.txt"), turns(60).concat()).unwrap();
    let output = goodness(here.path(), &["run", "two.txt", "-p", "fifo", "--json", "-"]);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let mut ids: Vec<u64> =
        report["policies"][0]["tasks"].as_array().unwrap().iter().filter_map(|t| t["id"].as_u64()).collect();
    ids.sort_unstable();
    assert_eq!(ids, [777, 4242]);
}

#[test]
fn a_reversed_trace_is_refused_with_the_threshold_and_a_remedy() {
    let here = folder();
    let lines = turns(5_000);
    let mut reversed = String::new();
    lines.iter().rev().for_each(|line| write!(reversed, "{line}").unwrap());
    std::fs::write(here.path().join("reversed.txt"), reversed).unwrap();
    let expected = ["reversed.txt, line ", "of 5000 events", "at most 10 in 100", "sort the lines"];
    refused(here.path(), &["summarise", "reversed.txt"], &expected);
    refused(here.path(), &["compare", "reversed.txt", "--no-html"], &expected);
}

#[test]
fn a_pipe_that_nobody_writes_to_says_what_it_waits_for() {
    let here = folder();
    let pipe = here.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let mut child = Command::new(env!("CARGO_BIN_EXE_goodness"))
        .args(["summarise", "pipe"])
        .current_dir(here.path())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(1_800));
    child.kill().unwrap();
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    child.wait().unwrap();
    assert!(said.contains("waiting for someone to write to pipe"), "{said}");
}

#[test]
fn a_recording_from_a_named_pipe_is_read_once() {
    let here = folder();
    let pipe = here.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let lines = turns(60).concat();
    let writer = std::thread::spawn(move || std::fs::write(pipe, lines));
    let output = goodness(here.path(), &["run", "pipe", "-p", "fifo", "--json", "-"]);
    writer.join().unwrap().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).expect("a report");
    assert!(report["input"]["sha256"].is_null(), "what cannot be read again has no hash");
}

#[test]
fn disks_files_and_devices_that_cannot_be_are_refused_where_they_stand() {
    let here = folder();
    let task = "[[task]]\nprogram = [ { read = \"d\", size = \"4KiB\" }, { compute = \"1ms\" } ]\n";
    let disk = |device: &str| format!("[[disk]]\nname = \"d\"\ndevice = \"{device}\"\n");
    let large = disk("null:sectors=34359738360");
    let whole = vec!["{ disk = \"d\" }"; 600].join(", ");
    for (name, text, expected) in [
        ("long.toml", disk(&"n".repeat(100_000)), ["line 4: device", "letters more", "there are"]),
        ("depth.toml", disk("null:depth=0"), ["line 4: device", "depth = 0", "outside 1"]),
        ("flash.toml", disk("nvme:sectors=4398046511104"), ["line 4: device", "device nvme", "larger"]),
        (
            "fixed.toml",
            disk("null") + "elevator = \"cfq:quantum=0\"\n",
            ["line 5: elevator", "quantum = 0", "outside 1"],
        ),
        (
            "sum.toml",
            format!("{large}[[volume]]\nname = \"v\"\nlayout = \"striped\"\npieces = [{whole}]\n"),
            ["line 8: pieces", "two pieces of \"v\"", "a part of its own"],
        ),
        (
            "pieces.toml",
            format!("{large}[[file]]\nname = \"f\"\nvolume = \"d\"\nsize = \"15TiB\"\npieces = \"4KiB\"\n"),
            ["line 9: pieces", "4194304 are the most", "larger"],
        ),
    ] {
        let file = experiment(here.path(), name, &(text + task));
        refused(here.path(), &["run", file, "-p", "fifo"], &[&[name][..], &expected[..]].concat());
    }
}

#[test]
fn a_text_without_an_end_is_refused_and_not_collected() {
    for command in if cfg!(feature = "live") { &["race", "play", "run"][..] } else { &["run"] }.iter().copied() {
        let file = if command == "race" { "/dev/zero" } else { "endless.toml" };
        let here = folder();
        std::os::unix::fs::symlink("/dev/zero", here.path().join("endless.toml")).unwrap();
        refused(here.path(), &[command, file], &["is a device", "name a file"]);
    }
}

#[cfg(feature = "live")]
#[test]
fn a_log_of_a_live_run_is_an_ordinary_file() {
    let here = folder();
    refused(here.path(), &["live", "replay", "/dev/zero"], &["/dev/zero", "no ordinary file", "live --log"]);
}

#[test]
fn a_machine_file_is_small_and_no_device() {
    let here = folder();
    std::os::unix::fs::symlink("/dev/zero", here.path().join("endless.toml")).unwrap();
    std::fs::write(here.path().join("long.toml"), "# a machine of many words\n".repeat(50_000)).unwrap();
    refused(here.path(), &["run", "mixed", "--machine", "endless.toml"], &["endless.toml is a device", "name a file"]);
    refused(here.path(), &["run", "mixed", "--machine", "long.toml"], &["long.toml is longer than 1 MiB"]);
    refused(here.path(), &["study", "endless.toml"], &["is a device"]);
    for name in ["endless.json", "endless.fio"] {
        std::os::unix::fs::symlink("/dev/zero", here.path().join(name)).unwrap();
        refused(here.path(), &["run", name], &["is a device"]);
    }
}
