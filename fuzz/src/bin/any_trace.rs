//! Any bytes: compressed, of whichever format, or none.
#![no_main]

mod reading;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| reading::read_both_ways(bytes));
