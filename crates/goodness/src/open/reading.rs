//! The bytes of a file or of standard input on their way to a reader: counted and told, and hashed where asked.

use super::text::hexadecimal;
use crate::progress::{Progress, Watch};
use crate::refusal::Refusal;
use sha2::{Digest, Sha256};
use std::cell::RefCell;
use std::fs::File;
use std::io::{self, Read};
use std::rc::Rc;

/// Bytes between two messages. A choice: 60 times as much text where the file is compressed is read within 1 s.
const BETWEEN_MESSAGES: u64 = 1 << 20;

/// What was read, shared by the reader and the one who asked for it.
#[derive(Clone, Default)]
pub(crate) struct Seen(Rc<RefCell<State>>);

#[derive(Default)]
struct State {
    read: u64,
    told: u64,
    hash: Option<Sha256>,
    is_cancelled: bool,
}

impl Seen {
    /// Hashes the bytes, too.
    pub(crate) fn hashing() -> Seen {
        Seen(Rc::new(RefCell::new(State { hash: Some(Sha256::new()), ..State::default() })))
    }

    /// Takes the hash of all bytes read, in hexadecimal.
    pub(crate) fn hash(&self) -> Option<String> {
        self.0.borrow_mut().hash.take().map(|hash| hexadecimal(&hash.finalize()))
    }

    /// Refuses what was read if the watcher cancelled it.
    ///
    /// # Errors
    /// It was cancelled.
    pub(crate) fn check(&self) -> Result<(), Refusal> {
        if self.0.borrow().is_cancelled { Err(Refusal::cancelled()) } else { Ok(()) }
    }
}

/// A source whose bytes are told to a watcher.
pub(crate) struct Reading<'a> {
    name: String,
    source: Box<dyn Read + 'a>,
    /// Size of the file, if it is one.
    of: Option<u64>,
    seen: Seen,
    watch: &'a Watch<'a>,
}

impl<'a> Reading<'a> {
    /// Reads the ordinary file `file`, called `name`.
    ///
    /// # Errors
    /// A file whose size cannot be had.
    pub(crate) fn file(name: &str, file: File, seen: Seen, watch: &'a Watch<'a>) -> io::Result<Reading<'a>> {
        let found = file.metadata()?;
        let of = found.is_file().then_some(found.len());
        Ok(Reading { name: name.into(), source: Box::new(file), of, seen, watch })
    }

    /// Reads `source`, called `name`, whose size is not known.
    pub(crate) fn stream(name: &str, source: impl Read + 'a, seen: Seen, watch: &'a Watch<'a>) -> Reading<'a> {
        Reading { name: name.into(), source: Box::new(source), of: None, seen, watch }
    }
}

impl Read for Reading<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let mut state = self.seen.0.borrow_mut();
        if state.is_cancelled {
            return Err(io::Error::other("it was cancelled"));
        }
        let read = self.source.read(into)?;
        state.read += read as u64;
        if let Some(hash) = &mut state.hash {
            hash.update(&into[..read]);
        }
        if state.read - state.told >= BETWEEN_MESSAGES {
            state.told = state.read;
            let progress = Progress::Reading { path: &self.name, read: state.read, of: self.of };
            state.is_cancelled = (self.watch)(progress).is_break();
        }
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::super::text::sha256;
    use super::*;
    use std::ops::ControlFlow;
    use std::sync::Mutex;

    const SIZE: usize = 5 << 20;

    #[test]
    fn a_file_is_told_as_it_is_read_and_hashed_on_the_way() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("big");
        let bytes: Vec<u8> = (0..SIZE as u32).map(|n| (n % 251) as u8).collect();
        std::fs::write(&path, &bytes).expect("it is written");
        let told = Mutex::new(Vec::new());
        let watch = |progress: Progress| {
            if let Progress::Reading { read, of, .. } = progress {
                told.lock().expect("one thread").push((read, of));
            }
            ControlFlow::Continue(())
        };
        let seen = Seen::hashing();
        let file = File::open(&path).expect("it is there");
        let mut reading = Reading::file("big", file, seen.clone(), &watch).expect("a file");
        io::copy(&mut reading, &mut io::sink()).expect("it is read");
        let told = told.lock().expect("one thread");
        assert!(told.len() >= 4 && told.is_sorted(), "{told:?}");
        assert!(told.iter().all(|(_, of)| *of == Some(SIZE as u64)));
        assert_eq!(seen.hash(), Some(sha256(&bytes)));
        assert!(seen.check().is_ok());
    }

    #[test]
    fn a_watcher_that_breaks_ends_the_reading() {
        let bytes = vec![7; SIZE];
        let watch = |_: Progress| ControlFlow::Break(());
        let seen = Seen::default();
        let mut reading = Reading::stream("-", &bytes[..], seen.clone(), &watch);
        assert!(io::copy(&mut reading, &mut io::sink()).is_err());
        assert!(seen.check().is_err() && seen.0.borrow().read < 2 * BETWEEN_MESSAGES);
    }
}
