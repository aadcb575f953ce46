//! Any text behind a line that announces this format.
#![no_main]

mod reading_block;

libfuzzer_sys::fuzz_target!(|text: &[u8]| {
    reading_block::read(&[&[b"0,20,8192,W,0.5\n", text].concat()]);
});
