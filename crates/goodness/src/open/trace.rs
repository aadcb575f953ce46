//! Opens a trace of scheduling, or else of block I/O.

use super::held::{Held, refusal};
use super::recording::recover_work;
use super::text::sha256;
use super::{OpenOptions, block, recorded_by};
use crate::progress::Watch;
use crate::refusal::{Refusal, See};
use crate::shipped;
use crate::work::Work;
use goodness_trace::Recording;
use goodness_work::models::WORKLOADS;
use std::path::Path;

/// A trace of scheduling, or else of block I/O.
pub(super) fn open(text: &str, options: &OpenOptions, watch: &Watch) -> Result<Work, Refusal> {
    let held = Held::of(text, watch)?;
    if options.block_only || Path::new(text).is_dir() {
        return block::open(&held, options);
    }
    match held.recording() {
        Ok(found) => {
            let what = "a recording of scheduling; block_only replays its block I/O";
            options.refuse(&["device", "block_events"], text, what)?;
            recording(&held, &found, options)
        }
        Err(why) => block::instead(&held, options, why),
    }
}

/// A trace of scheduling.
pub(super) fn open_recording(text: &str, options: &OpenOptions, watch: &Watch) -> Result<Work, Refusal> {
    let is_model = WORKLOADS.iter().any(|model| Some(model.name) == text.split(':').next());
    if is_model && !Path::new(text).exists() {
        let what = format!("\"{text}\" is a built-in workload; only a recording can be held against its replay");
        return Err(Refusal::usage(what).remedy("name a recording").see(See::WorkloadsAndRecordings));
    }
    let held = Held::of(text, watch)?;
    let found = held.recording().map_err(|why| refusal(&why))?;
    recording(&held, &found, options)
}

fn recording(held: &Held, found: &Recording, options: &OpenOptions) -> Result<Work, Refusal> {
    let sha256 = match shipped::find(&held.name) {
        Some(shipped) => Some(sha256(shipped.bytes)),
        None => held.hash(),
    };
    let mut work = recover_work(found, options.replay, sha256)?;
    work.about.name.clone_from(&held.name);
    if let Some(machine) = options.machine()? {
        work.machine = machine;
    }
    if let (Some(policy), Some(recorded)) = (recorded_by(options)?, &mut work.recorded) {
        recorded.policy = policy;
    }
    Ok(work)
}
