//! Several recordings: of one load, or as arms.

use goodness::recordings::{as_arms, of_one_load};
use goodness::{Circumstances, Contender, OpenOptions, Plan, PolicySpec, Refusal, Report, Runs, Work, unwatched};
use goodness_core::{Span, Workers};
use goodness_report::model::{Details, Input, Verdict};
use std::io::Read;
use std::path::Path;

fn repeat(name: &str) -> String {
    format!("{}/../../recordings/repeats/{name}.ftrace.zst", env!("CARGO_MANIFEST_DIR"))
}

fn open(name: &str) -> Result<Work, Refusal> {
    goodness::open(name, &OpenOptions::default(), &unwatched)
}

fn run(_: &str, work: &Work) -> Result<Runs, Refusal> {
    let own = work.standard_policy()?;
    let contenders = vec![Contender::policy(own), Contender::policy(PolicySpec::parse("scx-bpfland")?)];
    Plan { runs: 2, ..Plan::of(work, contenders) }.run(&unwatched)
}

fn report(runs: &Runs) -> Report {
    let again = |_: &goodness::Again| String::new();
    runs.report(Circumstances { input: Input::default(), details: Details::default(), commit: None, again: &again })
}

fn refused(names: &[String]) -> String {
    of_one_load(names, open, run).err().expect("a refusal").to_string()
}

#[test]
fn one_recording_counts_once_however_it_is_packed() {
    let [packed, plain] = [repeat("make-j4-2cpu.1"), format!("{}/plain.ftrace", env!("CARGO_TARGET_TMPDIR"))];
    std::fs::write(&plain, text_of(&packed)).unwrap();
    let twins = [packed, plain];
    assert!(refused(&twins).contains("is the same recording as"), "{}", refused(&twins));
    assert!(as_arms(&twins, open).is_err());
    let two = [repeat("make-j4-2cpu.1"), repeat("make-j4-2cpu.2")];
    assert!(of_one_load(&two, open, run).is_ok() && as_arms(&two, open).is_ok());
}

/// The text of a packed recording.
fn text_of(path: &str) -> Vec<u8> {
    let mut text = Vec::new();
    goodness_trace::Input::open(Path::new(path)).unwrap().read_to_end(&mut text).unwrap();
    text
}

/// A recording has the threads of its kernel among its tasks; other work has none unless its machine has some.
#[test]
fn threads_of_a_machines_kernel_run_beside_work_that_was_not_recorded() {
    let workers = Workers { every: Span::from_ms(100), run: Span::from_us(30) };
    let tasks = |name: &str, workers: Option<Workers>| -> Vec<(String, bool)> {
        let mut work = open(name).unwrap();
        work.machine.workers = workers;
        let first = run(name, &work).unwrap().arms.remove(0).first;
        let ran = |(task, measured): (&goodness::Named, &goodness_observe::TaskMeasured)| {
            (task.name.clone(), measured.judged)
        };
        first.tasks.iter().zip(&first.measured.tasks).map(ran).collect()
    };
    let added = |name: &str| {
        let without = tasks(name, None);
        let mut with = tasks(name, Some(workers));
        assert_eq!(with[..without.len()], without);
        with.split_off(without.len())
    };
    let worker = |cpu: u32| (format!("kworker/{cpu}"), false);
    assert_eq!(added("mixed:duration=500ms"), [worker(0)]);
    assert_eq!(added(&repeat("mixed-2cpu.1")), []);
}

#[test]
fn loads_on_other_cpus_and_experiments_are_not_recordings_of_one_load() {
    let other = refused(&[repeat("mixed-1cpu.1"), repeat("mixed-2cpu.1")]);
    assert!(other.contains("1 of 2 CPUs") && other.contains("2 of 2 CPUs"), "{other}");
    let experiment = refused(&["mixed:duration=100ms".into(), repeat("mixed-1cpu.1")]);
    assert!(experiment.contains("is not a recording"), "{experiment}");
    let alone = [repeat("mixed-1cpu.1")];
    assert!(as_arms(&alone, open).is_err(), "nothing to compare with");
}

#[test]
fn the_order_of_recordings_changes_no_value_and_positive_values_have_positive_intervals() {
    let of = |numbers: [u32; 3]| {
        let names = numbers.map(|n| repeat(&format!("messaging-1cpu.{n}")));
        let (runs, ..) = of_one_load(&names, open, run).unwrap();
        report(&runs).policies.into_iter().map(|it| it.metrics).collect::<Vec<_>>()
    };
    let (one, other) = (of([1, 2, 3]), of([3, 1, 2]));
    for (a, b) in one.iter().flatten().zip(other.iter().flatten()) {
        let near = |a: f64, b: f64| (a - b).abs() <= 1e-9 * a.abs();
        assert!(a.value.zip(b.value).is_none_or(|(a, b)| near(a, b)), "{}", a.name);
        assert_eq!(a.vs_reference.map(|it| it.verdict), b.vs_reference.map(|it| it.verdict), "{}", a.name);
        let is_positive = a.value.is_some_and(|value| value > 0.0);
        assert!(!is_positive || a.ci95.is_none_or(|[low, _]| low >= 0.0), "{}: {:?}", a.name, a.ci95);
    }
}

/// `mixed-1cpu.1` and `.3` are one load with 11 and 36 answers that look like requests.
#[test]
fn a_few_observations_give_no_verdict() {
    let pair = [repeat("mixed-1cpu.1"), repeat("mixed-1cpu.3")];
    let (runs, ..) = as_arms(&pair, open).unwrap();
    let report = report(&runs);
    let throughput = report.policies[1].metric("throughput").unwrap();
    assert!(throughput.value.is_some());
    assert_eq!(throughput.vs_reference.map(|it| it.verdict), Some(Verdict::Inconclusive));
    let enough = [repeat("redis-benchmark-4.1"), repeat("redis-benchmark-16.1")];
    let (runs, ..) = as_arms(&enough, open).unwrap();
    let others = self::report(&runs);
    let verdict = |name: &str| others.policies[1].metric(name).unwrap().vs_reference.unwrap().verdict;
    assert_eq!(verdict("throughput"), Verdict::Worse, "another load differs, and has enough of them");
}

/// Kernel threads of CPU 1 and tasks that were there at first keep no recording from running on fewer CPUs, or on more.
#[test]
fn a_recording_runs_on_other_machines_than_its_own() {
    for (name, cpus) in [("make-j4-2cpu.1", 1), ("mixed-2cpu.3", 1), ("make-j4-2cpu.1", 4)] {
        let options = OpenOptions { machine: Some(format!("cpus={cpus}")), ..OpenOptions::default() };
        let work = goodness::open(&repeat(name), &options, &unwatched).unwrap();
        for policy in ["eevdf", "cfs", "o1"] {
            let contender = Contender::policy(PolicySpec::parse(policy).unwrap());
            let runs = Plan { runs: 1, recorded: None, ..Plan::of(&work, vec![contender]) }.run(&unwatched);
            assert_eq!(runs.map(|runs| runs.violation().is_some()).map_err(|it| it.to_string()), Ok(false), "{name}");
        }
    }
}
