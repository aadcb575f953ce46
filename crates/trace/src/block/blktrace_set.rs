//! The files of one blktrace run, one per CPU: finds them and merges their records by time, then sequence.

use super::blktrace_file::{BlktraceFile, Sequenced};
use super::source::{About, Numbered, Source};
use crate::error::TraceError;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Files that are read together: more CPUs than Linux supports.
const FILES_MAX: usize = 8192;

/// Several files as one.
pub(crate) struct BlktraceSet<'a> {
    files: Vec<BlktraceFile<'a>>,
    /// The next record of each file.
    next: Vec<Option<Sequenced>>,
    /// Time, sequence and file of the next records, earliest on top.
    order: BinaryHeap<Reverse<(u64, u32, usize)>>,
    begun: bool,
    count: u64,
}

impl<'a> BlktraceSet<'a> {
    pub fn new(files: Vec<BlktraceFile<'a>>) -> BlktraceSet<'a> {
        let next = vec![None; files.len()];
        BlktraceSet { files, next, order: BinaryHeap::new(), begun: false, count: 0 }
    }

    /// Replaces the head of `file` by the file's next record.
    fn advance(&mut self, file: usize, about: &mut About) {
        self.next[file] = self.files[file].next(about);
        if let Some(Sequenced { record, sequence }) = self.next[file] {
            self.order.push(Reverse((record.at.ns(), sequence, file)));
        }
    }
}

impl Source for BlktraceSet<'_> {
    fn next(&mut self, about: &mut About) -> Result<Option<Numbered>, TraceError> {
        if let [only] = &mut self.files[..] {
            let Some(found) = only.next(about) else { return Ok(None) };
            self.count += 1;
            return Ok(Some(Numbered { record: found.record, place: self.count }));
        }
        if !self.begun {
            self.begun = true;
            for file in 0..self.files.len() {
                self.advance(file, about);
            }
        }
        let Some(Reverse((_, _, file))) = self.order.pop() else { return Ok(None) };
        let Some(found) = self.next[file].take() else { return Ok(None) };
        self.advance(file, about);
        self.count += 1;
        Ok(Some(Numbered { record: found.record, place: self.count }))
    }

    fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.offset).sum()
    }

    fn reached(&self) -> String {
        format!("byte {}", self.bytes())
    }
}

/// The device and the CPU in a name such as `sda.blktrace.3` or `sda.blktrace.3.gz`.
fn parts(path: &Path) -> Option<(&str, u32)> {
    let name = path.file_name()?.to_str()?;
    let name = [".gz", ".xz", ".zst"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
    let (device, cpu) = name.rsplit_once(".blktrace.")?;
    Some((device, cpu.parse().ok()?))
}

/// The files meant by `paths`: all blktrace files of a folder, or for one blktrace file all of its run.
///
/// # Errors
/// A folder that cannot be listed, or that holds none.
pub fn files_of(paths: &[PathBuf]) -> Result<Vec<PathBuf>, TraceError> {
    let mut files = Vec::new();
    for path in paths {
        let cannot = |source| TraceError::Open { path: path.display().to_string(), source };
        if path.as_os_str() == "-" {
            files.push(path.clone());
        } else if path.is_dir() {
            let found = in_folder(path, |_| true).map_err(cannot)?;
            if found.is_empty() {
                let why = "it is a folder without files named DEVICE.blktrace.N";
                return Err(cannot(io::Error::other(why)));
            }
            files.extend(found);
        } else if let (Some((device, _)), true) = (parts(path), paths.len() == 1) {
            let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
            // A folder that cannot be listed does not keep the named file from being read.
            let found = in_folder(folder, |other| other == device).unwrap_or_default();
            if path.is_file() && !found.is_empty() { files.extend(found) } else { files.push(path.clone()) }
        } else {
            files.push(path.clone());
        }
    }
    Ok(files)
}

/// The blktrace files of a folder whose device passes `fits`, by device and CPU.
fn in_folder(folder: &Path, fits: impl Fn(&str) -> bool) -> io::Result<Vec<PathBuf>> {
    let mut found: Vec<PathBuf> = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if parts(&path).is_some_and(|(device, _)| fits(device)) && path.is_file() {
            if found.len() >= FILES_MAX {
                return Err(io::Error::other(format!("it holds more than {FILES_MAX} blktrace files")));
            }
            found.push(path);
        }
    }
    found.sort_by(|a, b| parts(a).cmp(&parts(b)));
    Ok(found)
}
