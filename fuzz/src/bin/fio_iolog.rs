//! Any text behind the first line of an iolog; the first byte chooses the version.
#![no_main]

mod reading_block;

libfuzzer_sys::fuzz_target!(|text: &[u8]| {
    let head: &[u8] = match text.first() {
        Some(byte) if byte & 1 != 0 => b"fio version 2 iolog\n",
        _ => b"fio version 3 iolog\n",
    };
    reading_block::read(&[&[head, text].concat()]);
});
