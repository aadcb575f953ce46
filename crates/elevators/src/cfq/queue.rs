//! A queue: the synchronous requests of one process, or the asynchronous ones of all processes of equal priority.

use crate::parts::decaying_mean::Mean;
use crate::parts::fifo::Fifo;
use crate::parts::sorted::Sorted;
use goodness_core::{IoClass, IoPriority, Request, RequestId, Submitter};

/// Levels of a class.
pub const LEVELS: usize = 8;
/// Number of shared queues: one per level of real time and best effort, and one for idle.
pub const SHARED: usize = 2 * LEVELS + 1;
/// Mean seek in sectors above which a process counts as seeky.
const SEEKY: u64 = 131_072;
/// Sample weight, in 256ths, above which a mean is trusted: from the third sample on.
const BELIEVED: u64 = 80;

/// The list of service that a queue may be on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServiceList {
    /// Next in turn: the queues of the last visited level, and real-time ones.
    Current,
    /// Best effort, by level.
    Level(u8),
    /// Best effort, with requests still in flight.
    Busy,
    /// The idle class.
    Idle,
}

/// One queue. Times are jiffies.
#[derive(Clone, Debug)]
pub struct Queue {
    pub order: Sorted,
    pub arrivals: Fifo,
    pub next: Option<RequestId>,
    /// True if it belongs to a process.
    pub is_sync: bool,
    pub priority: IoPriority,
    /// The list of service it is on: on one exactly while requests wait.
    pub place: Option<ServiceList>,
    /// Time its last request completed or its slice ended; `None` if new.
    pub served: Option<u64>,
    /// Requests chosen and not complete.
    pub dispatched: u32,
    /// Requests allocated: reads, then others.
    pub allocated: [u32; 2],
    /// End of its slice; `None` until its first dispatch.
    pub slice_end: Option<u64>,
    /// The device is idle for its next request.
    pub is_awaited: bool,
    /// It got a slot beyond the limit in this slice.
    pub was_indulged: bool,
    /// The end of the slice waits for one more dispatch.
    pub must_dispatch: bool,
    /// An expired request went first in this slice.
    pub was_rescued: bool,
    /// True if the device may idle for it.
    pub has_idle_window: bool,
    pub pattern: AccessPattern,
}

/// Access pattern of a queue's process: mean think time and seek distance.
#[derive(Clone, Copy, Debug, Default)]
pub struct AccessPattern {
    pub think: Mean,
    seek: Mean,
    position: u64,
    /// Time its last synchronous request completed; initially its arrival time.
    pub last_completion: u64,
    pub has_exited: bool,
}

impl AccessPattern {
    /// Counts the think time (at most `think_max`) and the seek before `request`.
    pub fn update(&mut self, now: u64, think_max: u64, request: &Request) {
        self.think.think((now - self.last_completion).min(think_max));
        self.seek.seek(self.position.abs_diff(request.sector));
        self.position = request.end();
    }

    /// True if its mean seek is long, as far as known.
    #[inline]
    pub fn is_seeky(&self) -> bool {
        self.seek.samples() > BELIEVED && self.seek.value() > SEEKY
    }

    /// Mean think time, if known well enough.
    #[inline]
    pub fn think_time(&self) -> Option<u64> {
        (self.think.samples() > BELIEVED).then(|| self.think.value())
    }
}

impl Queue {
    /// A new queue at `now`.
    pub fn new(is_sync: bool, priority: IoPriority, now: u64) -> Queue {
        Queue {
            order: Sorted::default(),
            arrivals: Fifo::default(),
            next: None,
            is_sync,
            priority,
            place: None,
            served: None,
            dispatched: 0,
            allocated: [0; 2],
            slice_end: None,
            is_awaited: false,
            was_indulged: false,
            must_dispatch: false,
            was_rescued: false,
            has_idle_window: priority.class != IoClass::Idle,
            pattern: AccessPattern { last_completion: now, ..AccessPattern::default() },
        }
    }

    /// True if it is of the idle class.
    #[inline]
    pub fn is_idle_class(&self) -> bool {
        self.priority.class == IoClass::Idle
    }
}

/// A priority as CFQ stores it: idle counts as the last level.
pub fn stored(priority: IoPriority) -> IoPriority {
    let last = LEVELS as u8 - 1;
    let level = if priority.class == IoClass::Idle { last } else { priority.level.min(last) };
    IoPriority { level, ..priority }
}

/// The number of the queue for a process's synchronous requests.
#[inline]
pub fn of_process(submitter: Submitter) -> u32 {
    SHARED as u32 + submitter.0
}

/// The number of the queue for asynchronous requests of a stored priority.
#[inline]
pub fn shared(priority: IoPriority) -> u32 {
    let level = u32::from(priority.level);
    match priority.class {
        IoClass::RealTime => level,
        IoClass::BestEffort => LEVELS as u32 + level,
        IoClass::Idle => 2 * LEVELS as u32,
    }
}

/// The priority of a shared queue.
pub fn shared_priority(number: usize) -> IoPriority {
    let level = (number % LEVELS) as u8;
    match number / LEVELS {
        0 => IoPriority { class: IoClass::RealTime, level },
        1 => IoPriority { class: IoClass::BestEffort, level },
        _ => stored(IoPriority { class: IoClass::Idle, level }),
    }
}

/// Slice lengths in jiffies, and request limits of asynchronous slices.
#[derive(Clone, Copy, Debug)]
pub struct Slices {
    /// For level 4: asynchronous, synchronous.
    pub base: [u64; 2],
    /// Half the requests of an asynchronous slice of the last level.
    pub async_requests: u64,
}

impl Slices {
    /// Length of a slice: a fifth more per level above the fourth, a fifth less per level below.
    pub fn length(&self, is_sync: bool, level: u8) -> u64 {
        let base = self.base[usize::from(is_sync)];
        let step = base / 5;
        (base + 4 * step).saturating_sub(step * u64::from(level))
    }

    /// Requests of an asynchronous slice.
    pub fn requests(&self, level: u8) -> u64 {
        2 * self.async_requests * (LEVELS as u64 - u64::from(level))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slices_of_the_levels() {
        // T-CFQ3-1
        let slices = Slices { base: [40, 100], async_requests: 2 };
        let table = |of: &dyn Fn(u8) -> u64| (0..8).map(of).collect::<Vec<u64>>();
        assert_eq!(table(&|level| slices.length(true, level)), [180, 160, 140, 120, 100, 80, 60, 40]);
        assert_eq!(table(&|level| slices.length(false, level)), [72, 64, 56, 48, 40, 32, 24, 16]);
        // 2 (2 + 2 (7 - level)).
        assert_eq!(table(&|level| slices.requests(level)), [32, 28, 24, 20, 16, 12, 8, 4]);
    }

    #[test]
    fn at_hz_100_asynchronous_slices_are_all_alike() {
        let slices = Slices { base: [4, 10], async_requests: 2 };
        assert_eq!([0, 4, 7].map(|level| slices.length(false, level)), [4, 4, 4]);
        assert_eq!([0, 4, 7].map(|level| slices.length(true, level)), [18, 10, 4]);
    }

    #[test]
    fn each_shared_queue_has_its_priority() {
        assert!((0..SHARED).all(|number| shared(shared_priority(number)) as usize == number));
        assert_eq!(shared_priority(SHARED - 1), IoPriority { class: IoClass::Idle, level: 7 });
    }

    #[test]
    fn a_mean_is_believed_from_the_third_sample_on() {
        let mut pattern = AccessPattern::default();
        let request = |sector| {
            let io = goodness_core::Io::read(Submitter(0), sector, 8);
            Request::of(&io, goodness_core::Time::ZERO)
        };
        pattern.update(0, 16, &request(1 << 22));
        pattern.update(20, 16, &request(0));
        assert_eq!((pattern.think_time(), pattern.is_seeky()), (None, false));
        pattern.update(20, 16, &request(1 << 22));
        assert_eq!((pattern.think_time(), pattern.is_seeky()), (Some(12), true));
    }
}
