//! Shows the library's progress on standard error.

use crate::patience::Patience;
use crate::progress;
use goodness::{Furthest, Progress};
use indicatif::ProgressBar;
use std::ops::ControlFlow;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Time between two lines where standard error is not a terminal.
const BETWEEN_LINES: Duration = Duration::from_secs(10);
/// Time between two looks at a simulation under way; told are many more.
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);

/// Shows the library's progress: a bar for simulations, or a line every ten seconds, and a message when a pipe blocks.
struct Watching(Mutex<Shown>);

/// Contents of the terminal; empty until something takes long.
#[derive(Default)]
struct Shown {
    bar: Option<ProgressBar>,
    looked: Option<Instant>,
    /// Lines, where the bar is hidden.
    lines: Option<Lines>,
    /// The furthest simulation that has not ended.
    furthest: Furthest,
    patience: Option<Patience>,
}

/// Shows progress until it is dropped, for the library's calls.
pub fn watch() -> impl Fn(Progress) -> ControlFlow<()> + Sync {
    let watching = Watching(Mutex::default());
    move |progress: Progress| watching.tell(progress)
}

impl Watching {
    /// Handles a progress message.
    fn tell(&self, progress: Progress) -> ControlFlow<()> {
        let mut shown = self.0.lock().unwrap_or_else(|it| it.into_inner());
        match progress {
            Progress::Opening(path) => shown.patience = Some(Patience::with(path)),
            Progress::Opened => shown.patience = None,
            // A tuning shows its own.
            Progress::Raced { .. } => {}
            Progress::Simulating { .. } | Progress::Simulated { .. } => {
                shown.furthest.takes(progress);
                if shown.furthest.is_done() {
                    shown.clear();
                } else if shown.looked.is_none_or(|at| at.elapsed() >= BETWEEN_LOOKS) {
                    shown.looked = Some(Instant::now());
                    shown.goes_on();
                }
            }
        }
        ControlFlow::Continue(())
    }
}

impl Shown {
    /// Shows how far the simulations are.
    fn goes_on(&mut self) {
        let said = self.furthest.to_string();
        let bar = self.bar.get_or_insert_with(|| progress::simulations(self.furthest.parts()));
        bar.set_position(bar.position().max(self.furthest.part()));
        if bar.is_hidden() {
            self.lines.get_or_insert_with(Lines::begin).say(said);
        } else {
            bar.set_message(said);
        }
    }

    /// Clears the bar from the terminal, if it was shown.
    fn clear(&mut self) {
        self.lines = None;
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}

/// A line every ten seconds, also while nothing is told, until it is dropped.
struct Lines {
    said: Arc<Mutex<String>>,
    _alive: Sender<()>,
}

impl Lines {
    fn begin() -> Lines {
        let (alive, ended) = channel::<()>();
        let said = Arc::new(Mutex::new(String::new()));
        let line = Arc::clone(&said);
        std::thread::spawn(move || {
            while ended.recv_timeout(BETWEEN_LINES) == Err(RecvTimeoutError::Timeout) {
                progress::line(&line.lock().unwrap_or_else(|it| it.into_inner()));
            }
        });
        Lines { said, _alive: alive }
    }

    /// The text of the next line.
    fn say(&self, said: String) {
        *self.said.lock().unwrap_or_else(|it| it.into_inner()) = said;
    }
}

impl Drop for Shown {
    fn drop(&mut self) {
        self.clear();
    }
}
