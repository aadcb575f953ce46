//! Races and the doctor, from outside.

use crate::common::{folder, goodness, refused, text};

const TINY: &str = "blocks = 2\nwarmup = 0\noutside_load = \"100%\"\nmeasures = [\"cpu_time\"]\n[load]\nuse \
    = \"spin\"\nwork = 1\n\
                    [[arm]]\nname = \"a\"\n[[arm]]\nname = \"b <i>\"\nnice = 1\n";

#[test]
fn a_race_prints_its_table_and_writes_its_files() {
    let here = folder();
    std::fs::write(here.path().join("tiny.toml"), TINY).unwrap();
    let words = ["race", "tiny.toml", "--json", "a.json", "--html", "a.html", "--seed", "7"];
    let raced = goodness(here.path(), &words);
    let said = text(&raced.stdout);
    assert!(matches!(raced.status.code(), Some(0 | 3)), "{}", text(&raced.stderr));
    assert!(said.contains("seed 7") && said.contains("reference") && said.contains("CPU time (cpu_time)"), "{said}");
    let json = std::fs::read_to_string(here.path().join("a.json")).unwrap();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!((json["schema"].as_str(), json["blocks"].as_u64()), (Some("goodness.race/1"), Some(2)));
    assert_eq!(json["runs"].as_array().map(Vec::len), Some(4));
    let versus = &json["arms"][1]["measures"][0]["vs_reference"];
    assert!(versus["ratio"].is_number() && json["arms"][0]["measures"][0]["vs_reference"].is_null());
    let page = std::fs::read_to_string(here.path().join("a.html")).unwrap();
    assert!(page.contains("b &lt;i&gt;") && !page.contains("<i>") && !page.contains("://"));
    // Two blocks decide nothing; the exit code says so.
    let verdicts = json["arms"][1]["measures"].as_array().unwrap().iter();
    let open = verdicts.filter(|it| it["decides"] == true).any(|it| it["vs_reference"]["verdict"] == "inconclusive");
    assert_eq!(raced.status.code(), Some(if open { 3 } else { 0 }));
}

#[test]
fn the_page_of_a_sweep_draws_its_measures_and_folds_what_is_not_judged() {
    let here = folder();
    let sweep = TINY.replace("use = \"spin\"\nwork = 1", "use = \"yield\"\nduration = \"60ms\"\nsweep = \"2 3 4\"");
    std::fs::write(here.path().join("sweep.toml"), sweep.replace("cpu_time", "yield_time_4")).unwrap();
    let raced = goodness(here.path(), &["race", "sweep.toml", "--html", "a.html"]);
    assert!(matches!(raced.status.code(), Some(0 | 3)), "{}", text(&raced.stderr));
    let page = std::fs::read_to_string(here.path().join("a.html")).unwrap();
    let mut charts = page.split("<figure class=\"wide\">").map(|part| part.split("</svg>").next().unwrap_or_default());
    let chart = charts.find(|part| part.contains("class=\"title\">yield time<")).expect("a chart");
    assert_eq!(chart.matches("<circle").count(), 2 * (3 + 1), "three points and a name for each arm");
    let (before, folded) = page.split_once("measures beside these, not judged</summary>").expect("folded");
    assert!(before.contains(">yield time 4</h2>") && folded.contains("(yield_time_2) (not judged)</caption>"));
}

#[test]
fn a_dry_run_tells_order_and_changes_and_does_nothing() {
    let here = folder();
    std::fs::write(here.path().join("tiny.toml"), TINY).unwrap();
    let dry = goodness(here.path(), &["race", "tiny.toml", "--dry-run"]);
    let said = text(&dry.stdout);
    assert_eq!(dry.status.code(), Some(0), "{}", text(&dry.stderr));
    assert!(said.contains("nice 1") && said.contains("block 0: ") && said.contains("Nothing was done"), "{said}");
    assert_eq!(std::fs::read_dir(here.path()).unwrap().count(), 1);
}

#[test]
fn what_is_no_race_is_refused_with_the_nearest() {
    let here = folder();
    refused(here.path(), &["race", "spin-nise"], &["\"spin-nise\"", "the nearest is \"spin-nice\""]);
    std::fs::write(here.path().join("bad.toml"), TINY.replace("nice = 1", "nicer = 1")).unwrap();
    refused(here.path(), &["race", "bad.toml"], &["bad.toml:12: ", "the nearest is \"nice\""]);
    let disk = TINY.replace("nice = 1", "elevator = { use = \"bfq\", device = \"nodisk\" }");
    std::fs::write(here.path().join("disk.toml"), disk).unwrap();
    refused(here.path(), &["race", "disk.toml"], &["arm \"b <i>\"", "nodisk", "lsblk"]);
}

#[test]
fn shipped_races_are_listed() {
    let listed = goodness(folder().path(), &["race", "list"]);
    assert!(text(&listed.stdout).contains("spin-nice") && listed.status.success());
}

#[test]
fn the_doctor_says_what_works_and_what_to_do_about_the_rest() {
    let told = goodness(folder().path(), &["doctor", "--json"]);
    let json: serde_json::Value = serde_json::from_slice(&told.stdout).unwrap();
    let findings = json["findings"].as_array().unwrap();
    for name in ["root", "tracefs", "cgroups", "sched_ext", "ublk", "loop devices and elevators", "apache2"] {
        let finding = findings.iter().find(|it| it["name"] == name).unwrap_or_else(|| panic!("{name}: {json}"));
        let key = if finding["works"] == true { "found" } else { "remedy" };
        assert!(finding[key].as_str().is_some_and(|what| !what.is_empty()), "{finding}");
    }
    let left = json["left"].as_array().unwrap().len();
    assert_eq!(told.status.code(), Some(i32::from(left > 0)));
}

#[test]
fn a_result_replaces_neither_its_input_nor_another_result() {
    let here = folder();
    std::fs::write(here.path().join("tiny.toml"), TINY).unwrap();
    for words in [&["race", "tiny.toml"][..], &["play", "tiny.toml"], &["conform", "tiny.toml"]] {
        refused(here.path(), &[words, &["--json", "tiny.toml"]].concat(), &["tiny.toml", "also the input"]);
    }
    refused(here.path(), &["race", "tiny.toml", "--html", "-"], &["only --json goes to standard output"]);
    refused(here.path(), &["race", "tiny.toml", "--json", "x", "--html", "x"], &["x cannot be written", "also --json"]);
    assert_eq!(std::fs::read_to_string(here.path().join("tiny.toml")).unwrap(), TINY);
    assert_eq!(std::fs::read_dir(here.path()).unwrap().count(), 1);
}

/// Runs the program as user nobody with the home folder `home`; `None` if impossible.
fn as_nobody(home: &str, words: &[&str]) -> Option<std::process::Output> {
    use std::os::unix::process::CommandExt;
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_goodness"));
    command.args(words).env("HOME", home).env_remove("XDG_STATE_HOME").current_dir("/").uid(65534).gid(65534);
    command.stdin(std::process::Stdio::null()).output().ok()
}

#[test]
fn a_plain_user_is_told_before_anything_starts_what_a_race_lacks() {
    for (race, parts) in [
        ("dbload", &["needs root", "is not installed"][..]),
        ("ezolt", &["needs root", "is not installed"]),
        ("spin-nice", &["restore journal", "XDG_STATE_HOME"]),
    ] {
        let Some(output) = as_nobody("/nonexistent", &["race", race]) else {
            println!("SKIPPED: the program cannot be run as nobody here");
            return;
        };
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{race}: {said}");
        assert!(said.lines().count() == 1 && parts.iter().any(|part| said.contains(part)), "{race}: {said}");
    }
}

#[test]
fn commands_that_meet_the_kernel_say_what_their_exit_codes_mean() {
    for command in ["conform", "doctor", "elevate", "live", "play", "race", "record"] {
        let help = text(&goodness(folder().path(), &[command, "--help"]).stdout);
        assert!(help.contains("Examples:") && help.contains("Exit codes: "), "{command}:\n{help}");
    }
}
