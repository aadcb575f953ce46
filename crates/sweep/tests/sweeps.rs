//! Sweeps end to end: extended, merged, divided, with failures and damage.

use goodness_sweep::{Cells, Definition, Folder, Part, folder, local};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

/// Enough seeds for two blocks of cells.
fn definition(arms: &str, seeds: u32) -> Definition {
    let seeds: Vec<String> = (1..=seeds).map(|seed| seed.to_string()).collect();
    let text = format!(
        "metric = \"wakeup_latency_p99\"\nruns = 1\nseeds = [{}]\ninputs = [\"mixed:duration=5ms\"]\narms = [{arms}]\n\
         machines = [\"cpus=1\"]\n",
        seeds.join(", ")
    );
    Definition::parse("s.toml", &text).unwrap()
}

fn cells(arms: &str, seeds: u32) -> Arc<Cells> {
    Arc::new(Cells::of(&definition(arms, seeds)).unwrap())
}

/// Runs `part`. Returns the number of computed cells and the failures.
fn run(path: &Path, cells: &Arc<Cells>, part: Part) -> (usize, Vec<(String, String)>) {
    let mut folder = Folder::open(path, cells.clone(), part).unwrap();
    let missing = folder.missing().len();
    local::run(&mut folder, &mut |_, _| ControlFlow::Continue(())).unwrap();
    let failed = folder.finish().unwrap();
    (missing, failed.into_iter().map(|(cell, why)| (cell.arm.clone(), why)).collect())
}

fn shards(path: &Path) -> BTreeMap<String, Vec<u8>> {
    let files = std::fs::read_dir(path.join("shards")).unwrap().map(|it| it.unwrap().path());
    files.map(|it| (it.file_name().unwrap().to_string_lossy().into_owned(), std::fs::read(&it).unwrap())).collect()
}

fn copied(from: &Path, to: &Path) {
    for folder in ["journal", "shards"] {
        std::fs::create_dir_all(to.join(folder)).unwrap();
        for file in std::fs::read_dir(from.join(folder)).unwrap().map(|it| it.unwrap()) {
            std::fs::copy(file.path(), to.join(folder).join(file.file_name())).unwrap();
        }
    }
}

#[test]
fn parts_and_thread_counts_give_the_bytes_of_one_run_and_merge() {
    let (root, cells) = (tempfile::tempdir().unwrap(), cells("\"rr\", \"cfs\"", 1_030));
    let at = |name: &str| root.path().join(name);
    let threads = |count| rayon::ThreadPoolBuilder::new().num_threads(count).build().unwrap();
    assert_eq!(threads(1).install(|| run(&at("one"), &cells, Part::WHOLE)), (2_060, vec![]));
    threads(2).install(|| run(&at("two"), &cells, Part::WHOLE));
    let whole = shards(&at("one"));
    assert_eq!(whole.len(), 3);
    assert!(whole == shards(&at("two")), "two threads");
    assert_eq!(run(&at("one"), &cells, Part::WHOLE).0, 0, "nothing is computed again");
    for number in 1..=2 {
        run(&at("shared"), &cells, Part { number, of: 2 });
        run(&at(&format!("part-{number}")), &cells, Part { number, of: 2 });
    }
    assert!(whole == shards(&at("shared")), "two parts in one folder");
    assert_eq!(shards(&at("part-2")).len(), 1);
    let mut folder = Folder::open(&at("part-1"), cells.clone(), Part::WHOLE).unwrap();
    folder.merge(&at("part-2")).unwrap();
    folder.merge(&at("part-2")).unwrap();
    assert_eq!(folder.missing().len(), 0);
    folder.finish().unwrap();
    assert!(whole == shards(&at("part-1")), "two parts merged");
}

#[test]
fn a_larger_space_computes_only_what_is_new_and_each_cell_is_in_one_shard() {
    let root = tempfile::tempdir().unwrap();
    let (small, large) = (cells("\"rr\"", 40), cells("\"cfs\", \"rr\"", 50));
    assert_eq!(run(root.path(), &small, Part::WHOLE).0, 40);
    assert_eq!(run(root.path(), &large, Part::WHOLE).0, 60);
    assert_eq!(run(root.path(), &large, Part::WHOLE).0, 0);
    assert_eq!(run(root.path(), &small, Part::WHOLE).0, 0);
    assert_eq!(shards(root.path()).len(), 2);
    let values = folder::values(root.path(), Some("context_switches")).unwrap();
    assert_eq!(values.len(), 100);
    let fresh = tempfile::tempdir().unwrap();
    run(fresh.path(), &large, Part::WHOLE);
    assert_eq!(folder::values(fresh.path(), Some("context_switches")).unwrap(), values);
}

#[test]
fn a_planted_difference_is_found_by_a_merge_and_names_the_cell() {
    let (root, cells) = (tempfile::tempdir().unwrap(), cells("\"rr\", \"cfs\"", 20));
    let at = |name: &str| root.path().join(name);
    run(&at("a"), &cells, Part::WHOLE);
    // An unfinished copy: all cells are in its journal, one of them with another value.
    let mut other = Folder::open(&at("b"), cells.clone(), Part::WHOLE).unwrap();
    let mut computer = goodness_sweep::Computer::default();
    let mut finished: Vec<_> = cells.all[..5].iter().map(|cell| computer.compute(cell)).collect();
    other.accept(finished.clone()).unwrap();
    drop(other);
    let merge = |from: &str| {
        copied(&at("a"), &at("into"));
        Folder::open(&at("into"), cells.clone(), Part::WHOLE).unwrap().merge(&at(from)).map_err(|why| why.to_string())
    };
    assert_eq!(merge("b"), Ok(()), "equal cells are one");
    let value = finished[3].values[0].1[0].as_mut().unwrap();
    *value = f64::from_bits(value.to_bits() + 1);
    Folder::open(&at("c"), cells.clone(), Part::WHOLE).unwrap().accept(finished).unwrap();
    let said = merge("c").unwrap_err();
    assert!(said.contains(&cells.all[3].name) && said.contains("equal cells must have equal values"), "{said}");
}

#[test]
fn one_bad_cell_fails_and_is_tried_again_while_the_others_finish() {
    let root = tempfile::tempdir().unwrap();
    let cells = cells("\"rr\", \"rr nobody.nice=5\", \"cfs\"", 3);
    for tried in [9, 3, 3] {
        let (computed, failed) = run(root.path(), &cells, Part::WHOLE);
        assert_eq!((computed, failed.len()), (tried, 3));
        assert!(failed.iter().all(|(arm, why)| arm == "rr nobody.nice=5" && why.contains("nobody")), "{failed:?}");
        let values = folder::values(root.path(), Some("context_switches")).unwrap();
        assert_eq!(values.len(), 6);
    }
}

#[test]
fn a_second_run_of_the_same_part_is_told_of_the_first() {
    let (root, cells) = (tempfile::tempdir().unwrap(), cells("\"rr\"", 2));
    let first = Folder::open(root.path(), cells.clone(), Part::WHOLE).unwrap();
    let said = Folder::open(root.path(), cells.clone(), Part::WHOLE).err().unwrap().to_string();
    assert!(said.contains("another run writes this part of the sweep; wait"), "{said}");
    assert!(Folder::open(root.path(), cells.clone(), Part { number: 1, of: 2 }).is_ok());
    drop(first);
    assert!(Folder::open(root.path(), cells.clone(), Part::WHOLE).is_ok());
}

#[test]
fn a_torn_journal_goes_on_and_a_damaged_shard_is_named() {
    let (root, cells) = (tempfile::tempdir().unwrap(), cells("\"rr\"", 6));
    let mut computer = goodness_sweep::Computer::default();
    let done: Vec<_> = cells.all[..4].iter().map(|cell| computer.compute(cell)).collect();
    Folder::open(root.path(), cells.clone(), Part::WHOLE).unwrap().accept(done).unwrap();
    let journal = root.path().join("journal/1-of-1.jsonl");
    let bytes = std::fs::read(&journal).unwrap();
    std::fs::write(&journal, &bytes[..bytes.len() - 7]).unwrap();
    assert_eq!(run(root.path(), &cells, Part::WHOLE).0, 3, "the torn cell and the two that were missing");
    let name = shards(root.path()).into_keys().next().unwrap();
    std::fs::write(root.path().join("shards").join(&name), b"PAR1").unwrap();
    let said = Folder::open(root.path(), cells.clone(), Part::WHOLE).err().unwrap().to_string();
    assert!(said.contains(&name) && said.contains("delete the file; its cells are computed again"), "{said}");
}
