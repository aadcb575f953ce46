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
