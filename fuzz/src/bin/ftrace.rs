//! Any text in this format, which its first line announces.
#![no_main]

mod reading;

libfuzzer_sys::fuzz_target!(|text: &[u8]| {
    let mut whole = b"# tracer: nop\n".to_vec();
    whole.extend_from_slice(text);
    reading::read_both_ways(&whole);
});
