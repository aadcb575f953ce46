//! Number of parallel simulations: one per core, or `RAYON_NUM_THREADS`, within limits. For programs; a caller with a
//! thread pool of its own needs none of it.

use crate::refusal::Refusal;
use std::num::NonZero;

/// Threads for simulations.
pub use rayon::ThreadPool as Pool;

/// The variable that rayon reads.
const VARIABLE: &str = "RAYON_NUM_THREADS";

/// Most threads per core. A choice: more are never faster.
const PER_CORE: usize = 8;

/// Number accepted on any machine, so that a script for a large one runs on a small one.
const ALWAYS_ACCEPTED: usize = 64;

/// Starts the simulation threads. Results do not depend on their number.
///
/// # Errors
/// The variable is not a number or too large, or threads cannot be created; a sentence.
pub fn prepare() -> Result<(), Refusal> {
    let threads = asked()?;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
    pool.build_global().map_err(|error| cannot_start(threads, &error))
}

/// Simulation threads of the caller's own, as many as [`prepare`] starts: for a program that is a part of another one,
/// whose threads it leaves alone.
///
/// # Errors
/// As [`prepare`].
pub fn pool() -> Result<Pool, Refusal> {
    let threads = asked()?;
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().map_err(|error| cannot_start(threads, &error))
}

/// The number of threads to start.
fn asked() -> Result<usize, Refusal> {
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    let asked = std::env::var_os(VARIABLE).map(|text| text.to_string_lossy().into_owned());
    wanted(asked.as_deref(), cores).map_err(Refusal::usage)
}

fn cannot_start(threads: usize, error: &rayon::ThreadPoolBuildError) -> Refusal {
    Refusal::failed(format!("{threads} threads cannot be started: {error}; set {VARIABLE} to a smaller number"))
}

/// The requested number; one per core for 0 or no request, as in rayon.
fn wanted(asked: Option<&str>, cores: usize) -> Result<usize, String> {
    let Some(text) = asked.filter(|text| !text.is_empty()) else { return Ok(cores) };
    let most = (cores * PER_CORE).max(ALWAYS_ACCEPTED);
    match text.parse::<usize>() {
        Ok(0) => Ok(cores),
        Ok(number) if number <= most => Ok(number),
        _ => Err(format!(
            "{VARIABLE}={text}: a whole number in 0 ..= {most} is needed on these {cores} cores; unset it for one \
             thread a core"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_a_thread_for_each_core_unless_another_number_is_asked_for() {
        for (asked, expected) in [(None, 2), (Some(""), 2), (Some("0"), 2), (Some("1"), 1), (Some("64"), 64)] {
            assert_eq!(wanted(asked, 2), Ok(expected), "{asked:?}");
        }
        assert_eq!(wanted(Some("512"), 64), Ok(512));
    }

    #[test]
    fn numbers_no_machine_could_use_and_what_is_no_number_are_refused() {
        for (asked, cores) in [("65", 2), ("513", 64), ("100000", 2), ("-1", 2), ("four", 2), ("4.0", 2)] {
            let sentence = wanted(Some(asked), cores).unwrap_err();
            assert!(sentence.starts_with(&format!("RAYON_NUM_THREADS={asked}: ")), "{sentence}");
        }
    }
}
