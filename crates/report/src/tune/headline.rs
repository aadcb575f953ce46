//! The answer of a tuning in words.

use super::{Answer, Finalist, Kept, Standing, Tuning};
use crate::change::{change, change_in_words};
use crate::figure::{self, printable};
use crate::model::Better;
use goodness_observe::title;

impl Tuning {
    /// The answer in one to three sentences: what to set, what it gains, and how far to trust that.
    #[must_use]
    pub fn worded(&self) -> String {
        let answer = match self.answer {
            Answer::Found => self.found(),
            Answer::Nothing => self.nothing(),
            Answer::Undecided => self.undecided(),
            Answer::Stopped => self.stopped(),
        };
        match self.trust.as_ref().filter(|_| self.is_untrusted()) {
            Some(trust) => format!("Untrusted: {}. {answer}", trust.because.join("; ")),
            None => answer,
        }
    }

    fn found(&self) -> String {
        let Some(best) = self.winner() else { return String::new() };
        let verb = if self.objective.better == Better::Higher { "raises" } else { "cuts" };
        let [from, to] = [&self.reference, &best.score].map(|it| figure::show(it.value, &self.objective.unit));
        let change =
            best.ratio.map_or_else(String::new, |it| format!(", {}", change_in_words(it, best.ratio_ci95, "runs")));
        let kept = match (self.guards.is_empty(), best.guards.contains(&Kept::InSimulation)) {
            (true, _) => "",
            (false, false) => " It keeps the guards.",
            (false, true) => " It keeps the guards in simulation, within an error larger than a bound.",
        };
        let metric = self.metric();
        format!(
            "{} {verb} {metric} from {from} ({}) to {to}{change}, on {}.{kept}{}",
            printable(&best.arm),
            printable(&self.default),
            self.unseen(),
            self.caveat()
        )
    }

    fn nothing(&self) -> String {
        let metric = self.metric();
        let is = |standing: Standing| self.finalists.iter().any(|it| it.standing == standing);
        let verb = self.verb();
        let own = figure::show(self.reference.value, &self.objective.unit);
        let is_least = self.objective.better == Better::Lower && self.reference.value == Some(0.0);
        let why = if is_least {
            format!(
                "{metric} is {own} with it, which nothing can lower; name another metric with --minimise or --maximise"
            )
        } else if is(Standing::BelowError) && self.error.is_some() {
            let error = figure::percent(self.error);
            format!("no setting is shown to {verb} {metric} ({own}) by more than the error of the prediction, {error}")
        } else if is(Standing::BreaksGuard) {
            format!("what improves {metric} ({own}) breaks a guard")
        } else {
            format!("no setting is shown to {verb} {metric} ({own}) by more than 1 %")
        };
        format!("Keep the default, {}: {why}.", printable(&self.default))
    }

    fn undecided(&self) -> String {
        let open = self.finalists.iter().find(|it| it.standing == Standing::Undecided);
        let best = |it: &Finalist| format!("; the best of the others, {}, is{}", printable(&it.arm), is(it));
        let may = open.map_or_else(String::new, best);
        let remedy = match self.trust {
            Some(_) => "record the load again and name all recordings, or raise --runs.",
            None => "raise --runs.",
        };
        let own = figure::show(self.reference.value, &self.objective.unit);
        let metric = self.metric();
        let answer = format!("Undecided: no setting is shown to {} {metric} ({own} by default){may}.", self.verb());
        format!("{answer} To decide: {remedy}")
    }

    fn stopped(&self) -> String {
        match &self.best {
            Some(best) => {
                let known = self.candidates.iter().find(|it| it.arm == *best).and_then(|it| it.ratio);
                let change = known.map_or_else(String::new, |ratio| format!(" ({} in the search)", change(ratio)));
                format!("Stopped. The best so far is {}{change}; it was not scored on held-out runs.", printable(best))
            }
            None => "Stopped. No setting looks better than the default so far; nothing was scored.".into(),
        }
    }

    /// The runs of the score.
    fn unseen(&self) -> &'static str {
        match self.held_out == self.searched {
            true => "seeds that the search did not use",
            false => "recordings and seeds that the search did not use",
        }
    }

    fn caveat(&self) -> String {
        match (&self.trust, self.error) {
            (Some(_), Some(error)) => {
                format!(
                    " Trusted: the interval contains the error of the prediction, {}.",
                    figure::percent(Some(error))
                )
            }
            _ => String::new(),
        }
    }

    /// The verb for what the search is to do with the metric.
    const fn verb(&self) -> &'static str {
        match self.objective.better {
            Better::Higher => "raise",
            _ => "lower",
        }
    }

    fn metric(&self) -> String {
        title(&self.objective.metric)
    }
}

/// ` 2.5 % lower (95 %: 7.0 % lower to 2.0 % higher)`.
fn is(finalist: &Finalist) -> String {
    finalist.ratio.map_or_else(String::new, |it| format!(" {}", change_in_words(it, finalist.ratio_ci95, "runs")))
}
