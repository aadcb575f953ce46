//! Records on the real kernel and checks that nothing is left behind, however the recorder ends. Needs root and a
//! tracefs; prints a message when skipped.
//!
//! Each recorder is a process of its own: this test program, started again with `RECORDER` set.

use std::fs;
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use goodness_record::{Options, Progress, RecordError, Stop, record};

const TRACEFS: &str = "/sys/kernel/tracing";
const RECORDER: &str = "GOODNESS_TEST_RECORDER";
/// Time limit for cleaning up.
const TIMEOUT: Duration = Duration::from_secs(10);

/// True if recording can work here; prints why not.
fn recordable(test: &str) -> bool {
    let root = fs::metadata("/proc/self").is_ok_and(|me| std::os::unix::fs::MetadataExt::uid(&me) == 0);
    let tracefs = Path::new(TRACEFS).join("instances").is_dir();
    match (root, tracefs) {
        (true, true) => return true,
        (false, _) => println!("SKIPPED {test}: recording needs root; run the tests with sudo"),
        (true, false) => {
            println!("SKIPPED {test}: no tracefs with instances at {TRACEFS}; mount -t tracefs tracefs {TRACEFS}")
        }
    }
    false
}

/// Not a test: the recorder that other tests start. Does nothing when run as a test.
#[test]
fn be_a_recorder_when_told_to() {
    let Ok(orders) = std::env::var(RECORDER) else { return };
    let mut words = orders.split('|');
    let output = PathBuf::from(words.next().expect("an output file"));
    let panics = words.next() == Some("panic");
    let options = Options { output, duration: Some(Duration::from_secs(60)), ..Options::default() };
    let mut show = |progress: Progress| {
        if matches!(progress, Progress::Started { .. }) {
            fs::write(options.output.with_extension("started"), "").expect("scratch");
            assert!(!panics, "told to panic");
        }
    };
    match record(&options, &mut show) {
        Ok(done) => std::process::exit(done.exit_code()),
        Err(error) => std::process::exit(error.exit_code()),
    }
}

/// A recorder in its own process that records into `folder` until stopped.
struct Recorder {
    process: Child,
    output: PathBuf,
}

impl Recorder {
    fn start(folder: &Path, name: &str, how: &str) -> Self {
        let output = folder.join(format!("{name}.gz"));
        let process = Command::new(std::env::current_exe().expect("this program"))
            .args(["--exact", "be_a_recorder_when_told_to", "--nocapture"])
            .env(RECORDER, format!("{}|{how}", output.display()))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("starts");
        let started = output.with_extension("started");
        until("the recorder starts", || started.exists());
        fs::remove_file(started).expect("scratch");
        Self { process, output }
    }

    fn instance(&self) -> PathBuf {
        Path::new(TRACEFS).join("instances").join(format!("goodness-{}", self.process.id()))
    }

    fn instance_of_changes(&self) -> PathBuf {
        Path::new(TRACEFS).join("instances").join(format!("goodness-{}-changes", self.process.id()))
    }

    fn journal(&self) -> PathBuf {
        let name = format!("goodness-{}-0.journal", self.process.id());
        goodness_restore::folder().join(name)
    }

    fn signal(&self, signal: &str) {
        let sent = Command::new("kill").args([signal, &self.process.id().to_string()]).status();
        assert!(sent.expect("kill runs").success());
    }

    /// Waits until nothing is left except what is in `allowed`.
    fn nothing_is_left(&self, allowed: &[&str]) {
        until("the instance is removed", || !self.instance().exists());
        until("that of changes is removed", || !self.instance_of_changes().exists());
        until("the journal is removed", || !self.journal().exists());
        let folder = self.output.parent().expect("in a folder");
        let names = || -> Vec<String> {
            let entries = fs::read_dir(folder).expect("scratch").flatten();
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
        };
        until("no unfinished file is left", || names().iter().all(|name| allowed.contains(&name.as_str())));
    }
}

fn until(what: &str, done: impl Fn() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(start.elapsed() < TIMEOUT, "{what}: not within {TIMEOUT:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn unpacked(path: &Path) -> String {
    let mut text = String::new();
    goodness_trace::Input::open(path).expect("a recording").read_to_string(&mut text).expect("whole");
    text
}

fn header(text: &str) -> serde_json::Value {
    let line = text.lines().find_map(|line| line.strip_prefix("# goodness: {\"recording\":"));
    let line = line.expect("a header").strip_suffix('}').expect("closed");
    serde_json::from_str(line).expect("JSON")
}

#[test]
fn a_killed_recorder_is_cleaned_up_after_at_once() {
    if !recordable("a_killed_recorder_is_cleaned_up_after_at_once") {
        return;
    }
    let scratch = tempfile::tempdir().expect("scratch");
    let mut recorder = Recorder::start(scratch.path(), "killed", "plain");
    assert!(recorder.instance().exists() && recorder.instance_of_changes().exists() && recorder.journal().exists());
    recorder.process.kill().expect("killed");
    assert_eq!(recorder.process.wait().expect("ended").signal(), Some(9));
    recorder.nothing_is_left(&[]);
}

#[test]
fn an_interrupted_recording_is_saved_and_restored() {
    if !recordable("an_interrupted_recording_is_saved_and_restored") {
        return;
    }
    let scratch = tempfile::tempdir().expect("scratch");
    for (signal, status) in [("-INT", 130), ("-TERM", 143), ("-HUP", 129)] {
        let mut recorder = Recorder::start(scratch.path(), "interrupted", "plain");
        std::thread::sleep(Duration::from_millis(50));
        recorder.signal(signal);
        assert_eq!(recorder.process.wait().expect("ended").code(), Some(status));
        recorder.nothing_is_left(&["interrupted.gz"]);
        let text = unpacked(&recorder.output);
        assert_eq!(header(&text)["stopped_by"], "signal");
        assert!(text.contains(" sched_switch: "), "what was recorded until then is kept");
    }
}

#[test]
fn a_second_recording_to_the_same_file_is_refused_while_the_first_runs() {
    if !recordable("a_second_recording_to_the_same_file_is_refused_while_the_first_runs") {
        return;
    }
    let scratch = tempfile::tempdir().expect("scratch");
    let mut first = Recorder::start(scratch.path(), "shared", "plain");
    let link = scratch.path().join("here");
    std::os::unix::fs::symlink(scratch.path(), &link).expect("scratch");
    let options = |output| Options { output, duration: Some(Duration::from_millis(50)), ..Options::default() };
    let refused = |output| record(&options(output), &mut |_| ()).expect_err("the file is taken").to_string();
    for same in [first.output.clone(), link.join("shared.gz")] {
        let sentence = refused(same);
        assert!(sentence.contains("is in use by") && sentence.contains("(process "), "{sentence}");
    }
    record(&options(scratch.path().join("other.gz")), &mut |_| ()).expect("another file is free");
    first.signal("-INT");
    assert_eq!(first.process.wait().expect("ended").code(), Some(130));
    assert!(unpacked(&first.output).contains(" sched_switch: "), "the first is not lost");
    record(&options(first.output.clone()), &mut |_| ()).expect("the file is free again");
}

#[test]
fn a_panic_leaves_nothing_behind() {
    if !recordable("a_panic_leaves_nothing_behind") {
        return;
    }
    let scratch = tempfile::tempdir().expect("scratch");
    let mut recorder = Recorder::start(scratch.path(), "panicked", "panic");
    assert_eq!(recorder.process.wait().expect("ended").code(), Some(101));
    recorder.nothing_is_left(&[]);
}

#[test]
fn when_the_watchdog_is_killed_too_the_next_recorder_cleans_up() {
    if !recordable("when_the_watchdog_is_killed_too_the_next_recorder_cleans_up") {
        return;
    }
    let scratch = tempfile::tempdir().expect("scratch");
    let mut recorder = Recorder::start(scratch.path(), "both", "plain");
    let children = format!("/proc/{0}/task/{0}/children", recorder.process.id());
    let threads = fs::read_dir(format!("/proc/{}/task", recorder.process.id())).expect("threads").flatten();
    let lists = threads.map(|thread| fs::read_to_string(thread.path().join("children")).unwrap_or_default());
    let watchdogs: Vec<String> =
        lists.flat_map(|list| list.split_whitespace().map(str::to_string).collect::<Vec<_>>()).collect();
    assert_eq!(watchdogs.len(), 1, "the recorder has one child ({children})");
    Command::new("kill").args(["-KILL", &watchdogs[0]]).status().expect("kill runs");
    recorder.process.kill().expect("killed");
    recorder.process.wait().expect("ended");
    let instance = recorder.instance();
    assert!(instance.exists(), "nobody has cleaned up yet");
    // Another test's recorder may be the next to start, and clean up before ours.
    let options = Options {
        output: scratch.path().join("next.gz"),
        duration: Some(Duration::from_millis(1)),
        ..Options::default()
    };
    record(&options, &mut |_| {}).expect("records");
    recorder.nothing_is_left(&["next.gz"]);
}

#[test]
fn two_recorders_run_at_once_and_both_see_the_same_switches() {
    if !recordable("two_recorders_run_at_once_and_both_see_the_same_switches") {
        return;
    }
    let scratch = tempfile::tempdir().expect("scratch");
    let mut first = Recorder::start(scratch.path(), "first", "plain");
    let mut second = Recorder::start(scratch.path(), "second", "plain");
    std::thread::sleep(Duration::from_millis(100));
    for recorder in [&mut first, &mut second] {
        recorder.signal("-INT");
        assert_eq!(recorder.process.wait().expect("ended").code(), Some(130));
    }
    first.nothing_is_left(&["first.gz", "second.gz"]);
    second.nothing_is_left(&["first.gz", "second.gz"]);
    let fields = |line: &str| line.split_once("sched_switch: ").map(|(_, fields)| fields.to_string());
    let early = unpacked(&first.output);
    let known: std::collections::BTreeSet<String> = early.lines().filter_map(fields).collect();
    let shared = unpacked(&second.output).lines().filter_map(fields).filter(|line| known.contains(line)).count();
    assert!(shared > 10, "both recorded the same time, so they share switches; {shared} found");
}

#[test]
fn a_command_is_recorded_with_everything_it_starts() {
    if !recordable("a_command_is_recorded_with_everything_it_starts") {
        return;
    }
    let scratch = tempfile::tempdir().expect("scratch");
    let options = Options {
        output: scratch.path().join("command.gz"),
        command: ["sh", "-c", "sleep 0.02; (sleep 0.02; exit 0) & wait; exit 3"].iter().map(Into::into).collect(),
        confine_to: Some(vec![0]),
        anonymize: true,
        block: true,
        ..Options::default()
    };
    let done = record(&options, &mut |_| {}).expect("records");
    assert_eq!((done.stopped_by, done.exit_code()), (Stop::Command, 0));
    assert_eq!(done.lost_events(), 0);
    let text = unpacked(&options.output);
    let header = header(&text);
    assert_eq!(header["command"]["exit"]["code"], 3);
    assert_eq!(header["command"]["name"], "sh");
    assert!(header["command"]["arguments"].is_null(), "arguments are dropped when anonymised");
    assert_eq!(header["command"]["confined_to"], serde_json::json!([0]));
    assert_eq!(header["members"].as_array().map(Vec::len), Some(4), "two shells and two sleeps");
    let events = text.lines().filter(|line| !line.starts_with('#')).count() as u64;
    assert_eq!(events, done.events);
    for member in header["members"].as_array().expect("a list") {
        assert!(text.contains(&format!("next_pid={member} ")), "{member} was seen to run");
    }
    check_order(&text);
    check_strangers(&text);
}

/// Times never go back.
fn check_order(text: &str) {
    let stamp = |line: &str| {
        let (before, _) = line.split_once(": ")?;
        let (seconds, nanoseconds) = before.split_whitespace().last()?.split_once('.')?;
        assert_eq!(nanoseconds.len(), 9, "nanoseconds in {line}");
        Some(seconds.parse::<u64>().ok()? * 1_000_000_000 + nanoseconds.parse::<u64>().ok()?)
    };
    let times: Vec<u64> = text.lines().filter(|line| !line.starts_with('#')).filter_map(stamp).collect();
    assert!(times.len() > 10 && times.is_sorted());
}

/// Tasks outside the command have no names of their own.
fn check_strangers(text: &str) {
    for line in text.lines().filter_map(|line| line.strip_prefix("# goodness: {\"task\":")) {
        let task: serde_json::Value = serde_json::from_str(line.strip_suffix('}').expect("closed")).expect("JSON");
        if task["role"] == "other" {
            assert!(task["comm"].as_str().expect("text").starts_with("other-"), "{task}");
        }
    }
}

/// The task lines of members called `comm`.
fn members_called(text: &str, comm: &str) -> Vec<serde_json::Value> {
    let lines = text.lines().filter_map(|line| line.strip_prefix("# goodness: {\"task\":")?.strip_suffix('}'));
    let tasks = lines.map(|line| serde_json::from_str::<serde_json::Value>(line).expect("JSON"));
    tasks.filter(|task| task["role"] == "command" && task["comm"] == comm).collect()
}

#[test]
fn a_task_that_comes_late_and_goes_early_is_recorded_with_its_attributes() {
    if !recordable("a_task_that_comes_late_and_goes_early_is_recorded_with_its_attributes") {
        return;
    }
    if !Path::new(TRACEFS).join("events/syscalls/sys_exit_setpriority").is_dir() {
        return println!("SKIPPED: this kernel cannot trace system calls");
    }
    let scratch = tempfile::tempdir().expect("scratch");
    let script = "sleep 0.2; nice -n 7 sleep 0.2; taskset -c 0 chrt -f 30 sleep 0.2; sleep 0.2";
    let options = Options {
        output: scratch.path().join("late.gz"),
        command: ["sh", "-c", script].iter().map(Into::into).collect(),
        ..Options::default()
    };
    record(&options, &mut |_| {}).expect("records");
    let sleeps = members_called(&unpacked(&options.output), "sleep");
    assert_eq!(sleeps.len(), 4);
    let facts = |task: &serde_json::Value| (task["policy"].clone(), task["nice"].clone(), task["affinity"].clone());
    let all = &sleeps[0]["affinity"];
    let other = serde_json::json!("other");
    assert_eq!(facts(&sleeps[1]), (other.clone(), 7.into(), all.clone()));
    assert_eq!(facts(&sleeps[2]), ("fifo".into(), 0.into(), serde_json::json!([0])));
    assert_eq!(sleeps[2]["rt_priority"], 30);
    let changes = sleeps[1]["changes"].as_array().expect("a list");
    assert_eq!((&changes[0]["nice"], &changes[1]["nice"]), (&0.into(), &7.into()), "{changes:?}");
    assert!(changes[0]["at_ns"].as_u64() < changes[1]["at_ns"].as_u64());
    // The file of a process without an autogroup is empty.
    let grouped = std::fs::read_to_string("/proc/self/autogroup").is_ok_and(|text| !text.trim().is_empty());
    for unchanged in [&sleeps[0], &sleeps[3]] {
        assert_eq!(facts(unchanged), (other.clone(), 0.into(), all.clone()));
        assert!(unchanged["changes"].is_null(), "{unchanged}");
        assert_eq!(unchanged["autogroup"].is_u64(), grouped, "{unchanged}");
        assert!(unchanged["cgroup"].as_str().is_none_or(|path| path.starts_with('/')));
    }
}

#[test]
fn a_connection_that_comes_late_is_counted() {
    if !recordable("a_connection_that_comes_late_is_counted") {
        return;
    }
    let scratch = tempfile::tempdir().expect("scratch");
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let script = format!("sleep 1; exec 3<>/dev/tcp/127.0.0.1/{port}; sleep 2");
    let command = ["bash", "-c", &script].map(Into::into).to_vec();
    let options = Options { output: scratch.path().join("late.gz"), command, ..Options::default() };
    let done = record(&options, &mut |_| ()).expect("recorded");
    assert_eq!(done.exit_code(), 0);
    let header = header(&unpacked(&options.output));
    assert_eq!(header["connections"][0]["established"], 1, "{}", header["connections"]);
}

#[test]
fn a_small_buffer_loses_events_and_says_so() {
    if !recordable("a_small_buffer_loses_events_and_says_so") {
        return;
    }
    let scratch = tempfile::tempdir().expect("scratch");
    // Two threads handing a byte to and fro on one CPU fill a megabyte in well under a second; the recorder, stopped
    // by its own progress report, cannot keep up.
    let load = "import os,threading\n\
                a,b=os.pipe(); c,d=os.pipe()\n\
                def echo():\n  \
                  while os.read(a,1): os.write(d,b'x')\n\
                threading.Thread(target=echo,daemon=True).start()\n\
                for _ in range(40000):\n  os.write(b,b'x'); os.read(c,1)\n";
    let options = Options {
        output: scratch.path().join("lossy.gz"),
        command: ["python3", "-c", load].iter().map(Into::into).collect(),
        confine_to: Some(vec![0]),
        buffer_bytes: Some(1 << 20),
        ..Options::default()
    };
    let mut stalled = false;
    let mut stall = |progress: Progress| {
        if matches!(progress, Progress::Recording { .. }) && !std::mem::replace(&mut stalled, true) {
            std::thread::sleep(Duration::from_secs(3));
        }
    };
    let done = match record(&options, &mut stall) {
        Err(RecordError::Command { .. }) => return eprintln!("SKIPPED (no python3 to make load)"),
        other => other.expect("records"),
    };
    assert!(done.lost_events() > 0, "{} events in one megabyte", done.events);
    let text = unpacked(&options.output);
    assert!(text.lines().any(|line| line.starts_with("CPU:0 [LOST ")), "the place of the loss is marked");
    let lost: u64 =
        header(&text)["lost"].as_array().expect("a list").iter().filter_map(|cpu| cpu["overrun"].as_u64()).sum();
    assert_eq!(lost, done.lost_events());
}

#[test]
fn an_impossible_output_is_refused_before_the_command_starts() {
    if !recordable("an_impossible_output_is_refused_before_the_command_starts") {
        return;
    }
    let scratch = tempfile::tempdir().expect("scratch");
    let witness = scratch.path().join("ran");
    let options = Options {
        output: scratch.path().join("no/such/folder.gz"),
        command: ["touch".into(), witness.clone().into_os_string()].to_vec(),
        ..Options::default()
    };
    let error = record(&options, &mut |_| {}).expect_err("refused");
    assert_eq!(error.exit_code(), 2);
    assert!(error.to_string().contains("does not exist"), "{error}");
    assert!(!witness.exists());
}

#[test]
fn without_root_the_remedy_is_named() {
    if !recordable("without_root_the_remedy_is_named") {
        return;
    }
    let scratch = tempfile::tempdir().expect("scratch");
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o777);
    fs::set_permissions(scratch.path(), open).expect("scratch");
    // A copy where an ordinary user can reach it.
    let program = scratch.path().join("recorder");
    fs::copy(std::env::current_exe().expect("this program"), &program).expect("scratch");
    let status = std::os::unix::process::CommandExt::uid(&mut Command::new(&program), 65534)
        .args(["--exact", "be_a_recorder_when_told_to"])
        .env(RECORDER, format!("{}|plain", scratch.path().join("x.gz").display()))
        .current_dir(scratch.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .expect("runs");
    assert_eq!(status.code(), Some(2));
    assert!(!scratch.path().join("x.gz").exists());
}
