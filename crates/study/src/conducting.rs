//! A study from its start to its results.

use crate::html::Page;
use crate::lab::{Lab, Tell};
use crate::published::Published;
use crate::sensitivity::{self, Sensitivity};
use crate::{Document, Findings, Row, Study, text};
use goodness_report::text::Extent;

/// Options of conducting studies.
#[derive(Clone, Copy, Debug)]
pub struct Conducting {
    /// Replications of each run; `None` for the study's own number.
    pub runs: Option<u32>,
    /// Random seed.
    pub seed: u64,
    /// Without the sensitivity analysis.
    pub quick: bool,
    /// With rows that depend on the clock of this machine and differ from run to run.
    pub timing: bool,
}

/// Results of one study.
pub struct Conducted<'a> {
    study: &'a Study<'a>,
    findings: Findings,
    sensitivity: Option<Sensitivity>,
    how: Conducting,
}

impl Conducting {
    /// Conducts a study with its published numbers. `tell` gets the number of simulations done, and may end it.
    ///
    /// # Errors
    /// A violated checker, in a sentence; it was ended.
    pub fn conduct<'a>(
        self,
        study: &'a Study<'a>,
        published: &Published,
        tell: &Tell,
    ) -> Result<Conducted<'a>, String> {
        let mut lab = Lab::new(study, published, self.seed, tell);
        (lab.runs, lab.timing) = (self.runs_of(study), self.timing);
        let findings = (study.conduct)(&lab)?;
        let sensitivity = match self.quick || study.parameters.is_empty() {
            true => None,
            false => Some(sensitivity::search(study, &lab, &findings)?),
        };
        Ok(Conducted { study, findings, sensitivity, how: self })
    }

    /// Replications of each run of `study`.
    #[must_use]
    pub fn runs_of(self, study: &Study) -> u32 {
        self.runs.unwrap_or(study.runs)
    }
}

impl Conducted<'_> {
    /// The study.
    #[must_use]
    pub fn study(&self) -> &Study<'_> {
        self.study
    }

    /// The rows: published beside simulated.
    #[must_use]
    pub fn rows(&self) -> &[Row] {
        &self.findings.rows
    }

    /// Random seed.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.how.seed
    }

    /// Replications of each run.
    #[must_use]
    pub fn runs(&self) -> u32 {
        self.how.runs_of(self.study)
    }

    /// As text of `width` columns.
    #[must_use]
    pub fn text(&self, extent: Extent, width: u16) -> String {
        text::render(self.study, &self.findings, self.sensitivity.as_ref(), extent, width)
    }

    /// As JSON, in the schema `goodness.study/1`.
    #[must_use]
    pub fn document(&self) -> Document<'_> {
        self.study.document(&self.findings, self.sensitivity.as_ref(), self.how.seed, self.runs())
    }

    /// As a self-contained page; `command` does it again.
    #[must_use]
    pub fn page(&self, command: &str) -> String {
        let (findings, sensitivity) = (&self.findings, self.sensitivity.as_ref());
        Page { study: self.study, findings, sensitivity, command }.render()
    }
}
