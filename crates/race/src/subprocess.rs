//! Subprocesses: load generator and built-in benchmarks as processes, under an arm like any other program.
//!
//! A subprocess is this program, started again with the subprocess's name and its settings as `key=value` words. It
//! prints its measures, one per line: name, unit, direction of improvement, value.

use crate::load_error::LoadError;
use crate::measure::{Better, Measure};
use goodness_core::{TunableError, Tunables};
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

/// The command that starts subprocesses: a program, and the words before the subprocess's name.
#[derive(Clone, Debug)]
pub struct Launcher {
    program: PathBuf,
    words: Vec<OsString>,
}

impl Launcher {
    /// The hidden command of `goodness` that runs a subprocess.
    pub const COMMAND: &'static str = "race-subprocess";

    /// The running program, which passes the words behind [`Launcher::COMMAND`] to [`main`].
    ///
    /// # Errors
    /// The system cannot name this program.
    pub fn of_this_program() -> std::io::Result<Launcher> {
        let mut words = goodness_sys::program::words()?.into_iter().chain([Launcher::COMMAND.into()]);
        Ok(Launcher { program: words.next().unwrap_or_default().into(), words: words.collect() })
    }

    /// Another program, which passes all its words to [`main`].
    #[must_use]
    pub fn of(program: PathBuf) -> Launcher {
        Launcher { program, words: Vec::new() }
    }

    /// The command that runs the subprocess called `name` with `settings`.
    pub(crate) fn command<S: Tunables>(&self, name: &str, settings: &S) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.words).arg(name);
        command.args(settings.values().into_iter().map(|(key, value)| format!("{key}={value}")));
        command
    }
}

/// Runs the subprocess that `words` name; its measures go to standard output.
pub fn main(words: impl Iterator<Item = String>) -> ExitCode {
    match run(words) {
        Ok(measures) => {
            measures.iter().for_each(|measure| println!("{}", written(measure)));
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::FAILURE
        }
    }
}

fn run(mut words: impl Iterator<Item = String>) -> Result<Vec<Measure>, LoadError> {
    let name = words.next().ok_or_else(|| LoadError("a subprocess of a race has a name".into()))?;
    let typed: Vec<(String, String)> = words
        .map(|word| word.split_once('=').map_or((word.clone(), String::new()), |(k, v)| (k.into(), v.into())))
        .collect();
    match name.as_str() {
        "hackbench" => crate::benchmarks::hackbench::run(&made(&typed)?),
        "schbench" => crate::benchmarks::schbench::run(&made(&typed)?),
        "yield" => crate::benchmarks::yields::run(&made(&typed)?),
        "load-generator" => crate::load_generator::run(&made(&typed)?),
        "hog" => crate::benchmarks::spin::hog(),
        "spin" => crate::benchmarks::spin::work(&made(&typed)?),
        _ => Err(LoadError(format!("there is no subprocess of a race called \"{name}\""))),
    }
}

fn made<S: Tunables>(typed: &[(String, String)]) -> Result<S, LoadError> {
    S::made(typed).map_err(|TunableError(why)| LoadError(why))
}

fn written(measure: &Measure) -> String {
    let better = match measure.better {
        Better::Higher => "higher",
        Better::Lower => "lower",
    };
    format!("{} {} {better} {}", measure.name, measure.unit, measure.value)
}

/// The measures that a subprocess printed.
///
/// # Errors
/// A line that is none.
pub(crate) fn measures(text: &str) -> Result<Vec<Measure>, LoadError> {
    let wrong = |line: &str| LoadError(format!("a subprocess of the race printed \"{line}\", which is no measure"));
    text.lines().map(|line| measure(line).ok_or_else(|| wrong(line))).collect()
}

fn measure(line: &str) -> Option<Measure> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [name, unit, better, value] = words[..] else { return None };
    let unit = UNITS.iter().find(|known| **known == unit)?;
    let better = match better {
        "higher" => Better::Higher,
        "lower" => Better::Lower,
        _ => return None,
    };
    let value = value.parse().ok().filter(|value: &f64| value.is_finite())?;
    Some(Measure { name: name.into(), unit, better, value })
}

/// Units of what subprocesses measure.
const UNITS: &[&str] = &["ns", "1/s", "1"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_measure_survives_being_printed_and_read() {
        let all = [("throughput", "1/s", Better::Higher, 12.5), ("request_latency_p99", "ns", Better::Lower, 1e9)];
        for (name, unit, better, value) in all {
            let made = Measure { name: name.into(), unit, better, value };
            assert_eq!(measures(&written(&made)).unwrap(), [made]);
        }
    }

    #[test]
    fn what_is_no_measure_is_refused() {
        for line in
            ["", "a", "a ns lower", "a ns lower x", "a ns lower inf", "a ns most 1", "a km lower 1", "a ns lower 1 2"]
        {
            assert!(measures(&format!("{line}\n")).is_err(), "{line}");
        }
        assert!(run(["dance".to_string()].into_iter()).unwrap_err().0.contains("\"dance\""));
        assert!(run(["load-generator".to_string(), "speed=3".into()].into_iter()).is_err());
    }
}
