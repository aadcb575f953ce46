//! This program, to be started again: as a second process, or as its name in a message.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

/// The words that start this program, where it is not the process's own file: an interpreter, and its module.
static STARTED_BY: OnceLock<Vec<OsString>> = OnceLock::new();
/// The words typed after the program's name, where they are not those of the process.
static TYPED: OnceLock<Vec<OsString>> = OnceLock::new();

/// States that this program runs inside another one: `starts` starts it, and `typed` are its arguments. Only the first
/// statement counts.
pub fn runs_inside(starts: Vec<OsString>, typed: Vec<OsString>) {
    let _ = STARTED_BY.set(starts);
    let _ = TYPED.set(typed);
}

/// The words that start this program again.
///
/// # Errors
/// The system cannot name its file.
pub fn words() -> io::Result<Vec<OsString>> {
    match STARTED_BY.get() {
        Some(words) => Ok(words.clone()),
        None => Ok(vec![std::env::current_exe()?.into()]),
    }
}

/// The command that starts this program again.
///
/// # Errors
/// The system cannot name its file.
pub fn again() -> io::Result<Command> {
    let mut words = words()?.into_iter();
    let mut command = Command::new(words.next().unwrap_or_default());
    command.args(words);
    Ok(command)
}

/// The program's name and its first argument: `goodness race`.
#[must_use]
pub fn name() -> String {
    let (name, verb) = match TYPED.get() {
        Some(typed) => ("goodness".into(), typed.first().cloned()),
        None => {
            let mut words = std::env::args_os();
            let program = words.next().map(PathBuf::from).unwrap_or_default();
            (program.file_name().unwrap_or_default().to_os_string(), words.next())
        }
    };
    let words = std::iter::once(name).chain(verb);
    words.map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One test, since the statement holds for the process.
    #[test]
    fn a_program_inside_an_interpreter_is_started_and_named_by_its_own_words() {
        assert_eq!(words().unwrap(), [std::env::current_exe().unwrap()]);
        assert!(!name().is_empty());
        runs_inside(["python3", "-m", "goodness"].map(OsString::from).into(), vec!["race".into(), "spin-nice".into()]);
        let command = again().unwrap();
        assert_eq!((command.get_program(), command.get_args().count()), ("python3".as_ref(), 2));
        assert_eq!(name(), "goodness race");
    }
}
