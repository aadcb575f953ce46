//! Weight raising: queues of delay-sensitive processes temporarily get more weight.
//!
//! An *interactive* queue is new or was idle for long: a program that starts or responds. A *soft real-time* queue
//! requests little at a time and pauses: playing or recording. Queues that start in a large burst (boot, build) are
//! neither.

use goodness_core::{Span, Time};

const INTERACTIVE: u64 = 30;
const SOFT_REAL_TIME: u64 = 3000;
/// For how long a soft real-time queue is raised.
const SOFT_TIME: Span = Span::from_ms(300);
/// A queue idle for so long may be interactive again.
pub const LONG_IDLE: Span = Span::from_s(2);
/// After so long, its burst is forgotten.
const BURST_OVER: Span = Span::from_s(10);
/// Pause after which asynchronous requests are raised.
const ASYNC_PAUSE: Span = Span::from_ms(500);
/// Most sectors per second of a soft real-time queue.
const SOFT_RATE: u64 = 7000;
/// Sectors after which an interactive queue counts as loaded.
const ENOUGH: u64 = 120_000;

/// Reason a queue is raised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// New, or idle for long.
    Interactive,
    /// Little at a time, with pauses.
    SoftRealTime,
}

/// Evidence for raising a queue that has work again.
#[derive(Clone, Copy, Debug)]
pub struct Signs {
    /// It is eligible: its requests are synchronous, or it is raised already.
    pub may: bool,
    /// It was idle for long.
    pub interactive: bool,
    /// It paused long enough for its service.
    pub soft: bool,
    /// It started in a large burst.
    pub in_burst: bool,
}

/// A queue's raising.
#[derive(Clone, Copy, Debug)]
pub struct Raise {
    kind: Option<Kind>,
    /// Start of raising; if not raised, the time the queue last had work or its last raising ended.
    since: Time,
    lasts: Span,
    /// While soft real-time: start of the previous interactive raising.
    interactive_since: Option<Time>,
    /// Sectors served while raised.
    service: u64,
    /// Earliest next request that still counts as soft real-time.
    soft_next: Time,
    /// Time the queue became backlogged, and sectors served since.
    backlogged: Time,
    backlog_service: u64,
}

impl Raise {
    /// Not raised.
    pub fn new(now: Time) -> Raise {
        Raise {
            kind: None,
            since: now,
            lasts: Span::ZERO,
            interactive_since: None,
            service: 0,
            soft_next: now,
            backlogged: now,
            backlog_service: 0,
        }
    }

    /// By how much the weight is multiplied.
    pub fn factor(&self) -> u64 {
        match self.kind {
            None => 1,
            Some(Kind::Interactive) => INTERACTIVE,
            Some(Kind::SoftRealTime) => SOFT_REAL_TIME,
        }
    }

    /// True if it is raised.
    pub fn is_raised(&self) -> bool {
        self.kind.is_some()
    }

    /// Reason it is raised.
    pub fn kind(&self) -> Option<Kind> {
        self.kind
    }

    /// True if the queue has paused for as long as its service takes at the soft real-time rate.
    pub fn has_paused(&self, now: Time) -> bool {
        now > self.soft_next
    }

    /// Called when the queue has no requests and none outstanding: computes when its next one would count as soft
    /// real-time. The pause is longer than idling, so that a greedy queue that falls silent does not qualify.
    pub fn drained(&mut self, now: Time, slice_idle: Span, jiffy: Span) {
        let pause = u128::from(self.backlog_service) * 1_000_000_000 / u128::from(SOFT_RATE);
        let paced = self.backlogged + Span(pause as u64);
        self.soft_next = self.soft_next.max(paced).max(now + Span(slice_idle.0 + 4 * jiffy.0));
    }

    /// The queue has work again. `interactive` is how long interactive raising lasts now.
    pub fn backlogged(&mut self, now: Time, signs: Signs, interactive: Span) {
        (self.backlogged, self.backlog_service) = (now, 0);
        let was_raised = self.is_raised();
        match self.kind {
            None if !signs.may => {}
            None if signs.interactive => self.begin_interactive(now, interactive),
            None if signs.soft => {
                self.interactive_since = None;
                (self.kind, self.lasts) = (Some(Kind::SoftRealTime), SOFT_TIME);
            }
            None => {}
            Some(_) if signs.interactive => (self.kind, self.lasts) = (Some(Kind::Interactive), interactive),
            Some(_) if signs.in_burst => self.kind = None,
            Some(kind) if signs.soft => {
                if kind == Kind::Interactive {
                    self.interactive_since = Some(self.since);
                    (self.kind, self.lasts) = (Some(Kind::SoftRealTime), SOFT_TIME);
                }
                self.since = now;
            }
            Some(_) => {}
        }
        if !was_raised || !self.is_raised() || signs.interactive {
            self.since = now;
        }
    }

    fn begin_interactive(&mut self, now: Time, lasts: Span) {
        (self.kind, self.since, self.lasts, self.service) = (Some(Kind::Interactive), now, lasts, 0);
    }

    /// An asynchronous request joins others; after a pause, the queue is raised.
    pub fn joined_async(&mut self, now: Time, interactive: Span) {
        if !self.is_raised() && now.since(self.since) > ASYNC_PAUSE {
            self.begin_interactive(now, interactive);
        }
    }

    /// Adds a request to others of its queue.
    pub fn joined(&mut self, now: Time) {
        if !self.is_raised() {
            self.since = now;
        }
    }

    /// Counts served sectors.
    pub fn served(&mut self, sectors: u64) {
        self.backlog_service += sectors;
        if self.is_raised() {
            self.service += sectors;
        }
    }

    /// Starts service of the queue, which waited since `waited`. Waiting does not count as soft real-time raising.
    pub fn begins(&mut self, now: Time, waited: Option<Time>) {
        if self.kind == Some(Kind::SoftRealTime) && now > self.since {
            let waited = waited.filter(|waited| *waited > self.since);
            self.since = waited.map_or(now, |waited| self.since + now.since(waited));
        }
    }

    /// A turn ends while the queue is not raised.
    pub fn expired(&mut self, now: Time) {
        if !self.is_raised() {
            self.since = now;
        }
    }

    /// Ends raising that has lasted long enough, or was for a queue of a large burst.
    pub fn check(&mut self, now: Time, in_burst: bool, interactive: Span) {
        let Some(kind) = self.kind else { return };
        let is_over = now > self.since + self.lasts;
        let back = self.interactive_since.filter(|since| now <= *since + interactive);
        match (kind, back) {
            _ if in_burst => self.end(now),
            (Kind::SoftRealTime, Some(since)) if is_over => {
                (self.kind, self.since, self.lasts) = (Some(Kind::Interactive), since, interactive);
            }
            _ if is_over => self.end(now),
            _ => {}
        }
        if self.kind == Some(Kind::Interactive) && self.service > ENOUGH {
            self.end(now);
        }
    }

    fn end(&mut self, now: Time) {
        (self.kind, self.since) = (None, now);
    }
}

/// True if a queue that was empty since `emptied` has been idle for so long that its burst is over.
pub fn is_burst_over(now: Time, emptied: Option<Time>) -> bool {
    emptied.is_some_and(|emptied| now.since(emptied) > BURST_OVER)
}

/// Queues that started shortly after each other.
#[derive(Clone, Debug, Default)]
pub struct Burst {
    members: [u32; Burst::LARGE],
    size: usize,
    last: Option<Time>,
    /// The group of all of them.
    group: u32,
}

impl Burst {
    /// Number of queues in a large burst.
    const LARGE: usize = 8;
    /// The longest gap within a burst.
    const GAP: Span = Span::from_ms(180);

    /// A new queue of `group` has its first request. Returns the queues now known to belong to a large burst.
    pub fn begins(&mut self, now: Time, queue: u32, group: u32) -> &[u32] {
        let goes_on = self.group == group && self.last.is_some_and(|last| now.since(last) <= Burst::GAP);
        (self.last, self.group) = (Some(now), group);
        if !goes_on {
            self.size = 0;
        }
        self.members[self.size.min(Burst::LARGE - 1)] = queue;
        self.size += 1;
        match self.size {
            ..Burst::LARGE => &[],
            Burst::LARGE => &self.members,
            _ => &self.members[Burst::LARGE - 1..],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEW: Signs = Signs { may: true, interactive: true, soft: false, in_burst: false };
    const SOFT: Signs = Signs { interactive: false, soft: true, ..NEW };
    const LASTS: Span = Span::from_ms(10_500);

    fn ms(ms: u64) -> Time {
        Time(1_000_000 * ms)
    }

    #[test]
    fn an_interactive_queue_weighs_30_times_as_much_for_its_time() {
        let mut raise = Raise::new(ms(0));
        raise.backlogged(ms(5), NEW, LASTS);
        assert_eq!(raise.factor(), 30);
        raise.check(ms(10_505), false, LASTS);
        assert_eq!(raise.factor(), 30);
        raise.check(ms(10_506), false, LASTS);
        assert_eq!(raise.factor(), 1);
    }

    #[test]
    fn interactive_raising_ends_after_120_000_sectors() {
        let mut raise = Raise::new(ms(0));
        raise.backlogged(ms(5), NEW, LASTS);
        raise.served(120_000);
        raise.check(ms(6), false, LASTS);
        assert_eq!(raise.factor(), 30);
        raise.served(8);
        raise.check(ms(6), false, LASTS);
        assert_eq!(raise.factor(), 1);
    }

    #[test]
    fn a_soft_real_time_queue_weighs_3000_times_as_much_for_300_ms_from_its_last_return() {
        let mut raise = Raise::new(ms(0));
        raise.backlogged(ms(100), SOFT, LASTS);
        raise.backlogged(ms(300), SOFT, LASTS);
        raise.check(ms(600), false, LASTS);
        assert_eq!((raise.factor(), raise.kind()), (3000, Some(Kind::SoftRealTime)));
        raise.check(ms(601), false, LASTS);
        assert_eq!(raise.factor(), 1);
    }

    #[test]
    fn soft_real_time_raising_falls_back_to_interactive_while_that_lasts() {
        let mut raise = Raise::new(ms(0));
        raise.backlogged(ms(0), NEW, LASTS);
        raise.backlogged(ms(1000), SOFT, LASTS);
        assert_eq!(raise.factor(), 3000);
        raise.check(ms(1301), false, LASTS);
        assert_eq!(raise.factor(), 30);
        raise.check(ms(10_501), false, LASTS);
        assert_eq!(raise.factor(), 1);
    }

    #[test]
    fn soft_real_time_is_who_asks_for_7000_sectors_a_second_at_most() {
        let (idle, jiffy) = (Span::from_ms(8), Span::from_ms(1));
        let mut raise = Raise::new(ms(0));
        raise.backlogged(ms(100), Signs { may: false, ..NEW }, LASTS);
        raise.served(700);
        raise.drained(ms(110), idle, jiffy);
        assert_eq!([raise.has_paused(ms(200)), raise.has_paused(ms(201))], [false, true]);
        raise.drained(ms(300), idle, jiffy);
        assert_eq!([raise.has_paused(ms(312)), raise.has_paused(ms(313))], [false, true]);
    }

    #[test]
    fn eight_queues_that_begin_within_180_ms_of_each_other_are_a_large_burst() {
        let mut burst = Burst::default();
        for queue in 0..7 {
            assert_eq!(burst.begins(ms(180 * u64::from(queue)), queue, 0), []);
        }
        assert_eq!(burst.begins(ms(1260), 7, 0), [0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(burst.begins(ms(1270), 8, 0), [8]);
        assert_eq!(burst.begins(ms(1271), 9, 1), [], "another group's");
        assert_eq!(burst.begins(ms(1452), 9, 1), []);
    }

    #[test]
    fn write_back_after_half_a_second_without_is_raised() {
        let mut raise = Raise::new(ms(0));
        raise.joined_async(ms(500), LASTS);
        assert!(!raise.is_raised());
        raise.joined_async(ms(501), LASTS);
        assert_eq!(raise.kind(), Some(Kind::Interactive));
    }

    #[test]
    fn waiting_for_service_does_not_shorten_soft_real_time() {
        let mut raise = Raise::new(ms(0));
        raise.backlogged(ms(100), SOFT, LASTS);
        raise.begins(ms(350), Some(ms(150)));
        raise.check(ms(600), false, LASTS);
        assert!(raise.is_raised());
        raise.check(ms(601), false, LASTS);
        assert!(!raise.is_raised());
    }
}
