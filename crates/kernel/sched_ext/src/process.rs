//! A live run in a process of its own, for a caller whose own threads the policy schedules.
//!
//! The daemon must not share memory with the threads that it schedules. Its page fault may need a lock of the address
//! space, and one of them may hold that lock while it waits for the daemon. The daemon may also be killed (`watchdog`),
//! and the caller has to report that. See docs/decisions/0017-live-runs-in-a-second-process.md.
//!
//! [`LiveProcess`] is the caller's side, [`serve`] the process's. The caller sends [`Options`]. The process answers
//! with the [`Status`] once the policy is loaded, and with the [`Outcome`] or the error at the end. A message is a line
//! of JSON that carries the version of the protocol.

use super::error::LiveError;
use super::options::Options;
use super::outcome::{End, Outcome, Status};
use goodness_sys::{self as sys, Running};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// Exit code for bad usage.
const USAGE: u8 = 2;
/// Version of the protocol. It grows with each change of a message.
const VERSION: u32 = 1;
/// Longest message read: far above the size for ten thousand tasks.
const MESSAGE_MAX: u64 = 16 << 20;
/// Time between the end of a process's output and its own.
const ENDING: Duration = Duration::from_secs(1);

/// Command that starts a program that calls [`serve`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launcher {
    /// The program's file.
    pub program: PathBuf,
    /// The words that make it call [`serve`].
    pub words: Vec<OsString>,
}

impl Launcher {
    /// The running program, if it is `goodness`: its hidden command `live daemon` calls [`serve`].
    ///
    /// # Errors
    /// The system cannot name this program.
    pub fn of_this_program() -> Result<Launcher, LiveError> {
        let words = sys::program::words();
        let words = words.map_err(|source| LiveError::System { what: "finding this program's file", source })?;
        let mut words = words.into_iter().chain(["live", "daemon"].map(OsString::from));
        Ok(Launcher { program: words.next().unwrap_or_default().into(), words: words.collect() })
    }
}

/// A message and the version it was written in.
#[derive(Serialize, Deserialize)]
struct Versioned<T> {
    version: u32,
    message: T,
}

/// An answer of the process.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Answer {
    /// The policy is loaded.
    Begun(Status),
    /// It ended well.
    Ended(Outcome),
    /// It did not begin, or failed.
    Failed { sentence: String, exit_code: u8 },
}

/// Writes a message as a line.
fn send<T: Serialize>(message: &T, mut to: impl Write) -> io::Result<()> {
    let mut line = serde_json::to_vec(&Versioned { version: VERSION, message })?;
    line.push(b'\n');
    to.write_all(&line)?;
    to.flush()
}

/// Reads a message. `None` if there is no further one.
///
/// # Errors
/// Mistake of the sender, as the rest of a sentence.
fn receive<T: DeserializeOwned>(from: impl BufRead) -> Result<Option<T>, String> {
    let mut line = String::new();
    from.take(MESSAGE_MAX).read_line(&mut line).map_err(|why| format!("cannot be heard: {why}"))?;
    if line.is_empty() {
        return Ok(None);
    }
    let unreadable = |why: serde_json::Error| format!("sent a message that cannot be read: {why}");
    let Versioned { version, message } =
        serde_json::from_str::<Versioned<serde_json::Value>>(&line).map_err(unreadable)?;
    if version != VERSION {
        return Err(format!(
            "speaks version {version} of the messages and this one version {VERSION}: the program was replaced \
             meanwhile; start it again"
        ));
    }
    serde_json::from_value(message).map(Some).map_err(unreadable)
}

/// A policy at work in another process. Dropping it ends the process.
#[derive(Debug)]
pub struct LiveProcess {
    process: Running,
    answers: BufReader<ChildStdout>,
    status: Status,
}

impl LiveProcess {
    /// Starts the process and returns when it has loaded the policy.
    ///
    /// # Errors
    /// Those of [`super::live`], and a process that cannot be started or ends without an answer.
    pub fn begin(launcher: &Launcher, options: &Options) -> Result<LiveProcess, LiveError> {
        let failed = |source| LiveError::System { what: "starting the process of the policy", source };
        let mut command = Command::new(&launcher.program);
        command.args(&launcher.words).stdin(Stdio::piped()).stdout(Stdio::piped());
        sys::end_with_parent(&mut command);
        let mut child = command.spawn().map_err(failed)?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let process = Running::of(child);
        let (input, output) = pipes.ok_or_else(|| failed(io::ErrorKind::BrokenPipe.into()))?;
        // A process that does not read its input ends soon; the missing answer is the error then.
        let _ = send(options, input);
        let mut answers = BufReader::new(output);
        match receive(&mut answers).map_err(|why| LiveError::Process { why })? {
            Some(Answer::Begun(status)) => Ok(LiveProcess { process, answers, status }),
            Some(Answer::Ended(_)) => Err(unasked()),
            Some(Answer::Failed { sentence, exit_code }) => Err(LiveError::Reported { sentence, exit_code }),
            None => Err(silent(process)),
        }
    }

    /// Status when the policy was loaded.
    #[must_use]
    pub fn status(&self) -> &Status {
        &self.status
    }

    /// Ends the run and returns its outcome. The policy has decided all the time until then.
    ///
    /// # Errors
    /// The policy failed or was stopped before, or the process was killed.
    pub fn end(mut self) -> Result<Outcome, LiveError> {
        let is_early = self.process.has_ended();
        sys::process::ask_to_end(self.process.pid());
        match receive(&mut self.answers).map_err(|why| LiveError::Process { why })? {
            Some(Answer::Ended(outcome)) if outcome.end == End::Signal(ASKED) && !is_early => Ok(outcome),
            Some(Answer::Ended(_) | Answer::Begun(_)) => Err(unasked()),
            Some(Answer::Failed { sentence, exit_code }) => Err(LiveError::Reported { sentence, exit_code }),
            None => Err(silent(self.process)),
        }
    }
}

/// The signal of [`sys::process::ask_to_end`].
const ASKED: i32 = libc::SIGTERM;

/// The error of a run that ended before it was asked to.
fn unasked() -> LiveError {
    LiveError::Process { why: "was stopped before the end, by `goodness live stop` or a signal; start it again".into() }
}

/// The process ended without its last message.
fn silent(process: Running) -> LiveError {
    let closed = Instant::now();
    while !process.has_ended() && closed.elapsed() < ENDING {
        std::thread::sleep(Duration::from_millis(1));
    }
    let how = match process.finish() {
        Some(sys::Exit::Signal(signal)) => format!("was killed by signal {signal}"),
        Some(sys::Exit::Code(code)) => format!("ended with exit code {code} and no result"),
        None => "closed its output and went on".into(),
    };
    LiveError::Process { why: format!("{how}; the kernel's own scheduler has taken over. Start it again") }
}

/// The process's side: runs live as the message on standard input says, and answers on standard output.
///
/// # Errors
/// No message for it on standard input.
pub fn serve() -> Result<(), LiveError> {
    serve_with(io::stdin().lock(), io::stdout(), super::live)
}

fn serve_with(
    input: impl BufRead,
    mut output: impl Write,
    live: impl FnOnce(&Options, &mut dyn FnMut(&Status)) -> Result<Outcome, LiveError>,
) -> Result<(), LiveError> {
    let none = || "sent no options: `goodness conform --live` starts this command, people use `goodness live`".into();
    let asked = receive::<Options>(input).and_then(|options| options.ok_or_else(none));
    let asked = asked.map_err(|why| LiveError::Reported { sentence: format!("the caller {why}"), exit_code: USAGE });
    let answer = match &asked {
        // If the message cannot be written, the caller has ended, and this process ends with it.
        Ok(options) => match live(options, &mut |status| drop(send(&Answer::Begun(status.clone()), &mut output))) {
            Ok(outcome) => Answer::Ended(outcome),
            Err(why) => failed(&why),
        },
        Err(why) => failed(why),
    };
    let _ = send(&answer, &mut output);
    asked.map(|_| ())
}

fn failed(why: &LiveError) -> Answer {
    Answer::Failed { sentence: why.to_string(), exit_code: why.exit_code() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status() -> Status {
        Status {
            policy: "rr".into(),
            settings: vec![("timeslice".into(), "20ms".into())],
            daemon: 7,
            daemon_cpu: 0,
            cpus: vec![1, 2],
            elapsed_ns: 3,
            decisions: 4,
            events: 5,
            decision_latency: None,
            outdated: 0,
            strays: 0,
            tasks: Vec::new(),
        }
    }

    fn line<T: Serialize>(message: &T) -> String {
        let mut bytes = Vec::new();
        send(message, &mut bytes).expect("memory");
        String::from_utf8(bytes).expect("JSON")
    }

    /// A process that answers with `lines` and then does `last`, whether it is asked to end or not.
    fn process(lines: &[String], last: &str) -> Launcher {
        let script = format!("trap '' TERM\nread -r options\ncat <<'EOF'\n{}EOF\n{last}", lines.concat());
        Launcher { program: "/bin/sh".into(), words: vec!["-c".into(), script.into()] }
    }

    fn begin(lines: &[String], last: &str) -> Result<LiveProcess, LiveError> {
        LiveProcess::begin(&process(lines, last), &Options::default())
    }

    #[test]
    fn options_status_and_outcome_survive_the_way_through_the_process() {
        let options = Options {
            settings: vec![("timeslice".into(), "20ms".into())],
            cpus: Some(vec![1, 2]),
            duration: Some(std::time::Duration::from_millis(5)),
            command: vec!["a b".into()],
            ..Options::default()
        };
        let mut answers = Vec::new();
        let served = serve_with(line(&options).as_bytes(), &mut answers, |got, begun| {
            assert_eq!(got, &options);
            begun(&status());
            Ok(Outcome { end: End::Signal(ASKED), status: status() })
        });
        served.expect("it was asked to");
        let mut answers = answers.as_slice();
        assert_eq!(receive(&mut answers), Ok(Some(Answer::Begun(status()))));
        let outcome = Outcome { end: End::Signal(ASKED), status: status() };
        assert_eq!(receive(&mut answers), Ok(Some(Answer::Ended(outcome))));
        assert_eq!(receive::<Answer>(&mut answers), Ok(None));
    }

    #[test]
    fn a_run_ends_when_it_is_asked_to_and_returns_its_outcome() {
        let outcome = Outcome { end: End::Signal(ASKED), status: status() };
        let ends = format!("trap 'echo \"$last\"; exit' TERM\nlast='{}'\n", line(&Answer::Ended(outcome)).trim());
        let lines = [line(&Answer::Begun(status()))];
        let script = format!("{ends}read -r options\ncat <<'EOF'\n{}EOF\nwhile :; do sleep 0.01; done", lines.concat());
        let launcher = Launcher { program: "/bin/sh".into(), words: vec!["-c".into(), script.into()] };
        let live = LiveProcess::begin(&launcher, &Options::default()).expect("it answers");
        assert_eq!(live.status(), &status());
        assert_eq!(live.end().expect("it ends").end, End::Signal(ASKED));
    }

    #[test]
    fn a_failed_a_stopped_and_a_killed_run_are_errors() {
        let failed = Answer::Failed { sentence: "no root".into(), exit_code: 2 };
        let refused = begin(&[line(&failed)], "").unwrap_err();
        assert_eq!((refused.to_string().as_str(), refused.exit_code()), ("no root", 2));
        let begun = line(&Answer::Begun(status()));
        let stopped = line(&Answer::Ended(Outcome { end: End::Stopped, status: status() }));
        let of = |lines: &[String], last| begin(lines, last).expect("it begins").end().unwrap_err().to_string();
        assert!(of(&[begun.clone(), stopped], "").contains("stopped before the end"));
        assert_eq!(of(&[begun.clone(), line(&failed)], ""), "no root");
        let killed = of(&[begun], "kill -KILL $$");
        assert!(killed.contains("was killed by signal 9; the kernel's own scheduler"), "{killed}");
        assert!(begin(&[], "exit 3").unwrap_err().to_string().contains("exit code 3"));
    }

    #[test]
    fn another_version_and_what_is_no_message_are_refused() {
        let newer = line(&Answer::Begun(status())).replace("\"version\":1", "\"version\":2");
        let refused = begin(&[newer], "").unwrap_err().to_string();
        assert!(refused.contains("version 2 of the messages and this one version 1"), "{refused}");
        assert!(begin(&["hello\n".into()], "").unwrap_err().to_string().contains("cannot be read"));
        let never = |_: &Options, _: &mut dyn FnMut(&Status)| panic!("it was not asked to");
        let mut answers = Vec::new();
        let refused = serve_with(&b""[..], &mut answers, never).unwrap_err();
        assert!(refused.to_string().contains("goodness conform --live"), "{refused}");
        assert!(matches!(receive(answers.as_slice()), Ok(Some(Answer::Failed { .. }))));
    }

    #[test]
    fn a_program_that_does_not_exist_is_an_error() {
        let launcher = Launcher { program: "/does/not/exist".into(), words: Vec::new() };
        assert!(LiveProcess::begin(&launcher, &Options::default()).is_err());
    }
}
