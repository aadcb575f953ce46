//! Cells are named by every file that decides their values, and computed with no others.

use goodness_sweep::{Cells, Computer, Definition};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// A folder with an experiment that names a machine file, and a sweep of it.
struct Space {
    folder: tempfile::TempDir,
}

impl Space {
    fn new() -> Space {
        let space = Space { folder: tempfile::tempdir().unwrap() };
        space.put("m.toml", "cpus = 1\n");
        let task = "[[task]]\nname = \"t\"\nprogram = [ { compute = \"1ms\" }, { sleep = \"1ms\" } ]\n";
        let text = format!("machine = \"{}\"\nduration = \"20ms\"\n{task}", space.path("m.toml").display());
        space.put("e.toml", &text);
        space
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn put(&self, name: &str, content: &str) {
        std::fs::write(self.path(name), content).unwrap();
    }

    fn cells(&self, input: &Path) -> Cells {
        let text =
            format!("metric = \"wakeup_latency_p99\"\nruns = 1\ninputs = [\"{}\"]\narms = [\"rr\"]\n", input.display());
        Cells::of(&Definition::parse("s.toml", &text).unwrap()).unwrap()
    }

    fn name(&self) -> String {
        self.cells(&self.path("e.toml")).all[0].name.clone()
    }
}

#[test]
fn the_machine_file_of_an_experiment_is_part_of_a_cells_name() {
    let space = Space::new();
    let before = space.name();
    space.put("unrelated.toml", "cpus = 8\n");
    assert_eq!(space.name(), before, "a file that nothing names");
    space.put("m.toml", "cpus = 2\n");
    let changed = space.name();
    assert_ne!(changed, before, "the machine file has another content");
    space.put("m.toml", "cpus = 1\n");
    assert_eq!(space.name(), before, "the former content is the former cell");
}

#[test]
fn every_file_of_a_blktrace_run_is_part_of_a_cells_name() {
    let space = Space::new();
    space.put("sda.blktrace.0", "a");
    space.put("sda.blktrace.1", "b");
    for input in [space.path("sda.blktrace.0"), space.folder.path().into()] {
        space.put("sda.blktrace.1", "b");
        let before = space.cells(&input).hash;
        assert_eq!(goodness_sweep::cell::files(&space.cells(&input)), Vec::<String>::new(), "they stay together");
        space.put("sda.blktrace.1", "c");
        assert_ne!(space.cells(&input).hash, before, "{}", input.display());
    }
}

#[test]
fn a_cell_is_not_computed_with_other_files_than_those_that_named_it() {
    let space = Space::new();
    let cells = space.cells(&space.path("e.toml"));
    let computed = |computer: &mut Computer| computer.compute(&cells.all[0]).failed;
    assert_eq!(computed(&mut Computer::default()), None);
    // As on a node that has the experiment elsewhere.
    let copy = space.path("copy.toml");
    std::fs::copy(space.path("e.toml"), &copy).unwrap();
    let moved = HashMap::from([(cells.all[0].input.clone(), copy)]);
    assert_eq!(computed(&mut Computer::with_files(moved.clone())), None);
    space.put("m.toml", "cpus = 2\n");
    for computer in [Computer::default(), Computer::with_files(moved)] {
        let why = computed(&mut { computer }).expect("the machine file is another one");
        assert!(why.contains("e.toml") && why.contains("not the one that named this cell"), "{why}");
    }
}
