//! Index of merge candidates: waiting requests by the sector behind their last one and by their first.
//!
//! Source: `specs/io-schedulers.md` section 2.1, merge order: the last request merged or inserted, then a back merge,
//! then a front merge. The index only finds candidates; the layer checks direction, size and segments and asks the
//! elevator. Buckets are linked lists through the requests, so nothing allocates once the requests exist. The hash
//! order is never visible, because the newest of equal keys is found first.

use goodness_core::RequestId;

const NONE: u32 = u32::MAX;

/// Neighbours of one request in its bucket, and its key.
#[derive(Clone, Copy, Debug)]
struct Link {
    key: u64,
    before: u32,
    after: u32,
}

/// Requests by one of their ends.
#[derive(Clone, Debug, Default)]
pub(crate) struct Index {
    heads: Vec<u32>,
    links: Vec<Link>,
}

impl Index {
    /// Makes room for requests `0..count`; nothing allocates afterwards. Buckets grow only together with the request
    /// table.
    #[inline]
    fn reserve(&mut self, count: usize) {
        if count > self.links.len() {
            self.grow(count);
        }
    }

    /// More room, and as many more buckets.
    #[cold]
    fn grow(&mut self, count: usize) {
        let old: Vec<u32> = self.newest_last();
        let count = count.next_power_of_two().max(64);
        self.links.resize(count, Link { key: 0, before: NONE, after: NONE });
        self.heads = vec![NONE; 2 * count];
        for request in old {
            let key = self.links[request as usize].key;
            self.insert(RequestId(request), key);
        }
    }

    /// Everything indexed, the older of one bucket before the newer.
    fn newest_last(&self) -> Vec<u32> {
        let mut all = Vec::new();
        for head in &self.heads {
            let (from, mut at) = (all.len(), *head);
            while at != NONE {
                all.push(at);
                at = self.links[at as usize].after;
            }
            all[from..].reverse();
        }
        all
    }

    #[inline]
    fn bucket(&self, key: u64) -> usize {
        // Fibonacci hashing: sectors are multiples of small powers of two, their high product bits are well spread.
        let bits = self.heads.len().trailing_zeros();
        (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - bits)) as usize
    }

    #[inline]
    fn insert(&mut self, request: RequestId, key: u64) {
        let bucket = self.bucket(key);
        let after = std::mem::replace(&mut self.heads[bucket], request.0);
        if after != NONE {
            self.links[after as usize].before = request.0;
        }
        self.links[request.index()] = Link { key, before: NONE, after };
    }

    #[inline]
    fn remove(&mut self, request: RequestId) {
        let Link { key, before, after } = self.links[request.index()];
        match before {
            NONE => {
                let bucket = self.bucket(key);
                self.heads[bucket] = after;
            }
            b => self.links[b as usize].after = after,
        }
        if after != NONE {
            self.links[after as usize].before = before;
        }
    }

    /// The requests with this key, the newest first.
    #[inline]
    fn find(&self, key: u64) -> impl Iterator<Item = RequestId> + '_ {
        let mut at = if self.heads.is_empty() { NONE } else { self.heads[self.bucket(key)] };
        std::iter::from_fn(move || {
            while at != NONE {
                let link = &self.links[at as usize];
                let found = (link.key == key).then_some(RequestId(at));
                at = link.after;
                if found.is_some() {
                    return found;
                }
            }
            None
        })
    }
}

/// The waiting requests that may grow, by both ends.
#[derive(Clone, Debug, Default)]
pub(crate) struct Merging {
    ends: Index,
    starts: Index,
}

impl Merging {
    /// Adds the waiting `request`.
    #[inline]
    pub fn insert(&mut self, request: RequestId, start: u64, end: u64) {
        self.ends.reserve(request.index() + 1);
        self.starts.reserve(request.index() + 1);
        self.ends.insert(request, end);
        self.starts.insert(request, start);
    }

    /// `request` waits no more.
    #[inline]
    pub fn remove(&mut self, request: RequestId) {
        self.ends.remove(request);
        self.starts.remove(request);
    }

    /// Updates the ends of the waiting `request`.
    #[inline]
    pub fn grown(&mut self, request: RequestId, start: u64, end: u64) {
        self.remove(request);
        self.insert(request, start, end);
    }

    /// Requests that end at `sector`, newest first.
    #[inline]
    pub fn ending_at(&self, sector: u64) -> impl Iterator<Item = RequestId> + '_ {
        self.ends.find(sector)
    }

    /// Requests that start at `sector`, newest first.
    #[inline]
    pub fn beginning_at(&self, sector: u64) -> impl Iterator<Item = RequestId> + '_ {
        self.starts.find(sector)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_found_by_their_ends_the_newest_first_while_they_wait() {
        let mut merging = Merging::default();
        for request in 0..200 {
            let start = u64::from(request % 100) * 8;
            merging.insert(RequestId(request), start, start + 8);
        }
        let found = |merging: &Merging| merging.ending_at(16).collect::<Vec<_>>();
        assert_eq!(found(&merging), [RequestId(101), RequestId(1)]);
        assert_eq!(merging.beginning_at(16).collect::<Vec<_>>(), [RequestId(102), RequestId(2)]);
        merging.remove(RequestId(101));
        assert_eq!(found(&merging), [RequestId(1)]);
        merging.grown(RequestId(1), 8, 24);
        assert!(found(&merging).is_empty());
        assert_eq!(merging.ending_at(24).next(), Some(RequestId(1)));
        merging.remove(RequestId(1));
        assert_eq!((merging.ending_at(24).next(), merging.beginning_at(8).next()), (Some(RequestId(102)), None));
    }
}
