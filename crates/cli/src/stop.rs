//! Ctrl-C: the first asks the work to end, so that what is known can be told; a later one ends the program.

use crate::failure::Failure;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

/// Time after which a wish that has not stopped the work is answered.
const QUIET: Duration = Duration::from_millis(700);

static IS_WISHED: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);
/// True once another signal ends the program. Not at once: `timeout` sends each twice.
static ENDS: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// From now on the first SIGINT or SIGTERM is a wish to stop; one that comes later ends the program, as without this.
///
/// # Errors
/// The signals cannot be caught.
pub fn heed() -> Result<(), Failure> {
    let caught = [SIGINT, SIGTERM].into_iter().try_for_each(|signal| {
        flag::register_conditional_default(signal, Arc::clone(&ENDS))?;
        flag::register(signal, Arc::clone(&IS_WISHED)).map(drop)
    });
    caught.map_err(|why| Failure::other(format!("signals cannot be caught: {why}")))?;
    std::thread::spawn(answer);
    Ok(())
}

/// Says that the wish was heard, where the work takes long to end.
fn answer() {
    while !is_wished() {
        std::thread::sleep(QUIET / 10);
    }
    std::thread::sleep(QUIET);
    ENDS.store(true, Ordering::Relaxed);
    eprintln!("stopping; Ctrl-C again ends at once");
}

/// True once it is wished.
pub fn is_wished() -> bool {
    IS_WISHED.load(Ordering::Relaxed)
}

/// `Break` once it is wished, for the library's watches.
pub fn flow() -> ControlFlow<()> {
    if is_wished() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}
