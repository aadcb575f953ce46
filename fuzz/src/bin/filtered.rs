//! Parts of a shipped recording, as filters leave them: read, measured, and recovered as work for a machine.
#![no_main]

#[path = "../../../crates/replay/tests/filtering/edits.rs"]
mod edits;
mod reading;

use edits::{Edit, edited, lines};
use goodness_core::{Seed, Time, WorkloadSource};
use goodness_observe::{Metrics, Subject};
use goodness_replay::{History, Replay, ReplayOptions, machine_of, recover};
use goodness_trace::{Input, load_input};
use std::sync::LazyLock;

static RECORDING: &[u8] = include_bytes!("../../../recordings/apache-ab-c32-2cpu.ftrace.zst");
static LINES: LazyLock<Vec<String>> = LazyLock::new(|| lines(Input::bytes("shipped", RECORDING).expect("zstd"), 2_000));

libfuzzer_sys::fuzz_target!(|choices: &[u8]| {
    let edits: Vec<Edit> = choices.chunks_exact(3).take(8).map(|c| Edit::of([c[0], c[1], c[2]])).collect();
    let text = edited(LINES.clone(), &edits);
    reading::read_both_ways(&text);
    let Ok(Ok(recording)) = Input::bytes("fuzz", &text).map(load_input) else { return };
    let history = History::of(&recording);
    let subjects = vec![Subject::default(); history.participants.len()];
    let mut metrics = Metrics::new(history.cpus, recording.start(), &subjects);
    recording.observe(&mut metrics);
    let _ = metrics.finish(recording.end().max(Time(1)));
    let recovered = recover(&history, ReplayOptions::default());
    let _ = machine_of(&recording, &history, recovered.grid);
    let _ = Replay::new("fuzz", recovered).build(Seed(1), 1);
});
