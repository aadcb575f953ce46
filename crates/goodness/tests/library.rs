//! Tests the library's interface: matching errors, cancelling through progress, and opening without side effects.

use goodness::{
    Circumstances, Contender, Excerpt, Kind, OpenOptions, Plan, PolicySpec, Progress, Refusal, See, Work, diff, open,
    open_recording, shipped, teach, unwatched, why,
};
use goodness_core::{Machine, Time};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};

fn work(text: &str) -> Work {
    open(text, &OpenOptions::default(), &unwatched).unwrap_or_else(|refusal| panic!("{refusal}"))
}

fn contenders(names: &[&str]) -> Vec<Contender> {
    names.iter().map(|name| Contender::policy(PolicySpec::parse(name).unwrap())).collect()
}

fn refused(text: &str, options: &OpenOptions) -> Refusal {
    open(text, options, &unwatched).err().unwrap_or_else(|| panic!("{text} was opened"))
}

#[test]
fn refusals_say_what_where_and_in_which_list_to_look_and_name_no_command() {
    let machine = OpenOptions { machine: Some("ideel".into()), ..OpenOptions::default() };
    let device = OpenOptions { device: Some("null".into()), ..OpenOptions::default() };
    let window = OpenOptions { window: Excerpt::parse("1h..2h").unwrap(), ..OpenOptions::default() };
    let plain = OpenOptions::default();
    let cases = [
        (refused("mixed", &window), None, Some("window")),
        (refused("mixed-cpu", &window), None, None),
        (refused("mixd", &plain), Some(See::WorkloadsAndRecordings), None),
        (refused("mixed:hog=3", &plain), Some(See::Workloads(Some("mixed"))), None),
        (refused("mixed", &machine), Some(See::Machines), None),
        (refused("mixed", &device), None, Some("device")),
        (refused("missing.toml", &plain), None, None),
        (goodness::check_rank("latency").unwrap_err(), Some(See::Metrics), None),
    ];
    for (refusal, see, option) in cases {
        assert_eq!((refusal.kind, refusal.see, refusal.option), (Kind::Usage, see, option), "{refusal}");
        assert!(!refusal.to_string().contains("goodness "), "{refusal}");
    }
}

#[test]
fn a_window_of_a_recording_is_work_of_its_own() {
    let options = OpenOptions { window: Excerpt::parse("1s..2s").unwrap(), ..OpenOptions::default() };
    let (whole, part) = (work("mixed-cpu"), open("mixed-cpu", &options, &unwatched).unwrap());
    assert_eq!(part.about.name, "mixed-cpu, 1s..2s");
    assert!(part.about.sha256.is_some() && part.about.sha256 != whole.about.sha256);
    let length = |of: &Work| of.recorded.as_ref().map(|it| it.measured.window.to.since(it.measured.window.from).0);
    assert!(length(&part).is_some_and(|ns| ns > 900_000_000 && ns <= 1_000_000_000), "{:?}", length(&part));
    assert!(length(&whole) > Some(2_000_000_000) && whole.about.sha256.is_some());
    let plan = Plan { runs: 1, ..Plan::of(&part, contenders(&["rr"])) };
    assert!(plan.run(&unwatched).unwrap().arms[0].decisions > 100);
}

#[test]
fn a_metric_that_was_not_measured_ranks_nothing_and_those_that_were_are_named() {
    let runs = |text: &str| {
        let work = work(text);
        Plan { runs: 2, ..Plan::of(&work, contenders(&["rr"])) }.run(&unwatched).unwrap()
    };
    let few = runs("mixed:duration=100ms").check_rank_by("wakeup_latency_p999").unwrap_err().to_string();
    assert!(few.contains("observations in a run, and needs 1000"), "{few}");
    let runs = runs("mixed:duration=3s");
    let sentence = runs.check_rank_by("completion_time").unwrap_err().to_string();
    assert!(
        sentence.contains("completion_time was not measured") && sentence.contains("wakeup_latency_p99"),
        "{sentence}"
    );
    assert_eq!(runs.check_rank_by("wakeup_latency_p99"), Ok(()));
}

#[test]
fn a_policy_without_reservations_says_that_deadline_tasks_run_as_ordinary_ones() {
    let text = "duration = \"50ms\"\n[[task]]\nname = \"video\"\nclass = \"deadline\"\n\
                reservation = { runtime = \"2ms\", period = \"10ms\" }\nprogram = [ { compute = \"forever\" } ]\n";
    let file = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("reserved.toml");
    std::fs::write(&file, text).unwrap();
    let work = work(file.to_str().unwrap());
    let notes_of = |name: &str| {
        let runs = Plan { runs: 2, ..Plan::of(&work, contenders(&[name])) }.run(&unwatched).unwrap();
        runs.arms[0].first.unheeded.join("; ")
    };
    assert_eq!(notes_of("o1"), "has no SCHED_DEADLINE: scheduled video in the normal class");
    assert_eq!(["deadline", "edf", "cfs", "eevdf"].map(notes_of), ["", "", "", ""]);
}

#[test]
fn who_is_told_of_progress_can_end_it() {
    let work = work("mixed:duration=200ms");
    let plan = Plan { runs: 20, ..Plan::of(&work, contenders(&["rr", "eevdf"])) };
    let told = AtomicU64::new(0);
    let cancelled = plan.run(&|progress: Progress| match progress {
        Progress::Simulated { of: 40, .. } => {
            told.fetch_add(1, Ordering::Relaxed);
            ControlFlow::Break(())
        }
        Progress::Simulating { of: 40, .. } => ControlFlow::Continue(()),
        other => panic!("{other:?}"),
    });
    assert_eq!(cancelled.err().map(|refusal| refusal.kind), Some(Kind::Cancelled));
    assert!(told.into_inner() < 20, "what was under way ended, and no more was begun");
}

#[test]
fn a_plan_that_is_stopped_has_the_runs_that_every_arm_has_made() {
    let work = work("mixed:duration=200ms");
    let plan = Plan { runs: 20, ..Plan::of(&work, contenders(&["rr", "eevdf"])) };
    let after = |runs: u64| {
        move |progress: Progress| match progress {
            Progress::Simulated { done, .. } if done >= runs => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    };
    let whole = plan.run_as_far(&unwatched).expect("nobody stops it");
    assert_eq!(whole.stopped(), None);
    // On more threads than runs all are under way at once, and none is complete.
    let two = rayon::ThreadPoolBuilder::new().num_threads(2).build().expect("threads");
    let part = two.install(|| plan.run_as_far(&after(9))).expect("some runs are made");
    let made = part.arms[0].values("wakeup_latency_p50").len();
    assert!((2..=7).contains(&made), "{made} replications");
    assert_eq!(part.stopped(), Some(format!("stopped after {made} of 20 runs of each arm").as_str()));
    for (part, whole) in part.arms.iter().zip(&whole.arms) {
        assert!(part.decisions < whole.decisions);
        for metric in ["wakeup_latency_p50", "context_switches", "jain_index"] {
            let mut all = whole.values(metric).iter();
            let values = part.values(metric);
            assert_eq!(values.len(), made, "{metric}");
            assert!(values.iter().all(|it| it.is_some() && all.any(|one| one == it)), "{metric}: {values:?}");
        }
    }
    let nothing = plan.run_as_far(&|_| ControlFlow::Break(())).err().expect("no run is made");
    assert_eq!((nothing.kind, nothing.what.starts_with("stopped before")), (Kind::Cancelled, true));
    assert_eq!(plan.run(&after(9)).err().map(|refusal| refusal.kind), Some(Kind::Cancelled), "who wants all has none");
}

#[test]
fn one_run_that_is_stopped_has_what_was_measured_so_far() {
    let work = work("mixed:duration=3600s");
    let plan = Plan { runs: 1, ..Plan::of(&work, contenders(&["rr"])) };
    let until = |progress: Progress| match progress {
        Progress::Simulating { at, .. } if at > Time(20_000_000_000) => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    };
    let part = plan.run_as_far(&until).expect("it has run for a while");
    assert!(part.stopped().is_some_and(|it| it.starts_with("stopped after 20")), "{:?}", part.stopped());
    let end = part.arms[0].first.outcome.end;
    assert!((Time(20_000_000_000)..Time(21_000_000_000)).contains(&end), "{end:?}");
    // The measurements are of that time: another run that ends then measures the same.
    let short = self::work(&format!("mixed:duration={}ns", end.ns()));
    let short = Plan { runs: 1, ..Plan::of(&short, contenders(&["rr"])) }.run(&unwatched).unwrap();
    for metric in ["wakeup_latency_p50", "context_switches"] {
        let [part, short] = [&part, &short].map(|it| it.arms[0].values(metric)[0].expect("measured"));
        assert!((part / short - 1.0).abs() < 0.01, "{metric}: {part} {short}");
    }
}

#[test]
fn a_long_simulation_tells_how_far_it_is_and_can_be_ended() {
    let work = work("mixed:duration=3600s");
    let plan = Plan { runs: 1, ..Plan::of(&work, contenders(&["rr"])) };
    let told = std::sync::Mutex::new(Vec::new());
    let cancelled = plan.run(&|progress: Progress| {
        let Progress::Simulating { done: 0, of: 1, at, end } = progress else { panic!("{progress:?}") };
        let mut told = told.lock().unwrap();
        told.push((at, end));
        if told.len() == 4 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    assert_eq!(cancelled.err().map(|refusal| refusal.kind), Some(Kind::Cancelled));
    let told = told.into_inner().unwrap();
    assert_eq!(told[0], (Time::ZERO, None), "it begins");
    assert!(told.windows(2).all(|two| two[0].0 < two[1].0), "{told:?}");
    assert_eq!(told[1].1, Some(Time(3_600_000_000_000)), "{told:?}");
}

#[test]
fn why_diff_and_teach_tell_how_far_their_own_runs_are_and_can_be_ended() {
    let cancelled = |refusal: Option<Refusal>| assert_eq!(refusal.map(|it| it.kind), Some(Kind::Cancelled));
    let ended_on_their_way = AtomicU64::new(0);
    // Ends the first simulation on its way after `runs` of them, or as it is done: two may be done at once.
    let after = |runs: u64| {
        let (done, on_their_way) = (AtomicU64::new(0), &ended_on_their_way);
        move |progress: Progress| match progress {
            Progress::Simulated { .. } if done.fetch_add(1, Ordering::Relaxed) >= runs => ControlFlow::Break(()),
            Progress::Simulating { at, .. } if at > Time::ZERO && done.load(Ordering::Relaxed) >= runs => {
                on_their_way.fetch_add(1, Ordering::Relaxed);
                ControlFlow::Break(())
            }
            _ => ControlFlow::Continue(()),
        }
    };
    let work = work("mixed:duration=5s");
    let [rr, eevdf] = ["rr", "eevdf"].map(|policy| contenders(&[policy]).remove(0));
    let (question, replication) = (why::Question { profile: true, ..why::Question::default() }, 0);
    let run = why::Explained { work: &work, contender: &eevdf, seed: 1, replication, judge: &[] };
    cancelled(why::why_simulated(run, &question, &after(0)).err());
    cancelled(why::why_simulated(run, &question, &after(1)).err());
    cancelled(why::why_simulated(run, &why::Question { checks: 0, ..question }, &after(3)).err());
    let plan = Plan { runs: 1, by_task: true, ..Plan::of(&work, vec![rr.clone(), eevdf]) };
    cancelled(diff::arms(&plan, "mixed", &after(2)).err());
    let jobs = teach::jobs("A:0:3000 B:1:3000").unwrap();
    let machine = Machine::flat(1, 1_000).unwrap();
    let short = Contender { policy: PolicySpec::parse("rr:timeslice=1ms").unwrap(), ..rr };
    cancelled(teach::lesson(jobs, &machine, vec![short], &after(1)).err());
    assert!(ended_on_their_way.into_inner() >= 3, "of five");
}

#[test]
fn a_recording_is_opened_unsimulated_and_its_error_is_stated_by_a_step_of_the_plan() {
    let count = AtomicU64::new(0);
    let watch = |progress: Progress| {
        if matches!(progress, Progress::Simulated { .. }) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        ControlFlow::Continue(())
    };
    let work = open("apache-ab-c4-1cpu", &OpenOptions::default(), &watch).unwrap();
    assert_eq!(count.load(Ordering::Relaxed), 0);
    let recorded = work.recorded.as_ref().expect("a recording").policy.clone();
    let runs = |plan: Plan| plan.run(&watch).unwrap();
    let alone = runs(Plan::of(&work, Vec::new()));
    assert_eq!(count.swap(0, Ordering::Relaxed), 5, "the replays under the policy that recorded");
    let with = runs(Plan { runs: 1, ..Plan::of(&work, vec![Contender::policy(recorded)]) });
    assert_eq!(count.swap(0, Ordering::Relaxed), 5, "the run that is made anyway is one of those replays");
    assert!(alone.fidelity.is_some() && alone.fidelity == with.fidelity);
    let other = runs(Plan { runs: 1, ..Plan::of(&work, contenders(&["rr"])) });
    assert_eq!(count.load(Ordering::Relaxed), 6);
    assert_eq!(other.fidelity, alone.fidelity);
}

/// The negative control of `verify`: a policy that did not make the recording misses a bound that the one that did
/// keeps, on every recording.
#[test]
fn a_wrong_policy_misses_a_bound_that_the_right_one_keeps_on_every_shipped_recording() {
    let metrics = |recording: &str, recorded_by: Option<&str>| {
        let options = OpenOptions { recorded_by: recorded_by.map(Into::into), ..OpenOptions::default() };
        let work = open_recording(recording, &options, &unwatched).expect("it is shipped");
        let fidelity = Plan::of(&work, Vec::new()).run(&unwatched).expect("it runs").fidelity;
        fidelity.expect("a recording's plan states its error").metrics
    };
    for recording in shipped::RECORDINGS {
        let right = metrics(recording.name, None);
        for policy in ["fifo", "o1", "lottery"] {
            let wrong = metrics(recording.name, Some(policy));
            let mut pairs = right.iter().zip(&wrong);
            let misses = pairs.any(|(a, b)| a.keeps_promise() == Some(true) && b.keeps_promise() == Some(false));
            assert!(misses, "{} under {policy}: {wrong:?}", recording.name);
        }
    }
}

/// Ratio of the ends of the interval of the p99 wake-up latency of the second contender to the first, and whether the
/// report states the model's error.
fn width_and_sentence(names: &[&str], cpus: u32) -> (f64, bool) {
    let options = OpenOptions { machine: Some(format!("cpus={cpus},hz=250")), ..OpenOptions::default() };
    let work = open("mixed:duration=2s", &options, &unwatched).unwrap_or_else(|refusal| panic!("{refusal}"));
    let runs = Plan { runs: 5, ..Plan::of(&work, contenders(names)) }.run(&unwatched).unwrap();
    let again = |_: &goodness::Again| String::new();
    let report = runs.report(Circumstances { input: work.about, details: work.details, commit: None, again: &again });
    let second = report.policies[1].metric("wakeup_latency_p99").unwrap().vs_reference.unwrap();
    let [low, high] = second.ci95.unwrap_or([second.ratio.unwrap(); 2]);
    let is_said = |note: &String| note.starts_with("On several CPUs 95 % of simulated values");
    (high / low, report.details.workload_notes.iter().any(is_said))
}

/// The error of fidelity/smp.toml widens what is said of cfs and eevdf on several CPUs, and nothing else.
#[test]
fn the_models_error_is_carried_on_several_cpus_and_by_measured_policies_alone() {
    let stated = |policy: &str| {
        let is_it = |it: &&goodness::ModelError| it.policy == policy && it.figure == "wakeup_latency_p99";
        goodness::MODEL_ERRORS.iter().find(is_it).unwrap().factor
    };
    let (width, is_said) = width_and_sentence(&["rr", "eevdf"], 4);
    assert!(width >= stated("eevdf").powi(2) && is_said, "{width}");
    let (width, is_said) = width_and_sentence(&["eevdf", "rr"], 4);
    assert!(width >= stated("eevdf").powi(2) && is_said, "the reference has an error, too: {width}");
    let (width, _) = width_and_sentence(&["eevdf", "cfs"], 4);
    assert!(width >= stated("cfs").max(stated("eevdf")).powi(2), "the larger decides: {width}");
    for (names, cpus) in [(["rr", "eevdf"], 1), (["rr", "o1"], 4)] {
        let (width, is_said) = width_and_sentence(&names, cpus);
        assert!(width < stated("eevdf").powi(2) && !is_said, "{names:?} on {cpus}: {width}");
    }
}

/// Warnings about arms that change less than their names say. The recorded tasks were confined to one of two CPUs.
#[test]
fn an_arm_that_changes_nothing_or_adds_cpus_that_nobody_may_use_is_named() {
    let work = work("apache-ab-c4-1cpu");
    let warned = |arms: &[&str]| -> Vec<String> {
        let typed: Vec<String> = arms.iter().map(ToString::to_string).collect();
        let arms = Contender::arms(&typed, &work.standard_policy().unwrap()).unwrap_or_else(|it| panic!("{it}"));
        let runs = Plan { runs: 1, ..Plan::of(&work, arms) }.run(&unwatched).unwrap();
        let about = Circumstances {
            input: work.about.clone(),
            details: work.details.clone(),
            commit: None,
            again: &|_: &goodness::Again| String::new(),
        };
        runs.report(about).details.warnings
    };
    let is_about = |it: &&String| it.contains("as recorded; to let") || it.contains("change");
    let said = warned(&["cpus=4", "ab.nice=0"]);
    let said: Vec<&String> = said.iter().filter(is_about).collect();
    let [confined, equal] = said[..] else { panic!("{said:?}") };
    assert!(confined.starts_with("cpus=4: the judged tasks use 1 of the 4 CPUs"), "{confined}");
    assert!(confined.ends_with("--arm 'cpus=4 *.affinity=0-3'."), "{confined}");
    assert!(equal.starts_with("ab.nice=0 changes nothing here"), "{equal}");
    let said = warned(&["hogs=1", "ab.nice=5"]);
    let said: Vec<&String> = said.iter().filter(|it| it.contains("as recorded")).collect();
    assert_eq!(
        said,
        ["hogs=1: the judged tasks may use CPU 1 only, as recorded, and the added hog runs beside them; to let them \
          share: --arm 'hogs=1 added-hog.affinity=1'."]
    );
    let said = warned(&["cpus=4 *.affinity=0-3", "ab.nice=5", "rr", "hogs=1 added-hog.affinity=1", "hogs=2"]);
    assert_eq!(said.iter().filter(is_about).count(), 0, "{said:?}");
}
