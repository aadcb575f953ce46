//! Assigns submitters to queues: their own, or that of one that started just before.
//!
//! Processes that start together, like the threads of a program, mostly work together. On a device that queues and does
//! not seek, they share the queue of the first, so that none is served at another's cost (Linux 5.13: early stable
//! merging). On any other device each starts with its own; one that within 600 ms gains nothing from being served alone
//! then joins the first one's queue (late stable merging). Sharing is permanent, and for processes of one group.

use super::queue;
use goodness_core::{IoPriority, Span, Submitter, Time};

/// Time after the first within which a process shares its queue.
const TOGETHER: Span = Span::from_ms(180);
/// Time after which a starting process counts as a first one again.
const ANEW: Span = Span::from_ms(600);
/// Observation time before a queue may be given up for that of the first.
const LATE: Span = Span::from_ms(600);

/// The first of several processes that start together.
#[derive(Clone, Copy, Debug)]
struct First {
    number: u32,
    began: Time,
    priority: IoPriority,
}

/// A queue under observation.
#[derive(Clone, Copy, Debug)]
struct Watched {
    began: Time,
    /// The queue to join.
    first: u32,
}

/// Queues by submitter.
#[derive(Clone, Debug)]
pub struct Sharing {
    /// Queue number by submitter, if assigned.
    queues: Vec<Option<u32>>,
    /// Number of users of each queue.
    sharers: Vec<u32>,
    /// The group of each queue that has users.
    groups: Vec<u32>,
    /// By submitter: whether its queue is watched.
    watched: Vec<Option<Watched>>,
    /// By group.
    first: Vec<Option<First>>,
}

impl Sharing {
    /// Nobody has a queue, in any of so many groups.
    pub fn new(groups: u32) -> Sharing {
        let first = vec![None; groups as usize];
        Sharing { queues: Vec::new(), sharers: Vec::new(), groups: Vec::new(), watched: Vec::new(), first }
    }

    /// The queue of `submitter`, if it has one.
    pub fn queue_of(&self, submitter: Submitter) -> Option<u32> {
        self.queues.get(submitter.0 as usize).copied().flatten()
    }

    /// The queue of `submitter`, which starts now in `group` if it has none, and whether it is the first user of that.
    /// `may_share`: the device allows sharing.
    pub fn enrol(
        &mut self,
        now: Time,
        submitter: Submitter,
        (group, priority): (u32, IoPriority),
        may_share: bool,
    ) -> (u32, bool) {
        if let Some(number) = self.queue_of(submitter) {
            return (number, false);
        }
        let own = self.own(submitter, group);
        let number = match self.first[group as usize] {
            Some(first) if may_share && first.is_joined(now, priority) => first.number,
            Some(first) if first.is_joined(now, priority) => {
                self.watch(submitter, Watched { began: now, first: first.number });
                own
            }
            Some(first) if now.since(first.began) <= ANEW && first.priority == priority => own,
            _ => {
                self.first[group as usize] = Some(First { number: own, began: now, priority });
                own
            }
        };
        self.join(submitter, number);
        self.groups[number as usize] = group;
        (number, self.sharers[number as usize] == 1)
    }

    /// The number of an own queue of `submitter`. Where others use that in another group, which it has left, it is a
    /// number that nobody uses: one of theirs, as they share.
    fn own(&self, submitter: Submitter, group: u32) -> u32 {
        let first = queue::SHARED * self.first.len() as u32;
        let is_free = |number: &u32| self.sharers.get(*number as usize).is_none_or(|sharers| *sharers == 0);
        let own = first + submitter.0;
        if is_free(&own) || self.groups[own as usize] == group { own } else { (first..).find(is_free).unwrap_or(own) }
    }

    /// The first process that uses the queue.
    pub fn user_of(&self, number: u32) -> Option<Submitter> {
        let place = self.queues.iter().position(|queue| *queue == Some(number))?;
        Some(Submitter(place as u32))
    }

    /// True if more than one process uses the queue.
    pub fn is_shared(&self, number: u32) -> bool {
        self.sharers[number as usize] > 1
    }

    /// `submitter`, the only user of its queue, has moved to another group with it.
    pub fn moves_alone(&mut self, submitter: Submitter, number: u32, group: u32) {
        self.leaves(submitter);
        self.join(submitter, number);
        self.groups[number as usize] = group;
    }

    /// For a submitter that started with another and was observed long enough: its queue and that of the first, if that
    /// still has a user. Returned once; call [`Sharing::moves`] if it should join.
    pub fn take_due(&mut self, now: Time, submitter: Submitter) -> Option<(u32, u32)> {
        let watched = self.watched.get_mut(submitter.0 as usize)?;
        let Watched { first, .. } = watched.take_if(|watched| now.since(watched.began) > LATE)?;
        let has_sharers = self.sharers[first as usize] > 0;
        self.queue_of(submitter).filter(|own| has_sharers && *own != first).map(|own| (own, first))
    }

    /// Moves `submitter` to queue `number`. Returns its old queue if that has no other user.
    pub fn moves(&mut self, submitter: Submitter, number: u32) -> Option<u32> {
        let given_up = self.leaves(submitter);
        self.join(submitter, number);
        given_up
    }

    fn watch(&mut self, submitter: Submitter, watched: Watched) {
        let submitter = submitter.0 as usize;
        if self.watched.len() <= submitter {
            self.watched.resize(submitter + 1, None);
        }
        self.watched[submitter] = Some(watched);
    }

    fn join(&mut self, submitter: Submitter, number: u32) {
        let submitter = submitter.0 as usize;
        if self.queues.len() <= submitter {
            self.queues.resize(submitter + 1, None);
        }
        self.queues[submitter] = Some(number);
        if self.sharers.len() <= number as usize {
            self.sharers.resize(number as usize + 1, 0);
            self.groups.resize(number as usize + 1, 0);
        }
        self.sharers[number as usize] += 1;
    }

    /// `submitter` has exited. Returns its queue if that has no other user.
    pub fn leaves(&mut self, submitter: Submitter) -> Option<u32> {
        let number = self.queues.get_mut(submitter.0 as usize)?.take()?;
        if let Some(watched) = self.watched.get_mut(submitter.0 as usize) {
            *watched = None;
        }
        let sharers = &mut self.sharers[number as usize];
        *sharers -= 1;
        if *sharers > 0 {
            return None;
        }
        let first = &mut self.first[self.groups[number as usize] as usize];
        *first = first.filter(|first| first.number != number);
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
        let mut sharing = Sharing::new(1);
        let mut begin = |ms, who| sharing.enrol(at(ms), Submitter(who), (0, BE), true).0;
        let first = begin(0, 0);
        assert_eq!([begin(100, 1), begin(180, 2)], [first; 2]);
        assert_ne!(begin(181, 3), first, "counted from the first, not from the last");
        let second = begin(601, 4);
        assert_eq!(begin(700, 5), second);
        assert_eq!(begin(10_000, 1), first, "who has a queue stays with it");
    }

    #[test]
    fn other_priorities_and_devices_that_seek_keep_queues_apart() {
        let mut sharing = Sharing::new(1);
        let first = sharing.enrol(at(0), Submitter(0), (0, BE), true).0;
        assert_ne!(sharing.enrol(at(1), Submitter(1), (0, BE), false).0, first);
        assert_ne!(sharing.enrol(at(1), Submitter(2), (0, IoPriority { level: 0, ..BE }), true).0, first);
    }

    #[test]
    fn on_a_device_that_seeks_who_began_with_another_is_asked_once_after_600_ms_whether_it_joins() {
        let mut sharing = Sharing::new(1);
        let mut begin = |ms, who| sharing.enrol(at(ms), Submitter(who), (0, BE), false).0;
        let queues = [begin(0, 0), begin(180, 1), begin(181, 2)];
        assert_eq!(sharing.take_due(at(780), Submitter(1)), None);
        assert_eq!(sharing.take_due(at(9_000), Submitter(0)), None, "the first has nobody to join");
        assert_eq!(sharing.take_due(at(9_000), Submitter(2)), None, "it did not begin with the first");
        assert_eq!(sharing.take_due(at(781), Submitter(1)), Some((queues[1], queues[0])));
        assert_eq!(sharing.take_due(at(9_000), Submitter(1)), None, "it was asked");
        assert_eq!(sharing.moves(Submitter(1), queues[0]), Some(queues[1]), "nobody is left in its own");
        assert_eq!(sharing.leaves(Submitter(0)), None);
        assert_eq!(sharing.leaves(Submitter(1)), Some(queues[0]));
    }

    #[test]
    fn nobody_joins_late_whom_the_first_has_left_or_who_left_itself() {
        let mut sharing = Sharing::new(1);
        let mut begin = |ms, who| sharing.enrol(at(ms), Submitter(who), (0, BE), false).0;
        let (_, own) = (begin(0, 0), begin(0, 1));
        begin(0, 2);
        sharing.leaves(Submitter(0));
        assert_eq!(sharing.take_due(at(601), Submitter(1)), None);
        assert_eq!(sharing.queue_of(Submitter(1)), Some(own));
        sharing.leaves(Submitter(2));
        sharing.enrol(at(650), Submitter(2), (0, BE), false);
        assert_eq!(sharing.take_due(at(9_000), Submitter(2)), None);
    }

    #[test]
    fn a_queue_is_left_when_its_last_sharer_is_gone() {
        let mut sharing = Sharing::new(1);
        let first = sharing.enrol(at(0), Submitter(0), (0, BE), true).0;
        sharing.enrol(at(0), Submitter(1), (0, BE), true);
        assert_eq!(sharing.leaves(Submitter(0)), None);
        assert_eq!(sharing.leaves(Submitter(1)), Some(first));
        assert_eq!(sharing.leaves(Submitter(1)), None, "it is gone already");
        let next = sharing.enrol(at(1), Submitter(2), (0, BE), true).0;
        assert_ne!(next, first, "nobody joins a queue that was left");
    }

    #[test]
    fn processes_of_two_groups_share_nothing_and_who_leaves_a_group_gets_a_queue_that_nobody_uses() {
        let mut sharing = Sharing::new(2);
        let first = sharing.enrol(at(0), Submitter(0), (0, BE), true);
        assert_eq!(sharing.enrol(at(1), Submitter(1), (0, BE), true), (first.0, false));
        let other = sharing.enrol(at(1), Submitter(2), (1, BE), true);
        assert!(first.1 && other.1 && other.0 != first.0);
        assert!(sharing.is_shared(first.0) && !sharing.is_shared(other.0));
        assert_eq!(sharing.leaves(Submitter(0)), None);
        let (number, begins) = sharing.enrol(at(900), Submitter(0), (1, BE), true);
        assert!(begins && number != first.0 && number != other.0);
        assert_eq!(number, other.0 - 1, "that of the process which shares");
    }

    #[test]
    fn nobody_joins_a_first_that_has_moved_to_another_group() {
        for (moves, joins) in [(false, true), (true, false)] {
            let mut sharing = Sharing::new(2);
            let first = sharing.enrol(at(0), Submitter(0), (0, BE), true).0;
            if moves {
                sharing.moves_alone(Submitter(0), first, 1);
            }
            assert_eq!(sharing.enrol(at(1), Submitter(1), (0, BE), true).0 == first, joins);
        }
    }
}
