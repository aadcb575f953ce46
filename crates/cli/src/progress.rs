//! Progress on long work.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// True if no progress is shown.
static SILENT: AtomicBool = AtomicBool::new(false);

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

/// A bar over `steps` steps that shows what it counts; hidden when stderr is not a terminal.
pub fn bar(steps: u64, what: &'static str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(steps), target(10));
    let style = ProgressStyle::with_template("{msg} [{bar:30}] {pos}/{len} {elapsed}, about {eta} left")
        .map(|style| style.progress_chars("=> "));
    if let Ok(style) = style {
        bar.set_style(style);
    }
    bar.set_message(what);
    bar
}

/// A bar over `parts` of a file or of simulations, whose message says how far they are.
pub fn long(parts: u64) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(parts), target(10));
    let style = ProgressStyle::with_template("{msg} [{bar:12}] {elapsed}, about {eta} left")
        .map(|style| style.progress_chars("=> "));
    if let Ok(style) = style {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_secs(1));
    bar
}

/// A line about long work, where standard error is not a terminal.
pub fn line(said: &str) {
    if !SILENT.load(Ordering::Relaxed) {
        eprintln!("{said}");
    }
}

/// As [`bar`], with the rate.
#[cfg(feature = "tables")]
pub fn rate(steps: u64, what: &'static str) -> ProgressBar {
    let bar = bar(steps, what);
    let style = ProgressStyle::with_template("{msg} [{bar:30}] {pos}/{len} {per_sec}, about {eta} left")
        .map(|style| style.progress_chars("=> "));
    if let Ok(style) = style {
        bar.set_style(style);
    }
    bar
}

/// A progress counter of simulations without a known total.
pub fn counter(what: String) -> ProgressBar {
    let counter = ProgressBar::with_draw_target(None, target(10));
    if let Ok(style) = ProgressStyle::with_template("{msg} {spinner} {pos} simulations {elapsed}") {
        counter.set_style(style);
    }
    counter.set_message(what);
    counter
}
