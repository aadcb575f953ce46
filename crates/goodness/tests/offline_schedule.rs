//! The kept schedule tells when CPUs are offline, and nobody runs on them then; whom that set free is told.

use goodness::{Circumstances, Contender, OpenOptions, Plan, PolicySpec, Runs, Timelines, open, unwatched};
use goodness_report::Timeline;
use goodness_report::model::{Details, Input};

/// Two hogs on two CPUs for half a second under these policies, with two faults of CPU 1.
fn runs(kind: &str, policies: &[&str], of_hogs: &str) -> Runs {
    let text = format!(
        "duration = \"500ms\"\nmachine = \"cpus=2,hz=1000\"\n\
         [[fault]]\nkind = \"{kind}\"\nat = \"100ms\"\nfor = \"200ms\"\ncpu = 1\n\
         [[fault]]\nkind = \"{kind}\"\nat = \"450ms\"\nfor = \"200ms\"\ncpu = 1\n\
         [[task]]\nname = \"hog\"\ncount = 2\n{of_hogs}program = [ {{ compute = \"forever\" }} ]\n"
    );
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("offline.toml");
    std::fs::write(&path, &text).expect("a file");
    let work = open(path.to_str().expect("a plain path"), &OpenOptions::default(), &unwatched);
    let work = work.unwrap_or_else(|why| panic!("{why}\n{text}"));
    let timelines = Timelines { slices: 100_000, ..Timelines::default() };
    let contender = |policy: &&str| Contender::policy(PolicySpec::parse(policy).expect("a policy"));
    let plan = Plan { runs: 1, seed: 7, timelines, ..Plan::of(&work, policies.iter().map(contender).collect()) };
    plan.run(&unwatched).unwrap_or_else(|why| panic!("{why}"))
}

fn timeline(kind: &str) -> Timeline {
    runs(kind, &["eevdf"], "").take_timelines().pop().expect("a schedule is kept")
}

fn warnings(policies: &[&str], of_hogs: &str) -> Vec<String> {
    let again = |again: &goodness::Again| again.to_string();
    let about = Circumstances { input: Input::default(), details: Details::default(), commit: None, again: &again };
    runs("offline", policies, of_hogs).report(about).details.warnings
}

#[test]
fn a_cpu_is_offline_for_the_time_of_its_fault_and_nobody_runs_there() {
    let timeline = timeline("offline");
    let shown: Vec<_> = timeline.offline.iter().map(|it| (it.cpu.0, it.from / 1_000_000, it.to / 1_000_000)).collect();
    assert_eq!(shown, [(1, 100, 300), (1, 450, 500)]);
    let runs_there = |from: u64, to: u64| {
        timeline.slices.iter().any(|it| it.cpu.0 == 1 && it.start < to - 1_000_000 && from + 1_000_000 < it.end)
    };
    assert!(timeline.offline.iter().all(|it| !runs_there(it.from, it.to)), "a task runs on a CPU that is offline");
    assert!(runs_there(20_000_000, 80_000_000) && runs_there(320_000_000, 420_000_000), "the check finds nobody");
}

#[test]
fn another_fault_of_a_cpu_takes_it_not_offline() {
    assert_eq!(timeline("lost-ticks").offline, []);
}

#[test]
fn whom_an_offline_cpu_sets_free_is_told_once_without_asking() {
    let told = |policies: &[&str], of_hogs| {
        let mut said = warnings(policies, of_hogs);
        said.retain(|it| !it.starts_with("On several CPUs"));
        said
    };
    let said = told(&["eevdf", "cfs"], "affinity = [1]\n");
    let sentence = "No CPU that hog-0 (and 1 more) may use was online at 100ms: as in Linux, it may use any CPU since";
    assert_eq!(said, [format!("{sentence}.")]);
    assert_eq!(told(&["eevdf"], "affinity = [1]\n"), said);
    assert!(told(&["eevdf", "cfs"], "").is_empty(), "all may use the other CPU");
}
