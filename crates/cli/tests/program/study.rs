//! Studies on the command line: output, files and errors.

use crate::common::{folder, goodness, refused, text};
use serde_json::Value;

#[test]
fn a_study_gives_rows_with_verdicts_the_same_bytes_each_time_and_a_page_that_loads_nothing() {
    let here = folder();
    let conduct = || goodness(here.path(), &["study", "travis-1998", "--quick", "--json", "-", "--html", "t.html"]);
    let (first, second) = (conduct(), conduct());
    assert_eq!(first.status.code(), Some(0), "{}", text(&first.stderr));
    assert_eq!(first.stdout, second.stdout, "same seed, same bytes");
    let study: Value = serde_json::from_slice(&first.stdout).expect("nothing but JSON goes to standard output");
    assert_eq!((study["schema"].as_str(), study["study"].as_str()), (Some("goodness.study/1"), Some("travis-1998")));
    let rows = study["rows"].as_array().expect("rows");
    let verdicts = ["reproduced", "direction", "not_reproduced", "unpublished"];
    assert!(rows.len() > 40 && rows.iter().all(|r| verdicts.contains(&r["verdict"].as_str().unwrap_or(""))));
    assert!(rows.iter().all(|row| row["note"].as_str().is_some_and(|note| note.ends_with('.'))));
    let page = std::fs::read_to_string(here.path().join("t.html")).unwrap();
    assert!(page.contains("<svg") && !page.contains("<script") && !page.contains("http://"));
}

#[test]
fn parameters_that_verdicts_hang_on_are_searched_unless_asked_not_to() {
    let here = folder();
    let full = goodness(here.path(), &["study", "appleton-1999", "--runs", "2", "--json", "-", "--html", "a.html"]);
    let study: Value = serde_json::from_slice(&full.stdout).expect("JSON");
    assert!(study["sensitivity"]["points"].as_u64().is_some_and(|points| points > 8), "{}", study["sensitivity"]);
    assert!(std::fs::read_to_string(here.path().join("a.html")).unwrap().contains("What the verdicts hang on"));
}

#[test]
fn what_cannot_be_conducted_or_written_is_refused_before_any_work() {
    let here = folder();
    refused(here.path(), &["study", "travis-1989"], &["nearest is \"travis-1998\"", "goodness study list"]);
    refused(here.path(), &["study", "all", "--html", "missing"], &["missing", "cannot be written", "no folder"]);
    refused(here.path(), &["study", "all", "--json", "missing/x.json"], &["missing/x.json", "cannot be written"]);
    assert_eq!(std::fs::read_dir(here.path()).unwrap().count(), 0, "nothing was written");
}

#[test]
fn the_list_names_all_nine() {
    let list = goodness(folder().path(), &["list", "studies", "--json"]);
    let studies: Value = serde_json::from_slice(&list.stdout).expect("JSON");
    assert_eq!(studies.as_array().map(Vec::len), Some(9));
}

#[test]
fn a_study_of_ones_own_gives_the_same_table_json_and_page_from_a_folder_as_from_its_file() {
    let here = folder();
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/06-a-textbook-table");
    let from_folder = goodness(here.path(), &["study", example, "--json", "-", "--html", "t.html"]);
    assert_eq!(from_folder.status.code(), Some(0), "{}", text(&from_folder.stderr));
    let study: Value = serde_json::from_slice(&from_folder.stdout).expect("JSON");
    let rows = study["rows"].as_array().expect("rows");
    assert_eq!((study["schema"].as_str(), rows.len()), (Some("goodness.study/1"), 4));
    assert!(rows.iter().all(|row| row["verdict"] == "reproduced"), "{rows:#?}");
    assert_eq!((study["study"].as_str(), &study["sensitivity"]), (Some("06-a-textbook-table"), &Value::Null));
    let page = std::fs::read_to_string(here.path().join("t.html")).unwrap();
    assert!(page.contains(&format!("goodness study {example} --runs 2")), "the page says how to make it again");
    let file = format!("{example}/published.toml");
    let from_file = goodness(here.path(), &["study", &file, "--json", "-"]);
    let again: Value = serde_json::from_slice(&from_file.stdout).expect("JSON");
    assert_eq!((&again["rows"], &again["study"]), (&study["rows"], &study["study"]));
    let shown = goodness(here.path(), &["study", example]);
    assert!(text(&shown.stdout).contains("5.66 ms of waiting"));
    assert!(here.path().join("goodness-study-06-a-textbook-table.html").is_file());
}

#[test]
fn a_study_of_ones_own_that_is_wrong_is_refused_with_file_and_line() {
    let here = folder();
    std::fs::write(here.path().join("mine.toml"), "question = \"?\"\nsource = 3\n").unwrap();
    refused(here.path(), &["study", "mine.toml"], &["mine.toml, line 2"]);
    refused(here.path(), &["study", "missing.toml"], &["missing.toml", "cannot be read"]);
    refused(here.path(), &["study", "."], &["published.toml", "cannot be read"]);
    assert_eq!(std::fs::read_dir(here.path()).unwrap().count(), 1, "nothing was written");
}
