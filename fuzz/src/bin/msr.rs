//! Any text behind a line that announces this format.
#![no_main]

mod reading_block;

libfuzzer_sys::fuzz_target!(|text: &[u8]| {
    reading_block::read(&[&[b"128166372003061629,usr,0,Read,4096,512,41286\n", text].concat()]);
});
