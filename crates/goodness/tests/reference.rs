//! The pages of `docs/reference` are written from the lists that the program itself uses, and are current.
//!
//! `BLESS=1 cargo test -p goodness --test reference` writes them.

use goodness_core::{Layer, Tunable};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// One entry of a list.
struct Entry {
    name: String,
    summary: String,
    /// Facts beyond the summary: name and value.
    facts: Vec<(&'static str, String)>,
    tunables: Vec<Tunable>,
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
            entries: policies(),
        },
        Page {
            file: "elevators.md",
            title: "Elevators",
            first: "Every I/O scheduler that `--elevator NAME[:key=value,…]` knows, with its tunables.",
            command: "goodness list elevators [NAME]",
            entries: elevators(),
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
            entries: devices(),
        },
        Page {
            file: "workloads.md",
            title: "Workloads",
            first: "Every built-in workload that `compare` and `run` take by name, with its parameters.",
            command: "goodness list workloads [NAME]",
            entries: workloads(),
        },
        Page {
            file: "metrics.md",
            title: "Metrics",
            first: "Every measure of a report: its unit, and which direction is better.",
            command: "goodness list metrics [NAME]",
            entries: metrics(),
        },
        Page {
            file: "formats.md",
            title: "Trace formats",
            first: "Every trace that can be replayed, and the command that makes one.",
            command: "goodness list formats [NAME]",
            entries: formats(),
        },
        Page {
            file: "machines.md",
            title: "Machines",
            first: "Every machine that `--machine NAME` knows. A file, or `key=value,…`, describes another one.",
            command: "goodness list machines [NAME]",
            entries: machines(),
        },
    ]
}

/// `folder/name.md`, as a link from `docs/reference`.
fn page_of(folder: &str, name: &str) -> (&'static str, String) {
    ("page", format!("[sources, departures, weakness](../{folder}/{name}.md)"))
}

fn policies() -> Vec<Entry> {
    let entry = |about: &&goodness_core::About| Entry {
        name: about.name.into(),
        summary: about.summary.into(),
        facts: vec![("source", about.source.into()), page_of("policies", about.name)],
        tunables: goodness_policies::entry(about.name).map_or(Vec::new(), |entry| (entry.tunables)().to_vec()),
    };
    goodness_policies::ALL.iter().map(entry).collect()
}

fn elevators() -> Vec<Entry> {
    let layer = |layer| if layer == Layer::Legacy { "the old single queue" } else { "blk-mq" };
    let entry = |about: &&goodness_core::ElevatorAbout| Entry {
        name: about.name.into(),
        summary: about.summary.into(),
        facts: vec![
            ("layer", layer(about.layer).into()),
            ("source", about.source.into()),
            page_of("elevators", about.name),
        ],
        tunables: goodness_elevators::entry(about.name).map_or(Vec::new(), |entry| (entry.tunables)().to_vec()),
    };
    goodness_elevators::ALL.iter().map(entry).collect()
}

fn devices() -> Vec<Entry> {
    let entry = |kind: &goodness_device::DeviceKind| Entry {
        name: kind.name.into(),
        summary: kind.summary.into(),
        facts: vec![("source", kind.source.into())],
        tunables: (kind.tunables)().to_vec(),
    };
    goodness_device::DEVICES.iter().map(entry).collect()
}

fn workloads() -> Vec<Entry> {
    let entry = |model: &goodness_work::models::Model| Entry {
        name: model.name.into(),
        summary: model.summary.into(),
        facts: vec![("source", model.source.into())],
        tunables: (model.tunables)().to_vec(),
    };
    goodness_work::models::WORKLOADS.iter().map(entry).collect()
}

fn metrics() -> Vec<Entry> {
    let entry = |metric: &goodness_observe::About| Entry {
        name: metric.name.into(),
        summary: metric.summary.into(),
        facts: vec![("unit", metric.unit.into()), ("better", format!("{:?}", metric.better).to_lowercase())],
        tunables: Vec::new(),
    };
    goodness_observe::METRICS.iter().map(entry).collect()
}

fn formats() -> Vec<Entry> {
    let entry = |name: &str, summary: &str, how: &str| Entry {
        name: name.into(),
        summary: summary.into(),
        facts: vec![("how to make one", how.into())],
        tunables: Vec::new(),
    };
    let cpu = goodness_trace::FORMATS.iter().map(|f| entry(f.name, f.summary, f.how_to_record));
    let block = goodness_trace::block::BLOCK_FORMATS.iter().map(|f| entry(f.name, f.summary, f.how_to_record));
    cpu.chain(block).collect()
}

fn machines() -> Vec<Entry> {
    let entry = |preset: &goodness_work::machine::Preset| Entry {
        name: preset.name.into(),
        summary: preset.summary.into(),
        facts: vec![("definition", format!("`{}`", preset.text)), ("source", preset.source.into())],
        tunables: Vec::new(),
    };
    goodness_work::machine::PRESETS.iter().map(entry).collect()
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
    text.replace('|', "\\|").replace('\n', " ")
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
        if self.tunables.is_empty() {
            return;
        }
        put("| tunable | default | range | meaning |\n|---|---|---|---|".into());
        for t in &self.tunables {
            put(format!("| `{}` | `{}` | {} | {} |", t.name, cell(&t.default), cell(&t.range), cell(t.doc)));
        }
        put(String::new());
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
    let known: Vec<&str> = pages().iter().map(|page| page.file).collect();
    for file in std::fs::read_dir(folder()).expect("docs/reference can be read") {
        let name = file.expect("an entry of docs/reference").file_name();
        assert!(known.contains(&name.to_string_lossy().as_ref()), "{name:?} is written by nobody");
    }
}

#[test]
fn a_page_shows_names_facts_and_tunables() {
    let tunable = Tunable {
        name: "slice",
        doc: "Length of a turn.",
        kind: "span",
        unit: "ns",
        default: "3ms".into(),
        range: "a | b".into(),
    };
    let entry = Entry {
        name: "rr".into(),
        summary: "Round robin.".into(),
        facts: vec![("source", "a book".into()), ("layer", String::new())],
        tunables: vec![tunable],
    };
    let page = Page { file: "x.md", title: "X", first: "First.", command: "list", entries: vec![entry] };
    let text = page.text();
    assert!(text.contains("## rr\n\nRound robin.\n\n- source: a book\n\n| tunable |"), "{text}");
    assert!(text.ends_with("| `slice` | `3ms` | a \\| b | Length of a turn. |\n"), "{text}");
}
