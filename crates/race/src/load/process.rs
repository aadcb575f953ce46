//! Processes of a load: started through the workspace, waited for with time limits, and killed when the load ends.

use crate::load_error::LoadError;
use crate::role::Role;
use crate::workspace::Workspace;
use rustix::process::{Pid, PidfdFlags, Signal};
use std::fs::{self, File};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Time limit for a server to end after SIGTERM.
const ENDING: Duration = Duration::from_secs(20);
/// Lines of a program's output repeated in errors.
const REPEATED: usize = 5;

/// A running process with its children; killed on drop.
#[derive(Debug)]
pub(crate) struct Process {
    name: String,
    child: Child,
    logs: Vec<PathBuf>,
}

impl Process {
    /// Starts `command`, called `name`, as the leader of its own process group. Output goes to `NAME.out` and
    /// `NAME.err` in the workspace's folder; `log` is the file with its error messages, if that is another one.
    pub(crate) fn start(
        workspace: &Workspace,
        role: Role,
        name: &str,
        command: &mut Command,
        log: Option<PathBuf>,
    ) -> Result<Process, LoadError> {
        let file = |end: &str| workspace.folder().join(format!("{name}.{end}"));
        let made = |path: &Path| {
            File::create(path).map_err(|why| LoadError(format!("{} could not be made: {why}", path.display())))
        };
        command.stdin(Stdio::null()).stdout(made(&file("out"))?).stderr(made(&file("err"))?).process_group(0);
        let child = workspace.start(role, command);
        let child = child.map_err(|why| LoadError(format!("{name} could not be started: {why}")))?;
        Ok(Process { name: name.into(), child, logs: log.into_iter().chain([file("err"), file("out")]).collect() })
    }

    /// Polls `answers` until it is true.
    ///
    /// # Errors
    /// The process ended before that, or `timeout` passed.
    pub(crate) fn wait_until(&mut self, timeout: Duration, mut answers: impl FnMut() -> bool) -> Result<(), LoadError> {
        let begun = Instant::now();
        loop {
            if answers() {
                return Ok(());
            }
            if self.ends_within(Duration::from_millis(10))? {
                return Err(self.error("ended before it answered"));
            }
            if begun.elapsed() > timeout {
                return Err(self.error(&format!("did not answer within {} s", timeout.as_secs())));
            }
        }
    }

    /// Sends SIGTERM, then kills what is left.
    pub(crate) fn stop(mut self) {
        let _ = rustix::process::kill_process(self.pid(), Signal::TERM);
        let _ = self.ends_within(ENDING);
    }

    /// Sends SIGTERM and waits for an orderly end, which is part of its work.
    ///
    /// # Errors
    /// It takes longer than `timeout`, or fails.
    pub(crate) fn stop_within(self, timeout: Duration) -> Result<(), LoadError> {
        let _ = rustix::process::kill_process(self.pid(), Signal::TERM);
        self.finish(timeout).map(|_| ())
    }

    /// Waits until it ends by itself. Returns its standard output.
    ///
    /// # Errors
    /// It takes longer than `timeout`, or fails.
    pub(crate) fn finish(mut self, timeout: Duration) -> Result<String, LoadError> {
        if !self.ends_within(timeout)? {
            return Err(self.error(&format!("was not done after {} s", timeout.as_secs())));
        }
        let status = self.status()?;
        if status.is_none_or(|status| !status.success()) {
            let how = status.map_or_else(|| "without a status".into(), |status| status.to_string());
            return Err(self.error(&format!("failed ({how})")));
        }
        let out = self.logs.last().map(fs::read).transpose();
        let out = out.map_err(|why| LoadError(format!("what {} printed could not be read: {why}", self.name)))?;
        Ok(String::from_utf8_lossy(&out.unwrap_or_default()).into_owned())
    }

    /// An error message about this process, with its last output.
    pub(crate) fn error(&self, what: &str) -> LoadError {
        let said = self.logs.iter().map(|log| last_lines(log)).find(|lines| !lines.is_empty());
        let said = said.map_or_else(|| "; it printed nothing".into(), |lines| format!("; it said: {lines}"));
        LoadError(format!("{} {what}{said}", self.name))
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    fn status(&mut self) -> Result<Option<ExitStatus>, LoadError> {
        self.child.try_wait().map_err(|why| LoadError(format!("{} could not be waited for: {why}", self.name)))
    }

    fn ends_within(&mut self, timeout: Duration) -> Result<bool, LoadError> {
        if self.status()?.is_some() {
            return Ok(true);
        }
        // Sleeping and asking would be activity of ours during the measurement.
        if let Ok(end) = rustix::process::pidfd_open(self.pid(), PidfdFlags::empty()) {
            let mut asked = [rustix::event::PollFd::new(&end, rustix::event::PollFlags::IN)];
            let bound = rustix::time::Timespec::try_from(timeout).ok();
            let _ = rustix::event::poll(&mut asked, bound.as_ref());
        } else {
            std::thread::sleep(timeout.min(Duration::from_millis(100)));
        }
        Ok(self.status()?.is_some())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = rustix::process::kill_process_group(self.pid(), Signal::KILL);
        let _ = self.child.wait();
    }
}

/// The last lines of a log, joined; empty if there is none.
fn last_lines(log: &Path) -> String {
    let text = tail(log, 4096).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines[lines.len().saturating_sub(REPEATED)..].join(" / ")
}

fn tail(log: &Path, bytes: u64) -> io::Result<Vec<u8>> {
    use std::io::{Read, Seek, SeekFrom};
    let mut file = File::open(log)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(bytes)))?;
    let mut text = Vec::new();
    file.take(bytes).read_to_end(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(workspace: &Workspace, script: &str) -> Process {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        Process::start(workspace, Role::Server, "script", &mut command, None).expect("sh starts")
    }

    fn workspace() -> (tempfile::TempDir, Workspace) {
        let folder = tempfile::tempdir().expect("a folder");
        let workspace = Workspace::new(folder.path().into());
        (folder, workspace)
    }

    #[test]
    fn a_server_that_ends_too_soon_is_reported_with_its_last_lines() {
        let (_folder, workspace) = workspace();
        let mut server = shell(&workspace, "seq 1 9; echo 'no such port' >&2; exit 3");
        let why = server.wait_until(Duration::from_secs(10), || false).unwrap_err().0;
        assert_eq!(why, "script ended before it answered; it said: no such port");
        let why = shell(&workspace, "seq 1 9; exit 3").finish(Duration::from_secs(10)).unwrap_err().0;
        assert_eq!(why, "script failed (exit status: 3); it said: 5 / 6 / 7 / 8 / 9");
    }

    #[test]
    fn a_server_that_never_answers_is_given_up_and_killed_with_what_it_started() {
        let (folder, workspace) = workspace();
        let note = folder.path().join("pid");
        let mut server =
            shell(&workspace, &format!("sleep 600 & echo $! > {}.new; mv {0}.new {0}; wait", note.display()));
        server.wait_until(Duration::from_secs(60), || note.exists()).expect("the script began");
        let why = server.wait_until(Duration::from_millis(300), || false).unwrap_err().0;
        assert!(why.starts_with("script did not answer within 0 s; it printed nothing"), "{why}");
        let sleeper = fs::read_to_string(&note).expect("the script ran").trim().to_string();
        drop(server);
        let gone = || fs::read_to_string(format!("/proc/{sleeper}/stat")).map_or(true, |stat| stat.contains(") Z "));
        let begun = Instant::now();
        while !gone() {
            assert!(begun.elapsed() < Duration::from_secs(10), "the server's child is still running");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn what_a_program_prints_comes_back_when_it_is_done_in_time() {
        let (_folder, workspace) = workspace();
        assert_eq!(shell(&workspace, "echo 12").finish(Duration::from_secs(10)).unwrap(), "12\n");
        let why = shell(&workspace, "echo half; sleep 600").finish(Duration::from_millis(200)).unwrap_err().0;
        assert_eq!(why, "script was not done after 0 s; it said: half");
    }
}
