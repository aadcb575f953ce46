//! Shows the library's progress on standard error.

use crate::patience::Patience;
use crate::progress;
use goodness::{Furthest, Progress, read_so_far};
use indicatif::ProgressBar;
use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Time between two looks at a simulation under way; told are many more.
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);

/// Contents of the terminal; empty until something takes long.
#[derive(Default)]
struct Shown {
    bar: Option<ProgressBar>,
    looked: Option<Instant>,
    /// The furthest simulation that has not ended.
    furthest: Furthest,
    /// Time at which reading a file began; its bar is replaced by that of simulations.
    reading: Option<Instant>,
    patience: Option<Patience>,
}

/// Shows progress until it is dropped, for the library's calls: a bar for simulations, or a line every ten seconds, and
/// a message when a pipe blocks.
pub fn watch() -> impl Fn(Progress) -> ControlFlow<()> + Sync {
    progress::start_lines();
    let shown = Mutex::<Shown>::default();
    move |progress: Progress| {
        shown.lock().unwrap_or_else(PoisonError::into_inner).tell(progress);
        ControlFlow::Continue(())
    }
}

impl Shown {
    /// Handles a progress message.
    fn tell(&mut self, progress: Progress) {
        match progress {
            Progress::Opening(path) => self.patience = Some(Patience::with(path)),
            Progress::Opened => {
                self.patience = None;
                if self.reading.is_some() && self.bar.is_some() {
                    self.says("recovering the work".into());
                }
            }
            Progress::Reading { path, read, of } => self.reads(path, read, of),
            // A tuning shows its own.
            Progress::Raced { .. } => {}
            Progress::Simulating { .. } | Progress::Simulated { .. } => {
                self.furthest.takes(progress);
                if self.furthest.is_done() {
                    self.clear();
                } else if self.looked.is_none_or(|at| at.elapsed() >= BETWEEN_LOOKS) {
                    self.looked = Some(Instant::now());
                    self.goes_on();
                }
            }
        }
    }

    /// Shows how far a file is read, once that takes long.
    fn reads(&mut self, path: &str, read: u64, of: Option<u64>) {
        self.patience = None;
        let begun = *self.reading.get_or_insert_with(Instant::now);
        let is_due = self.looked.is_none_or(|at| at.elapsed() >= BETWEEN_LOOKS);
        if begun.elapsed() >= BETWEEN_LOOKS && is_due {
            self.looked = Some(Instant::now());
            self.bar.get_or_insert_with(|| progress::long(of.unwrap_or(0))).set_position(read);
            self.says(read_so_far(path, read, of, begun.elapsed()));
        }
    }

    /// Shows how far the simulations are.
    fn goes_on(&mut self) {
        if self.reading.take().is_some() {
            self.clear();
        }
        let bar = self.bar.get_or_insert_with(|| progress::long(self.furthest.parts()));
        bar.set_position(bar.position().max(self.furthest.part()));
        self.says(self.furthest.to_string());
    }

    /// Says `said` beside the bar.
    fn says(&mut self, said: String) {
        if let Some(bar) = &self.bar {
            bar.set_message(said);
        }
    }

    /// Clears the bar from the terminal, if it was shown.
    fn clear(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}

impl Drop for Shown {
    fn drop(&mut self) {
        self.clear();
    }
}
