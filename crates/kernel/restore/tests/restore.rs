//! Tests that every change is undone however the process ends, with and without its guard.
//!
//! A child process records and makes changes one after another. It is killed after each record and after each change,
//! once with its guard alive and once with its guard killed too.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use goodness_restore::{Action, Restore, find_in};

/// Set in the child: `FOLDER|STEPS|GUARD`.
const VICTIM: &str = "GOODNESS_RESTORE_VICTIM";

/// One change: how to undo it, and how to make it.
struct Change {
    undo: Action,
    make: Box<dyn Fn()>,
}

/// The changes that need no permission, in the folder `at`; as root, also those that need root.
fn changes(at: &Path) -> Vec<Change> {
    let (settings, tree, file) = (at.join("goodness-settings"), at.join("goodness-tree"), at.join("goodness-file"));
    let folder = at.join("goodness-folder");
    let knob = settings.join("knob");
    let mut list = vec![
        change(Action::Put { file: knob.clone(), value: "old value".into(), written: None }, move || {
            write(&knob, "new")
        }),
        change(Action::RemoveTree(tree.clone()), move || {
            fs::create_dir_all(tree.join("a/b")).expect("scratch");
            write(&tree.join("a/b/c"), "x");
        }),
        change(Action::RemoveFile(file.clone()), move || write(&file, "x")),
        change(Action::RemoveFolder(folder.clone()), move || fs::create_dir(&folder).expect("scratch")),
    ];
    list.extend(cgroups(at));
    list
}

/// A cgroup in each hierarchy, with a process in it whose id is written to `sleeper`.
fn cgroups(at: &Path) -> Vec<Change> {
    let name = at.file_name().expect("named").to_string_lossy().into_owned();
    let roots = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/cpu"].map(PathBuf::from);
    let usable = roots.into_iter().filter(|root| root.join("cgroup.procs").exists() && root_is_writable(root));
    let of = |root: PathBuf| {
        let group = root.join(format!("goodness-test-{name}"));
        let sleeper = at.join(format!("sleeper{}", root.display().to_string().replace('/', "-")));
        change(Action::Cgroup(group.clone()), move || {
            fs::create_dir(&group).expect("a cgroup");
            // Started through a shell, so that nobody is left to wait for it.
            let script = "sleep 60 > /dev/null 2>&1 & echo $!";
            let started = Command::new("sh").args(["-c", script]).output().expect("sh runs");
            let id = String::from_utf8(started.stdout).expect("a number");
            write(&group.join("cgroup.procs"), id.trim());
            write(&sleeper, id.trim());
        })
    };
    usable.map(of).collect()
}

fn root_is_writable(root: &Path) -> bool {
    let probe = root.join(format!("goodness-probe-{}", std::process::id()));
    fs::create_dir(&probe).is_ok_and(|()| fs::remove_dir(&probe).is_ok())
}

fn change(undo: Action, make: impl Fn() + 'static) -> Change {
    Change { undo, make: Box::new(make) }
}

fn write(path: &Path, text: &str) {
    fs::write(path, text).expect("scratch");
}

/// Not a test: the process that the tests below start and kill. Does nothing when run as a test.
#[test]
fn be_a_victim_when_told_to() {
    let Ok(order) = std::env::var(VICTIM) else { return };
    let mut words = order.split('|');
    let at = PathBuf::from(words.next().expect("a folder"));
    let steps: usize = words.next().and_then(|steps| steps.parse().ok()).expect("a number");
    let kills_guard = words.next() == Some("guard killed");
    let restore = Restore::start_in(&at.join("journal")).expect("starts");
    let mut undos = Vec::new();
    let mut step = 0;
    let mut stop_here = || {
        if step == steps {
            die(restore.guard(), kills_guard);
        }
        step += 1;
    };
    stop_here();
    for change in changes(&at) {
        undos.push(restore.before(&change.undo).expect("noted"));
        stop_here();
        (change.make)();
        stop_here();
    }
    // More steps than there are: the caller learns that from the status.
    std::process::exit(7);
}

fn die(guard: u32, kills_guard: bool) -> ! {
    if kills_guard {
        Command::new("kill").args(["-KILL", &guard.to_string()]).status().expect("kill runs");
    }
    Command::new("kill").args(["-KILL", &std::process::id().to_string()]).status().expect("kill runs");
    unreachable!("killed")
}

/// Runs the victim up to step `steps`; false when it has fewer.
fn killed_at(at: &Path, steps: usize, guard: &str) -> bool {
    fs::create_dir_all(at.join("goodness-settings")).expect("scratch");
    write(&at.join("goodness-settings/knob"), "old value");
    let status = Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", "be_a_victim_when_told_to", "--nocapture"])
        .env(VICTIM, format!("{}|{steps}|{guard}", at.display()))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .expect("starts");
    assert!(status.code() == Some(7) || status.signal() == Some(9), "{status:?}");
    status.signal() == Some(9)
}

/// Waits until only the scratch folder itself is left.
fn wait_until_as_found(at: &Path, what: &str) {
    let left = || {
        let kept = ["journal", "goodness-settings"];
        let entries = fs::read_dir(at).expect("scratch").flatten().map(|entry| entry.file_name());
        let names = entries.map(|name| name.to_string_lossy().into_owned());
        let names = names.filter(|name| !kept.contains(&name.as_str()) && !name.starts_with("sleeper"));
        let mut left: Vec<String> = names.collect();
        left.extend(fs::read_dir(at.join("journal")).expect("made").flatten().map(|e| format!("{:?}", e.file_name())));
        let knob = fs::read_to_string(at.join("goodness-settings/knob")).expect("there");
        left.extend((knob != "old value").then_some(knob));
        left.extend(cgroups(at).into_iter().filter_map(|change| match change.undo {
            Action::Cgroup(group) => group.exists().then(|| group.display().to_string()),
            _ => None,
        }));
        left.extend(sleepers(at));
        left
    };
    let start = Instant::now();
    while !left().is_empty() {
        assert!(start.elapsed() < Duration::from_secs(10), "{what}: left after 10 s: {:?}", left());
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Sleepers that are still running.
fn sleepers(at: &Path) -> Vec<String> {
    let entries = fs::read_dir(at).expect("scratch").flatten();
    let notes = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("sleeper"));
    let ids = notes.map(|note| fs::read_to_string(note.path()).expect("an id"));
    let runs = |id: &String| {
        let stat = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        stat.contains("(sleep)") && !stat.contains(") Z ")
    };
    ids.filter(runs).map(|id| format!("process {id}")).collect()
}

#[test]
fn the_guard_undoes_everything_wherever_the_owner_is_killed() {
    let mut steps = 0;
    loop {
        let scratch = tempfile::tempdir().expect("scratch");
        if !killed_at(scratch.path(), steps, "guard alive") {
            break;
        }
        wait_until_as_found(scratch.path(), &format!("killed at step {steps}"));
        steps += 1;
    }
    assert!(steps >= 9, "{steps} steps");
}

#[test]
fn the_journal_undoes_everything_wherever_owner_and_guard_are_killed() {
    let mut steps = 0;
    loop {
        let scratch = tempfile::tempdir().expect("scratch");
        if !killed_at(scratch.path(), steps, "guard killed") {
            break;
        }
        // The guard holds the journal until it is quite dead.
        let start = Instant::now();
        let left = loop {
            match find_in(&scratch.path().join("journal")) {
                left if left.len() == 1 => break left,
                left => assert!(start.elapsed() < Duration::from_secs(10), "step {steps}: {left:?}"),
            }
        };
        assert_eq!(left[0].describe().len(), steps.div_ceil(2), "what was noted is told, step {steps}");
        for left in left {
            assert_eq!(left.undo(), Vec::<String>::new(), "step {steps}");
        }
        wait_until_as_found(scratch.path(), &format!("killed at step {steps}"));
        steps += 1;
    }
    assert!(steps >= 9, "{steps} steps");
}

#[test]
fn dropping_undoes_one_change_and_the_end_undoes_the_rest() {
    let scratch = tempfile::tempdir().expect("scratch");
    let (first, second) = (scratch.path().join("goodness-a"), scratch.path().join("goodness-b"));
    let restore = Restore::start_in(&scratch.path().join("journal")).expect("starts");
    let journal = restore.journal();
    let one = restore.before(&Action::RemoveFile(first.clone())).expect("noted");
    let other = restore.before(&Action::RemoveFile(second.clone())).expect("noted");
    write(&first, "x");
    write(&second, "x");
    drop(one);
    assert!(!first.exists() && second.exists());
    assert!(find_in(&scratch.path().join("journal")).is_empty(), "a living process is left alone");
    drop(restore);
    assert!(journal.exists());
    drop(other);
    assert!(!second.exists() && !journal.exists());
}

#[test]
fn without_its_guard_a_process_changes_nothing_more() {
    let scratch = tempfile::tempdir().expect("scratch");
    let restore = Restore::start_in(&scratch.path().join("journal")).expect("starts");
    let guard = restore.guard();
    Command::new("kill").args(["-KILL", &guard.to_string()]).status().expect("kill runs");
    let start = Instant::now();
    loop {
        match restore.before(&Action::RemoveFile(scratch.path().join("goodness-a"))) {
            Err(why) => break assert!(why.to_string().contains("guard process is gone"), "{why}"),
            Ok(undo) => undo.forget(),
        }
        assert!(start.elapsed() < Duration::from_secs(5), "the guard's death is not noticed");
    }
}

#[test]
fn a_forged_journal_removes_nothing_that_is_not_ours() {
    let scratch = tempfile::tempdir().expect("scratch");
    let (journals, precious) = (scratch.path().join("journal"), scratch.path().join("precious"));
    fs::create_dir_all(precious.join("goodness-x")).expect("scratch");
    write(&precious.join("file"), "keep");
    fs::create_dir(&journals).expect("scratch");
    let sly = precious.join("goodness-x/../../precious");
    let lines: Vec<u8> = [
        Action::RemoveTree(precious.clone()),
        Action::RemoveTree(sly),
        Action::RemoveFile(precious.join("file")),
        Action::Put { file: precious.join("file"), value: "gone".into(), written: None },
    ]
    .iter()
    .flat_map(|action| action.line(1))
    .collect();
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").expect("Linux");
    let text = [format!("goodness-journal/1 {} 1\n", boot.trim()).into_bytes(), lines].concat();
    fs::write(journals.join("goodness-1-0.journal"), text).expect("scratch");
    for left in find_in(&journals) {
        assert_eq!(left.undo().len(), 4, "all four are refused and told");
    }
    assert_eq!(fs::read_to_string(precious.join("file")).expect("kept"), "keep");
}

#[test]
fn after_a_reboot_only_what_lies_on_a_disk_is_undone() {
    let scratch = tempfile::tempdir().expect("scratch");
    let journals = scratch.path().join("journal");
    let (tree, settings) = (scratch.path().join("goodness-tree"), scratch.path().join("goodness-settings"));
    for folder in [&tree, &settings, &journals] {
        fs::create_dir(folder).expect("scratch");
    }
    let knob = settings.join("knob");
    write(&knob, "as the new boot has it");
    let put = Action::Put { file: knob.clone(), value: "of the old boot".into(), written: None };
    let lines = [Action::RemoveTree(tree.clone()).line(1), put.line(2)].concat();
    let text = [b"goodness-journal/1 another-boot 1\n".to_vec(), lines].concat();
    fs::write(journals.join("goodness-1-0.journal"), text).expect("scratch");
    let left = find_in(&journals);
    assert_eq!(left.len(), 1);
    left.into_iter().for_each(|left| assert_eq!(left.undo(), Vec::<String>::new()));
    assert!(!tree.exists() && fs::read_dir(&journals).expect("there").next().is_none());
    assert_eq!(fs::read_to_string(knob).expect("there"), "as the new boot has it");
}
