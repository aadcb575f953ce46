//! Handles signals during a race: stops everything, restores all settings, then exits. A second signal exits at once,
//! and the guard restores.

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::{Handle, Signals};
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

/// Listens while it lives.
#[derive(Debug)]
pub struct Interrupt {
    came: Arc<AtomicI32>,
    running: Arc<Mutex<Vec<PathBuf>>>,
    handle: Handle,
    thread: Option<JoinHandle<()>>,
}

impl Interrupt {
    /// Catches SIGINT, SIGTERM and SIGHUP from now on.
    ///
    /// # Errors
    /// The handlers cannot be installed.
    pub fn listen() -> std::io::Result<Interrupt> {
        let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
        let handle = signals.handle();
        let (came, running) = (Arc::new(AtomicI32::new(0)), Arc::new(Mutex::new(Vec::new())));
        let (heard, groups) = (Arc::clone(&came), Arc::clone(&running));
        let listen = move || {
            for signal in signals.forever() {
                if heard.swap(signal, Ordering::SeqCst) != 0 {
                    let _ = signal_hook::low_level::emulate_default_handler(signal);
                }
                stop(&groups);
            }
        };
        let thread = Some(std::thread::spawn(listen));
        Ok(Interrupt { came, running, handle, thread })
    }

    /// The signal that arrived, if any.
    #[must_use]
    pub fn signal(&self) -> Option<i32> {
        Some(self.came.load(Ordering::SeqCst)).filter(|signal| *signal != 0)
    }

    /// Stops everything in `groups` when a signal arrives, or at once if one has arrived.
    pub fn watch(&self, groups: Vec<PathBuf>) {
        *self.running.lock().unwrap_or_else(PoisonError::into_inner) = groups;
        if self.signal().is_some() {
            stop(&self.running);
        }
    }
}

/// Stops the groups; waits for processes that cannot be killed at once.
fn stop(groups: &Mutex<Vec<PathBuf>>) {
    for group in groups.lock().unwrap_or_else(PoisonError::into_inner).iter() {
        let _ = fs::write(group.join("cgroup.kill"), "1");
    }
}

impl Drop for Interrupt {
    fn drop(&mut self) {
        self.handle.close();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
