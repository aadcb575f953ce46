//! Conclusions of made-up reports.

use super::*;
use crate::every_run::{PolicyRuns, RunValues};
use crate::model::{Details, Trust, TrustVerdict, Violation, VsReference};

fn policy(name: &str, p99: f64, versus: Option<(f64, Verdict)>) -> PolicyReport {
    let metric = |name: &str, value: f64, versus: Option<(f64, Verdict)>| MetricSummary {
        name: name.into(),
        unit: "ns".into(),
        better: Better::Lower,
        value: Some(value),
        vs_reference: versus.map(|(ratio, verdict)| VsReference { ratio: Some(ratio), ci95: None, verdict }),
        ..MetricSummary::default()
    };
    let cost = versus.map(|_| (1.5, Verdict::Worse));
    let turnaround = if cost.is_some() { 3e6 } else { 2e6 };
    let metrics = vec![metric("wakeup_latency_p99", p99, versus), metric("turnaround", turnaround, cost)];
    PolicyReport { name: name.into(), is_reference: versus.is_none(), metrics, ..PolicyReport::default() }
}

fn conclusion(policies: Vec<PolicyReport>) -> String {
    Report { policies, ..Report::default() }.conclusion()
}

#[test]
fn the_best_policy_is_named_with_both_values_the_factor_and_the_cost() {
    let cfs = policy("cfs", 8_290.0, Some((0.00142, Verdict::Better)));
    let said = conclusion(vec![policy("eevdf", 5.84e6, None), cfs.clone()]);
    assert_eq!(
        said,
        "cfs cuts p99 wake-up latency from 5.84 ms (eevdf) to 8.29 µs (about 700× lower); worse: turnaround 3 ms \
         instead of 2 ms."
    );
    let rr = policy("rr", 4e6, Some((0.69, Verdict::Better)));
    let said = conclusion(vec![policy("eevdf", 5.84e6, None), rr, cfs]);
    assert!(said.ends_with("; one more policy is better, too."), "{said}");
}

#[test]
fn an_improved_value_has_its_interval_in_its_own_unit() {
    let mut o1 = policy("o1", 3.1e6, Some((0.53, Verdict::Better)));
    o1.metrics[0].vs_reference.as_mut().unwrap().ci95 = Some([0.38, 0.76]);
    let said = conclusion(vec![policy("eevdf", 5.8e6, None), o1.clone()]);
    assert!(
        said.starts_with("o1 cuts p99 wake-up latency from 5.80 ms (eevdf) to 3.10 ms (95 %: 2.20 to 4.41 ms); "),
        "{said}"
    );
    o1.metrics[0].value = Some(1e6);
    let said = conclusion(vec![policy("eevdf", 5.8e6, None), o1]);
    assert!(said.contains("to 1 ms (95 %: 1.3 to 2.6× lower); "), "the ratio of means is another one: {said}");
}

#[test]
fn the_rows_are_arms_where_the_work_is_changed_and_policies_elsewhere() {
    let of = |has_arms, count: usize| {
        let better = (0..count).map(|_| policy("eevdf", 4e6, Some((0.69, Verdict::Better))));
        let policies = std::iter::once(policy("eevdf", 5.84e6, None)).chain(better).collect();
        let details = Details { has_arms, ..Details::default() };
        Report { policies, details, ..Report::default() }
    };
    let ends = |has_arms, count, end: &str| {
        let said = of(has_arms, count).conclusion();
        assert!(said.ends_with(end), "{said}");
    };
    ends(true, 2, "; one more arm is better, too.");
    ends(true, 3, "; 2 more arms are better, too.");
    ends(false, 3, "; 2 more policies are better, too.");
    let all = |report: &Report| crate::text::render(report, crate::text::Extent::All, 80, false);
    let text = all(&of(true, 2));
    assert!(text.contains("for each arm") && !text.contains("policy") && !text.contains("policies"), "{text}");
    let text = all(&of(false, 2));
    assert!(text.contains("for each policy") && !text.contains("arm"), "{text}");
}

#[test]
fn without_a_better_policy_no_change_is_claimed() {
    let rr = policy("rr", 9e6, Some((1.5, Verdict::Worse)));
    let said = conclusion(vec![policy("eevdf", 5.84e6, None), rr.clone()]);
    assert_eq!(said, "No other policy is shown to be better than eevdf in p99 wake-up latency (5.84 ms): 1 worse.");
    let same = policy("cfs", 5.84e6, Some((1.0, Verdict::Same)));
    let open = |name: &str, ratio: f64| {
        let mut it = policy(name, 5.84e6 * ratio, Some((ratio, Verdict::Inconclusive)));
        it.metrics[0].vs_reference.as_mut().unwrap().ci95 = Some([ratio * 0.8, ratio * 1.2]);
        it
    };
    let said = conclusion(vec![policy("eevdf", 5.84e6, None), rr.clone(), same, open("o1", 0.9)]);
    assert!(said.ends_with("(5.84 ms): 1 worse, 1 the same, 1 undecided."), "{said}");
    let said = conclusion(vec![policy("eevdf", 5.84e6, None), open("o1", 0.9), open("ule", 0.95)]);
    assert_eq!(
        said,
        "Undecided: none of the 2 other policies is shown to differ from eevdf in p99 wake-up latency (5.84 ms); the \
         best of them, o1, is 10 % lower (95 %: 28 % lower to 8.0 % higher)."
    );
    let said = conclusion(vec![policy("eevdf", 5.84e6, None), open("o1", 0.9)]);
    assert!(said.starts_with("Undecided: o1 may be better or worse than eevdf in p99"), "{said}");
    let said = conclusion(vec![policy("eevdf", 5.84e6, None), open("o1", 1.0)]);
    assert!(said.ends_with("(5.84 ms): simulated unchanged (95 %: 20 % lower to 20 % higher)."), "{said}");
    assert_eq!(conclusion(vec![rr.clone(), rr]), "", "nothing to compare with");
    assert_eq!(conclusion(Vec::new()), "Nothing that could rank the policies was measured.");
    assert_eq!(conclusion(vec![policy("eevdf", 5.84e6, None)]), "eevdf: p99 wake-up latency 5.84 ms.");
}

#[test]
fn what_cannot_be_trusted_says_so_first_and_what_can_says_its_error() {
    let rr = policy("rr", 9e6, Some((1.5, Verdict::Worse)));
    let trust = |verdict, because| Some(Trust { verdict, because });
    let policies = vec![policy("eevdf", 5.84e6, None), rr];
    let reasons = vec!["it is off".into(), "it is late".into()];
    let trust_of = trust(TrustVerdict::Untrusted, reasons);
    let untrusted = Report { policies, trust: trust_of, ..Report::default() };
    let said = untrusted.conclusion();
    assert!(
        said.starts_with("Untrusted: it is off (and one more reason). The simulation alone says: No other"),
        "{said}"
    );
    assert!(untrusted.caveats()[0].contains("it is late"));
    let metric = crate::model::FidelityMetric {
        name: "wakeup_latency_p99".into(),
        recorded: Some(100.0),
        error: Some(0.08),
        tolerance: Some(0.1),
        ..Default::default()
    };
    let fidelity = Some(crate::model::Fidelity { metrics: vec![metric], ..Default::default() });
    let trusted = Report { trust: trust(TrustVerdict::Trusted, Vec::new()), fidelity, ..untrusted };
    assert!(
        trusted.conclusion().ends_with("; the replay is trusted, and intervals include the replay error, 8 %."),
        "{}",
        trusted.conclusion()
    );
    let input = crate::model::Input { kind: InputKind::Trace, ..Default::default() };
    let unknown = Report { trust: None, fidelity: None, input, ..trusted };
    assert!(unknown.conclusion().ends_with("replay error not measured: see `goodness verify`."));
}

#[test]
fn a_policy_that_violated_a_checker_is_not_the_answer() {
    let violations = vec![Violation::default()];
    let cfs = PolicyReport { violations, ..policy("cfs", 8_290.0, Some((0.00142, Verdict::Better))) };
    let said = conclusion(vec![policy("eevdf", 5.84e6, None), cfs]);
    assert!(said.starts_with("No other policy is shown to be better"), "{said}");
}

#[test]
fn the_winner_comes_with_the_commands_that_apply_it_and_take_it_back() {
    let mut application = crate::model::Application::default();
    application.add("renice -n 5 -p 7".into(), "renice -n 0 -p 7".into());
    let with = |verdict| {
        let arm = policy("eevdf", 4e6, Some((0.69, verdict)));
        let arm = PolicyReport { application: Some(application.clone()), ..arm };
        Report { policies: vec![policy("eevdf", 5.84e6, None), arm], ..Report::default() }
    };
    let won = with(Verdict::Better);
    assert_eq!(won.commands(), "Apply:  renice -n 5 -p 7\nUndo:   renice -n 0 -p 7");
    assert!(crate::text::render(&won, crate::text::Extent::Answer, 80, false).contains("Apply:  renice"));
    assert!(crate::html::render(&won, &[]).contains("Undo:   renice"));
    assert_eq!(with(Verdict::Inconclusive).commands(), "", "nothing to apply");
}

#[test]
fn what_a_servers_owner_asks_for_stands_beside_the_slowest_requests() {
    let metric = |name: &str, unit: &str, value: f64, verdict: Option<Verdict>| MetricSummary {
        name: name.into(),
        unit: unit.into(),
        value: Some(value),
        vs_reference: verdict.map(|verdict| VsReference { ratio: Some(value / 2e7), ci95: None, verdict }),
        ..MetricSummary::default()
    };
    let arm = |p99: f64, switches: f64, verdict: Option<Verdict>| PolicyReport {
        name: "eevdf".into(),
        label: if verdict.is_some() { "a.nice=5".into() } else { "base".into() },
        is_reference: verdict.is_none(),
        metrics: vec![
            metric("request_latency_p99", "ns", p99, verdict),
            metric("throughput", "1/s", 500.0, None),
            metric("context_switches", "count", switches, None),
        ],
        ..PolicyReport::default()
    };
    let said = conclusion(vec![arm(2e7, 900.0, None), arm(1e7, 1_200.0, Some(Verdict::Better))]);
    assert_eq!(
        said,
        "a.nice=5 cuts p99 request latency from 20 ms (base) to 10 ms; throughput unchanged; 33 % more context \
         switches."
    );
    let mut undecided = arm(1e7, 900.0, Some(Verdict::Better));
    let versus = |verdict, ci95| Some(VsReference { ratio: Some(0.99), ci95: Some(ci95), verdict });
    for (verdict, ci95, words) in [
        (Verdict::Inconclusive, [0.97, 1.04], "throughput within 4 % of before"),
        (Verdict::Inconclusive, [0.5, 1.5], "throughput undecided"),
        (Verdict::Worse, [0.98, 0.995], "throughput 1.0 % lower"),
    ] {
        undecided.metrics[1].value = Some(495.0);
        undecided.metrics[1].vs_reference = versus(verdict, ci95);
        let said = conclusion(vec![arm(2e7, 900.0, None), undecided.clone()]);
        assert!(said.contains(words), "{said}");
    }
}

#[test]
fn where_the_metric_asked_for_is_0_everywhere_another_one_is_named() {
    let of = |p99| {
        let policies = vec![policy("eevdf", p99, None), policy("cfs", p99, Some((1.0, Verdict::Inconclusive)))];
        let ranked_by = Some("wakeup_latency_p99".into());
        Report { policies, details: Details { ranked_by, ..Details::default() }, ..Report::default() }.conclusion()
    };
    assert_eq!(
        of(0.0),
        "No answer: p99 wake-up latency is 0 in every policy and ranks nothing; `--rank-by turnaround` does."
    );
    assert!(of(1.0).starts_with("Undecided: "), "{}", of(1.0));
}

#[test]
fn a_change_from_0_has_no_ratio_and_leaves_no_gap_in_the_sentence() {
    let mut cfs = policy("cfs", 5e5, Some((1.0, Verdict::Inconclusive)));
    cfs.metrics[0].vs_reference.as_mut().expect("a verdict").ratio = None;
    let details = Details { ranked_by: Some("wakeup_latency_p99".into()), ..Details::default() };
    let said = Report { policies: vec![policy("eevdf", 0.0, None), cfs], details, ..Report::default() }.conclusion();
    assert_eq!(said, "Undecided: cfs may be better or worse than eevdf in p99 wake-up latency (0 ns).");
}

#[test]
fn an_arm_that_changes_nothing_is_said_to_and_not_to_be_undecided() {
    let runs = |policy: &str, value| PolicyRuns {
        policy: policy.into(),
        values: vec![RunValues { name: "wakeup_latency_p99".into(), values: vec![Some(value)] }],
        ..PolicyRuns::default()
    };
    let arm = |label: &str, versus| PolicyReport { label: label.into(), ..policy("eevdf", 5.84e6, versus) };
    let said = |others: &[(&str, f64)]| {
        let versus = |value| Some((if value == 1.0 { 1.0 } else { 0.98 }, Verdict::Inconclusive));
        let policies = others.iter().map(|(label, value)| arm(label, versus(*value)));
        let all = [("base", 1.0)].iter().chain(others);
        Report {
            policies: std::iter::once(arm("base", None)).chain(policies).collect(),
            runs: all.map(|(label, value)| runs(label, *value)).collect(),
            sampling: Sampling::Replays,
            details: Details { has_arms: true, ..Details::default() },
            ..Report::default()
        }
        .conclusion()
    };
    let one = said(&[("db.nice=0", 1.0)]);
    assert_eq!(one, "db.nice=0 changes nothing in these replays against base: every value is the same.");
    let two = said(&[("db.nice=0", 1.0), ("cpus=2", 1.0)]);
    assert!(two.starts_with("None of the 2 other arms changes anything in these replays against base: "), "{two}");
    let mixed = said(&[("db.nice=0", 1.0), ("db.nice=1", 2.0)]);
    assert!(mixed.starts_with("Undecided: none of the 2 other arms") && mixed.contains("them, db.nice=1, "), "{mixed}");
}
