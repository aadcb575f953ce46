//! Any text behind a line that announces this format.
#![no_main]

mod reading_block;

libfuzzer_sys::fuzz_target!(|text: &[u8]| {
    reading_block::read(&[&[b"W Hit 100 4 663.0 45422.0\n", text].concat()]);
});
