//! Tuning: searches settings of policy, tasks, groups and machine for one that is better than the default.
//!
//! ```text
//!  Space ──▶ Proposer ──▶ race ──▶ survivors ──┐   on seeds of the search
//!               ▲                              │
//!               └────────── rounds ────────────┤
//!                                              ▼
//!                                          finalists ──▶ verdict    on held-out seeds and recordings
//! ```
//!
//! | file | does |
//! |---|---|
//! | `knob` | reads knobs, and makes contenders of their values |
//! | `objective` | reads the objective and the guards |
//! | `proposer` | draws candidates: a Latin hypercube, then near the survivors |
//! | `surrogate` | models the objective over all settings, to choose among draws |
//! | `race` | drops candidates as soon as paired tests show that they are not the best |
//! | `verdict` | scores the finalists on runs that the search did not see, as a comparison does |
//! | `effects` | tells the effect of each knob |
//! | `race_file` | writes the race that confirms the answer on a real kernel |

mod bench;
mod effects;
mod knob;
mod objective;
mod proposer;
mod race;
mod race_file;
mod surrogate;
mod table;
#[cfg(test)]
mod tests;
mod told;
mod verdict;

use crate::plan::Plan;
use crate::prediction_error::Basis;
use crate::progress::{Progress, Watch};
use crate::refusal::{Kind, Refusal};
use crate::spread::Spread;
use crate::work::Work;
use bench::Bench;
use goodness_report::model::Fidelity;
use goodness_report::tune::{Answer, Dropped, Tuning as Tuned};
use goodness_stats::Confidence;
use goodness_stats::sequential::Looks;
pub use knob::{Knob, Space};
pub use objective::{Bound, Guard, Objective};
use proposer::{Candidate, Proposer};
use race::{DEFAULT, Loser, Rules, race};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};
use table::Table;
use verdict::{Final, Scored};

/// An input with its name.
pub type Input<'a> = (String, &'a Work);

/// A tuning: what is searched, on what, and for what. A plan as data: making one runs nothing, and running it twice
/// gives the same, on any number of threads.
pub struct Tuning<'a> {
    /// Inputs with their names. Of several, which are recordings of one load, the last third is held out: one, or of
    /// nine and more as many as give an interval.
    pub inputs: Vec<Input<'a>>,
    /// Knobs and default.
    pub space: Space,
    /// Objective.
    pub objective: Objective,
    /// Bounds that a setting must keep.
    pub guards: Vec<Guard>,
    /// Random seed of proposals and of the search's runs.
    pub seed: u64,
    /// How much is run.
    pub effort: Effort,
}

/// How much a tuning runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    /// Candidates of the first round; 0 for a number that grows with the knobs. Later rounds have a third as many.
    pub candidates: u32,
    /// Rounds; 0 for a number that grows with the knobs.
    pub rounds: u32,
    /// Runs of a candidate on each input before the first look.
    pub first: u32,
    /// Most runs of a candidate on each input.
    pub most: u32,
    /// Finalists that are scored on held-out runs.
    pub finalists: u32,
    /// Runs of each of them on each held-out input.
    pub held_out: u32,
}

impl Default for Effort {
    fn default() -> Effort {
        Effort { candidates: 0, rounds: 0, first: 4, most: 18, finalists: 3, held_out: 20 }
    }
}

/// Distance of the held-out seed from that of the search.
const HELD_OUT: u64 = 1_000;

/// The search so far.
struct Search {
    candidates: Vec<Candidate>,
    table: Table,
    losers: Vec<Loser>,
    survivors: Vec<usize>,
}

impl Search {
    /// Nothing but the default.
    fn of(space: &Space) -> Search {
        let candidates = vec![Candidate::default_of(space)];
        Search { candidates, table: Table::of(1), losers: Vec::new(), survivors: Vec::new() }
    }
}

impl Tuning<'_> {
    /// Searches, then scores the finalists. If `watch` cancels, the result is the best so far.
    ///
    /// # Errors
    /// An objective or a guard that the work does not have, a fault or a violation with its run, recordings that are
    /// not of one load.
    pub fn run(&self, watch: &Watch) -> Result<Tuned, Refusal> {
        self.check()?;
        let (searched, held_out) = self.split();
        let verified = AtomicU64::new(0);
        let mut search = Search::of(&self.space);
        let bench = self.bench(searched, watch);
        let scored = self.fidelities(searched, &verified, watch).and_then(|fidelities| {
            self.search(&mut search, &bench, &fidelities)?;
            self.score(&search, held_out, (&bench, &verified))
        });
        let scored = match scored {
            Ok(scored) => Some(scored),
            Err(refusal) if refusal.kind == Kind::Cancelled => None,
            Err(refusal) => return Err(refusal),
        };
        Ok(self.told(&search, scored, (bench.runs.into_inner(), verified.into_inner())))
    }

    fn bench<'a>(&self, inputs: &[(String, &'a Work)], watch: &'a Watch<'a>) -> Bench<'a> {
        Bench {
            inputs: inputs.iter().map(|(_, work)| *work).collect(),
            metrics: std::iter::once(self.objective.metric).chain(self.guards.iter().map(|it| it.metric)).collect(),
            seed: self.seed,
            runs: AtomicU64::new(0),
            watch,
        }
    }

    /// Refuses what cannot be, before anything runs.
    fn check(&self) -> Result<(), Refusal> {
        let Effort { first, most, finalists, held_out, .. } = self.effort;
        let is_possible = first > 1 && most >= first && finalists > 0 && held_out > 1 && !self.inputs.is_empty();
        assert!(is_possible, "{:?} on {} inputs is no tuning", self.effort, self.inputs.len());
        let Some((first, others)) = self.inputs.split_first().filter(|(_, others)| !others.is_empty()) else {
            return Ok(());
        };
        let standard = first.1.standard_policy()?;
        for (name, work) in others {
            if work.standard_policy()? != standard {
                let what = format!("{} was made under {standard} and {name} under another policy", first.0);
                return Err(Refusal::usage(what).remedy("tune for each of them alone"));
            }
        }
        crate::recordings::of_distinct(self.inputs.iter().map(|(name, work)| (name.as_str(), *work)))
    }

    /// The inputs of the search, and those of the final score. With two or three held-out recordings an interval over
    /// recordings would be too wide to decide anything; that of one contains what recordings of a load differ.
    fn split(&self) -> (&[Input<'_>], &[Input<'_>]) {
        let count = self.inputs.len();
        match count {
            1 => (&self.inputs, &self.inputs),
            _ => self.inputs.split_at(count - if count < 9 { 1 } else { count / 3 }),
        }
    }

    fn rounds(&self) -> u32 {
        if self.effort.rounds > 0 { self.effort.rounds } else { 2 + (self.space.knobs.len() as u32).ilog2() }
    }

    fn first_candidates(&self) -> u32 {
        if self.effort.candidates > 0 { self.effort.candidates } else { 4 + 4 * self.space.knobs.len() as u32 }
    }

    /// The looks of a round. Earlier rounds are shorter: their survivors run on in later ones.
    fn looks(&self, round: u32) -> Looks {
        let Effort { first, most, .. } = self.effort;
        let most = first + (most - first) * (round + 1).min(self.rounds()) / self.rounds();
        Looks::plan(first as usize, most as usize, Confidence::P95)
    }

    /// The error of each replay: `None` for work that is not a recording.
    fn fidelities(
        &self,
        inputs: &[(String, &Work)],
        verified: &AtomicU64,
        watch: &Watch,
    ) -> Result<Vec<Option<Fidelity>>, Refusal> {
        let of = |(_, work): &(String, &Work)| {
            let plan = Plan { seed: self.seed, ..Plan::of(work, Vec::new()) };
            let tell = counting(verified, watch, (0, self.rounds()));
            plan.recorded.map_or(Ok(None), |_| plan.run(&tell).map(|runs| runs.fidelity))
        };
        inputs.iter().map(of).collect()
    }

    /// Rounds of proposals and races.
    fn search(&self, search: &mut Search, bench: &Bench, fidelities: &[Option<Fidelity>]) -> Result<(), Refusal> {
        let rounds = self.rounds();
        let proposer = Proposer { space: &self.space, seed: self.seed, first: self.first_candidates(), last: rounds };
        let keep = self.effort.finalists as usize;
        for round in 0..=rounds {
            let new = if round == 0 {
                proposer.first(&search.candidates[DEFAULT])?
            } else {
                let parents: Vec<&Candidate> =
                    self.parents(search).into_iter().map(|it| &search.candidates[it]).collect();
                proposer.later(round, &parents, (&search.candidates, &self.losses(search)))?
            };
            if new.is_empty() {
                break;
            }
            let mut entrants = search.survivors.clone();
            entrants.extend(new.iter().map(|_| search.table.add()));
            search.candidates.extend(new);
            let contenders: Vec<_> = search.candidates.iter().map(|it| it.contender.clone()).collect();
            let errors = |candidate: usize, loss: f64| self.error(bench, fidelities, &contenders[candidate], loss);
            let rules = Rules { errors: &errors, ..self.rules(search) };
            let looks = self.looks(round);
            let mut measure = |table: &mut Table, candidates: &[usize], blocks: u32| {
                bench.measure((table, &contenders), candidates, blocks, ((round + 1).min(rounds), rounds))?;
                self.check_measured(table)
            };
            let raced = race(&entrants, (&looks, keep), &rules, &mut search.table, &mut measure);
            let (survivors, losers) = raced?;
            search.survivors = survivors;
            search.losers.extend(losers);
        }
        Ok(())
    }

    /// The logarithm of each candidate's loss; of one that seems to break a guard, that of the worst.
    fn losses(&self, search: &Search) -> Vec<f64> {
        let rules = self.rules(search);
        let logs = (0..search.table.len()).map(|it| rules.estimate(&search.table, it, usize::MAX).ln());
        let logs: Vec<f64> = logs.collect();
        let worst = logs.iter().copied().filter(|it| it.is_finite()).fold(0.0, f64::max);
        let of = |(it, log): (usize, f64)| if rules.seems_to_keep(&search.table, it) { log } else { log.max(worst) };
        logs.iter().copied().enumerate().map(of).collect()
    }

    /// The candidates that new ones are drawn around, the best first: the survivors, and if they are few, those that
    /// gain too little to win themselves, but may be near one that does. If there are none, the best of all.
    fn parents(&self, search: &Search) -> Vec<usize> {
        let rules = self.rules(search);
        let losers = |only: Option<Dropped>| {
            let some = search.losers.iter().filter(|(_, why)| only.is_none_or(|only| *why == only));
            rules.ranked(&search.table, some.map(|(it, _)| *it).collect())
        };
        let mut parents = search.survivors.clone();
        parents.extend(losers(Some(Dropped::TooSmall)));
        if parents.is_empty() {
            parents = losers(None);
        }
        parents.truncate(self.effort.finalists as usize);
        parents
    }

    /// The least gain of a candidate that a final score could tell from none, as a factor less 1: the largest error of
    /// all inputs, and of recordings what others of their load differ from them.
    fn error(&self, bench: &Bench, fidelities: &[Option<Fidelity>], arm: &crate::Contender, loss: f64) -> f64 {
        let ratio = if self.objective.is_lower() { loss } else { 1.0 / loss };
        let of = |(work, fidelity): (&&Work, &Option<Fidelity>)| {
            let machine = work.machine.cpu_count() as u32;
            let basis = Basis {
                fidelity: fidelity.as_ref(),
                is_recording: work.recorded.is_some(),
                machine,
                cpus: work.recorded.as_ref().map_or(machine, |it| it.cpus),
                // The final runs have them.
                disks: &[],
            };
            let error = basis.of_comparison([&self.space.default, arm], self.objective.metric.name, Some(ratio));
            let spread = Spread::of(self.objective.metric.name, basis.cpus).filter(|_| basis.is_recording);
            let between = spread.map_or(1.0, |it| it.between_changes().factor(Confidence::P95));
            (1.0 + error.unwrap_or(0.0)) * between - 1.0
        };
        bench.inputs.iter().zip(fidelities).map(of).fold(0.0, f64::max)
    }

    /// Refuses an objective or a guard that the default's runs do not have.
    fn check_measured(&self, table: &Table) -> Result<(), Refusal> {
        let names = std::iter::once(self.objective.metric.name).chain(self.guards.iter().map(|it| it.metric.name));
        let missing = names.enumerate().find(|(place, _)| table.pairs([DEFAULT; 2], *place, usize::MAX).0.is_empty());
        match missing {
            None => Ok(()),
            Some((_, name)) => {
                let what = format!("the runs of the default do not have {name}, or too few observations of it");
                Err(Refusal::usage(what).remedy("name a metric that a comparison of this input shows"))
            }
        }
    }

    /// The finalists: survivors, then the best of the dropped ones.
    fn finalists(&self, search: &Search) -> Vec<usize> {
        let rules = self.rules(search);
        let dropped = search.losers.iter().map(|(candidate, _)| *candidate);
        let dropped = rules.ranked(&search.table, dropped.collect());
        let mut all = rules.simplest_first(&search.table, search.survivors.clone());
        all.extend(dropped.into_iter().filter(|it| !search.survivors.contains(it)));
        all.truncate(self.effort.finalists as usize);
        all
    }

    /// Scores the finalists on runs that the search did not see.
    fn score(
        &self,
        search: &Search,
        inputs: &[(String, &Work)],
        (bench, verified): (&Bench, &AtomicU64),
    ) -> Result<Scored, Refusal> {
        let finalists = std::iter::once(DEFAULT).chain(self.finalists(search));
        let contenders: Vec<_> = finalists.map(|it| search.candidates[it].contender.clone()).collect();
        let held_out = self.effort.held_out;
        let last = Final { inputs, seed: self.seed.wrapping_add(HELD_OUT), first: 0, runs: held_out };
        let all = AtomicU64::new(0);
        let rounds = self.rounds();
        let before = bench.runs.load(Ordering::Relaxed);
        let tell = |progress: Progress| match progress {
            Progress::Simulated { .. } => {
                let runs = before + all.fetch_add(1, Ordering::Relaxed) + 1;
                (bench.watch)(Progress::Raced { round: rounds + 1, rounds, left: contenders.len(), runs })
            }
            other => (bench.watch)(other),
        };
        let scored = last.score(&contenders, (self.objective, &self.guards), &tell)?;
        let own = u64::from(held_out) * contenders.len() as u64 * inputs.len() as u64;
        verified.fetch_add(all.into_inner().saturating_sub(own), Ordering::Relaxed);
        Ok(scored)
    }

    /// The estimated best of the search, if it looks better than the default.
    fn best_so_far(&self, search: &Search) -> Option<usize> {
        let rules = self.rules(search);
        let dropped = |it: &usize| search.losers.iter().any(|(loser, _)| loser == it);
        let all = (1..search.table.len()).filter(|it| search.table.blocks(*it) > 0 && !dropped(it));
        let best = *rules.ranked(&search.table, all.collect()).first()?;
        (rules.seems_to_keep(&search.table, best) && rules.estimate(&search.table, best, usize::MAX) < 1.0)
            .then_some(best)
    }
}

/// A watch that counts simulations.
fn counting<'a>(
    count: &'a AtomicU64,
    watch: &'a Watch<'a>,
    (round, rounds): (u32, u32),
) -> impl Fn(Progress) -> ControlFlow<()> + Sync + 'a {
    move |progress: Progress| match progress {
        Progress::Simulated { .. } => {
            let runs = count.fetch_add(1, Ordering::Relaxed) + 1;
            watch(Progress::Raced { round, rounds, left: 1, runs })
        }
        other => watch(other),
    }
}
