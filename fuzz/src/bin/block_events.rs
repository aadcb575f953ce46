//! Any text behind a line that announces this format.
#![no_main]

mod reading_block;

libfuzzer_sys::fuzz_target!(|text: &[u8]| {
    reading_block::read(&[&[
        b" dd-9 [000] d..1.  1.000001: block_rq_issue: \
        8,0 R 4096 () 8 + 8 [dd]\n",
        text,
    ]
    .concat()]);
});
