//! The result of a race in a sentence.

use crate::engine::{ArmOutcome, Measured, Outcome};
use goodness_observe::title;
use goodness_report::change::change_in_words;
use goodness_report::figure::printable;
use goodness_stats::compare::Verdict;

/// Most arms that the sentence names.
const ARMS: usize = 3;
/// Most measures of an arm that it names.
const MEASURES: usize = 2;

impl Outcome {
    /// What was decided, by arm, and what is open.
    #[must_use]
    pub fn conclusion(&self) -> String {
        let of = |verdict| self.verdicts().filter(|(_, _, found)| *found == verdict).count();
        let (all, open) = (self.verdicts().count(), of(Verdict::Inconclusive));
        if all == 0 {
            return "Nothing that decides was measured: name other measures in the race file.".into();
        }
        let reference = self.arms.iter().find(|arm| arm.is_reference).map_or("", |arm| arm.name.as_str());
        let changed: Vec<String> = self.arms.iter().filter_map(|arm| self.of_arm(arm)).collect();
        let more = changed.len().saturating_sub(ARMS);
        let mut parts: Vec<String> = changed.into_iter().take(ARMS).collect();
        if parts.is_empty() {
            let same = of(Verdict::Same);
            let found = if same == 0 { String::new() } else { format!(" ({same} the same)") };
            parts.push(format!("No arm was found to differ from {}{found}", printable(reference)));
        }
        if more > 0 {
            parts.push(format!("{more} more arms differ"));
        }
        if open > 0 {
            parts.push(format!("{open} of {all} comparisons undecided: more blocks may tell"));
        }
        parts.join("; ") + "."
    }

    /// The measures in which an arm is better or worse.
    fn of_arm(&self, arm: &ArmOutcome) -> Option<String> {
        let is_decided = |verdict| matches!(verdict, Verdict::Better | Verdict::Worse);
        let decided = self.verdicts().filter(|(of, _, verdict)| of.name == arm.name && is_decided(*verdict));
        let said: Vec<String> = decided.map(|(_, measured, verdict)| words(measured, verdict)).collect();
        let more = match said.len() {
            0..=MEASURES => String::new(),
            many => format!(" and {} more", many - MEASURES),
        };
        let shown = &said[..said.len().min(MEASURES)];
        (!said.is_empty()).then(|| format!("{}: {}{more}", printable(&arm.name), shown.join(", ")))
    }
}

/// `p99 latency 12 % lower (−15…−9 %), better`.
fn words(measured: &Measured, verdict: Verdict) -> String {
    let versus = measured.vs_reference.as_ref();
    let change = versus.and_then(|it| Some(change_in_words(it.ratio?, it.interval, "blocks"))).unwrap_or_default();
    format!("{} {change}, {}", title(&measured.name), verdict.name())
}
