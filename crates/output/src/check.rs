//! Checks that files can be written before the work whose results they will hold.

use crate::hidden;
use crate::link::{is_special, target};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Refuses a file that cannot be written.
///
/// # Errors
/// A sentence naming the file.
pub fn check(path: &Path) -> Result<(), String> {
    if is_special(path) {
        return Ok(());
    }
    target(path)?;
    writable(path).map_err(|why| cannot(path, &why))
}

/// Refuses files that cannot be written, one file for two purposes, and a file that is the input. A purpose is named in
/// the sentence: `--json`.
///
/// # Errors
/// A sentence naming the file.
pub fn check_all<'a>(input: &Path, files: impl IntoIterator<Item = (&'a Path, &'static str)>) -> Result<(), String> {
    let mut taken = vec![(resolved(input), "the input")];
    for (path, purpose) in files {
        if is_special(path) {
            continue;
        }
        check(path)?;
        let target = resolved(path);
        if let Some((_, other)) = taken.iter().find(|(earlier, _)| *earlier == target) {
            return Err(cannot(path, &format!("it is also {other}")));
        }
        taken.push((target, purpose));
    }
    Ok(())
}

fn cannot(path: &Path, why: &str) -> String {
    format!("{} cannot be written: {why}. Choose another file.", path.display())
}

/// Makes a hidden file in the folder of `path` and removes it; the error says why that is not possible.
fn writable(path: &Path) -> Result<(), String> {
    if path.is_dir() {
        return Err("it is a folder".into());
    }
    let target = resolved(path);
    let folder = target.parent().unwrap_or(Path::new("."));
    if !folder.is_dir() {
        return Err(format!("there is no folder {}", folder.display()));
    }
    let probe = folder.join(hidden(path, &target)?);
    File::create_new(&probe).and_then(|_| std::fs::remove_file(&probe)).map_err(|error| match error.kind() {
        // As in /proc: the folder exists, but no file can be created in it.
        io::ErrorKind::NotFound => format!("no file can be made in {}", folder.display()),
        kind => format!("{kind} in {}", folder.display()),
    })
}

/// The place a path means, links followed, whether or not there is a file yet.
fn resolved(path: &Path) -> PathBuf {
    let path = &target(path).unwrap_or_else(|_| path.to_path_buf());
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    path.canonicalize().unwrap_or_else(|_| match (folder.canonicalize(), path.file_name()) {
        (Ok(folder), Some(name)) => folder.join(name),
        _ => path.to_path_buf(),
    })
}

/// The kind of file that an option writes, and whether one that begins with `start` is of it; `None` where that cannot
/// be told.
fn kind(option: &str, start: &[u8]) -> Option<(&'static str, bool)> {
    let begins = |with: &[&[u8]]| with.iter().any(|it| start.starts_with(it));
    Some(match option {
        "--json" => ("JSON", begins(&[b"{", b"["])),
        "--html" => ("a page", begins(&[b"<"])),
        "--csv" => ("CSV", !begins(&[b"#", b"["]) && !start.contains(&0)),
        "--parquet" => ("Parquet", begins(&[b"PAR1"])),
        "--arrow" => ("Arrow", begins(&[b"ARROW1"])),
        // The tag of a field's number is in each packet, and no text has such bytes.
        "--perfetto" => ("a Perfetto trace", start.iter().any(|byte| *byte < 9)),
        _ => return None,
    })
}

/// Refuses to replace a file that is not of the kind that `option` writes: in `--json x.ftrace`, the option takes the
/// input for its own file.
///
/// # Errors
/// A sentence naming the option and the file.
pub fn check_kind(path: &Path, option: &str) -> Result<(), String> {
    let mut start = [0; 64];
    if !path.is_file() {
        return Ok(());
    }
    let length = File::open(path).and_then(|mut file| file.read(&mut start)).unwrap_or(0);
    let start = start[..length].trim_ascii_start();
    let Some((name, false)) = kind(option, start).filter(|_| !start.is_empty()) else { return Ok(()) };
    let other = if option == "--json" { ", or write --json=- for standard output" } else { "" };
    Err(format!("{option} {0}: {0} exists and is not {name}, so it is kept. Name another file{other}", path.display()))
}
