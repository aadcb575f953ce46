//! The result of a tuning, in the order of the schema `goodness.tune/1`: fields are added, never renamed or moved.

mod headline;
mod knob;
mod page;
mod rows;
mod text;

use crate::json;
use crate::model::{Application, Better, Build, MachineSummary, Trust, TrustVerdict};
pub use knob::{Knob, Level, Told};
pub use page::render as page;
pub use rows::{CANDIDATES, candidates};
use serde::Serialize;
pub use text::render as text;

/// Name and version of the schema.
pub const SCHEMA: &str = "goodness.tune/1";

/// Everything that one `goodness tune` found.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Tuning {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// The program that wrote this.
    pub goodness: Build,
    /// The answer in words.
    pub headline: String,
    /// The answer.
    pub answer: Answer,
    /// The setting to take, if one is better than the default: an arm, as `goodness compare --arm` reads it, or an
    /// elevator, as `--elevator` does.
    pub best: Option<String>,
    /// Inputs that candidates were searched on.
    pub searched: Vec<String>,
    /// Inputs of the final score; where there is one input only, the same, with other seeds.
    pub held_out: Vec<String>,
    /// Machine.
    pub machine: MachineSummary,
    /// The default, with its settings.
    pub default: String,
    /// Metric that was improved.
    pub objective: Objective,
    /// Guards as typed.
    pub guards: Vec<String>,
    /// Seed of the search.
    pub seed: u64,
    /// Seed of the final score.
    pub held_out_seed: u64,
    /// Runs of each finalist on each held-out input.
    pub held_out_runs: u32,
    /// Error of the prediction, as a factor less 1: of the replay or of such changes, and of one recording what others
    /// of its load differ; the largest of all finalists. `None` where none was measured.
    pub error: Option<f64>,
    /// Trust in the replay; `None` if nothing was replayed.
    pub trust: Option<Trust>,
    /// The default's score.
    pub reference: Score,
    /// The finalists, the best of the search first.
    pub finalists: Vec<Finalist>,
    /// Effect of each knob in the first round.
    pub knobs: Vec<Knob>,
    /// Every candidate of the search, as proposed.
    pub candidates: Vec<Candidate>,
    /// Runs spent.
    pub runs: Runs,
    /// Commands that apply the best setting, and take it back.
    pub application: Option<Application>,
    /// Remarks for people.
    pub notes: Vec<String>,
    /// The race that confirms the best setting on a real kernel.
    pub race: Option<Race>,
}

/// A race of the best setting against the default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Race {
    /// The file for `goodness race`; `None` if there is none.
    pub file: Option<String>,
    /// The reason that there is none.
    pub why_not: Option<String>,
}

/// The answer of a tuning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Answer {
    /// A setting is better than the default.
    Found,
    /// None is better by more than the error of the prediction, or the margin.
    Nothing,
    /// No setting is shown to be better, and some may be.
    #[default]
    Undecided,
    /// The search was stopped; nothing was scored.
    Stopped,
}

/// The metric that a tuning improves.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Objective {
    /// Its name.
    pub metric: String,
    /// Unit of its values.
    pub unit: String,
    /// Direction of improvement.
    pub better: Better,
}

/// A value with its interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Score {
    /// Value of the objective on the held-out runs.
    pub value: Option<f64>,
    /// Its 95 % interval, with the error of the prediction.
    pub ci95: Option<[f64; 2]>,
}

/// A setting that was scored on held-out runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Finalist {
    /// The setting, as `goodness compare --arm` reads it.
    pub arm: String,
    /// Its score.
    pub score: Score,
    /// Its value over the default's, paired by run.
    pub ratio: Option<f64>,
    /// The ratio's 95 % interval, with the error of the prediction.
    pub ratio_ci95: Option<[f64; 2]>,
    /// The error of this prediction, as a factor less 1: no smaller gain can be shown.
    pub error: Option<f64>,
    /// The result.
    pub standing: Standing,
    /// The guards, in their order.
    pub guards: Vec<Kept>,
}

/// Result of a finalist.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// Better than the default, and it keeps the guards.
    Better,
    /// The runs show that its gain is below the error of the prediction, or the margin.
    BelowError,
    /// The same as the default, within the margin.
    Same,
    /// Worse than the default.
    Worse,
    /// It breaks a guard.
    BreaksGuard,
    /// Neither is shown.
    #[default]
    Undecided,
}

impl Standing {
    /// The word in tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Standing::Better => "better",
            Standing::BelowError => "below error",
            Standing::Same => "same",
            Standing::Worse => "worse",
            Standing::BreaksGuard => "breaks guard",
            Standing::Undecided => "undecided",
        }
    }
}

/// How far a guard is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Kept {
    /// The 95 % interval keeps the bound.
    Yes,
    /// The runs keep it; the error of the prediction is larger than the bound.
    InSimulation,
    /// The runs do not show it.
    #[default]
    Open,
    /// The bound is broken.
    No,
}

/// A candidate of the search.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Candidate {
    /// The setting, as `goodness compare --arm` reads it.
    pub arm: String,
    /// Value of each knob, in their order; `None` where it is as it is.
    pub values: Vec<Option<String>>,
    /// The round that proposed it, from 1; 0 for the default.
    pub round: u32,
    /// Runs on each searched input.
    pub runs: u32,
    /// Mean of the objective.
    pub value: Option<f64>,
    /// The objective over the default's, paired by run.
    pub ratio: Option<f64>,
    /// Its 95 % interval, of the runs alone.
    pub ratio_ci95: Option<[f64; 2]>,
    /// The reason it was dropped; `None` for survivors and the default.
    pub dropped: Option<Dropped>,
}

/// Reason to drop a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Dropped {
    /// Shown to be worse than the best at that time.
    Worse,
    /// Shown not to gain more than the error of the prediction, or the margin.
    TooSmall,
    /// Shown to break a guard.
    BreaksGuard,
    /// The runs do not have the objective.
    NotMeasured,
    /// Not among the best at the end of a round; nothing was shown.
    NotAmongBest,
}

impl Dropped {
    /// The word in tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Dropped::Worse => "worse",
            Dropped::TooSmall => "gain too small",
            Dropped::BreaksGuard => "breaks guard",
            Dropped::NotMeasured => "not measured",
            Dropped::NotAmongBest => "not among the best",
        }
    }
}

/// Runs of a tuning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Runs {
    /// Runs of the search.
    pub search: u64,
    /// Runs of the final score.
    pub held_out: u64,
    /// Replays that measured the error of the replay.
    pub verified: u64,
    /// Settings of a grid: eight values of each range, all of each list, in every combination.
    pub grid_settings: u64,
    /// Runs of that grid, each setting with as many as a survivor of the search gets.
    pub grid: u64,
}

impl Runs {
    /// All runs of the tuning.
    #[must_use]
    pub fn all(&self) -> u64 {
        self.search + self.held_out + self.verified
    }
}

impl Tuning {
    /// True if a decision was asked for and this is none: undecided, stopped, or on an untrusted replay.
    #[must_use]
    pub fn is_undecided(&self) -> bool {
        self.is_untrusted() || matches!(self.answer, Answer::Undecided | Answer::Stopped)
    }

    fn is_untrusted(&self) -> bool {
        self.trust.as_ref().is_some_and(|it| it.verdict == TrustVerdict::Untrusted)
    }

    /// The finalist that is the answer.
    #[must_use]
    pub fn winner(&self) -> Option<&Finalist> {
        self.finalists.iter().find(|it| Some(&it.arm) == self.best.as_ref())
    }

    /// The JSON text with a final newline.
    #[must_use]
    pub fn json(&self) -> String {
        json::text(self)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    fn candidate(arm: &str, values: [Option<&str>; 2], ratio: f64, dropped: Option<Dropped>) -> Candidate {
        Candidate {
            arm: arm.into(),
            values: values.map(|it| it.map(String::from)).to_vec(),
            round: u32::from(arm != "base"),
            runs: 6,
            value: Some(14e6 * ratio),
            ratio: Some(ratio),
            ratio_ci95: Some([ratio * 0.95, ratio * 1.05]),
            dropped,
        }
    }

    fn knob(name: &str, levels: [(&str, f64); 2], effect: f64, told: Told) -> Knob {
        let level = |(values, ratio): (&str, f64)| Level { values: values.into(), candidates: 4, ratio: Some(ratio) };
        Knob::new(name, levels.map(level).to_vec(), (Some(effect), told))
    }

    /// A tuning of two knobs that found a better setting.
    pub fn found() -> Tuning {
        let mut application = Application::default();
        application.add("echo 700000 | sudo tee /sys/kernel/debug/sched/base_slice_ns".into(), "echo 3000000".into());
        let finalist = Finalist {
            arm: "base_slice=700us".into(),
            score: Score { value: Some(8.4e6), ci95: Some([8.1e6, 8.7e6]) },
            ratio: Some(0.6),
            ratio_ci95: Some([0.57, 0.63]),
            error: None,
            standing: Standing::Better,
            guards: vec![Kept::Yes],
        };
        let tuning = Tuning {
            schema: SCHEMA.into(),
            answer: Answer::Found,
            best: Some(finalist.arm.clone()),
            searched: vec!["mixed".into()],
            held_out: vec!["mixed".into()],
            default: "eevdf:base_slice=3ms".into(),
            objective: Objective { metric: "wakeup_latency_p99".into(), unit: "ns".into(), better: Better::Lower },
            guards: vec!["throughput >= -1%".into()],
            reference: Score { value: Some(14e6), ci95: Some([13.5e6, 14.6e6]) },
            finalists: vec![finalist],
            knobs: vec![
                knob("base_slice", [("300us..1ms", 0.6), ("1ms..12ms", 1.5)], 2.5, Told::Apart),
                knob("redis.nice", [("-10..0", 1.0), ("0..10", 1.001)], 1.001, Told::Same),
            ],
            candidates: vec![
                candidate("base", [None, None], 1.0, None),
                candidate("base_slice=700us", [Some("700us"), Some("-3")], 0.6, None),
                candidate("base_slice=3.1ms", [Some("3.1ms"), Some("4")], 1.0, Some(Dropped::TooSmall)),
            ],
            runs: Runs { search: 120, held_out: 40, verified: 0, grid_settings: 64, grid: 1152 },
            application: Some(application),
            ..Tuning::default()
        };
        Tuning { headline: tuning.worded(), ..tuning }
    }

    /// The same, where nothing is better than the error.
    pub fn nothing() -> Tuning {
        let mut tuning = found();
        (tuning.answer, tuning.best, tuning.error) = (Answer::Nothing, None, Some(0.12));
        tuning.finalists[0].standing = Standing::BelowError;
        tuning.knobs[0].told = Told::WithinError;
        tuning.headline = tuning.worded();
        tuning
    }

    #[test]
    fn json_begins_with_the_schema_and_the_answer() {
        let value: serde_json::Value = serde_json::from_str(&found().json()).expect("JSON");
        let object = value.as_object().expect("an object");
        let keys: Vec<&str> = object.keys().take(5).map(String::as_str).collect();
        assert_eq!(keys, ["schema", "goodness", "headline", "answer", "best"]);
        assert_eq!((&value["schema"], &value["answer"]), (&SCHEMA.into(), &"found".into()));
        assert_eq!(value["finalists"][0]["standing"], "better");
    }

    #[test]
    fn a_stopped_tuning_names_the_best_so_far_and_that_it_was_not_scored() {
        let mut tuning = found();
        (tuning.answer, tuning.best) = (Answer::Stopped, Some("base_slice=700us".into()));
        let said = tuning.worded();
        assert!(said.contains("best so far is base_slice=700us (40 % lower in the search)"), "{said}");
        assert!(said.contains("not scored") && tuning.is_undecided());
        assert!(tuning.commands().is_empty());
    }

    #[test]
    fn an_untrusted_replay_is_said_first_and_is_no_decision() {
        let mut tuning = found();
        tuning.trust = Some(Trust { verdict: TrustVerdict::Untrusted, because: vec!["it is off".into()] });
        assert!(tuning.worded().starts_with("Untrusted: it is off. base_slice=700us cuts"));
        assert!(tuning.is_undecided() && !found().is_undecided() && !nothing().is_undecided());
    }
}
