//! Write-back throttling (wbt): limits the writes in flight by what reads wait.
//!
//! ```text
//!  Queue::enter ──▶ has_room? ── no ──▶ the lane waits       window of 100 ms over:
//!                      │ yes                                  least read latency > target ──▶ fewer writes
//!                    take ──▶ device ──▶ done ──▶ wakes       below it, or writes alone   ──▶ more
//! ```
//!
//! Source: `Documentation/ABI/stable/sysfs-block` (`wbt_lat_usec`) and behaviour of Linux 6.x. Asynchronous writes and
//! discards are limited and counted each on its own; reads and synchronous writes pass. The limit begins at 16, or the
//! depth of the device if that is less, and halves with each step down. Background write-back gets a quarter of it, and
//! discards do. A step up beyond the beginning is possible while there are only writes, to three quarters of the depth.
//! With a volatile write cache, writes that wait go on once none is in flight.
//!
//! Departures and inferences. Whether a writer waits for dirty pages is not known here, so the share of the whole limit
//! that Linux gives write-back then is given while no read was seen for 100 ms; Linux gives a quarter or a half to
//! write-back for which nobody waits. Write-back of a `sync` passes here as other synchronous writes do; Linux limits
//! it, and lets only direct writes pass. Writes for swap are not told apart. A write to a disk that an experiment does
//! not call `sync` counts as write-back, where direct I/O of Linux does not. Discards and writes wait in one line, so
//! that a discard without room holds up the writes behind it. The single-queue layer has no wbt. `bfq` turns the one
//! off that is there by default in Linux; one that was asked for stays.

use goodness_core::{Operation, RequestId, Span, Time};

/// Length of a window at step 0. Source: `RWB_WINDOW_NSEC`.
const WINDOW: Span = Span::from_ms(100);
/// Time after a read in which write-back is in the background.
const READ_IS_RECENT: Span = Span::from_ms(100);
/// Writes in flight at step 0. Source: `RWB_DEF_DEPTH`.
const USUAL_DEPTH: u32 = 16;
/// Writes that must have completed in a window for its read latency to count. Source: `RWB_MIN_WRITE_SAMPLES`.
const LEAST_WRITES: u32 = 3;
/// Windows without knowledge after which the limit returns a step towards the beginning. Source: `RWB_UNKNOWN_BUMP`.
const UNKNOWN_MAX: u32 = 5;

/// The I/Os that are limited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Asynchronous writes.
    Write,
    /// Discards.
    Discard,
}

impl Kind {
    /// The kind of an I/O; `None` if it is not limited.
    pub fn of(op: Operation, sync: bool) -> Option<Kind> {
        match op {
            Operation::Write if !sync => Some(Kind::Write),
            Operation::Discard => Some(Kind::Discard),
            Operation::Read | Operation::Write | Operation::Flush => None,
        }
    }
}

/// Limits and account of one disk.
#[derive(Debug)]
pub(crate) struct WriteBack {
    /// Latency of reads that it aims at.
    target: Span,
    depth: u32,
    has_cache: bool,
    /// Steps down from the beginning; below zero, steps up.
    step: i32,
    /// True if a step up would change nothing.
    is_highest: bool,
    max: u32,
    in_flight: [u32; 2],
    /// True while the kind waits for one of its own to complete.
    waits: [bool; 2],
    /// Windows without knowledge in a row.
    unknown: u32,
    /// Length of the window.
    window: Span,
    /// Its end.
    until: Option<Time>,
    /// The latest submission or completion of a read.
    read_at: Option<Time>,
    /// A read in the device, and since when.
    watched: Option<(RequestId, Time)>,
    /// Least latency of the reads that completed in the window.
    least_read: Option<Span>,
    /// Writes that completed in the window.
    writes: u32,
}

impl WriteBack {
    /// Limits of a device of this depth, `has_cache` if it has a volatile write cache.
    pub fn new(target: Span, depth: u32, has_cache: bool) -> WriteBack {
        let mut made = WriteBack {
            target,
            depth,
            has_cache,
            step: 0,
            is_highest: false,
            max: 0,
            in_flight: [0; 2],
            waits: [false; 2],
            unknown: 0,
            window: WINDOW,
            until: None,
            read_at: None,
            watched: None,
            least_read: None,
            writes: 0,
        };
        made.set_max();
        made
    }

    /// Sets the limit that belongs to the step.
    fn set_max(&mut self) {
        self.is_highest = false;
        if self.depth == 1 {
            self.is_highest = self.step <= 0;
            self.max = if self.step > 0 { 1 } else { 2 };
            return;
        }
        let usual = USUAL_DEPTH.min(self.depth);
        let shift = self.step.unsigned_abs().min(31);
        self.max = if self.step >= 0 {
            1 + ((usual - 1) >> shift)
        } else {
            let most = (3 * self.depth / 4).max(1);
            let wanted = 1 + u64::from(usual - 1).saturating_mul(1 << shift);
            self.is_highest = wanted > u64::from(most);
            wanted.min(u64::from(most)) as u32
        };
    }

    /// Limit of other write-back, as far as it decides who goes on.
    fn normal(&self) -> u32 {
        if self.max <= 2 { self.max } else { self.max.div_ceil(2) }
    }

    /// Limit of write-back in the background, and of discards.
    fn background(&self) -> u32 {
        if self.max <= 2 { 1 } else { self.max.div_ceil(4) }
    }

    /// Limit of `kind` at `now`.
    fn limit(&self, now: Time, kind: Kind) -> u32 {
        let read_is_recent = self.read_at.is_some_and(|at| now.since(at) < READ_IS_RECENT);
        if kind == Kind::Discard || read_is_recent { self.background() } else { self.max }
    }

    /// True if one more of `kind` may go to the elevator. Else the kind waits until some of its own complete.
    pub fn has_room(&mut self, now: Time, kind: Kind) -> bool {
        let it = kind as usize;
        self.waits[it] |= self.in_flight[it] >= self.limit(now, kind);
        !self.waits[it]
    }

    /// Counts one of `kind` that goes to the elevator. The first begins a window; those in which nothing was in flight
    /// are over by then.
    pub fn take(&mut self, now: Time, kind: Kind) {
        while self.until.is_some_and(|until| until <= now) {
            self.expire(self.until.unwrap_or(now));
        }
        self.in_flight[kind as usize] += 1;
        if self.until.is_none() {
            self.begin_window(now);
        }
    }

    /// A read was submitted.
    pub fn reads(&mut self, now: Time) {
        self.read_at = Some(now);
    }

    /// `request` goes to the device.
    pub fn issued(&mut self, now: Time, request: RequestId, op: Operation) {
        if op == Operation::Read && self.watched.is_none() {
            self.watched = Some((request, now));
        }
    }

    /// `request` has completed, `latency` after it was issued.
    pub fn completed(&mut self, now: Time, request: RequestId, (op, sync): (Operation, bool), latency: Span) {
        match op {
            Operation::Read => {
                self.read_at = Some(now);
                self.watched = self.watched.filter(|(watched, _)| *watched != request);
                self.least_read = Some(self.least_read.map_or(latency, |least| least.min(latency)));
            }
            Operation::Write | Operation::Discard => self.writes += 1,
            Operation::Flush => {}
        }
        self.leaves(op, sync);
    }

    /// A request is no longer in flight: it has completed, or was merged into another one.
    pub fn leaves(&mut self, op: Operation, sync: bool) {
        let Some(kind) = Kind::of(op, sync) else { return };
        let it = kind as usize;
        self.in_flight[it] -= 1;
        self.waits[it] &= !self.wakes(kind);
    }

    /// True if a completion of `kind` lets those go on that wait.
    fn wakes(&self, kind: Kind) -> bool {
        let in_flight = self.in_flight[kind as usize];
        let limit = match kind {
            Kind::Discard => self.background(),
            Kind::Write if self.has_cache => 0,
            Kind::Write => self.normal(),
        };
        in_flight == 0 || (in_flight < limit && limit - in_flight >= self.background() / 2)
    }

    /// The end of the window, if there is one and something is in flight.
    pub fn window_ends(&self) -> Option<Time> {
        self.until.filter(|_| self.in_flight != [0; 2])
    }

    /// Ends the window if it is over. Returns true if those that waited may go on.
    pub fn expire(&mut self, now: Time) -> bool {
        if self.until.is_none_or(|until| until > now) {
            return false;
        }
        let before = self.step;
        self.judge(now);
        let goes_on = self.step != 0 || self.in_flight != [0; 2];
        self.until = None;
        if goes_on {
            self.begin_window(now);
        }
        if self.step >= before {
            return false;
        }
        self.waits = [false; 2];
        true
    }

    /// Windows are shorter the further down the limit is.
    fn begin_window(&mut self, now: Time) {
        let root = (u64::from(self.step.max(0).unsigned_abs() + 1) << 8).isqrt();
        self.window = Span((WINDOW.0 << 4) / root);
        self.until = Some(now + self.window);
        (self.least_read, self.writes) = (None, 0);
    }

    /// Moves the limit by what the window shows.
    fn judge(&mut self, now: Time) {
        let waited = self.watched.map_or(Span::ZERO, |(_, since)| now.since(since));
        let least = self.least_read.filter(|_| self.writes >= LEAST_WRITES);
        let is_late = waited > self.window || (waited > self.target && self.least_read.is_none());
        match least {
            _ if is_late => self.step_down(true),
            Some(least) if least > self.target => self.step_down(true),
            Some(_) => self.step_up(),
            None if self.writes > 0 || self.in_flight != [0; 2] => self.step_up(),
            None => self.forget(),
        }
    }

    fn step_down(&mut self, is_late: bool) {
        if self.max > 1 {
            self.set_step(if self.step < 0 && is_late { 0 } else { self.step + 1 });
        }
    }

    fn set_step(&mut self, step: i32) {
        (self.step, self.unknown) = (step, 0);
        self.set_max();
    }

    fn step_up(&mut self) {
        if !self.is_highest {
            self.set_step(self.step - 1);
        }
    }

    /// Nothing is known: after some windows, the limit goes a step towards the beginning.
    fn forget(&mut self) {
        self.unknown += 1;
        if self.unknown >= UNKNOWN_MAX {
            match self.step {
                1.. => self.step_up(),
                // At a limit of one, too, which a step up can be on a small device.
                ..=-1 => self.set_step(self.step + 1),
                0 => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn limits(wbt: &WriteBack) -> [u32; 2] {
        [wbt.max, wbt.background()]
    }

    /// Ends the window after a read of this latency and so many writes.
    fn window(wbt: &mut WriteBack, read: Option<Span>, writes: u32) {
        let end = wbt.window_ends().expect("a window");
        for _ in 0..writes {
            wbt.take(Time(end.0 - 1), Kind::Write);
            wbt.completed(end, RequestId(1), (Operation::Write, false), Span(MS));
        }
        if let Some(latency) = read {
            wbt.completed(end, RequestId(0), (Operation::Read, true), latency);
        }
        wbt.expire(end);
    }

    fn begun() -> WriteBack {
        let mut wbt = WriteBack::new(Span(2 * MS), 32, false);
        wbt.take(Time::ZERO, Kind::Write);
        wbt
    }

    #[test]
    fn the_limit_halves_while_reads_are_late_and_comes_back() {
        let mut wbt = begun();
        assert_eq!(limits(&wbt), [16, 4]);
        let mut seen = Vec::new();
        for _ in 0..5 {
            window(&mut wbt, Some(Span(3 * MS)), 3);
            seen.push(limits(&wbt));
        }
        assert_eq!(seen, [[8, 2], [4, 1], [2, 1], [1, 1], [1, 1]]);
        assert_eq!(wbt.window, Span(1600 * MS / 35), "100 ms by the root of 5, in whole sixteenths");
        for _ in 0..4 {
            window(&mut wbt, Some(Span(MS)), 3);
        }
        assert_eq!(limits(&wbt), [16, 4]);
    }

    #[test]
    fn writes_alone_may_exceed_the_usual_limit_and_a_late_read_ends_that() {
        let mut wbt = begun();
        window(&mut wbt, None, 3);
        assert_eq!(limits(&wbt), [24, 6], "three quarters of the depth");
        window(&mut wbt, None, 3);
        assert_eq!(wbt.step, -1, "no further");
        window(&mut wbt, Some(Span(3 * MS)), 3);
        assert_eq!(limits(&wbt), [16, 4]);
    }

    /// A step up of a device of two commands is a limit of one.
    #[test]
    fn windows_without_io_pass_unseen_and_bring_the_limit_back() {
        let mut wbt = WriteBack::new(Span(2 * MS), 2, false);
        wbt.take(Time::ZERO, Kind::Write);
        window(&mut wbt, None, 3);
        assert_eq!((wbt.step, wbt.max), (-1, 1));
        wbt.completed(Time(150 * MS), RequestId(1), (Operation::Write, false), Span(MS));
        assert_eq!(wbt.window_ends(), None, "nothing to wait for");
        wbt.take(Time(10_000 * MS), Kind::Write);
        assert_eq!((wbt.step, wbt.max), (0, 2));
        assert_eq!(wbt.window_ends(), Some(Time(10_100 * MS)));
    }

    #[test]
    fn two_writes_prove_nothing_and_a_read_that_hangs_counts_as_late() {
        let mut wbt = begun();
        window(&mut wbt, Some(Span(3 * MS)), 2);
        assert_eq!(wbt.step, -1, "too few writes: taken as writes alone");
        wbt.issued(Time::ZERO, RequestId(9), Operation::Read);
        window(&mut wbt, None, 3);
        assert_eq!(wbt.step, 0);
    }

    #[test]
    fn with_a_write_cache_those_that_wait_go_on_when_none_is_in_flight() {
        for (has_cache, in_flight) in [(true, 0), (false, 6)] {
            let mut wbt = WriteBack::new(Span(2 * MS), 32, has_cache);
            while wbt.has_room(Time::ZERO, Kind::Write) {
                wbt.take(Time::ZERO, Kind::Write);
            }
            assert_eq!(wbt.in_flight[0], 16);
            while !wbt.has_room(Time::ZERO, Kind::Write) {
                wbt.completed(Time::ZERO, RequestId(1), (Operation::Write, false), Span(MS));
            }
            assert_eq!(wbt.in_flight[0], in_flight, "has cache: {has_cache}");
        }
    }

    #[test]
    fn a_device_that_takes_one_command_has_two_writes_and_goes_on_with_one() {
        let mut wbt = WriteBack::new(Span(2 * MS), 1, false);
        assert_eq!(limits(&wbt), [2, 1]);
        for _ in 0..2 {
            assert!(wbt.has_room(Time::ZERO, Kind::Write));
            wbt.take(Time::ZERO, Kind::Write);
        }
        assert!(!wbt.has_room(Time::ZERO, Kind::Write));
        wbt.completed(Time::ZERO, RequestId(1), (Operation::Write, false), Span(MS));
        assert!(wbt.has_room(Time::ZERO, Kind::Write), "one in flight is below the limit of two");
    }

    /// The timer may be late or early: a window ends at its end or after it, never before.
    #[test]
    fn a_window_ends_late_rather_than_early() {
        let late_read = |at: u64| {
            let mut wbt = begun();
            let end = wbt.window_ends().expect("a window");
            for _ in 0..3 {
                wbt.take(Time(end.0 - 2), Kind::Write);
                wbt.completed(Time(end.0 - 2), RequestId(1), (Operation::Write, false), Span(MS));
            }
            wbt.completed(Time(end.0 - 2), RequestId(0), (Operation::Read, true), Span(3 * MS));
            wbt.expire(Time(end.0 - 1 + at));
            limits(&wbt)
        };
        assert_eq!([0, 1, 2].map(late_read), [[16, 4], [8, 2], [8, 2]]);
    }
}
