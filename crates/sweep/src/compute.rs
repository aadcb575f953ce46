//! Computes a cell: a plan with one arm. Touches no file but the inputs.

use crate::cell::{Cell, Identities, identity, name};
use goodness::{OpenOptions, Plan, Refusal, Work, open, unwatched};
use goodness_observe::METRICS;
use serde::{Deserialize, Serialize};
use std::any::Any;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

/// Opened inputs that a computer keeps.
const KEPT: usize = 64;

/// The values of one metric, by run; `None` where a run did not measure it.
pub type Values = (String, Vec<Option<f64>>);

/// The values of many cells, by name.
pub type ByCell = std::collections::HashMap<String, Vec<Values>>;

/// A computed cell, as a line of the journal has it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finished {
    /// Name of the cell.
    pub cell: String,
    /// The machine's name.
    #[serde(default)]
    pub machine: String,
    /// The metrics that some run measured; empty for a cell that failed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<Values>,
    /// Reason of the failure, a sentence; `None` if the cell did not fail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
}

/// Computes cells, and keeps the inputs that it opened. One for each thread.
#[derive(Default)]
pub struct Computer {
    /// Places of the files that inputs and machines name. A file that is not listed is where its name says.
    files: HashMap<String, PathBuf>,
    works: HashMap<(String, Option<String>), (Work, Identities)>,
}

impl Computer {
    /// A computer on a machine that has the files of inputs and machines elsewhere.
    #[must_use]
    pub fn with_files(files: HashMap<String, PathBuf>) -> Computer {
        Computer { files, ..Computer::default() }
    }

    /// Computes `cell`. Equal cells give equal results, wherever they are computed.
    pub fn compute(&mut self, cell: &Cell) -> Finished {
        // A fault of the program in one cell is that cell's failure, not the sweep's.
        let values = catch_unwind(AssertUnwindSafe(|| self.values(cell)));
        match values.unwrap_or_else(|panic| Err(Refusal::failed(said(&*panic)))) {
            Ok((machine, values)) => Finished { cell: cell.name.clone(), machine, values, failed: None },
            Err(why) => Finished {
                cell: cell.name.clone(),
                machine: String::new(),
                values: Vec::new(),
                failed: Some(why.to_string()),
            },
        }
    }

    fn values(&mut self, cell: &Cell) -> Result<(String, Vec<Values>), Refusal> {
        let work = self.work(cell)?;
        let arm = work.arm(Some(&cell.arm), &work.standard_policy()?, None)?;
        // A replay's stated error is the same in every cell of its input: `goodness verify` has it.
        let plan = Plan { recorded: None, seed: cell.seed, runs: cell.runs, ..Plan::of(work, vec![arm]) };
        let runs = plan.run(&unwatched)?;
        if let Some((_, violation)) = runs.violation() {
            return Err(Refusal::violated(format!("{}: {}", violation.checker, violation.sentence)));
        }
        let values = METRICS.iter().map(|metric| (metric.name.to_string(), runs.arms[0].values(metric.name).to_vec()));
        let measured = values.filter(|(_, values)| values.iter().any(Option::is_some)).collect();
        Ok((work.machine.name.clone(), measured))
    }

    /// The work of `cell`, opened once.
    ///
    /// # Errors
    /// It cannot be opened, or its files are not those that named the cell.
    fn work(&mut self, cell: &Cell) -> Result<&Work, Refusal> {
        let key = (cell.input.clone(), cell.machine.clone());
        if !self.works.contains_key(&key) {
            if self.works.len() >= KEPT {
                self.works.clear();
            }
            let found =
                |text: &str| self.files.get(text).map_or(text.into(), |path| path.to_string_lossy().into_owned());
            let (input, machine) = (found(&cell.input), cell.machine.as_deref().map(found));
            let machine_identity = machine.as_deref().map(identity).transpose()?;
            let identities = Identities { input: identity(&input)?, machine: machine_identity };
            let options = OpenOptions { machine, ..OpenOptions::default() };
            self.works.insert(key.clone(), (open(&input, &options, &unwatched)?, identities));
        }
        let (work, identities) = &self.works[&key];
        match name(cell, identities) == cell.name {
            true => Ok(work),
            false => Err(Refusal::failed("a file of its input or machine is not the one that named this cell")
                .at(cell.input.clone())
                .remedy("put the same files on every node; if you changed one, start the sweep again")),
        }
    }
}

/// The sentence of a panic.
fn said(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    format!("the program has a fault: {}", text.unwrap_or("it does not say which"))
}
