//! Sweeps survive SIGKILL, extend, and name what failed.

use crate::common::{folder, goodness, refused, text};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Cells of the sweep that is killed.
const CELLS: usize = 4_000;
/// Times that it is killed.
const KILLS: usize = 50;

/// Writes a sweep of `seeds` times four cells, of which each takes a few tenths of a millisecond.
fn define(here: &Path, seeds: usize) {
    let seeds: Vec<String> = (1..=seeds).map(|seed| seed.to_string()).collect();
    let text = format!(
        "metric = \"wakeup_latency_p99\"\nruns = 1\nseeds = [{}]\ninputs = [\"sleepers:tasks={{tasks}},\
         duration=20ms\"]\narms = [\"eevdf\", \"rr\"]\n[space]\ntasks = [3, 4]\n",
        seeds.join(", ")
    );
    fs::write(here.join("s.toml"), text).unwrap();
}

/// The bytes of all shards by name, without those that were being written.
fn shards(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder.join("shards")).unwrap().flatten();
    let entries = entries.filter(|it| it.path().extension().is_some_and(|ending| ending == "parquet"));
    entries.map(|it| (it.file_name().to_string_lossy().into_owned(), fs::read(it.path()).unwrap())).collect()
}

/// The cells of the journal, in its order, without a torn last line.
fn journaled(folder: &Path) -> Vec<String> {
    let text = fs::read_to_string(folder.join("journal/1-of-1.jsonl")).unwrap_or_default();
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    let name = |line: &str| line.split('"').nth(3).unwrap_or_default().to_string();
    whole.lines().map(name).collect()
}

#[test]
fn a_sweep_killed_fifty_times_computes_each_acknowledged_cell_once_and_ends_in_the_same_bytes() {
    let here = folder();
    define(here.path(), CELLS / 4);
    let undisturbed = goodness(here.path(), &["sweep", "s.toml", "--folder", "undisturbed"]);
    assert_eq!(undisturbed.status.code(), Some(0), "{}", text(&undisturbed.stderr));
    let undisturbed = shards(&here.path().join("undisturbed"));
    assert!(undisturbed.len() > 1, "several blocks");
    let killed = here.path().join("killed");
    let (mut acknowledged, mut most) = (0, 0);
    for kill in 0..KILLS {
        let mut child = Command::new(env!("CARGO_BIN_EXE_goodness"))
            .args(["sweep", "s.toml", "--folder", "killed"])
            .current_dir(here.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // Instants spread over the start, the first acknowledgement and the work after it.
        std::thread::sleep(Duration::from_millis(5 + (kill as u64 * 37) % 290));
        child.kill().unwrap();
        child.wait().unwrap();
        let is_whole = killed.join("shards").exists() && shards(&killed).len() == undisturbed.len();
        if is_whole && journaled(&killed).is_empty() {
            // It ended before the kill: the next one begins anew.
            assert!(shards(&killed) == undisturbed, "other bytes");
            fs::remove_dir_all(&killed).unwrap();
            acknowledged = 0;
            continue;
        }
        let cells = journaled(&killed);
        let different: BTreeSet<&String> = cells.iter().collect();
        assert_eq!(different.len(), cells.len(), "a cell of the journal was computed again after kill {kill}");
        assert!(cells.len() >= acknowledged, "kill {kill} lost acknowledged cells");
        acknowledged = cells.len();
        most = most.max(acknowledged);
    }
    println!("up to {most} of {CELLS} cells were acknowledged before a kill");
    assert!(most > 0, "no kill came after an acknowledgement");
    let last = goodness(here.path(), &["sweep", "s.toml", "--folder", "killed"]);
    assert_eq!(last.status.code(), Some(0), "{}", text(&last.stderr));
    assert!(shards(&killed) == undisturbed, "other bytes");
    let left = |part: &str| fs::read_dir(killed.join(part)).unwrap().flatten().count();
    assert_eq!((left("shards"), left("journal")), (undisturbed.len(), 1), "shards and the lock alone");
}

#[test]
fn a_larger_space_computes_what_is_new_and_parts_make_the_same_shards_as_the_whole() {
    let here = folder();
    define(here.path(), 300);
    let run = |words: &[&str]| {
        let output = goodness(here.path(), &[&["sweep", "s.toml"][..], words].concat());
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    assert!(run(&[]).contains("computed 1200 of 1200 cells"));
    assert!(run(&[]).contains("nothing is missing of 1200 cells"));
    let parts = ["1/2", "2/2"].map(|part| run(&["--folder", "parts", "--part", part]));
    assert!(parts[0].contains("computed 1024 of 1200"), "{}", parts[0]);
    assert!(shards(&here.path().join("parts")) == shards(&here.path().join("s")));
    define(here.path(), 310);
    assert!(run(&["--dry-run"]).contains("40 of 1240 cells are to be computed"));
    assert!(run(&[]).contains("computed 40 of 1240 cells"));
    let merged = run(&["--folder", "merged", "--merge", "s", "parts"]);
    assert!(merged.contains("nothing is missing of 1240 cells"), "{merged}");
    // Of another cut of the cells into blocks, only what is new is taken: no row is there twice.
    let small = fs::read_to_string(here.path().join("s.toml")).unwrap().replace("[3, 4]", "[4, 5]");
    fs::write(here.path().join("s.toml"), small).unwrap();
    run(&["--folder", "other"]);
    let both = run(&["--folder", "merged", "--merge", "other"]);
    assert!(both.contains("nothing is missing of 1240 cells"), "{both}");
}

#[test]
fn a_cell_that_fails_is_named_with_its_command_and_the_others_are_computed() {
    let here = folder();
    let text_of = "metric = \"wakeup_latency_p99\"\nruns = 1\ninputs = [\"sleepers:tasks={tasks},duration=20ms\"]\n\
        arms = [\"rr\"]\n[space]\ntasks = [3, 0, 5]\n";
    fs::write(here.path().join("s.toml"), text_of).unwrap();
    let output = goodness(here.path(), &["sweep", "s.toml"]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("1 cell failed"), "{said}");
    assert!(said.contains("goodness compare sleepers:tasks=0,duration=20ms --arm rr"), "{said}");
    assert_eq!(shards(&here.path().join("s")).len(), 1);
    let again = goodness(here.path(), &["sweep", "s.toml"]);
    assert!(text(&again.stdout).contains("computed 1 of 3 cells"), "{}", text(&again.stdout));
    refused(here.path(), &["sweep", "no.toml"], &["no.toml", "cannot be read"]);
    refused(here.path(), &["sweep", "s.toml", "--part", "3/2"], &["3/2", "2/8"]);
    refused(here.path(), &["sweep", "s.toml", "--on", "ray"], &["--on ray", "pip install 'goodness[ray]'"]);
}
