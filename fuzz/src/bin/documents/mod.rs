//! Documents for pages, from a simulation of a few milliseconds, with every part that a page can have.

use goodness::why::{Explained, Question, why_simulated};
use goodness::{Again, Circumstances, Contender, ElevatorSpec, Plan, PolicySpec, Report, Timelines, Work, unwatched};
use goodness::{diff, teach};
use goodness_report::model::{Application, Counted, Details, Fidelity, FidelityMetric, Input, Trust, TrustVerdict};
use goodness_report::model::{InputKind, Violation};
use goodness_report::teach::Lesson;
use goodness_report::tune::{Answer, Candidate, Finalist, Kept, Knob, Level, Objective, Race, Told, Tuning};
use goodness_report::{Timeline, diff::Diff, why::Why};
use goodness_work::experiment::Experiment;

const EXPERIMENT: &str = r#"
duration = "30ms"
machine = "cpus=2,hz=1000"
group = [ { name = "limited", cpu_max = "1ms/4ms" } ]
lock = [ { name = "lock" } ]
disk = [ { name = "sda", device = "nvme" } ]
file = [ { name = "table", volume = "sda", size = "1MiB" } ]
fault = [ { kind = "offline", at = "5ms", for = "3ms", cpu = 1 } ]

[[task]]
name = "server"
count = 2
program = [
  { begin = true }, { sleep = ["100us", "900us"] }, { lock = "lock" }, { compute = "300us" }, { unlock = "lock" },
  { read = "table", size = "4KiB", at = "random" }, { served = true },
]

[[task]]
name = "hog"
group = "limited"
program = [ { compute = "2ms" } ]
"#;

/// The documents.
pub struct Documents {
    pub report: Report,
    pub timelines: Vec<Timeline>,
    pub why: Why,
    pub diff: Diff,
    pub lesson: Lesson,
    pub tuning: Tuning,
}

impl Documents {
    pub fn new() -> Documents {
        let experiment = Experiment::read("fuzz.toml", EXPERIMENT).expect("it is valid");
        let machine = experiment.machine().expect("it names one").clone();
        let input = Input { kind: InputKind::Experiment, name: "fuzz.toml".into(), ..Input::default() };
        let work = Work::of(experiment, machine, input);
        let arm = |policy: &str, elevator: &str| Contender {
            elevator: Some(ElevatorSpec::parse(elevator).expect("registered")),
            ..Contender::policy(PolicySpec::parse(policy).expect("registered"))
        };
        let arms = vec![arm("eevdf", "none"), arm("eevdf", "mq-deadline"), arm("rr", "none"), arm("rr", "mq-deadline")];
        let timelines = Timelines { slices: 100, with_queues: false };
        let mut runs = Plan { runs: 2, timelines, ..Plan::of(&work, arms.clone()) }.run(&unwatched).expect("it runs");
        let again = |_: &Again| String::new();
        let input = work.about.clone();
        let report = runs.report(Circumstances { input, details: details(), commit: None, again: &again });
        let explained = Explained { work: &work, contender: &arms[0], seed: 1, replication: 0, judge: &[] };
        let why = why_simulated(explained, &Question { checks: 1, profile: true, ..Question::default() }, &unwatched);
        let two = vec![arms[0].clone(), arms[2].clone()];
        let plan = Plan { runs: 2, by_task: true, ..Plan::of(&work, two) };
        let (diff, _) = diff::arms(&plan, "fuzz.toml", &unwatched).expect("it runs");
        let jobs = teach::jobs("A:0:4 B:1:3 C:2:1").expect("jobs");
        let policies = ["eevdf", "fifo"].map(|it| Contender::policy(PolicySpec::parse(it).expect("registered")));
        let one = goodness_work::machine::parse_machine("cpus=1").expect("a machine");
        let lesson = teach::lesson(jobs, &one, policies.to_vec(), &unwatched).expect("it runs");
        let why = why.expect("it runs");
        Documents { report: filled(report), timelines: runs.take_timelines(), why, diff, lesson, tuning: tuning() }
    }
}

fn details() -> Details {
    let told = || vec!["a sentence".to_string()];
    let counted = || vec![Counted { what: "switches without a wake-up".into(), count: 3 }];
    let command = Some("goodness compare fuzz.toml".into());
    Details {
        command,
        workload_notes: told(),
        machine_notes: told(),
        warnings: told(),
        repairs: counted(),
        unknowns: counted(),
        ..Details::default()
    }
}

/// The report with what only replays and broken runs have.
fn filled(mut report: Report) -> Report {
    let metric = FidelityMetric {
        name: "wakeup_latency_p99".into(),
        recorded: Some(2e6),
        replayed: Some(3e6),
        error: Some(0.5),
        unit: "ns".into(),
        tolerance: Some(0.2),
    };
    report.fidelity = Some(Fidelity { policy: "eevdf".into(), metrics: vec![metric], lacks: vec!["a fact".into()] });
    report.trust = Some(Trust { verdict: TrustVerdict::Trusted, because: vec!["it is off".into()] });
    let policy = &mut report.policies[1];
    policy.violations.push(Violation { checker: "nobody lost".into(), at_ns: 7, ..Violation::default() });
    policy.application = Some(application());
    report
}

fn application() -> Application {
    let mut application = Application::default();
    application.add("echo 1".into(), "echo 2".into());
    application
}

fn tuning() -> Tuning {
    let level = |values: &str, ratio| Level { values: values.into(), candidates: 2, ratio: Some(ratio) };
    let levels = vec![level("1ms..2ms", 0.5), level("2ms..4ms", 1.5)];
    let arm = String::from("base_slice=1ms");
    let ratio = Some(0.5);
    let candidate = Candidate {
        arm: arm.clone(),
        values: vec![Some("1ms".into())],
        round: 1,
        runs: 6,
        value: Some(1e6),
        ratio,
        ratio_ci95: Some([0.4, 0.6]),
        dropped: None,
    };
    Tuning {
        answer: Answer::Found,
        best: Some(arm.clone()),
        searched: vec!["mixed".into()],
        held_out: vec!["mixed".into()],
        default: "eevdf".into(),
        objective: Objective { metric: "wakeup_latency_p99".into(), unit: "ns".into(), ..Objective::default() },
        guards: vec!["throughput >= -1%".into()],
        finalists: vec![Finalist { arm, ratio, guards: vec![Kept::Yes], ..Finalist::default() }],
        knobs: vec![Knob::new("base_slice", levels, (Some(3.0), Told::Apart))],
        candidates: vec![candidate],
        application: Some(application()),
        notes: vec!["a note".into()],
        race: Some(Race { file: None, why_not: Some("no race".into()) }),
        ..Tuning::default()
    }
}
