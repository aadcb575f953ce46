//! The daemon's control socket, for `live status` and `live stop`: one word in, one line of JSON out.

use super::error::LiveError;
use super::kernel::loaded;
use super::outcome::Status;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Path of the socket.
pub const SOCKET: &str = "/run/goodness/live.sock";
/// Time limit for either side to wait for the other.
const TIMEOUT: Duration = Duration::from_millis(500);
/// Longest reply read: far above the size for ten thousand tasks.
const ANSWER_MAX: u64 = 16 << 20;

/// Kind of request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// Return the status.
    Status,
    /// End.
    Stop,
}

/// The daemon's end of the control socket; dropping it removes the socket.
#[derive(Debug)]
pub struct Control {
    listener: UnixListener,
    path: PathBuf,
}

impl Control {
    /// Listens at `path`. Removes the socket of a killed daemon.
    ///
    /// # Errors
    /// Another daemon listens there, or the path is not writable.
    pub fn listen(path: &Path) -> Result<Control, LiveError> {
        if UnixStream::connect(path).is_ok() {
            return Err(super::kernel::busy());
        }
        let failed = |source| LiveError::System { what: "listening for `live status`", source };
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(failed)?;
        }
        match std::fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
            _ => {}
        }
        let listener = UnixListener::bind(path).map_err(failed)?;
        // Only the daemon's user, root, may connect.
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        Ok(Control { listener, path: path.into() })
    }

    /// Becomes readable on a request.
    pub fn descriptor(&self) -> RawFd {
        self.listener.as_raw_fd()
    }

    /// Replies to pending requests with the status from `answer`. Returns the last request, if any.
    pub fn serve(&self, answer: &mut dyn FnMut() -> Status) -> Option<Request> {
        let mut asked = None;
        while let Ok((stream, _)) = self.listener.accept() {
            asked = respond(stream, answer).or(asked);
        }
        asked
    }
}

/// Replies to one client. One that does not write at once is dropped, because decisions must not wait.
fn respond(mut stream: UnixStream, answer: &mut dyn FnMut() -> Status) -> Option<Request> {
    stream.set_read_timeout(Some(Duration::from_millis(20))).ok()?;
    stream.set_write_timeout(Some(Duration::from_millis(100))).ok()?;
    let mut word = [0; 16];
    let length = stream.read(&mut word).ok()?;
    let request = match &word[..length] {
        b"status\n" => Request::Status,
        b"stop\n" => Request::Stop,
        _ => return None,
    };
    let mut line = serde_json::to_vec(&answer()).ok()?;
    line.push(b'\n');
    let _ = stream.write_all(&line);
    Some(request)
}

impl Drop for Control {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// The status of what runs live on this machine.
///
/// # Errors
/// As [`ask`]; [`LiveError::NotOurs`] if no daemon listens and a scheduler is loaded nevertheless.
pub fn status() -> Result<Status, LiveError> {
    ask(SOCKET.as_ref(), Request::Status).map_err(|error| match (error, loaded()) {
        (LiveError::NothingLive, Some(name)) => LiveError::NotOurs { name },
        (error, _) => error,
    })
}

/// Sends a request to the daemon at `path` and returns its status. After [`Request::Stop`] it returns when the daemon
/// has ended.
///
/// # Errors
/// [`LiveError::NothingLive`] if no daemon listens.
pub fn ask(path: &Path, request: Request) -> Result<Status, LiveError> {
    let failed = |source| LiveError::System { what: "asking the daemon", source };
    let mut stream = match UnixStream::connect(path) {
        Ok(stream) => stream,
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            return Err(LiveError::NotRoot { uid: goodness_sys::effective_user() });
        }
        Err(_) => return Err(LiveError::NothingLive),
    };
    stream.set_read_timeout(Some(TIMEOUT * 10)).map_err(failed)?;
    let word: &[u8] = if request == Request::Stop { b"stop\n" } else { b"status\n" };
    stream.write_all(word).map_err(failed)?;
    let mut answer = String::new();
    (&mut stream).take(ANSWER_MAX).read_to_string(&mut answer).map_err(failed)?;
    let status = serde_json::from_str(&answer).map_err(|why| failed(io::Error::other(why)))?;
    if request == Request::Stop {
        let asked = Instant::now();
        while path.exists() && asked.elapsed() < TIMEOUT * 20 {
            std::thread::sleep(Duration::from_millis(10));
        }
    }
    Ok(status)
}
