//! Shows the library's progress on standard error.

use crate::patience::Patience;
use crate::progress;
use goodness::Progress;
use goodness_core::Time;
use indicatif::ProgressBar;
use std::ops::ControlFlow;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Shows the library's progress: a bar for simulations, and a message when a pipe blocks.
struct Watching(Mutex<Shown>);

/// Contents of the terminal; empty until something takes long.
#[derive(Default)]
struct Shown {
    bar: Option<ProgressBar>,
    patience: Option<Patience>,
    /// Simulations in all; 0 until the first is done.
    of: u64,
    pace: Option<Pace>,
}

/// Delay of the first message about a simulation.
const QUIET: Duration = Duration::from_secs(2);
/// Silence after which a simulation has ended.
const SILENCE: Duration = Duration::from_secs(1);
/// Time between lines where there is no terminal.
const BETWEEN_LINES: Duration = Duration::from_secs(10);

/// How fast a simulation goes on.
struct Pace {
    simulation: u64,
    began: Instant,
    from: Time,
    heard: Instant,
    line: Instant,
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
            Progress::Advanced { simulation, now, until } => shown.advanced(simulation, now, until),
            Progress::Simulated { done, of } => {
                shown.of = of;
                let bar = shown.bar.get_or_insert_with(|| progress::bar(of, "simulating"));
                bar.set_length(of);
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
    /// Shows how far a simulation is that takes long. Of several at a time, the one that began first.
    fn advanced(&mut self, simulation: u64, now: Time, until: Option<Time>) {
        let fresh =
            || Pace { simulation, began: Instant::now(), from: now, heard: Instant::now(), line: Instant::now() };
        let pace = self.pace.get_or_insert_with(fresh);
        if pace.simulation != simulation {
            // One that has not been heard of for long has ended.
            if pace.simulation > simulation || pace.heard.elapsed() > SILENCE {
                *pace = Pace { line: pace.line, ..fresh() };
            }
            return;
        }
        pace.heard = Instant::now();
        let elapsed = pace.began.elapsed();
        if elapsed < QUIET {
            return;
        }
        let text = progress::simulated(now, until, now.since(pace.from).ns() as f64 / elapsed.as_nanos() as f64);
        if progress::is_shown() {
            let of = self.of.max(1);
            self.bar.get_or_insert_with(|| progress::bar(of, "simulating")).set_message(text);
        } else if pace.line.elapsed() >= BETWEEN_LINES {
            pace.line = Instant::now();
            progress::line(&text);
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
