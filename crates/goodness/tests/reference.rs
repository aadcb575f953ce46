//! The pages of `docs/reference` are written from the lists that the program itself uses, and are current.
//!
//! `BLESS=1 cargo test -p goodness --test reference` writes them.

use goodness::catalogue;
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// One entry of a list.
struct Entry {
    name: String,
    summary: String,
    /// Facts beyond the summary: name and value.
    facts: Vec<(&'static str, String)>,
    /// Objects of the catalogue: `name`, `default`, `range` and `doc`.
    tunables: Vec<Value>,
    /// Objects of the catalogue: `name`, `type`, `default`, `doc` and `example`.
    keys: Vec<Value>,
}

/// A page: file, title, contents, and the command that prints the same list.
struct Page {
    file: &'static str,
    title: &'static str,
    first: &'static str,
    command: &'static str,
    entries: Vec<Entry>,
}

fn pages() -> Vec<Page> {
    let mut pages = schedulers();
    pages.extend(inputs());
    pages
}

/// Pages of what is compared: policies and elevators.
fn schedulers() -> Vec<Page> {
    vec![
        Page {
            file: "policies.md",
            title: "CPU policies",
            first: "Every CPU scheduler that `-p NAME[:key=value,…]` knows, with its tunables.",
            command: "goodness list policies [NAME]",
            entries: entries(&catalogue::policies(), Some("policies")),
        },
        Page {
            file: "elevators.md",
            title: "Elevators",
            first: "Every I/O scheduler that `--elevator NAME[:key=value,…]` knows, with its tunables.",
            command: "goodness list elevators [NAME]",
            entries: entries(&catalogue::elevators(), Some("elevators")),
        },
    ]
}

/// Pages of the inputs and metrics of a comparison.
fn inputs() -> Vec<Page> {
    vec![
        Page {
            file: "devices.md",
            title: "Devices",
            first: "Every model of a disk that an experiment can name, with its settings.",
            command: "goodness list devices [NAME]",
            entries: entries(&catalogue::devices(), None),
        },
        Page {
            file: "workloads.md",
            title: "Workloads",
            first: "Every built-in workload that `compare` and `run` take by name, with its parameters.",
            command: "goodness list workloads [NAME]",
            entries: entries(&catalogue::workloads(), None),
        },
        Page {
            file: "metrics.md",
            title: "Metrics",
            first: "Every measure of a report: its unit, and which direction is better.",
            command: "goodness list metrics [NAME]",
            entries: entries(&catalogue::metrics(), None),
        },
        Page {
            file: "formats.md",
            title: "Trace formats",
            first: "Every trace that can be replayed, and the command that makes one.",
            command: "goodness list formats [NAME]",
            entries: entries(&catalogue::formats(), None),
        },
        Page {
            file: "machines.md",
            title: "Machines",
            first: "Every machine that `--machine NAME` knows. A file, or `key=value,…`, describes another one.",
            command: "goodness list machines [NAME]",
            entries: entries(&catalogue::machines(), None),
        },
        Page {
            file: "experiment.md",
            title: "The experiment file",
            first: "Every key of an experiment file (TOML), with its default. Any other key is an error. \
                    `examples/` has files to copy.\n\
                    In an example, `;` stands for a new line.",
            command: "goodness list experiment [SECTION]",
            entries: entries(&catalogue::experiment(), None),
        },
    ]
}

/// `folder/name.md`, as a link from `docs/reference`.
fn page_of(folder: &str, name: &str) -> (&'static str, String) {
    ("page", format!("[sources, departures, weakness](../{folder}/{name}.md)"))
}

/// Facts of an entry of the catalogue: the key, and the name on the page.
const FACTS: [(&str, &str); 7] = [
    ("layer", "layer"),
    ("definition", "definition"),
    ("source", "source"),
    ("unit", "unit"),
    ("better", "better"),
    ("how", "how to make one"),
    ("written", "written"),
];

/// Entries of a list of the catalogue. Those of policies and elevators have a page in `folder`.
fn entries(list: &[Value], folder: Option<&str>) -> Vec<Entry> {
    list.iter().map(|value| entry(value, folder)).collect()
}

fn entry(value: &Value, folder: Option<&str>) -> Entry {
    let word = |value: &Value| value.as_str().unwrap_or_default().to_string();
    let name = word(&value["name"]);
    let fact = |(key, called): &(&str, &'static str)| {
        let text = value[*key].as_str()?;
        Some((*called, if ["definition", "written"].contains(key) { format!("`{text}`") } else { text.into() }))
    };
    let mut facts: Vec<(&str, String)> = FACTS.iter().filter_map(fact).collect();
    facts.extend(folder.map(|folder| page_of(folder, &name)));
    let tunables = value["tunables"].as_array().cloned().unwrap_or_default();
    let keys = value["keys"].as_array().cloned().unwrap_or_default();
    Entry { name, summary: word(&value["summary"]), facts, tunables, keys }
}

/// Wraps `text` at 120 columns. All lines but the first start with `indent`.
fn wrapped(text: &str, indent: &str) -> String {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("there is always a line");
        let room = line.chars().count() + 1 + word.chars().count() <= 120;
        match line.is_empty() {
            true => line.push_str(word),
            false if room => line.push_str(&format!(" {word}")),
            false => lines.push(format!("{indent}{word}")),
        }
    }
    lines.join("\n")
}

/// Text for a cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', "; ")
}

impl Page {
    fn text(&self) -> String {
        let Page { title, first, command, .. } = self;
        let mut out = format!(
            "# {title}\n\n{first}\n\n```sh\n{command}\n```\n\nThis page is written from the list that the command \
             prints (`BLESS=1 cargo test -p goodness --test reference`).\n\n"
        );
        self.entries.iter().for_each(|entry| entry.write(&mut out));
        out.truncate(out.trim_end().len());
        out + "\n"
    }
}

impl Entry {
    fn write(&self, out: &mut String) {
        let mut put = |line: String| writeln!(out, "{line}").expect("a string takes any text");
        put(format!("## {}\n\n{}\n", self.name, wrapped(&self.summary, "")));
        let facts = self.facts.iter().filter(|(_, fact)| !fact.is_empty());
        for (what, fact) in facts.clone() {
            put(wrapped(&format!("- {what}: {fact}"), "  "));
        }
        if facts.count() > 0 {
            put(String::new());
        }
        if !self.tunables.is_empty() {
            put("| tunable | default | range | meaning |\n|---|---|---|---|".into());
        }
        for tunable in &self.tunables {
            let [name, default, range, doc] =
                ["name", "default", "range", "doc"].map(|key| cell(tunable[key].as_str().unwrap_or_default()));
            put(format!("| `{name}` | `{default}` | {range} | {doc} |"));
        }
        if !self.keys.is_empty() {
            put("| key | value | default | meaning | example |\n|---|---|---|---|---|".into());
        }
        for key in &self.keys {
            let [name, kind, default, doc, example] = ["name", "type", "default", "doc", "example"]
                .map(|field| cell(key[field].as_str().unwrap_or_default()));
            put(format!("| `{name}` | {kind} | {default} | {doc} | `{example}` |"));
        }
        if !self.tunables.is_empty() || !self.keys.is_empty() {
            put(String::new());
        }
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference")
}

#[test]
fn the_pages_of_reference_are_current() {
    let mut stale = Vec::new();
    for page in pages() {
        let path = folder().join(page.file);
        if std::env::var_os("BLESS").is_some() {
            std::fs::create_dir_all(folder()).expect("docs/reference can be made");
            std::fs::write(&path, page.text()).expect("the page can be written");
        }
        if std::fs::read_to_string(&path).unwrap_or_default() != page.text() {
            stale.push(page.file);
        }
    }
    assert!(stale.is_empty(), "{stale:?} are stale: BLESS=1 cargo test -p goodness --test reference");
}

#[test]
fn docs_reference_holds_no_other_page() {
    // Tables are made by all crates: a test of the command line writes their page.
    let known: Vec<&str> = pages().iter().map(|page| page.file).chain(["tables.md"]).collect();
    for file in std::fs::read_dir(folder()).expect("docs/reference can be read") {
        let name = file.expect("an entry of docs/reference").file_name();
        assert!(known.contains(&name.to_string_lossy().as_ref()), "{name:?} is written by nobody");
    }
}

#[test]
fn a_page_shows_names_facts_and_tunables() {
    let tunable = json!({"name": "slice", "doc": "Length of a turn.", "default": "3ms", "range": "a | b"});
    let entry = Entry {
        name: "rr".into(),
        summary: "Round robin.".into(),
        facts: vec![("source", "a book".into()), ("layer", String::new())],
        tunables: vec![tunable],
        keys: Vec::new(),
    };
    let page = Page { file: "x.md", title: "X", first: "First.", command: "list", entries: vec![entry] };
    let text = page.text();
    assert!(text.contains("## rr\n\nRound robin.\n\n- source: a book\n\n| tunable |"), "{text}");
    assert!(text.ends_with("| `slice` | `3ms` | a \\| b | Length of a turn. |\n"), "{text}");
}
