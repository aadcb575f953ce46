//! The terminal form of a report.

use goodness_report::Report;
use goodness_report::groups::GroupReport;
use goodness_report::model::{
    Better, Counted, Details, Fidelity, FidelityMetric, Input, InputKind, MachineSummary, MetricSummary, PolicyReport,
    TaskReport, Verdict, Violation, VsReference,
};
use goodness_report::text::{self, Extent};

const METRICS: [&str; 6] =
    ["wakeup_latency_p99", "wakeup_latency_p999", "throughput", "migrations", "share_error", "jain_index"];

fn policy(name: &str, p99: Option<f64>, verdict: Option<Verdict>) -> PolicyReport {
    let vs_reference = verdict.map(|verdict| VsReference { ratio: Some(0.8125), ci95: Some([0.7, 0.91]), verdict });
    let metric = |name: &&str| MetricSummary {
        name: (*name).into(),
        unit: "ns".into(),
        better: if **name == *"throughput" { Better::Higher } else { Better::Lower },
        value: p99,
        ci95: p99.map(|v| [v * 0.9, v * 1.1]),
        samples: 100,
        error_factor: None,
        vs_reference,
    };
    PolicyReport {
        name: name.into(),
        is_reference: verdict.is_none() && p99.is_some(),
        metrics: METRICS.iter().map(metric).collect(),
        ..PolicyReport::default()
    }
}

fn report() -> Report {
    let task = |i: u64| TaskReport {
        name: format!("mariadbd-worker-{i}"),
        id: 1_000_000 + i,
        cpu_time_ns: i,
        ..Default::default()
    };
    let mut policies = vec![
        policy("eevdf", Some(1.5e6), None),
        policy("a-policy-with-a-name-far-too-long-for-any-terminal", Some(1.2e6), Some(Verdict::Better)),
        policy("rr", Some(9e6), Some(Verdict::Worse)),
        policy("fifo", None, None),
    ];
    policies[0].tasks = (0..20).map(task).collect();
    Report {
        input: Input { kind: InputKind::Trace, name: "web.trace".into(), lost_events: Some(12), sha256: None },
        machine: MachineSummary { name: "host.toml".into(), cpus: 2, hz: 250 },
        seed: 42,
        runs_per_policy: 10,
        simulated_ns: 10_000_000_000,
        policies,
        ..Report::default()
    }
}

fn line<'a>(text: &'a str, containing: &str) -> &'a str {
    text.lines().find(|l| l.contains(containing)).unwrap_or_else(|| panic!("no line with {containing:?} in\n{text}"))
}

#[test]
fn the_best_comes_first_with_interval_change_and_verdict_and_the_unmeasured_last() {
    let text = text::render(&report(), Extent::All, 120, false);
    let places: Vec<&str> = text.lines().skip_while(|l| !l.starts_with("#  policy")).skip(1).take(5).collect();
    let first = line(&text, "−30…−9 %");
    assert!(text.contains("Ranking by p99 wake-up latency (wakeup_latency_p99), lower is better"));
    assert!(text.starts_with(
        "a-policy-with-a-name-far-too-long-for-any-terminal cuts p99 wake-up latency from 1.50 ms (eevdf) to"
    ));
    assert!(
        first.starts_with("1  a-policy") && first.contains("1.08…1.32 ms") && first.contains("19 % lower"),
        "{text}"
    );
    assert!(line(&text, "reference").contains("eevdf"));
    let last = places.iter().rfind(|l| !l.is_empty()).unwrap();
    assert!(last.starts_with("–  fifo"), "{places:?}");
}

#[test]
fn the_answer_fits_on_a_screen_with_the_caveats_that_matter() {
    let mut report = report();
    report.policies.extend(["cfs", "o1", "ule"].map(|name| policy(name, Some(2e6), Some(Verdict::Worse))));
    report.details.warnings = vec!["a sentence that goes on and on ".repeat(9), "a second".into(), "a third".into()];
    report.fidelity = Some(Fidelity { policy: "eevdf".into(), ..Fidelity::default() });
    let answer = text::render(&report, Extent::Answer, 80, false);
    assert!(answer.lines().count() <= 21, "{answer}");
    assert!(answer.lines().all(|it| it.chars().count() <= 80), "{answer}");
    assert!(answer.contains("- The recording lost 12 events.\n- a sentence that"), "{answer}");
    assert!(answer.contains("…\n- a second") && !answer.contains("a third"), "{answer}");
    assert!(!answer.contains("Fidelity of the replay"), "{answer}");
    let ranking = text::render(&report, Extent::Ranking, 80, false);
    assert!(ranking.starts_with("Ranking by ") && answer.contains(ranking.trim_end()), "{ranking}");
}

#[test]
fn every_line_fits_into_eighty_columns_but_the_command_that_is_copied() {
    let mut report = report();
    let long = "a sentence that goes on and on so that nothing but breaking it can make it fit into a line";
    report.fidelity = Some(Fidelity {
        policy: "eevdf".into(),
        metrics: vec![FidelityMetric {
            name: "involuntary_switches".into(),
            unit: "count".into(),
            recorded: Some(1e7),
            replayed: Some(1.1e7),
            error: Some(0.1),
            tolerance: Some(0.05),
        }],
        lacks: Vec::new(),
    });
    report.details = Details {
        command: Some("goodness compare ".repeat(10)),
        what_varies: Some(long.into()),
        warnings: vec![long.into()],
        workload_notes: vec![long.into()],
        repairs: vec![Counted { what: long.into(), count: 3 }],
        ..Details::default()
    };
    for wide in text::render(&report, Extent::All, 80, false).lines().filter(|l| !l.starts_with("reproduce:")) {
        assert!(wide.chars().count() <= 80, "{} columns: {wide}", wide.chars().count());
    }
}

#[test]
fn no_name_is_broken_inside_a_word_in_eighty_columns() {
    let mut report = report();
    let names =
        ["eevdf", "cfs", "o1", "ule:slice=10", "redis-benchmark.class=batch", "eevdf+bfq:low_latency=off", "rr"];
    report.policies = names.map(|name| policy(name, Some(1.4949e6), Some(Verdict::Inconclusive))).into();
    report.policies[0] = policy("eevdf", Some(1.5e6), None);
    for metric in report.policies.iter_mut().flat_map(|it| &mut it.metrics) {
        metric.ci95 = Some([-828e3, 3.8e6]);
        metric.vs_reference.iter_mut().for_each(|it| it.ci95 = Some([0.05, 3.4]));
    }
    let all = text::render(&report, Extent::All, 80, false);
    for whole in ["ule:slice=10", "redis-benchmark.", "class=batch", "eevdf+bfq:", "low_latency=off"] {
        assert!(all.matches(whole).count() >= 2, "{whole} in ranking and other metrics: {all}");
    }
    assert!(all.contains("20× lower … 3.4× higher") && !all.contains("0…3.80 ms"), "its interval goes first: {all}");
    assert!(all.lines().all(|it| it.chars().count() <= 80), "{all}");
    let wide = text::render(&report, Extent::All, 120, false);
    assert!(wide.contains("  0…3.80 ms  ") && !wide.contains("-828"), "{wide}");
}

#[test]
fn without_colour_there_is_no_escape_sequence_and_with_it_there_is() {
    assert!(!text::render(&report(), Extent::All, 80, false).contains('\u{1b}'));
    assert!(text::render(&report(), Extent::All, 80, true).contains("\u{1b}["));
}

#[test]
fn a_name_from_outside_cannot_command_the_terminal() {
    let mut report = report();
    report.policies[0].tasks[19].name = "evil\u{1b}[2J\u{9b}31m\r\n".into();
    report.input.name = "web\u{7}.trace".into();
    let text = text::render(&report, Extent::All, 80, false);
    assert!(text.contains("evil"), "{text}");
    assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{text:?}");
}

#[test]
fn a_replay_without_a_measured_fidelity_says_so_and_a_missed_promise_too() {
    let mut report = report();
    assert!(text::render(&report, Extent::All, 80, false).contains("Not measured"));
    let metric = FidelityMetric {
        name: "context_switches".into(),
        recorded: Some(5.0),
        error: Some(0.2),
        tolerance: Some(0.1),
        ..Default::default()
    };
    report.fidelity = Some(Fidelity { policy: "eevdf".into(), metrics: vec![metric], lacks: Vec::new() });
    assert!(line(&text::render(&report, Extent::All, 80, false), "context switches").ends_with("≤ 10 %, missed"));
}

#[test]
fn lost_events_repairs_unknowns_and_violations_are_shown() {
    let mut report = report();
    report.details.repairs = vec![Counted { what: "switches out of order".into(), count: 3 }];
    report.details.unknowns = vec![Counted { what: "waits of unknown cause".into(), count: 17 }];
    report.policies[2].violations = vec![Violation {
        checker: "affinity".into(),
        at_ns: 1_204_000,
        message: "task 7 ran on cpu 3".into(),
        reproduce: "goodness run web.trace -p rr --seed 42".into(),
    }];
    let text = text::render(&report, Extent::All, 80, false);
    for expected in [
        "the recording lost 12 events",
        "repaired: 3 switches out of order",
        "not known: 17 waits of unknown cause",
        "VIOLATED affinity under rr at 1.20 ms: task 7 ran on cpu 3",
        "reproduce: goodness run web.trace -p rr --seed 42",
    ] {
        assert!(text.contains(expected), "{expected:?} is missing in\n{text}");
    }
    assert!(line(&text, "9 ms").ends_with("VIOLATED"), "a run that broke an invariant has no verdict");
}

#[test]
fn what_was_not_measured_has_no_mark() {
    let mut report = report();
    for metric in &mut report.policies[3].metrics {
        metric.vs_reference = Some(VsReference { ratio: None, ci95: None, verdict: Verdict::Inconclusive });
    }
    let text = text::render(&report, Extent::All, 120, false);
    assert!(text.contains("p99.9 wake-up") && !text.contains("– ?"), "{text}");
}

#[test]
fn a_report_of_nothing_is_still_a_sentence() {
    assert!(text::render(&Report::default(), Extent::All, 80, false).contains("Nothing that could rank"));
}

#[test]
fn groups_with_limits_have_a_table_and_others_none() {
    let mut report = report();
    assert!(!text::render(&report, Extent::All, 100, false).contains("Limits of groups"));
    let group = GroupReport { name: "web".into(), nr_periods: 100, nr_throttled: 19, ..GroupReport::default() };
    report.policies[0].groups = vec![GroupReport { throttled_ns: 344_000_000, ..group }];
    let text = text::render(&report, Extent::All, 100, false);
    let row = line(&text, " web ");
    assert!(["eevdf", "100", "19", "344 ms"].iter().all(|cell| row.contains(cell)), "{row}");
}
