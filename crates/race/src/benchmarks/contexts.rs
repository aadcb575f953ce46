//! The contexts of a benchmark: threads, or forked processes.

use crate::load_error::LoadError;
use goodness_core::choices;
use goodness_sys::forked::Forked;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::io::{PipeWriter, Read, Write};

choices! {
    /// Kind of context: processes with an address space each, or threads sharing one.
    pub enum Contexts { Processes = "processes", Threads = "threads" }
}

/// Work of one context; returns its counts.
pub(super) type Body<'a> = Box<dyn FnOnce() -> Result<Vec<u64>, LoadError> + Send + 'a>;

/// Stack of a thread: the work is small, and there may be thousands.
const STACK: usize = 128 * 1024;

/// Runs all `bodies` concurrently to their ends, and `meanwhile` beside them. Returns their counts in no particular
/// order.
///
/// # Errors
/// Contexts cannot be created, or an error of one of them.
pub(super) fn run(
    contexts: Contexts,
    bodies: Vec<Body<'_>>,
    meanwhile: impl FnOnce() -> Result<(), LoadError>,
) -> Result<Vec<Vec<u64>>, LoadError> {
    match contexts {
        Contexts::Threads => threads(bodies, meanwhile),
        Contexts::Processes => processes(bodies, meanwhile),
    }
}

fn threads(
    bodies: Vec<Body<'_>>,
    meanwhile: impl FnOnce() -> Result<(), LoadError>,
) -> Result<Vec<Vec<u64>>, LoadError> {
    std::thread::scope(|scope| {
        let started: Result<Vec<_>, _> = bodies
            .into_iter()
            .map(|body| std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, body))
            .collect();
        // Those that were started wait for one that could not be: no scope would ever end.
        let started = started.unwrap_or_else(|why| give_up(&format!("a thread could not be made: {why}")));
        meanwhile().unwrap_or_else(|why| give_up(&why.0));
        let ended = started.into_iter().map(|thread| thread.join().unwrap_or_else(|_| give_up("a thread panicked")));
        ended.collect()
    })
}

/// Exits this process, whose contexts wait for each other and could not end otherwise.
fn give_up(why: &str) -> ! {
    eprintln!("error: {why}");
    std::process::exit(1)
}

fn processes(
    bodies: Vec<Body<'_>>,
    meanwhile: impl FnOnce() -> Result<(), LoadError>,
) -> Result<Vec<Vec<u64>>, LoadError> {
    let failed = |what: &str, why: std::io::Error| LoadError(format!("{what}: {why}"));
    let (mut results, report) = std::io::pipe().map_err(|why| failed("a pipe could not be made", why))?;
    let mut children = Vec::with_capacity(bodies.len());
    for body in bodies {
        let child = Forked::run(|| write(body, &report));
        children.push(child.map_err(|why| failed("a process could not be made", why))?);
    }
    drop(report);
    meanwhile()?;
    // It ends when the last child does.
    let mut text = String::new();
    results.read_to_string(&mut text).map_err(|why| failed("the processes' results could not be read", why))?;
    for child in children {
        if !child.wait().map_err(|why| failed("a process could not be waited for", why))? {
            return Err(LoadError("a process of the benchmark failed".into()));
        }
    }
    text.lines().map(counts).collect()
}

/// Writes one line, short enough for an atomic write.
fn write(body: Body<'_>, mut report: &PipeWriter) {
    let counts = body().unwrap_or_else(|why| panic!("{why}"));
    let words: Vec<String> = counts.iter().map(u64::to_string).collect();
    report.write_all(format!("{}\n", words.join(" ")).as_bytes()).unwrap_or_else(|why| panic!("no results: {why}"));
}

fn counts(line: &str) -> Result<Vec<u64>, LoadError> {
    let read: Result<Vec<u64>, _> = line.split_whitespace().map(str::parse).collect();
    read.map_err(|_| LoadError(format!("a process of the benchmark reported \"{line}\"")))
}

/// Raises this process's limit of open files to the maximum.
pub(super) fn allow_many_files() {
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
}
