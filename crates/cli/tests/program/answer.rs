//! How much is printed, and where pages and JSON go.

use crate::common::{folder, goodness, refused, text};
use serde_json::Value;

/// What stands on a screen of 24 lines and 80 columns, its prompt aside.
#[test]
fn the_answer_fits_on_a_screen_and_the_rest_is_told_on_request() {
    let here = folder();
    let words = ["compare", "apache-ab-c4-1cpu", "--runs", "2"];
    let of = |more: &[&str]| text(&goodness(here.path(), &[&words[..], more].concat()).stdout);
    let answer = of(&[]);
    let lines: Vec<&str> = answer.lines().collect();
    assert!(lines.len() <= 23 && lines.iter().all(|it| it.chars().count() <= 80), "{answer}");
    assert_eq!(lines.last(), Some(&"wrote goodness-compare-apache-ab-c4-1cpu.html"), "paths come last: {answer}");
    assert!(
        answer.contains("(request_latency_p99)") && answer.replace('\n', " ").contains("replay error, "),
        "{answer}"
    );
    let ranking = of(&["-q"]);
    assert!(ranking.starts_with("Ranking by ") && answer.contains(ranking.trim_end()), "{ranking}");
    let all = of(&["-v", "--no-html"]);
    assert!(all.contains("Fidelity of the replay") && all.contains("reproduce: "), "{all}");
    assert!(!answer.contains("Fidelity of the replay"), "that is for -v");
}

#[test]
fn a_single_run_in_short_has_no_more_figures_than_its_answer_and_no_hints() {
    let here = folder();
    let of = |more: &[&str]| text(&goodness(here.path(), &[&["run", "mixed:duration=1s"], more].concat()).stdout);
    let (answer, short) = (of(&[]), of(&["-q"]));
    assert!(answer.contains(short.trim_end()) && short.starts_with("eevdf: "), "{short}");
    assert!(short.contains("observations") && !short.contains("--timehist"), "{short}");
    assert!(answer.contains("--timehist") && !of(&["-v"]).contains("for each"), "there is one policy: {answer}");
    assert!(of(&["-q", "--timehist", "3"]).contains("history, first 3 of"), "what was asked for");
    let replay = text(&goodness(here.path(), &["run", "apache-ab-c4-1cpu"]).stdout);
    assert!(replay.contains("1 replay of this one recording, seed 1"), "{replay}");
}

#[test]
fn a_page_without_a_name_overwrites_nobody_elses() {
    let here = folder();
    let compare = |seed: &str| {
        let words = ["compare", "mixed:duration=50ms", "-p", "rr", "-p", "fifo", "--runs", "2", "--seed", seed];
        text(&goodness(here.path(), &words).stdout).lines().last().unwrap_or_default().to_string()
    };
    assert_eq!(compare("1"), "wrote goodness-compare-mixed-duration-50ms.html");
    assert_eq!(compare("1"), "wrote goodness-compare-mixed-duration-50ms.html", "the same command, the same page");
    assert_eq!(compare("2"), "wrote goodness-compare-mixed-duration-50ms-2.html");
    std::fs::write(here.path().join("goodness-compare-mixed-duration-50ms.html"), "mine").unwrap();
    assert_eq!(compare("1"), "wrote goodness-compare-mixed-duration-50ms-3.html");
}

#[test]
fn json_goes_to_standard_output_or_to_a_file_but_never_over_a_recording() {
    let here = folder();
    let of = |words: &[&str]| goodness(here.path(), words);
    for words in [&["list", "metrics", "--json"][..], &["verify", "apache-ab-c4-1cpu", "--json"]] {
        serde_json::from_slice::<Value>(&of(words).stdout).expect("only JSON");
    }
    std::fs::write(here.path().join("trace.txt"), "a-1 [000] d..2. 1.0: sched_switch:").unwrap();
    refused(here.path(), &["verify", "--json", "trace.txt"], &["trace.txt exists and is not JSON", "--json=-"]);
    let written = of(&["list", "metrics", "--json", "m.json"]);
    assert!(text(&written.stdout).ends_with("wrote m.json\n"), "{}", text(&written.stdout));
    assert!(of(&["list", "metrics", "--json", "m.json"]).status.success(), "JSON is replaced");
    std::fs::write(here.path().join("my.toml"), "# Mine.\nduration = \"1s\"\n").unwrap();
    for option in ["--html", "--csv", "--perfetto"] {
        let said = format!("{option} my.toml: my.toml exists and is not");
        refused(here.path(), &["run", "mixed:duration=50ms", option, "my.toml"], &[&said]);
        for _ in 0..2 {
            let written = of(&["run", "mixed:duration=50ms", option, "mine"]);
            assert!(written.status.success(), "{option}: its own kind is replaced");
        }
        std::fs::remove_file(here.path().join("mine")).unwrap();
    }
}
