//! What a reader must know before a ranking is acted on, the gravest first.

use crate::model::{InputKind, Report, Sampling, Verdict, VsReference};

impl Report {
    /// Sentences about the ranking that matter most, the gravest first. All others are notes.
    #[must_use]
    pub fn caveats(&self) -> Vec<String> {
        let mut found: Vec<String> = Vec::new();
        if let Some(trust) = self.trust.as_ref().filter(|it| it.is_untrusted()) {
            found.extend(trust.because.iter().skip(1).map(|reason| format!("Untrusted, too: {reason}.")));
        }
        if let Some(lost @ 1..) = self.input.lost_events {
            found.push(format!("The recording lost {lost} events."));
        }
        found.extend(self.details.warnings.iter().cloned());
        found.extend(self.samples_caveat());
        found.extend(self.correction_caveat());
        found
    }

    /// Sentence on verdicts that are open although their intervals are not.
    fn correction_caveat(&self) -> Option<String> {
        let metric = self.ranked_by()?;
        let mut rows = self.policies.iter().filter_map(|it| it.metric(metric)?.vs_reference);
        let is_stricter = |it: VsReference| {
            it.verdict == Verdict::Inconclusive && it.ci95.is_some_and(|[low, high]| low > 1.0 || high < 1.0)
        };
        let says =
            "A verdict allows for all comparisons made, an interval is of one alone; fewer arms or more runs decide";
        rows.any(is_stricter).then(|| format!("{says}."))
    }

    /// What the number of runs or recordings leaves open.
    fn samples_caveat(&self) -> Option<String> {
        if self.runs_per_policy == 1 && self.policies.len() > 1 && self.sampling == Sampling::Runs {
            return Some("One run of each has no interval; `--runs 10` gives one.".into());
        }
        let metric = self.ranked_by()?;
        let is_open = |verdict: Verdict| verdict == Verdict::Inconclusive;
        let reference = self.policies.iter().position(|it| it.is_reference);
        let is_unchanged = |index: &usize| reference.is_some_and(|it| self.is_unchanged(*index, it));
        let changed = (0..self.policies.len()).filter(|index| !is_unchanged(index));
        let verdicts = changed.filter_map(|index| self.policies[index].metric(metric)?.vs_reference);
        let is_one = self.input.kind == InputKind::Trace && self.sampling == Sampling::Replays;
        (is_one && verdicts.into_iter().any(|it| is_open(it.verdict))).then(|| {
            "Intervals include the spread between recordings of one load; compare several to narrow them.".into()
        })
    }
}
