//! Any text behind a line that announces this format.
#![no_main]

mod reading_block;

libfuzzer_sys::fuzz_target!(|text: &[u8]| {
    reading_block::read(&[&[b"  8,0    1        1     0.000001000   697  Q  WS 2048 + 8 [x]\n", text].concat()]);
});
