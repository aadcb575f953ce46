//! Tests whom the answer is about: the caller names the judged tasks of a recording.

use goodness::{Kind, OpenOptions, Others, Plan, ReplayOptions, Work, open, open_recording, shipped, unwatched};
use goodness_core::Seed;
use std::io::Read;

const NAME: &str = "apache-ab-c4-1cpu";

fn judging(patterns: &[&str]) -> OpenOptions {
    OpenOptions { judge: patterns.iter().map(ToString::to_string).collect(), ..OpenOptions::default() }
}

fn work(patterns: &[&str]) -> Work {
    open_recording(NAME, &judging(patterns), &unwatched).unwrap_or_else(|refusal| panic!("{refusal}"))
}

/// Names of the judged tasks in the replay, and the CPU share of them in the recording.
fn judged(work: &Work) -> (Vec<String>, f64) {
    let tasks = work.source.build(Seed(1), 0).tasks.into_iter();
    let names = tasks.filter(|task| task.judged).map(|task| task.name).collect();
    let recorded = &work.recorded.as_ref().expect("a recording").measured;
    (names, recorded.get("cpu_share").value.expect("tasks were judged"))
}

#[test]
fn judging_another_program_changes_the_recorded_and_the_replayed_numbers() {
    let (all, share) = judged(&work(&[]));
    let (clients, of_clients) = judged(&work(&["ab"]));
    let (servers, of_servers) = judged(&work(&["apache*"]));
    assert_eq!(clients, ["ab"]);
    assert!(servers.len() > 1 && servers.iter().all(|name| name == "apache2"), "{servers:?}");
    assert!(of_clients < of_servers && of_servers < share, "{of_clients} {of_servers} {share}");
    let (both, of_both) = judged(&work(&["apache*", "ab"]));
    assert_eq!(both.len(), clients.len() + servers.len());
    assert!((of_both - of_clients - of_servers).abs() < 1e-9, "{of_both}");
    assert!(all.len() >= both.len());
    let note = &work(&["ab"]).details.workload_notes[0];
    assert!(note.starts_with("1 of "), "{note}");
}

#[test]
fn an_id_means_a_thread_or_a_whole_process() {
    let source = work(&[]).source;
    let tasks = source.build(Seed(1), 0).tasks;
    let number = (0..).map(goodness_core::TaskId).zip(&tasks).find(|(_, task)| task.name == "ab").expect("ab ran").0;
    let id = source.id_of(number).to_string();
    assert_eq!(judged(&work(&[&id])), judged(&work(&["ab"])));
}

/// Threads 4 and 5 of the process 4, called `db`, and task 7, each in a cgroup.
const GROUPED: &str = r#"# tracer: nop
# goodness: {"recording":{"version":1,"tool":"test","members":[7]}}
# goodness: {"task":{"pid":4,"tgid":4,"comm":"db","role":"other","cgroup":"/system.slice/db.service"}}
# goodness: {"task":{"pid":5,"tgid":4,"comm":"writer","role":"other","cgroup":"/system.slice/db.service/io"}}
# goodness: {"task":{"pid":7,"tgid":7,"comm":"shell","role":"other","cgroup":"/user.slice"}}
"#;

/// That header, and switches between the three tasks.
fn grouped() -> String {
    let names = ["swapper/0", "db", "writer", "shell", "db"];
    let switch = |at: usize| {
        let pid = |name| match name {
            "db" => 4,
            "writer" => 5,
            "shell" => 7,
            _ => 0,
        };
        let (prev, next) = (names[at], names[at + 1]);
        let (from, to) = (pid(prev), pid(next));
        format!(
            "{prev}-{from} [000] d..2. 1.00{at}: sched_switch: prev_comm={prev} prev_pid={from} prev_prio=120 \
             prev_state=R ==> next_comm={next} next_pid={to} next_prio=120\n"
        )
    };
    GROUPED.to_string() + &(0..4).map(switch).collect::<String>()
}

#[test]
fn a_process_or_a_cgroup_means_all_its_tasks() {
    let file = tempfile::NamedTempFile::new().expect("a scratch file");
    std::fs::write(file.path(), grouped()).expect("a scratch file");
    let path = file.path().to_str().expect("text");
    for (patterns, expected) in [
        (&[][..], &["shell"][..]),
        (&["4"], &["db", "writer"]),
        (&["5"], &["writer"]),
        (&["db"], &["db", "writer"]),
        (&["writer"], &["writer"]),
        (&["/system.slice"], &["db", "writer"]),
        (&["/system.slice/db.*/io"], &["writer"]),
        (&["/"], &["db", "writer", "shell"]),
        (&["/user.slice", "writer"], &["writer", "shell"]),
    ] {
        let work = open(path, &judging(patterns), &unwatched).unwrap_or_else(|refusal| panic!("{refusal}"));
        assert_eq!(judged(&work).0, expected, "{patterns:?}");
    }
    for (pattern, nearest) in [("/system", "/system.slice/db.service"), ("/user.slice/x", "/user.slice")] {
        let said = open(path, &judging(&[pattern]), &unwatched).err().expect("no task is there").to_string();
        assert!(said.contains("in that cgroup") && said.contains(nearest), "{said}");
    }
}

#[test]
fn others_are_left_out_where_they_are_not_judged() {
    let replay = ReplayOptions { others: Others::LeftOut, ..ReplayOptions::default() };
    let alone = open(NAME, &OpenOptions { replay, ..judging(&["ab"]) }, &unwatched).unwrap();
    let tasks = alone.source.build(Seed(1), 0).tasks;
    assert_eq!(tasks.iter().map(|task| task.name.as_str()).collect::<Vec<_>>(), ["ab"]);
    let fidelity = |work: &Work, runs: u32| {
        let base = work.recorded.as_ref().expect("a recording").contender();
        let runs = Plan { runs, ..Plan::of(work, vec![base]) }.run(&unwatched).expect("it runs");
        runs.fidelity.expect("a recording's plan states its error")
    };
    let whole = open(NAME, &judging(&["ab"]), &unwatched).unwrap();
    assert_eq!(fidelity(&alone, 1), fidelity(&whole, 1), "the replay with the others is compared with the recording");
}

#[test]
fn judging_nobody_is_refused_with_the_nearest_name() {
    let foreign = tempfile::NamedTempFile::new().expect("a scratch file");
    std::fs::write(foreign.path(), without_header(NAME)).expect("a scratch file");
    let foreign = foreign.path().to_str().expect("text");
    for (input, pattern, expected) in [
        (NAME, "apach2", "the nearest is \"apache2\""),
        (NAME, "9999999", "no thread or process of"),
        (NAME, "/no/such/group", "cgroup"),
        (foreign, "/system.slice", "states no cgroups; name tasks or their ids instead"),
        ("mixed", "hog", "no task of mixed has that name"),
    ] {
        let refusal = open(input, &judging(&["ab", pattern]), &unwatched).err().expect("nobody is meant");
        let said = refusal.to_string();
        assert_eq!((refusal.kind, refusal.option), (Kind::Usage, Some("judge")), "{said}");
        assert!(said.starts_with("judge ") && said.contains(expected), "{said}");
    }
    let named = judged(&open(foreign, &judging(&["ab"]), &unwatched).unwrap());
    assert_eq!(named, judged(&work(&["ab"])), "without a header, names say as much");
}

/// A shipped recording, as a plain trace.
fn without_header(name: &str) -> String {
    let mut text = String::new();
    shipped::open(name, &unwatched).expect("it is shipped").read_to_string(&mut text).expect("it is text");
    text.lines().filter(|line| !line.starts_with("# goodness:")).map(|line| format!("{line}\n")).collect()
}

#[test]
fn an_experiment_is_judged_by_the_named_tasks_alone() {
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/01-hogs-and-a-blinker.toml");
    let names = |patterns: &[&str]| {
        let work = open(example, &judging(patterns), &unwatched).unwrap_or_else(|refusal| panic!("{refusal}"));
        let tasks = work.source.build(Seed(1), 0).tasks.into_iter();
        tasks.filter(|task| task.judged).map(|task| task.name).collect::<Vec<String>>()
    };
    let all = names(&[]);
    let blinkers = names(&["blinker*"]);
    assert!(all.len() > blinkers.len() && !blinkers.is_empty(), "{all:?}, {blinkers:?}");
    assert!(blinkers.iter().all(|name| name.starts_with("blinker")), "{blinkers:?}");
    assert_eq!(names(&["1"]), all[..1], "the first task by its number");
    let refusal = open(example, &judging(&["blinkr"]), &unwatched).err().expect("nobody has that name");
    assert_eq!((refusal.kind, refusal.option), (Kind::Usage, Some("judge")));
    assert!(refusal.to_string().contains("blinker"), "the nearest name: {refusal}");
}

#[test]
fn a_built_in_workload_is_judged_by_the_named_tasks_alone() {
    for workload in ["mixed", "dbload"] {
        let names = |patterns: &[&str]| {
            let work = open(workload, &judging(patterns), &unwatched).unwrap_or_else(|refusal| panic!("{refusal}"));
            let tasks = work.source.build(Seed(1), 0).tasks.into_iter();
            tasks.filter(|task| task.judged).map(|task| task.name).collect::<Vec<String>>()
        };
        let all = names(&[]);
        let first = all[0].as_str();
        let alike = all.iter().filter(|name| *name == first).count();
        assert_eq!(names(&[first]), vec![first; alike], "of {workload}");
        assert!(alike < all.len(), "the control, all are judged: {all:?}");
        let refusal = open(workload, &judging(&["nobody-at-all"]), &unwatched).err().expect("nobody has that name");
        assert_eq!((refusal.kind, refusal.option), (Kind::Usage, Some("judge")));
    }
}
