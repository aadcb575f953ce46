//! The journal of one writer: a line of JSON for each finished cell, on disk before the cell is acknowledged.

use crate::compute::Finished;
use goodness::Refusal;
use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// A journal that is written.
pub(crate) struct Journal {
    path: PathBuf,
    file: File,
}

impl Journal {
    /// Opens the journal at `path` to append, and cuts off a last line that was not written whole.
    pub(crate) fn open(path: &Path) -> Result<Journal, Refusal> {
        let failed = |why| of(path, &why);
        let mut file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path).map_err(failed)?;
        let bytes = std::fs::read(path).map_err(failed)?;
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
        file.set_len(whole as u64).map_err(failed)?;
        file.seek(SeekFrom::End(0)).map_err(failed)?;
        // A new file's name must be on disk, too. Where folders cannot be opened, their names need no sync.
        if let Some(Ok(folder)) = path.parent().map(File::open) {
            folder.sync_all().map_err(failed)?;
        }
        Ok(Journal { path: path.into(), file })
    }

    /// Appends the cells. They are on disk when this returns.
    pub(crate) fn append(&mut self, cells: &[Finished]) -> Result<(), Refusal> {
        let mut text = Vec::new();
        for cell in cells {
            serde_json::to_writer(&mut text, cell).expect("plain values serialise");
            text.push(b'\n');
        }
        let written = self.file.write_all(&text).and_then(|()| self.file.sync_data());
        written.map_err(|why| of(&self.path, &why))
    }

    /// Replaces the journal by one with these cells alone, at once.
    pub(crate) fn keep<'a>(self, cells: impl Iterator<Item = &'a Finished>) -> Result<(), Refusal> {
        let mut text = Vec::new();
        for cell in cells {
            serde_json::to_writer(&mut text, cell).expect("plain values serialise");
            text.push(b'\n');
        }
        match text.is_empty() {
            true => std::fs::remove_file(&self.path).map_err(|why| of(&self.path, &why)),
            false => goodness_output::write(&self.path, &text).map_err(Refusal::failed),
        }
    }
}

/// Reads a journal. A last line without an end was being written when its writer died, and is left out.
///
/// # Errors
/// It cannot be read, or a line that ends is damaged.
pub(crate) fn read(path: &Path) -> Result<Vec<Finished>, Refusal> {
    let bytes = std::fs::read(path).map_err(|why| of(path, &why))?;
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
    let lines = bytes[..whole].split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).enumerate();
    let parsed = lines.map(|(place, line)| {
        serde_json::from_slice(line).map_err(|why| {
            Refusal::usage(format!("the line is damaged: {why}"))
                .at(format!("{}, line {}", path.display(), place + 1))
                .remedy("delete the line; its cell is computed again")
        })
    });
    parsed.collect()
}

fn of(path: &Path, why: &std::io::Error) -> Refusal {
    Refusal::failed(format!("it cannot be used: {why}")).at(path.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finished(cell: &str) -> Finished {
        Finished {
            cell: cell.into(),
            machine: String::new(),
            values: vec![("x".into(), vec![Some(0.1), None])],
            failed: None,
        }
    }

    #[test]
    fn a_torn_last_line_is_left_out_and_cut_off_and_a_damaged_one_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal.jsonl");
        let mut journal = Journal::open(&path).unwrap();
        journal.append(&[finished("a"), finished("b")]).unwrap();
        let whole = std::fs::read(&path).unwrap();
        for torn in 1..whole.len() / 2 {
            std::fs::write(&path, &whole[..whole.len() - torn]).unwrap();
            assert_eq!(read(&path).unwrap(), [finished("a")], "{torn} bytes are missing");
        }
        let mut journal = Journal::open(&path).unwrap();
        journal.append(&[finished("c")]).unwrap();
        assert_eq!(read(&path).unwrap(), [finished("a"), finished("c")]);
        let damaged = String::from_utf8(whole).unwrap().replacen("\"cell\"", "\"cexl\"", 1);
        std::fs::write(&path, damaged).unwrap();
        let why = read(&path).unwrap_err().to_string();
        assert!(why.contains("journal.jsonl, line 1: the line is damaged") && why.contains("delete the line"), "{why}");
    }
}
