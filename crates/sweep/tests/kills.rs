//! A sweep that is killed at random instants loses nothing, computes nothing twice and gives the same bytes.

use goodness_core::Seed;
use goodness_sweep::{Cells, Definition, Folder, Part, local};
use std::collections::{BTreeMap, HashSet};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

/// Tells the child process which folder to fill.
const VARIABLE: &str = "GOODNESS_SWEEP_TO_KILL";
const KILLS: u32 = 50;
/// Longest time until a kill: a few times that between two syncs.
const DELAY_MAX_MS: u64 = 700;

/// Three blocks, the last of them in part.
fn cells() -> Arc<Cells> {
    let seeds: Vec<String> = (1..=1_150).map(|seed| seed.to_string()).collect();
    let text = format!(
        "metric = \"wakeup_latency_p99\"\nruns = 1\nseeds = [{}]\ninputs = [\"mixed:duration=10ms\"]\n\
         arms = [\"rr\", \"cfs\"]\nmachines = [\"cpus=1\"]\n",
        seeds.join(", ")
    );
    Arc::new(Cells::of(&Definition::parse("killed.toml", &text).unwrap()).unwrap())
}

fn run(folder: &Path, cells: &Arc<Cells>) {
    let mut folder = Folder::open(folder, cells.clone(), Part::WHOLE).unwrap();
    local::run(&mut folder, &mut |_, _| ControlFlow::Continue(())).unwrap();
    assert_eq!(folder.finish().unwrap(), []);
}

fn shards(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let files = std::fs::read_dir(folder.join("shards")).unwrap().map(|it| it.unwrap().path());
    let whole = files.filter(|it| it.extension().is_some_and(|it| it == "parquet"));
    whole.map(|path| (path.file_name().unwrap().into(), std::fs::read(&path).unwrap())).collect()
}

/// The whole lines of the journal.
fn journal(folder: &Path) -> String {
    let text = std::fs::read_to_string(folder.join("journal/1-of-1.jsonl")).unwrap_or_default();
    text[..text.rfind('\n').map_or(0, |last| last + 1)].to_string()
}

fn started(folder: &Path) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    let words = ["--exact", "fifty_kills_lose_nothing_and_compute_nothing_twice"];
    command.args(words).env(VARIABLE, folder).stdout(Stdio::null()).spawn().unwrap()
}

/// Kills a sweep in `folder` again and again until it ends or there were enough kills; returns their number.
fn killed(folder: &Path, kills: u32, delay: &mut impl FnMut() -> Duration) -> u32 {
    let (mut acknowledged, mut count) = (String::new(), 0);
    while count < kills {
        let mut child = started(folder);
        std::thread::sleep(delay());
        if let Some(status) = child.try_wait().unwrap() {
            assert!(status.success(), "a restarted sweep failed");
            break;
        }
        child.kill().unwrap();
        if child.wait().unwrap().success() {
            break;
        }
        count += 1;
        let now = journal(folder);
        // The end drops the lines of stored cells.
        if now.len() < acknowledged.len() && shards(folder).len() == 3 {
            break;
        }
        assert!(now.starts_with(&acknowledged), "an acknowledged line was lost after {count} kills");
        let mut known = HashSet::new();
        for line in now.lines() {
            let line: serde_json::Value = serde_json::from_str(line).expect("a whole line is whole");
            let cell = line["cell"].as_str().unwrap().to_string();
            assert!(known.insert(cell.clone()), "cell {cell} was computed twice");
        }
        acknowledged = now;
    }
    count
}

#[test]
fn fifty_kills_lose_nothing_and_compute_nothing_twice() {
    let cells = cells();
    if let Some(folder) = std::env::var_os(VARIABLE) {
        return run(Path::new(&folder), &cells);
    }
    let root = tempfile::tempdir().unwrap();
    run(&root.path().join("undisturbed"), &cells);
    let expected = shards(&root.path().join("undisturbed"));
    assert_eq!(expected.len(), 3);
    let mut random = Seed(u64::from(std::process::id())).stream("kills", 0).rng();
    println!("seed of the kills: {}", std::process::id());
    let mut delay = || Duration::from_millis(random.below(DELAY_MAX_MS));
    let (mut kills, mut round, mut torn) = (0, 0, 0);
    while kills < KILLS {
        round += 1;
        let folder = root.path().join(format!("killed-{round}"));
        let now = killed(&folder, KILLS - kills, &mut delay);
        kills += now;
        torn += u32::from(now > 0);
        run(&folder, &cells);
        assert!(shards(&folder) == expected, "the shards of round {round} differ from those of an undisturbed sweep");
        assert_eq!(journal(&folder), "", "what is in shards leaves the journal");
    }
    assert!(torn > 0, "no sweep was disturbed");
}
