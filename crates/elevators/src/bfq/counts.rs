//! Aggregates over all queues: busy ones per class, raised ones, different weights, busy groups, and whether the device
//! has a queue of its own.

use super::wf2q::CLASSES;

/// Counted attributes of a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// Its class, while it is busy.
    pub busy: Option<usize>,
    /// It is busy and raised.
    pub raised: bool,
    /// Its weight in tens, while it is busy or has requests outstanding and is not raised.
    pub weight: Option<usize>,
    /// The group it is in, while it is busy or has requests outstanding.
    pub group: Option<u32>,
}

/// The counts.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    busy: [u32; CLASSES],
    raised: u32,
    weights: [u32; 9],
    /// By group: its queues that count.
    queues: Vec<u32>,
    /// Groups with such queues.
    groups: u32,
}

impl Counts {
    /// Nothing counted, of this many groups.
    pub fn new(groups: usize) -> Counts {
        Counts { queues: vec![0; groups], ..Counts::default() }
    }

    /// Counts a queue as `new`, that was counted as `old`.
    pub fn replace(&mut self, old: Counted, new: Counted) {
        if let Some(class) = old.busy {
            self.busy[class] -= 1;
        }
        if let Some(class) = new.busy {
            self.busy[class] += 1;
        }
        if let Some(weight) = old.weight {
            self.weights[weight] -= 1;
        }
        if let Some(weight) = new.weight {
            self.weights[weight] += 1;
        }
        if old.group != new.group {
            self.regroup(old.group, new.group);
        }
        self.raised = self.raised + u32::from(new.raised) - u32::from(old.raised);
    }

    fn regroup(&mut self, old: Option<u32>, new: Option<u32>) {
        if let Some(group) = old {
            let queues = &mut self.queues[group as usize];
            *queues -= 1;
            self.groups -= u32::from(*queues == 0);
        }
        if let Some(group) = new {
            let queues = &mut self.queues[group as usize];
            self.groups += u32::from(*queues == 0);
            *queues += 1;
        }
    }

    /// Busy queues.
    pub fn busy(&self) -> u32 {
        self.busy.iter().sum()
    }

    /// Number of raised queues.
    pub fn raised(&self) -> u32 {
        self.raised
    }

    /// True if shares need protection: weights differ and `weight` (in tens) is not the smallest, or several classes
    /// or groups are busy.
    pub fn are_asymmetric(&self, weight: Option<usize>) -> bool {
        let mut present = (0..self.weights.len()).filter(|weight| self.weights[*weight] > 0);
        let smallest = present.next();
        let differ = present.next().is_some() && (weight.is_none() || weight != smallest);
        differ || self.groups > 1 || self.busy.iter().filter(|count| **count > 0).count() > 1
    }
}

/// Detects whether the device takes several commands at a time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Queueing {
    /// `None`: unknown, treated as true.
    verdict: Option<bool>,
    deepest: u32,
    samples: u32,
}

impl Queueing {
    /// Number of outstanding requests at which a queueing device shows it.
    const THRESHOLD: u32 = 3;
    const SAMPLES: u32 = 32;

    /// True if the device queues commands, or is not known not to.
    pub fn is_queueing(&self) -> bool {
        self.verdict != Some(false)
    }

    /// Samples a completion: `in_device` requests including this one, `waiting` ones here. `held_back`: the queue in
    /// service keeps the device from getting more.
    pub fn sample(&mut self, in_device: u32, waiting: u32, held_back: bool) {
        self.deepest = self.deepest.max(in_device);
        if in_device + waiting <= Queueing::THRESHOLD || held_back && in_device < Queueing::THRESHOLD {
            return;
        }
        self.samples += 1;
        if self.samples > Queueing::SAMPLES {
            self.verdict = Some(self.deepest > Queueing::THRESHOLD);
            (self.deepest, self.samples) = (0, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_queue_of_the_smallest_weight_needs_no_care() {
        let mut counts = Counts::new(1);
        let counted = |weight| Counted { busy: Some(1), weight: Some(weight), ..Counted::default() };
        counts.replace(Counted::default(), counted(4));
        counts.replace(Counted::default(), counted(4));
        assert!(!counts.are_asymmetric(Some(4)));
        counts.replace(counted(4), counted(8));
        assert_eq!([counts.are_asymmetric(Some(4)), counts.are_asymmetric(Some(8))], [false, true]);
        counts.replace(counted(8), Counted { busy: Some(0), ..Counted::default() });
        assert!(counts.are_asymmetric(Some(4)), "two classes");
    }

    #[test]
    fn shares_need_care_while_more_than_one_group_is_busy() {
        let mut counts = Counts::new(3);
        let of = |group| Counted { busy: Some(1), weight: Some(4), group: Some(group), ..Counted::default() };
        let mut asymmetric = |old, new| {
            counts.replace(old, new);
            counts.are_asymmetric(Some(4))
        };
        let none = Counted::default();
        assert_eq!([asymmetric(none, of(2)), asymmetric(none, of(2)), asymmetric(none, of(0))], [false, false, true]);
        assert_eq!([asymmetric(of(2), none), asymmetric(of(2), none)], [true, false]);
        assert!(asymmetric(none, of(1)) && !asymmetric(of(1), of(0)), "one that moves takes its count along");
    }

    #[test]
    fn a_device_that_never_had_more_than_three_of_many_has_no_queue() {
        let mut queueing = Queueing::default();
        (0..32).for_each(|_| queueing.sample(1, 9, false));
        assert!(queueing.is_queueing());
        queueing.sample(1, 9, false);
        assert!(!queueing.is_queueing());
        (0..33).for_each(|_| queueing.sample(4, 0, false));
        assert!(queueing.is_queueing());
    }
}
