//! The published JSON Schemas, docs/schema, the columns of tables, docs/reference/tables.md, and samples of what only
//! root can make, tests/schema: as the types say. `scripts/make-schemas` writes them.

use goodness::{calibrate, catalogue, conform, play};
use goodness_bench::table::{RequestRow, Row};
use goodness_report::{tables as report, verification, why};
use goodness_sched_ext::{Latency, Status, TaskTally};
use goodness_sweep::{Cells, tables as sweeps};
use goodness_table::{Column, Kind, long};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

/// Every document that a command writes. Those without a field `schema` are arrays.
fn documents() -> Vec<(&'static str, Value)> {
    vec![
        of::<Vec<BenchRow>>("goodness.bench/1"),
        of::<calibrate::Document>("goodness.calibrate/1"),
        of::<calibrate::disk::Document>("goodness.calibrate-disk/1"),
        of::<conform::Document>("goodness.conform/1"),
        of::<goodness_report::diff::Diff>("goodness.diff/1"),
        of::<goodness_race::examination::Document>("goodness.doctor/1"),
        of::<goodness_ublk::Document>("goodness.elevate/1"),
        of::<Vec<goodness_ublk::Listed>>("goodness.elevate-list/1"),
        of::<Vec<catalogue::Entry>>("goodness.list/1"),
        of::<goodness_sched_ext::Document>("goodness.live/1"),
        of::<play::Document>("goodness.play/1"),
        of::<goodness_race::prediction::Document>("goodness.race/1"),
        of::<goodness_report::Report>("goodness.report/1"),
        of::<goodness_study::Document>("goodness.study/1"),
        of::<goodness_report::suite::Suite>("goodness.suite/1"),
        of::<goodness_trace::Summary>("goodness.summary/1"),
        of::<goodness_sweep::Summary>("goodness.sweep/1"),
        of::<goodness_report::tune::Tuning>("goodness.tune/1"),
        of::<goodness_report::teach::Lesson>("goodness.teach/1"),
        of::<verification::Document>("goodness.verify/1"),
        of::<why::Why>("goodness.why/1"),
    ]
}

/// A row of `goodness bench`, of a policy or of an elevator.
#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "its schema is what counts")]
enum BenchRow {
    Policy(Row),
    Elevator(RequestRow),
}

/// The schema of `T`, published as `name`.
fn of<T: JsonSchema>(name: &'static str) -> (&'static str, Value) {
    let generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let mut schema = serde_json::to_value(generator.into_root_schema_for::<T>()).expect("a schema is JSON");
    schema["title"] = Value::from(name);
    if let Some(field) = schema.pointer_mut("/properties/schema") {
        *field = json!({ "const": name });
    }
    describe(&mut schema);
    (name, schema)
}

/// Makes the descriptions prose: comments of code have links to code.
fn describe(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            if let Some(Value::String(text)) = fields.get_mut("description") {
                *text = prose(text);
            }
            fields.values_mut().for_each(describe);
        }
        Value::Array(parts) => parts.iter_mut().for_each(describe),
        _ => {}
    }
}

/// `text` without the syntax of links to code: a reader of a schema cannot follow them. Links to pages stay.
fn prose(text: &str) -> String {
    let Some((before, rest)) = text.split_once('[') else { return text.to_string() };
    let Some((shown, after)) = rest.split_once(']') else { return text.to_string() };
    let target = after.strip_prefix('(').and_then(|rest| rest.split_once(')'));
    let (middle, rest) = match target {
        Some((page, rest)) if page.contains("://") => (format!("[{shown}]({page})"), rest),
        Some((_, rest)) => (shown.to_string(), rest),
        None if shown.starts_with('`') => (shown.to_string(), after),
        None => (format!("[{shown}]"), after),
    };
    format!("{before}{}{}", middle.replace("`crate::", "`"), prose(rest))
}

/// Documents that cannot be had without root.
fn samples() -> Vec<(&'static str, Value)> {
    let listed = goodness_ublk::Listed {
        number: 0,
        standing: goodness_ublk::Standing::ServerGone,
        server: 812,
        elevator: Some("look".into()),
        backing: None,
        remedy: Some("go on: goodness elevate --recover 0; or remove: goodness elevate stop 0".into()),
    };
    vec![
        ("goodness.live/1", json!(live().document())),
        ("goodness.elevate/1", json!(elevated().document())),
        ("goodness.elevate-list/1", json!([listed])),
    ]
}

/// The status of a live run.
fn live() -> Status {
    let task = TaskTally {
        name: "make".into(),
        pid: 4711,
        process: 4711,
        nice: -5,
        cpu_time_ns: 900,
        turns: 3,
        wakeups: 2,
        is_gone: true,
    };
    Status {
        policy: "rr".into(),
        settings: vec![("timeslice".into(), "20ms".into())],
        daemon: 7,
        daemon_cpu: 0,
        cpus: vec![1, 2],
        elapsed_ns: 3_000,
        decisions: 4,
        events: 5,
        decision_latency: Some(Latency { p50_ns: 40_000, p99_ns: 90_000, max_ns: 1_200_000 }),
        outdated: 0,
        strays: 0,
        tasks: vec![task],
    }
}

/// The statistics of an elevated device.
fn elevated() -> goodness_ublk::Report {
    let measured = goodness_ublk::Latency { p50_ns: Some(2e3), p99_ns: Some(6e3), max_ns: Some(6e3) };
    goodness_ublk::Report {
        device: "/dev/ublkb0".into(),
        elevator: "look".into(),
        backing: "disk.img".into(),
        depth: 16,
        measured_ns: 7_000,
        answered: 3,
        requests: 2,
        merges: 1,
        flushes: 2,
        durable_writes: 1,
        sectors_travelled: 992,
        seek_distance: Some(496.0),
        latency: measured,
        read_latency: measured,
        write_latency: goodness_ublk::Latency::default(),
        adapter_ns: Some(100.0),
        server_cpu_ns: Some(1_000.0),
        probe: Some(goodness_ublk::Probe { reads: 32, direct_ns: 9_000, through_ns: 25_000 }),
        violations: Vec::new(),
    }
}

/// The files of `folder` that are not as `values` say. With `BLESS` in the environment, writes them.
fn stale(folder: &str, values: &[(&str, Value)]) -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder);
    let is_stale = |(name, value): &(&str, Value)| {
        let file = folder.join(format!("{}.json", name.replace('/', "-")));
        let text = serde_json::to_string_pretty(value).expect("a value is written") + "\n";
        if std::env::var_os("BLESS").is_some() {
            std::fs::create_dir_all(&folder).expect("the tree can be written");
            std::fs::write(&file, &text).expect("the tree can be written");
        }
        let is_same = std::fs::read_to_string(&file).is_ok_and(|published| published == text);
        (!is_same).then(|| file.file_name().unwrap_or_default().to_string_lossy().into_owned())
    };
    values.iter().filter_map(is_stale).collect()
}

/// Every table: its schema, who writes it, and its columns.
fn tables() -> Vec<(&'static str, &'static str, &'static [Column])> {
    let no_cells = Cells { all: Vec::new(), hash: String::new() };
    let sweep = goodness_sweep::folder::tables(Path::new("no/such/folder"), &no_cells).expect("no shards");
    let sweep = sweep.flatten().next().expect("a header in any case").columns();
    let study = goodness_study::table(&[]).columns();
    vec![
        ("goodness.predicted-runs/1", "compare, run; Python: `runs`", long::PREDICTED_RUNS),
        ("goodness.runs/1", "race, elevate", long::RUNS),
        ("goodness.task-runs/1", "play, conform, live", long::TASK_RUNS),
        ("goodness.sweep-runs/1", "sweep, and its shards", sweep),
        (
            "goodness.suite-costs/1",
            "compare --suite, --each; Python: `compare_suite(…).costs`",
            goodness_report::suite::COSTS,
        ),
        ("goodness.tune-candidates/1", "tune; Python: `tune(…).candidates`", goodness_report::tune::CANDIDATES),
        ("goodness.bench-values/1", "bench", goodness_bench::long::VALUES),
        ("goodness.costs/1", "calibrate", calibrate::COSTS),
        ("goodness.disk-loads/1", "calibrate --device", calibrate::disk::DISK_LOADS),
        ("goodness.why-links/1", "why; Python: `why(…).segments`", why::tables::LINKS),
        ("goodness.why-latencies/1", "Python: `why(…).latencies`", why::tables::LATENCIES),
        ("goodness.why-causes/1", "Python: `why(…).causes`", why::tables::CAUSES),
        ("goodness.differences/1", "diff", goodness_report::diff::table::DIFFERENCES),
        ("goodness.fidelity/1", "verify; Python: `verify(…).metrics`", report::FIDELITY),
        ("goodness.study-rows/1", "study; Python: `study(…).rows`", study),
        ("goodness.metrics/1", "Python: `metrics` and `ranking`", report::METRICS),
        ("goodness.tasks/1", "Python: `tasks`", report::TASKS),
        ("goodness.requests/1", "Python: `requests`", report::REQUESTS),
        ("goodness.groups/1", "Python: `groups`", report::GROUPS),
        ("goodness.sweep-effects/1", "Python: `sweep(…).effects`", sweeps::EFFECTS),
        ("goodness.sweep-responses/1", "Python: `sweep(…).responses`", sweeps::RESPONSES),
        ("goodness.sweep-places/1", "Python: `sweep(…).places`", sweeps::PLACES),
        ("goodness.distributions/1", "Python: `distributions`", report::DISTRIBUTIONS),
        ("goodness.schedule/1", "Python: `schedule`", report::SCHEDULE),
    ]
}

/// The page of all tables.
fn page() -> String {
    let mut page = String::from(
        "# Tables\n\nColumns of every table that commands write with `--csv`, `--parquet` and `--arrow`, and that \
         Python gives. How to read\nthem: [results as data](../results-as-data.md). Generated \
         (`scripts/make-schemas`).\n",
    );
    for (schema, by, columns) in tables() {
        let _ = write!(page, "\n## {schema}\n\n{by}\n\n| column | kind | meaning |\n|---|---|---|\n");
        for Column { name, kind, about } in columns {
            let kind = match kind {
                Kind::Text => "text",
                Kind::Float => "number",
                Kind::Whole => "whole number",
                Kind::Signed => "whole number with sign",
            };
            let _ = writeln!(page, "| `{name}` | {kind} | {} |", about.replace('|', "\\|"));
        }
    }
    page
}

#[test]
fn the_page_of_tables_has_the_columns_of_each_that_the_program_makes() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let (path, page) = (root.join("docs/reference/tables.md"), page());
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &page).expect("the tree can be written");
    }
    let is_current = std::fs::read_to_string(&path).is_ok_and(|published| published == page);
    assert!(is_current, "docs/reference/tables.md is not what the types say; run: scripts/make-schemas");
    let mut made = Command::new("grep");
    made.args(["-rhoE", "Table::new\\(\"goodness\\.[^\"]*\""]).arg(root.join("crates"));
    let made = made.output().expect("grep runs").stdout;
    let made: BTreeSet<&str> =
        std::str::from_utf8(&made).expect("text").lines().filter_map(|it| it.split('"').nth(1)).collect();
    let told: BTreeSet<&str> = tables().iter().map(|(schema, ..)| *schema).collect();
    let of_tests = BTreeSet::from(["goodness.example/1", "goodness.test/1"]);
    assert_eq!(made.difference(&of_tests).copied().collect::<BTreeSet<_>>(), told);
}

#[test]
fn published_schemas_are_those_of_the_types() {
    let documents = documents();
    let stale = [stale("docs/schema", &documents), stale("tests/schema", &samples())].concat();
    assert!(stale.is_empty(), "{stale:?} are not what the types say; run: scripts/make-schemas");
    for (name, schema) in &documents {
        let is_array = schema["type"] == "array";
        assert!(is_array || schema["properties"]["schema"]["const"] == *name, "{name} does not name itself");
        let text = schema.to_string();
        assert!(!text.contains("](crate::") && !text.contains("[`"), "{name} has links to code: {text}");
    }
}

#[test]
fn a_changed_type_would_be_told_from_what_is_published() {
    let mut documents = documents();
    documents[0].1["title"] = Value::from("planted");
    if std::env::var_os("BLESS").is_none() {
        assert_eq!(stale("docs/schema", &documents[..1]), ["goodness.bench-1.json"]);
    }
}

#[test]
fn descriptions_are_the_same_prose_however_links_to_code_are_written() {
    let plain = "By label (`Report::labels`), of [0, 1].";
    for written in [
        plain,
        "By label ([`Report::labels`]), of [0, 1].",
        "By label ([`Report::labels`](crate::Report::labels)), of [0, 1].",
        "By label ([`crate::Report::labels`]), of [0, 1].",
    ] {
        assert_eq!(prose(written), plain, "{written}");
    }
    assert_eq!(prose("See [the page](https://a.b/c), [open"), "See [the page](https://a.b/c), [open");
}

#[test]
fn a_live_run_is_a_table_of_the_run_and_of_its_tasks() {
    let csv = goodness_table::csv::render(&live().values(3));
    let rows: Vec<&str> = csv.lines().collect();
    assert_eq!(rows.len(), 1 + 8 + 4, "{csv}");
    let has = |start: &str, end: &str| rows.iter().any(|row| row.starts_with(start) && row.ends_with(end));
    assert!(has(",rr,timeslice=20ms,", ",3,0,,,decision_latency_p99,ns,90000"), "{csv}");
    assert!(has(",rr,timeslice=20ms,", ",3,0,make,4711,cpu_share,share,1"), "{csv}");
}
