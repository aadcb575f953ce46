//! `goodness compare --suite` and `--each`: unlike inputs ranked together, and lists that describe files.

use crate::common::{folder, goodness, refused, text};
use serde_json::Value;

fn said(words: &[&str]) -> String {
    let output = goodness(folder().path(), words);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    text(&output.stdout)
}

#[test]
fn unlike_inputs_are_ranked_by_the_geometric_mean_of_their_ratios() {
    let words = ["compare", "mixed:duration=1s", "schbench:duration=1s", "--each", "-p", "eevdf", "-p", "eevdf"];
    let result: Value = serde_json::from_str(&said(&[&words[..], &["-p", "cfs", "--runs", "3", "--json"]].concat()))
        .expect("one JSON document");
    assert_eq!(result["schema"], "goodness.suite/1");
    let [reference, twin, cfs] = [0, 1, 2].map(|arm| &result["arms"][arm]);
    assert_eq!((&reference["is_reference"], &twin["overall"]["verdict"]), (&Value::from(true), &Value::from("same")));
    let ratio = |cost: &Value| cost["ratio"].as_f64().expect("a ratio");
    let mean = (ratio(&cfs["on"][0]) * ratio(&cfs["on"][1])).sqrt();
    assert!((ratio(&cfs["overall"]) - mean).abs() < 1e-9, "{cfs}");
    for input in [0, 1] {
        let own = &result["reports"][input]["policies"][2]["metrics"];
        let metric = result["inputs"][input]["metric"].as_str().expect("a metric");
        assert_eq!(own[metric]["vs_reference"]["ratio"], cfs["on"][input]["ratio"], "{metric}");
    }
}

#[test]
fn a_suite_has_a_page_and_a_table_of_its_costs() {
    let here = folder();
    let words = ["compare", "mixed:duration=300ms", "schbench:duration=300ms", "--each", "-p", "eevdf", "-p", "cfs"];
    let files = ["--runs", "2", "--html", "s.html", "--csv", "s.csv"];
    let output = goodness(here.path(), &[&words[..], &files].concat());
    let said = text(&output.stdout);
    assert!(said.ends_with("wrote s.html\nwrote s.csv\n"), "{said}{}", text(&output.stderr));
    let read = |name: &str| std::fs::read_to_string(here.path().join(name)).expect(name);
    assert!(
        read("s.csv").starts_with("suite,arm,reference,input,metric,") && read("s.csv").lines().count() == 1 + 2 * 3
    );
    assert!(read("s.html").contains("Costs, least first") && !read("s.html").contains("<script"));
}

#[test]
fn a_suite_fits_the_screen_and_an_unknown_one_is_refused() {
    let printed = said(&["compare", "--suite", "interactive", "--runs", "2"]);
    assert!(printed.lines().count() <= 23 && printed.lines().all(|line| line.chars().count() <= 80), "{printed}");
    assert!(printed.contains("A mixed: p99 wake-up latency"), "{printed}");
    assert!(!printed.contains("inconclusiv\n"), "{printed}");
    let disk = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/05-disk.toml");
    let unlike = ["compare", "mixed:duration=100ms", disk, "--each", "-p", "eevdf", "-p", "cfs", "--runs", "2"];
    refused(folder().path(), &unlike, &["have other arms", "one by one"]);
    refused(folder().path(), &["compare", "--suite", "sever"], &["there is no suite \"sever\"", "\"server\""]);
}

#[test]
fn lists_tell_the_suites_and_the_keys_of_experiment_files() {
    assert!(said(&["list", "suites", "server"]).contains("apache-ab-c32-1cpu, mariadb-sysbench-16"));
    let keys = said(&["list", "experiment", "task"]);
    assert!(keys.contains("rt_priority") && keys.contains("affinity = [0, 1]"), "{keys}");
    assert!(keys.lines().all(|line| line.chars().count() <= 80), "{keys}");
}
