//! Messages of `goodness elevate` without a device to serve.

use crate::common::{folder, goodness, refused, text};
use std::path::Path;

#[test]
fn an_elevator_that_there_is_not_is_told_before_anything_else() {
    let folder = folder();
    refused(folder.path(), &["elevate", "loook", "disk.img"], &["\"loook\"", "the nearest is \"look\""]);
    refused(folder.path(), &["elevate", "cfq:quantum=0", "disk.img"], &["quantum", "outside"]);
    refused(folder.path(), &["elevate", "noop", "disk.img", "--depth", "0"], &["--depth 0 is outside 1 ..= 1024"]);
}

#[test]
fn without_ublk_or_root_the_remedy_is_named() {
    if Path::new("/dev/ublk-control").exists() {
        println!("SKIPPED: this machine has ublk");
        return;
    }
    let folder = folder();
    std::fs::write(folder.path().join("disk.img"), [0; 4096]).unwrap();
    for words in [&["elevate", "noop", "disk.img"][..], &["elevate", "list"], &["elevate", "stop", "0"]] {
        let said = text(&goodness(folder.path(), words).stderr);
        assert!(said.contains("`modprobe ublk_drv`") || said.contains("needs root"), "{said}");
        refused(folder.path(), words, &[]);
    }
}

#[test]
fn help_teaches_the_first_steps_and_what_an_elevator_can_reorder() {
    let folder = folder();
    let help = text(&goodness(folder.path(), &["elevate", "--help"]).stdout);
    for part in ["goodness elevate look disk.img", "--recover", "reorders only what waits"] {
        assert!(help.contains(part), "\"{part}\" is not in:\n{help}");
    }
}
