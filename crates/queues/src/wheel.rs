//! A two-level timing wheel with an overflow heap: a priority queue for keys that never go back behind the
//! last one popped. Entries of equal time leave in order of their class, then of insertion.
//!
//! A plain binary heap costs a cache miss per level; here a push is a list insertion and a pop finds the next
//! slot by bitmap. Slots are singly linked in one arena, so nothing allocates once the arena is warm.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Width of a fine slot: 2^10 ns.
const FINE_BITS: u32 = 10;
/// Slots per level: 2^12.
const SLOT_BITS: u32 = 12;
const SLOTS: usize = 1 << SLOT_BITS;
/// Width of a coarse slot: all fine slots together, about 4.2 ms.
const COARSE_BITS: u32 = FINE_BITS + SLOT_BITS;
const NONE: u32 = u32::MAX;

/// When an entry leaves: time, then class, then serial number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// The time, in nanoseconds.
    pub time: u64,
    /// Class in the top byte, serial number below.
    order: u64,
}

impl Key {
    /// The class given at the push.
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

/// One ring of slots and the bitmap of those in use.
#[derive(Clone, Debug)]
struct Ring {
    heads: Box<[u32]>,
    words: [u64; SLOTS / 64],
    summary: u64,
}

impl Ring {
    fn new() -> Self {
        Ring { heads: vec![NONE; SLOTS].into_boxed_slice(), words: [0; SLOTS / 64], summary: 0 }
    }

    #[inline]
    fn mark(&mut self, slot: usize) {
        self.words[slot / 64] |= 1 << (slot % 64);
        self.summary |= 1 << (slot / 64);
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

/// The queue. `T` is a small copyable item.
#[derive(Clone, Debug)]
pub struct Wheel<T> {
    /// Entries of the slot being served, latest first.
    current: Vec<(Key, T)>,
    /// Entries with a time below this belong to `current`.
    current_end: u64,
    /// Fine slots of the coarse slot being served.
    fine: Ring,
    /// The coarse slot being served: time >> COARSE_BITS.
    coarse_now: u64,
    /// The coarse slots of the era being served.
    coarse: Ring,
    /// Entries of later eras.
    overflow: BinaryHeap<Reverse<(Key, Slotless<T>)>>,
    arena: Vec<Node<T>>,
    free: u32,
    serial: u64,
    len: usize,
}

/// Keeps the item out of the heap's comparison: keys are unique.
#[derive(Clone, Copy, Debug)]
struct Slotless<T>(T);

impl<T> PartialEq for Slotless<T> {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}
impl<T> Eq for Slotless<T> {}
impl<T> PartialOrd for Slotless<T> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl<T> Ord for Slotless<T> {
    fn cmp(&self, _: &Self) -> std::cmp::Ordering {
        std::cmp::Ordering::Equal
    }
}

impl<T: Copy> Default for Wheel<T> {
    fn default() -> Self {
        Wheel {
            current: Vec::with_capacity(64),
            current_end: 0,
            fine: Ring::new(),
            coarse_now: 0,
            coarse: Ring::new(),
            overflow: BinaryHeap::new(),
            arena: Vec::new(),
            free: NONE,
            serial: 0,
            len: 0,
        }
    }
}

impl<T: Copy> Wheel<T> {
    /// Entries waiting.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether nothing waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds `item` at `time`, which must not lie before the last time popped.
    #[inline]
    pub fn push(&mut self, time: u64, class: u8, item: T) {
        self.serial += 1;
        let key = Key { time, order: u64::from(class) << 56 | self.serial };
        self.len += 1;
        if time < self.current_end {
            let at = self.current.partition_point(|(k, _)| *k > key);
            self.current.insert(at, (key, item));
        } else {
            self.file(key, item);
        }
    }

    /// Puts an entry that is not of the current slot into its place.
    #[inline]
    fn file(&mut self, key: Key, item: T) {
        let coarse = key.time >> COARSE_BITS;
        if coarse == self.coarse_now {
            let slot = (key.time >> FINE_BITS) as usize % SLOTS;
            let node = self.node(key, item, self.fine.heads[slot]);
            self.fine.heads[slot] = node;
            self.fine.mark(slot);
        } else if coarse >> SLOT_BITS == self.coarse_now >> SLOT_BITS {
            let slot = coarse as usize % SLOTS;
            let node = self.node(key, item, self.coarse.heads[slot]);
            self.coarse.heads[slot] = node;
            self.coarse.mark(slot);
        } else {
            self.overflow.push(Reverse((key, Slotless(item))));
        }
    }

    #[inline]
    fn node(&mut self, key: Key, item: T, next: u32) -> u32 {
        let node = Node { key, item, next };
        if self.free == NONE {
            self.arena.push(node);
            return (self.arena.len() - 1) as u32;
        }
        let at = self.free;
        self.free = self.arena[at as usize].next;
        self.arena[at as usize] = node;
        at
    }

    /// The key of the next entry.
    #[inline]
    pub fn peek(&mut self) -> Option<Key> {
        self.load().then(|| self.current[self.current.len() - 1].0)
    }

    /// Takes the next entry.
    #[inline]
    pub fn pop(&mut self) -> Option<(Key, T)> {
        if !self.load() {
            return None;
        }
        self.len -= 1;
        self.current.pop()
    }

    /// Makes `current` hold the next entry; false when nothing waits.
    #[inline]
    fn load(&mut self) -> bool {
        while self.current.is_empty() {
            if let Some(slot) = self.fine.first() {
                self.serve_fine(slot);
            } else if !self.turn_coarse() {
                return false;
            }
        }
        true
    }

    fn serve_fine(&mut self, slot: usize) {
        let mut at = self.fine.take(slot);
        while at != NONE {
            let node = self.arena[at as usize];
            self.current.push((node.key, node.item));
            self.arena[at as usize].next = self.free;
            self.free = at;
            at = node.next;
        }
        if self.current.len() > 1 {
            self.current.sort_unstable_by_key(|(key, _)| Reverse(*key));
        }
        self.current_end = (self.coarse_now << COARSE_BITS) + ((slot as u64 + 1) << FINE_BITS);
    }

    /// Spreads the next coarse slot in use over the fine ones; false when nothing waits at all.
    fn turn_coarse(&mut self) -> bool {
        if let Some(slot) = self.coarse.first() {
            self.coarse_now = (self.coarse_now >> SLOT_BITS << SLOT_BITS) + slot as u64;
            self.current_end = self.coarse_now << COARSE_BITS;
            let mut at = self.coarse.take(slot);
            while at != NONE {
                let Node { key, item, next } = self.arena[at as usize];
                self.arena[at as usize].next = self.free;
                self.free = at;
                self.file(key, item);
                at = next;
            }
            return true;
        }
        let Some(Reverse((first, _))) = self.overflow.peek() else { return false };
        self.coarse_now = first.time >> COARSE_BITS;
        self.current_end = self.coarse_now << COARSE_BITS;
        let era = self.coarse_now >> SLOT_BITS;
        while let Some(Reverse((key, _))) = self.overflow.peek() {
            if key.time >> COARSE_BITS >> SLOT_BITS != era {
                break;
            }
            if let Some(Reverse((key, Slotless(item)))) = self.overflow.pop() {
                self.file(key, item);
            }
        }
        true
    }
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
        assert!(wheel.pop().is_none() && wheel.is_empty());
    }
}
