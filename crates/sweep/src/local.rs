//! Computes the missing cells of a folder on this machine's cores.

use crate::cell::Cell;
use crate::compute::{Computer, Finished};
use crate::folder::Folder;
use goodness::Refusal;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// Longest time that a computed cell waits for its acknowledgement. A choice: a sync to disk takes some milliseconds.
const GATHERING: Duration = Duration::from_millis(200);

/// Computes all missing cells in their order. `tell` gets the number done and the number to do, and may end it; what
/// was computed until then is kept.
///
/// # Errors
/// A file cannot be written; it was ended.
pub fn run(folder: &mut Folder, tell: &mut dyn FnMut(usize, usize) -> ControlFlow<()>) -> Result<(), Refusal> {
    let (cells, missing) = (folder.cells(), folder.missing());
    let (next, is_over) = (AtomicUsize::new(0), AtomicBool::new(false));
    let threads = rayon::current_num_threads().max(1);
    std::thread::scope(|scope| {
        let (done, results) = channel();
        for _ in 0..threads {
            let (done, cells, missing, next, is_over) = (done.clone(), &cells, &missing, &next, &is_over);
            scope.spawn(move || {
                let mut computer = Computer::default();
                while !is_over.load(Ordering::Relaxed) {
                    let Some(place) = missing.get(next.fetch_add(1, Ordering::Relaxed)) else { break };
                    if done.send(computer.compute(&cells.all[*place])).is_err() {
                        break;
                    }
                }
            });
        }
        drop(done);
        let taken = take(folder, &results, missing.len(), tell);
        is_over.store(true, Ordering::Relaxed);
        taken
    })
}

/// Journals results as they come, many at a time.
fn take(
    folder: &mut Folder,
    results: &Receiver<Finished>,
    of: usize,
    tell: &mut dyn FnMut(usize, usize) -> ControlFlow<()>,
) -> Result<(), Refusal> {
    let (mut count, mut is_open) = (0, true);
    while is_open {
        let (mut gathered, began) = (Vec::new(), Instant::now());
        while began.elapsed() < GATHERING {
            match results.recv_timeout(GATHERING) {
                Ok(finished) => gathered.push(finished),
                Err(RecvTimeoutError::Timeout) => break,
                Err(RecvTimeoutError::Disconnected) => {
                    is_open = false;
                    break;
                }
            }
        }
        count += gathered.len();
        if !gathered.is_empty() {
            folder.accept(gathered)?;
        }
        if is_open && tell(count, of).is_break() {
            return Err(Refusal::cancelled());
        }
    }
    Ok(())
}

/// Time that a cell takes on one core: the median of up to `most` missing cells, evenly taken.
#[must_use]
pub fn time_of_a_cell<'a>(missing: impl ExactSizeIterator<Item = &'a Cell>, most: usize) -> Option<Duration> {
    let step = missing.len().div_ceil(most.max(1)).max(1);
    let mut computer = Computer::default();
    let mut times: Vec<Duration> = missing
        .step_by(step)
        .map(|cell| {
            let began = Instant::now();
            computer.compute(cell);
            began.elapsed()
        })
        .collect();
    times.sort_unstable();
    times.get(times.len() / 2).copied()
}
