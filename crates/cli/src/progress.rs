//! Progress on long work.

use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use std::fmt::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, Once, PoisonError};
use std::time::{Duration, Instant};

/// True if no progress is shown.
static SILENT: AtomicBool = AtomicBool::new(false);
/// Time between two lines where standard error is not a terminal.
const BETWEEN_LINES: Duration = Duration::from_secs(10);

/// A bar, and the line that says the same.
type Lined = (ProgressBar, fn(&ProgressBar) -> String);
/// The latest bar.
static LATEST: Mutex<Option<Lined>> = Mutex::new(None);

/// Starts the lines of long work: one every ten seconds to the program's end, where bars are hidden.
pub fn start_lines() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let start = Instant::now();
        std::thread::spawn(move || {
            loop {
                std::thread::sleep(BETWEEN_LINES);
                line(start.elapsed());
            }
        });
    });
}

/// Prints how far long work is.
fn line(elapsed: Duration) {
    if SILENT.load(Ordering::Relaxed) || console::user_attended_stderr() {
        return;
    }
    let latest = LATEST.lock().unwrap_or_else(PoisonError::into_inner);
    let shown = latest.as_ref().filter(|(bar, _)| !bar.is_finished()).map(|(bar, line)| line(bar));
    let seconds = elapsed.as_secs();
    match shown.filter(|it| !it.is_empty()) {
        Some(shown) => eprintln!("{shown}, {seconds} s so far"),
        None => eprintln!("working, {seconds} s so far"),
    }
}

/// Has the lines say what `bar` shows.
fn lined(bar: ProgressBar, line: fn(&ProgressBar) -> String) -> ProgressBar {
    start_lines();
    *LATEST.lock().unwrap_or_else(PoisonError::into_inner) = Some((bar.clone(), line));
    bar
}

/// Shows no progress from here on.
pub fn silence() {
    SILENT.store(true, Ordering::Relaxed);
}

/// Where progress is drawn, `hz` times a second.
pub fn target(hz: u8) -> ProgressDrawTarget {
    match SILENT.load(Ordering::Relaxed) {
        true => ProgressDrawTarget::hidden(),
        false => ProgressDrawTarget::stderr_with_hz(hz),
    }
}

/// A bar over `steps`, if their number is known, that looks as `template` says.
fn styled(steps: Option<u64>, template: &str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(steps, target(10));
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style.with_key("left", left).progress_chars("=> "));
    }
    bar
}

/// The estimated time to the end; nothing before a part is done, as where the end is not known.
fn left(bar: &ProgressState, out: &mut dyn Write) {
    if bar.pos() > 0 {
        let _ = write!(out, ", about {} left", HumanDuration(bar.eta()));
    }
}

/// A bar over `steps` steps that shows what it counts.
pub fn bar(steps: u64, what: &'static str) -> ProgressBar {
    let bar = styled(Some(steps), "{msg} [{bar:30}] {pos}/{len} {elapsed}, about {eta} left").with_message(what);
    lined(bar, of_all)
}

/// A bar over `parts` of a file or of simulations, whose message says how far they are.
pub fn long(parts: u64) -> ProgressBar {
    let bar = styled(Some(parts), "{msg} [{bar:12}] {elapsed}{left}");
    bar.enable_steady_tick(Duration::from_secs(1));
    lined(bar, ProgressBar::message)
}

/// As [`bar`], with the rate.
#[cfg(feature = "tables")]
pub fn rate(steps: u64, what: &'static str) -> ProgressBar {
    let bar = styled(Some(steps), "{msg} [{bar:30}] {pos}/{len} {per_sec}, about {eta} left").with_message(what);
    lined(bar, of_all)
}

/// A progress counter of simulations without a known total.
pub fn counter(what: String) -> ProgressBar {
    let counter = styled(None, "{msg} {spinner} {pos} simulations {elapsed}").with_message(what);
    lined(counter, |it| format!("{} {} simulations", it.message(), it.position()))
}

/// A bar of work in phases of unlike length, whose message is the phase.
#[cfg(feature = "live")]
pub fn phases() -> ProgressBar {
    lined(ProgressBar::with_draw_target(Some(0), target(5)), |bar| match bar.length() {
        None | Some(0) => bar.message(),
        Some(_) => of_all(bar),
    })
}

/// Prints a line of progress above `bar`, or alone where no bar is drawn.
#[cfg(feature = "live")]
pub fn above(bar: &ProgressBar, line: impl std::fmt::Display) {
    if !SILENT.load(Ordering::Relaxed) {
        bar.suspend(|| eprintln!("{line}"));
    }
}

/// A bar in words.
fn of_all(bar: &ProgressBar) -> String {
    format!("{} {}/{}", bar.message(), bar.position(), bar.length().unwrap_or(0))
}
