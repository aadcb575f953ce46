//! rt-app JSON: any text is read or refused, never a panic.
#![no_main]

use goodness_work::rtapp::{Options, RtApp};

libfuzzer_sys::fuzz_target!(|text: &str| {
    for lenient in [false, true] {
        let _ = RtApp::read("fuzz.json", text, Options { lenient });
    }
});
