//! Opening a pipe that nobody writes to waits for ever, and so does a terminal: after a second the program says for
//! what it waits.

use std::io::IsTerminal;
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// How long nothing is said.
const QUIET: Duration = Duration::from_secs(1);

/// While it lives, the program waits for input; if that takes long, standard error says so. Dropped in time, it says
/// nothing.
pub struct Patience {
    _alive: Option<Sender<()>>,
}

impl Patience {
    /// For the opening of `path`; `-` is standard input. Ordinary files are always there, so they need none.
    pub fn with(path: &str) -> Patience {
        let Some(sentence) = sentence(path) else { return Patience { _alive: None } };
        let (alive, ended) = channel::<()>();
        std::thread::spawn(move || {
            if ended.recv_timeout(QUIET) == Err(RecvTimeoutError::Timeout) {
                eprintln!("{sentence}");
            }
        });
        Patience { _alive: Some(alive) }
    }
}

fn sentence(path: &str) -> Option<String> {
    if path == "-" {
        return Some(match std::io::stdin().is_terminal() {
            true => "reading a trace from the terminal; give a file instead, or end it with Ctrl-D".into(),
            false => "waiting for a trace on standard input; Ctrl-C gives up".into(),
        });
    }
    let found = std::fs::metadata(Path::new(path)).ok()?;
    let waits = !found.is_file() && !found.is_dir();
    waits.then(|| format!("waiting for someone to write to {path}, which is no ordinary file; Ctrl-C gives up"))
}
