//! One connection of the client, non-blocking.

use super::http::{Answer, Progress};
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType, ipproto, sockopt};
use std::net::SocketAddrV4;
use std::os::fd::{AsFd, OwnedFd};

/// State of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The reply is pending.
    Pending,
    /// The reply is complete.
    Answered,
    /// The request failed.
    Failed,
}

/// A connection, open or not.
#[derive(Debug, Default)]
pub(super) struct Connection {
    socket: Option<OwnedFd>,
    /// Bytes of the request sent so far.
    sent: usize,
    answer: Answer,
    /// The socket has carried a reply before.
    is_reused: bool,
    /// The reply is complete; only the close is pending.
    awaits_end: bool,
}

/// Data common to all connections of a client.
#[derive(Debug)]
pub(super) struct Peer {
    pub(super) epoll: OwnedFd,
    pub(super) address: SocketAddrV4,
    pub(super) request: Vec<u8>,
    pub(super) keep_alive: bool,
}

impl Connection {
    /// Starts a request; events of the socket carry `token`.
    pub(super) fn start(&mut self, peer: &Peer, token: u64) -> Outcome {
        (self.sent, self.awaits_end) = (0, false);
        self.answer.clear();
        if self.socket.is_none() && self.open(peer, token).is_err() {
            return self.fail();
        }
        self.go_on(peer, token)
    }

    /// Continues after an event of the socket.
    pub(super) fn go_on(&mut self, peer: &Peer, token: u64) -> Outcome {
        match self.step(peer) {
            // A server may close an idle connection just when it is used again; such a request is repeated once.
            Outcome::Failed if self.is_reused && self.answer.is_empty() => {
                self.is_reused = false;
                self.socket = None;
                self.start(peer, token)
            }
            Outcome::Failed => self.fail(),
            outcome => outcome,
        }
    }

    /// Closes the connection, whatever it waits for.
    pub(super) fn close(&mut self) {
        self.socket = None;
        self.is_reused = false;
    }

    fn fail(&mut self) -> Outcome {
        self.close();
        Outcome::Failed
    }

    fn open(&mut self, peer: &Peer, token: u64) -> Result<(), Errno> {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = rustix::net::socket_with(AddressFamily::INET, SocketType::STREAM, flags, Some(ipproto::TCP))?;
        sockopt::set_tcp_nodelay(&socket, true)?;
        match rustix::net::connect(&socket, &peer.address) {
            Ok(()) | Err(Errno::INPROGRESS) => {}
            Err(why) => return Err(why),
        }
        let events = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
        epoll::add(&peer.epoll, &socket, EventData::new_u64(token), events)?;
        self.socket = Some(socket);
        self.is_reused = false;
        Ok(())
    }

    fn step(&mut self, peer: &Peer) -> Outcome {
        let Some(socket) = self.socket.take() else { return Outcome::Pending };
        let outcome = match self.send(&socket, &peer.request) {
            Ok(true) => self.receive(&socket, peer.keep_alive),
            Ok(false) => Outcome::Pending,
            Err(_) => Outcome::Failed,
        };
        let stays = match outcome {
            Outcome::Pending => true,
            Outcome::Answered => peer.keep_alive && !self.awaits_end,
            Outcome::Failed => false,
        };
        if stays {
            self.is_reused |= outcome == Outcome::Answered;
            self.socket = Some(socket);
        }
        outcome
    }

    /// True if all is sent.
    fn send(&mut self, socket: &OwnedFd, request: &[u8]) -> Result<bool, Errno> {
        while self.sent < request.len() {
            match rustix::net::send(socket.as_fd(), &request[self.sent..], SendFlags::NOSIGNAL) {
                Ok(bytes) => self.sent += bytes,
                // Not connected yet: an event will report it.
                Err(Errno::AGAIN | Errno::NOTCONN) => return Ok(false),
                Err(Errno::INTR) => {}
                Err(why) => return Err(why),
            }
        }
        Ok(true)
    }

    fn receive(&mut self, socket: &OwnedFd, keep_alive: bool) -> Outcome {
        let mut room = [0u8; 64 * 1024];
        loop {
            let bytes = match rustix::io::read(socket, &mut room[..]) {
                Ok(0) if self.awaits_end => return Outcome::Answered,
                Ok(0) => return Outcome::Failed,
                Ok(bytes) => bytes,
                Err(Errno::AGAIN) => return Outcome::Pending,
                Err(Errno::INTR) => continue,
                Err(_) => return Outcome::Failed,
            };
            if self.awaits_end {
                return Outcome::Failed;
            }
            match self.answer.take(&room[..bytes]) {
                Progress::Partial => {}
                Progress::Bad => return Outcome::Failed,
                Progress::Complete { keeps } if keeps && keep_alive => return Outcome::Answered,
                // As `ab` counts: a request ends with its connection.
                Progress::Complete { .. } => self.awaits_end = true,
            }
        }
    }
}
