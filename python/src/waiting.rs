//! Work of the library while Python goes on: the interpreter is free for other threads, and Ctrl-C ends the wait.

use crate::error::exception;
use goodness::{Progress, Refusal, Watch, threads};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Time between two looks for signals.
const LOOK: Duration = Duration::from_millis(50);
/// Time that cancelled work has to end. What takes longer, such as reading a file, ends by itself, unobserved.
const GRACE: Duration = Duration::from_millis(200);

/// Wish to end the work: of the caller, or of a part of the work.
#[derive(Clone, Default)]
pub struct Cancel(Arc<Wish>);

#[derive(Default)]
struct Wish {
    is_wished: AtomicBool,
    /// The exception of the part of the work that wished it first.
    raised: Mutex<Option<PyErr>>,
}

impl Cancel {
    /// Takes the wish back: new work begins.
    fn renew(&self) {
        self.raised();
        self.0.is_wished.store(false, Ordering::Relaxed);
    }

    /// Wishes it.
    fn wish(&self) {
        self.0.is_wished.store(true, Ordering::Relaxed);
    }

    /// Ends a part of the work with an exception, and wishes the rest to end.
    pub fn fail(&self, error: PyErr) -> ! {
        self.0.raised.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        self.wish();
        self.end()
    }

    /// Ends a part of the work as it is wished.
    pub fn end(&self) -> ! {
        resume_unwind(Box::new(Ended))
    }

    /// Takes the first exception of the work.
    fn raised(&self) -> Option<PyErr> {
        self.0.raised.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// True if it is wished.
    pub fn is_wished(&self) -> bool {
        self.0.is_wished.load(Ordering::Relaxed)
    }

    fn watch(&self, _: Progress) -> ControlFlow<()> {
        if self.is_wished() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// The end of a part of the work, on its way through threads.
struct Ended;

/// Runs `work` on the simulation threads and waits for it. `input` opens the work, for errors.
pub fn run<T: Send + 'static>(
    py: Python,
    input: &str,
    cancel: Cancel,
    work: impl FnOnce(&Watch) -> Result<T, Refusal> + Send + 'static,
) -> PyResult<T> {
    let pool = pool().map_err(|refusal| exception(&refusal, None))?;
    let (tell, told) = channel();
    cancel.renew();
    let (cancelled, watching) = (cancel.clone(), cancel);
    let work = move || pool.install(|| work(&|progress| watching.watch(progress)));
    let thread = std::thread::Builder::new().name("goodness".into()).spawn(move || {
        let _ = tell.send(catch_unwind(AssertUnwindSafe(work)));
    });
    thread.map_err(|why| exception(&Refusal::failed(format!("a thread cannot be started: {why}")), None))?;
    let mut told = told;
    loop {
        let (back, result) = py.detach(move || wait(told, LOOK));
        told = back;
        match result {
            Ok(Ok(Ok(result))) => return Ok(result),
            // Parts that end because another one raised an exception say that they were cancelled.
            Ok(Ok(Err(refusal))) => {
                return Err(cancelled.raised().unwrap_or_else(|| exception(&refusal, Some(input))));
            }
            Ok(Err(panic)) if panic.is::<Ended>() => {
                let interrupt = || PyKeyboardInterrupt::new_err("the work was cancelled");
                return Err(cancelled.raised().unwrap_or_else(interrupt));
            }
            Ok(Err(panic)) => resume_unwind(panic),
            Err(RecvTimeoutError::Disconnected) => unreachable!("the thread tells how it ended"),
            Err(RecvTimeoutError::Timeout) => {
                if let Err(interrupt) = py.check_signals() {
                    cancelled.wish();
                    let _ = py.detach(move || wait(told, GRACE));
                    return Err(interrupt);
                }
            }
        }
    }
}

fn wait<T>(told: Receiver<T>, most: Duration) -> (Receiver<T>, Result<T, RecvTimeoutError>) {
    let result = told.recv_timeout(most);
    (told, result)
}

/// The simulation threads of this process. A forked process has none of its parent's, and starts its own.
fn pool() -> Result<Arc<threads::Pool>, Refusal> {
    static POOL: Mutex<Option<(u32, Arc<threads::Pool>)>> = Mutex::new(None);
    let mut pool = POOL.lock().unwrap_or_else(PoisonError::into_inner);
    let own = std::process::id();
    match &*pool {
        Some((process, pool)) if *process == own => Ok(Arc::clone(pool)),
        _ => {
            let made = Arc::new(threads::pool()?);
            // The parent's threads do not exist here: waiting for their end would never end.
            std::mem::forget(pool.replace((own, Arc::clone(&made))));
            Ok(made)
        }
    }
}
