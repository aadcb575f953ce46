//! Converts the library's errors and runs to commands the user can type.

use crate::failure::{Failure, exit};
use goodness::{Again, Kind, Refusal, See};
use std::ffi::OsString;
use std::sync::OnceLock;

/// An error for the command line, with the list that contains the right name, and the command that reproduces it if
/// `input` (the words after `goodness run`) is known.
pub fn failure(refusal: &Refusal, input: &str) -> Failure {
    let code = match refusal.kind {
        Kind::Usage => exit::USAGE,
        Kind::Violated => exit::VIOLATED,
        Kind::Failed | Kind::Cancelled => exit::FAILURE,
    };
    let mut sentence = refusal.to_string();
    if let Some(option) = refusal.option {
        sentence = sentence.replacen(option, &typed(option), 1).replace("block_only", &typed("block_only"));
    }
    if let Some(list) = refusal.see {
        sentence = format!("{} {}", ended(&sentence), see(list));
    }
    if let Some(again) = &refusal.again {
        sentence = format!("{} Reproduce: {}", ended(&sentence), reproduce(input, again));
    }
    Failure { sentence, code }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Failure {
        failure(&refusal, "INPUT")
    }
}

/// The command that reproduces a run; `input` is the part after `goodness run`.
pub fn reproduce(input: &str, again: &Again) -> String {
    let Again { policy, elevator, edits, seed, replication } = again;
    let elevator = elevator.as_ref().map_or_else(String::new, |elevator| format!(" --elevator {elevator}"));
    let edits = if edits.is_empty() { String::new() } else { format!(" --arm {}", quoted(&edits.join(" "))) };
    format!("goodness run {input} -p {policy}{elevator}{edits} --seed {seed} --replication {replication}")
}

/// A library option as typed.
fn typed(option: &str) -> String {
    format!("--{}", option.replace('_', "-"))
}

/// The command that lists valid names.
fn see(list: See) -> String {
    let list = match list {
        See::WorkloadsAndRecordings => {
            return "See `goodness list workloads` and `goodness list recordings`.".into();
        }
        See::Policies(of) => ["policies", of.unwrap_or_default()],
        See::Elevators(of) => ["elevators", of.unwrap_or_default()],
        See::Workloads(of) => ["workloads", of.unwrap_or_default()],
        See::Machines => ["machines", ""],
        See::Metrics => ["metrics", ""],
        See::Formats => ["formats", ""],
    };
    format!("See `{}`.", format!("goodness list {}", list.join(" ")).trim_end())
}

/// `text` with a full stop, unless it ends a sentence already.
fn ended(text: &str) -> String {
    if text.ends_with(['.', '?', '!']) { text.to_string() } else { format!("{text}.") }
}

/// The command line, as the report repeats it.
pub fn command_line() -> String {
    TYPED.get().cloned().unwrap_or_default()
}

/// Keeps the words that were typed after the program's name.
pub fn typed_as(arguments: &[OsString]) {
    let words = arguments.iter().map(|word| quoted(&word.to_string_lossy()));
    let _ = TYPED.set(std::iter::once("goodness".to_string()).chain(words).collect::<Vec<_>>().join(" "));
}

/// The command line.
static TYPED: OnceLock<String> = OnceLock::new();

/// A word quoted for the shell.
pub fn quoted(word: &str) -> String {
    match word.chars().all(|c| c.is_ascii_alphanumeric() || "-_.:,=/+".contains(c)) {
        true => word.to_string(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use goodness::{Contender, PolicySpec};

    #[test]
    fn a_refusal_gets_the_list_and_the_command_that_the_library_does_not_know() {
        let refusal = PolicySpec::parse("ffio").unwrap_err();
        assert!(!refusal.to_string().contains("goodness"), "{refusal}");
        let sentence = Failure::from(refusal).sentence;
        assert_eq!(sentence, "there is no policy \"ffio\"; the nearest is \"fifo\". See `goodness list policies`.");
        let of_one = Failure::from(PolicySpec::parse("rr:timeslice=2h").unwrap_err()).sentence;
        assert!(of_one.ends_with(". See `goodness list policies rr`."), "{of_one}");
        let contender = Contender::policy(PolicySpec::parse("rr").unwrap());
        let refusal = Refusal::violated("it ran nobody").again(contender.again(7, 3));
        let found = failure(&refusal, "mixed");
        let expected = "it ran nobody. Reproduce: goodness run mixed -p rr --seed 7 --replication 3";
        assert_eq!((found.sentence.as_str(), found.code), (expected, exit::VIOLATED));
    }
}
