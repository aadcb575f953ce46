//! Results that are kept to compare later ones with: a folder for each name, a file for each result.

use crate::refusal::Refusal;
use goodness_report::model::Input;
use goodness_report::{Report, atomic, json};
use std::fs::{self, OpenOptions};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// A history: `000001.json`, `000002.json` and so on, the newest last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Saved {
    folder: PathBuf,
}

impl Saved {
    /// The history `name` in the folder of results, or a folder by its path: what contains a `/`, or is `.` or `..`.
    ///
    /// # Errors
    /// A name that is no file name.
    pub fn named(results: &Path, name: &str) -> Result<Saved, Refusal> {
        if name.contains('/') || name == "." || name == ".." {
            return Ok(Saved { folder: name.into() });
        }
        let is_name = !name.is_empty() && name.chars().all(|it| it.is_alphanumeric() || "-_.+".contains(it));
        match is_name && !name.starts_with('.') {
            true => Ok(Saved { folder: results.join(name) }),
            false => Err(Refusal::usage(format!("\"{name}\" cannot name saved results"))
                .remedy("use letters, digits, -, _ and ., or a path with a /")),
        }
    }

    /// Adds a result. Returns its file.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn add(&self, report: &Report) -> Result<PathBuf, Refusal> {
        let failed = |why: std::io::Error| Refusal::failed(format!("cannot be written: {why}")).at(self.shown());
        fs::create_dir_all(&self.folder).map_err(failed)?;
        let mut number = self.numbers()?.into_iter().max().unwrap_or(0);
        let path = loop {
            number += 1;
            let path = self.file(number);
            // Another process may save at the same time: the file is reserved first.
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                Ok(_) => break path,
                Err(why) if why.kind() == ErrorKind::AlreadyExists => {}
                Err(why) => return Err(failed(why)),
            }
        };
        if let Err(why) = atomic::write_with(&path, |out| json::write(report, out)) {
            // An empty file would end each later search.
            let _ = fs::remove_file(&path);
            return Err(Refusal::failed(why));
        }
        Ok(path)
    }

    /// The newest result of `input`, and its file.
    ///
    /// # Errors
    /// There is none, or it cannot be read.
    pub fn latest(&self, input: &Input) -> Result<(PathBuf, Report), Refusal> {
        let mut numbers = self.numbers()?;
        numbers.sort_unstable_by(|a, b| b.cmp(a));
        let is_of_input = |it: &Input| match (&it.sha256, &input.sha256) {
            (Some(one), Some(other)) => one == other,
            _ => it.kind == input.kind && it.name == input.name,
        };
        for number in numbers {
            let path = self.file(number);
            // A process that was killed has reserved it.
            if fs::metadata(&path).is_ok_and(|it| it.len() == 0) {
                continue;
            }
            let report = read(&path)?;
            if is_of_input(&report.input) {
                return Ok((path, report));
            }
        }
        let what = format!("no result of {} is saved", input.name);
        Err(Refusal::usage(what).at(self.shown()).remedy("save one first"))
    }

    fn file(&self, number: u32) -> PathBuf {
        self.folder.join(format!("{number:06}.json"))
    }

    /// Numbers of the saved results, in any order; none without the folder.
    fn numbers(&self) -> Result<Vec<u32>, Refusal> {
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(why) if why.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(why) => return Err(Refusal::usage(format!("cannot be read: {why}")).at(self.shown())),
        };
        let number = |name: &str| name.strip_suffix(".json")?.parse().ok();
        Ok(entries.flatten().filter_map(|it| number(it.file_name().to_str()?)).collect())
    }

    fn shown(&self) -> String {
        self.folder.display().to_string()
    }
}

/// Reads a result.
///
/// # Errors
/// It cannot be read, or is no result.
pub fn read(path: &Path) -> Result<Report, Refusal> {
    let place = path.display().to_string();
    let text = fs::read_to_string(path).map_err(|why| Refusal::usage(format!("cannot be read: {why}")).at(&*place))?;
    json::read(&text).map_err(|why| Refusal::usage(why).at(place))
}

/// True if the file begins as a result does. Another file of that ending may be work.
#[must_use]
pub fn is_result(path: &Path) -> bool {
    use std::io::Read;
    let mut begin = Vec::new();
    let file = fs::File::open(path).and_then(|file| file.take(256).read_to_end(&mut begin));
    file.is_ok() && String::from_utf8_lossy(&begin).contains("\"goodness.report/")
}
