//! Which queue a submitter's requests join: its own, or that of one which began just before it.
//!
//! Processes that begin together, as the threads of one program do, most often work together. On a device that queues and
//! does not seek they share the queue of the first of them, and none of them is served at the cost of another (Linux 5.13:
//! early stable merging). Who shares a queue stays with it.

use super::queue;
use goodness_core::{IoPriority, Span, Submitter, Time};

/// Who begins so soon after the first shares its queue.
const TOGETHER: Span = Span::from_ms(180);
/// After so long, whoever begins is a first one.
const ANEW: Span = Span::from_ms(600);

/// The first of those that begin together.
#[derive(Clone, Copy, Debug)]
struct First {
    number: u32,
    began: Time,
    priority: IoPriority,
}

/// The queues of all submitters.
#[derive(Clone, Debug, Default)]
pub struct Sharing {
    /// By submitter: the number of its queue, once it has one.
    queues: Vec<Option<u32>>,
    /// By queue: who shares it.
    sharers: Vec<u32>,
    first: Option<First>,
}

impl Sharing {
    /// The queue of `submitter`, if it has one.
    pub fn queue_of(&self, submitter: Submitter) -> Option<u32> {
        self.queues.get(submitter.0 as usize).copied().flatten()
    }

    /// The queue of `submitter`, which begins now if it has none. `may_share`: the device is of the kind where it may share.
    pub fn enrol(&mut self, now: Time, submitter: Submitter, priority: IoPriority, may_share: bool) -> u32 {
        if let Some(number) = self.queue_of(submitter) {
            return number;
        }
        let own = queue::number(true, submitter, priority);
        let number = match self.first {
            Some(first) if may_share && first.is_joined(now, priority) => first.number,
            Some(first) if now.since(first.began) <= ANEW && first.priority == priority => own,
            _ => {
                self.first = Some(First { number: own, began: now, priority });
                own
            }
        };
        let submitter = submitter.0 as usize;
        if self.queues.len() <= submitter {
            self.queues.resize(submitter + 1, None);
        }
        self.queues[submitter] = Some(number);
        if self.sharers.len() <= number as usize {
            self.sharers.resize(number as usize + 1, 0);
        }
        self.sharers[number as usize] += 1;
        number
    }

    /// `submitter` is gone: its queue, if nobody else shares it.
    pub fn leaves(&mut self, submitter: Submitter) -> Option<u32> {
        let number = self.queues.get_mut(submitter.0 as usize)?.take()?;
        let sharers = &mut self.sharers[number as usize];
        *sharers -= 1;
        if *sharers > 0 {
            return None;
        }
        self.first = self.first.filter(|first| first.number != number);
        Some(number)
    }
}

impl First {
    fn is_joined(self, now: Time, priority: IoPriority) -> bool {
        self.priority == priority && now.since(self.began) <= TOGETHER
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BE: IoPriority = IoPriority::DEFAULT;

    fn at(ms: u64) -> Time {
        Time(ms * 1_000_000)
    }

    #[test]
    fn who_begins_within_180_ms_of_the_first_shares_its_queue() {
        let mut sharing = Sharing::default();
        let mut begin = |ms, who| sharing.enrol(at(ms), Submitter(who), BE, true);
        let first = begin(0, 0);
        assert_eq!([begin(100, 1), begin(180, 2)], [first; 2]);
        assert_ne!(begin(181, 3), first, "counted from the first, not from the last");
        let second = begin(601, 4);
        assert_eq!(begin(700, 5), second);
        assert_eq!(begin(10_000, 1), first, "who has a queue stays with it");
    }

    #[test]
    fn other_priorities_and_devices_that_seek_keep_queues_apart() {
        let mut sharing = Sharing::default();
        let first = sharing.enrol(at(0), Submitter(0), BE, true);
        assert_ne!(sharing.enrol(at(1), Submitter(1), BE, false), first);
        assert_ne!(sharing.enrol(at(1), Submitter(2), IoPriority { level: 0, ..BE }, true), first);
    }

    #[test]
    fn a_queue_is_left_when_its_last_sharer_is_gone() {
        let mut sharing = Sharing::default();
        let first = sharing.enrol(at(0), Submitter(0), BE, true);
        sharing.enrol(at(0), Submitter(1), BE, true);
        assert_eq!(sharing.leaves(Submitter(0)), None);
        assert_eq!(sharing.leaves(Submitter(1)), Some(first));
        assert_eq!(sharing.leaves(Submitter(1)), None, "it is gone already");
        let next = sharing.enrol(at(1), Submitter(2), BE, true);
        assert_ne!(next, first, "nobody joins a queue that was left");
    }
}
