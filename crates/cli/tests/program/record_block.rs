//! Records block I/O on a private loop device and replays it. Needs root and a tracefs; prints a message when skipped.

use crate::common::{folder, goodness, text};
use goodness_ublk::disks::LoopDisk;
use serde_json::Value;

/// Number of I/Os the load reads, and writes.
const PIECES: u64 = 400;

#[test]
fn what_was_recorded_of_a_live_disk_is_replayed_piece_by_piece() {
    let here = folder();
    // The loop device needs a file system with direct I/O; a scratch folder in memory has none.
    let below = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    let disk = match LoopDisk::make(below, 16 << 20) {
        Ok(disk) => disk,
        Err(why) => return println!("SKIPPED what_was_recorded_of_a_live_disk_is_replayed_piece_by_piece: {why}"),
    };
    let device = disk.device();
    let load = format!(
        "dd if={0} of=/dev/null bs=4k count={PIECES} iflag=direct & \
         dd if=/dev/zero of={0} bs=8k seek=1024 count={PIECES} oflag=direct conv=notrunc; wait",
        device.display()
    );
    let output = goodness(here.path(), &["record", "--block", "-o", "disk.zst", "--", "sh", "-c", &load]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));

    let words = ["compare", "disk.zst", "--block-only", "--elevator", "none", "--elevator", "mq-deadline", "--no-html"];
    let output = goodness(here.path(), &[&words[..], &["--runs", "2", "--json", "-"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON and nothing else");
    for arm in 0..2 {
        // A replay has a tenth less than the recorded IOPS at most (docs/fidelity.md); what it is late with is served
        // after the recorded window.
        assert!(pieces_of_load(&report, arm) >= 2 * PIECES * 90 / 100, "{}", report["policies"][arm]["tasks"]);
    }
    let number = device.to_string_lossy().trim_start_matches("/dev/loop").to_string();
    let notes = report["details"]["workload_notes"].to_string();
    assert!(notes.contains(&format!("disk 7:{number}: takes")), "loop device {number} is among the disks: {notes}");
}

/// I/Os of the load; a `dd` may still have the name of the shell that executed it.
fn pieces_of_load(report: &Value, arm: usize) -> u64 {
    let tasks = report["policies"][arm]["tasks"].as_array().expect("tasks");
    let of_load = tasks.iter().filter(|task| task["name"] == "dd" || task["name"] == "sh");
    of_load.map(|task| task["io"]["done"].as_u64().expect("it does I/O")).sum()
}
