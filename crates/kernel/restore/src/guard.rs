//! A small child process that undoes this process's changes if it dies without doing so, for example by SIGKILL or
//! `panic = "abort"`.
//!
//! The owner sends each change through a pipe before making it. If the pipe closes without a dismissal, the owner is
//! dead: the guard undoes the changes, last first, and marks them done in the journal. It holds the journal's lock, so
//! that no other process undoes the same changes.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, OwnedFd};

use super::line::Parts;
use super::undo::{End, Since, undo};
use goodness_sys::{self as sys, errno};

/// Buffer for all changes to be undone, in bytes; a change takes about a hundred.
pub const ROOM: usize = 256 << 10;
/// The line that dismisses the guard.
const DISMISSED: &[u8] = b"0 dismissed\n";
/// The guard's own descriptors.
const PIPE: libc::c_int = 0;
const JOURNAL: libc::c_int = 1;

/// The owner's side.
#[derive(Debug)]
pub struct Guard {
    leash: File,
    child: libc::pid_t,
}

impl Guard {
    /// Starts the child. It keeps `journal` open and so holds its lock.
    ///
    /// # Errors
    /// The error of pipe2(2) or fork(2).
    pub fn start(journal: &File, path: &std::path::Path) -> io::Result<Guard> {
        let path = sys::c_path(path.as_os_str())?;
        // Allocated before the fork, because a child forked from a process with threads may not allocate; and touched,
        // so that a lack of memory shows now.
        let mut room = vec![1u8; ROOM];
        let (listen, leash): (OwnedFd, OwnedFd) = sys::pipe()?;
        // SAFETY: the child calls only async-signal-safe functions (see `watch`) and never returns.
        match unsafe { libc::fork() } {
            -1 => Err(io::Error::last_os_error()),
            // SAFETY: we are the forked child, as `watch` requires.
            0 => unsafe { watch(listen.as_raw_fd(), journal.as_raw_fd(), &path, &mut room) },
            child => Ok(Guard { leash: File::from(leash), child }),
        }
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.child as u32
    }

    /// Sends it a journal line.
    ///
    /// # Errors
    /// The guard has died.
    pub fn tell(&mut self, line: &[u8]) -> io::Result<()> {
        self.leash.write_all(line)
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        // A dead guard needs no dismissal.
        let _ = self.leash.write_all(DISMISSED);
        sys::reap(self.child);
    }
}

/// Main function of the child.
///
/// # Safety
/// Only in a freshly forked child. Calls nothing that allocates, locks or unwinds: the parent's threads may
/// have been in the middle of either.
unsafe fn watch(listen: libc::c_int, journal: libc::c_int, path: &std::ffi::CStr, room: &mut [u8]) -> ! {
    // SAFETY: all calls below are async-signal-safe, descriptors and strings are valid for their duration.
    unsafe {
        // The guard has its own group and ignores the signals that end an owner: Ctrl-C goes to a whole group.
        libc::setpgid(0, 0);
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT, libc::SIGPIPE] {
            libc::signal(signal, libc::SIG_IGN);
        }
        keep_only(listen, journal);
        last_to_be_killed();
        let length = listen_to_the_end(room);
        if let Some(mut length) = length {
            let mut clean = true;
            while let Some(begin) = last_line(&room[..length]) {
                clean &= undo_and_note(&room[begin..length - 1]);
                length = begin;
            }
            if clean {
                libc::unlink(path.as_ptr());
            }
        }
        libc::_exit(0)
    }
}

/// Closes all descriptors except the pipe and the journal, above all our copy of the leash and an output the caller may
/// wait on.
///
/// # Safety
/// In the guard alone: nothing else in the process may use a descriptor afterwards.
unsafe fn keep_only(listen: libc::c_int, journal: libc::c_int) {
    // SAFETY: plain descriptor calls. Each is moved out of the way of the other first.
    unsafe {
        let (listen, journal) = (libc::fcntl(listen, libc::F_DUPFD, 10), libc::fcntl(journal, libc::F_DUPFD, 10));
        libc::dup2(listen, PIPE);
        libc::dup2(journal, JOURNAL);
        if libc::syscall(libc::SYS_close_range, 2u32, u32::MAX, 0u32) != 0 {
            for descriptor in 2..4096 {
                libc::close(descriptor);
            }
        }
    }
}

/// Makes the kernel kill other processes first when memory runs out. Without permission, nothing changes.
///
/// # Safety
/// In the guard alone, which must outlive the others.
unsafe fn last_to_be_killed() {
    // SAFETY: NUL-terminated string, buffer of the length given.
    unsafe {
        let file = libc::open(c"/proc/self/oom_score_adj".as_ptr(), libc::O_WRONLY);
        if file >= 0 {
            libc::write(file, c"-1000".as_ptr().cast(), 5);
            libc::close(file);
        }
    }
}

/// Reads the changes into `room` until the pipe ends. Returns the number of bytes; `None` once dismissed.
///
/// # Safety
/// In the guard alone: `PIPE` is its pipe.
unsafe fn listen_to_the_end(room: &mut [u8]) -> Option<usize> {
    let mut length = 0;
    loop {
        // SAFETY: there is room for that many bytes.
        let got = unsafe { libc::read(PIPE, room[length..].as_mut_ptr().cast(), room.len() - length) };
        match usize::try_from(got) {
            Ok(0) => return Some(whole_lines(&room[..length])),
            Ok(got) => match digest(room, length, length + got) {
                Some(kept) => length = kept,
                None => return None,
            },
            Err(_) if errno() == libc::EINTR => {}
            Err(_) => return Some(whole_lines(&room[..length])),
        }
    }
}

/// Removes finished changes from `room[..end]`, starting at the line that contains `old`. Returns the new end, or
/// `None` once dismissed.
fn digest(room: &mut [u8], old: usize, end: usize) -> Option<usize> {
    let mut end = end;
    let mut at = whole_lines(&room[..old]);
    while let Some(length) = room[at..end].iter().position(|byte| *byte == b'\n') {
        let next = at + length + 1;
        if &room[at..next] == DISMISSED {
            return None;
        }
        let done = Parts::of(&room[at..next - 1]).filter(|parts| parts.verb == b"done").map(|parts| parts.number);
        match done {
            None => at = next,
            Some(number) => {
                end = forget(room, at..next, end);
                if let Some(line) = find(&room[..at], number) {
                    at -= line.len();
                    end = forget(room, line, end);
                }
            }
        }
    }
    Some(end)
}

fn forget(room: &mut [u8], line: std::ops::Range<usize>, end: usize) -> usize {
    let length = line.len();
    room.copy_within(line.end..end, line.start);
    end - length
}

/// Range of the line of change `number`.
fn find(lines: &[u8], number: u64) -> Option<std::ops::Range<usize>> {
    let mut begin = 0;
    while let Some(length) = lines[begin..].iter().position(|byte| *byte == b'\n') {
        let end = begin + length + 1;
        if Parts::of(&lines[begin..end - 1]).is_some_and(|parts| parts.number == number) {
            return Some(begin..end);
        }
        begin = end;
    }
    None
}

/// Length of the complete lines. An incomplete line announces a change that was never made.
fn whole_lines(bytes: &[u8]) -> usize {
    bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1)
}

/// Start of the last complete line, if any.
fn last_line(lines: &[u8]) -> Option<usize> {
    let before = lines.len().checked_sub(1)?;
    Some(whole_lines(&lines[..before]))
}

/// Undoes a line and writes `NUMBER done` into the journal.
///
/// # Safety
/// In the guard alone: `JOURNAL` is its journal.
unsafe fn undo_and_note(line: &[u8]) -> bool {
    // A setting that someone else has changed stays in the journal, too: the next command reports it.
    let clean = undo(line, Since::SameBoot) == End::Undone;
    let digits = line.iter().position(|byte| *byte == b' ').unwrap_or(0);
    if clean && digits > 0 {
        let mut note = [0u8; 32];
        let length = digits.min(20);
        note[..length].copy_from_slice(&line[..length]);
        note[length..length + 6].copy_from_slice(b" done\n");
        // SAFETY: buffer of the length given.
        unsafe { libc::write(JOURNAL, note.as_ptr().cast(), length + 6) };
    }
    clean
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(lines: &[&str]) -> Option<String> {
        let mut room = vec![0u8; 4096];
        let mut length = 0;
        // The worst case of a pipe: one byte at a time.
        for byte in lines.concat().bytes() {
            room[length] = byte;
            length = digest(&mut room, length, length + 1)?;
        }
        Some(String::from_utf8_lossy(&room[..length]).into_owned())
    }

    #[test]
    fn what_is_done_is_forgotten_wherever_it_stands() {
        let (one, two, three) = ("1 rmdir /a\n", "2 rmdir /b\n", "3 rmdir /c\n");
        assert_eq!(kept(&[one, two, "1 done\n", three]).as_deref(), Some("2 rmdir /b\n3 rmdir /c\n"));
        assert_eq!(kept(&[one, two, "2 done\n", "1 done\n"]).as_deref(), Some(""));
        assert_eq!(kept(&[one, "9 done\n"]).as_deref(), Some(one));
        assert_eq!(kept(&[one, "0 dismissed\n"]), None);
    }

    #[test]
    fn lines_that_come_together_are_taken_one_by_one() {
        let text = b"1 rmdir /a\n2 rmdir /b\n1 done\n3 rm";
        let mut room = vec![0u8; 4096];
        room[..text.len()].copy_from_slice(text);
        let length = digest(&mut room, 0, text.len()).expect("not dismissed");
        assert_eq!(&room[..length], b"2 rmdir /b\n3 rm");
        assert_eq!(whole_lines(&room[..length]), 11);
    }

    #[test]
    fn lines_are_walked_from_the_last_to_the_first() {
        let lines = b"1 a\n2 b\n3 c\n";
        let mut length = lines.len();
        let mut seen = Vec::new();
        while let Some(begin) = last_line(&lines[..length]) {
            seen.push(&lines[begin..length - 1]);
            length = begin;
        }
        assert_eq!(seen, [b"3 c", b"2 b", b"1 a"]);
    }
}
