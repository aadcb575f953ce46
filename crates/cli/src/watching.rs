//! Shows the library's progress on standard error.

use crate::patience::Patience;
use crate::progress;
use goodness::{Furthest, Progress};
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
            Progress::Opened => self.patience = None,
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

    /// Shows how far the simulations are.
    fn goes_on(&mut self) {
        let bar = self.bar.get_or_insert_with(|| progress::simulations(self.furthest.parts()));
        bar.set_position(bar.position().max(self.furthest.part()));
        bar.set_message(self.furthest.to_string());
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
