//! The conclusion in one sentence: the policy that changes the ranking metric, by how much, and at what cost.

use crate::figure::{self, printable};
use crate::model::{Better, MetricSummary, PolicyReport, Report, Verdict};

/// Metrics named that got worse; the tables have all.
const COSTS_SHOWN: usize = 3;
/// Metrics that a ranking of requests names beside the one that ranks.
const OF_SERVERS: [&str; 3] = ["throughput", "request_latency_p999", "context_switches"];

impl Report {
    /// One or two sentences about the ranking, after a warning if they cannot be trusted; empty if nothing was
    /// compared.
    #[must_use]
    pub fn conclusion(&self) -> String {
        let answer = self.answer();
        match self.trust.as_ref().filter(|trust| trust.is_untrusted() && !answer.is_empty()) {
            Some(trust) => format!("Untrusted: {}. {answer}", trust.because.join("; ")),
            None => format!("{answer}{}", self.assurance()),
        }
    }

    /// The best arm, if one is better than the reference.
    #[must_use]
    pub fn winner(&self) -> Option<&PolicyReport> {
        let metric = self.ranked_by()?;
        self.better(metric).first().map(|index| &self.policies[*index])
    }

    /// The commands that apply the winner to the recorded machine, and those that take it back, a line each; empty
    /// without any. Not to be wrapped: commands are copied as a whole.
    #[must_use]
    pub fn commands(&self) -> String {
        let Some(application) = self.winner().and_then(|it| it.application.as_ref()) else { return String::new() };
        let lines = |head: &'static str, all: &[String]| -> Vec<String> {
            all.iter().map(|command| format!("{head}{}", printable(command))).collect()
        };
        [lines("Apply:  ", &application.apply), lines("Undo:   ", &application.undo)].concat().join("\n")
    }

    /// The arms that are better than the reference in `metric`, the best first.
    fn better(&self, metric: &str) -> Vec<usize> {
        let mut better = self.ranking(metric);
        let is_better = |it: &PolicyReport| it.violations.is_empty() && verdict(it, metric) == Some(Verdict::Better);
        better.retain(|index| is_better(&self.policies[*index]));
        better
    }

    /// The error of the replay in the metric that ranks, where it keeps its promise.
    fn assurance(&self) -> String {
        let Some(metric) = self.ranked_by().filter(|_| self.trust.is_some() && self.policies.len() > 1) else {
            return String::new();
        };
        let fidelity = self.fidelity.iter().flat_map(|it| &it.metrics).find(|it| it.name == metric);
        let Some(kept) = fidelity.filter(|it| it.keeps_promise() == Some(true)) else { return String::new() };
        let [error, bound] = [kept.error, kept.tolerance].map(figure::percent);
        format!(" Trusted: the replay is {error} off the recording in {}, at most {bound} promised.", spaced(metric))
    }

    /// Other figures that a server's owner asks for: throughput, slowest requests and switches, and their change.
    fn beside(&self, head: &str, ranked: &str, reference: &PolicyReport, best: &PolicyReport) -> String {
        let part = |name: &&str| {
            let [from, to] = [reference, best].map(|it| it.metric(name).filter(|m| m.value.is_some()));
            let (from, to) = from.zip(to)?;
            Some(match (figure::of(from), figure::of(to)) {
                (same, to) if same == to => format!("{} {to}", spaced(name)),
                (from, to) => format!("{} from {from} to {to}", spaced(name)),
            })
        };
        let parts: Vec<String> = OF_SERVERS.iter().filter(|name| **name != ranked).filter_map(part).collect();
        match ranked.starts_with("request_latency") && !parts.is_empty() {
            true => format!(" {head}: {}.", parts.join(", ")),
            false => String::new(),
        }
    }

    fn answer(&self) -> String {
        let Some(metric) = self.ranked_by() else {
            return self.unranked();
        };
        let labels = self.labels();
        let Some(reference) = self.policies.iter().position(|p| p.is_reference).filter(|_| labels.len() > 1) else {
            return String::new();
        };
        let better = self.better(metric);
        let Some(best) = better.first() else {
            let (row, reference) = (self.row(), printable(&labels[reference]));
            let own = self
                .reference()
                .map_or_else(String::new, |it| self.beside(&format!("Under {reference}"), metric, it, it));
            return format!("No {row} is better than {reference} in {}.{own}", spaced(metric));
        };
        let of = |index: usize| self.policies[index].metric(metric);
        let change = change(of(reference), of(*best));
        let mut text = format!("{} {change}.", printable(&labels[*best]));
        text.push_str(&self.beside("Besides", metric, &self.policies[reference], &self.policies[*best]));
        text.push_str(&self.costs(&self.policies[*best]));
        match better.len() - 1 {
            0 => {}
            1 => text.push_str(&format!(" One more {} is better, too.", self.row())),
            others => text.push_str(&format!(" {others} more {} are better, too.", self.rows())),
        }
        text
    }

    /// The metrics in which `policy` is worse than the reference.
    fn costs(&self, policy: &PolicyReport) -> String {
        let worse = |name: &&str| !name.starts_with("scheduler_share") && verdict(policy, name) == Some(Verdict::Worse);
        let names: Vec<String> = self.metric_names_by_weight().into_iter().filter(worse).map(spaced).collect();
        match names.len() {
            0 => String::new(),
            few if few <= COSTS_SHOWN => format!(" It is worse in {}.", names.join(", ")),
            many => {
                let shown = names[..COSTS_SHOWN].join(", ");
                format!(" It is worse in {shown} and {} more.", many - COSTS_SHOWN)
            }
        }
    }
}

fn verdict(policy: &PolicyReport, metric: &str) -> Option<Verdict> {
    policy.metric(metric).and_then(|m| m.vs_reference).map(|versus| versus.verdict)
}

/// `cuts wakeup latency p99 from 5.84 ms to 8.29 µs (704× lower)`.
fn change(reference: Option<&MetricSummary>, best: Option<&MetricSummary>) -> String {
    let Some(best) = best else { return String::new() };
    let verb = if best.better == Better::Higher { "raises" } else { "cuts" };
    let from = figure::show(reference.and_then(|m| m.value), &best.unit);
    let to = figure::show(best.value, &best.unit);
    let size = best.vs_reference.and_then(|v| v.ratio).map_or_else(String::new, |ratio| format!(" ({})", size(ratio)));
    format!("{verb} {} from {from} to {to}{size}", spaced(&best.name))
}

/// A ratio in words: `31 % lower`, `12× higher`.
pub(crate) fn size(ratio: f64) -> String {
    let direction = if ratio < 1.0 { "lower" } else { "higher" };
    let factor = if ratio < 1.0 { 1.0 / ratio } else { ratio };
    if !factor.is_finite() {
        return format!("{direction} beyond measure");
    }
    match factor {
        10.0.. => format!("{factor:.0}× {direction}"),
        2.0.. => format!("{factor:.1}× {direction}"),
        _ => format!("{:.1} % {direction}", (ratio - 1.0).abs() * 100.0),
    }
}

pub(crate) fn spaced(name: &str) -> String {
    name.replace('_', " ")
}

#[cfg(test)]
mod tests {
    use super::*;
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
        let metrics = vec![metric("wakeup_latency_p99", p99, versus), metric("turnaround", 2e6, cost)];
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
            "cfs cuts wakeup latency p99 from 5.84 ms to 8.29 µs (704× lower). It is worse in turnaround."
        );
        let rr = policy("rr", 4e6, Some((0.69, Verdict::Better)));
        let said = conclusion(vec![policy("eevdf", 5.84e6, None), rr, cfs]);
        assert!(said.ends_with("One more policy is better, too."), "{said}");
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
        ends(true, 2, "One more arm is better, too.");
        ends(true, 3, "2 more arms are better, too.");
        ends(false, 3, "2 more policies are better, too.");
        let none = Report { policies: vec![policy("eevdf", 1.0, None), policy("eevdf", 1.0, None)], ..of(true, 0) };
        assert_eq!(none.conclusion(), "No arm is better than eevdf in wakeup latency p99.");
        let text = crate::text::render(&of(true, 2), 80, false);
        assert!(text.contains("for each arm") && !text.contains("policy") && !text.contains("policies"), "{text}");
        let text = crate::text::render(&of(false, 2), 80, false);
        assert!(text.contains("for each policy") && !text.contains("arm"), "{text}");
    }

    #[test]
    fn without_a_better_policy_or_without_a_reference_no_change_is_claimed() {
        let rr = policy("rr", 9e6, Some((1.5, Verdict::Worse)));
        let said = conclusion(vec![policy("eevdf", 5.84e6, None), rr.clone()]);
        assert_eq!(said, "No policy is better than eevdf in wakeup latency p99.");
        assert_eq!(conclusion(vec![rr]), "");
        assert_eq!(conclusion(Vec::new()), "Nothing that could rank the policies was measured.");
    }

    #[test]
    fn what_cannot_be_trusted_says_so_first() {
        let rr = policy("rr", 9e6, Some((1.5, Verdict::Worse)));
        let trust = |verdict| Some(Trust { verdict, because: vec!["it is off".into()] });
        let policies = vec![policy("eevdf", 5.84e6, None), rr];
        let untrusted = Report { policies, trust: trust(TrustVerdict::Untrusted), ..Report::default() };
        assert!(untrusted.conclusion().starts_with("Untrusted: it is off. No policy is better"));
        let trusted = Report { trust: trust(TrustVerdict::Trusted), ..untrusted };
        assert!(trusted.conclusion().starts_with("No policy is better"));
    }

    #[test]
    fn a_policy_that_violated_a_checker_is_not_the_answer() {
        let violations = vec![Violation::default()];
        let cfs = PolicyReport { violations, ..policy("cfs", 8_290.0, Some((0.00142, Verdict::Better))) };
        let said = conclusion(vec![policy("eevdf", 5.84e6, None), cfs]);
        assert!(said.starts_with("No policy is better"), "{said}");
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
        assert!(crate::text::render(&won, 80, false).contains("Apply:  renice"));
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
        let beside = "Besides: throughput 500/s, context switches from 900 to 1200.";
        assert_eq!(said, format!("a.nice=5 cuts request latency p99 from 20 ms to 10 ms (2.0× lower). {beside}"));
        let said = conclusion(vec![arm(2e7, 900.0, None), arm(1e7, 1_200.0, Some(Verdict::Inconclusive))]);
        assert!(said.ends_with("Under base: throughput 500/s, context switches 900."), "{said}");
    }

    #[test]
    fn small_ratios_are_per_cent_and_large_ones_factors() {
        let said = [0.69, 0.31, 1.08, 40.0, 0.0].map(size);
        assert_eq!(said, ["31.0 % lower", "3.2× lower", "8.0 % higher", "40× higher", "lower beyond measure"]);
    }
}
