//! Work recovered from any ftrace text.
#![no_main]

use goodness_core::{Seed, WorkloadSource};
use goodness_replay::{Arrivals, Ends, History, Others, Replay, ReplayOptions, recover};
use goodness_trace::{Input, load_input};

libfuzzer_sys::fuzz_target!(|text: &[u8]| {
    let mut whole = b"# tracer: nop\n".to_vec();
    whole.extend_from_slice(text);
    let Ok(Ok(recording)) = Input::bytes("fuzz", &whole).map(load_input) else { return };
    let history = History::of(&recording);
    let turned = ReplayOptions { arrivals: Arrivals::Recorded, others: Others::LeftOut, ends: Ends::Recorded };
    for options in [ReplayOptions::default(), turned] {
        let replay = Replay::new("fuzz", recover(&history, options));
        let _ = (replay.build(Seed(1), 0), replay.build(Seed(1), 1));
    }
});
