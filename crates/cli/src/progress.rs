//! Progress on long work, on a terminal only.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A bar over `steps` steps that shows what it counts; hidden when stderr is not a terminal.
pub fn bar(steps: u64, what: &'static str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(steps), ProgressDrawTarget::stderr_with_hz(10));
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
    let counter = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(10));
    if let Ok(style) = ProgressStyle::with_template("{msg} {spinner} {pos} simulations {elapsed}") {
        counter.set_style(style);
    }
    counter.set_message(what);
    counter
}
