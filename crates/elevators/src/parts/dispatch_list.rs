//! Requests that an elevator has chosen and the device has not taken yet.

use goodness_core::RequestId;
use goodness_queues::{Links, List};

/// The list, and membership by request.
#[derive(Clone, Debug, Default)]
pub struct DispatchList {
    links: Links,
    list: List,
    listed: Vec<bool>,
}

impl DispatchList {
    /// Makes room for requests `0..count`; nothing allocates afterwards.
    #[inline]
    pub fn reserve(&mut self, count: usize) {
        if count > self.listed.len() {
            self.links.reserve(count);
            self.listed.resize(count, false);
        }
    }

    /// True without any request.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// True if `request` is on the list.
    #[inline]
    pub fn contains(&self, request: RequestId) -> bool {
        self.listed.get(request.index()).is_some_and(|listed| *listed)
    }

    /// Appends `request`, which is not here.
    #[inline]
    pub fn push_back(&mut self, request: RequestId) {
        self.listed[request.index()] = true;
        self.list.push_back(&mut self.links, request.0);
    }

    /// Inserts `request` directly before `place`.
    #[inline]
    pub fn insert_before(&mut self, place: RequestId, request: RequestId) {
        self.listed[request.index()] = true;
        self.list.insert_before(&mut self.links, place.0, request.0);
    }

    /// Inserts `request` in the order of a one-way sweep upwards from `head` that wraps around: sectors behind `head`
    /// come after those ahead; ties keep their order. Requests put first or last earlier keep that place only if it
    /// fits the order.
    pub fn insert_one_way(&mut self, head: u64, request: RequestId, sector: impl Fn(RequestId) -> u64) {
        let turn = |request| {
            let sector = sector(request);
            (sector < head, sector)
        };
        let after = self.iter_back().take_while(|other| turn(*other) > turn(request)).last();
        match after {
            Some(after) => self.insert_before(after, request),
            None => self.push_back(request),
        }
    }

    /// Removes and returns the first request.
    #[inline]
    pub fn pop(&mut self) -> Option<RequestId> {
        let request = RequestId(self.list.pop_front(&mut self.links)?);
        self.listed[request.index()] = false;
        Some(request)
    }

    /// Removes `request`. Returns false if it was not on the list.
    #[inline]
    pub fn remove(&mut self, request: RequestId) -> bool {
        let was_here = self.contains(request);
        if was_here {
            self.listed[request.index()] = false;
            self.list.remove(&mut self.links, request.0);
        }
        was_here
    }

    /// The requests, the last first.
    pub fn iter_back(&self) -> impl Iterator<Item = RequestId> + '_ {
        self.list.iter_back(&self.links).map(RequestId)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_here_until_it_is_popped_or_removed() {
        let mut list = DispatchList::default();
        assert!(!list.contains(RequestId(7)) && !list.remove(RequestId(7)));
        list.reserve(4);
        list.push_back(RequestId(0));
        list.insert_before(RequestId(0), RequestId(1));
        list.push_back(RequestId(2));
        list.insert_before(RequestId(0), RequestId(3));
        assert!(list.iter_back().eq([2, 0, 3, 1].map(RequestId)));
        assert!(list.remove(RequestId(0)) && !list.remove(RequestId(0)) && !list.contains(RequestId(0)));
        assert_eq!((list.pop(), list.pop()), (Some(RequestId(1)), Some(RequestId(3))));
        assert!(!list.contains(RequestId(3)) && list.contains(RequestId(2)) && !list.is_empty());
    }

    #[test]
    fn a_one_way_sweep_meets_what_lies_behind_the_head_last() {
        let mut list = DispatchList::default();
        list.reserve(5);
        let sectors = [500, 20, 300, 10, 300];
        (0..5).for_each(|id| list.insert_one_way(100, RequestId(id), |of| sectors[of.index()]));
        let order: Vec<u32> = std::iter::from_fn(|| list.pop()).map(|request| request.0).collect();
        assert_eq!(order, [2, 4, 0, 3, 1]);
    }
}
