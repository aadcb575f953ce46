//! The reference is true: each key is read and changes the work, each default is what leaving it out means, and any
//! other key is refused.

use super::super::Experiment;
use super::*;
use goodness_core::Class;

/// The surroundings of a section: text before it, what it needs, its separator, and text behind it.
struct Frame {
    before: &'static str,
    needs: &'static [&'static str],
    between: &'static str,
    after: &'static str,
}

const fn frame(
    before: &'static str,
    needs: &'static [&'static str],
    between: &'static str,
    after: &'static str,
) -> Frame {
    Frame { before, needs, between, after }
}

const TABLES: &str = r#"
[[group]]
name = "site"
[[group]]
name = "web"
[[disk]]
name = "sda"
device = "null"
[[disk]]
name = "sdb"
device = "null"
[[file]]
name = "log"
volume = "sda"
size = "256KiB"
[[lock]]
name = "mmap"
kind = "rwsem"
[[task]]
program = [ { compute = "1ms" }, { lock = "m" }, { unlock = "m" } ]
"#;

fn frame_of(section: &str) -> Frame {
    match section {
        "experiment" => frame("", &[r#"duration = "10s""#], "\n", TABLES),
        "task" => frame("[[task]]\n", &[r#"program = [ { compute = "1ms" } ]"#], "\n", ""),
        "step" => frame("[[task]]\nprogram = [ { compute = \"1ms\" }, { ", &[], ", ", " } ]"),
        "access" => frame(
            "[[task]]\nprogram = [ { ",
            &[r#"read = "sda""#, r#"size = "64KiB""#],
            ", ",
            " }, { compute = \"1ms\" } ]",
        ),
        "outside" => frame("[[outside]]\n", &[r#"program = [ { sleep = "1ms" } ]"#], "\n", ""),
        "reservation" => frame(
            "[[task]]\nprogram = [ { compute = \"1ms\" } ]\nclass = \"deadline\"\nreservation = { ",
            &[r#"runtime = "2ms""#, r#"period = "10ms""#],
            ", ",
            " }",
        ),
        "group" => frame("[[group]]\n", &[r#"name = "db2""#], "\n", ""),
        "lock" => frame("[[lock]]\n", &[r#"name = "m2""#], "\n", ""),
        "fault" => frame("[[fault]]\n", &[r#"kind = "stolen""#, r#"at = "1s""#, r#"for = "10ms""#], "\n", ""),
        "workload" => frame("[[workload]]\n", &[r#"use = "mixed""#], "\n", ""),
        "disk" => frame("[[disk]]\n", &[r#"name = "sdc""#, r#"device = "null""#], "\n", ""),
        "volume" => {
            let needs = &[r#"name = "v""#, r#"pieces = [ { disk = "sda" }, { disk = "sdb" } ]"#];
            frame("[[volume]]\n", needs, "\n", "")
        }
        "piece" => frame("[[volume]]\nname = \"v\"\npieces = [ { ", &[r#"disk = "sda""#], ", ", " } ]"),
        "file" => {
            let needs = &[r#"name = "f""#, r#"volume = "sda""#, r#"size = "512KiB""#];
            frame("[[file]]\n", needs, "\n", "")
        }
        "machine" => frame("machine = { ", &[], ", ", " }"),
        other => panic!("section {other} has no frame: write one"),
    }
}

/// True if `line` sets `key`.
fn sets(line: &str, key: &str) -> bool {
    line.split('=').next().is_some_and(|it| it.trim() == key)
}

/// A file in which `section` has these lines beside those it needs. Files have equal numbers of lines, since work
/// remembers where it was written.
fn file(section: &str, lines: &[String]) -> String {
    let Frame { before, needs, between, after } = frame_of(section);
    let given = |need: &&&str| !lines.iter().any(|line| sets(line, need.split(" =").next().unwrap_or_default()));
    // A step reads or writes.
    let writes = lines.iter().any(|line| sets(line, "write"));
    let needs = needs.iter().filter(given).filter(|need| !(section == "access" && writes && sets(need, "read")));
    let body: Vec<&str> = needs.copied().chain(lines.iter().map(String::as_str)).collect();
    let body = if section == "step" && body.is_empty() { r#"compute = "1ms""#.into() } else { body.join(between) };
    let text = format!("{before}{body}{after}");
    let text = match section {
        "experiment" => text,
        "machine" => format!("duration = \"10s\"\n{text}\n{TABLES}"),
        _ => format!("duration = \"10s\"\n{TABLES}\n{text}\n"),
    };
    if section == "experiment" {
        let head = text.lines().take_while(|line| *line != TABLES.trim().lines().next().unwrap_or_default()).count();
        return format!("{}{text}", "\n".repeat(20 - head));
    }
    text
}

fn read(section: &str, lines: &[String]) -> Result<String, String> {
    Experiment::read("x.toml", &file(section, lines)).map(|it| format!("{it:?}"))
}

/// Lines of the example of `key`, without the one that sets it.
fn companions(key: &Key) -> Vec<String> {
    key.example.lines().filter(|line| !sets(line, key.name)).map(String::from).collect()
}

fn all() -> impl Iterator<Item = (&'static Section, &'static Key)> {
    SECTIONS.iter().flat_map(|section| section.keys.iter().map(move |key| (section, key)))
}

#[test]
fn each_documented_key_is_read_and_changes_the_work() {
    for (section, key) in all() {
        let what = format!("{}.{}", section.name, key.name);
        let example: Vec<String> = key.example.lines().map(String::from).collect();
        let with = read(section.name, &example).unwrap_or_else(|why| panic!("{what}: {why}"));
        // The lines of a table are no companions, a step needs its verb, and some companions need the key.
        let alone = key.example.starts_with("[[") || section.name == "step";
        let without = if alone { Vec::new() } else { companions(key) };
        let without = read(section.name, &without).or_else(|_| read(section.name, &[]));
        let without = without.unwrap_or_else(|why| panic!("without {what}: {why}"));
        assert_ne!(with, without, "{what} says nothing");
    }
}

#[test]
fn each_documented_default_is_what_leaving_the_key_out_means() {
    let mut checked = 0;
    for (section, key) in all() {
        let line = format!("{} = {}", key.name, key.default);
        if toml::from_str::<toml::Table>(&line).is_err() {
            continue;
        }
        let without = companions(key);
        let with: Vec<String> = without.iter().cloned().chain([line.clone()]).collect();
        assert_eq!(read(section.name, &with), read(section.name, &without), "{}: {line}", section.name);
        checked += 1;
    }
    assert!(checked > 30, "{checked}: hardly any default is written as a value");
}

#[test]
fn an_undocumented_key_is_refused_and_the_nearest_named() {
    for (section, key) in all() {
        let lines = vec![format!("{}x = 1", key.name)];
        let why = read(section.name, &lines).expect_err(&format!("{}: {lines:?} is read", section.name));
        let near = format!("the nearest is \"{}\"", key.name);
        // A built-in workload has parameters of its own, none of which is near.
        let listed = if section.name == "workload" { "there is no tunable \"usex\"; there are:" } else { &near };
        assert!(why.contains(listed), "{}: {why}", section.name);
    }
}

#[test]
fn the_reference_lists_every_class() {
    let kind = TASK.iter().find(|key| key.name == "class").map_or("", |key| key.kind);
    for name in Class::ALL.map(Class::name) {
        assert!(kind.contains(name), "class {name} is missing in \"{kind}\"");
    }
    assert_eq!(kind.split([',', ' ']).filter(|it| !it.is_empty() && *it != "or").count(), Class::ALL.len());
}
