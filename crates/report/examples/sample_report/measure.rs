//! Figures for the sample, computed from the made-up timelines so that charts, tables and timeline agree.

use crate::schedule::{self, Manner};
use goodness_report::model::{
    Better, Counted, Details, Distribution, Fidelity, FidelityMetric, Input, InputKind, MachineSummary, MetricAbout,
    MetricSummary, PolicyReport, QUANTILES, Setting, TaskReport, Verdict, Violation, VsReference,
};
use goodness_report::{Report, Timeline};

const MS: u64 = 1_000_000;
const REFERENCE: usize = 0;

/// Name, settings, time slice in ms, and whether a woken task runs first.
type Sample = (&'static str, &'static [(&'static str, &'static str)], u64, bool);
const POLICIES: [Sample; 7] = [
    ("eevdf", &[("kernel", "6.12"), ("base_slice", "3ms"), ("run_to_parity", "on")], 3, false),
    ("eevdf", &[("kernel", "6.6"), ("base_slice", "3ms"), ("run_to_parity", "on")], 4, false),
    ("cfs", &[("kernel", "6.1"), ("sched_latency", "12ms"), ("min_granularity", "1.5ms")], 1, false),
    ("staircase", &[("version", "7.G"), ("interactive", "on"), ("compute", "off")], 6, true),
    ("o1", &[("kernel", "2.6.8")], 2, true),
    ("rr", &[("timeslice", "100ms")], 100, false),
    ("fifo", &[], 100_000, false),
];

/// The report and one timeline for each policy; the first one has `slices` slices.
pub fn sample(slices: usize) -> (Report, Vec<Timeline>) {
    let timelines: Vec<Timeline> = POLICIES
        .iter()
        .enumerate()
        .map(|(i, p)| {
            let slices = if i == 0 { slices } else { slices / 20 };
            schedule::make(i, Manner { timeslice: p.2 * MS, wakers_first: p.3, slices })
        })
        .collect();
    let mut policies: Vec<PolicyReport> = timelines.iter().map(policy).collect();
    compare(&mut policies);
    let report = Report {
        input: Input {
            kind: InputKind::Trace,
            name: "made-up-web-server.trace".into(),
            sha256: Some("9f2c5d0e7a6b4c318d1f0e9b8a7c6d5e4f3a2b1c0d9e8f7a6b5c4d3e2f1a0b9c".into()),
            lost_events: Some(0),
        },
        machine: MachineSummary { name: "made-up".into(), cpus: schedule::CPUS, hz: 250 },
        seed: 1,
        runs_per_policy: 10,
        simulated_ns: timelines[REFERENCE].end,
        fidelity: Some(fidelity(&policies[REFERENCE])),
        policies,
        details: details(),
        ..Report::default()
    };
    (report, timelines)
}

/// A report of one policy that did nothing, and its empty timeline.
pub fn bare() -> (Report, Timeline) {
    let metrics = vec![metric("wakeup_latency_p99", "ns", Better::Lower, None, 0)];
    let violation = Violation {
        checker: "affinity".into(),
        at_ns: 1_204_000,
        message: "task 7 ran on cpu 1, which it may not use".into(),
        reproduce: "goodness run bare.trace -p rr --seed 42".into(),
    };
    let policy = PolicyReport { name: "rr".into(), metrics, violations: vec![violation], ..PolicyReport::default() };
    let input = Input { kind: InputKind::Trace, name: "bare.trace".into(), lost_events: Some(12), sha256: None };
    let policies = vec![policy];
    (Report { input, policies, ..Report::default() }, Timeline { cpus: 2, ..Timeline::default() })
}

fn policy(timeline: &Timeline) -> PolicyReport {
    let (name, settings, ..) = POLICIES[timeline.policy];
    let mut latencies: Vec<u64> = timeline.slices.iter().filter(|s| s.woken.is_some()).map(|s| s.waited).collect();
    let mut lengths: Vec<u64> = timeline.slices.iter().map(|s| s.end - s.start).collect();
    latencies.sort_unstable();
    lengths.sort_unstable();
    let seconds = timeline.end as f64 / 1e9;
    let busy: u64 = lengths.iter().sum();
    let of = |name: &str, unit: &str, better, value| metric(name, unit, better, Some(value), lengths.len());
    PolicyReport {
        name: name.into(),
        label: String::new(),
        settings: settings.iter().map(|(n, v)| Setting { name: (*n).into(), value: (*v).into() }).collect(),
        is_reference: timeline.policy == REFERENCE,
        metrics: vec![
            of("wakeup_latency_mean", "ns", Better::Lower, mean(&latencies)),
            of("wakeup_latency_p50", "ns", Better::Lower, at(&latencies, 0.5)),
            of("wakeup_latency_p99", "ns", Better::Lower, at(&latencies, 0.99)),
            of("wakeup_latency_p999", "ns", Better::Lower, at(&latencies, 0.999)),
            of("throughput", "1/s", Better::Higher, latencies.len() as f64 / seconds),
            of("slice_length_mean", "ns", Better::Neither, mean(&lengths)),
            of("context_switches", "1/s", Better::Lower, lengths.len() as f64 / seconds),
            of("utilisation", "share", Better::Neither, busy as f64 / timeline.end as f64 / f64::from(timeline.cpus)),
            metric("io_latency_p99", "ns", Better::Lower, None, 0),
        ],
        tasks: tasks(timeline),
        groups: Vec::new(),
        decisions: Some(lengths.len() as u64),
        simulation_wall_ns: Some(lengths.len() as u64 * 97),
        violations: Vec::new(),
        application: None,
        distributions: vec![curve("wakeup_latency", &latencies), curve("slice_length", &lengths)],
    }
}

fn metric(name: &str, unit: &str, better: Better, value: Option<f64>, samples: usize) -> MetricSummary {
    let ci95 = value.map(|v| [v * 0.95, v * 1.04]);
    MetricSummary {
        name: name.into(),
        unit: unit.into(),
        better,
        value,
        ci95,
        samples: samples as u64,
        error_factor: None,
        vs_reference: None,
    }
}

fn mean(sorted: &[u64]) -> f64 {
    sorted.iter().sum::<u64>() as f64 / sorted.len().max(1) as f64
}

fn at(sorted: &[u64], quantile: f64) -> f64 {
    let last = sorted.len().saturating_sub(1);
    sorted.get((quantile * last as f64).round() as usize).copied().unwrap_or(0) as f64
}

fn curve(metric: &str, sorted: &[u64]) -> Distribution {
    let quantiles = QUANTILES.iter().map(|&q| [q, at(sorted, q)]).collect();
    Distribution { metric: metric.into(), unit: "ns".into(), samples: sorted.len() as u64, quantiles }
}

/// Verdicts by a simple rule, as this is only a sample.
fn compare(policies: &mut [PolicyReport]) {
    let reference = policies[REFERENCE].clone();
    for policy in policies.iter_mut().filter(|p| !p.is_reference) {
        for m in &mut policy.metrics {
            let base = reference.metric(&m.name).and_then(|r| r.value);
            let Some(ratio) = m.value.zip(base).map(|(v, b)| v / b).filter(|r| r.is_finite()) else { continue };
            let good = if m.better == Better::Higher { ratio > 1.0 } else { ratio < 1.0 };
            let verdict = match (ratio - 1.0).abs() {
                d if d < 0.02 => Verdict::Same,
                d if d < 0.12 => Verdict::Inconclusive,
                _ if good => Verdict::Better,
                _ => Verdict::Worse,
            };
            m.vs_reference =
                Some(VsReference { ratio: Some(ratio), ci95: Some([ratio * 0.93, ratio * 1.06]), verdict });
        }
    }
}

fn tasks(timeline: &Timeline) -> Vec<TaskReport> {
    let mut latencies = vec![Vec::new(); timeline.tasks.len()];
    let named = timeline.tasks.iter().map(|t| TaskReport {
        name: t.name.clone(),
        id: t.id,
        nice: Some(0),
        ..TaskReport::default()
    });
    let mut tasks: Vec<TaskReport> = named.collect();
    for slice in &timeline.slices {
        let task = &mut tasks[slice.task.index()];
        task.cpu_time_ns += slice.end - slice.start;
        task.wait_ns += slice.waited;
        task.switches += 1;
        if slice.woken.is_some() {
            task.wakeups += 1;
            latencies[slice.task.index()].push(slice.waited);
        }
    }
    for (task, mut latencies) in tasks.iter_mut().zip(latencies) {
        latencies.sort_unstable();
        let quantile = |q| (!latencies.is_empty()).then(|| at(&latencies, q) as u64);
        task.sleep_ns = timeline.end.saturating_sub(task.cpu_time_ns + task.wait_ns);
        (task.wakeup_latency_p50_ns, task.wakeup_latency_p99_ns) = (quantile(0.5), quantile(0.99));
        task.wakeup_latency_max_ns = quantile(1.0);
    }
    tasks
}

fn fidelity(reference: &PolicyReport) -> Fidelity {
    let row = |name: &str, error: f64, tolerance: f64| {
        let m = reference.metric(name).expect("the sample has this metric");
        FidelityMetric {
            name: name.into(),
            recorded: m.value.map(|v| v / (1.0 + error)),
            replayed: m.value,
            error: Some(error),
            unit: m.unit.clone(),
            tolerance: Some(tolerance),
        }
    };
    let metrics = vec![
        row("utilisation", 0.004, 0.01),
        row("context_switches", 0.062, 0.10),
        row("wakeup_latency_p50", 0.118, 0.25),
        row("wakeup_latency_p99", 0.284, 0.25),
    ];
    Fidelity { policy: "eevdf".into(), metrics, lacks: Vec::new() }
}

fn details() -> Details {
    let about = [
        ("wakeup_latency_p99", "From the waking of a task to its switch-in; one in a hundred took longer."),
        ("throughput", "Wake-ups served per second of simulated time."),
    ];
    Details {
        has_arms: false,
        command: Some(
            "goodness compare made-up-web-server.trace --seed 1 --runs 10 --html goodness-report.html".into(),
        ),
        samples: None,
        what_varies: Some("each run shifts external wake-ups by up to one tick, drawn from its seed".into()),
        ranked_by: Some("wakeup_latency_p99".into()),
        effects: None,
        metrics: about
            .map(|(n, s)| MetricAbout { name: n.into(), title: goodness_observe::title(n), summary: s.into() })
            .into(),
        workload_notes: vec!["34 tasks: 6 compute, 28 compute and sleep at random. Nothing here was measured.".into()],
        machine_notes: vec!["8 equal CPUs behind one cache; all costs are zero.".into()],
        warnings: vec![
            "This is a sample made by an example program. Its figures say nothing about any scheduler.".into(),
        ],
        repairs: vec![Counted { what: "switches without a wake-up before them".into(), count: 3 }],
        unknowns: vec![Counted { what: "waits whose end has no known cause".into(), count: 17 }],
    }
}
