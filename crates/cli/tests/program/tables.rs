//! Results that leave the program: tables of every run, figures for print, citations.

use crate::common::{folder, goodness, refused, text};
use serde_json::Value;
use std::fs;

const COMPARE: [&str; 8] = ["compare", "mixed:duration=300ms", "-p", "eevdf", "-p", "rr", "--runs", "3"];

#[test]
fn csv_has_each_value_that_json_has() {
    let here = folder();
    let output = goodness(here.path(), &[&COMPARE[..], &["--no-html", "--json", "a.json", "--csv", "a.csv"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let csv = fs::read_to_string(here.path().join("a.csv")).unwrap();
    let report: Value = serde_json::from_slice(&fs::read(here.path().join("a.json")).unwrap()).unwrap();
    let mut expected = Vec::new();
    for runs in report["runs"].as_array().unwrap() {
        for (metric, values) in runs["values"].as_object().unwrap() {
            for (run, value) in values.as_array().unwrap().iter().enumerate() {
                let value = value.as_f64().map(|it| it.to_string()).unwrap_or_default();
                expected.push((runs["policy"].as_str().unwrap().to_string(), metric.clone(), run.to_string(), value));
            }
        }
    }
    let rows = csv.lines().skip(1).map(|line| {
        // The settings are quoted, because they contain commas; other fields hold neither.
        let (before, after) = line.split_once('"').map_or((line, ""), |(before, rest)| (before, rest));
        let after = after.rsplit_once('"').map_or(before.splitn(4, ',').nth(3).unwrap_or_default(), |it| &it.1[1..]);
        let fields: Vec<&str> = after.split(',').collect();
        let arm = before.split(',').nth(1).unwrap().to_string();
        (arm, fields[3].to_string(), fields[2].to_string(), fields[5].to_string())
    });
    let rows: Vec<_> = rows.collect();
    assert!(rows.len() > 100, "{} rows", rows.len());
    assert_eq!(rows, expected);
}

/// Files carry the model's error that the terminal says.
#[test]
fn values_on_several_cpus_carry_the_models_error_and_others_none() {
    let errors = |cpus: &str| {
        let here = folder();
        let work = ["compare", "mixed:duration=200ms", "--machine", &format!("cpus={cpus},hz=250")];
        let options = ["-p", "eevdf", "-p", "rr", "--runs", "2", "--no-html", "--json", "a.json", "--csv", "a.csv"];
        let output = goodness(here.path(), &[&work[..], &options[..]].concat());
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let csv = fs::read_to_string(here.path().join("a.csv")).unwrap();
        let report: Value = serde_json::from_slice(&fs::read(here.path().join("a.json")).unwrap()).unwrap();
        let of = [("eevdf", "context_switches"), ("eevdf", "slice_length_mean"), ("rr", "context_switches")];
        of.map(|(arm, metric)| {
            let is_meant = |line: &&str| line.contains(&format!(",{arm},")) && line.contains(&format!(",{metric},"));
            let of_rows: Vec<&str> = csv.lines().filter(is_meant).map(|row| row.rsplit(',').next().unwrap()).collect();
            assert_eq!(of_rows.len(), 2, "{arm} {metric}");
            let of_report = &report["policies"].as_array().unwrap().iter().find(|it| it["name"] == arm).unwrap();
            let of_report = of_report["metrics"][metric]["error_factor"].as_f64();
            let written = of_report.map(|it| it.to_string()).unwrap_or_default();
            assert!(of_rows.iter().all(|row| *row == written), "{of_rows:?} {written}");
            of_report
        })
    };
    let [measured, not_compared, other] = errors("2");
    assert!(measured.is_some_and(|factor| factor > 1.0), "{measured:?}");
    assert_eq!([not_compared, other], [None, None]);
    assert_eq!(errors("1"), [None; 3]);
}

#[test]
fn figures_are_vectors_and_a_citation_names_the_command() {
    let here = folder();
    let output = goodness(here.path(), &[&COMPARE[..], &["--no-html", "--figures", "figures", "--cite"]].concat());
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    for name in ["ranking", "distribution", "runs"] {
        let svg = fs::read_to_string(here.path().join(format!("figures/{name}.svg"))).unwrap();
        assert!(svg.contains("eevdf") && svg.contains("<path"), "{svg}");
        assert!(fs::read(here.path().join(format!("figures/{name}.pdf"))).unwrap().starts_with(b"%PDF"));
        assert!(said.contains(&format!("wrote figures/{name}.pdf")), "{said}");
    }
    assert!(said.contains("@software{goodness"), "{said}");
    assert!(said.contains("command  goodness compare mixed:duration=300ms -p eevdf"), "{said}");
}

#[test]
fn a_file_where_a_folder_is_wanted_and_two_outputs_in_one_file_are_refused() {
    let here = folder();
    fs::write(here.path().join("taken"), "").unwrap();
    refused(here.path(), &[&COMPARE[..], &["--figures", "taken"]].concat(), &["--figures taken", "name a folder"]);
    refused(
        here.path(),
        &[&COMPARE[..], &["--csv", "a", "--json", "a"]].concat(),
        &["a cannot be written", "also --json"],
    );
    refused(here.path(), &[&COMPARE[..], &["--csv", "-"]].concat(), &["--csv -", "only --json"]);
}

#[test]
#[cfg(not(feature = "tables"))]
fn a_format_that_is_not_in_this_build_is_refused_with_the_way_to_build_it() {
    let here = folder();
    refused(here.path(), &[&COMPARE[..], &["--parquet", "a.parquet"]].concat(), &["--parquet", "--features tables"]);
    refused(here.path(), &[&COMPARE[..], &["--arrow", "a.arrow"]].concat(), &["--arrow", "--features tables"]);
}

#[test]
#[cfg(feature = "tables")]
fn parquet_and_arrow_files_begin_as_they_must() {
    let here = folder();
    let files = ["--no-html", "--parquet", "a.parquet", "--arrow", "a.arrow"];
    let output = goodness(here.path(), &[&COMPARE[..], &files].concat());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(fs::read(here.path().join("a.parquet")).unwrap().starts_with(b"PAR1"));
    assert!(fs::read(here.path().join("a.arrow")).unwrap().starts_with(b"ARROW1"));
}

#[test]
fn verifications_and_studies_are_tables_too() {
    let here = folder();
    let verified = goodness(here.path(), &["verify", "apache-ab-c4-1cpu", "--csv", "v.csv"]);
    assert_eq!(verified.status.code(), Some(0), "{}", text(&verified.stderr));
    let csv = fs::read_to_string(here.path().join("v.csv")).unwrap();
    assert!(csv.starts_with("input,policy,metric,unit,recorded,replayed,error,bound\napache-ab-c4-1cpu,"), "{csv}");
    let study =
        ["study", "travis-1998", "--quick", "--runs", "2", "--html", "s.html", "--csv", "s.csv", "--json", "s.json"];
    let conducted = goodness(here.path(), &study);
    assert_eq!(conducted.status.code(), Some(0), "{}", text(&conducted.stderr));
    let document: Value = serde_json::from_slice(&fs::read(here.path().join("s.json")).unwrap()).unwrap();
    let csv = fs::read_to_string(here.path().join("s.csv")).unwrap();
    assert_eq!(csv.lines().count() - 1, document["rows"].as_array().unwrap().len(), "{csv}");
    assert!(csv.lines().skip(1).all(|line| line.starts_with("travis-1998,1,2,")), "{csv}");
    refused(here.path(), &["verify", "apache-ab-c4-1cpu", "--csv", "no/such/v.csv"], &["no/such"]);
}

/// The lines below the header of a table, and whether the header is as expected.
#[cfg(feature = "live")]
fn rows(file: &std::path::Path, header: &str) -> Vec<String> {
    let csv = fs::read_to_string(file).unwrap();
    let mut lines = csv.lines().map(str::to_string);
    assert_eq!(lines.next().as_deref(), Some(header), "{csv}");
    lines.collect()
}

#[cfg(feature = "live")]
const OF_TASKS: &str = "input,arm,settings,machine,seed,run,task,id,metric,unit,value";

/// The last field of the row that has all of `parts`.
#[cfg(feature = "live")]
fn value(rows: &[String], parts: &[&str]) -> Option<f64> {
    let row = rows.iter().find(|row| parts.iter().all(|part| row.contains(part)));
    row.unwrap_or_else(|| panic!("no row has {parts:?}: {rows:?}")).rsplit(',').next()?.parse().ok()
}

#[test]
#[cfg(feature = "live")]
fn plays_are_tables_of_each_tasks_values() {
    let here = folder();
    let task = "[[task]]\nname = \"blinker\"\nprogram = [ { compute = \"1ms\" }, { sleep = \"4ms\" } ]\n";
    fs::write(here.path().join("x.toml"), format!("duration = \"200ms\"\n{task}")).unwrap();
    let played = goodness(here.path(), &["play", "x.toml", "--json", "-", "--csv", "p.csv", "--arm", "blinker.nice=1"]);
    assert_eq!(played.status.code(), Some(0), "{}", text(&played.stderr));
    let document: Value = serde_json::from_slice(&played.stdout).unwrap();
    let table = rows(&here.path().join("p.csv"), OF_TASKS);
    let task = &document["played"]["tasks"][0];
    assert_eq!(value(&table, &["x.toml,", "blinker.nice=1,", ",blinker,1,cpu_time,ns,"]), task["cpu_time_ns"].as_f64());
    assert_eq!(value(&table, &[",wakeups,count,"]), task["wakeups"].as_f64());
    let words = ["conform", "x.toml", "--runs", "2", "--json", "-", "--csv", "c.csv"];
    let document: Value = serde_json::from_slice(&goodness(here.path(), &words).stdout).unwrap();
    let table = rows(&here.path().join("c.csv"), OF_TASKS);
    let share = |parts: &[&str]| value(&table, &[parts, &[",blinker,1,cpu_share,share,"]].concat()).unwrap();
    let simulated = (share(&["x.toml,simulated,", ",1,0,"]) + share(&["x.toml,simulated,", ",1,1,"])) / 2.0;
    let expected = &document["tasks"][0]["share"];
    assert!((simulated - expected["simulated"].as_f64().unwrap()).abs() < 1e-12, "{simulated}: {expected}");
    assert_eq!(Some(share(&["x.toml,played,"])), expected["played"].as_f64());
    refused(here.path(), &["play", "x.toml", "--csv", "x.toml"], &["x.toml cannot be written", "the input"]);
}

#[test]
#[cfg(feature = "live")]
fn measurements_of_this_machine_are_tables() {
    let here = folder();
    let bench =
        ["bench", "-p", "rr:timeslice=7ms", "--tasks", "10", "--budget", "1ms", "--decisions", "2000", "--json"];
    let benched = goodness(here.path(), &[&bench[..], &["--csv", "b.csv"]].concat());
    let document: Value = serde_json::from_slice(&benched.stdout).expect("JSON alone");
    let table = rows(&here.path().join("b.csv"), "arm,settings,tasks,cpus,waiting,metric,unit,value");
    assert_eq!(value(&table, &["rr,timeslice=7ms,10,1,,decision,ns,"]), document[0]["decision_ns"].as_f64());
    let arms = "[[arm]]\nname = \"a\"\n[[arm]]\nname = \"b\"\nnice = 1\n";
    let load = "blocks = 2\nwarmup = 1\noutside_load = \"100%\"\nmeasures = [\"cpu_time\"]\n[load]\nuse = \"spin\"\n";
    fs::write(here.path().join("r.toml"), format!("{load}work = 1\n{arms}")).unwrap();
    let raced = goodness(here.path(), &["race", "r.toml", "--json", "r.json", "--csv", "r.csv"]);
    assert!(text(&raced.stdout).contains("wrote r.csv"), "{}", text(&raced.stderr));
    let document: Value = serde_json::from_slice(&fs::read(here.path().join("r.json")).unwrap()).unwrap();
    let table = rows(&here.path().join("r.csv"), "input,arm,settings,machine,seed,run,metric,unit,value");
    let first = &document["arms"][1]["measures"].as_array().unwrap().iter().find(|it| it["name"] == "cpu_time");
    assert_eq!(value(&table, &[",b,", ",1,cpu_time,"]), first.unwrap()["values"][0].as_f64(), "block 0 is warm-up");
    assert_eq!(table.iter().filter(|row| row.contains(",cpu_time,")).count(), 2 * 2, "arms and blocks");
    assert_eq!(table.iter().filter(|row| row.contains(",run_time,")).count(), 2 * 3, "with warm-up");
    let calibrated = goodness(here.path(), &["calibrate", "--json", "-", "--csv", "k.csv"]);
    let document: Value = serde_json::from_slice(&calibrated.stdout).expect("JSON alone");
    let table = rows(&here.path().join("k.csv"), "machine,metric,unit,value,low,high,samples");
    assert_eq!(table.len(), document["costs"].as_array().unwrap().len());
}

#[test]
#[cfg(feature = "tables")]
fn a_sweep_is_one_table_of_the_cells_that_are_defined_and_of_no_others() {
    let here = folder();
    let put = |hogs: &str| {
        let space = format!("arms = [\"rr\", \"cfs\"]\n[space]\nhogs = {hogs}\n");
        let input = "metric = \"wakeup_latency_p99\"\nruns = 2\ninputs = [\"mixed:duration=20ms,hogs={hogs}\"]\n";
        fs::write(here.path().join("s.toml"), format!("{input}{space}")).unwrap();
    };
    let rows = |words: &[&str]| {
        let swept = goodness(here.path(), &[&["sweep", "s.toml", "--csv", "s.csv"], words].concat());
        assert_eq!(swept.status.code(), Some(0), "{}", text(&swept.stderr));
        let csv = fs::read_to_string(here.path().join("s.csv")).unwrap();
        assert!(csv.starts_with("cell,input,arm,settings,machine,seed,run,metric,unit,value\n"), "{csv}");
        csv.lines().filter(|line| line.contains(",context_switches,")).count()
    };
    put("[1, 2, 3]");
    assert_eq!(rows(&["--arrow", "s.arrow"]), 3 * 2 * 2);
    assert!(fs::read(here.path().join("s.arrow")).unwrap().starts_with(b"ARROW1"));
    put("[2]");
    assert_eq!(rows(&[]), 2 * 2, "cells of the larger space are in the folder and not in the table");
}
