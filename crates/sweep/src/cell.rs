//! Cells: what is computed at once, named by the hash of all that decides it.

use crate::definition::{Definition, Template};
use goodness::{Contender, PolicySpec, Refusal, files_of, shipped};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::{HashMap, HashSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Version of results: raised when the same cell gets other values, so that no folder mixes the two.
pub const RESULTS: u32 = 1;

/// One cell of a sweep.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cell {
    /// Hash of all that decides its values: 32 hexadecimal digits.
    pub name: String,
    /// Input as typed.
    pub input: String,
    /// Machine as typed; `None` for the input's own.
    pub machine: Option<String>,
    /// Arm as typed.
    pub arm: String,
    /// Parameters that its texts name, with their values: `hogs=4,slice=1ms`.
    pub settings: String,
    /// Random seed.
    pub seed: u64,
    /// Number of runs.
    pub runs: u32,
}

/// The cells of a definition, each once, in its order: by point, input, machine, arm, seed.
#[derive(Clone, Debug)]
pub struct Cells {
    /// The cells.
    pub all: Vec<Cell>,
    /// Hash of their names: two definitions of the same cells are one.
    pub hash: String,
}

impl Cells {
    /// All cells of `definition`.
    ///
    /// # Errors
    /// A file among the inputs or machines cannot be read.
    pub fn of(definition: &Definition) -> Result<Cells, Refusal> {
        check_arms(definition)?;
        let mut namer = Namer::default();
        let (mut all, mut known) = (Vec::new(), HashSet::new());
        for coordinates in definition.coordinates() {
            let cell = namer.cell(definition, coordinates)?;
            if known.insert(cell.name.clone()) {
                all.push(cell);
            }
        }
        let mut hash = Sha256::new();
        all.iter().for_each(|cell| hash.update(&cell.name));
        Ok(Cells { all, hash: hex(&hash.finalize()[..8]) })
    }
}

/// Refuses an arm that is wrong at every point, before anything is computed. One that is wrong at some has cells that
/// fail.
fn check_arms(definition: &Definition) -> Result<(), Refusal> {
    let standard = PolicySpec::parse("eevdf")?;
    for arm in &definition.arms {
        let mut tried = definition.points.iter().map(|point| Contender::arm(&arm.at(point), &standard));
        if let Some(Err(why)) = tried.next()
            && tried.all(|it| it.is_err())
        {
            return Err(why);
        }
    }
    Ok(())
}

/// Places in the lists of a definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Coordinates {
    /// Place among the points.
    pub point: usize,
    /// Place among the inputs.
    pub input: usize,
    /// Place among the machines; `None` if none is named.
    pub machine: Option<usize>,
    /// Place among the arms.
    pub arm: usize,
    /// Place among the seeds.
    pub seed: usize,
}

impl Definition {
    /// The coordinates of all cells; several may be one cell.
    pub fn coordinates(&self) -> impl Iterator<Item = Coordinates> {
        let machines: Vec<Option<usize>> = match self.machines.len() {
            0 => vec![None],
            several => (0..several).map(Some).collect(),
        };
        let lists = [self.points.len(), self.inputs.len(), machines.len(), self.arms.len(), self.seeds.len()];
        (0..lists.iter().product::<usize>()).map(move |mut number| {
            let mut places = [0; 5];
            for (place, length) in places.iter_mut().zip(lists).rev() {
                (*place, number) = (number % length, number / length);
            }
            let [point, input, machine, arm, seed] = places;
            Coordinates { point, input, machine: machines[machine], arm, seed }
        })
    }
}

/// Makes cells; reads each file among the inputs once.
#[derive(Debug, Default)]
pub struct Namer {
    identities: HashMap<String, String>,
}

impl Namer {
    /// The cell at `coordinates`.
    ///
    /// # Errors
    /// A file among the inputs or machines cannot be read.
    pub fn cell(&mut self, definition: &Definition, at: Coordinates) -> Result<Cell, Refusal> {
        let point = &definition.points[at.point];
        let (input, arm) = (&definition.inputs[at.input], &definition.arms[at.arm]);
        let machine = at.machine.map(|place| &definition.machines[place]);
        let mut named: Vec<(&str, &str)> = [Some(input), machine, Some(arm)]
            .into_iter()
            .flatten()
            .flat_map(|template: &Template| template.named(point))
            .collect();
        named.sort_unstable();
        named.dedup();
        let settings: Vec<String> = named.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let mut cell = Cell {
            name: String::new(),
            input: input.at(point),
            machine: machine.map(|it| it.at(point)),
            arm: arm.at(point).split_whitespace().collect::<Vec<_>>().join(" "),
            settings: settings.join(","),
            seed: definition.seeds[at.seed],
            runs: definition.runs,
        };
        let machine = cell.machine.clone().map(|it| self.identity(&it)).transpose()?;
        cell.name = name(&cell, &Identities { input: self.identity(&cell.input)?, machine });
        Ok(cell)
    }

    /// As [`identity`], once for each text.
    fn identity(&mut self, text: &str) -> Result<String, Refusal> {
        if let Some(known) = self.identities.get(text) {
            return Ok(known.clone());
        }
        let identity = identity(text)?;
        self.identities.insert(text.into(), identity.clone());
        Ok(identity)
    }
}

/// What the input and the machine of a cell are, wherever their files lie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Identities {
    pub input: String,
    /// `None` for the input's own machine.
    pub machine: Option<String>,
}

/// The name of `cell`: the hash of all that decides its values.
pub(crate) fn name(cell: &Cell, identities: &Identities) -> String {
    let text = format!(
        "results {RESULTS} of {}\ninput {}\nmachine {}\narm {}\nseed {}\nruns {}\n",
        env!("CARGO_PKG_VERSION"),
        identities.input,
        identities.machine.as_deref().unwrap_or_default(),
        cell.arm,
        cell.seed,
        cell.runs
    );
    hex(&Sha256::digest(text.as_bytes())[..16])
}

/// Identity of an input or machine: the hashes of the bytes of all its files, or the text if it is built in.
///
/// # Errors
/// A file cannot be read.
pub(crate) fn identity(text: &str) -> Result<String, Refusal> {
    let hash = |bytes: &[u8]| hex(&Sha256::digest(bytes));
    if let Some(shipped) = shipped::find(text) {
        return Ok(format!("sha256 {}", hash(shipped.bytes)));
    }
    let of_file = |path: PathBuf| {
        let cannot = |why| Refusal::usage(format!("it cannot be read: {why}")).at(path.display().to_string());
        std::fs::read(&path).map(|bytes| hash(&bytes)).map_err(cannot)
    };
    let hashes = files_of(text)?.into_iter().map(of_file).collect::<Result<Vec<_>, _>>()?;
    Ok(if hashes.is_empty() { format!("text {text}") } else { format!("sha256 {}", hashes.join(" ")) })
}

/// The files that inputs and machines of the cells name and that can be sent elsewhere, each once, in order. A blktrace
/// run is several files, which belong together in one folder.
#[must_use]
pub fn files(cells: &Cells) -> Vec<String> {
    let named = cells.all.iter().flat_map(|cell| [Some(&cell.input), cell.machine.as_ref()]).flatten();
    let mut files: Vec<String> = named.cloned().collect();
    files.sort_unstable();
    files.dedup();
    let is_one = |text: &String| files_of(text).is_ok_and(|files| files.len() == 1 && files[0].is_file());
    files.retain(|text| text.ends_with(".toml") && Path::new(text).is_file() || is_one(text));
    files
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(text: &str) -> Cells {
        let base = "metric = \"wakeup_latency_p99\"\ninputs = [\"mixed:hogs={hogs}\"]\n[space]\nhogs = [1, 2]\n";
        Cells::of(&Definition::parse("s.toml", &format!("{text}\n{base}")).unwrap()).unwrap()
    }

    #[test]
    fn a_parameter_multiplies_only_what_names_it() {
        let text = "arms = [\"rr\", \"eevdf\"]\nseeds = [1, 2]";
        assert_eq!(cells(text).all.len(), 2 * 2 * 2);
        let definition = "metric = \"wakeup_latency_p99\"\ninputs = [\"mixed\"]\narms = [\"rr\", \
            \"eevdf:base_slice={slice}\"]\n[space]\nslice = [\"1ms\", \"2ms\"]\n";
        let all = Cells::of(&Definition::parse("s.toml", definition).unwrap()).unwrap().all;
        let shown: Vec<_> = all.iter().map(|it| (it.arm.as_str(), it.settings.as_str())).collect();
        let expected = [("rr", ""), ("eevdf:base_slice=1ms", "slice=1ms"), ("eevdf:base_slice=2ms", "slice=2ms")];
        assert_eq!(shown, expected);
    }

    #[test]
    fn an_arm_that_cannot_be_is_refused_before_anything_is_computed() {
        let text = "metric = \"wakeup_latency_p99\"\ninputs = [\"mixed\"]\narms = [\"rr\", \"eevdv\"]\n";
        let why = Cells::of(&Definition::parse("s.toml", text).unwrap()).unwrap_err().to_string();
        assert!(why.contains("eevdv") && why.contains("eevdf"), "{why}");
    }

    #[test]
    fn all_that_decides_a_cell_is_in_its_name_and_nothing_else() {
        let name = |text| cells(text).all[0].name.clone();
        let base = name("arms = [\"rr\"]");
        assert_eq!(base, name("arms = [\"rr\", \"eevdf\"]"));
        assert_eq!(base.len(), 32);
        for other in [
            "arms = [\"o1\"]",
            "arms = [\"rr\"]\nseeds = [2]",
            "arms = [\"rr\"]\nruns = 6",
            "arms = [\"rr\"]\nmachines = [\"cpus=2\"]",
        ] {
            assert_ne!(base, name(other), "{other}");
        }
    }
}
