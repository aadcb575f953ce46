//! A folder of loads, with what kernels made of them.

use super::guest::{EIGHT, GROUPS, GUESTS, Guest, TOPOLOGIES};
use goodness::{OpenOptions, Refusal, Work, unwatched};
use goodness_core::Machine;
use goodness_work::machine::parse_machine;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::error::Error;
use std::path::{Path, PathBuf};

/// The suites, folders below `fidelity`.
pub const SUITES: [&str; 4] = ["smp", "eight", "topologies", "groups"];

/// A load on a kernel and a number of CPUs, with the figures of each play.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// Name of the load.
    pub load: String,
    /// Kernel and CPUs.
    pub guest: Guest,
    /// True if the load belongs to the unseen half.
    pub is_unseen: bool,
    /// Values by figure, of all plays.
    pub plays: BTreeMap<String, Vec<f64>>,
}

/// Loads that were played in guests.
#[derive(Clone, Debug)]
pub struct Suite {
    /// The folder with `loads`, `machines` and `measured.toml`.
    pub folder: PathBuf,
    /// Kernels and machines of the plays.
    pub guests: &'static [Guest],
}

impl Suite {
    /// One of [`SUITES`].
    #[must_use]
    pub fn of(name: &str) -> Option<Suite> {
        let guests = match name {
            "smp" => &GUESTS[..],
            "eight" => &EIGHT[..],
            "topologies" => &TOPOLOGIES[..],
            "groups" => &GROUPS[..],
            _ => return None,
        };
        Some(Suite { folder: Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fidelity").join(name), guests })
    }

    /// The file with the figures of its plays.
    #[must_use]
    pub fn file(&self) -> PathBuf {
        self.folder.join("measured.toml")
    }

    /// Names of all loads, with their halves: of the names in order of their SHA-256, the second half is the unseen
    /// one.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn loads(&self) -> std::io::Result<BTreeMap<String, bool>> {
        let stem = |entry: std::fs::DirEntry| entry.path().file_stem().map(|stem| stem.to_string_lossy().into_owned());
        let names = std::fs::read_dir(self.folder.join("loads"))?.filter_map(|entry| entry.ok().and_then(stem));
        let mut names: Vec<String> = names.collect();
        names.sort_by_key(|name| Sha256::digest(name));
        let seen = names.len() / 2;
        Ok(names.into_iter().enumerate().map(|(place, name)| (name, place >= seen)).collect())
    }

    /// The played cells.
    ///
    /// # Errors
    /// A file that cannot be read or is invalid.
    pub fn cells(&self) -> Result<Vec<Cell>, Box<dyn Error>> {
        let halves = self.loads()?;
        let all: BTreeMap<String, BTreeMap<String, Vec<f64>>> = toml::from_str(&std::fs::read_to_string(self.file())?)?;
        let cell = |name: &str, plays| {
            let (load, guest) = name.split_once(' ')?;
            let guest = *self.guests.iter().find(|it| it.name() == guest)?;
            Some(Cell { load: load.into(), guest, is_unseen: *halves.get(load)?, plays })
        };
        all.into_iter().map(|(name, plays)| Ok(cell(&name, plays).ok_or(format!("no such cell: {name}"))?)).collect()
    }

    /// The played cells of one half.
    ///
    /// # Errors
    /// As [`Suite::cells`].
    pub fn half(&self, is_unseen: bool) -> Result<Vec<Cell>, Box<dyn Error>> {
        Ok(self.cells()?.into_iter().filter(|cell| cell.is_unseen == is_unseen).collect())
    }

    /// Opens the load of that name.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn open(&self, load: &str) -> Result<Work, Refusal> {
        let path = self.folder.join(format!("loads/{load}.toml"));
        goodness::open(&path.to_string_lossy(), &OpenOptions::default(), &unwatched)
    }

    /// The machine of `guest`, with what scheduling costs there. In guests the threads of a core do not slow each
    /// other.
    ///
    /// # Errors
    /// The file `machines/GUEST.toml` is missing or invalid.
    pub fn machine(&self, guest: Guest) -> Result<Machine, Refusal> {
        let path = self.folder.join(format!("machines/{}.toml", guest.name()));
        parse_machine(&path.to_string_lossy()).map_err(Refusal::usage)
    }
}

/// The text of `measured.toml`.
#[must_use]
pub fn file(cells: &[Cell]) -> String {
    let mut text = String::from(
        "# Figures of each play: shares, spread and idle time in per cent, rates per second, latencies in ns. Written \
         by\n# cargo run --release -p goodness-study --example smp -- measure\n",
    );
    for cell in cells {
        text += &format!("\n[\"{} {}\"]\n", cell.load, cell.guest.name());
        for (figure, values) in &cell.plays {
            let values: Vec<String> = values.iter().map(|value| format!("{value:.5e}")).collect();
            let lines: Vec<String> = values.chunks(8).map(|some| some.join(", ")).collect();
            text += &format!("\"{figure}\" = [{}]\n", lines.join(",\n    "));
        }
    }
    text
}
