//! The folder of a sweep: journals, and a shard for each block of cells.
//!
//! ```text
//!  slices/
//!    journal/1-of-1.jsonl           finished cells of blocks that have no shard yet, a line each
//!    journal/1-of-1.lock            held by its writer
//!    shards/3f2a…-00000.parquet     block 0 of the definition with that hash
//! ```
//!
//! A cell is acknowledged when its line is on disk. A shard is written when all cells of its block are finished, under
//! its name at once. The bytes of a shard depend on the cells alone: not on the order in which they were finished, nor
//! on how often the sweep was killed.

use crate::cell::{Cell, Cells};
use crate::compute::{ByCell, Finished, Values};
use crate::journal::{self, Journal};
use crate::shard::{self, Facts, Shard};
use goodness::Refusal;
use goodness_table::Table;
use std::collections::{HashMap, HashSet};
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Cells of a block.
pub const BLOCK: usize = 1_024;

/// One of several writers of a folder: it has every `of`-th block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Number of this writer, from 1.
    pub number: usize,
    /// Number of writers.
    pub of: usize,
}

impl Part {
    /// The only writer.
    pub const WHOLE: Part = Part { number: 1, of: 1 };

    /// Parses `2/8`.
    ///
    /// # Errors
    /// A sentence.
    pub fn parse(text: &str) -> Result<Part, String> {
        let parts = text.split_once('/').and_then(|(number, of)| Some((number.parse().ok()?, of.parse().ok()?)));
        match parts {
            Some((number, of)) if (1..=of).contains(&number) => Ok(Part { number, of }),
            _ => Err(format!("{text} is not a part such as 2/8: number 2 of 8")),
        }
    }

    fn has(self, block: usize) -> bool {
        block % self.of == self.number - 1
    }
}

/// A folder, opened by one writer.
pub struct Folder {
    path: PathBuf,
    cells: Arc<Cells>,
    part: Part,
    /// Held as long as the folder is open.
    _lock: File,
    journal: Journal,
    /// Place among the cells by name.
    places: HashMap<String, usize>,
    /// Finished cells of blocks that have no whole shard, by name.
    finished: HashMap<String, Finished>,
    /// Cells in shards of other definitions.
    elsewhere: HashSet<String>,
    /// Blocks of this definition that have a whole shard.
    stored: HashSet<usize>,
}

impl Folder {
    /// Opens the folder at `path` for `part` of `cells`, and makes it if there is none.
    ///
    /// # Errors
    /// Another writer of the same part has it, or a file in it is damaged.
    pub fn open(path: &Path, cells: Arc<Cells>, part: Part) -> Result<Folder, Refusal> {
        for folder in [path.join("journal"), path.join("shards")] {
            fs::create_dir_all(&folder)
                .map_err(|why| Refusal::usage(format!("the folder cannot be made: {why}")).at(shown(&folder)))?;
        }
        let name = format!("{}-of-{}", part.number, part.of);
        let lock = lock(&path.join("journal").join(format!("{name}.lock")), path)?;
        let journal = Journal::open(&path.join("journal").join(format!("{name}.jsonl")))?;
        let places = cells.all.iter().enumerate().map(|(place, cell)| (cell.name.clone(), place)).collect();
        remove_partial(path, &name, part)?;
        let mut folder = Folder {
            path: path.into(),
            cells,
            part,
            _lock: lock,
            journal,
            places,
            finished: HashMap::new(),
            elsewhere: HashSet::new(),
            stored: HashSet::new(),
        };
        folder.read_shards()?;
        folder.read_journals()?;
        Ok(folder)
    }

    fn read_shards(&mut self) -> Result<(), Refusal> {
        for path in files(&self.path.join("shards"), "parquet")? {
            // The names of the cells are enough here.
            let Shard { facts, values, .. } = shard::read(&path, Some(""))?;
            match facts.definition == self.cells.hash {
                true if facts.failed == 0 => drop(self.stored.insert(facts.block)),
                true => {}
                false => self.elsewhere.extend(values.into_keys()),
            }
        }
        Ok(())
    }

    fn read_journals(&mut self) -> Result<(), Refusal> {
        for path in files(&self.path.join("journal"), "jsonl")? {
            // Lines of stored cells are left over from a kill between the last shard and the end.
            let done = journal::read(&path)?.into_iter();
            let done: Vec<Finished> = done.filter(|it| it.failed.is_none() && !self.is_stored(&it.cell)).collect();
            self.finished.extend(done.into_iter().map(|it| (it.cell.clone(), it)));
        }
        Ok(())
    }

    /// Places of the cells of a block.
    fn block(&self, number: usize) -> std::ops::Range<usize> {
        let from = number * BLOCK;
        from..(from + BLOCK).min(self.cells.all.len())
    }

    /// All cells of the definition.
    #[must_use]
    pub fn cells(&self) -> Arc<Cells> {
        Arc::clone(&self.cells)
    }

    fn blocks(&self) -> std::ops::Range<usize> {
        0..self.cells.all.len().div_ceil(BLOCK)
    }

    /// True if the cell needs not be computed: it is in a shard or in a journal.
    #[must_use]
    pub fn has(&self, cell: &Cell) -> bool {
        self.is_stored(&cell.name) || self.finished.contains_key(&cell.name)
    }

    /// True if the cell is in a shard.
    fn is_stored(&self, name: &str) -> bool {
        let block = self.places.get(name).map(|place| place / BLOCK);
        block.is_some_and(|block| self.stored.contains(&block)) || self.elsewhere.contains(name)
    }

    /// Places of the cells of this part that are to be computed, in order.
    #[must_use]
    pub fn missing(&self) -> Vec<usize> {
        let own = self.blocks().filter(|block| self.part.has(*block)).flat_map(|block| self.block(block));
        own.filter(|place| !self.has(&self.cells.all[*place])).collect()
    }

    /// Takes computed cells. They are acknowledged when this returns: never computed again. Cells that failed are kept
    /// until the end of this run only.
    ///
    /// # Errors
    /// The journal or a shard cannot be written.
    pub fn accept(&mut self, cells: Vec<Finished>) -> Result<(), Refusal> {
        self.journal.append(&cells)?;
        let blocks: HashSet<usize> =
            cells.iter().filter_map(|it| Some(self.places.get(it.cell.as_str())? / BLOCK)).collect();
        self.finished.extend(cells.into_iter().map(|it| (it.cell.clone(), it)));
        let mut blocks: Vec<usize> = blocks.into_iter().collect();
        blocks.sort_unstable();
        blocks.into_iter().try_for_each(|block| self.store(block))
    }

    /// Writes the shard of `block` if all its cells are finished.
    fn store(&mut self, block: usize) -> Result<(), Refusal> {
        let cells = self.cells();
        let own = || cells.all[self.block(block)].iter().filter(|cell| !self.elsewhere.contains(&cell.name));
        let results: Option<Vec<(&Cell, &Finished)>> =
            own().map(|cell| Some((cell, self.finished.get(&cell.name)?))).collect();
        let Some(results) = results else { return Ok(()) };
        let failed = results.iter().filter(|(_, it)| it.failed.is_some()).count();
        let facts = Facts { definition: self.cells.hash.clone(), block, failed };
        let path = self.path.join("shards").join(format!("{}-{block:05}.parquet", facts.definition));
        shard::write(&path, &facts, &results)?;
        if failed == 0 {
            self.stored.insert(block);
            for cell in &cells.all[self.block(block)] {
                self.finished.remove(&cell.name);
            }
        }
        Ok(())
    }

    /// Writes shards whose cells were all in journals, and drops the lines of stored blocks from this writer's journal.
    /// Returns the cells that failed, with their sentences.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn finish(mut self) -> Result<Vec<(Cell, String)>, Refusal> {
        let open: Vec<usize> = self.blocks().filter(|it| self.part.has(*it) && !self.stored.contains(it)).collect();
        open.into_iter().try_for_each(|block| self.store(block))?;
        let own = self.cells.all.iter().filter_map(|cell| Some((cell, self.finished.get(&cell.name)?)));
        let failed = own.clone().filter_map(|(cell, it)| Some((cell.clone(), it.failed.clone()?))).collect();
        let kept: Vec<&Finished> = own.filter(|(_, it)| it.failed.is_none()).map(|(_, it)| it).collect();
        let others: Vec<&Finished> =
            self.finished.values().filter(|it| !self.places.contains_key(it.cell.as_str())).collect();
        self.journal.keep(kept.into_iter().chain(others))?;
        Ok(failed)
    }

    /// Takes in the shards and journals of another folder.
    ///
    /// # Errors
    /// A cell that is in both has different values: name and folder.
    pub fn merge(&mut self, other: &Path) -> Result<(), Refusal> {
        let known = values(&self.path, None)?;
        let same = |cell: &str, values: &[Values]| match known.get(cell) {
            Some(own) if own != values => Err(Refusal::violated(format!(
                "cell {cell} has other values in {}; equal cells must have equal values",
                other.display()
            ))
            .remedy("delete the folder that another version of the program made")),
            _ => Ok(()),
        };
        let mut taken = Vec::new();
        for path in files(&other.join("shards"), "parquet")? {
            let shard = shard::read(&path, None)?;
            shard.values.iter().try_for_each(|(cell, values)| same(cell, values))?;
            let new = shard.values.keys().filter(|cell| !known.contains_key(*cell)).count();
            if new < shard.values.len() {
                // A copy of the file would have the rows of known cells twice.
                taken.extend(shard.into_finished().filter(|it| !known.contains_key(&it.cell)));
            } else if new > 0 {
                let target = self.path.join("shards").join(path.file_name().unwrap_or_default());
                let bytes = fs::read(&path).map_err(|why| Refusal::failed(why.to_string()).at(shown(&path)))?;
                goodness_output::write(&target, &bytes).map_err(Refusal::failed)?;
            }
        }
        for path in files(&other.join("journal"), "jsonl")? {
            for finished in journal::read(&path)?.into_iter().filter(|it| it.failed.is_none()) {
                same(&finished.cell, &finished.values)?;
                if !known.contains_key(&finished.cell) {
                    taken.push(finished);
                }
            }
        }
        self.read_shards()?;
        self.accept(taken)
    }
}

/// The values of every cell in the folder, or of `metric` alone: of shards and journals.
///
/// # Errors
/// A file is damaged.
pub fn values(folder: &Path, metric: Option<&str>) -> Result<ByCell, Refusal> {
    let mut all = ByCell::new();
    for path in files(&folder.join("shards"), "parquet")? {
        all.extend(shard::read(&path, metric)?.values);
    }
    for path in files(&folder.join("journal"), "jsonl")? {
        for finished in journal::read(&path)?.into_iter().filter(|it| it.failed.is_none()) {
            let of = finished.values.into_iter().filter(|(name, _)| metric.is_none_or(|it| it == name));
            all.insert(finished.cell, of.collect());
        }
    }
    Ok(all)
}

/// The rows of `cells` in the shards of a folder, shard by shard: schema `goodness.sweep-runs/1`. The first part is
/// empty, so that there is a header in any case.
///
/// # Errors
/// The folder cannot be read; a part is an error if its shard cannot.
pub fn tables(folder: &Path, cells: &Cells) -> Result<impl Iterator<Item = io::Result<Table>>, Refusal> {
    let names: HashSet<&str> = cells.all.iter().map(|cell| cell.name.as_str()).collect();
    let paths = files(&folder.join("shards"), "parquet")?;
    let rows = paths.into_iter().map(move |path| shard::rows(&path, |cell| names.contains(cell)));
    Ok(std::iter::once(Ok(shard::table())).chain(rows))
}

/// The files of a folder with this ending, by name; none if there is no folder.
fn files(folder: &Path, ending: &str) -> Result<Vec<PathBuf>, Refusal> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(why) if why.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(why) => return Err(Refusal::failed(format!("it cannot be read: {why}")).at(shown(folder))),
    };
    let paths = entries.flatten().map(|entry| entry.path());
    let mut paths: Vec<PathBuf> = paths.filter(|path| path.extension().is_some_and(|it| it == ending)).collect();
    paths.sort_unstable();
    Ok(paths)
}

/// Removes files that this part's writer was writing when it was killed.
fn remove_partial(folder: &Path, journal: &str, part: Part) -> Result<(), Refusal> {
    let is_own = |name: &str| match name.strip_suffix(".partial") {
        None => false,
        Some(rest) if rest.starts_with(&format!(".{journal}.jsonl.")) => true,
        Some(rest) => {
            let block = rest.split_once('-').and_then(|(_, rest)| rest.split('.').next()?.parse().ok());
            rest.contains(".parquet.") && block.is_some_and(|block| part.has(block))
        }
    };
    for folder in [folder.join("journal"), folder.join("shards")] {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            if is_own(&entry.file_name().to_string_lossy()) {
                let path = entry.path();
                fs::remove_file(&path)
                    .map_err(|why| Refusal::failed(format!("it cannot be removed: {why}")).at(shown(&path)))?;
            }
        }
    }
    Ok(())
}

fn lock(path: &Path, folder: &Path) -> Result<File, Refusal> {
    let file =
        File::create(path).map_err(|why| Refusal::usage(format!("it cannot be written: {why}")).at(shown(path)))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(Refusal::usage("another run writes this part of the sweep")
            .at(shown(folder))
            .remedy("wait for its end, or compute another part of it")),
        Err(TryLockError::Error(why)) => Err(Refusal::failed(format!("it cannot be locked: {why}")).at(shown(path))),
    }
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}
