//! Trust in a comparison on a recording: the replay must repeat what was recorded.

use crate::model::{Fidelity, FidelityMetric, Trust, TrustVerdict};
use crate::{figure, ranking};
use goodness_observe::title;

/// The metrics that each comparison depends on, in addition to the one that ranks: the work done in the recorded
/// window.
const WORK: [&str; 2] = ["cpu_time", "iops"];

impl Trust {
    /// Trust in a ranking by `ranked_by`, given the error of the replay under the policy that recorded, and the doubts
    /// that the runs left. `None` if nothing was replayed and there are none.
    #[must_use]
    pub fn of(fidelity: Option<&Fidelity>, ranked_by: Option<&str>, doubts: Vec<String>) -> Option<Trust> {
        let rests_on = |it: &&FidelityMetric| WORK.contains(&it.name.as_str()) || Some(it.name.as_str()) == ranked_by;
        if fidelity.is_none() && doubts.is_empty() {
            return None;
        }
        let metrics = fidelity.iter().flat_map(|it| &it.metrics);
        let missed = metrics.filter(rests_on).filter(|it| it.keeps_promise() == Some(false)).map(sentence);
        let lacks = fidelity.iter().flat_map(|it| it.lacks.iter().cloned());
        let because: Vec<String> = missed.chain(lacks).chain(doubts).collect();
        let verdict = if because.is_empty() { TrustVerdict::Trusted } else { TrustVerdict::Untrusted };
        Some(Trust { verdict, because })
    }

    /// The warning before an answer that cannot be trusted: its first reason, and how many more there are.
    pub(crate) fn warning(&self) -> Option<String> {
        if !self.is_untrusted() {
            return None;
        }
        let more = match self.because.len() {
            0 | 1 => String::new(),
            2 => " (and one more reason)".into(),
            reasons => format!(" (and {} more reasons)", reasons - 1),
        };
        let because = self.because.first().map_or("", |it| it.trim_end_matches('.'));
        Some(format!("Untrusted: {because}{more}. The simulation alone says:"))
    }

    /// True if the verdicts must not be relied on.
    #[must_use]
    pub fn is_untrusted(&self) -> bool {
        self.verdict == TrustVerdict::Untrusted
    }
}

/// What `goodness compare` will say of the trust in this replay, and the bounds on which that rests.
pub(crate) fn in_comparisons(fidelity: &Fidelity) -> String {
    let find = |name: &str| fidelity.metrics.iter().find(|it| it.name == name);
    let ranked_by = ranking::preferred(|name| find(name).and_then(|it| it.replayed).is_some_and(|value| value != 0.0));
    let Some(ranked_by) = ranked_by else { return "`goodness compare` has nothing to rank by here.".into() };
    let trust = Trust::of(Some(fidelity), Some(ranked_by), Vec::new());
    let is_kept = |name: &&str| find(name).is_some_and(|it| it.keeps_promise() == Some(true));
    let rests_on = || std::iter::once(ranked_by).chain(WORK).filter(|name| find(name).is_some());
    let is_missed = |name: &&str| find(name).is_some_and(|it| it.keeps_promise() == Some(false));
    let titles = |names: Vec<&str>| names.into_iter().map(title).collect::<Vec<_>>().join(", ");
    let missed = titles(rests_on().filter(is_missed).collect());
    let verdict = match (trust.is_some_and(|it| it.is_untrusted()), missed.as_str()) {
        (true, "") => format!("will not trust this replay: {}", fidelity.lacks.first().map_or("", |it| it)),
        (true, missed) => format!("will not trust this replay: its ranking rests on bounds that are missed: {missed}"),
        (false, _) if is_kept(&ranked_by) => {
            let kept = titles(rests_on().filter(is_kept).collect());
            format!("will trust this replay: its ranking rests on these bounds, which hold: {kept}")
        }
        (false, _) => format!("will promise nothing: it ranks by {}, whose error has no bound here", title(ranked_by)),
    };
    format!("`goodness compare` {verdict}. With `--rank-by METRIC` it rests on the bound of that metric.")
}

fn sentence(metric: &FidelityMetric) -> String {
    let FidelityMetric { name, recorded, replayed, unit, error, tolerance } = metric;
    let [recorded, replayed] = [recorded, replayed].map(|value| figure::show(*value, unit));
    let [error, tolerance] = [error, tolerance].map(|part| figure::percent(*part));
    let name = title(name);
    format!("{name} is {recorded} in the recording and {replayed} in its replay: {error} off, {tolerance} promised")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fidelity(name: &str, error: f64) -> Fidelity {
        let metric = FidelityMetric {
            name: name.into(),
            recorded: Some(100.0),
            replayed: Some(100.0 * (1.0 + error)),
            error: Some(error),
            unit: "count".into(),
            tolerance: Some(0.1),
        };
        Fidelity { policy: "eevdf".into(), metrics: vec![metric], lacks: Vec::new() }
    }

    #[test]
    fn a_missed_bound_of_what_ranks_or_of_the_work_makes_a_verdict_untrusted() {
        let verdict =
            |name, error, ranked_by| Trust::of(Some(&fidelity(name, error)), Some(ranked_by), Vec::new()).unwrap();
        let untrusted = verdict("context_switches", 0.5, "context_switches");
        assert!(untrusted.is_untrusted());
        let because = "context switches is 100 in the recording and 150 in its replay: 50 % off, 10 % promised";
        assert_eq!(untrusted.because, [because]);
        assert!(verdict(WORK[0], 0.5, "context_switches").is_untrusted());
        assert!(!verdict("context_switches", 0.05, "context_switches").is_untrusted());
        assert!(!verdict("migrations", 0.5, "context_switches").is_untrusted(), "it ranks nothing");
        assert!(verdict(WORK[1], 0.5, "io_latency_p99").is_untrusted(), "it did less I/O");
        assert_eq!(Trust::of(None, None, Vec::new()), None, "nothing was replayed");
        assert!(Trust::of(None, None, vec!["it was late".into()]).is_some_and(|trust| trust.is_untrusted()));
        let lacking = Fidelity { lacks: vec!["db never waited".into()], ..fidelity("context_switches", 0.0) };
        let trust = Trust::of(Some(&lacking), Some("context_switches"), Vec::new()).unwrap();
        assert!(trust.is_untrusted());
        assert_eq!(trust.because, ["db never waited"]);
    }

    #[test]
    fn what_comparisons_will_say_names_the_bounds_that_it_rests_on() {
        let of = |errors: [(&str, f64); 3]| {
            let metrics = errors.map(|(name, error)| fidelity(name, error).metrics.remove(0)).into();
            in_comparisons(&Fidelity { metrics, ..Fidelity::default() })
        };
        let said = of([("cpu_time", 0.0), ("wakeup_latency_p99", 0.02), ("migrations", 0.9)]);
        assert_eq!(
            said,
            "`goodness compare` will trust this replay: its ranking rests on these bounds, which hold: p99 wake-up \
             latency, CPU time. With `--rank-by METRIC` it rests on the bound of that metric."
        );
        let said = of([("cpu_time", 0.0), ("wakeup_latency_p99", 0.9), ("migrations", 0.0)]);
        assert!(said.contains("will not trust this replay: its ranking rests on bounds that are missed"), "{said}");
        assert!(said.contains("missed: p99 wake-up latency. "), "{said}");
        let lacking = Fidelity { lacks: vec!["db never waited".into()], ..fidelity("turnaround", 0.0) };
        assert!(in_comparisons(&lacking).contains("will not trust this replay: db never waited."));
    }

    #[test]
    fn a_value_too_low_by_a_factor_is_as_wrong_as_one_too_high_by_it() {
        let [low, high] = [-0.75, 3.0].map(|error| fidelity("x", error).metrics[0].factor());
        assert_eq!((low, high), (Some(3.0), Some(3.0)));
        let nothing =
            FidelityMetric { recorded: Some(0.0), replayed: Some(0.0), error: Some(0.0), ..FidelityMetric::default() };
        assert_eq!(nothing.factor(), Some(0.0), "a recorded 0 that is replayed as 0 has no error");
    }
}
