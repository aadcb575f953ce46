//! `why` tells by which rule a task was placed on the CPU where it waits, and the rule agrees with the run.

use goodness::why::{Explained, Question, why_simulated};
use goodness::{Contender, OpenOptions, PolicySpec, open, unwatched};
use goodness_report::why::Why;

/// Four CPUs with two caches. A hog on each CPU of `hogs`; the victim begins on CPU 0.
fn why(hogs: &[u32], victim: &str) -> Why {
    let hog = |cpu: &u32| {
        format!("[[task]]\nname = \"hog-{cpu}\"\naffinity = [{cpu}]\nprogram = [ {{ compute = \"1s\" }} ]\n")
    };
    let hogs: String = hogs.iter().map(hog).collect();
    let text = format!(
        "duration = \"1s\"\nmachine = \"cpus=4,cache=2,hz=250\"\n{hogs}\
         [[task]]\nname = \"victim\"\n{victim}\n"
    );
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("placed.toml");
    std::fs::write(&path, &text).expect("a file");
    let path = path.to_str().expect("a plain path");
    let work = open(path, &OpenOptions::default(), &unwatched).unwrap_or_else(|why| panic!("{why}\n{text}"));
    let contender = Contender::policy(PolicySpec::parse("eevdf").expect("a policy"));
    let judge = ["victim".to_string()];
    let run = Explained { work: &work, contender: &contender, seed: 1, replication: 0, judge: &judge };
    let question = Question { checks: 0, ..Question::default() };
    why_simulated(run, &question, &unwatched).unwrap_or_else(|why| panic!("{why}"))
}

/// The rules of placement in the chains, of waits that began with a wake-up.
fn placed(why: &Why) -> Vec<(&str, &str)> {
    let woken = why.worst.iter().filter(|it| it.began == "woken");
    woken
        .flat_map(|it| &it.chain)
        .filter_map(|link| Some((link.placed.as_ref()?.name.as_str(), link.cause.as_str())))
        .collect()
}

#[test]
fn a() {
    for hogs in [&[0u32, 1][..], &[0, 1, 2, 3], &[0]] {
        for more in ["", "affinity = [0]\n"] {
            let why = why(hogs, &format!("{more}program = [ {{ sleep = \"7ms\" }}, {{ compute = \"5ms\" }} ]"));
            println!("{hogs:?} {more} {:?} {:?}", placed(&why), why.worst.first());
        }
    }
}
