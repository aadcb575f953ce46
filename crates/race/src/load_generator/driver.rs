//! Decides when each request is sent and follows it to its end.

use super::connection::{Connection, Outcome, Peer};
use super::tally::Tally;
use super::{PATH, Pattern, Settings, http};
use goodness_core::{Rng, Seed, Span};
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::io::Errno;
use rustix::time::{
    ClockId, Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, clock_gettime, timerfd_create,
    timerfd_settime,
};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::net::SocketAddrV4;
use std::os::fd::OwnedFd;

/// Time to wait for replies after the last request.
const TIMEOUT: Span = Span::from_s(5);
/// Pause of a connection after a failed request, so that a dead server is not retried in a busy loop.
const REST: Span = Span::from_ms(1);
/// The token of the timer; connections have their own number.
const TIMER: u64 = u64::MAX;

/// A connection and the request it carries.
#[derive(Debug, Default)]
struct Lane {
    connection: Connection,
    /// Due time of the pending request.
    due: Option<u64>,
}

/// Source of requests.
enum Source {
    /// Connections by the time of their next request, and the mean think time.
    Closed { next: BinaryHeap<Reverse<(u64, usize)>>, think: Span },
    /// Time of the next arrival, mean gap, requests waiting for a connection, and idle connections.
    Open { arrival: u64, gap: u64, waiting: VecDeque<u64>, idle: Vec<usize> },
}

/// One run of the client.
pub(super) struct Driver {
    peer: Peer,
    timer: OwnedFd,
    lanes: Vec<Lane>,
    source: Source,
    rng: Rng,
    tally: Tally,
    started: u64,
    /// CPU time of this thread before it started.
    spent: u64,
    /// Requests in flight.
    busy: u64,
    /// Time for which the timer is armed.
    armed: u64,
}

fn now() -> u64 {
    ns(clock_gettime(ClockId::Monotonic))
}

fn ns(time: Timespec) -> u64 {
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

impl Driver {
    pub(super) fn new(settings: &Settings, address: SocketAddrV4) -> Result<Driver, Errno> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC)?;
        epoll::add(&epoll, &timer, EventData::new_u64(TIMER), EventFlags::IN | EventFlags::ET)?;
        let (started, spent) = (now(), ns(clock_gettime(ClockId::ThreadCPUTime)));
        let mut rng = Seed(settings.seed).stream("client", 0).rng();
        let request = http::request(&address.to_string(), PATH, settings.keep_alive);
        let count = settings.connections as usize;
        let source = match settings.pattern {
            Pattern::Closed => {
                // Starts are spread out: all at once would be a burst unlike the rest of the run.
                let first =
                    |lane: usize, rng: &mut Rng| Reverse((started + rng.exponential(settings.think.ns()), lane));
                Source::Closed { next: (0..count).map(|lane| first(lane, &mut rng)).collect(), think: settings.think }
            }
            Pattern::Open => {
                let gap = 1_000_000_000 / settings.rate;
                let arrival = started + rng.exponential(gap);
                Source::Open { arrival, gap, waiting: VecDeque::new(), idle: (0..count).rev().collect() }
            }
        };
        let lanes = (0..count).map(|_| Lane::default()).collect();
        let peer = Peer { epoll, address, request, keep_alive: settings.keep_alive };
        let tally = Tally::new(started + settings.warmup.ns(), settings.duration);
        Ok(Driver { peer, timer, lanes, source, rng, tally, started, spent, busy: 0, armed: 0 })
    }

    /// Runs until the end of the measurement, then until the last replies have come.
    pub(super) fn run(mut self) -> Result<Tally, Errno> {
        let mut events = Vec::with_capacity(256);
        loop {
            let wake = self.begin_what_is_due();
            let open = self.busy + self.waiting();
            let moment = now();
            if moment >= self.tally.until && (open == 0 || moment >= self.tally.until + TIMEOUT.ns()) {
                self.tally.unanswered = open;
                break;
            }
            // `wake` may have passed meanwhile: a timer in the past fires at once.
            self.wake_at(wake)?;
            match epoll::wait(&self.peer.epoll, rustix::buffer::spare_capacity(&mut events), None) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(why) => return Err(why),
            }
            for event in events.drain(..) {
                let token = event.data.u64();
                if token != TIMER && self.lanes[token as usize].due.is_some() {
                    let lane = token as usize;
                    let outcome = self.lanes[lane].connection.go_on(&self.peer, token);
                    self.settle(lane, outcome);
                }
            }
        }
        let spent = (ns(clock_gettime(ClockId::ThreadCPUTime)) - self.spent) as f64;
        self.tally.cpu_share = spent / (now() - self.started).max(1) as f64;
        Ok(self.tally)
    }

    fn waiting(&self) -> u64 {
        match &self.source {
            Source::Closed { .. } => 0,
            Source::Open { waiting, .. } => waiting.len() as u64,
        }
    }

    /// Starts all due requests. Returns the next due time, or the end.
    fn begin_what_is_due(&mut self) -> u64 {
        loop {
            let moment = now();
            let end = self.tally.until;
            if moment >= end && matches!(self.source, Source::Closed { .. }) {
                return end + TIMEOUT.ns();
            }
            match self.next_due(moment.min(end)) {
                Ok((lane, due)) => self.begin(lane, due, moment),
                Err(later) => return if moment >= end { end + TIMEOUT.ns() } else { later.min(end) },
            }
        }
    }

    /// The next request that is due at `moment` and can start, or else the time of the next due request.
    fn next_due(&mut self, moment: u64) -> Result<(usize, u64), u64> {
        match &mut self.source {
            Source::Closed { next, .. } => match next.peek() {
                Some(Reverse((due, _))) if *due <= moment => {
                    let Reverse((due, lane)) = next.pop().ok_or(u64::MAX)?;
                    Ok((lane, due))
                }
                Some(Reverse((due, _))) => Err(*due),
                None => Err(u64::MAX),
            },
            Source::Open { arrival, gap, waiting, idle } => {
                while *arrival <= moment {
                    waiting.push_back(*arrival);
                    *arrival += self.rng.exponential(*gap);
                }
                match (waiting.front().copied(), idle.pop()) {
                    (Some(due), Some(lane)) => {
                        waiting.pop_front();
                        Ok((lane, due))
                    }
                    (_, lane) => {
                        idle.extend(lane);
                        Err(*arrival)
                    }
                }
            }
        }
    }

    fn begin(&mut self, lane: usize, due: u64, moment: u64) {
        self.tally.started(due, moment);
        self.lanes[lane].due = Some(due);
        self.busy += 1;
        let outcome = self.lanes[lane].connection.start(&self.peer, lane as u64);
        self.settle(lane, outcome);
    }

    /// Counts the outcome of the request of `lane`, and schedules the lane's next request.
    fn settle(&mut self, lane: usize, outcome: Outcome) {
        if outcome == Outcome::Pending {
            return;
        }
        let moment = now();
        let Some(due) = self.lanes[lane].due.take() else { return };
        self.busy -= 1;
        match outcome {
            Outcome::Answered => self.tally.answered(due, moment),
            _ => self.tally.failed(due),
        }
        match &mut self.source {
            Source::Closed { next, think } => {
                let pause = if outcome == Outcome::Failed { REST.ns() } else { self.rng.exponential(think.ns()) };
                next.push(Reverse((moment + pause, lane)));
            }
            Source::Open { idle, .. } => idle.push(lane),
        }
    }

    fn wake_at(&mut self, at: u64) -> Result<(), Errno> {
        let at = at.min(self.tally.until + TIMEOUT.ns()).max(1);
        if at == self.armed {
            return Ok(());
        }
        self.armed = at;
        let time = Timespec { tv_sec: (at / 1_000_000_000) as i64, tv_nsec: (at % 1_000_000_000) as i64 };
        let never = Timespec { tv_sec: 0, tv_nsec: 0 };
        let once = Itimerspec { it_interval: never, it_value: time };
        timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &once).map(|_| ())
    }
}
