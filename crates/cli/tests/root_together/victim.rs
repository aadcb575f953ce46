//! A command that is started and ended at given instants.

use crate::leftovers::MARK;
use goodness_sys::send_signal;
use std::fs::{self, File};
use std::io::{self, Read, Seek};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

const INTERRUPT: i32 = 2;
const KILL: i32 = 9;
const TERMINATE: i32 = 15;
/// A command that takes longer hangs.
const LONGEST: Duration = Duration::from_secs(40);

/// The planned end of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It ends by itself, its work done.
    Itself,
    Interrupt,
    Terminate,
    Kill,
    /// Its guard first.
    KillWithGuard,
}

impl End {
    fn signal(self) -> Option<i32> {
        match self {
            End::Itself => None,
            End::Interrupt => Some(INTERRUPT),
            End::Terminate => Some(TERMINATE),
            End::Kill | End::KillWithGuard => Some(KILL),
        }
    }
}

/// A command, when it begins, and what it gets how long after.
#[derive(Clone, Debug)]
pub struct Victim {
    pub words: &'static [&'static str],
    pub begin: Duration,
    pub end: End,
    pub after: Duration,
}

/// The end that a command had.
#[derive(Debug)]
pub struct Ended {
    pub id: u32,
    /// The signal that it got before it had ended.
    pub sent: Option<End>,
    /// Guards that were killed.
    pub guards: usize,
    pub status: ExitStatus,
    pub said: String,
}

impl Victim {
    /// Runs it in `folder` to its end.
    ///
    /// # Errors
    /// It cannot be run, or does not end.
    pub fn run(&self, folder: &Path) -> io::Result<Ended> {
        sleep(self.begin);
        let mut said = tempfile::tempfile()?;
        let mut child = self.start(folder, &said)?;
        let (mut sent, mut guards) = (None, 0);
        if let Some(signal) = self.end.signal()
            && status_within(&mut child, self.after)?.is_none()
        {
            if self.end == End::KillWithGuard {
                let forks = forks_of(child.id());
                guards = forks.len();
                forks.into_iter().for_each(|guard| send_signal(guard, KILL));
            }
            send_signal(child.id(), signal);
            sent = Some(self.end);
        }
        let hangs = || io::Error::other("it does not end");
        let status = status_within(&mut child, LONGEST)?.ok_or_else(hangs)?;
        let mut text = String::new();
        said.rewind()?;
        said.read_to_string(&mut text)?;
        Ok(Ended { id: child.id(), sent, guards, status, said: text })
    }

    fn start(&self, folder: &Path, said: &File) -> io::Result<Child> {
        Command::new(env!("CARGO_BIN_EXE_goodness"))
            .args(self.words)
            .current_dir(folder)
            .env(MARK, "1")
            .env("NO_COLOR", "1")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(said.try_clone()?)
            .spawn()
    }
}

impl Ended {
    /// True if it ended as commands may: with a documented exit code, by its signal, and with a sentence if it failed.
    pub fn is_proper(&self) -> bool {
        let code_of_signal = match self.sent.and_then(End::signal) {
            Some(signal) if signal != KILL => Some(128 + signal),
            _ => None,
        };
        let may_end = match self.status.code() {
            // Before it listens to signals.
            None => self.status.signal() == self.sent.and_then(End::signal),
            code if code == code_of_signal => true,
            Some(1 | 2) => self.said.contains("error: "),
            Some(code) => (0..=4).contains(&code),
        };
        may_end && !self.said.contains("panicked")
    }
}

/// Its status if it ends within `limit`.
fn status_within(child: &mut Child, limit: Duration) -> io::Result<Option<ExitStatus>> {
    let begun = Instant::now();
    loop {
        match child.try_wait()? {
            None if begun.elapsed() < limit => sleep(Duration::from_millis(1)),
            ended => return Ok(ended),
        }
    }
}

/// Children of process `id` that run the same program with the same words: forks, of which one is the guard.
fn forks_of(id: u32) -> Vec<u32> {
    let words = |id: u32| fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
    let own = words(id);
    let all = goodness_sys::listed(Path::new("/proc")).into_iter();
    let ids = all.filter_map(|path| path.file_name()?.to_str()?.parse::<u32>().ok());
    ids.filter(|other| parent_of(*other) == Some(id) && words(*other) == own).collect()
}

fn parent_of(id: u32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("PPid:"))?.trim().parse().ok()
}
