//! Tests with several commands at once: a resource has one owner, and settings changed by someone else are left alone.
//!
//! Files in a scratch folder stand in for kernel files. The other commands are this program, started as children. Each
//! changes one file, reports it, and waits to be released or killed.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use goodness_restore::{Action, Restore, find_in};

/// Set in the child: `JOURNALS|FILE|VALUE`.
const ORDER: &str = "GOODNESS_OWNER_ORDER";

/// Not a test: the process that the tests below start. Does nothing when run as a test.
#[test]
fn be_another_command_when_told_to() {
    let Ok(order) = std::env::var(ORDER) else { return };
    let words: Vec<&str> = order.split('|').collect();
    let restore = Restore::start_in(Path::new(words[0])).expect("starts");
    let changed = restore.put(Path::new(words[1]), words[2]);
    // Behind what the test harness has printed.
    match &changed {
        Ok(_) => println!("\n! took {}", restore.guard()),
        Err(why) => println!("\n! refused {why}"),
    }
    std::io::stdin().read_line(&mut String::new()).expect("let go");
    drop(changed);
    restore.left_alone().iter().for_each(|what| println!("\n! {what}"));
}

/// Another command, and its first message.
struct Other {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    said: String,
}

impl Other {
    fn puts(scene: &Scene, file: &Path, value: &str) -> Other {
        let mut child = Command::new(std::env::current_exe().expect("this program"))
            .args(["--exact", "be_another_command_when_told_to", "--nocapture"])
            .env(ORDER, format!("{}|{}|{value}", scene.journals().display(), file.display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("starts");
        let (input, output) = (child.stdin.take().expect("piped"), child.stdout.take().expect("piped"));
        let mut other = Other { child, input, output: BufReader::new(output), said: String::new() };
        other.said = other.hear().expect("says something");
        other
    }

    fn hear(&mut self) -> Option<String> {
        let lines = self.output.by_ref().lines().map_while(Result::ok);
        lines.into_iter().find_map(|line| line.strip_prefix("! ").map(str::to_string))
    }

    fn guard(&self) -> u32 {
        self.said.strip_prefix("took ").unwrap_or_else(|| panic!("{}", self.said)).parse().expect("a number")
    }

    /// Releases it and returns its last message.
    fn end(mut self) -> Option<String> {
        writeln!(self.input).expect("listens");
        let said = self.hear();
        self.child.wait().expect("ends");
        said
    }

    fn kill(mut self, with_guard: bool) {
        let guard = self.guard();
        if with_guard {
            Command::new("kill").args(["-KILL", &guard.to_string()]).status().expect("kill runs");
        }
        self.child.kill().expect("runs");
        self.child.wait().expect("ends");
    }
}

/// Two folders: stand-ins for kernel settings, and journals.
struct Scene(tempfile::TempDir);

impl Scene {
    fn set() -> Scene {
        let scene = Scene(tempfile::tempdir().expect("scratch"));
        fs::create_dir(scene.journals()).expect("scratch");
        for disk in ["sda", "sdb"] {
            let queue = scene.sys().join("block").join(disk).join("queue");
            fs::create_dir_all(queue.join("iosched")).expect("scratch");
            fs::write(queue.join("scheduler"), "none\n").expect("scratch");
            fs::write(queue.join("iosched/read_expire"), "500\n").expect("scratch");
        }
        fs::write(scene.knob(), "1\n").expect("scratch");
        fs::write(scene.sys().join("other"), "1\n").expect("scratch");
        scene
    }

    fn sys(&self) -> PathBuf {
        // The mark lets values be written back to a folder that is not the kernel's.
        self.0.path().canonicalize().expect("there").join("goodness-sys")
    }

    fn knob(&self) -> PathBuf {
        self.sys().join("autogroup")
    }

    fn journals(&self) -> PathBuf {
        self.0.path().join("journal")
    }

    fn read(&self, file: &Path) -> String {
        fs::read_to_string(file).expect("there").trim().to_string()
    }

    fn becomes(&self, file: &Path, value: &str) {
        let begun = Instant::now();
        while self.read(file) != value {
            assert!(begun.elapsed() < Duration::from_secs(10), "{} is {}", file.display(), self.read(file));
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

#[test]
fn the_second_command_is_refused_by_name_and_the_first_ones_value_is_restored() {
    let scene = Scene::set();
    let knob = scene.knob();
    let first = Other::puts(&scene, &knob, "0");
    let second = Other::puts(&scene, &knob, "2");
    assert!(second.said.contains("refused") && second.said.contains("is in use by `owner-"), "{}", second.said);
    let (hour, process) = (" since ", format!("(process {})", first.child.id()));
    assert!(second.said.contains(hour) && second.said.contains(&process), "{}", second.said);
    assert_eq!(scene.read(&knob), "0", "the refused command changed nothing");
    // Whichever ends first.
    assert_eq!(first.end(), None);
    assert_eq!(scene.read(&knob), "1");
    assert_eq!(second.end(), None);
    assert_eq!(scene.read(&knob), "1");
    let third = Other::puts(&scene, &knob, "2");
    assert_eq!(scene.read(&knob), "2", "{}", third.said);
    third.end();
    assert_eq!(scene.read(&knob), "1");
}

#[test]
fn a_refused_command_that_ends_first_leaves_the_owners_value() {
    let scene = Scene::set();
    let knob = scene.knob();
    let (first, second) = (Other::puts(&scene, &knob, "0"), Other::puts(&scene, &knob, "2"));
    assert_eq!(second.end(), None);
    assert_eq!(scene.read(&knob), "0");
    first.end();
    assert_eq!(scene.read(&knob), "1");
}

#[test]
fn a_command_that_comes_while_a_killed_one_is_undone_finds_the_original() {
    for with_guard in [false, true] {
        for _ in 0..5 {
            let scene = Scene::set();
            let knob = scene.knob();
            let first = Other::puts(&scene, &knob, "0");
            let refused = Other::puts(&scene, &knob, "2");
            first.kill(with_guard);
            let third = Other::puts(&scene, &knob, "3");
            assert!(third.said.contains("took"), "guard killed: {with_guard}: {}", third.said);
            assert_eq!(scene.read(&knob), "3");
            refused.end();
            third.end();
            assert_eq!(scene.read(&knob), "1", "guard killed: {with_guard}");
            assert!(find_in(&scene.journals()).is_empty());
        }
    }
}

#[test]
fn a_disk_is_one_resource_and_other_settings_are_not_in_its_way() {
    let scene = Scene::set();
    let disk = |name: &str| scene.sys().join("block").join(name).join("queue");
    let first = Other::puts(&scene, &disk("sda").join("scheduler"), "bfq");
    let same = Other::puts(&scene, &disk("sda").join("iosched/read_expire"), "9");
    let others = [disk("sdb").join("scheduler"), scene.knob(), scene.sys().join("other")];
    let others = others.map(|file| Other::puts(&scene, &file, "7"));
    assert!(same.said.contains("block/sda is in use"), "{}", same.said);
    assert!(others.iter().all(|other| other.said.contains("took")));
    for other in others.into_iter().chain([same, first]) {
        assert_eq!(other.end(), None);
    }
    assert_eq!(scene.read(&disk("sda").join("iosched/read_expire")), "500");
    assert_eq!(scene.read(&disk("sdb").join("scheduler")), "none");
    assert_eq!(scene.read(&scene.knob()), "1");
}

#[test]
fn what_somebody_else_has_changed_meanwhile_is_left_and_said() {
    let scene = Scene::set();
    let knob = scene.knob();
    let first = Other::puts(&scene, &knob, "0");
    fs::write(&knob, "5\n").expect("scratch");
    let said = first.end().expect("says so");
    assert!(said.contains("autogroup at \"5\"") && said.contains("someone else has changed it"), "{said}");
    assert_eq!(scene.read(&knob), "5");
    assert!(find_in(&scene.journals()).is_empty(), "there is nothing more to undo");
}

#[test]
fn what_somebody_else_has_changed_after_a_kill_is_told_once_and_left() {
    for with_guard in [false, true] {
        let scene = Scene::set();
        let knob = scene.knob();
        let first = Other::puts(&scene, &knob, "0");
        fs::write(&knob, "5\n").expect("scratch");
        first.kill(with_guard);
        let begun = Instant::now();
        let left = loop {
            match find_in(&scene.journals()) {
                left if left.len() == 1 => break left,
                _ => assert!(begun.elapsed() < Duration::from_secs(10), "the journal stays locked"),
            }
        };
        let described = left[0].describe();
        assert!(described[0].contains("leave") && described[0].contains("autogroup at \"5\""), "{described:?}");
        let told: Vec<String> = left.into_iter().flat_map(goodness_restore::StaleJournal::undo).collect();
        assert_eq!(told, described, "guard killed: {with_guard}");
        assert_eq!(scene.read(&knob), "5");
        assert!(find_in(&scene.journals()).is_empty());
    }
}

#[test]
fn a_value_that_is_the_original_again_is_nobodys_change() {
    let scene = Scene::set();
    let first = Other::puts(&scene, &scene.knob(), "0");
    fs::write(scene.knob(), "1\n").expect("scratch");
    assert_eq!(first.end(), None);
    assert_eq!(scene.read(&scene.knob()), "1");
}

#[test]
fn one_command_may_change_a_file_twice_and_the_last_change_is_undone_first() {
    let scene = Scene::set();
    let knob = scene.knob();
    let restore = Restore::start_in(&scene.journals()).expect("starts");
    let (one, other) = (restore.put(&knob, "0").expect("put"), restore.put(&knob, "2").expect("put"));
    assert!(other.now() && scene.read(&knob) == "0");
    assert!(one.now() && scene.read(&knob) == "1");
    // It is still this command's until its end.
    let second = Other::puts(&scene, &knob, "7");
    assert!(second.said.contains("refused"), "{}", second.said);
    drop(restore);
    second.end();
    let third = Other::puts(&scene, &knob, "7");
    assert!(third.said.contains("took"), "{}", third.said);
    third.end();
    scene.becomes(&knob, "1");
}

#[test]
fn a_journal_of_the_first_version_is_undone_and_one_of_a_later_version_is_kept() {
    let scene = Scene::set();
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").expect("Linux");
    let put = Action::Put { file: scene.knob(), value: "1".into(), written: None }.line(1);
    for (version, file) in [(1, "goodness-1-0.journal"), (99, "goodness-2-0.journal")] {
        let head = format!("goodness-journal/{version} {} 1\n", boot.trim());
        fs::write(scene.journals().join(file), [head.as_bytes(), &put].concat()).expect("scratch");
    }
    fs::write(scene.knob(), "0").expect("scratch");
    let told: Vec<String> =
        find_in(&scene.journals()).into_iter().flat_map(goodness_restore::StaleJournal::undo).collect();
    assert_eq!(scene.read(&scene.knob()), "1");
    assert!(told.len() == 1 && told[0].contains("newer goodness"), "{told:?}");
    let names = |it: fs::DirEntry| it.file_name().into_string().expect("text");
    let left: Vec<String> = fs::read_dir(scene.journals()).expect("there").flatten().map(names).collect();
    assert_eq!(left, ["goodness-2-0.journal"]);
}
