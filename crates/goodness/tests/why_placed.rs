//! `why` tells by which rule a task was placed on the CPU where it waits, and the rule agrees with the run.

use goodness::why::{Explained, Question, why_simulated};
use goodness::{Contender, OpenOptions, PolicySpec, open, unwatched};
use goodness_observe::blame::Of;
use goodness_report::why::{Latency, Why};

/// Four CPUs with two caches, and a hog on each of those listed. The victim sleeps and computes.
fn why(hogs: &[u32], victim: &str) -> Why {
    let hog = |cpu: &u32| {
        format!("[[task]]\nname = \"hog-{cpu}\"\naffinity = [{cpu}]\nprogram = [ {{ compute = \"1s\" }} ]\n")
    };
    let hogs: String = hogs.iter().map(hog).collect();
    let text = format!(
        "duration = \"1s\"\nmachine = \"cpus=4,cache=2,hz=250\"\n{hogs}\
         [[task]]\nname = \"victim\"\n{victim}program = [ {{ sleep = \"7ms\" }}, {{ compute = \"5ms\" }} ]\n"
    );
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("placed.toml");
    std::fs::write(&path, &text).expect("a file");
    let path = path.to_str().expect("a plain path");
    let work = open(path, &OpenOptions::default(), &unwatched).unwrap_or_else(|why| panic!("{why}\n{text}"));
    let contender = Contender::policy(PolicySpec::parse("eevdf").expect("a policy"));
    let judge = ["victim".to_string()];
    let run = Explained { work: &work, contender: &contender, seed: 1, replication: 0, judge: &judge };
    let question = Question { checks: 0, of: Some(Of::All), worst: 1_000, ..Question::default() };
    why_simulated(run, &question, &unwatched).unwrap_or_else(|why| panic!("{why}"))
}

/// Hogs that keep all four CPUs busy to the end.
const BUSY: [u32; 4] = [0, 1, 2, 3];

/// The rules of placement in the chains, in order of time.
fn placed(why: &Why) -> Vec<&str> {
    let mut latencies: Vec<&Latency> = why.worst.iter().collect();
    latencies.sort_by_key(|it| it.at_ns);
    let links = latencies.into_iter().flat_map(|it| &it.chain);
    links.filter_map(|link| Some(link.placed.as_ref()?.name.as_str())).collect()
}

#[test]
fn a_task_that_waits_beside_busy_cpus_is_told_that_none_idled_in_its_cache() {
    // A batch task does not preempt, so it waits after each wake-up.
    let why = why(&BUSY, "class = \"batch\"\n");
    let placed = placed(&why);
    assert_eq!(placed[0], "none_idle", "it was created beside four hogs: {placed:?}");
    assert!(placed.len() > 5 && placed[1..].iter().all(|it| *it == "none_idle_near"), "{placed:?}");
}

#[test]
fn a_task_without_a_choice_is_told_so() {
    let why = why(&BUSY, "class = \"batch\"\naffinity = [0]\n");
    let placed = placed(&why);
    assert!(placed.len() > 5 && placed.iter().all(|it| *it == "only_cpu"), "{placed:?}");
}

/// The control: where it never waits, no placement is blamed.
#[test]
fn a_task_that_runs_at_once_has_no_placement_in_its_chains() {
    let why = why(&BUSY[..1], "class = \"batch\"\n");
    assert_eq!(placed(&why), [""; 0], "{:?}", why.worst);
}
