//! The conclusion in one sentence: the policy that changes the ranking metric, by how much, at what cost, and whether
//! that can be trusted.

use crate::change::{self, change, change_in_words, interval_in_words};
use crate::figure::{self, printable};
use crate::model::{Better, InputKind, MetricSummary, PolicyReport, Report, Sampling, Trust, Verdict};
use goodness_observe::title;

/// Metrics named that got worse; the tables have all.
const COSTS_SHOWN: usize = 2;
/// Figures that a server's owner asks for beside the metric that ranks. They come first where costs are named.
const BESIDE: [&str; 3] = ["throughput", "request_latency_p999", "context_switches"];
/// An undecided change within this share of the reference is called that small.
const SMALL: f64 = 0.1;
/// Said of a change whose own interval excludes none, where the verdict is open.
const UNCONFIRMED: &str = ", which the test of all comparisons together does not confirm";
/// End of the answer where no arm changes anything.
const EQUAL: &str = ": every value is the same";
/// From this factor on, a change is said as a factor, too.
const FACTOR: f64 = 10.0;

impl Report {
    /// The ranking in a sentence, after a warning if it cannot be trusted; empty if there is nothing to say.
    #[must_use]
    pub fn conclusion(&self) -> String {
        let Some(metric) = self.ranked_by() else { return self.unranked() };
        let Some(answer) = self.answer(metric) else { return String::new() };
        match self.trust.as_ref().and_then(Trust::warning) {
            Some(warning) => format!("{warning} {answer}."),
            None if answer.ends_with(EQUAL) => format!("{answer}."),
            None => format!("{answer}{}.", self.assurance(metric).map_or_else(String::new, |it| format!("; {it}"))),
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

    /// The word for what intervals are over.
    #[must_use]
    pub const fn units(&self) -> &'static str {
        match self.sampling {
            Sampling::Runs => "runs",
            Sampling::Replays | Sampling::Recordings(_) | Sampling::Arms => "recordings",
        }
    }

    /// The arms that are better than the reference in `metric`, the best first.
    fn better(&self, metric: &str) -> Vec<usize> {
        let mut better = self.ranking(metric);
        let is_better = |it: &PolicyReport| it.violations.is_empty() && verdict(it, metric) == Some(Verdict::Better);
        better.retain(|index| is_better(&self.policies[*index]));
        better
    }

    /// The error of the replay in the metric that ranks.
    fn assurance(&self, metric: &str) -> Option<String> {
        let Some(fidelity) = self.fidelity.as_ref() else {
            let is_replay = self.input.kind == InputKind::Trace && self.sampling != Sampling::Arms;
            return (is_replay && !self.is_measured("iops"))
                .then(|| "replay error not measured: see `goodness verify`".into());
        };
        let found = fidelity.metrics.iter().find(|it| it.name == metric);
        let error = found.and_then(|it| it.error).map(short_percent)?;
        let is_kept = self.trust.is_some() && found.is_some_and(|it| it.keeps_promise() == Some(true));
        let trusted = if is_kept { "the replay is trusted, and " } else { "" };
        let within =
            if self.policies.len() > 1 { "intervals include the replay error," } else { "the replay error is" };
        Some(format!("{trusted}{within} {error}"))
    }

    /// What the runs say about `metric`, without a full stop. `None` if there is nothing to say.
    fn answer(&self, metric: &str) -> Option<String> {
        let reference = self.policies.iter().position(|p| p.is_reference);
        match (reference, self.policies.as_slice()) {
            (_, [only]) => Some(self.alone(metric, only)),
            (Some(reference), _) => Some(match self.better(metric).as_slice() {
                [] => self.nothing_better(metric, reference),
                better => self.won(metric, reference, better),
            }),
            (None, _) => None,
        }
    }

    /// The answer where the metric that ranks is 0 everywhere.
    fn zero(&self, metric: &str) -> String {
        let remedy = self.ranked_instead().map(|other| format!("; `--rank-by {other}` does"));
        let (title, remedy) = (title(metric), remedy.unwrap_or_default());
        format!("No answer: {title} is 0 in every {} and ranks nothing{remedy}", self.row())
    }

    /// Figures of the only policy.
    fn alone(&self, metric: &str, only: &PolicyReport) -> String {
        let names = std::iter::once(metric).chain(BESIDE.into_iter().filter(|name| *name != metric));
        let figure = |name: &str| {
            let found = only.metric(name).filter(|it| it.value.is_some())?;
            Some(format!("{} {}", title(name), figure::of(found)))
        };
        format!("{}: {}", self.labels()[0], names.filter_map(figure).collect::<Vec<_>>().join(", "))
    }

    fn won(&self, metric: &str, reference: usize, better: &[usize]) -> String {
        let best = &self.policies[better[0]];
        let reference = &self.policies[reference];
        let label = &self.labels()[self.policies.iter().position(|it| it.is_reference).unwrap_or_default()];
        let both = reference.metric(metric).zip(best.metric(metric));
        let change = both.map(|(from, to)| improvement(from, label, to, self.units()));
        let mut parts = vec![format!("{} {}", self.labels()[better[0]], change.unwrap_or_default())];
        let beside: Vec<&str> = BESIDE.into_iter().filter(|name| *name != metric).collect();
        parts.extend(beside.iter().filter_map(|name| self.beside(name, reference, best)));
        parts.extend(self.costs(reference, best, &beside));
        match better.len() - 1 {
            0 => {}
            1 => parts.push(format!("one more {} is better, too", self.row())),
            others => parts.push(format!("{others} more {} are better, too", self.rows())),
        }
        parts.join("; ")
    }

    /// The change of another figure: `throughput unchanged`, `56 % more context switches`.
    fn beside(&self, name: &str, reference: &PolicyReport, best: &PolicyReport) -> Option<String> {
        let [from, to] = [reference, best].map(|it| it.metric(name).filter(|it| it.value.is_some()));
        let (from, to) = from.zip(to)?;
        let ratio = to.value? / from.value?;
        if from.value == to.value {
            return Some(format!("{} unchanged", title(name)));
        }
        let Some(versus) = to.vs_reference else {
            return ratio.is_finite().then(|| amount(ratio, &title(name)));
        };
        let small = versus.ci95.map(|ends| ends.iter().map(|it| (it - 1.0).abs()).fold(0.0, f64::max));
        Some(match (versus.verdict, small.filter(|it| *it <= SMALL)) {
            (Verdict::Same, _) => format!("{} unchanged", title(name)),
            (Verdict::Better | Verdict::Worse, _) => {
                format!("{} {}", title(name), change(versus.ratio.unwrap_or(ratio)))
            }
            (Verdict::Inconclusive, Some(small)) => {
                format!(
                    "{} within {} of before",
                    title(name),
                    figure::percent(Some((small * 100.0 - 1e-6).ceil() / 100.0))
                )
            }
            (Verdict::Inconclusive, None) => format!("{} undecided", title(name)),
        })
    }

    /// What a server's owner asks beside an undecided metric: `; with it, throughput unchanged, 56 % more context
    /// switches`. Empty without any.
    fn beside_undecided(&self, metric: &str, reference: &PolicyReport, best: &PolicyReport) -> String {
        let names = BESIDE.into_iter().filter(|name| *name != metric);
        let said: Vec<String> = names.filter_map(|name| self.beside(name, reference, best)).collect();
        if said.is_empty() { String::new() } else { format!("; with it, {}", said.join(", ")) }
    }

    /// The metrics in which `policy` is worse than `reference`, without those already `named`.
    fn costs(&self, reference: &PolicyReport, policy: &PolicyReport, named: &[&str]) -> Option<String> {
        let is_cost = |name: &&str| {
            !named.contains(name)
                && !name.starts_with("scheduler_share")
                && verdict(policy, name) == Some(Verdict::Worse)
        };
        let names: Vec<&str> = self.metric_names_by_weight().into_iter().filter(is_cost).collect();
        let shown = names.iter().take(COSTS_SHOWN).map(|name| {
            let [from, to] = [reference, policy].map(|it| it.metric(name).map_or_else(String::new, figure::of));
            format!("{} {to} instead of {from}", title(name))
        });
        let shown: Vec<String> = shown.collect();
        let more = names.len() - shown.len();
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        (!shown.is_empty()).then(|| format!("worse: {}{more}", shown.join(", ")))
    }

    fn nothing_better(&self, metric: &str, reference: usize) -> String {
        let compared = |index: &usize| {
            let policy = &self.policies[*index];
            !policy.is_reference && policy.violations.is_empty() && verdict(policy, metric).is_some()
        };
        let others = self.ranking(metric).into_iter().filter(compared);
        let (equal, others): (Vec<usize>, Vec<usize>) = others.partition(|it| self.is_unchanged(*it, reference));
        if others.is_empty() && !equal.is_empty() {
            return self.nothing_changed(&equal, reference);
        }
        if self.is_zero(metric) {
            return self.zero(metric);
        }
        let own = self.policies[reference].metric(metric).map_or_else(|| figure::NOT_MEASURED.into(), figure::of);
        let asked = format!("{} in {} ({own})", self.labels()[reference], title(metric));
        let count = |wanted| others.iter().filter(|it| verdict(&self.policies[**it], metric) == Some(wanted)).count();
        let counts = [(Verdict::Worse, "worse"), (Verdict::Same, "the same"), (Verdict::Inconclusive, "undecided")];
        if let Some(first) = others.first().filter(|_| count(Verdict::Inconclusive) == others.len()) {
            let beside = self.beside_undecided(metric, &self.policies[reference], &self.policies[*first]);
            return self.undecided(metric, *first, others.len() + equal.len(), &asked) + &beside;
        }
        if self.policies[reference].metric(metric).is_none_or(|it| it.value.is_none()) {
            return format!("Undecided: {asked} has too few observations to be compared with");
        }
        let found = counts.into_iter().map(|(it, words)| (count(it), words)).chain([(equal.len(), "without effect")]);
        let found = found.filter(|(count, _)| *count > 0).map(|(count, words)| format!("{count} {words}"));
        let found = found.collect::<Vec<_>>().join(", ");
        let found = if found.is_empty() { "no other was measured".into() } else { found };
        format!("No other {} is shown to be better than {asked}: {found}", self.row())
    }

    /// The answer where `all` others are undecided, and `first` is the best of those that change anything.
    fn undecided(&self, metric: &str, first: usize, all: usize, asked: &str) -> String {
        let label = &self.labels()[first];
        let near = self.policies[first].metric(metric).and_then(|it| it.vs_reference);
        let is_shown_alone = near.and_then(|it| it.ci95).is_some_and(|[low, high]| low > 1.0 || high < 1.0);
        let near = near.and_then(|it| Some(change_in_words(it.ratio?, it.ci95, self.units()))).unwrap_or_default();
        let near = if near.starts_with(change::UNCHANGED) { format!("simulated {near}") } else { near };
        let near = if is_shown_alone { near + UNCONFIRMED } else { near };
        // From 0, no ratio leads to another value.
        let said = |head: &str| if near.is_empty() { String::new() } else { format!("{head}{near}") };
        match all {
            1 => format!("Undecided: {label} may be better or worse than {asked}{}", said(": ")),
            all => format!(
                "Undecided: none of the {all} other {} is shown to differ from {asked}{}",
                self.rows(),
                said(&format!("; the best of them, {label}, is "))
            ),
        }
    }

    /// The answer where no arm changes anything: those of `equal` are all.
    fn nothing_changed(&self, equal: &[usize], reference: usize) -> String {
        let labels = self.labels();
        let runs = if self.sampling == Sampling::Runs { "runs" } else { "replays" };
        let changes = match equal {
            [one] => format!("{} changes nothing", labels[*one]),
            all => format!("None of the {} other {} changes anything", all.len(), self.rows()),
        };
        format!("{changes} in these {runs} against {}{EQUAL}", labels[reference])
    }

    /// True if a policy is that of the reference with changes, and every value of every run is the reference's.
    pub(crate) fn is_unchanged(&self, index: usize, reference: usize) -> bool {
        let labels = self.labels();
        let of = |index: usize| {
            let own = self.runs.iter().filter(|it| it.policy == labels[index]).collect::<Vec<_>>();
            if let [one] = own[..] { Some(&one.values) } else { None }
        };
        let is_change = self.policies[index].name == self.policies[reference].name && self.sampling != Sampling::Arms;
        is_change && of(index).is_some_and(|values| Some(values) == of(reference))
    }
}

/// `cuts p99 wake-up latency from 5.84 ms (eevdf) to 8.29 µs (95 %: 8.1 to 8.5 µs, about 700× lower)`.
fn improvement(from: &MetricSummary, reference: &str, to: &MetricSummary, units: &str) -> String {
    let verb = if to.better == Better::Higher { "raises" } else { "cuts" };
    let [before, after] = [from, to].map(|it| figure::show(it.value, &to.unit));
    let versus = to.vs_reference;
    let within = versus.and_then(|it| it.ci95).map(|ends| format!("95 %: {}", interval(from, to, ends, units)));
    let far = versus.and_then(|it| it.ratio).filter(|ratio| *ratio >= FACTOR || *ratio <= 1.0 / FACTOR);
    let far = far.map(|ratio| format!("about {}", change(ratio)));
    let known = within.into_iter().chain(far).collect::<Vec<_>>().join(", ");
    let known = if known.is_empty() { known } else { format!(" ({known})") };
    format!("{verb} {} from {before} ({reference}) to {after}{known}", title(&to.name))
}

/// The interval of an improved value: in its unit if the interval of the ratio gives that, else as a change.
fn interval(from: &MetricSummary, to: &MetricSummary, ends: [f64; 2], units: &str) -> String {
    let (Some(before), Some(after)) = (from.value, to.value) else { return interval_in_words(ends, units) };
    let values = ends.map(|ratio| ratio * before);
    match (values[0]..=values[1]).contains(&after) {
        true => figure::interval(Some(values), &to.unit).replace(" … ", " to ").replace('…', " to "),
        false => interval_in_words(ends, units),
    }
}

/// A share as a percentage of two digits.
fn short_percent(share: f64) -> String {
    let percent = share * 100.0;
    match percent {
        9.95.. => format!("{percent:.0} %"),
        _ if (percent - percent.round()).abs() < 0.05 => format!("{percent:.0} %"),
        _ => format!("{percent:.1} %"),
    }
}

/// `56 % more context switches`.
fn amount(ratio: f64, of: &str) -> String {
    match change(ratio) {
        same if !same.contains(' ') => format!("as many {of}"),
        change => format!("{} {of}", change.replace("higher", "more").replace("lower", "fewer")),
    }
}

fn verdict(policy: &PolicyReport, metric: &str) -> Option<Verdict> {
    policy.metric(metric).and_then(|m| m.vs_reference).map(|versus| versus.verdict)
}

#[cfg(test)]
mod tests;
