//! Progress on long work: bars on a terminal, and now and then a line elsewhere.

use goodness_core::Time;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::sync::atomic::{AtomicBool, Ordering};

/// True if no progress is shown.
static SILENT: AtomicBool = AtomicBool::new(false);

/// Shows no progress from here on.
pub fn silence() {
    SILENT.store(true, Ordering::Relaxed);
}

/// True if bars can be seen.
pub fn is_shown() -> bool {
    !target(1).is_hidden()
}

/// Prints a line where there is no terminal, unless nothing is to be shown.
pub fn line(text: &str) {
    if !SILENT.load(Ordering::Relaxed) {
        eprintln!("{text}");
    }
}

/// How far a simulation is, and how many simulated seconds pass in one.
pub fn simulated(now: Time, until: Option<Time>, pace: f64) -> String {
    let seconds = |at: Time| at.ns() as f64 / 1e9;
    let of = until.map_or(String::new(), |until| format!(" of {:.1} s", seconds(until)));
    format!("simulating: {:.1} s{of}, {pace:.2} s a second", seconds(now))
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
