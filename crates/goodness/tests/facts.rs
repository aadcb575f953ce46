//! Tests facts about tasks that a plain trace does not state.

use goodness::{Kind, OpenOptions, Plan, Work, open, open_recording, shipped, unwatched};
use goodness_core::Seed;
use goodness_policies::eevdf::{self, Eevdf};
use goodness_sim::{Options, simulate};
use goodness_trace::{FtraceWriter, TaskLabel};
use std::io::Read;
use std::path::{Path, PathBuf};

const PINNED: &str = "affinity = [0]";

/// Two tasks that compute for about `ms` and may wait for each other, on CPU 0 or where they like, and one that does
/// little.
fn experiment(affinity: &str, ms: u32) -> String {
    let task = |name: &str, compute: &str, sleep: &str, affinity: &str| {
        let program = format!("program = [ {{ compute = \"{compute}\" }}, {{ sleep = \"{sleep}\" }} ]");
        format!("[[task]]\nname = \"{name}\"\n{affinity}\n{program}\n")
    };
    let workers = task("worker-a", &format!("{ms}ms"), "1ms", affinity)
        + &task("worker-b", &format!("{ms}.3ms"), "900us", affinity);
    format!("duration = \"2s\"\nmachine = {{ cpus = 2, hz = 1000 }}\n{workers}{}", task("other", "100us", "9ms", ""))
}

/// A plain trace of that work, in `folder`.
fn trace(folder: &Path, affinity: &str, ms: u32) -> PathBuf {
    let (file, path) = (folder.join("work.toml"), folder.join("trace.txt"));
    std::fs::write(&file, experiment(affinity, ms)).unwrap();
    let Work { source, machine, .. } =
        open(file.to_str().unwrap(), &OpenOptions::default(), &unwatched).unwrap_or_else(|why| panic!("{why}"));
    let work = source.build(Seed(1), 0);
    let label = |name: &String| TaskLabel { name: name.clone(), prio: 120 };
    let labels: Vec<TaskLabel> = work.tasks.iter().map(|task| label(&task.name)).collect();
    let mut writer = FtraceWriter::new(Vec::new(), 2, &labels);
    simulate::<Eevdf>(&machine, eevdf::Settings::default(), work, &mut writer, Options::default()).unwrap();
    std::fs::write(&path, writer.finish().unwrap()).unwrap();
    path
}

fn told(facts: &[&str]) -> OpenOptions {
    OpenOptions { fact: facts.iter().map(ToString::to_string).collect(), ..OpenOptions::default() }
}

/// Migrations in the trace and in its replay with `facts`.
fn migrations(path: &Path, facts: &[&str]) -> (f64, f64) {
    held(path, facts, "migrations")
}

/// `metric` of the trace and of its replay with `facts`.
fn held(path: &Path, facts: &[&str], metric: &str) -> (f64, f64) {
    let work = open_recording(path.to_str().unwrap(), &told(facts), &unwatched).unwrap_or_else(|why| panic!("{why}"));
    let runs = Plan::of(&work, Vec::new()).run(&unwatched).unwrap();
    let fidelity = runs.fidelity.expect("a recording");
    let metric = fidelity.metrics.iter().find(|it| it.name == metric).expect("it is compared");
    (metric.recorded.unwrap(), metric.replayed.unwrap())
}

#[test]
fn pinned_tasks_migrate_in_a_replay_until_a_fact_says_they_were_pinned() {
    let folder = tempfile::tempdir().unwrap();
    let pinned = trace(folder.path(), PINNED, 1);
    let (recorded, free) = migrations(&pinned, &[]);
    assert!(recorded <= 1.0 && free > 50.0, "{recorded} recorded, {free} replayed");
    for facts in
        [&["worker*.affinity=0"][..], &["worker-a.affinity=0 worker-b.affinity=0"], &["1.affinity=0", "2.affinity=0"]]
    {
        let (recorded, replayed) = migrations(&pinned, facts);
        assert!((replayed - recorded).abs() <= 1.0, "{facts:?}: {recorded} recorded, {replayed} replayed");
    }
    let (_, of_both) = migrations(&pinned, &["worker*.affinity=0-1"]);
    assert!(of_both > 50.0, "a wrong fact is no cure: {of_both}");
}

#[test]
fn requests_of_a_pinned_server_and_its_client_take_as_long_as_recorded_once_facts_pin_both() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("plain.txt");
    let mut text = String::new();
    shipped::open("apache-ab-c32-1cpu", &unwatched).unwrap().read_to_string(&mut text).unwrap();
    let plain = text.lines().filter(|line| !line.starts_with("# goodness:"));
    std::fs::write(&path, plain.map(|line| format!("{line}\n")).collect::<String>()).unwrap();
    let error = |facts: &[&str]| {
        let (recorded, replayed) = held(&path, facts, "request_latency_p99");
        (replayed / recorded - 1.0).abs()
    };
    let (without, with) = (error(&[]), error(&["ab.affinity=1", "apache*.affinity=1"]));
    assert!(without > 0.4 && with < 0.2, "{without} without facts, {with} with them");
}

#[test]
fn a_note_names_tasks_that_are_taken_as_pinned_until_a_fact_says_more() {
    let folder = tempfile::tempdir().unwrap();
    let note = |affinity, facts: &[&str]| {
        let path = trace(folder.path(), affinity, 20);
        let work = open(path.to_str().unwrap(), &told(facts), &unwatched).unwrap_or_else(|why| panic!("{why}"));
        work.details.warnings.into_iter().find(|note| note.starts_with("taken as pinned"))
    };
    let found = note(PINNED, &[]).expect("they waited beside an idle CPU");
    assert!(found.contains("idle CPUs: worker-a, worker-b; a fact such as worker-a.affinity=0-1"), "{found}");
    let rest = note(PINNED, &["worker-a.affinity=0-1"]).expect("the other has no fact");
    assert!(rest.contains("idle CPUs: worker-b;"), "{rest}");
    assert_eq!(note(PINNED, &["worker*.affinity=0"]), None);
    assert_eq!(note("", &[]), None, "who ran everywhere is not pinned");
}

#[test]
fn a_fact_that_cannot_be_is_refused_with_the_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let free = trace(folder.path(), "", 1);
    let free = free.to_str().unwrap();
    for (input, fact, expected) in [
        (free, "worker-a.affinity=0", "on CPU 1; name every CPU"),
        (free, "worker-a.nice=5", "worker-a 1 with nice 0; leave it out"),
        (free, "worker-a.class=fifo:3", "with nice 0"),
        (free, "workr-a.affinity=0", "the nearest is \"worker-a\""),
        (free, "worker-a.afinity=0", "affinity"),
        (free, "cpus=4", "it names no task"),
        (free, "eevdf", "it names no task"),
        (free, " ", "is empty; write"),
        (free, "other.class=idle other.class=batch", "other.class=idle is a fact, too; leave one out"),
        ("apache-ab-c4-1cpu", "ab.affinity=0", "itself states the attributes of ab"),
        ("mixed", "hog.affinity=0", "a built-in workload; leave it out"),
    ] {
        let refusal = open(input, &told(&[fact]), &unwatched).err().expect(fact);
        let said = refusal.to_string();
        assert_eq!((refusal.kind, refusal.option), (Kind::Usage, Some("fact")), "{said}");
        assert!(said.starts_with("fact ") && said.contains(expected), "{said}");
    }
    let lost = folder.path().join("lost.txt");
    let text = std::fs::read_to_string(free).unwrap().replacen("\n", "\nCPU:1 [LOST 12 EVENTS]\n", 30);
    std::fs::write(&lost, text).unwrap();
    let work = open(lost.to_str().unwrap(), &OpenOptions::default(), &unwatched).unwrap_or_else(|why| panic!("{why}"));
    assert!(work.about.lost_events.is_some_and(|lost| lost >= 12), "lines of the trace tell of losses");
    assert!(open(free, &told(&["worker-a.nice=0 other.class=batch"]), &unwatched).is_ok());
}
