//! A two-level timing wheel with an overflow heap: a priority queue for keys that never precede the last one popped.
//! Entries of equal time are ordered by class, then by insertion.
//!
//! A binary heap costs a cache miss per level. Here a push is a list insertion, and a pop finds the next slot by
//! bitmap. Fine slots are singly linked in one arena, coarse ones hold batches; nothing allocates once both are warm.
//!
//! The wheel turns only as far as requested ([`Wheel::peek_until`]): if peeking at a distant entry turned it, pushes
//! before that entry would take the slow path.

mod batches;

use batches::Batches;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// Width of a fine slot: 2^10 ns.
const FINE_BITS: u32 = 10;
/// Slots per level: 2^12.
const SLOT_BITS: u32 = 12;
const SLOTS: usize = 1 << SLOT_BITS;
/// Width of a coarse slot: all fine slots together, about 4.2 ms.
const COARSE_BITS: u32 = FINE_BITS + SLOT_BITS;
const NONE: u32 = u32::MAX;

/// Sort key of an entry: time, class, serial number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// The time, in nanoseconds.
    pub time: u64,
    /// Class in the top byte, serial number below.
    order: u64,
}

impl Key {
    /// Class given to the push.
    #[must_use]
    pub fn class(&self) -> u8 {
        (self.order >> 56) as u8
    }
}

#[derive(Clone, Copy, Debug)]
struct Node<T> {
    key: Key,
    item: T,
    next: u32,
}

/// One ring of slots, and the bitmap of non-empty ones.
#[derive(Clone, Debug)]
struct Ring {
    heads: Box<[u32; SLOTS]>,
    words: [u64; SLOTS / 64],
    summary: u64,
}

impl Ring {
    fn new() -> Self {
        Ring { heads: Box::new([NONE; SLOTS]), words: [0; SLOTS / 64], summary: 0 }
    }

    /// Head of the slot's list.
    #[inline(always)]
    fn head(&self, slot: usize) -> u32 {
        self.heads[slot % SLOTS]
    }

    /// Makes `node` the head of the slot's list. Returns the previous head.
    #[inline(always)]
    fn put(&mut self, slot: usize, node: u32) -> u32 {
        self.words[slot / 64 % (SLOTS / 64)] |= 1 << (slot % 64);
        self.summary |= 1 << (slot / 64);
        std::mem::replace(&mut self.heads[slot % SLOTS], node)
    }

    #[inline]
    fn take(&mut self, slot: usize) -> u32 {
        self.words[slot / 64] &= !(1 << (slot % 64));
        if self.words[slot / 64] == 0 {
            self.summary &= !(1 << (slot / 64));
        }
        std::mem::replace(&mut self.heads[slot], NONE)
    }

    #[inline]
    fn first(&self) -> Option<usize> {
        if self.summary == 0 {
            return None;
        }
        let word = self.summary.trailing_zeros() as usize;
        Some(word * 64 + self.words[word].trailing_zeros() as usize)
    }
}

/// An entry out of its slot. Keys are unique, so the order is that of the keys.
#[derive(Clone, Copy, Debug)]
struct Due<T> {
    key: Key,
    item: T,
}

impl<T> PartialEq for Due<T> {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}
impl<T> Eq for Due<T> {}
impl<T> PartialOrd for Due<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl<T> Ord for Due<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key.cmp(&other.key)
    }
}

/// The fine slots of one coarse slot, with their entries.
#[derive(Clone, Debug)]
struct Fine<T> {
    ring: Ring,
    arena: Vec<Node<T>>,
    free: u32,
}

impl<T: Copy> Fine<T> {
    fn with_capacity(entries: usize) -> Fine<T> {
        Fine { ring: Ring::new(), arena: Vec::with_capacity(entries), free: NONE }
    }

    #[inline(always)]
    fn file(&mut self, Due { key, item }: Due<T>) {
        if self.arena.get(self.free as usize).is_none() {
            self.free = grow(&mut self.arena, key, item);
        }
        let at = self.free;
        if let Some(node) = self.arena.get_mut(at as usize) {
            self.free = node.next;
            *node = Node { key, item, next: self.ring.put((key.time >> FINE_BITS) as usize % SLOTS, at) };
        }
    }

    /// The first slot and its entry, if it has only one.
    #[inline(always)]
    fn single(&self) -> Option<(usize, u32)> {
        let slot = self.ring.first()?;
        let at = self.ring.head(slot);
        self.arena.get(at as usize).filter(|node| node.next == NONE).map(|_| (slot, at))
    }

    /// The node may be used again.
    #[inline(always)]
    fn release(&mut self, at: u32) {
        self.arena[at as usize].next = self.free;
        self.free = at;
    }
}

/// Appends a free node to the arena.
#[cold]
fn grow<T>(arena: &mut Vec<Node<T>>, key: Key, item: T) -> u32 {
    arena.push(Node { key, item, next: NONE });
    (arena.len() - 1) as u32
}

/// The queue. `T` is a small copyable item.
#[derive(Clone, Debug)]
pub struct Wheel<T> {
    /// Lower bound on the time of all entries.
    not_before: u64,
    /// Entries of the current slot when it was reached, latest first.
    current: Vec<Due<T>>,
    /// Entries pushed later into the current slot or before it.
    late: BinaryHeap<Reverse<Due<T>>>,
    /// Entries with a time below this belong to `current` or `late`.
    current_end: u64,
    fine: Fine<T>,
    /// The coarse slot being served: time >> COARSE_BITS.
    coarse_now: u64,
    /// The coarse slots of the era being served.
    coarse: Ring,
    batches: Batches<T>,
    /// Entries of later eras.
    overflow: BinaryHeap<Reverse<Due<T>>>,
    serial: u64,
}

impl<T: Copy> Default for Wheel<T> {
    fn default() -> Self {
        Wheel {
            not_before: u64::MAX,
            current: Vec::with_capacity(64),
            late: BinaryHeap::with_capacity(64),
            current_end: 0,
            fine: Fine::with_capacity(0),
            coarse_now: 0,
            coarse: Ring::new(),
            batches: Batches::with_capacity(0),
            overflow: BinaryHeap::new(),
            serial: 0,
        }
    }
}

impl<T: Copy> Wheel<T> {
    /// A wheel with room for `entries` entries before it allocates.
    #[must_use]
    pub fn with_capacity(entries: usize) -> Self {
        let (fine, batches) = (Fine::with_capacity(entries), Batches::with_capacity(entries));
        Wheel { fine, batches, ..Wheel::default() }
    }

    /// Lower bound on the time of all entries; `u64::MAX` if it is known that there is none. Constant time.
    #[inline]
    #[must_use]
    pub fn not_before(&self) -> u64 {
        self.not_before
    }

    /// Adds `item` at `time`, which must not lie before the last time popped.
    #[inline]
    pub fn push(&mut self, time: u64, class: u8, item: T) {
        self.serial += 1;
        let key = Key { time, order: u64::from(class) << 56 | self.serial };
        if time < self.not_before {
            self.not_before = time;
        }
        if time < self.current_end {
            self.push_late(key, item);
        } else {
            self.file(key, item);
        }
    }

    #[inline(never)]
    fn push_late(&mut self, key: Key, item: T) {
        self.late.push(Reverse(Due { key, item }));
    }

    /// Files an entry that does not belong to the current slot.
    #[inline(always)]
    fn file(&mut self, key: Key, item: T) {
        let coarse = key.time >> COARSE_BITS;
        if coarse == self.coarse_now {
            self.fine.file(Due { key, item });
        } else if coarse >> SLOT_BITS == self.coarse_now >> SLOT_BITS {
            let slot = coarse as usize % SLOTS;
            let list = self.batches.add(self.coarse.head(slot), Due { key, item });
            self.coarse.put(slot, list);
        } else {
            self.file_far(key, item);
        }
    }

    #[inline(never)]
    fn file_far(&mut self, key: Key, item: T) {
        self.overflow.push(Reverse(Due { key, item }));
    }

    /// The key of the next entry.
    #[inline]
    pub fn peek(&mut self) -> Option<Key> {
        self.peek_until(u64::MAX)
    }

    /// Key of the next entry, if its time is at most `limit`. The wheel turns no further than necessary.
    #[inline]
    pub fn peek_until(&mut self, limit: u64) -> Option<Key> {
        if self.not_before > limit || !self.load(limit) {
            return None;
        }
        let key = match (self.current.last(), self.late.peek()) {
            (Some(due), None) => due.key,
            (Some(due), Some(Reverse(late))) => due.key.min(late.key),
            (None, Some(Reverse(late))) => late.key,
            (None, None) => return None,
        };
        self.not_before = key.time;
        (key.time <= limit).then_some(key)
    }

    /// Removes and returns the next entry.
    #[inline]
    pub fn pop(&mut self) -> Option<(Key, T)> {
        self.pop_until(u64::MAX)
    }

    /// Removes the next entry, if its time is at most `limit`. Turns like [`Wheel::peek_until`].
    #[inline]
    pub fn pop_until(&mut self, limit: u64) -> Option<(Key, T)> {
        if self.current.is_empty()
            && self.late.is_empty()
            && let Some((slot, at)) = self.fine.single()
        {
            return self.pop_single(slot, at, limit);
        }
        self.pop_of_many(limit)
    }

    /// The general case of [`Wheel::pop_until`].
    #[inline(never)]
    fn pop_of_many(&mut self, limit: u64) -> Option<(Key, T)> {
        let key = self.peek_until(limit)?;
        let due = match self.current.last() {
            Some(due) if due.key == key => self.current.pop(),
            _ => self.late.pop().map(|Reverse(due)| due),
        }?;
        if self.current.is_empty() && self.late.is_empty() {
            self.not_before = self.current_end;
        }
        Some((due.key, due.item))
    }

    /// Removes the only entry of the first fine slot, which is the next of all, if its time is at most `limit`.
    #[inline(always)]
    fn pop_single(&mut self, slot: usize, at: u32, limit: u64) -> Option<(Key, T)> {
        let Node { key, item, .. } = self.fine.arena[at as usize];
        if key.time > limit {
            self.not_before = key.time;
            return None;
        }
        self.fine.ring.take(slot);
        self.fine.release(at);
        self.current_end = (self.coarse_now << COARSE_BITS) + ((slot as u64 + 1) << FINE_BITS);
        self.not_before = self.current_end;
        Some((key, item))
    }

    /// Start of the entries after the current slot: a lower bound on their time, and their location.
    #[inline]
    fn next_slot(&self) -> (u64, Next) {
        if let Some(slot) = self.fine.ring.first() {
            return ((self.coarse_now << COARSE_BITS) + ((slot as u64) << FINE_BITS), Next::Fine(slot));
        }
        if let Some(slot) = self.coarse.first() {
            let coarse = (self.coarse_now >> SLOT_BITS << SLOT_BITS) + slot as u64;
            return (coarse << COARSE_BITS, Next::Coarse(slot));
        }
        match self.overflow.peek() {
            Some(Reverse(due)) => (due.key.time, Next::Era),
            None => (u64::MAX, Next::Nothing),
        }
    }

    /// Loads the next entry's slot into `current` or `late`, if it starts at or before `limit`.
    #[inline]
    fn load(&mut self, limit: u64) -> bool {
        while self.current.is_empty() && self.late.is_empty() {
            let (begins, next) = self.next_slot();
            self.not_before = begins;
            if begins > limit {
                return false;
            }
            match next {
                Next::Fine(slot) => self.serve_fine(slot),
                Next::Coarse(slot) => self.turn_coarse(slot),
                Next::Era => self.turn_era(begins),
                Next::Nothing => return false,
            }
        }
        true
    }

    fn serve_fine(&mut self, slot: usize) {
        let mut at = self.fine.ring.take(slot);
        while let Some(&Node { key, item, next }) = self.fine.arena.get(at as usize) {
            self.current.push(Due { key, item });
            self.fine.release(at);
            at = next;
        }
        self.current.sort_unstable_by_key(|due| Reverse(due.key));
        self.current_end = (self.coarse_now << COARSE_BITS) + ((slot as u64 + 1) << FINE_BITS);
    }

    /// Spreads a coarse slot over the fine ones.
    fn turn_coarse(&mut self, slot: usize) {
        self.coarse_now = (self.coarse_now >> SLOT_BITS << SLOT_BITS) + slot as u64;
        self.current_end = self.coarse_now << COARSE_BITS;
        let list = self.coarse.take(slot);
        self.batches.drain(list, |due| self.fine.file(due));
    }

    /// Advances to the era of `first`, the next entry of all.
    fn turn_era(&mut self, first: u64) {
        self.coarse_now = first >> COARSE_BITS;
        self.current_end = self.coarse_now << COARSE_BITS;
        let era = self.coarse_now >> SLOT_BITS;
        while let Some(Reverse(due)) = self.overflow.peek()
            && due.key.time >> COARSE_BITS >> SLOT_BITS == era
        {
            let Some(Reverse(due)) = self.overflow.pop() else { return };
            self.file(due.key, due.item);
        }
    }
}

/// Location of the next entries.
enum Next {
    Fine(usize),
    Coarse(usize),
    Era,
    Nothing,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pushes and pops by a fixed pseudo-random walk and compares with a sorted list.
    #[test]
    fn entries_leave_in_order_of_time_class_and_insertion() {
        let (mut wheel, mut plain) = (Wheel::default(), Vec::new());
        let (mut state, mut now, mut serial) = (0x1234_5678_9abc_def1u64, 0u64, 0u64);
        let mut draw = |bound: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state % bound
        };
        for _ in 0..20_000 {
            let reach = [1, 500, 5_000, 3_000_000, 80_000_000, 40_000_000_000][draw(6) as usize];
            let (time, class) = (now + draw(reach), draw(3) as u8);
            serial += 1;
            wheel.push(time, class, serial);
            plain.push((time, class, serial));
            let reach = draw(4_000);
            if wheel.not_before() <= now + reach {
                // Looking ahead shows exactly the present entries and changes none.
                let least = plain.iter().map(|e| e.0).min().filter(|t| *t <= now + reach);
                assert_eq!(wheel.peek_until(now + reach).map(|k| k.time), least);
            } else {
                assert!(plain.iter().all(|e| e.0 > now + reach));
            }
            if draw(3) > 0 {
                let least = plain.iter().copied().min().unwrap();
                plain.retain(|e| *e != least);
                assert_eq!(wheel.peek().map(|k| (k.time, k.class())), Some((least.0, least.1)));
                let (key, item) = wheel.pop().unwrap();
                assert_eq!((key.time, key.class(), item), least);
                now = key.time;
            }
        }
        plain.sort_unstable();
        for entry in plain {
            let (key, item) = wheel.pop().unwrap();
            assert_eq!((key.time, key.class(), item), entry);
        }
        assert!(wheel.pop().is_none() && wheel.not_before() == u64::MAX);
    }

    #[test]
    fn a_look_at_a_far_entry_leaves_the_time_before_it_cheap_to_fill() {
        let mut wheel = Wheel::default();
        wheel.push(3_000_000, 0, 0);
        assert!(wheel.peek_until(1_000).is_none());
        for item in 1..1000u32 {
            wheel.push(u64::from(item) * 2_000, 0, item);
        }
        assert!(wheel.late.is_empty() && wheel.current.is_empty(), "all of them went to slots");
        assert!((1..1000).all(|item| wheel.pop().is_some_and(|(_, popped)| popped == item)));
    }
}
