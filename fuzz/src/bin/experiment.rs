//! Experiment files, machines and settings as typed: any text is read or refused, never a panic.
#![no_main]

use goodness_work::experiment::Experiment;
use goodness_work::machine::parse_machine;
use goodness_work::models::BuiltIn;

libfuzzer_sys::fuzz_target!(|text: &str| {
    let _ = Experiment::read("fuzz.toml", text);
    if text.contains('=') && !text.contains('/') {
        let _ = parse_machine(text);
    }
    let _ = BuiltIn::parse(text);
    let _ = goodness_core::Span::parse(text);
});
