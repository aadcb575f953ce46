//! Puts the result of a tuning together.

use super::effects::effects;
use super::race::{DEFAULT, MARGIN, Rules};
use super::verdict::{Scored, answer, reference};
use super::{Answer, Candidate, HELD_OUT, Search, Tuned, Tuning, race_file};
use crate::apply::of_elevator;
use crate::report::unit_of;
use crate::spread::Spread;
use crate::work::Work;
use goodness_report::model::{Build, MachineSummary};
use goodness_report::tune::{self, Objective, Runs, SCHEMA, Score};
use goodness_stats::ratio::Between;

impl Tuning<'_> {
    /// The result; `scored` is `None` if the search was stopped.
    pub(super) fn told(&self, search: &Search, scored: Option<Scored>, (searched, verified): (u64, u64)) -> Tuned {
        let (inputs, held_out) = self.split();
        let names = |all: &[(String, &Work)]| all.iter().map(|(name, _)| name.clone()).collect::<Vec<String>>();
        let machine = &inputs[0].1.machine;
        let (answer, best) = match &scored {
            Some(scored) => answer(&scored.finalists),
            None => (Answer::Stopped, None),
        };
        let mut tuned = Tuned {
            schema: SCHEMA.into(),
            goodness: Build { version: env!("CARGO_PKG_VERSION").into(), commit: None },
            headline: String::new(),
            answer,
            best: None,
            searched: names(inputs),
            held_out: names(held_out),
            machine: MachineSummary { name: machine.name.clone(), cpus: machine.cpu_count() as u32, hz: machine.hz },
            default: self.space.default.to_string(),
            objective: self.objective_as_told(),
            guards: self.guards.iter().map(|it| it.text.clone()).collect(),
            seed: self.seed,
            held_out_seed: self.seed.wrapping_add(HELD_OUT),
            held_out_runs: self.effort.held_out,
            error: None,
            trust: None,
            reference: Score::default(),
            finalists: Vec::new(),
            knobs: self.knobs_as_told(search, scored.as_ref()),
            candidates: (0..search.candidates.len()).map(|it| self.candidate_as_told(search, it)).collect(),
            runs: self.runs_as_told(search, scored.as_ref(), (searched, verified)),
            application: None,
            notes: Vec::new(),
            race: None,
        };
        match scored {
            Some(scored) => self.add_score(&mut tuned, search, scored, best),
            None => tuned.best = self.best_so_far(search).map(|it| self.arm(&search.candidates[it])),
        }
        tuned.headline = tuned.worded();
        tuned
    }

    fn objective_as_told(&self) -> Objective {
        let metric = self.objective.metric;
        Objective { metric: metric.name.into(), unit: unit_of(metric).into(), better: metric.better }
    }

    fn add_score(&self, tuned: &mut Tuned, search: &Search, scored: Scored, best: Option<usize>) {
        let Scored { report, finalists } = scored;
        tuned.error = finalists.iter().filter_map(|it| it.error).max_by(f64::total_cmp);
        tuned.reference = reference(&report, self.objective);
        tuned.best = best.map(|it| finalists[it].arm.clone());
        tuned.application = best.and_then(|it| report.policies[it + 1].application.clone());
        if let Some(found) = search.candidates.iter().find(|it| Some(self.arm(it)) == tuned.best) {
            let (default, metric) = (&self.space.default, self.objective.metric.name);
            tuned.application = tuned.application.take().or_else(|| of_elevator(default, &found.contender));
            tuned.race = Some(race_file::of([default, &found.contender], metric, &self.inputs[0]));
        }
        tuned.finalists = finalists;
        tuned.trust = report.trust;
        tuned.notes = report.details.warnings;
    }

    /// A candidate as an arm of a comparison.
    fn arm(&self, candidate: &Candidate) -> String {
        candidate.contender.beside(&self.space.default)
    }

    fn candidate_as_told(&self, search: &Search, number: usize) -> tune::Candidate {
        let (rules, candidate) = (self.rules(search), &search.candidates[number]);
        let ratio = |loss: f64| if self.objective.is_lower() { loss } else { 1.0 / loss };
        let estimate = rules.estimate(&search.table, number, usize::MAX);
        let interval = rules.interval(&search.table, number).map(|it| [it.low, it.high].map(ratio));
        tune::Candidate {
            arm: self.arm(candidate),
            values: candidate.values.clone(),
            round: if number == DEFAULT { 0 } else { candidate.round + 1 },
            runs: search.table.blocks(number),
            value: search.table.mean(number, 0),
            ratio: Some(ratio(estimate)).filter(|it| it.is_finite() && *it > 0.0 && number != DEFAULT),
            ratio_ci95: interval.filter(|_| number != DEFAULT).map(|[one, other]| [one.min(other), one.max(other)]),
            dropped: search.losers.iter().find(|(it, _)| *it == number).map(|(_, why)| *why),
        }
    }

    /// Rules for ranking, where no prediction has an error.
    pub(super) fn rules(&self, search: &Search) -> Rules<'_> {
        let sizes = search.candidates.iter().map(|it| it.values.iter().flatten().count()).collect();
        let (inputs, _) = self.split();
        let spread = |(_, work): &(String, &Work)| Spread::of(self.objective.metric.name, work.recorded.as_ref()?.cpus);
        // The mean over several recordings varies less.
        let share = (inputs.len() as f64).sqrt().recip();
        let between = inputs.iter().find_map(spread).map(Spread::between_changes);
        let between =
            between.map(|it| Between { deviation: it.deviation * share, relative: it.relative * share, ..it });
        Rules { objective: self.objective, guards: &self.guards, errors: &|_, _| 0.0, sizes, between }
    }

    /// The effects of the knobs on the first runs of the first round's candidates.
    fn knobs_as_told(&self, search: &Search, scored: Option<&Scored>) -> Vec<tune::Knob> {
        let (rules, most) = (self.rules(search), self.effort.first as usize);
        let log = |number: usize| {
            let loss = rules.estimate(&search.table, number, most);
            let log = if self.objective.is_lower() { loss.ln() } else { -loss.ln() };
            log.is_finite().then_some((&search.candidates[number], log))
        };
        let first = (1..search.candidates.len()).filter(|it| search.candidates[*it].round == 0);
        let rows: Vec<(&Candidate, f64)> = first.filter_map(log).collect();
        let errors = scored.into_iter().flat_map(|it| &it.finalists).filter_map(|it| it.error);
        effects(&self.space, &rows, errors.fold(MARGIN, f64::max))
    }

    fn runs_as_told(&self, search: &Search, scored: Option<&Scored>, (searched, verified): (u64, u64)) -> Runs {
        let (inputs, held_out) = self.split();
        let contenders = scored.map_or(0, |it| it.report.policies.len() as u64);
        let settings = self.space.grid();
        debug_assert!(search.table.len() == search.candidates.len(), "each candidate has its values");
        Runs {
            search: searched,
            held_out: contenders * u64::from(self.effort.held_out) * held_out.len() as u64,
            verified,
            grid_settings: settings,
            grid: settings.saturating_mul(u64::from(self.effort.most) * inputs.len() as u64),
        }
    }
}
