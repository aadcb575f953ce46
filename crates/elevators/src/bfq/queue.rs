//! One queue: the synchronous requests of a process, or all asynchronous ones of one priority in a group.

use super::raising::Raise;
use crate::parts::fifo::Fifo;
use crate::parts::decaying_mean::Mean;
use crate::parts::sorted::Sorted;
use goodness_core::{IoClass, IoPriority, RequestId, Span, Submitter, Time};

/// Levels of a class.
const LEVELS: u32 = 8;
/// Number of asynchronous queues of a group: eight each in two classes, one in the idle class.
pub const SHARED: u32 = 2 * LEVELS + 1;
/// A queue counts as seeky if this many of its last 32 requests were seeks.
const SEEKS: u32 = 19;
/// Weight of think-time samples, in 256ths, above which the mean is trusted.
const THINKS: u64 = 80;
/// Returns in time after which a queue counts as bound by I/O again.
const IN_TIME: u32 = 120;

/// Weight used for raising an asynchronous queue.
pub const DEFAULT_WEIGHT: u64 = 40;

/// Number of the queue of asynchronous requests of a group.
pub fn shared(group: u32, priority: IoPriority) -> u32 {
    let level = u32::from(priority.level).min(LEVELS - 1);
    let place = match priority.class {
        IoClass::RealTime => level,
        IoClass::BestEffort => LEVELS + level,
        IoClass::Idle => 2 * LEVELS,
    };
    SHARED * group + place
}

/// Class and weight of a priority.
pub fn class_and_weight(priority: IoPriority) -> (usize, u64) {
    let class = match priority.class {
        IoClass::RealTime => 0,
        IoClass::BestEffort => 1,
        IoClass::Idle => 2,
    };
    (class, 10 * (8 - u64::from(priority.level.min(7))))
}

/// A queue's requests, and statistics of its process.
#[derive(Clone, Debug)]
pub struct Queue {
    /// True if its requests are synchronous.
    pub sync: bool,
    /// The process that began it, or another that uses it, if it is of one.
    pub of: Submitter,
    /// The device has requests of it that came before it moved to its group.
    pub moved: bool,
    /// I/O priority of its last request.
    pub priority: IoPriority,
    /// Waiting requests by sector.
    pub order: Sorted,
    /// Waiting requests by arrival.
    pub arrivals: Fifo,
    /// The one to be served next.
    pub next: Option<RequestId>,
    /// In the device.
    pub outstanding: u32,
    /// Most sectors per turn.
    pub max_budget: u64,
    /// It has requests, or is being served.
    pub busy: bool,
    /// It had its first request.
    pub begun: bool,
    /// True if its process has exited.
    pub exited: bool,
    /// Its service ended while the device idled for it without blocking others.
    pub awaited: bool,
    /// Its oldest request was looked at in this service.
    pub age_checked: bool,
    /// True if the soft real-time time is computed when its last outstanding request completes.
    pub drains: bool,
    /// It started in a large burst.
    pub in_burst: bool,
    /// Its raising.
    pub raise: Raise,
    /// Time it last had neither waiting nor outstanding requests; `None`: long ago.
    pub emptied: Option<Time>,
    /// Time its last outstanding request completed.
    pub completed: Option<Time>,
    /// End of the last request.
    pub end: u64,
    seeks: u32,
    think: Mean,
    io_bound: bool,
    in_time: u32,
    /// Most injected requests in the device while it is waited for.
    pub inject: u32,
    /// Service time of its first request after a pause without injected requests.
    pub alone: Option<Span>,
    /// Time the injection limit was last lowered or reset.
    pub inject_since: Time,
    /// Its contribution to the aggregates.
    pub counted: super::counts::Counted,
}

impl Queue {
    /// A queue without requests.
    pub fn new(sync: bool, now: Time, max_budget: u64) -> Queue {
        Queue {
            sync,
            of: Submitter(0),
            moved: false,
            priority: IoPriority::DEFAULT,
            order: Sorted::default(),
            arrivals: Fifo::default(),
            next: None,
            outstanding: 0,
            max_budget,
            busy: false,
            begun: false,
            exited: false,
            awaited: false,
            age_checked: false,
            drains: false,
            in_burst: false,
            raise: Raise::new(now),
            emptied: None,
            completed: None,
            end: 0,
            // The first request is almost certainly one.
            seeks: 1,
            think: Mean::default(),
            io_bound: true,
            in_time: 0,
            inject: 0,
            alone: None,
            inject_since: now,
            counted: super::counts::Counted::default(),
        }
    }

    /// True if most of its requests seek.
    pub fn is_seeky(&self) -> bool {
        self.seeks.count_ones() > SEEKS
    }

    /// True if all of its last 32 requests seeked.
    pub fn only_seeks(&self) -> bool {
        self.seeks == u32::MAX
    }

    /// Learns whether its newest request seeks.
    pub fn learn_seek(&mut self, seeks: bool) {
        self.seeks = self.seeks << 1 | u32::from(seeks);
    }

    /// True if its next request usually comes within `idle`.
    pub fn thinks_shortly(&self, idle: Span) -> bool {
        self.think.samples() <= THINKS || self.think.value() <= idle.0
    }

    /// Learns its think time, if it had nothing waiting and nothing outstanding.
    pub fn learn_think(&mut self, now: Time, idle: Span) {
        if self.outstanding > 0 || !self.order.is_empty() {
            return;
        }
        if let Some(completed) = self.completed {
            self.think.think(now.since(completed).0.min(2 * idle.0));
        }
    }

    /// True if it is I/O-bound: it submits again as soon as a request completes.
    pub fn is_io_bound(&self) -> bool {
        self.io_bound
    }

    /// Records that idling for it brought no request, after `service` of `budget` sectors.
    pub fn kept_waiting(&mut self, service: u64, budget: u64) {
        if service <= 2 * budget / 10 {
            self.io_bound = false;
        }
    }

    /// It has work again, either in time to continue its service or too late.
    pub fn returns(&mut self, in_time: bool) {
        self.in_time = if in_time { self.in_time + 1 } else { 0 };
        if !self.io_bound && self.in_time >= IN_TIME {
            self.io_bound = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_weighs_ten_for_each_level_below_eight() {
        let weight = |level| class_and_weight(IoPriority { level, ..IoPriority::DEFAULT }).1;
        assert_eq!([weight(0), weight(4), weight(7)], [80, DEFAULT_WEIGHT, 10]);
    }

    #[test]
    fn a_queue_is_seeky_once_20_of_its_last_32_requests_seek() {
        let mut queue = Queue::new(true, Time::ZERO, 1);
        (0..32).for_each(|_| queue.learn_seek(false));
        (0..19).for_each(|_| queue.learn_seek(true));
        assert!(!queue.is_seeky());
        queue.learn_seek(true);
        assert!(queue.is_seeky() && !queue.only_seeks());
        (0..13).for_each(|_| queue.learn_seek(false));
        assert!(!queue.is_seeky());
    }

    #[test]
    fn requests_nobody_waits_for_share_a_queue_by_priority() {
        let be = IoPriority::DEFAULT;
        let idle = |level| IoPriority { class: IoClass::Idle, level };
        assert_ne!(shared(0, be), shared(0, IoPriority { level: 5, ..be }));
        assert_eq!(shared(0, idle(0)), shared(0, idle(7)));
        let all = [IoClass::RealTime, IoClass::BestEffort, IoClass::Idle];
        let of = |group| (0..8).flat_map(move |level| all.map(|class| shared(group, IoPriority { class, level })));
        assert_eq!([of(0).max(), of(1).min()], [Some(SHARED - 1), Some(SHARED)], "groups share none");
    }

    #[test]
    fn long_thinking_is_noticed_at_the_third_sample() {
        let idle = Span::from_ms(8);
        let mut queue = Queue::new(true, Time::ZERO, 1);
        queue.completed = Some(Time::ZERO);
        for expected in [true, true, false] {
            queue.learn_think(Time(20_000_000), idle);
            assert_eq!(queue.thinks_shortly(idle), expected);
        }
    }
}
