//! Undoes this process's changes to the machine, however the process ends.
//!
//! Every change is announced here first. How to undo it is written to a journal on disk and sent to a guard process;
//! only then is the change made. It is undone
//!
//! - when its [`Undo`] is dropped, or the last [`Restore`] is;
//! - by the guard, when this process ends in any other way, SIGKILL included;
//! - by the next command that changes something, or by `goodness doctor --restore`, when the guard was killed too or
//!   the machine was restarted: see [`find`].
//!
//! A resource (a kernel setting, a disk, a cgroup, a trace instance) has one owner at a time: see [`owners`]. A setting
//! that someone else has changed since is left alone and reported: see [`Restore::left_alone`].
//!
//! One journal and one guard serve the whole process. Only objects with our mark are ever removed, and values are
//! written back to kernel files only.

mod action;
mod cgroup;
mod guard;
mod journal;
mod line;
mod owner;
mod stale;
mod tree;
mod undo;

pub use action::Action;
pub use journal::{folder, runtime};
pub use owner::Owner;
pub use stale::{StaleJournal, find, find_in};
pub use undo::MARK;

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use guard::{Guard, ROOM};
use journal::Journal;
use undo::End;

/// Called before each change with its number and action.
type Listener = Box<dyn Fn(u64, &Action) + Send>;

/// The journal and the guard of this process. Clones are the same one.
#[derive(Clone, Debug)]
pub struct Restore {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner(Mutex<State>);

struct State {
    journal: Journal,
    guard: Option<Guard>,
    /// Number and journal line of each change to undo, oldest first.
    live: Vec<(u64, Vec<u8>)>,
    next: u64,
    /// Resources owned until this is dropped.
    owned: Vec<PathBuf>,
    left_alone: Vec<String>,
    listener: Option<Listener>,
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("State").field("journal", &self.journal).field("live", &self.live.len()).finish_non_exhaustive()
    }
}

impl Restore {
    /// The instance of this process, created on first use.
    ///
    /// # Errors
    /// The journal cannot be written, or the guard cannot be started. Then nothing may be changed.
    pub fn of_this_process() -> io::Result<Restore> {
        static CURRENT: Mutex<Weak<Inner>> = Mutex::new(Weak::new());
        let mut current = CURRENT.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(inner) = current.upgrade() {
            return Ok(Restore { inner });
        }
        let restore = Restore::start_in(&folder())?;
        *current = Arc::downgrade(&restore.inner);
        Ok(restore)
    }

    /// A separate instance with its journal in `folder`.
    ///
    /// # Errors
    /// As for [`Restore::of_this_process`].
    pub fn start_in(folder: &Path) -> io::Result<Restore> {
        let mut journal = Journal::make(folder)?;
        let guard = Some(Guard::start(&journal.file, &journal.path)?);
        journal.publish()?;
        let state = State {
            journal,
            guard,
            live: Vec::new(),
            next: 1,
            owned: Vec::new(),
            left_alone: Vec::new(),
            listener: None,
        };
        Ok(Restore { inner: Arc::new(Inner(Mutex::new(state))) })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.inner.state()
    }

    /// Path of the journal.
    #[must_use]
    pub fn journal(&self) -> PathBuf {
        self.state().journal.path.clone()
    }

    /// The process id of the guard.
    #[must_use]
    pub fn guard(&self) -> u32 {
        self.state().guard.as_ref().map_or(0, Guard::id)
    }

    /// Registers `listener`. It is called with the number and action of each change, after the journal entry and before
    /// the change.
    pub fn listen(&self, listener: impl Fn(u64, &Action) + Send + 'static) {
        self.state().listener = Some(Box::new(listener));
    }

    /// Claims `resource` for this process until the last clone of this is dropped. [`Restore::before`] does it for the
    /// resource it changes.
    ///
    /// # Errors
    /// Another process owns it; the error names that process.
    pub fn own(&self, resource: &Path) -> io::Result<()> {
        self.state().own(resource)
    }

    /// Changes not undone because someone else has changed the same setting since, as sentences. Each is returned once.
    #[must_use]
    pub fn left_alone(&self) -> Vec<String> {
        std::mem::take(&mut self.state().left_alone)
    }

    /// Records how to undo a change. Make the change after this returns, and keep the returned value: dropping it
    /// undoes the change.
    ///
    /// # Errors
    /// The journal cannot be written, the guard was killed, or another process owns the resource. Then do not
    /// make the change.
    pub fn before(&self, action: &Action) -> io::Result<Undo> {
        let mut state = self.state();
        if let Some(resource) = action.resource() {
            state.own(&resource)?;
        }
        let number = state.next;
        let line = action.line(number);
        let room: usize = state.live.iter().map(|(_, line)| line.len()).sum();
        if line.len() > libc::PIPE_BUF || room + line.len() + libc::PIPE_BUF > ROOM {
            return Err(io::Error::other("too many changes at one time, or too long a path"));
        }
        state.journal.append(&line)?;
        state.next += 1;
        state.live.push((number, line.clone()));
        let told = match state.guard.as_mut() {
            Some(guard) => guard.tell(&line),
            None => Ok(()),
        };
        if let Err(why) = told {
            state.forget(number);
            return Err(io::Error::new(why.kind(), "the guard process is gone; nothing is changed without it"));
        }
        if let Some(listener) = &state.listener {
            listener(number, action);
        }
        drop(state);
        Ok(Undo { inner: Arc::clone(&self.inner), number: Some(number) })
    }

    /// Writes `value` to a kernel file. Dropping the returned value restores the old one.
    ///
    /// # Errors
    /// The error of reading or writing the file.
    pub fn put(&self, file: &Path, value: &str) -> io::Result<Undo> {
        let mut put = Action::Put { file: file.to_path_buf(), value: String::new(), written: None };
        // Read the value only after claiming ownership: the previous owner may have changed it.
        self.state().own(&put.resource().expect("a file is a resource"))?;
        let old = chosen(&fs::read_to_string(file)?);
        if let Action::Put { value, .. } = &mut put {
            value.clone_from(&old);
        }
        let undo = self.before(&put)?;
        write_at_once(file, value)?;
        // The value as the kernel stores it: 0x10 is read back as 16.
        if let (Some(number), Ok(found)) = (undo.number, fs::read_to_string(file)) {
            let written = Some(chosen(&found));
            self.state().restate(number, &Action::Put { file: file.to_path_buf(), value: old, written })?;
        }
        Ok(undo)
    }
}

/// The selected word of a file such as `none [bfq] kyber` or `voluntary (full)`. The kernel accepts it back without
/// brackets.
#[must_use]
pub fn chosen(text: &str) -> String {
    String::from_utf8_lossy(undo::chosen(text.as_bytes())).into_owned()
}

/// Writes `value` in one call, as kernel files require.
fn write_at_once(file: &Path, value: &str) -> io::Result<()> {
    let mut opened = fs::OpenOptions::new().write(true).truncate(true).open(file)?;
    match opened.write(value.as_bytes())? {
        all if all == value.len() => Ok(()),
        _ => Err(io::Error::other("the kernel took only a part of the value")),
    }
}

impl Inner {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Undoes change `number`; true when it is undone completely.
    fn undo(&mut self, number: u64) -> bool {
        let Some((_, line)) = self.live.iter().find(|(live, _)| *live == number) else { return true };
        let foreign = Action::read(line.trim_ascii_end()).and_then(|(_, action)| stale::left_alone(&action));
        let end = undo::undo(line.trim_ascii_end(), undo::Since::SameBoot);
        if end == End::LeftAlone {
            self.left_alone.extend(foreign);
        }
        if end != End::Stuck {
            self.forget(number);
        }
        end != End::Stuck
    }

    fn own(&mut self, resource: &Path) -> io::Result<()> {
        if self.owned.iter().any(|owned| owned == resource) {
            return Ok(());
        }
        let folder = self.journal.path.parent().unwrap_or(Path::new("/")).to_path_buf();
        let told = owner::claim(&folder, resource, || self.journal.note(&journal::own_line(resource)))?;
        self.owned.push(resource.to_path_buf());
        self.left_alone.extend(told);
        Ok(())
    }

    /// Replaces the entry of change `number` with a single write, so that the journal always has one.
    fn restate(&mut self, number: u64, action: &Action) -> io::Result<()> {
        let line = action.line(number);
        let both = [format!("{number} done\n").as_bytes(), &line].concat();
        if both.len() > libc::PIPE_BUF {
            // Then it is undone whatever value the file has.
            return Ok(());
        }
        self.live.retain(|(live, _)| *live != number);
        self.live.push((number, line));
        self.journal.append(&both)?;
        self.guard.as_mut().map_or(Ok(()), |guard| guard.tell(&both))
    }

    /// Records that change `number` is undone.
    fn forget(&mut self, number: u64) {
        self.live.retain(|(live, _)| *live != number);
        let note = format!("{number} done\n");
        // If the note is lost, the change is undone once more, which changes nothing.
        let _ = self.journal.note(note.as_bytes());
        if let Some(guard) = &mut self.guard {
            let _ = guard.tell(note.as_bytes());
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let mut state = self.state();
        for number in state.live.iter().rev().map(|(number, _)| *number).collect::<Vec<_>>() {
            state.undo(number);
        }
        if state.live.is_empty() {
            let _ = fs::remove_file(&state.journal.path);
        }
        // The guard is dismissed last. Changes that could not be undone stay in the journal for the next command.
        state.guard = None;
    }
}

/// Undoes a change when dropped.
#[derive(Debug)]
pub struct Undo {
    inner: Arc<Inner>,
    number: Option<u64>,
}

impl Undo {
    /// Undoes the change now. On failure returns false; the change stays in the journal and is tried again at the end.
    pub fn now(mut self) -> bool {
        self.number.take().is_none_or(|number| self.inner.state().undo(number))
    }

    /// Records that nothing is left to undo.
    pub fn forget(mut self) {
        if let Some(number) = self.number.take() {
            self.inner.state().forget(number);
        }
    }
}

impl Drop for Undo {
    fn drop(&mut self) {
        if let Some(number) = self.number.take() {
            self.inner.state().undo(number);
        }
    }
}

/// Live processes of this user that own a resource, in all journal folders.
#[must_use]
pub fn owners() -> Vec<Owner> {
    stale::folders().iter().flat_map(|folder| owner::owners(journal::Found::of(folder).in_use)).collect()
}

/// Start time of process `pid` in ticks since boot; `None` if there is no such process.
#[must_use]
pub fn process_start(pid: u32) -> Option<u64> {
    undo::start_of(&fs::read(format!("/proc/{pid}/stat")).ok()?)
}
