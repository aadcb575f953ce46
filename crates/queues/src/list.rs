//! Doubly linked lists whose links lie in one vector, indexed by item: an item is on at most one list of a
//! [`Links`] at a time, removal needs no search, and many lists share the links.
//!
//! ```
//! use goodness_queues::{Links, List};
//! let mut links = Links::default();
//! links.reserve(3);
//! let mut list = List::default();
//! list.push_back(&mut links, 0);
//! list.push_back(&mut links, 2);
//! list.push_front(&mut links, 1);
//! list.remove(&mut links, 0);
//! assert_eq!(list.iter(&links).collect::<Vec<_>>(), [1, 2]);
//! ```

const NONE: u32 = u32::MAX;

/// Neighbours of one item.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    before: u32,
    after: u32,
}

/// The links of all items.
#[derive(Clone, Debug, Default)]
pub struct Links(Vec<Link>);

impl Links {
    /// Makes room for items `0..count`.
    pub fn reserve(&mut self, count: usize) {
        if count > self.0.len() {
            self.0.resize(count, Link { before: NONE, after: NONE });
        }
    }
}

/// One list: its ends and its length.
#[derive(Clone, Copy, Debug)]
pub struct List {
    head: u32,
    tail: u32,
    len: u32,
}

impl Default for List {
    fn default() -> Self {
        List { head: NONE, tail: NONE, len: 0 }
    }
}

impl List {
    /// Items on the list.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// True if the list has no item.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The first item.
    #[inline]
    #[must_use]
    pub fn front(&self) -> Option<u32> {
        (self.head != NONE).then_some(self.head)
    }

    /// The last item.
    #[inline]
    #[must_use]
    pub fn back(&self) -> Option<u32> {
        (self.tail != NONE).then_some(self.tail)
    }

    /// Appends `item`, which must be on no list of these links.
    #[inline]
    pub fn push_back(&mut self, links: &mut Links, item: u32) {
        links.0[item as usize] = Link { before: self.tail, after: NONE };
        match self.tail {
            NONE => self.head = item,
            last => links.0[last as usize].after = item,
        }
        self.tail = item;
        self.len += 1;
    }

    /// Prepends `item`, which must be on no list of these links.
    #[inline]
    pub fn push_front(&mut self, links: &mut Links, item: u32) {
        links.0[item as usize] = Link { before: NONE, after: self.head };
        match self.head {
            NONE => self.tail = item,
            first => links.0[first as usize].before = item,
        }
        self.head = item;
        self.len += 1;
    }

    /// Inserts `item` before `place`, which must be on this list.
    pub fn insert_before(&mut self, links: &mut Links, place: u32, item: u32) {
        let before = links.0[place as usize].before;
        if before == NONE {
            return self.push_front(links, item);
        }
        links.0[item as usize] = Link { before, after: place };
        links.0[before as usize].after = item;
        links.0[place as usize].before = item;
        self.len += 1;
    }

    /// Removes `item`, which must be on this list.
    #[inline]
    pub fn remove(&mut self, links: &mut Links, item: u32) {
        let Link { before, after } = links.0[item as usize];
        match before {
            NONE => self.head = after,
            b => links.0[b as usize].after = after,
        }
        match after {
            NONE => self.tail = before,
            a => links.0[a as usize].before = before,
        }
        self.len -= 1;
    }

    /// Puts `item`, which must be on this list, at its end.
    #[inline]
    pub fn move_to_back(&mut self, links: &mut Links, item: u32) {
        if self.tail != item {
            self.remove(links, item);
            self.push_back(links, item);
        }
    }

    /// Removes and returns the first item.
    #[inline]
    pub fn pop_front(&mut self, links: &mut Links) -> Option<u32> {
        let first = self.front()?;
        self.head = links.0[first as usize].after;
        match self.head {
            NONE => self.tail = NONE,
            head => links.0[head as usize].before = NONE,
        }
        self.len -= 1;
        Some(first)
    }

    /// The items from first to last.
    pub fn iter<'a>(&self, links: &'a Links) -> impl Iterator<Item = u32> + use<'a> {
        let mut at = self.head;
        std::iter::from_fn(move || {
            let item = (at != NONE).then_some(at)?;
            at = links.0[item as usize].after;
            Some(item)
        })
    }

    /// The items from last to first.
    pub fn iter_back<'a>(&self, links: &'a Links) -> impl Iterator<Item = u32> + use<'a> {
        let mut at = self.tail;
        std::iter::from_fn(move || {
            let item = (at != NONE).then_some(at)?;
            at = links.0[item as usize].before;
            Some(item)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_keeps_order_through_removals_at_both_ends_and_in_the_middle() {
        let (mut links, mut list) = (Links::default(), List::default());
        links.reserve(6);
        for item in 0..6 {
            list.push_back(&mut links, item);
        }
        for item in [0, 3, 5] {
            list.remove(&mut links, item);
        }
        list.insert_before(&mut links, 1, 3);
        list.insert_before(&mut links, 4, 0);
        assert_eq!(list.iter(&links).collect::<Vec<_>>(), [3, 1, 2, 0, 4]);
        assert_eq!(list.iter_back(&links).collect::<Vec<_>>(), [4, 0, 2, 1, 3]);
        assert_eq!((list.len(), list.front(), list.back()), (5, Some(3), Some(4)));
        for item in [4, 0, 3] {
            list.move_to_back(&mut links, item);
        }
        assert_eq!(list.iter(&links).collect::<Vec<_>>(), [1, 2, 4, 0, 3]);
        while list.pop_front(&mut links).is_some() {}
        assert!(list.is_empty() && list.back().is_none());
    }
}
