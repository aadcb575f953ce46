//! An input that may be a trace of scheduling or of block I/O.

use super::memory;
use super::no_such_input;
use super::reading::{Reading, Seen};
use super::text::hash_of;
use crate::progress::{Progress, Watch};
use crate::refusal::{Refusal, See};
use crate::shipped;
use goodness_trace::block::{BlockTrace, open_block, read_block};
use goodness_trace::{
    Excerpt, Input as Bytes, Record, Recording, TraceError, TraceFacts, load_excerpt, read_pieces, read_sample,
};
use std::cell::RefCell;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// A trace that cannot be used, as callers meet it.
pub(super) fn refusal(why: &TraceError) -> Refusal {
    let refusal = Refusal::usage(why.to_string());
    if matches!(why, TraceError::NotATrace { .. }) { refusal.see(See::Formats) } else { refusal }
}

/// Bytes of a pipe read to recognise a trace. A choice: far more than the readers inspect.
const HEAD: u64 = 1 << 20;

/// Events of a long recording. A choice: held in memory, they are 350 MB for `why`.
const LONG: u64 = 5_000_000;

/// A trace that can be read again and again.
pub(crate) struct Held {
    pub(super) name: String,
    /// Contents of an input that can be read only once: standard input or a pipe.
    bytes: Option<Vec<u8>>,
    /// Hash of the file as far as it was read as a recording.
    hashed: RefCell<Option<String>>,
}

impl Held {
    /// Opens the trace called `text`: a file, a folder, standard input (`-`), or a recording shipped with the program.
    ///
    /// # Errors
    /// There is none of that name, or a pipe that cannot be read.
    pub(crate) fn of(text: &str, watch: &Watch) -> Result<Held, Refusal> {
        let name = text.to_string();
        if let Some(shipped) = shipped::find(text) {
            return Ok(Held { bytes: Some(shipped.bytes.to_vec()), ..Held::file(name) });
        }
        let path = Path::new(text);
        if text != "-" && matches!(path.try_exists(), Ok(false)) {
            return Err(no_such_input(text));
        }
        if text != "-" && (path.is_file() || path.is_dir()) {
            return Ok(Held::file(name));
        }
        let _ = watch(Progress::Opening(text));
        let held = Held::of_pipe(text, watch);
        let _ = watch(Progress::Opened);
        held
    }

    fn file(name: String) -> Held {
        Held { name, bytes: None, hashed: RefCell::default() }
    }

    /// Reads an input that can be read only once.
    fn of_pipe(text: &str, watch: &Watch) -> Result<Held, Refusal> {
        let cannot = |why: std::io::Error| Refusal::usage(format!("{text} cannot be read: {why}"));
        let seen = Seen::default();
        let mut source = match text {
            "-" => Reading::stream(text, io::stdin(), seen.clone(), watch),
            _ => Reading::stream(text, File::open(text).map_err(cannot)?, seen.clone(), watch),
        };
        let mut head = Vec::new();
        source.by_ref().take(HEAD).read_to_end(&mut head).map_err(cannot)?;
        let mut held = Held { bytes: Some(head), ..Held::file(text.into()) };
        // Input that is no trace may be endless.
        let is_trace = !matches!(held.recording(Excerpt::WHOLE, watch)?, Err(TraceError::NotATrace { .. }))
            || held.block().is_ok();
        if let Some(bytes) = held.bytes.as_mut().filter(|_| is_trace) {
            let read = source.read_to_end(bytes);
            seen.check()?;
            read.map_err(cannot)?;
        }
        Ok(held)
    }

    fn input<'a>(&self, bytes: &'a [u8]) -> Result<Bytes<'a>, TraceError> {
        Bytes::bytes(&self.name, bytes).map_err(|source| TraceError::Open { path: self.name.clone(), source })
    }

    /// Reads `window` of it as a recording of scheduling: a file once, up to the window's end.
    ///
    /// # Errors
    /// It is none. It was cancelled.
    pub(super) fn recording(&self, window: Excerpt, watch: &Watch) -> Result<Result<Recording, TraceError>, Refusal> {
        if let Some(bytes) = &self.bytes {
            return Ok(self.input(bytes).and_then(|input| load_excerpt(input, window)));
        }
        let seen = Seen::hashing();
        let found = self.read(window, &seen, watch);
        seen.check()?;
        if found.is_ok() {
            *self.hashed.borrow_mut() = seen.hash();
        }
        let _ = watch(Progress::Opened);
        Ok(found)
    }

    /// Reads `window` of the file.
    fn read(&self, window: Excerpt, seen: &Seen, watch: &Watch) -> Result<Recording, TraceError> {
        let cannot = |source| TraceError::Open { path: self.name.clone(), source };
        let file = File::open(&self.name).map_err(cannot)?;
        let mut reading = Reading::file(&self.name, file, seen.clone(), watch).map_err(cannot)?;
        let input = Bytes::reader(&self.name, &mut reading).map_err(cannot)?;
        let found = load_excerpt(input, window)?;
        if window == Excerpt::WHOLE {
            // Readers leave what follows the end of a compressed stream; the file's hash covers it.
            io::copy(&mut reading, &mut io::sink()).map_err(cannot)?;
        }
        Ok(found)
    }

    /// True if `window` of it is a recording so long that it should be read in pieces.
    pub(crate) fn is_long(&self, window: Excerpt) -> bool {
        self.bytes.is_none() && memory::events(Path::new(&self.name), window).is_some_and(|events| events > LONG)
    }

    /// Reads a sample of `window` of the file as a recording of scheduling.
    ///
    /// # Errors
    /// It is none. It was cancelled.
    pub(crate) fn sample(&self, window: Excerpt, piece: usize, watch: &Watch) -> Result<Recording, Refusal> {
        self.in_pieces("its tasks", watch, |input| read_sample(input, window, piece))
    }

    /// Reads `window` of the file as a recording of scheduling, a piece at a time, which the watcher is told that it is
    /// for `what`.
    ///
    /// # Errors
    /// It is none. It was cancelled.
    pub(crate) fn pieces(
        &self,
        (window, piece): (Excerpt, usize),
        what: &str,
        watch: &Watch,
        each: impl FnMut(&[Record]),
    ) -> Result<TraceFacts, Refusal> {
        self.in_pieces(what, watch, |input| read_pieces(input, window, piece, each))
    }

    fn in_pieces<T>(
        &self,
        what: &str,
        watch: &Watch,
        read: impl FnOnce(Bytes) -> Result<T, TraceError>,
    ) -> Result<T, Refusal> {
        let cannot = |source| refusal(&TraceError::Open { path: self.name.clone(), source });
        let seen = Seen::default();
        let file = File::open(&self.name).map_err(cannot)?;
        let told = format!("{}, for {what}", self.name);
        let mut reading = Reading::file(&told, file, seen.clone(), watch).map_err(cannot)?;
        let found = Bytes::reader(&self.name, &mut reading).map_err(cannot).map(read)?;
        seen.check()?;
        let _ = watch(Progress::Opened);
        found.map_err(|why| refusal(&why))
    }

    /// Refuses a recording whose events in `window` would need more memory than is free.
    ///
    /// # Errors
    /// It is too large.
    pub(super) fn fits(&self, window: Excerpt) -> Result<(), Refusal> {
        match self.bytes {
            Some(_) => Ok(()),
            None => memory::check(Path::new(&self.name), window, crate::memory::free()),
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

    /// Its hash, of a window that of the file's bytes up to its end; `None` for a pipe.
    pub(super) fn hash(&self) -> Option<String> {
        match (&self.bytes, &*self.hashed.borrow()) {
            (Some(_), _) => None,
            (None, Some(hashed)) => Some(hashed.clone()),
            (None, None) => File::open(&self.name).and_then(hash_of).ok(),
        }
    }
}
