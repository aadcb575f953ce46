//! One command: run, watched, and judged.

use super::files::File;
use std::io::Read;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Longest time without a line. The program promises one every ten seconds.
const SILENCE: Duration = Duration::from_secs(12);
/// A command that goes on for that long is interrupted, if it talks or was told to be quiet.
const ENOUGH: Duration = Duration::from_secs(14);
/// Time to end after an interrupt. The program promises one second on a machine that has time for it.
const ENDING: Duration = Duration::from_secs(6);
/// Address space of a command, in KiB.
const MEMORY: u64 = 6 << 20;

/// A command to try.
pub struct Attempt {
    pub number: u64,
    pub file: File,
    pub words: Vec<String>,
}

/// The end of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    Answered,
    Refused,
    Interrupted,
    NotOneSentence,
    Panicked,
    OtherCode,
    Killed,
    Silent,
    WentOn,
}

impl Outcome {
    pub fn is_failure(self) -> bool {
        !matches!(self, Outcome::Answered | Outcome::Refused | Outcome::Interrupted)
    }
}

impl Attempt {
    /// Runs the command in a folder of its own.
    pub fn run(&self) -> (Outcome, String) {
        let here = tempfile::tempdir().expect("a scratch folder");
        std::fs::write(here.path().join(&self.file.name), &self.file.bytes).expect("a file");
        let mut command = shell(&format!("ulimit -v {MEMORY}; exec \"$0\" \"$@\""));
        let program = std::env::var_os("GOODNESS_PROGRAM").unwrap_or_else(|| env!("CARGO_BIN_EXE_goodness").into());
        command.arg(program).args(&self.words).current_dir(here.path()).env("NO_COLOR", "1");
        let is_quiet = self.words.iter().any(|it| it == "--quiet");
        watched(command, if is_quiet { ENOUGH * 4 } else { SILENCE }, ENOUGH)
    }

    /// Keeps the input of a failure. Returns what to look at.
    pub fn keep(&self, seed: u64, outcome: Outcome, said: &str) -> String {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("hostile-{seed}-{}", self.number));
        std::fs::create_dir_all(&folder).expect("a folder");
        std::fs::write(folder.join(&self.file.name), &self.file.bytes).expect("a file");
        let said: String = said.chars().take(600).collect();
        format!("{outcome:?} in {}: goodness {:?}\n{said}\n", folder.display(), self.words)
    }
}

/// A shell that heeds interrupts, also where this test runs in the background of one: there they are ignored, and a
/// shell cannot undo that.
pub fn shell(script: &str) -> Command {
    let mut command = Command::new("env");
    command.args(["--default-signal=INT", "sh", "-c", script]);
    command
}

/// What a command printed, and when last.
struct Said {
    text: Vec<u8>,
    last: Instant,
}

/// Runs `command`, at most `silence` without a line and until `enough`. Returns its end and what it said on standard
/// error.
pub fn watched(mut command: Command, silence: Duration, enough: Duration) -> (Outcome, String) {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut child = command.spawn().expect("it starts");
    let said = Arc::new(Mutex::new(Said { text: Vec::new(), last: Instant::now() }));
    let readers = [
        listen(child.stdout.take().expect("a pipe"), Arc::clone(&said), false),
        listen(child.stderr.take().expect("a pipe"), Arc::clone(&said), true),
    ];
    let (status, early) = wait(&mut child, &said, silence, enough);
    readers.into_iter().for_each(|it| it.join().expect("a reader"));
    let text = String::from_utf8_lossy(&said.lock().expect("no panic").text).into_owned();
    (early.unwrap_or_else(|| judged(status, &text)), text)
}

/// Waits for the end; the outcome if the command had to be ended.
fn wait(child: &mut Child, said: &Mutex<Said>, silence: Duration, enough: Duration) -> (ExitStatus, Option<Outcome>) {
    let start = Instant::now();
    let mut pause = Duration::from_millis(1);
    loop {
        if let Some(status) = child.try_wait().expect("a child") {
            return (status, None);
        }
        if said.lock().expect("no panic").last.elapsed() > silence {
            return (kill(child), Some(Outcome::Silent));
        }
        if start.elapsed() > enough {
            return interrupt(child);
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(50));
    }
}

/// Interrupts a command, as Ctrl-C does.
fn interrupt(child: &mut Child) -> (ExitStatus, Option<Outcome>) {
    signal(child, "INT");
    let start = Instant::now();
    while start.elapsed() < ENDING {
        if let Some(status) = child.try_wait().expect("a child") {
            let is_panic = status.code() == Some(101);
            return (status, Some(if is_panic { Outcome::Panicked } else { Outcome::Interrupted }));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    (kill(child), Some(Outcome::WentOn))
}

fn kill(child: &mut Child) -> ExitStatus {
    signal(child, "KILL");
    child.wait().expect("a child")
}

/// Signals the process group of a command.
fn signal(child: &Child, name: &str) {
    let group = format!("-{}", child.id());
    Command::new("kill").args([&format!("-{name}"), "--", &group]).status().expect("kill runs");
}

fn listen(mut from: impl Read + Send + 'static, said: Arc<Mutex<Said>>, kept: bool) -> std::thread::JoinHandle<()> {
    std::thread::spawn(move || {
        let mut bytes = vec![0; 1 << 16];
        while let Ok(count @ 1..) = from.read(&mut bytes) {
            let mut said = said.lock().expect("no panic");
            said.last = Instant::now();
            let room = (1 << 20) - said.text.len().min(1 << 20);
            said.text.extend(if kept { &bytes[..count.min(room)] } else { &[] });
        }
    })
}

/// The outcome of a command that ended by itself.
fn judged(status: ExitStatus, said: &str) -> Outcome {
    if said.contains("panicked at") {
        return Outcome::Panicked;
    }
    let errors = said.lines().filter(|line| line.starts_with("error")).count();
    match status.code() {
        None => {
            assert!(status.signal().is_some(), "it ended");
            Outcome::Killed
        }
        Some(0 | 1 | 3) => Outcome::Answered,
        Some(2) if errors == 1 => Outcome::Refused,
        Some(2) => Outcome::NotOneSentence,
        Some(_) => Outcome::OtherCode,
    }
}
