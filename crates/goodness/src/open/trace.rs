//! Opens a trace of scheduling, or else of block I/O.

use super::block::Purpose;
use super::held::{Held, refusal};
use super::recording::recover_work;
use super::text::sha256;
use super::{OpenOptions, block, is_recording, recorded_by};
use crate::progress::Watch;
use crate::refusal::{Refusal, See};
use crate::shipped;
use crate::work::Work;
use goodness_trace::{Excerpt, Recording, TraceError};
use goodness_work::models::WORKLOADS;
use std::path::Path;

/// A trace of scheduling, or else of block I/O.
pub(super) fn open(text: &str, options: &OpenOptions, watch: &Watch) -> Result<Work, Refusal> {
    let held = Held::of(text, watch)?;
    if options.block_only || Path::new(text).is_dir() {
        return block::open(&held, options, Purpose::Replay);
    }
    held.fits(options.window)?;
    match held.recording(options.window, watch)? {
        Ok(found) => {
            let what = "a recording of scheduling; block_only replays its block I/O";
            options.refuse(&["device", "block_events"], text, what)?;
            recording(&held, &found, options)
        }
        Err(why) => block::instead(&held, options, why, Purpose::Replay),
    }
}

/// A trace to hold against its replay.
pub(super) fn open_recording(text: &str, options: &OpenOptions, watch: &Watch) -> Result<Work, Refusal> {
    let is_model = WORKLOADS.iter().any(|model| Some(model.name) == text.split(':').next());
    let kind = match Path::new(text).exists() {
        true => (!is_recording(text)).then_some("states its work"),
        false => is_model.then_some("is a built-in workload"),
    };
    if let Some(kind) = kind {
        let what = format!("\"{text}\" {kind}; only a recording can be compared with its replay");
        return Err(Refusal::usage(what).remedy("name a recording").see(See::WorkloadsAndRecordings));
    }
    let held = Held::of(text, watch)?;
    if options.block_only || Path::new(text).is_dir() {
        return measured(block::open(&held, options, Purpose::Verify)?, text);
    }
    held.fits(options.window)?;
    match held.recording(options.window, watch)? {
        Ok(found) => recording(&held, &found, options),
        Err(why) => measured(block::instead(&held, options, why, Purpose::Verify)?, text),
    }
}

/// True if the file or folder called `text` is a trace of block I/O, and not of scheduling.
pub(crate) fn is_block_trace(text: &str, watch: &Watch) -> bool {
    let is_other = |held: &Held| {
        let found = held.recording(Excerpt::WHOLE, watch);
        matches!(found, Ok(Err(TraceError::NotATrace { .. } | TraceError::NoSwitches { .. })))
    };
    let path = Path::new(text);
    path.is_dir() || path.is_file() && Held::of(text, watch).is_ok_and(|held| is_other(&held) && held.block().is_ok())
}

/// Reads `window` of a recording of scheduling.
pub(crate) fn of_scheduling(held: &Held, window: Excerpt, watch: &Watch) -> Result<Recording, Refusal> {
    held.fits(window)?;
    held.recording(window, watch)?.map_err(|why| refusal(&why))
}

/// Refuses block I/O that has nothing to be held against.
fn measured(work: Work, text: &str) -> Result<Work, Refusal> {
    if work.recorded.is_some() {
        return Ok(work);
    }
    let what =
        format!("\"{text}\" has neither completions nor response times, so its replay cannot be held against it");
    Err(Refusal::usage(what).remedy("record completions too, or compare it without verifying"))
}

fn recording(held: &Held, found: &Recording, options: &OpenOptions) -> Result<Work, Refusal> {
    let sha256 = match shipped::find(&held.name) {
        Some(shipped) => Some(sha256(shipped.bytes)),
        None => held.hash(),
    };
    let mut work = recover_work(found, options, sha256.map(|whole| of_window(whole, options.window)))?;
    work.about.name = options.named(&held.name);
    if let Some(machine) = options.machine()? {
        work.machine = machine;
    }
    if let (Some(policy), Some(recorded)) = (recorded_by(options)?, &mut work.recorded) {
        recorded.policy = policy;
    }
    Ok(work)
}

/// The hash of `window` of a file whose bytes up to the window's end have the hash `whole`. Two windows can share that.
fn of_window(whole: String, window: Excerpt) -> String {
    let Excerpt { from, to } = window;
    if window == Excerpt::WHOLE { whole } else { sha256(format!("{whole} {}..{}", from.ns(), to.ns()).as_bytes()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_windows_of_one_file_and_one_of_two_files_are_unlike_inputs() {
        let of = |file: &str, window: &str| of_window(file.into(), Excerpt::parse(window).expect("a window"));
        assert_eq!(of("a", "1s..2s"), of("a", "1000ms..2s"));
        assert!(of("a", "1s..2s") != of("a", "1s..3s") && of("a", "1s..2s") != of("b", "1s..2s"));
        assert_eq!(of_window("a".into(), Excerpt::WHOLE), "a");
    }
}
