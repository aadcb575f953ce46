//! Reproduces published results from simulated mechanisms.
//!
//! A study is a file here (how to run it) and a folder below `studies/` (the published numbers with their sources). Its
//! numbers come from runs. Each inferred value is a [`Parameter`] with a range, and [`Sensitivity`] shows which
//! verdicts depend on it. [`STUDIES`] is the registry.

mod appleton_1999;
pub mod changes;
mod conducting;
mod custom;
mod dbload_2006;
mod ezolt_1999;
mod fio_mixed;
mod html;
mod lab;
mod measure;
mod panasyuk_2009;
mod postgres_2026;
mod published;
pub mod repeats;
mod santosa_2005;
mod santosa_2005_apache;
mod santosa_2005_mysql;
mod sensitivity;
pub mod smp;
mod table;
mod text;
mod travis_1998;
mod verdict;
mod words;

pub use conducting::{Conducted, Conducting};
pub use custom::CustomStudy;
pub use goodness_report::chart::{self, Chart, Line, Point};
pub use lab::{Lab, Run, Tell, Trial, untold};
pub use published::{Against, Number, Published, Tolerance};
pub use sensitivity::{Flip, Sensitivity};
pub use table::table;
pub use verdict::{Estimate, Row, Verdict};

use goodness::catalogue::Entry;
use serde::Serialize;
use serde_json::Value;

/// Something that had to be inferred, because no source states it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Parameter {
    /// Name within the study.
    pub name: &'static str,
    /// Unit, as in `us`; empty for plain numbers.
    pub unit: &'static str,
    /// The value used.
    pub value: f64,
    /// Smallest value that is plausible.
    pub low: f64,
    /// Largest value that is plausible.
    pub high: f64,
    /// Source of value and range, in one sentence.
    pub because: &'static str,
}

/// Description of a study, and its function.
#[derive(Clone, Copy)]
pub struct Study<'a> {
    /// Name; a built-in study is registered under it.
    pub name: &'a str,
    /// Question in one sentence.
    pub question: &'a str,
    /// The document.
    pub source: &'a str,
    /// The published numbers, as in `studies/NAME/published.toml`.
    pub published: &'a str,
    /// Inferred parameters.
    pub parameters: &'static [Parameter],
    /// Parameters for which all combinations of range ends are tested in the sensitivity analysis.
    pub corners: &'static [&'static str],
    /// Default number of replications per run.
    pub runs: u32,
    /// Runs the whole study and compares it with the published numbers.
    pub conduct: Conduct<'a>,
}

/// Runs the whole study and compares it with the published numbers.
pub type Conduct<'a> = &'a (dyn Fn(&Lab) -> Result<Findings, String> + Sync);

/// Results.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// Published numbers beside simulated ones.
    pub rows: Vec<Row>,
    /// The publication's figures, redrawn.
    pub charts: Vec<Chart>,
    /// Conclusion in a few sentences.
    pub conclusion: String,
}

/// The results: schema `goodness.study/1`.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Document<'a> {
    /// Always `goodness.study/1`.
    schema: &'static str,
    /// Name of the study.
    study: &'a str,
    /// The publication.
    source: &'a str,
    /// Random seed.
    seed: u64,
    /// Replications of each run.
    runs: u32,
    /// Conclusion in a few sentences.
    conclusion: &'a str,
    /// Published numbers beside simulated ones.
    rows: &'a [Row],
    /// Inferred parameters.
    parameters: &'a [Parameter],
    /// Verdicts that depend on parameters; `null` if this was not examined.
    sensitivity: Option<&'a Sensitivity>,
}

impl Study<'_> {
    /// The results.
    #[must_use]
    pub fn document<'a>(
        &'a self,
        found: &'a Findings,
        sensitivity: Option<&'a Sensitivity>,
        seed: u64,
        runs: u32,
    ) -> Document<'a> {
        Document {
            schema: "goodness.study/1",
            study: self.name,
            source: self.source,
            seed,
            runs,
            conclusion: &found.conclusion,
            rows: &found.rows,
            parameters: self.parameters,
            sensitivity,
        }
    }
}

/// Every study, in the order of the documents.
pub const STUDIES: &[Study<'static>] = &[
    travis_1998::STUDY,
    appleton_1999::STUDY,
    ezolt_1999::STUDY,
    santosa_2005_apache::STUDY,
    santosa_2005_mysql::STUDY,
    dbload_2006::STUDY,
    panasyuk_2009::STUDY,
    fio_mixed::STUDY,
    postgres_2026::STUDY,
];

/// The studies as a list.
#[must_use]
pub fn catalogue() -> Vec<Value> {
    STUDIES.iter().map(|study| Entry::new(study.name, study.question).source(study.source).value()).collect()
}

/// The study called `name`.
#[must_use]
pub fn find(name: &str) -> Option<&'static Study<'static>> {
    STUDIES.iter().find(|study| study.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_study_reads_its_published_numbers_and_states_its_inferences() {
        for study in STUDIES {
            let published = Published::read(study.name, study.published).unwrap();
            assert!(!published.numbers.is_empty(), "{}", study.name);
            for it in study.parameters {
                assert!(it.low <= it.value && it.value <= it.high, "{}: {}", study.name, it.name);
                assert!(it.because.ends_with('.'), "{}: {}", study.name, it.name);
            }
            for corner in study.corners {
                assert!(study.parameters.iter().any(|it| it.name == *corner), "{}: {corner}", study.name);
            }
        }
    }
}
