//! The program from a user's view: exit codes, errors with a remedy, files that are complete or absent, and the same
//! bytes for the same seed on any number of threads.

use crate::common::{folder, goodness, refused, text};
use serde_json::Value;
use std::io::Write;
use std::process::{Command, Stdio};

#[test]
fn mistakes_in_the_call_are_named_with_the_remedy() {
    let here = folder();
    for (words, expected) in [
        (&["compare", "mixd"][..], &["mixd", "nearest is \"mixed\""][..]),
        (&["compare", "mixed", "-p", "eevfd"], &["eevfd", "nearest is \"eevdf\""]),
        (&["compare", "mixed", "-p", "eevdf:base_slise=3ms"], &["nearest is \"base_slice\""]),
        (&["compare", "mixed", "-p", "eevdf:base_slice=3 parsecs"], &["not a unit of time"]),
        (&["compare", "mixed", "-p", "eevdf:base_slice=10s"], &["outside 100us ..= 100ms"]),
        (&["compare", "mixed", "-p", "cfs:kernel=9.9"], &["not one of"]),
        (&["compare", "mixed", "--machine", "cpus=0"], &["cpus = 0", "1 ..= 8192"]),
        (&["compare", "mixed", "--machine", "cpu=1"], &["nearest is \"cpus\""]),
        (&["compare", "mixed", "--machine", "cpus=1,cpus=2"], &["\"cpus\" is given twice", "keep one"]),
        (&["run", "mixed", "-p", "rr:timeslice=1ms,timeslice=2ms"], &["\"timeslice\" is given twice"]),
        (&["run", "mixed:hogs=1,hogs=2"], &["\"hogs\" is given twice"]),
        (&["run", "mixed", "--machine", "hz=9999999999999999999"], &["hz = 9999999999999999999", "1 ..= 100000"]),
        (&["run", "mixed", "-p", "banana"], &["is spelled like it", "goodness list policies"]),
        (&["run", "mixed:duration=2h"], &["duration = 7200s is outside"]),
        (&["compare", "mixed", "--runs", "0"], &["outside 1 ..= 10000"]),
        (&["compare", "mixed", "--rank-by", "latency"], &["there is no metric", "goodness list metrics"]),
        (
            &["compare", "mixed", "--rank-by", "completion_time"],
            &["completion_time was not measured", "wakeup_latency_p99"],
        ),
        (&["compare", "mixed", "--rank-by", "slice_length_mean"], &["neither more nor less is better"]),
        (&["compare", "mixed:hog=3"], &["nearest is \"hogs\""]),
        (&["compare", "mixed", "--html", "missing/x.html"], &["missing/x.html", "cannot be written"]),
        (&["run", "mixed", "--json", "."], &["it is a folder"]),
        (&["run", "mixed", "--json", "x", "--html", "./x"], &["it is also --json"]),
        (&["run", "mixed", "--replication", "4294967295"], &["--replication"]),
        (&["list", "policies", "eevfd"], &["nearest is \"eevdf\""]),
        (&["bench", "--tasks", "0"], &["outside 1 ..= 10000000"]),
        (&["bench", "--budget", "20"], &["--budget", "\"20\" has no unit", "\"20ms\""]),
        (&["bench", "--budget", "2h"], &["--budget 2h is longer than an hour"]),
        (&["run", "mixed", "--html", "-"], &["--html -: only --json goes to standard output"]),
        // Names are looked up before the input, which may be long, is read.
        (&["compare", "missing.csv", "--elevator", "none", "--elevator", "bqf"], &["\"bqf\"", "nearest is \"bfq\""]),
        (&["run", "missing.csv", "--elevator", "bqf"], &["\"bqf\"", "nearest is \"bfq\""]),
        (&["compare", "missing.csv", "-p", "eevfd"], &["nearest is \"eevdf\""]),
        (&["run", "missing.csv", "-p", "eevfd"], &["nearest is \"eevdf\""]),
        (&["run", "apache-ab-c4-1cpu", "--judge", "apach2"], &["--judge \"apach2\"", "nearest is \"apache2\""]),
        (&["run", "apache-ab-c4-1cpu", "--fact", "ab.affinity=0"], &["--fact \"ab.affinity=0\"", "itself states"]),
        (&["compare", "mixed", "--judge", "nobody"], &["--judge \"nobody\"", "no task of mixed has that name"]),
        (&["summarise", "missing.txt"], &["missing.txt"]),
        (&["no-such-command"], &["unrecognized subcommand"]),
    ] {
        refused(here.path(), words, expected);
    }
    let left: Vec<_> = std::fs::read_dir(here.path()).unwrap().collect();
    assert!(left.is_empty(), "nothing half-written: {left:?}");
}

#[test]
fn files_that_are_no_usable_input_are_refused_with_their_place() {
    let here = folder();
    let line = "a-1 [000] d..2. 1.000000: sched_process_exit: comm=a pid=1 prio=120\n";
    let broken = "a-1 [000] d..2. -1.000000: sched_switch: prev_comm=a prev_pid=1 prev_prio=120 prev_state=S ==> \
                  next_comm=b next_pid=2 next_prio=120\n";
    for (name, bytes, expected) in [
        ("empty.txt", &b""[..], "empty"),
        ("prose.txt", b"Dear reader,\nthis is no trace.\n", "prose.txt"),
        ("noise.bin", &[0, 255, 7, 3, 0, 0, 1, 254, 9, 10, 13, 0], "noise.bin"),
        ("no-switch.txt", line.as_bytes(), "sched_switch"),
        ("negative.txt", broken.as_bytes(), "negative.txt"),
        ("cut.ftrace.zst", &[0x28, 0xb5, 0x2f, 0xfd, 0x04, 0x58, 0x01], "cut.ftrace.zst"),
        ("bad.toml", b"duration = 3", "bad.toml"),
        ("bad.json", b"{\"tasks\": {\"a\": {\"rnu\": 3}}}", "bad.json"),
        ("cut.json", b"{\"tasks\": {", "cut.json"),
    ] {
        std::fs::write(here.path().join(name), bytes).unwrap();
        refused(here.path(), &["compare", name, "--no-html"], &[expected]);
    }
}

const STRANDED: &str =
    "duration = \"1s\"\n[[task]]\nname = \"far\"\naffinity = [7]\nprogram = [ { compute = \"1ms\" } ]\n";

#[test]
fn a_task_that_may_run_nowhere_is_bad_input_and_no_violation() {
    let here = folder();
    std::fs::write(here.path().join("far.toml"), STRANDED).unwrap();
    refused(here.path(), &["run", "far.toml"], &["far.toml, line 2: task \"far\" may run on no CPU", "CPUs 0 to 0"]);
    let app = "{ \"global\": { \"duration\": 1 }, \"tasks\": {\n \"far\": { \"cpus\": [7], \"run\": 1000 } } }";
    std::fs::write(here.path().join("far.json"), app).unwrap();
    refused(here.path(), &["run", "far.json"], &["far.json, line 2: task \"far-0\" may run on no CPU"]);
    assert_eq!(goodness(here.path(), &["run", "far.toml", "--machine", "cpus=8"]).status.code(), Some(0));
}

#[test]
fn more_threads_than_the_machine_could_use_are_refused_at_once() {
    let here = folder();
    for threads in ["100000", "many"] {
        let output = Command::new(env!("CARGO_BIN_EXE_goodness"))
            .args(["compare", "mixed", "--no-html"])
            .current_dir(here.path())
            .env("RAYON_NUM_THREADS", threads)
            .output()
            .unwrap();
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.starts_with(&format!("error: RAYON_NUM_THREADS={threads}: a whole number")), "{said}");
    }
}

#[cfg(unix)]
#[test]
fn a_link_given_as_output_is_followed_or_refused_and_never_replaced() {
    use std::os::unix::fs::symlink;
    let here = folder();
    let is_link = |name: &str| std::fs::symlink_metadata(here.path().join(name)).unwrap().is_symlink();
    symlink("made.json", here.path().join("latest")).unwrap();
    let words = ["run", "mixed:duration=10ms", "-p", "rr", "--json"];
    assert_eq!(goodness(here.path(), &[&words[..], &["latest"]].concat()).status.code(), Some(0));
    assert!(is_link("latest") && here.path().join("made.json").is_file());
    symlink("round", here.path().join("round")).unwrap();
    refused(here.path(), &[&words[..], &["round"]].concat(), &["round is a link that leads to no end"]);
    assert!(is_link("round"));
    refused(here.path(), &[&words[..], &["latest", "--html", "made.json"]].concat(), &["it is also --json"]);
}

#[test]
fn two_arms_of_a_policy_share_its_name_and_differ_in_label_and_settings() {
    let here = folder();
    let words = ["compare", "mixed:duration=10ms", "--runs", "2", "-p", "rr", "-p", "rr:timeslice=2ms", "--no-html"];
    let output = goodness(here.path(), &[&words[..], &["--json", "-"]].concat());
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let of = |key: &str| [&report["policies"][0][key], &report["policies"][1][key]].map(|v| v.as_str().unwrap());
    assert_eq!(of("name"), ["rr", "rr"]);
    assert_eq!(of("label"), ["rr", "rr:timeslice=2ms"]);
    assert_eq!(report["policies"][1]["settings"]["timeslice"], "2ms");
    let shown = text(&goodness(here.path(), &words).stdout);
    assert!(shown.contains("rr:timeslice=2ms"), "{shown}");
}

#[test]
fn an_input_is_never_overwritten_by_a_result() {
    let here = folder();
    let path = here.path().join("far.toml");
    std::fs::write(&path, STRANDED).unwrap();
    refused(
        here.path(),
        &["compare", "far.toml", "--machine", "cpus=8", "--html", "./far.toml"],
        &["it is also the input"],
    );
    assert_eq!(std::fs::read_to_string(&path).unwrap(), STRANDED);
}

#[test]
fn a_header_with_an_impossible_tick_rate_and_a_time_that_jumps_are_taken_for_what_they_are() {
    let here = folder();
    let header = |hz: u32| {
        format!(
            "# tracer: nop\n# goodness: {{\"recording\": {{\"version\":1,\"kernel\":{{\"release\":\"6.12\",\"hz\":{hz},\
             \"config\":null}},\"members\":[]}}}}\n"
        )
    };
    let switch = |at: u64, from: u32, to: u32| {
        format!(
            "a-{from} [000] d..2. {at}.000000: sched_switch: prev_comm=a prev_pid={from} prev_prio=120 prev_state=R \
             ==> next_comm=a next_pid={to} next_prio=120\n"
        )
    };
    for hz in [0, 1_000_000_000] {
        let text = header(hz) + &(1..40).map(|at| switch(at, 1 + at as u32 % 2, 2 - at as u32 % 2)).collect::<String>();
        std::fs::write(here.path().join("hz.txt"), text).unwrap();
        assert_eq!(goodness(here.path(), &["verify", "hz.txt"]).status.code(), Some(0), "hz {hz}");
    }
    let jump = header(250) + &switch(1, 1, 2) + &switch(2, 2, 1) + &switch(9_000_000_000, 1, 2);
    std::fs::write(here.path().join("jump.txt"), jump).unwrap();
    refused(here.path(), &["verify", "jump.txt"], &["jump.txt", "its times cover"]);
}

#[cfg(feature = "live")]
#[test]
fn recording_without_root_or_into_nowhere_is_refused_before_anything_starts() {
    let here = folder();
    let id = Command::new("id").arg("-u").output().expect("the user has a number");
    let why = if text(&id.stdout).trim() == "0" { "missing/x.ftrace.gz" } else { "root" };
    refused(here.path(), &["record", "-o", "missing/x.ftrace.gz", "-d", "1s", "--", "true"], &[why]);
    assert!(!here.path().join("missing").exists());
    refused(here.path(), &["record", "-d", "1 parsec"], &["not a unit of time"]);
}

#[test]
fn the_same_seed_gives_the_same_bytes_on_one_thread_and_on_four() {
    let here = folder();
    for input in ["mixed", "apache-ab-c32-1cpu", "server:clients=6"] {
        let run = |threads: &str| {
            let output = Command::new(env!("CARGO_BIN_EXE_goodness"))
                .args([
                    "compare",
                    input,
                    "-p",
                    "eevdf",
                    "-p",
                    "o1",
                    "-p",
                    "rr",
                    "--runs",
                    "3",
                    "--no-html",
                    "--json",
                    "-",
                ])
                .current_dir(here.path())
                .env("RAYON_NUM_THREADS", threads)
                .output()
                .unwrap();
            assert!(output.status.success(), "{}", text(&output.stderr));
            let lines = text(&output.stdout);
            lines.lines().filter(|l| !l.contains("simulation_wall_ns")).collect::<Vec<_>>().join("\n")
        };
        let (one, four) = (run("1"), run("4"));
        let difference = one.lines().zip(four.lines()).find(|(a, b)| a != b);
        assert_eq!(difference, None, "{input}");
        assert_eq!(one.len(), four.len());
    }
}

#[test]
fn json_follows_the_schema_and_nothing_else_goes_to_standard_output() {
    let here = folder();
    let words = ["compare", "mixed", "-p", "eevdf", "-p", "rr", "--runs", "3", "--no-html", "--json", "-"];
    let output = goodness(here.path(), &words);
    let report: Value = serde_json::from_slice(&output.stdout).expect("only JSON");
    assert_eq!(report["schema"], "goodness.report/1");
    assert_eq!((report["seed"].as_u64(), report["runs_per_policy"].as_u64()), (Some(1), Some(3)));
    assert_eq!(report["policies"][0]["is_reference"], true);
    let metric = &report["policies"][1]["metrics"]["wakeup_latency_p99"];
    assert_eq!((metric["unit"].as_str(), metric["better"].as_str()), (Some("ns"), Some("lower")));
    assert!(metric["vs_reference"]["ratio"].as_f64().unwrap() > 1.0, "round robin makes sleepers wait: {metric}");
    assert_eq!(report["policies"][1]["violations"], Value::Array(vec![]));
    assert!(report["fidelity"].is_null(), "a model has no recording to be faithful to");
}

#[test]
fn a_comparison_of_a_recording_states_its_fidelity_and_writes_a_whole_page() {
    let here = folder();
    let output = goodness(here.path(), &["compare", "mixed-cpu", "--runs", "2", "--json", "out.json"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let report: Value = serde_json::from_slice(&std::fs::read(here.path().join("out.json")).unwrap()).unwrap();
    assert_eq!(report["fidelity"]["policy"], "eevdf:kernel=6.18.33");
    let error = report["fidelity"]["metrics"]["cpu_time_per_task"]["error"].as_f64().unwrap();
    assert!(error <= 0.04, "CPU time per task is off by {error}");
    let page = std::fs::read_to_string(here.path().join("goodness-compare-mixed-cpu.html")).unwrap();
    assert!(page.trim_end().ends_with("</html>") && page.contains("mixed-cpu"));
    let said = text(&output.stdout);
    assert!(said.contains("reference") && said.replace('\n', " ").contains("replay error"), "{said}");
}

#[test]
fn arms_ask_what_if_and_the_work_as_it_is_comes_first() {
    let here = folder();
    let words = ["compare", "mixed-cpu", "--arm", "17502.nice=19", "--arm", "cpus=4", "--runs", "2", "--no-html"];
    let output = goodness(here.path(), &[&words[..], &["--json", "-"]].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).expect("only JSON");
    let policies = report["policies"].as_array().unwrap();
    let work = |policy: usize, task: u64| {
        let tasks = policies[policy]["tasks"].as_array().unwrap();
        tasks.iter().find(|it| it["id"] == task).unwrap()["cpu_time_ns"].as_u64().unwrap()
    };
    assert_eq!((policies.len(), policies[0]["is_reference"].as_bool()), (3, Some(true)));
    assert!(work(1, 17_502) * 4 < work(0, 17_502), "a hog of nice 19 gets less, in the same window");
    assert!(work(1, 17_501) > work(0, 17_501), "and the other hogs get more");
    let nobody = goodness(here.path(), &["compare", "mixed-cpu", "--arm", "pyton3.nice=4"]);
    assert_eq!(nobody.status.code(), Some(2));
    assert!(text(&nobody.stderr).contains("the nearest is \"python3\""), "{}", text(&nobody.stderr));
}

#[test]
fn verify_measures_every_shipped_recording_and_strict_fails_on_a_wrong_policy() {
    let here = folder();
    let output = goodness(here.path(), &["verify", "--json"]);
    let result: Value = serde_json::from_slice(&output.stdout).expect("only JSON");
    assert_eq!(result["fidelity"].as_array().map(Vec::len), Some(8));
    // A negative control: the wrong policy must be rejected.
    let wrong = goodness(here.path(), &["verify", "apache-ab-c4-1cpu", "--recorded-by", "fifo", "--strict"]);
    assert_eq!(wrong.status.code(), Some(1), "{}", text(&wrong.stdout));
    let right = goodness(here.path(), &["verify", "apache-ab-c4-1cpu", "--strict"]);
    assert_eq!(right.status.code(), Some(0), "{}", text(&right.stdout));
}

#[test]
fn a_trace_comes_from_a_pipe_too() {
    let here = folder();
    let recording = concat!(env!("CARGO_MANIFEST_DIR"), "/../../recordings/mixed-cpu.ftrace.zst");
    let mut child = Command::new(env!("CARGO_BIN_EXE_goodness"))
        .args(["summarise", "-", "--json"])
        .current_dir(here.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(&std::fs::read(recording).unwrap()).unwrap();
    let output = child.wait_with_output().unwrap();
    let summary: Value = serde_json::from_slice(&output.stdout).expect("only JSON");
    assert!(summary["switches"].as_u64().unwrap() > 3000);
}

#[test]
fn every_list_prints_as_a_table_and_as_json() {
    let here = folder();
    for list in ["policies", "workloads", "recordings", "machines", "metrics", "formats"] {
        let plain = goodness(here.path(), &["list", list]);
        assert!(plain.status.success() && plain.stdout.len() > 100, "{list}");
        let json: Value = serde_json::from_slice(&goodness(here.path(), &["list", list, "--json"]).stdout).unwrap();
        let entries = json.as_array().unwrap();
        assert!(entries.iter().all(|e| e["name"].is_string() && e["summary"].is_string()), "{list}");
    }
}

#[test]
fn what_cannot_be_decided_is_said_by_the_exit_code() {
    let here = folder();
    let words = ["compare", "mixed", "-p", "eevdf", "-p", "rr", "--runs", "3", "--no-html", "--decide"];
    assert_eq!(goodness(here.path(), &words).status.code(), Some(0));
    let words = ["compare", "mixed", "-p", "eevdf", "-p", "rr", "--runs", "1", "--no-html", "--decide"];
    assert_eq!(goodness(here.path(), &words).status.code(), Some(3), "one run decides nothing");
}

#[test]
fn an_error_of_the_command_line_says_what_to_do() {
    let here = folder();
    for (words, remedy) in [
        (&["compare", "--seed", "x"][..], "write a whole number"),
        (&["run", "--replication", "10000"], "write a whole number of that range"),
        (&["compare", "mixed", "--arm", "cpus=4", "-p", "rr"], "leave one of them out"),
        (&["compare", "--frobnicate"], "leave it out; the help lists"),
        (&["compare", "--sed", "1"], "a similar argument exists: '--seed'"),
        (&["compare", "-p"], "write a value"),
        (&["zz"], "the help lists the commands"),
    ] {
        refused(here.path(), words, &[&format!("tip: {remedy}"), "--help"]);
    }
    let own = text(&goodness(here.path(), &["compare", "--cpus", "x"]).stderr);
    assert_eq!(own.matches("tip: ").count(), 1, "{own}");
    assert!(!text(&goodness(here.path(), &["--help"]).stdout).contains("tip: "));
}

/// The control: without the arm, the default elevator is named, by every command.
#[test]
fn commands_take_the_elevator_of_an_arm_or_the_default_one_and_refuse_it_where_none_is_open() {
    let here = folder();
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/14-write-back.toml");
    for command in ["run", "why"] {
        let said = |words: &[&str]| {
            let output = goodness(here.path(), &[&[command, example], words].concat());
            text(&[output.stdout, output.stderr].concat())
        };
        assert!(said(&["--arm", "eevdf+bfq"]).contains("eevdf+bfq"), "{command}");
        assert!(!said(&["--arm", "sda.wbt_lat=0ms"]).contains("bfq"), "{command}");
        assert!(
            said(&["--arm", "eevdf+bfq", "--elevator", "none"]).contains("the arm names elevator bfq"),
            "{command}"
        );
    }
    let compared = goodness(here.path(), &["compare", example, "--arm", "base", "--runs", "2"]);
    assert!(text(&compared.stdout).contains("eevdf+mq-deadline"), "{}", text(&compared.stdout));
    let refused = goodness(here.path(), &["compare", "mixed-cpu", "--arm", "eevdf+bfq"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stderr).contains("has no disk whose elevator is open"), "{}", text(&refused.stderr));
}
