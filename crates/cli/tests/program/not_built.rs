//! Without the feature `live`, the missing commands explain how to build them.

use crate::common::{folder, goodness, refused, text};

#[test]
fn a_command_for_this_machines_kernel_says_how_it_is_built() {
    eprintln!("SKIPPED: recording, playing, racing and elevating: built without the feature live");
    for command in ["calibrate", "conform", "doctor", "elevate", "live", "play", "race", "record"] {
        let name = format!("`goodness {command}`");
        let said = [name.as_str(), "cargo build --release --features live"];
        for words in [&[command][..], &[command, "--help"], &[command, "-o", "x", "--", "true", "-d"]] {
            refused(folder().path(), words, &said);
        }
    }
    let help = text(&goodness(folder().path(), &["--help"]).stdout);
    assert!(help.contains("record"), "{help}");
}
