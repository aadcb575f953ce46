//! `goodness play` as people meet it.

use crate::common::{folder, goodness, refused, text};
use std::process::{Command, Stdio};

const FILE: &str = "duration = \"300ms\"\nwarmup = \"100ms\"\n[[task]]\nname = \"blinker\"\n\
                    program = [ { compute = \"1ms\" }, { sleep = \"4ms\" } ]\n";

#[test]
fn the_figures_of_a_play_are_those_of_its_file() {
    let folder = folder();
    std::fs::write(folder.path().join("x.toml"), FILE).expect("a file");
    let output = goodness(folder.path(), &["play", "x.toml", "--json", "-"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let played = &document["played"];
    let task = &played["tasks"][0];
    assert_eq!(
        (document["schema"].as_str(), played["measured_ns"].as_u64()),
        (Some("goodness.play/1"), Some(200_000_000))
    );
    assert_eq!(task["name"], "blinker");
    let (cpu, wakeups) = (task["cpu_time_ns"].as_u64().unwrap_or(0), task["wakeups"].as_u64().unwrap_or(0));
    assert!((1..=41).contains(&wakeups), "a round takes 5 ms at least: {task}");
    assert!(cpu.abs_diff(wakeups * 1_000_000) < 20_000_000, "a millisecond for each: {task}");
    let shown = text(&goodness(folder.path(), &["play", "x.toml", "-d", "200ms"]).stdout);
    assert!(shown.contains("blinker") && shown.contains("played for 100ms"), "{shown}");
}

#[test]
fn what_cannot_be_played_is_refused_with_its_line() {
    let folder = folder();
    let put = |name: &str, body: &str| std::fs::write(folder.path().join(name), body).expect("a file");
    put("disk.toml", &format!("{FILE}[[disk]]\nname = \"d\"\ndevice = \"null\"\n"));
    refused(folder.path(), &["play", "disk.toml"], &["disk.toml, line 6: its disks are models"]);
    put("iso.toml", &FILE.replace("name = \"blinker\"", "class = \"iso\""));
    refused(folder.path(), &["play", "iso.toml"], &["iso.toml, line 3: task \"task\": class iso"]);
    put("far.toml", &FILE.replace("name =", "affinity = [999]\nname ="));
    refused(folder.path(), &["play", "far.toml"], &["far.toml, line 3: ", "none of the CPUs 0 to"]);
    put("x.toml", FILE);
    refused(folder.path(), &["play", "x.toml", "-d", "0s"], &["--duration", "needs some time"]);
    refused(folder.path(), &["play", "x.toml", "-d", "50ms"], &["warm-up of 100ms leaves nothing"]);
    refused(folder.path(), &["play", "x.toml", "--cpus", "999"], &["--cpus: CPU 999 is none of those"]);
    refused(folder.path(), &["play", "x.toml", "--cpus", "0-"], &["\"0-\" is no CPU", "0-3,8"]);
    refused(folder.path(), &["play", "x.toml", "--json", "missing/x.json"], &["missing"]);
    let help = text(&goodness(folder.path(), &["play", "--help"]).stdout);
    let example = help.split_whitespace().find(|word| word.starts_with("hogs:")).expect("an example");
    assert!(goodness(folder.path(), &["play", example, "-d", "50ms"]).status.success(), "{example}");
}

#[test]
fn ctrl_c_ends_a_play_at_once_and_still_prints() {
    let folder = folder();
    std::fs::write(folder.path().join("x.toml"), FILE.replace("300ms", "1h")).expect("a file");
    let child = Command::new(env!("CARGO_BIN_EXE_goodness"))
        .args(["play", "x.toml"])
        .current_dir(folder.path())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program starts");
    std::thread::sleep(std::time::Duration::from_secs(2));
    let kill = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill runs");
    assert!(kill.success());
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(130));
    assert!(text(&output.stdout).contains("ended early by signal 2"), "{}", text(&output.stdout));
}

#[test]
fn conform_sets_the_simulated_beside_the_played_and_says_which_differ() {
    let folder = folder();
    let hog = "[[task]]\nname = \"sleepy\"\nloop = 1\nprogram = [ { sleep = \"150ms\" }, { compute = \"20ms\" } ]\n";
    std::fs::write(folder.path().join("x.toml"), format!("duration = \"400ms\"\n{hog}")).expect("a file");
    let words = ["conform", "x.toml", "--runs", "2", "--json", "-"];
    let document: serde_json::Value = serde_json::from_slice(&goodness(folder.path(), &words).stdout).expect("JSON");
    let task = &document["tasks"][0];
    assert_eq!((document["schema"].as_str(), document["live"].as_bool()), (Some("goodness.conform/1"), Some(false)));
    let share = |side: &str| task["share"][side].as_f64().expect("measured");
    assert!(share("simulated") > 0.0 && share("played") > 0.0, "{task}");
    assert_eq!(task["switches"]["simulated"], 2.0, "to sleep, and to end: {task}");
    assert!(task["latency_p50"]["played"].as_f64().is_some_and(|ns| ns > 0.0), "{task}");
    refused(folder.path(), &["conform", "x.toml", "--live"], &["--policy"]);
}

#[test]
fn conform_refuses_in_one_sentence_what_cannot_run_live() {
    if std::path::Path::new("/sys/kernel/sched_ext").exists() {
        println!("SKIPPED: this kernel has sched_ext");
        return;
    }
    let folder = folder();
    std::fs::write(folder.path().join("x.toml"), FILE).expect("a file");
    refused(folder.path(), &["conform", "x.toml", "-p", "rr", "--live"], &["live"]);
    refused(folder.path(), &["live", "status"], &["no policy runs live", "goodness live rr"]);
}

#[test]
fn the_process_of_a_live_run_wants_a_message_of_its_own_version() {
    refused(folder().path(), &["live", "daemon"], &["sent no options", "goodness conform --live"]);
    let call = format!("echo '{{\"version\":7,\"message\":{{}}}}' | {} live daemon", env!("CARGO_BIN_EXE_goodness"));
    let output = Command::new("sh").args(["-c", &call]).output().expect("sh runs");
    assert_eq!(output.status.code(), Some(2));
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).expect("a message");
    let sentence = answer["message"]["Failed"]["sentence"].as_str().expect("an error");
    assert!(sentence.contains("version 7 of the messages and this one version 1"), "{sentence}");
    assert!(text(&output.stderr).contains(sentence), "{}", text(&output.stderr));
}
