//! Shows the library's progress on standard error.

use crate::patience::Patience;
use crate::{progress, stop};
use goodness::{Account, Progress, Shown};
use indicatif::ProgressBar;
use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};

/// Contents of the terminal; empty until something takes long.
#[derive(Default)]
struct Terminal {
    account: Account,
    bar: Option<ProgressBar>,
    patience: Option<Patience>,
}

/// Shows progress until it is dropped, for the library's calls: a bar, or a line every ten seconds, and a message when
/// a pipe blocks. Cancels once a stop is wished.
pub fn watch() -> impl Fn(Progress) -> ControlFlow<()> + Sync {
    progress::start_lines();
    let terminal = Mutex::<Terminal>::default();
    move |progress: Progress| {
        terminal.lock().unwrap_or_else(PoisonError::into_inner).tell(progress);
        stop::flow()
    }
}

impl Terminal {
    /// Handles a progress message.
    fn tell(&mut self, progress: Progress) {
        match progress {
            Progress::Opening(path) => self.patience = Some(Patience::with(path)),
            Progress::Opened | Progress::Reading { .. } => self.patience = None,
            _ => {}
        }
        match self.account.takes(progress) {
            Shown::AsBefore => {}
            Shown::Nothing => self.clear(),
            Shown::Long { done, of, said } => {
                if self.bar.as_ref().is_some_and(|bar| bar.length() != Some(of)) {
                    self.clear();
                }
                let bar = self.bar.get_or_insert_with(|| progress::long(of));
                bar.set_position(bar.position().max(done));
                bar.set_message(said);
            }
        }
    }

    /// Clears the bar from the terminal, if it was shown.
    fn clear(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.clear();
    }
}
