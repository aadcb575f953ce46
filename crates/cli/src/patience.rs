//! A message for inputs that block: opening a pipe without a writer, or reading a terminal, may wait forever. After a
//! second the program tells what it waits for.

use std::io::IsTerminal;
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// Delay of the message.
const QUIET: Duration = Duration::from_secs(1);

/// Speaks on standard error while it lives, once it has lived long. Drop it when there is nothing to wait for.
pub struct Patience {
    _alive: Option<Sender<()>>,
}

impl Patience {
    /// Reports if opening `path` takes long; `-` is standard input. Ordinary files never do.
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
