//! Any text behind a line that announces this format.
#![no_main]

mod reading_block;

libfuzzer_sys::fuzz_target!(|text: &[u8]| {
    reading_block::read(&[&[b"0.0 0 1234 8 1\n", text].concat()]);
});
