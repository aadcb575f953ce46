//! Shared by the tests of the program: running it, and checking errors.

use std::path::Path;
use std::process::{Command, Output, Stdio};

/// The program in `folder`, to run.
pub fn command(folder: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_goodness"));
    command.args(words).current_dir(folder).env("NO_COLOR", "1").stdin(Stdio::null());
    command
}

/// Runs the program in `folder`.
pub fn goodness(folder: &Path, words: &[&str]) -> Output {
    command(folder, words).output().expect("the program starts")
}

/// A temporary folder.
pub fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a scratch folder")
}

/// Printed text.
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Asserts that the command fails with exit code 2 and one sentence that contains all of `expected`.
pub fn refused(folder: &Path, words: &[&str], expected: &[&str]) {
    let output = goodness(folder, words);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{words:?}: {said}");
    for part in expected {
        assert!(said.contains(part), "{words:?}: \"{part}\" is not in: {said}");
    }
    assert!(!said.contains("panicked"), "{words:?}: {said}");
    assert!(said.lines().filter(|l| l.starts_with("error")).count() == 1, "{words:?}: {said}");
}
