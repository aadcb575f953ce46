//! Waits until a descriptor is readable.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;

/// Waits until one of `descriptors` is readable or `timeout` is over. Returns for each whether it is readable.
///
/// # Errors
/// The error of poll(2). After a signal, none counts as readable.
pub fn wait_readable(descriptors: &[RawFd], timeout: Duration) -> io::Result<Vec<bool>> {
    let mut asked: Vec<libc::pollfd> =
        descriptors.iter().map(|&fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 }).collect();
    let milliseconds = i32::try_from(timeout.as_millis()).unwrap_or(i32::MAX);
    // SAFETY: `asked` is a live array of the length given.
    let answer = unsafe { libc::poll(asked.as_mut_ptr(), asked.len() as libc::nfds_t, milliseconds) };
    if answer < 0 {
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
        return Ok(vec![false; descriptors.len()]);
    }
    Ok(asked.iter().map(|fd| fd.revents != 0).collect())
}

/// Waits for several descriptors repeatedly without allocating. Descriptors are registered once, so the cost of a wait
/// does not grow with their number.
#[derive(Debug)]
pub struct Watch {
    registered: OwnedFd,
    /// Latest events: positions in the list given to [`Watch::over`].
    ready: [libc::epoll_event; Watch::AT_ONCE],
}

impl Watch {
    /// Most events per wait; the rest come with the next one.
    const AT_ONCE: usize = 8;

    /// A watch over `descriptors`.
    ///
    /// # Errors
    /// The error of epoll_create1(2) or epoll_ctl(2).
    pub fn over(descriptors: &[RawFd]) -> io::Result<Watch> {
        // SAFETY: no pointers.
        let fd = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: just opened, and nobody else's.
        let registered = unsafe { OwnedFd::from_raw_fd(fd) };
        for (place, &descriptor) in descriptors.iter().enumerate() {
            let mut event = libc::epoll_event { events: libc::EPOLLIN as u32, u64: place as u64 };
            // SAFETY: the event is read during the call only.
            if unsafe { libc::epoll_ctl(fd, libc::EPOLL_CTL_ADD, descriptor, &raw mut event) } != 0 {
                return Err(io::Error::last_os_error());
            }
        }
        Ok(Watch { registered, ready: [libc::epoll_event { events: 0, u64: 0 }; Watch::AT_ONCE] })
    }

    /// Waits until one is readable or `timeout` is over; whether any but the first is.
    ///
    /// # Errors
    /// The result of epoll_pwait2(2); a signal that interrupts it counts as nothing readable.
    pub fn wait(&mut self, timeout: Duration) -> io::Result<bool> {
        let span = libc::timespec {
            tv_sec: timeout.as_secs() as libc::time_t,
            tv_nsec: libc::c_long::from(timeout.subsec_nanos()),
        };
        let (to, most) = (self.ready.as_mut_ptr(), Watch::AT_ONCE as libc::c_int);
        // SAFETY: the array has that length and lives as long as `self`; the signal mask is left alone.
        let count =
            unsafe { libc::epoll_pwait2(self.registered.as_raw_fd(), to, most, &raw const span, std::ptr::null()) };
        if count < 0 {
            let error = io::Error::last_os_error();
            return if error.kind() == io::ErrorKind::Interrupted { Ok(false) } else { Err(error) };
        }
        Ok(self.ready[..count as usize].iter().any(|event| event.u64 != 0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipe::{pipe, write_byte};

    #[test]
    fn a_written_byte_makes_the_other_end_readable() {
        let (read, write) = pipe().expect("pipe");
        assert_eq!(wait_readable(&[read.as_raw_fd()], Duration::ZERO).expect("poll"), [false]);
        write_byte(&write, b'x');
        assert_eq!(wait_readable(&[read.as_raw_fd()], Duration::ZERO).expect("poll"), [true]);
    }
}
