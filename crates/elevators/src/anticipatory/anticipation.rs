//! Decides whether to wait for the process whose read was served last.

use crate::parts::decaying_mean::{FirstMean, Likelihood, Mean};
use crate::parts::nearest_request::Backward;
use goodness_core::{Request, Submitter};

/// Layer 1 of the specification: short backward seeks are allowed.
pub const BACKWARD: Backward = Backward { max: 1 << 20, penalty: 2 };

/// Distance in sectors that counts as close when the wait starts.
const CLOSE: u64 = 8192;

/// State of the wait for a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// No.
    Off,
    /// Yes, and its last read is not complete.
    WaitRequest,
    /// Yes, since its last read completed.
    WaitNext,
    /// It was, and will not be again before something was dispatched.
    Finished,
}

/// Statistics of a process, over all its reads.
#[derive(Clone, Copy, Debug, Default)]
struct Process {
    think: Mean,
    seek: Mean,
    /// The sector after its last request.
    position: u64,
    has_submitted: bool,
    /// The jiffy in which a synchronous request of it last completed.
    last_completion: Option<u64>,
    has_exited: bool,
    /// Requests that wait.
    queued: u32,
    /// Requests chosen that the device has not taken.
    listed: u32,
    /// Synchronous requests chosen that are not complete.
    chosen: u32,
}

/// State of waiting, and statistics of all processes. Times are jiffies.
#[derive(Debug)]
pub struct Anticipation {
    state: State,
    /// Time the last request of the anticipated process completed.
    since: u64,
    /// True if that request has completed.
    is_complete: bool,
    /// Process of the last request dispatched; `None` if that was an asynchronous write.
    process: Option<Submitter>,
    processes: Vec<Process>,
    first_think: FirstMean,
    first_seek: FirstMean,
    /// Probability that a process exits before its second request.
    exit: Likelihood,
    /// Probability that no other process reads near an exited one.
    exit_alone: Likelihood,
    expire: u64,
    think_max: u64,
    hz: u64,
}

impl Anticipation {
    /// `expire` limits the wait; `think_max` caps think times; both in jiffies of 1/`hz` seconds.
    pub fn new(expire: u64, think_max: u64, hz: u64) -> Anticipation {
        Anticipation {
            state: State::Off,
            since: 0,
            is_complete: false,
            process: None,
            processes: Vec::new(),
            first_think: FirstMean::default(),
            first_seek: FirstMean::default(),
            exit: Likelihood::default(),
            exit_alone: Likelihood::default(),
            expire,
            think_max,
            hz,
        }
    }

    /// True if it waits for a process.
    #[inline]
    pub fn is_waiting(&self) -> bool {
        matches!(self.state, State::WaitRequest | State::WaitNext)
    }

    /// The process that it waits for, and whether its reads are complete.
    pub fn waited_for(&self) -> Option<(Submitter, bool)> {
        let waited_for = self.process.filter(|_| self.is_waiting())?;
        Some((waited_for, self.processes[waited_for.index()].chosen == 0))
    }

    /// Jiffy at which the wait expires.
    #[inline]
    pub fn ends(&self) -> Option<u64> {
        (self.state == State::WaitNext).then_some(self.since + self.expire)
    }

    fn of(&mut self, submitter: Submitter) -> &mut Process {
        &mut self.processes[submitter.index()]
    }

    /// Accounts for a new waiting request.
    pub fn arrived(&mut self, now: u64, request: &Request, sync: bool) {
        let index = request.submitter.index();
        if index >= self.processes.len() {
            self.processes.resize(index + 1, Process::default());
        }
        let process = &mut self.processes[index];
        if process.has_exited {
            // The host gave the number to a new process.
            *process = Process {
                queued: process.queued,
                listed: process.listed,
                chosen: process.chosen,
                ..Process::default()
            };
        }
        if sync {
            self.learn(now, request.submitter, request);
        }
        self.of(request.submitter).queued += 1;
    }

    /// A waiting request was chosen; `on` if it goes to the dispatch list, else it is gone.
    pub fn left(&mut self, submitter: Submitter, on: bool) {
        let process = self.of(submitter);
        process.queued -= 1;
        process.listed += u32::from(on);
    }

    /// A request leaves the dispatch list, to the device.
    pub fn unlisted(&mut self, submitter: Submitter) {
        self.of(submitter).listed -= 1;
    }

    /// A chosen request was merged into another one.
    pub fn taken_back(&mut self, submitter: Submitter, sync: bool) {
        let process = self.of(submitter);
        process.listed -= 1;
        process.chosen -= u32::from(sync);
    }

    /// Counts the think time and the seek distance that end with `request` for `submitter`.
    fn learn(&mut self, now: u64, submitter: Submitter, request: &Request) {
        let process = &mut self.processes[submitter.index()];
        if process.has_submitted {
            let has_none = process.queued == 0 && process.listed == 0;
            let think = process.last_completion.filter(|_| has_none).map_or(0, |end| (now - end).min(self.think_max));
            if process.think.samples() == 0 {
                self.first_think.add(think);
                self.exit.learn(false);
            }
            process.think.think(think);
            let distance = process.position.abs_diff(request.sector);
            if process.seek.samples() == 0 {
                self.first_seek.add(distance);
            }
            process.seek.seek(distance);
        }
        process.position = request.end();
        process.has_submitted = true;
    }

    /// A request was chosen, which ends any wait.
    pub fn dispatched(&mut self, submitter: Submitter, sync: bool) {
        self.state = State::Off;
        self.process = sync.then_some(submitter);
        self.is_complete = false;
        self.of(submitter).chosen += u32::from(sync);
    }

    /// The device completed a request.
    pub fn completed(&mut self, now: u64, submitter: Submitter, sync: bool) {
        if self.process == Some(submitter) {
            self.since = now;
            self.is_complete = true;
            if self.state == State::WaitRequest {
                self.state = State::WaitNext;
            }
        }
        if sync {
            let process = self.of(submitter);
            process.last_completion = Some(now);
            process.chosen -= 1;
        }
    }

    /// A process ended.
    pub fn exited(&mut self, submitter: Submitter) {
        if let Some(process) = self.processes.get_mut(submitter.index()) {
            process.has_exited = true;
        }
    }

    /// Starts or continues to wait, unless `candidate` or the process's statistics advise against it.
    pub fn waits_rather_than(&mut self, now: u64, head: u64, candidate: Option<(&Request, bool)>) -> bool {
        if self.process.is_none() || self.state == State::Finished || self.gives_up(now, head, candidate) {
            return false;
        }
        if self.state == State::Off {
            self.state = if self.is_complete { State::WaitNext } else { State::WaitRequest };
        }
        true
    }

    /// A request has arrived: whether the wait is over for it.
    pub fn ends_with(&mut self, now: u64, head: u64, arrived: (&Request, bool)) -> bool {
        let ends = self.is_waiting() && self.gives_up(now, head, Some(arrived));
        if ends {
            self.state = State::Finished;
        }
        ends
    }

    /// Ends the wait because its time is over.
    pub fn timed_out(&mut self) {
        if !self.is_waiting() {
            return;
        }
        self.state = State::Finished;
        let Some(process) = self.process.map(|submitter| self.processes[submitter.index()]) else { return };
        if process.think.samples() == 0 {
            self.exit.learn(true);
        }
        if process.has_exited {
            self.exit_alone.learn(true);
        }
    }

    /// True to stop waiting for the anticipated process, for the reasons of the specification, in order. `candidate`
    /// is a request and whether it is synchronous.
    fn gives_up(&mut self, now: u64, head: u64, candidate: Option<(&Request, bool)>) -> bool {
        let Some(submitter) = self.process else { return true };
        if candidate.is_some_and(|(request, _)| request.submitter == submitter) {
            return true;
        }
        if self.is_complete && now - self.since >= self.expire {
            return true;
        }
        let process = self.processes[submitter.index()];
        if process.queued > 0 || process.listed > 0 {
            return true;
        }
        if let Some((request, true)) = candidate
            && self.is_close(now, head, request.sector, &process)
        {
            if process.has_exited {
                self.exit_alone.learn(false);
            }
            self.learn(now, submitter, request);
            return true;
        }
        if process.has_exited {
            if process.think.samples() == 0 {
                self.exit.learn(true);
            }
            if self.exit_alone.value() > 128 {
                return true;
            }
        }
        if process.think.samples() > 0 {
            return process.think.value() > self.expire;
        }
        self.first_think.value() > self.expire || self.exit.value() * self.exit_alone.value() > 128 * 256
    }

    /// True if another process's request is as good as the expected one. The longer the wait, the more distant a
    /// request counts as close.
    fn is_close(&self, now: u64, head: u64, sector: u64, process: &Process) -> bool {
        let waited = if self.state == State::Off || !self.is_complete { 0 } else { now - self.since };
        let ms = waited * 1000 / self.hz;
        if ms > 20 || ms > self.expire * 1000 / self.hz {
            return true;
        }
        let window = CLOSE << ms;
        if sector.saturating_add(window / 2) >= head && sector <= head.saturating_add(window) {
            return true;
        }
        let known = if process.seek.samples() == 0 { self.first_seek.value() } else { process.seek.value() };
        sector.abs_diff(head) < known
    }
}
