//! Shows the library's progress on standard error.

use crate::patience::Patience;
use crate::progress;
use goodness::Progress;
use goodness_core::Time;
use goodness_report::figure;
use indicatif::ProgressBar;
use std::ops::ControlFlow;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Time between two lines where standard error is not a terminal.
const BETWEEN_LINES: Duration = Duration::from_secs(10);
/// Time between two looks at a simulation under way; told are many more.
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);
/// Parts of a simulation on the bar.
const PARTS: u64 = 1000;

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

/// A simulation under way.
#[derive(Clone, Copy, Default)]
struct Furthest {
    /// Simulations that had ended.
    done: u64,
    at: Time,
    end: Option<Time>,
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
            Progress::Simulating { .. } if shown.looked.is_some_and(|at| at.elapsed() < BETWEEN_LOOKS) => {}
            Progress::Simulating { done, of, at, end } => {
                shown.looked = Some(Instant::now());
                shown.goes_on(done, of, at, end);
            }
            Progress::Simulated { done, of } => {
                let bar = shown.bar.get_or_insert_with(|| progress::simulations(of * PARTS));
                bar.set_position(bar.position().max(done * PARTS));
                bar.set_message(format!("simulated {done}/{of}"));
                if done == of {
                    shown.clear();
                }
            }
        }
        ControlFlow::Continue(())
    }
}

impl Shown {
    /// Shows how far the simulations are, of which one is at `at`.
    fn goes_on(&mut self, done: u64, of: u64, at: Time, end: Option<Time>) {
        if done != self.furthest.done || at >= self.furthest.at {
            self.furthest = Furthest { done, at, end };
        }
        let said = self.furthest.said(of);
        let part = self.furthest.part();
        let bar = self.bar.get_or_insert_with(|| progress::simulations(of * PARTS));
        bar.set_position(bar.position().max(done * PARTS + part));
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

impl Furthest {
    /// `simulated 3/10; the next is at 1.25 s of 10 s`.
    fn said(self, of: u64) -> String {
        let [at, end] = [Some(self.at), self.end].map(|time| time.map(|it| figure::show(Some(it.ns() as f64), "ns")));
        let end = end.map_or_else(String::new, |end| format!(" of {end}"));
        format!("simulated {}/{of}; the next is at {}{end}", self.done, at.unwrap_or_default())
    }

    /// Its share that is done, in [`PARTS`].
    fn part(self) -> u64 {
        let Some(end) = self.end.filter(|end| end.ns() > 0) else { return 0 };
        (self.at.ns() as f64 / end.ns() as f64 * PARTS as f64) as u64
    }
}

impl Drop for Shown {
    fn drop(&mut self) {
        self.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_furthest_simulation_is_said_and_a_new_one_begins_again() {
        let mut shown = Shown::default();
        let at = |s: u64| Time(s * 1_000_000_000);
        shown.goes_on(0, 10, at(3), Some(at(10)));
        shown.goes_on(0, 10, at(2), Some(at(10)));
        assert_eq!(shown.furthest.said(10), "simulated 0/10; the next is at 3 s of 10 s");
        assert_eq!(shown.bar.as_ref().unwrap().position(), 300);
        shown.goes_on(1, 10, at(1), None);
        assert_eq!(shown.furthest.said(10), "simulated 1/10; the next is at 1 s");
        assert_eq!(shown.bar.as_ref().unwrap().position(), 1000);
    }
}
