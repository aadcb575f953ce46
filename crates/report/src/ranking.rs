//! The ranking: its metric, the order, and the label of each policy.

use crate::figure::printable;
use crate::model::{Better, MetricSummary, PolicyReport, Report, Trust, Verdict};
use std::cmp::Ordering;

/// Default ranking metrics, in order of preference: the ones that users notice come first.
const PREFERRED: [&str; 7] = [
    "request_latency_p99",
    "completion_time",
    "io_latency_p99",
    "wakeup_latency_p99",
    "turnaround",
    "throughput",
    "wakeup_latency_mean",
];
/// The metric that ranks unless one is asked for, of those that `tells` says are measured and not 0.
pub(crate) fn preferred(tells: impl Fn(&str) -> bool) -> Option<&'static str> {
    PREFERRED.into_iter().find(|name| tells(name))
}

/// Metrics shown first if they were measured: a workload with disks is about I/O, a server about requests.
pub(crate) const SHOWN_FIRST: [&str; 9] = [
    "iops",
    "bandwidth",
    "io_read_latency_p99",
    "io_write_latency_p99",
    "seek_distance",
    "throughput",
    "request_latency_p999",
    "request_latency_p50",
    "context_switches",
];

impl Report {
    /// The reference, if there is one.
    #[must_use]
    pub fn reference(&self) -> Option<&PolicyReport> {
        self.policies.iter().find(|p| p.is_reference)
    }

    /// All metrics' names in order of first appearance.
    #[must_use]
    pub fn metric_names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for metric in self.policies.iter().flat_map(|p| &p.metrics) {
            if !names.contains(&metric.name.as_str()) {
                names.push(&metric.name);
            }
        }
        names
    }

    /// Like [`Report::metric_names`], in order of relevance for the work.
    #[must_use]
    pub fn metric_names_by_weight(&self) -> Vec<&str> {
        let mut names = self.metric_names();
        let place = |name: &&str| SHOWN_FIRST.iter().position(|first| first == name && self.is_measured(name));
        names.sort_by_key(|name| place(name).unwrap_or(SHOWN_FIRST.len()));
        names
    }

    /// True if any policy has a value for the metric.
    #[must_use]
    pub fn is_measured(&self, metric: &str) -> bool {
        self.policies.iter().any(|p| p.metric(metric).is_some_and(|m| m.value.is_some()))
    }

    /// True if some policy's verdict in the metric that ranks is open, or cannot be trusted.
    #[must_use]
    pub fn is_undecided(&self) -> bool {
        if self.trust.as_ref().is_some_and(Trust::is_untrusted) {
            return true;
        }
        let Some(metric) = self.ranked_by() else { return true };
        let verdicts = self.policies.iter().filter(|p| !p.is_reference).map(|p| p.metric(metric)?.vs_reference);
        verdicts.into_iter().any(|v| v.is_none_or(|v| v.verdict == Verdict::Inconclusive))
    }

    /// The ranking metric: the requested one, else the first measured one of a fixed list, else any with a better
    /// direction. One that is 0 under all policies, or by which nothing compares with the reference, comes last.
    #[must_use]
    pub fn ranked_by(&self) -> Option<&str> {
        let asked = self.details.ranked_by.as_deref().into_iter();
        asked.chain(self.that_tell()).chain(PREFERRED).chain(self.metric_names()).find(|name| self.ranks(name))
    }

    /// The metric that would rank, had the requested one not been asked for; `None` if it is the same.
    pub(crate) fn ranked_instead(&self) -> Option<&str> {
        self.that_tell().find(|name| self.ranks(name)).filter(|name| Some(*name) != self.ranked_by())
    }

    /// True if there are several policies, and the metric is 0 under all that have a value.
    #[must_use]
    pub fn is_zero(&self, metric: &str) -> bool {
        let mut values = self.policies.iter().filter_map(|it| it.metric(metric)?.value).peekable();
        self.policies.len() > 1 && values.peek().is_some() && values.all(|it| it == 0.0)
    }

    /// Metrics by preference, without those that are 0 everywhere and those by which nothing compares with the
    /// reference.
    fn that_tell(&self) -> impl Iterator<Item = &str> {
        let all = PREFERRED.into_iter().chain(self.metric_names());
        all.filter(|name| !self.is_zero(name) && self.compares(name))
    }

    /// True if the reference, where there is one beside others, has a value of the metric from which a ratio leads to
    /// others.
    fn compares(&self, metric: &str) -> bool {
        let beside = self.reference().filter(|_| self.policies.len() > 1);
        beside.is_none_or(|it| it.metric(metric).and_then(|it| it.value).is_some_and(|value| value != 0.0))
    }

    /// True if a policy has a value of the metric, and more or less of it is better.
    fn ranks(&self, metric: &str) -> bool {
        let directed = |m: &MetricSummary| m.better != Better::Neither && m.value.is_some();
        self.policies.iter().any(|p| p.metric(metric).is_some_and(directed))
    }

    /// Indices of the policies, best first. Policies without a value come last; ties keep their order.
    #[must_use]
    pub fn ranking(&self, metric: &str) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.policies.len()).collect();
        let of = |i: usize| self.policies[i].metric(metric);
        order.sort_by(|&a, &b| match (of(a).and_then(|m| m.value), of(b).and_then(|m| m.value)) {
            (Some(x), Some(y)) if of(a).is_some_and(|m| m.better == Better::Higher) => y.total_cmp(&x),
            (Some(x), Some(y)) => x.total_cmp(&y),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => Ordering::Equal,
        });
        order
    }

    /// A unique label for each policy: its given label, else its registered name, with the differing settings if
    /// several have that name. Remaining duplicates are numbered.
    #[must_use]
    pub fn labels(&self) -> Vec<String> {
        let mut labels: Vec<String> = self.policies.iter().map(|p| printable(&self.label(p))).collect();
        for i in 0..labels.len() {
            let earlier = labels[..i].iter().filter(|l| **l == labels[i]).count();
            if earlier > 0 {
                labels[i] = format!("{} ({})", labels[i], earlier + 1);
            }
        }
        labels
    }

    fn label(&self, policy: &PolicyReport) -> String {
        if !policy.label.is_empty() {
            return policy.label.clone();
        }
        let namesakes: Vec<_> = self.policies.iter().filter(|p| p.name == policy.name).collect();
        let differs = |name: &str| {
            let value = |p: &PolicyReport| p.settings.iter().find(|s| s.name == name).map(|s| s.value.clone());
            namesakes.iter().any(|p| value(p) != value(policy))
        };
        let settings = policy.settings.iter().filter(|s| differs(&s.name));
        let settings: Vec<String> = settings.map(|s| format!("{}={}", s.name, s.value)).collect();
        if settings.is_empty() { policy.name.clone() } else { format!("{}:{}", policy.name, settings.join(",")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Setting;

    fn policy(name: &str, metric: &str, better: Better, value: Option<f64>) -> PolicyReport {
        let metric = MetricSummary { name: metric.into(), better, value, ..MetricSummary::default() };
        PolicyReport { name: name.into(), metrics: vec![metric], ..PolicyReport::default() }
    }

    fn report(policies: Vec<PolicyReport>) -> Report {
        Report { policies, ..Report::default() }
    }

    #[test]
    fn the_good_direction_decides_and_the_unmeasured_come_last() {
        let of = |better| {
            let values = [("a", None), ("b", Some(2.0)), ("c", Some(1.0)), ("d", Some(3.0))];
            report(values.map(|(n, v)| policy(n, "throughput", better, v)).into()).ranking("throughput")
        };
        assert_eq!(of(Better::Higher), [3, 1, 2, 0]);
        assert_eq!(of(Better::Lower), [2, 1, 3, 0]);
    }

    #[test]
    fn a_metric_without_a_good_direction_or_a_value_never_ranks() {
        assert_eq!(report(vec![policy("a", "slice_length_mean", Better::Neither, Some(1.0))]).ranked_by(), None);
        assert_eq!(report(vec![policy("a", "throughput", Better::Higher, None)]).ranked_by(), None);
        let mut asked = report(vec![policy("a", "seek_distance", Better::Lower, Some(1.0))]);
        assert_eq!(asked.ranked_by(), Some("seek_distance"));
        asked.details.ranked_by = Some("throughput".into());
        assert_eq!(asked.ranked_by(), Some("seek_distance"), "an unmeasured metric cannot rank");
    }

    #[test]
    fn what_is_0_under_all_policies_ranks_only_if_asked_for_or_if_there_is_nothing_else() {
        let of = |name: &str, latency, work| {
            let mut policy = policy(name, "wakeup_latency_p99", Better::Lower, Some(latency));
            policy.metrics.push(MetricSummary {
                name: "throughput".into(),
                better: Better::Higher,
                value: Some(work),
                ..MetricSummary::default()
            });
            policy
        };
        let mut zero = report(vec![of("a", 0.0, 5.0), of("b", 0.0, 6.0)]);
        assert_eq!((zero.ranked_by(), zero.ranked_instead()), (Some("throughput"), None));
        zero.details.ranked_by = Some("wakeup_latency_p99".into());
        assert_eq!((zero.ranked_by(), zero.ranked_instead()), (Some("wakeup_latency_p99"), Some("throughput")));
        let one_is_not = report(vec![of("a", 0.0, 5.0), of("b", 1.0, 6.0)]);
        assert_eq!(one_is_not.ranked_by(), Some("wakeup_latency_p99"));
        assert_eq!(report(vec![of("a", 0.0, 5.0)]).ranked_by(), Some("wakeup_latency_p99"), "a run ranks nothing");
        assert_eq!(report(vec![of("a", 0.0, 0.0), of("b", 0.0, 0.0)]).ranked_by(), Some("wakeup_latency_p99"));
    }

    #[test]
    fn a_metric_that_the_reference_lacks_ranks_only_if_there_is_nothing_else() {
        let of = |latency, work| {
            let mut policy = policy("a", "request_latency_p99", Better::Lower, latency);
            let (name, better) = ("throughput".into(), Better::Higher);
            policy.metrics.push(MetricSummary { name, better, value: work, ..MetricSummary::default() });
            policy
        };
        let ranked = |reference: PolicyReport, other: PolicyReport| {
            let reference = PolicyReport { is_reference: true, ..reference };
            report(vec![reference, other]).ranked_by().map(String::from)
        };
        let [latency, work] = ["request_latency_p99", "throughput"].map(|name| Some(name.to_string()));
        assert_eq!(ranked(of(Some(2.0), Some(5.0)), of(Some(1.0), Some(5.0))), latency);
        assert_eq!(ranked(of(None, Some(5.0)), of(Some(1.0), Some(5.0))), work, "too few observations");
        assert_eq!(ranked(of(Some(0.0), Some(5.0)), of(Some(1.0), Some(5.0))), work, "no ratio leads from 0 to 1");
        assert_eq!(ranked(of(None, None), of(Some(1.0), Some(5.0))), latency, "nothing compares");
    }

    #[test]
    fn namesakes_are_told_apart_by_the_settings_in_which_they_differ() {
        let with = |kernel: &str| PolicyReport {
            name: "eevdf".into(),
            settings: vec![
                Setting { name: "kernel".into(), value: kernel.into() },
                Setting { name: "slice".into(), value: "3ms".into() },
            ],
            ..PolicyReport::default()
        };
        let rr = PolicyReport { name: "rr".into(), ..PolicyReport::default() };
        let labels = report(vec![with("6.6"), rr.clone(), with("6.12"), rr]).labels();
        assert_eq!(labels, ["eevdf:kernel=6.6", "rr", "eevdf:kernel=6.12", "rr (2)"]);
    }

    #[test]
    fn a_policy_is_called_as_it_was_asked_for() {
        let asked = |label: &str| PolicyReport { name: "rr".into(), label: label.into(), ..PolicyReport::default() };
        let labels = report(vec![asked("rr"), asked("rr:timeslice=2ms"), asked("rr")]).labels();
        assert_eq!(labels, ["rr", "rr:timeslice=2ms", "rr (2)"]);
    }
}
