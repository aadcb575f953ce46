//! hackbench: groups of senders and receivers exchange small messages through pipes or sockets.
//!
//! All start together once ready; every sender writes `loops` messages to every receiver of its group.
//! `completion_time` is the time from the start to the last end, as printed by hackbench.

use super::contexts::{self, Body, Contexts};
use super::now;
use crate::load_error::LoadError;
use crate::measure::{Better, Measure};
use goodness_core::{choices, tunables};
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;

choices! {
    /// Transport of the messages.
    pub enum Transport { Socket = "socket", Pipe = "pipe" }
}

tunables! {
    /// Settings of the benchmark.
    pub struct Settings {
        /// Groups of senders and receivers.
        groups: u64 = 10, in 1 => 100;
        /// Senders of a group, and as many receivers.
        fds: u64 = 20, in 1 => 100;
        /// Messages a sender writes to each receiver.
        loops: u64 = 100, in 1 => 1_000_000;
        /// Bytes of a message.
        bytes: u64 = 100, in 1 => 4096;
        /// Pipes or sockets.
        transport: Transport = Transport::Socket;
        /// Processes or threads.
        contexts: Contexts = Contexts::Processes;
    }
}

/// Both ends of the channel to one receiver.
enum Line {
    Pipe(PipeReader, PipeWriter),
    Socket(UnixStream, UnixStream),
}

impl Line {
    fn new(transport: Transport) -> io::Result<Line> {
        match transport {
            Transport::Pipe => io::pipe().map(|(from, into)| Line::Pipe(from, into)),
            Transport::Socket => UnixStream::pair().map(|(from, into)| Line::Socket(from, into)),
        }
    }

    fn receive(&self, message: &mut [u8]) -> io::Result<()> {
        match self {
            Line::Pipe(from, _) => (&mut &*from).read_exact(message),
            Line::Socket(from, _) => (&mut &*from).read_exact(message),
        }
    }

    fn send(&self, message: &[u8]) -> io::Result<()> {
        match self {
            Line::Pipe(_, into) => (&mut &*into).write_all(message),
            Line::Socket(_, into) => (&mut &*into).write_all(message),
        }
    }
}

/// A barrier that also works across processes.
struct Gate {
    ready: (PipeReader, PipeWriter),
    go: (PipeReader, PipeWriter),
}

impl Gate {
    fn new() -> io::Result<Gate> {
        Ok(Gate { ready: io::pipe()?, go: io::pipe()? })
    }

    fn pass(&self) -> io::Result<()> {
        (&mut &self.ready.1).write_all(&[1])?;
        (&mut &self.go.0).read_exact(&mut [0])
    }

    /// Waits for `members` and releases them. Returns the time.
    fn open(&self, members: u64) -> io::Result<u64> {
        let mut bytes = vec![0; members as usize];
        (&mut &self.ready.0).read_exact(&mut bytes)?;
        let begun = now();
        (&mut &self.go.1).write_all(&bytes)?;
        Ok(begun)
    }
}

/// Runs the benchmark.
///
/// # Errors
/// Contexts, pipes or sockets cannot be created.
pub fn run(settings: &Settings) -> Result<Vec<Measure>, LoadError> {
    contexts::allow_many_files();
    let failed =
        |why: io::Error| LoadError(format!("the messages of hackbench: {why}; fewer groups or fds need fewer files"));
    let gate = Gate::new().map_err(failed)?;
    let mut bodies = Vec::new();
    for _ in 0..settings.groups {
        bodies.extend(group(settings, &gate).map_err(failed)?);
    }
    let members = bodies.len() as u64;
    let mut begun = 0;
    contexts::run(settings.contexts, bodies, || {
        begun = gate.open(members).map_err(failed)?;
        Ok(())
    })?;
    let time = (now() - begun) as f64;
    let messages = settings.groups * settings.fds * settings.fds * settings.loops;
    Ok(vec![
        Measure::new("completion_time", "ns", Better::Lower, time),
        Measure::new("throughput", "1/s", Better::Higher, messages as f64 * 1e9 / time),
    ])
}

/// The members of one group.
fn group<'a>(settings: &Settings, gate: &'a Gate) -> io::Result<Vec<Body<'a>>> {
    let lines: io::Result<Vec<Line>> = (0..settings.fds).map(|_| Line::new(settings.transport)).collect();
    let lines = Arc::new(lines?);
    let (fds, loops, bytes) = (settings.fds as usize, settings.loops, settings.bytes as usize);
    let mut bodies: Vec<Body<'a>> = Vec::new();
    for receiver in 0..fds {
        let lines = Arc::clone(&lines);
        bodies.push(Box::new(move || {
            let mut message = vec![0; bytes];
            let all = (0..fds as u64 * loops).map(|_| lines[receiver].receive(&mut message));
            ended(gate.pass().and_then(|()| { all }.collect()))
        }));
    }
    for _ in 0..fds {
        let lines = Arc::clone(&lines);
        bodies.push(Box::new(move || {
            let message = vec![1; bytes];
            let all = (0..loops).flat_map(|_| lines.iter()).map(|line| line.send(&message));
            ended(gate.pass().and_then(|()| { all }.collect()))
        }));
    }
    Ok(bodies)
}

fn ended(how: io::Result<()>) -> Result<Vec<u64>, LoadError> {
    how.map(|()| Vec::new()).map_err(|why| LoadError(format!("a member of hackbench failed: {why}")))
}
