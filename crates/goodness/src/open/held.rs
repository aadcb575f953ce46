//! An input that may be a trace of scheduling or of block I/O.

use super::memory;
use super::no_such_input;
use super::text::hash_of;
use crate::progress::{Progress, Watch};
use crate::refusal::{Refusal, See};
use crate::shipped;
use goodness_trace::block::{BlockTrace, open_block, read_block};
use goodness_trace::{Excerpt, Input as Bytes, Recording, TraceError, load_excerpt};
use std::io::Read;
use std::path::{Path, PathBuf};

/// A trace that cannot be used, as callers meet it.
pub(super) fn refusal(why: &TraceError) -> Refusal {
    let refusal = Refusal::usage(why.to_string());
    if matches!(why, TraceError::NotATrace { .. }) { refusal.see(See::Formats) } else { refusal }
}

/// Bytes of a pipe read to recognise a trace. A choice: far more than the readers inspect.
const HEAD: u64 = 1 << 20;

/// A trace that can be read again and again.
pub(super) struct Held {
    pub(super) name: String,
    /// Contents of an input that can be read only once: standard input or a pipe.
    bytes: Option<Vec<u8>>,
}

impl Held {
    /// Opens the trace called `text`: a file, a folder, standard input (`-`), or a recording shipped with the program.
    ///
    /// # Errors
    /// There is none of that name, or a pipe that cannot be read.
    pub(super) fn of(text: &str, watch: &Watch) -> Result<Held, Refusal> {
        let name = text.to_string();
        if let Some(shipped) = shipped::find(text) {
            return Ok(Held { name, bytes: Some(shipped.bytes.to_vec()) });
        }
        let path = Path::new(text);
        if text != "-" && matches!(path.try_exists(), Ok(false)) {
            return Err(no_such_input(text));
        }
        if text != "-" && (path.is_file() || path.is_dir()) {
            return Ok(Held { name, bytes: None });
        }
        let _ = watch(Progress::Opening(text));
        let held = Held::of_pipe(text);
        let _ = watch(Progress::Opened);
        held
    }

    /// Reads an input that can be read only once.
    fn of_pipe(text: &str) -> Result<Held, Refusal> {
        let cannot = |why: std::io::Error| Refusal::usage(format!("{text} cannot be read: {why}"));
        let mut source: Box<dyn Read> = match text {
            "-" => Box::new(std::io::stdin()),
            _ => Box::new(std::fs::File::open(text).map_err(cannot)?),
        };
        let mut head = Vec::new();
        source.by_ref().take(HEAD).read_to_end(&mut head).map_err(cannot)?;
        let mut held = Held { name: text.into(), bytes: Some(head) };
        // Input that is no trace may be endless.
        let is_trace =
            !matches!(held.recording(Excerpt::WHOLE), Err(TraceError::NotATrace { .. })) || held.block().is_ok();
        if let Some(bytes) = held.bytes.as_mut().filter(|_| is_trace) {
            source.read_to_end(bytes).map_err(cannot)?;
        }
        Ok(held)
    }

    fn input<'a>(&self, bytes: &'a [u8]) -> Result<Bytes<'a>, TraceError> {
        Bytes::bytes(&self.name, bytes).map_err(|source| TraceError::Open { path: self.name.clone(), source })
    }

    /// Reads `window` of it as a recording of scheduling.
    ///
    /// # Errors
    /// It is none.
    pub(super) fn recording(&self, window: Excerpt) -> Result<Recording, TraceError> {
        let input = match &self.bytes {
            Some(bytes) => self.input(bytes),
            None => Bytes::open(Path::new(&self.name)),
        };
        load_excerpt(input?, window)
    }

    /// Refuses a recording whose events in `window` would need more memory than is free.
    ///
    /// # Errors
    /// It is too large.
    pub(super) fn fits(&self, window: Excerpt) -> Result<(), Refusal> {
        match self.bytes {
            Some(_) => Ok(()),
            None => memory::check(Path::new(&self.name), window, memory::free()),
        }
    }

    /// Reads it as a trace of block I/O.
    ///
    /// # Errors
    /// It is none.
    pub(super) fn block(&self) -> Result<BlockTrace<'_>, TraceError> {
        match &self.bytes {
            Some(bytes) => read_block(vec![self.input(bytes)?]),
            None => open_block(&[PathBuf::from(&self.name)]),
        }
    }

    /// Its hash; `None` for a pipe.
    pub(super) fn hash(&self) -> Option<String> {
        match &self.bytes {
            Some(_) => None,
            None => std::fs::File::open(&self.name).and_then(hash_of).ok(),
        }
    }
}
