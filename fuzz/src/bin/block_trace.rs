//! Any bytes as a trace of block I/O: compressed, of whichever format, or none.
#![no_main]

mod reading_block;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| reading_block::read(&[bytes]));
