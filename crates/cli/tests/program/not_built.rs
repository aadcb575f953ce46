//! Without the features `live` and `tables`, the missing commands explain how to build them.

use crate::common::{folder, goodness, refused, text};

#[test]
#[cfg(not(feature = "tables"))]
fn sweeps_say_how_they_are_built() {
    let said = ["`goodness sweep` writes Parquet files", "cargo build --release --features tables"];
    for words in [&["sweep"][..], &["sweep", "--help"], &["sweep", "a.toml", "--dry-run"]] {
        refused(folder().path(), words, &said);
    }
}

#[test]
#[cfg(not(feature = "live"))]
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
