//! Tunings of tiny works: how often one without an effect names a winner, what is found where there is one, and
//! controls that the same tests must reject.

use super::*;
use crate::spec::PolicySpec;
use crate::unwatched;
use crate::{Contender, OpenOptions, open};
use goodness_core::{
    Behaviour, Machine, Seed, Span, Start, Step, StepContext, Task, TaskSpec, Time, Workload, WorkloadSource,
};
use goodness_report::every_run::PolicyRuns;
use goodness_report::model::Input;
use goodness_report::tune::Told;
use goodness_stats::compare::{Direction, Settings, Verdict, compare};

/// Hogs and sleepers that are judged, and sparks: they run so little that their nice changes nothing for the others,
/// except which of them a lottery draws.
struct Noisy;

impl WorkloadSource for Noisy {
    fn name(&self) -> &str {
        "noisy"
    }

    fn what_varies(&self) -> &str {
        "lengths of bursts and sleeps"
    }

    fn build(&self, _: Seed, _: u32) -> Workload {
        let hog = || task("hog", true, |_: &mut StepContext| Step::Compute(Span::MAX));
        let sleepers = [true, true, true, false, false].map(sleeper);
        let tasks = [hog(), hog()].into_iter().chain(sleepers).collect();
        Workload { tasks, horizon: Some(Time(60_000_000)), ..Workload::default() }
    }
}

fn task(name: &str, judged: bool, behaviour: impl Behaviour + 'static) -> TaskSpec {
    let task = Task { address_space: Some(0), ..Task::default() };
    TaskSpec { name: name.into(), start: Start::At(Time::ZERO), task, behaviour: Box::new(behaviour), judged }
}

fn sleeper(judged: bool) -> TaskSpec {
    let mut sleeps = false;
    let (burst, sleep) = if judged { (1_000_000, 3_000_000) } else { (1_000, 1_000_000) };
    let behaviour = move |cx: &mut StepContext| {
        sleeps = !sleeps;
        if sleeps { Step::Sleep(Span(cx.rng.within(sleep / 6, sleep))) } else { Step::Compute(Span(burst)) }
    };
    task(if judged { "sleeper" } else { "spark" }, judged, behaviour)
}

fn noisy() -> Work {
    Work::of(Noisy, Machine::flat(1, 250).expect("a machine"), Input { name: "noisy".into(), ..Input::default() })
}

fn tuning<'a>(work: &'a Work, default: &str, knobs: &[&str], metric: &str) -> Tuning<'a> {
    let knobs: Vec<String> = knobs.iter().map(ToString::to_string).collect();
    let default = Contender::policy(PolicySpec::parse(default).expect("a policy"));
    Tuning {
        inputs: vec![("work".into(), work)],
        space: Space::of(&knobs, default).expect("a space"),
        objective: Objective::of(metric).expect("a metric"),
        guards: Vec::new(),
        seed: 1,
        effort: Effort::default(),
    }
}

/// Tunings of a knob without an effect.
const EQUALS: u64 = 150;
/// Most of them that may name a winner: 5 %, and two standard errors of that (7.5 + 2 · 2.7).
const MOST: u32 = 12;
const METRIC: &str = "wakeup_latency_mean";

/// Tunes a knob without an effect, many times. Returns how often a winner is named: by the tuning, if the score is of
/// the search's own runs, and if the finalists are not corrected for their number.
fn winners() -> [u32; 3] {
    let work = noisy();
    let effort = Effort { candidates: 12, rounds: 2, first: 4, most: 8, finalists: 8, held_out: 6 };
    let mut count = [0; 3];
    for seed in 0..EQUALS {
        let knobs = &["spark.nice=-19..19"];
        let tuning = Tuning { seed, effort, ..tuning(&work, "lottery:timeslice=2ms", knobs, METRIC) };
        let (search, scored) = searched(&tuning);
        let best = tuning.finalists(&search)[0];
        let is_better = |interval: Option<goodness_stats::Interval>| interval.is_some_and(|it| it.high < 1.0);
        let alone = |arm: &PolicyRuns| {
            let of =
                |runs: &PolicyRuns| runs.values.iter().find(|it| it.name == METRIC).expect("values").values.clone();
            let settings = Settings::new(Direction::LowerIsBetter);
            compare(&of(&scored.report.runs[0]), &of(arm), &settings).verdict == Verdict::Better
        };
        count[0] += u32::from(verdict::answer(&scored.finalists).0 == Answer::Found);
        count[1] += u32::from(is_better(tuning.rules(&search).interval(&search.table, best)));
        count[2] += u32::from(scored.report.runs[1..].iter().any(alone));
    }
    count
}

/// The search of a tuning, and the score of its finalists.
fn searched(tuning: &Tuning) -> (Search, Scored) {
    let bench = tuning.bench(&tuning.inputs, &unwatched);
    let mut search = Search::of(&tuning.space);
    tuning.search(&mut search, &bench, &[None]).expect("a search");
    let scored = tuning.score(&search, &tuning.inputs, (&bench, &AtomicU64::new(0))).expect("a score");
    (search, scored)
}

/// The controls: a score of the runs that chose the finalist, and finalists without a correction for their number.
#[test]
fn a_knob_without_an_effect_wins_in_at_most_one_tuning_of_twenty_and_without_held_out_runs_or_correction_more_often() {
    let [tuned, searched, uncorrected] = winners();
    println!("{tuned}, {searched} and {uncorrected} of {EQUALS} tunings name a winner");
    assert!(tuned <= MOST, "{tuned} of {EQUALS}");
    assert!(searched > MOST, "the control without held-out runs: {searched} of {EQUALS}");
    assert!(uncorrected > MOST, "the control without correction: {uncorrected} of {EQUALS}");
}

#[test]
fn a_short_slice_is_found_where_wake_ups_wait_for_long_ones() {
    let work = open("mixed", &OpenOptions::default(), &unwatched).expect("a workload");
    let found = tuning(&work, "eevdf:base_slice=3ms", &["base_slice=0.7ms..12ms"], "wakeup_latency_p99")
        .run(&unwatched)
        .expect("a result");
    assert_eq!(found.answer, Answer::Found, "{}", found.headline);
    let best = found.candidates.iter().find(|it| Some(&it.arm) == found.best.as_ref()).expect("the best");
    let slice = Span::parse(best.values[0].as_deref().expect("a slice")).expect("a time");
    assert!(slice <= Span::from_us(1_000), "{slice}");
    assert!(!found.knobs[0].is_flat && found.runs.all() * 10 < found.runs.grid * 20, "{:?}", found.runs);
    assert!(found.winner().is_some_and(|it| it.ratio.is_some_and(|ratio| ratio < 0.7)), "{}", found.headline);
    let again = tuning(&work, "eevdf:base_slice=3ms", &["base_slice=0.7ms..12ms"], "wakeup_latency_p99");
    assert_eq!(again.run(&unwatched).as_ref(), Ok(&found), "the same again");
}

#[test]
fn a_knob_that_does_nothing_is_not_set() {
    let work = open("mixed:duration=1s", &OpenOptions::default(), &unwatched).expect("a workload");
    let knobs = ["base_slice=0.7ms..12ms", "run_to_parity", "place_rel_deadline"];
    let found = tuning(&work, "eevdf:base_slice=3ms", &knobs, "wakeup_latency_p99").run(&unwatched).expect("a result");
    let best = found.best.as_deref().expect("a better setting");
    assert!(best.starts_with("eevdf:base_slice=") && !best.contains(','), "{}", found.headline);
}

#[test]
fn where_a_slice_moves_requests_by_less_than_the_error_nothing_is_better() {
    let work = open("mariadb-sysbench-16", &OpenOptions::default(), &unwatched).expect("a recording");
    let effort = Effort { candidates: 5, rounds: 1, first: 3, most: 3, finalists: 2, held_out: 5 };
    let standard = work.standard_policy().expect("a policy").to_string();
    let found = Tuning { effort, ..tuning(&work, &standard, &["base_slice=0.7ms..12ms"], "request_latency_p99") }
        .run(&unwatched)
        .expect("a result");
    assert_eq!(found.answer, Answer::Nothing, "{}\n{:?}", found.headline, found.finalists);
    assert!(found.error.is_some_and(|error| error > 0.1) && found.knobs[0].is_flat, "{found:?}");
    assert!(found.headline.contains("more than the error of the prediction"), "{}", found.headline);
    assert_eq!((found.best, found.application), (None, None));
}

/// A guard that the best setting breaks leaves the best of the others, or nothing.
#[test]
fn a_guard_is_kept_at_the_cost_of_the_objective() {
    let work = open("mixed:duration=1s", &OpenOptions::default(), &unwatched).expect("a workload");
    let of = |guard: &str| {
        let tuning = tuning(&work, "eevdf:base_slice=6ms", &["base_slice=0.7ms..12ms"], "wakeup_latency_p95");
        Tuning { guards: vec![Guard::parse(guard).expect("a guard")], ..tuning }.run(&unwatched).expect("a result")
    };
    let ratio = |found: &Tuned| found.winner().and_then(|it| it.ratio).expect("a winner");
    let [free, bound] = [of("context_switches <= +900%"), of("context_switches <= +40%")];
    assert!(ratio(&free) < ratio(&bound) && ratio(&bound) < 0.95, "{} {}", free.headline, bound.headline);
    let none = of("context_switches <= -50%");
    assert_eq!(none.best, None, "{}", none.headline);
}

#[test]
fn a_cancelled_search_tells_the_best_so_far_and_scores_nothing() {
    let work = open("mixed:duration=500ms", &OpenOptions::default(), &unwatched).expect("a workload");
    let cancel = |progress: Progress| match progress {
        Progress::Raced { runs: 100.., .. } => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    };
    let tuning = tuning(&work, "eevdf:base_slice=6ms", &["base_slice=0.7ms..12ms"], "wakeup_latency_p95");
    let found = tuning.run(&cancel).expect("what is known so far");
    assert_eq!((found.answer, found.finalists.len()), (Answer::Stopped, 0));
    assert!(found.best.is_some() && found.headline.contains("not scored"), "{}", found.headline);
    let during_a_run = |progress: Progress| match progress {
        Progress::Simulating { .. } => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    };
    let found = tuning.run(&during_a_run).expect("what is known so far");
    assert_eq!((found.answer, found.runs.search), (Answer::Stopped, 0), "a simulation under way ends, too");
}

#[test]
fn what_the_runs_do_not_measure_cannot_be_tuned() {
    let work = open("mixed:duration=300ms", &OpenOptions::default(), &unwatched).expect("a workload");
    let why = tuning(&work, "eevdf", &["base_slice=0.7ms..12ms"], "request_latency_p99").run(&unwatched).unwrap_err();
    assert!(why.to_string().contains("do not have request_latency_p99"), "{why}");
}

#[test]
fn of_several_recordings_the_last_is_scored_and_the_others_are_searched() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../recordings/repeats/mixed-1cpu");
    let names = [1, 2, 3].map(|number| format!("{folder}.{number}.ftrace.zst"));
    let works = names.each_ref().map(|name| open(name, &OpenOptions::default(), &unwatched).expect("a recording"));
    let inputs = |numbers: &[usize]| numbers.iter().map(|it| (names[*it].clone(), &works[*it])).collect::<Vec<_>>();
    let standard = works[0].standard_policy().expect("a policy").to_string();
    let effort = Effort { candidates: 3, rounds: 1, first: 2, most: 2, finalists: 1, held_out: 3 };
    let one = tuning(&works[0], &standard, &["base_slice=0.7ms..12ms"], "wakeup_latency_p99");
    let several = Tuning { inputs: inputs(&[0, 1, 2]), effort, ..one };
    let found = several.run(&unwatched).expect("a result");
    assert_eq!((found.searched, found.held_out), (names[..2].to_vec(), names[2..].to_vec()));
    assert_eq!((found.runs.search, found.runs.held_out, found.runs.verified), (4 * 2 * 2, 2 * 3, 3 * 5 - 1));
    let why = Tuning { inputs: inputs(&[0, 1, 0]), ..several }.run(&unwatched).unwrap_err().to_string();
    assert!(why.contains("is the same recording as"), "{why}");
}

#[test]
fn new_candidates_are_drawn_near_survivors_and_near_the_best_of_those_that_gain_too_little() {
    let work = noisy();
    let tuning = tuning(&work, "lottery:timeslice=2ms", &["spark.nice=-19..19"], METRIC);
    let mut search = Search::of(&tuning.space);
    for (candidate, value) in [1.0, 0.7, 0.9, 0.8, 0.6].into_iter().enumerate() {
        (candidate > 0).then(|| search.table.add());
        (0..3).for_each(|block| search.table.push(candidate, vec![vec![Some(value + 0.01 * f64::from(block))]]));
    }
    search.survivors = vec![1];
    search.losers = vec![(2, Dropped::TooSmall), (3, Dropped::TooSmall), (4, Dropped::Worse)];
    assert_eq!(tuning.parents(&search), [1, 3, 2]);
    search.survivors.clear();
    assert_eq!(tuning.parents(&search), [3, 2], "where nothing survived, the best that gain too little");
    search.losers = vec![(2, Dropped::Worse), (4, Dropped::Worse)];
    assert_eq!(tuning.parents(&search), [4, 2], "where nothing gains too little either, the best of all");
}

/// Four readers beside 128 writes in flight, or one reader alone, on a disk.
fn on_disk(jobs: &str) -> (tempfile::TempDir, String, Work) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("disk.fio").to_string_lossy().into_owned();
    let global = "[global]\ndirect=1\nioengine=libaio\ntime_based\nruntime=1s\nsize=1g\nrandrepeat=0\n";
    std::fs::write(&path, format!("{global}[readers]\nrw=randread\nbs=16k\nthinktime=2ms\n{jobs}")).expect("a job");
    let options = OpenOptions { device: Some("sata-7200-4tb".into()), ..OpenOptions::default() };
    let work = open(&path, &options, &unwatched).expect("a job file");
    (folder, path, work)
}

const QUEUED: &str = "numjobs=4\n[writers]\nrw=randwrite\nbs=64k\niodepth=128\n";

fn of_elevator<'a>(path: &str, work: &'a Work, elevator: &str, knobs: &[&str]) -> Tuning<'a> {
    let default = work.default_contender(None, Some(elevator)).expect("an elevator");
    let knobs: Vec<String> = knobs.iter().map(ToString::to_string).collect();
    Tuning {
        inputs: vec![(path.into(), work)],
        space: Space::of(&knobs, default).expect("a space"),
        objective: Objective::of("io_read_latency_mean").expect("a metric"),
        guards: Vec::new(),
        seed: 1,
        effort: Effort { candidates: 5, rounds: 1, first: 3, most: 5, finalists: 2, held_out: 6 },
    }
}

#[test]
fn long_batches_of_writes_are_found_to_delay_reads_and_the_answer_ends_with_the_file_to_write() {
    let (_folder, path, work) = on_disk(QUEUED);
    let knobs = ["mq-deadline:fifo_batch=1..64", "base_slice=1ms..3ms"];
    let found = of_elevator(&path, &work, "mq-deadline:fifo_batch=64", &knobs).run(&unwatched).expect("a result");
    assert_eq!(found.answer, Answer::Found, "{}", found.headline);
    let best = found.candidates.iter().find(|it| Some(&it.arm) == found.best.as_ref()).expect("the best");
    let batch: u32 = best.values[0].as_deref().expect("a batch").parse().expect("a number");
    assert!(batch <= 32 && best.values[1].is_none(), "the slice does nothing and is not set: {}", found.headline);
    assert!(found.winner().is_some_and(|it| it.ratio.is_some_and(|ratio| ratio < 0.8)), "{}", found.headline);
    let application = found.application.expect("commands");
    let file = "/sys/block/DISK/queue/iosched/fifo_batch";
    assert!(application.apply[0].ends_with(&format!("echo {batch} | sudo tee {file}")), "{application:?}");
    assert!(application.undo[0].starts_with("sudo cp /run/goodness-DISK-fifo_batch"), "{application:?}");
    let race = found.race.and_then(|it| it.file).expect("a race");
    assert!(race.contains(&format!("{{ use = \"mq-deadline\", fifo_batch = {batch} }}")), "{race}");
}

/// Without a queue no order of it helps; and settings that no request reaches make equal runs.
#[test]
fn a_setting_of_an_elevator_without_an_effect_is_left_as_it_is() {
    let (_folder, path, work) = on_disk("");
    let alone = of_elevator(&path, &work, "mq-deadline", &["fifo_batch=1..64", "read_expire=10ms..1s"]);
    let found = alone.run(&unwatched).expect("a result");
    assert_eq!((found.answer, found.best), (Answer::Nothing, None), "{}", found.headline);
    let (_folder, path, work) = on_disk(QUEUED);
    for seed in 1..=3 {
        let equal = of_elevator(&path, &work, "mq-deadline", &["prio_aging_expire=20s..60s"]);
        let found = Tuning { seed, ..equal }.run(&unwatched).expect("a result");
        assert_eq!((found.answer, found.knobs[0].told), (Answer::Nothing, Told::Same), "{}", found.headline);
    }
}
