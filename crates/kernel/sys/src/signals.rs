//! The signals that ask a process to end.

use std::io::{self, Read};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

/// The signals that are heard.
const ENDING: [i32; 3] = [SIGINT, SIGTERM, SIGHUP];

/// Number of listeners.
static LISTENING: Mutex<usize> = Mutex::new(0);
/// True without listeners; signals then have their default meaning. The installed handler cannot be removed, so it
/// checks this flag.
static IDLE: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// Listens for the signals that end a process. Dropping it restores their default action.
#[derive(Debug)]
pub struct Signals {
    heard: Vec<(i32, UnixStream, signal_hook::SigId)>,
}

impl Signals {
    /// Catches SIGINT, SIGTERM and SIGHUP from now on, so that they do not kill the process.
    ///
    /// # Errors
    /// The handlers cannot be installed.
    pub fn listen() -> io::Result<Self> {
        let mut count = LISTENING.lock().unwrap_or_else(PoisonError::into_inner);
        if IDLE.get().is_none() {
            let idle = Arc::new(AtomicBool::new(true));
            for signal in ENDING {
                signal_hook::flag::register_conditional_default(signal, Arc::clone(&idle))?;
            }
            IDLE.get_or_init(|| idle);
        }
        let mut listening = Self { heard: Vec::new() };
        for signal in ENDING {
            let (ours, theirs) = UnixStream::pair()?;
            ours.set_nonblocking(true)?;
            let id = signal_hook::low_level::pipe::register(signal, theirs)?;
            listening.heard.push((signal, ours, id));
        }
        *count += 1;
        set_idle(false);
        Ok(listening)
    }

    /// Descriptors to poll; readable after a signal.
    pub fn descriptors(&self) -> impl Iterator<Item = RawFd> {
        self.heard.iter().map(|(_, stream, _)| stream.as_raw_fd())
    }

    /// The signal that arrived since the last call, if any.
    pub fn take(&mut self) -> Option<i32> {
        let mut came = None;
        for (signal, stream, _) in &mut self.heard {
            if stream.read(&mut [0; 64]).is_ok_and(|length| length > 0) {
                came = came.or(Some(*signal));
            }
        }
        came
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        for (_, _, id) in &self.heard {
            signal_hook::low_level::unregister(*id);
        }
        let mut count = LISTENING.lock().unwrap_or_else(PoisonError::into_inner);
        *count = count.saturating_sub(1);
        set_idle(*count == 0);
    }
}

fn set_idle(idle: bool) {
    if let Some(flag) = IDLE.get() {
        flag.store(idle, Ordering::SeqCst);
    }
}
