//! Waiting requests in order of arrival, with the age at which the oldest expires. The links of all lists of one
//! elevator lie in one [`Arrivals`], since a request is on one list at a time.
//!
//! Kernel timers count jiffies, so a request arrives and expires in a jiffy (`specs/io-schedulers.md` section 4).

use goodness_core::{IoContext, RequestId};
use goodness_queues::{Links, List};

/// Links and serial numbers of all lists of one elevator.
#[derive(Clone, Debug, Default)]
pub struct Arrivals {
    links: Links,
    /// Serial number of each request, or of the one it replaced.
    serials: Vec<u64>,
    pushed: u64,
}

impl Arrivals {
    /// Makes room for requests `0..count`; nothing allocates afterwards.
    #[inline]
    pub fn reserve(&mut self, count: usize) {
        if count > self.serials.len() {
            self.links.reserve(count);
            self.serials.resize(count, 0);
        }
    }
}

/// A FIFO list.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fifo(List);

impl Fifo {
    /// True without any request.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Appends `request`, which is on no list.
    #[inline]
    pub fn push(&mut self, arrivals: &mut Arrivals, request: RequestId) {
        arrivals.serials[request.index()] = arrivals.pushed;
        arrivals.pushed += 1;
        self.0.push_back(&mut arrivals.links, request.0);
    }

    /// Removes `request`, which must be on the list.
    #[inline]
    pub fn remove(&mut self, arrivals: &mut Arrivals, request: RequestId) {
        self.0.remove(&mut arrivals.links, request.0);
    }

    /// Removes `absorbed`. If `survivor`, on the same list, came later, it takes that place.
    pub fn absorb(&mut self, arrivals: &mut Arrivals, survivor: RequestId, absorbed: RequestId) {
        if arrivals.serials[absorbed.index()] < arrivals.serials[survivor.index()] {
            arrivals.serials[survivor.index()] = arrivals.serials[absorbed.index()];
            self.remove(arrivals, survivor);
            self.0.insert_before(&mut arrivals.links, absorbed.0, survivor.0);
        }
        self.remove(arrivals, absorbed);
    }

    /// The request that has waited longest.
    #[inline]
    pub fn oldest(&self) -> Option<RequestId> {
        self.0.front().map(RequestId)
    }

    /// The requests, oldest first.
    #[cfg(test)]
    pub fn iter<'a>(&self, arrivals: &'a Arrivals) -> impl Iterator<Item = RequestId> + use<'a> {
        self.0.iter(&arrivals.links).map(RequestId)
    }
}

/// Jiffies since `request` was inserted.
#[inline]
pub fn age(cx: &IoContext, request: RequestId) -> u64 {
    let jiffy = cx.facts.jiffy().0;
    // A merge may have made it older, and the clock never runs backwards: the difference is not negative.
    cx.now.0 / jiffy - cx.requests[request].inserted.0 / jiffy
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_survivor_of_a_merge_has_the_earlier_place_of_both() {
        let (mut arrivals, mut fifo) = (Arrivals::default(), Fifo::default());
        arrivals.reserve(4);
        (0..4).for_each(|id| fifo.push(&mut arrivals, RequestId(id)));
        fifo.absorb(&mut arrivals, RequestId(3), RequestId(1));
        assert!(fifo.iter(&arrivals).eq([0, 3, 2].map(RequestId)));
        fifo.absorb(&mut arrivals, RequestId(3), RequestId(2));
        assert!(fifo.iter(&arrivals).eq([0, 3].map(RequestId)));
        assert_eq!(fifo.oldest(), Some(RequestId(0)));
    }
}
