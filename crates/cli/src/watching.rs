//! Shows the library's progress on standard error.

use crate::patience::Patience;
use crate::progress;
use goodness::Progress;
use indicatif::ProgressBar;
use std::ops::ControlFlow;
use std::sync::Mutex;

/// Shows the library's progress: a bar for simulations, and a message when a pipe blocks.
struct Watching(Mutex<Shown>);

/// Contents of the terminal; empty until something takes long.
#[derive(Default)]
struct Shown {
    bar: Option<ProgressBar>,
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
            Progress::Simulated { done, of } => {
                let bar = shown.bar.get_or_insert_with(|| progress::bar(of, "simulating"));
                bar.inc(1);
                if done == of {
                    shown.clear();
                }
            }
        }
        ControlFlow::Continue(())
    }
}

impl Shown {
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
