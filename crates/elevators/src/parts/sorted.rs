//! Waiting requests ordered by first sector. All orders of an elevator share one [`Sectors`], because a request is in
//! one order at a time.
//!
//! Elevators of the single-queue layer use the alias rule (`specs/io-schedulers.md` section 2.1): of two requests with
//! the same first sector, the older one leaves the order and goes to the dispatch list at once. Those of blk-mq keep
//! both.

use goodness_core::RequestId;
use goodness_queues::Blocks;

/// Nodes of all orders of one elevator.
#[derive(Clone, Debug, Default)]
pub struct Sectors(Blocks);

impl Sectors {
    /// Makes room for requests `0..count`; nothing allocates afterwards.
    #[inline]
    pub fn reserve(&mut self, count: usize) {
        self.0.reserve(count);
    }

    /// The first sector under which `request` was last inserted.
    #[inline]
    pub fn sector(&self, request: RequestId) -> u64 {
        sector(self.0.key(request.0))
    }
}

/// The order of sectors as an order of signed keys.
#[inline]
fn key(sector: u64) -> i64 {
    (sector ^ 1 << 63) as i64
}

/// The sector of a key.
#[inline]
fn sector(key: i64) -> u64 {
    key as u64 ^ 1 << 63
}

/// One order by first sector; ties are FIFO.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sorted(goodness_queues::Sorted);

impl Sorted {
    /// Number of requests.
    #[inline]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True without any request.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds `request`, which must be in no order. Returns the request it displaces, which has the same first sector:
    /// append that to the dispatch list.
    #[inline]
    pub fn insert(&mut self, links: &mut Sectors, request: RequestId, sector: u64) -> Option<RequestId> {
        let before = self.0.insert(&mut links.0, request.0, key(sector)).map(RequestId);
        let older = before.filter(|older| links.sector(*older) == sector)?;
        self.remove(links, older);
        Some(older)
    }

    /// Adds `request`, which must be in no order, behind others with the same first sector.
    #[inline]
    pub fn insert_behind_equals(&mut self, links: &mut Sectors, request: RequestId, sector: u64) {
        self.0.insert(&mut links.0, request.0, key(sector));
    }

    /// Removes `request`. Returns its successor.
    #[inline]
    pub fn remove(&mut self, links: &mut Sectors, request: RequestId) -> Option<RequestId> {
        self.0.remove(&mut links.0, request.0).map(RequestId)
    }

    /// Updates the first sector of `request`. Returns a displaced request, as [`Sorted::insert`] does.
    pub fn rekey(&mut self, links: &mut Sectors, request: RequestId, sector: u64) -> Option<RequestId> {
        self.remove(links, request);
        self.insert(links, request, sector)
    }

    /// Like [`Sorted::rekey`], but keeps others with the same first sector.
    pub fn rekey_behind_equals(&mut self, links: &mut Sectors, request: RequestId, sector: u64) {
        self.remove(links, request);
        self.insert_behind_equals(links, request, sector);
    }

    /// The request with the lowest first sector.
    #[inline]
    pub fn lowest(&self, links: &Sectors) -> Option<RequestId> {
        self.0.first(&links.0).map(RequestId)
    }

    /// The request with the highest first sector.
    #[inline]
    pub fn highest(&self, links: &Sectors) -> Option<RequestId> {
        self.0.last(&links.0).map(RequestId)
    }

    /// The request after `request`, which is here.
    #[inline]
    pub fn next(&self, links: &Sectors, request: RequestId) -> Option<RequestId> {
        self.0.next(&links.0, request.0).map(RequestId)
    }

    /// The request before `request`, which is here.
    #[inline]
    pub fn prev(&self, links: &Sectors, request: RequestId) -> Option<RequestId> {
        self.0.prev(&links.0, request.0).map(RequestId)
    }

    /// The first request that starts at or after `sector`.
    #[inline]
    pub fn first_from(&self, links: &Sectors, sector: u64) -> Option<RequestId> {
        self.0.first_from(&links.0, key(sector)).map(RequestId)
    }

    /// The last request that starts before `sector`.
    #[inline]
    pub fn last_before(&self, links: &Sectors, sector: u64) -> Option<RequestId> {
        match self.first_from(links, sector) {
            Some(after) => self.prev(links, after),
            None => self.highest(links),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(sectors: &[u64]) -> (Sectors, Sorted) {
        let (mut links, mut sorted) = (Sectors::default(), Sorted::default());
        links.reserve(sectors.len() + 1);
        for (id, sector) in sectors.iter().enumerate() {
            assert_eq!(sorted.insert(&mut links, RequestId(id as u32), *sector), None);
        }
        (links, sorted)
    }

    #[test]
    fn requests_are_found_by_sector_and_from_neighbour_to_neighbour() {
        let (links, sorted) = filled(&[80, 8, u64::MAX, 0]);
        let id = |id| Some(RequestId(id));
        assert_eq!((sorted.lowest(&links), sorted.highest(&links), sorted.len()), (id(3), id(2), 4));
        assert_eq!((sorted.first_from(&links, 8), sorted.first_from(&links, 9)), (id(1), id(0)));
        assert_eq!((sorted.last_before(&links, 8), sorted.last_before(&links, 0)), (id(3), None));
        assert_eq!((sorted.next(&links, RequestId(0)), sorted.prev(&links, RequestId(0))), (id(2), id(1)));
        assert_eq!((sorted.next(&links, RequestId(2)), sorted.prev(&links, RequestId(3))), (None, None));
        assert_eq!(links.sector(RequestId(2)), u64::MAX);
    }

    #[test]
    fn of_two_requests_at_one_sector_the_older_is_handed_back() {
        let (mut links, mut sorted) = filled(&[16, 8, 24]);
        assert_eq!(sorted.insert(&mut links, RequestId(3), 8), Some(RequestId(1)));
        assert_eq!((sorted.len(), sorted.lowest(&links)), (3, Some(RequestId(3))));
        assert_eq!(sorted.rekey(&mut links, RequestId(2), 16), Some(RequestId(0)));
        assert_eq!((sorted.len(), sorted.highest(&links)), (2, Some(RequestId(2))));
    }

    #[test]
    fn blk_mq_keeps_both_in_order_of_arrival() {
        let (mut links, mut sorted) = filled(&[16, 8]);
        sorted.insert_behind_equals(&mut links, RequestId(2), 8);
        assert_eq!(sorted.first_from(&links, 8), Some(RequestId(1)));
        assert_eq!(sorted.next(&links, RequestId(1)), Some(RequestId(2)));
        sorted.rekey_behind_equals(&mut links, RequestId(0), 8);
        assert_eq!((sorted.len(), sorted.highest(&links)), (3, Some(RequestId(0))));
    }
}
