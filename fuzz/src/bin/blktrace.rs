//! Any bytes behind a blktrace record, as one file and cut into the files of two CPUs. The first byte chooses version
//! and byte order.
#![no_main]

mod reading_block;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let (choice, rest) = bytes.split_first().unwrap_or((&0, &[]));
    let mut magic = [7 + (choice & 1), b't', b'a', b'e'];
    if choice & 2 != 0 {
        magic.reverse();
    }
    let whole = [&magic[..], rest].concat();
    reading_block::read(&[&whole]);
    let (first, second) = rest.split_at(rest.len() / 2);
    let parts = [[&magic[..], first].concat(), [&magic[..], second].concat()];
    reading_block::read(&[&parts[0], &parts[1]]);
});
