//! A sorted order whose items lie in blocks of at most 32, side by side; an ordered tree finds the block. Items are
//! ordered by a signed key, then by insertion.
//!
//! Where a [`Tree`] of single items guesses wrong at most of its levels, a search in a block has no branch, and the
//! tree of blocks changes only when a block becomes full or empty. It knows no ranks and no minima: for those take the
//! tree.
//!
//! ```
//! use goodness_queues::{Blocks, Sorted};
//! let mut blocks = Blocks::default();
//! blocks.reserve(3);
//! let mut sorted = Sorted::default();
//! assert_eq!(sorted.insert(&mut blocks, 0, 30), None);
//! assert_eq!(sorted.insert(&mut blocks, 1, 10), None);
//! assert_eq!(sorted.insert(&mut blocks, 2, 20), Some(1));
//! assert_eq!(sorted.remove(&mut blocks, 1), Some(2));
//! ```

use crate::tree::{Nodes, Tree};

/// Items of a block.
const SIZE: usize = 32;

#[derive(Clone, Copy, Debug)]
struct Entry {
    key: i64,
    item: u32,
}

/// Filler behind the items of a block.
const FREE: Entry = Entry { key: i64::MAX, item: 0 };

/// Items in order; never empty while it is in a tree.
#[derive(Clone, Copy, Debug)]
struct Block {
    entries: [Entry; SIZE],
    len: u32,
}

impl Block {
    const EMPTY: Block = Block { entries: [FREE; SIZE], len: 0 };

    fn filled(&self) -> &[Entry] {
        &self.entries[..self.len as usize]
    }

    /// Number of leading items that satisfy `comes_before`: a branchless binary search.
    #[inline]
    fn count(&self, comes_before: impl Fn(i64) -> bool) -> usize {
        let mut count = 0;
        let mut step = SIZE / 2;
        while step > 0 {
            count += step * usize::from(comes_before(self.entries[count + step - 1].key));
            step /= 2;
        }
        count += usize::from(comes_before(self.entries[count].key));
        count.min(self.len as usize)
    }

    #[inline]
    fn insert(&mut self, at: usize, entry: Entry) {
        self.entries.copy_within(at..self.len as usize, at + 1);
        self.entries[at] = entry;
        self.len += 1;
    }

    #[inline]
    fn remove(&mut self, at: usize) {
        let len = self.len as usize;
        self.entries.copy_within(at + 1..len, at);
        self.entries[len - 1] = FREE;
        self.len -= 1;
    }
}

/// Location of an item.
#[derive(Clone, Copy, Debug, Default)]
struct Home {
    key: i64,
    block: u32,
}

/// The blocks of all orders that share them, and where each item is.
#[derive(Clone, Debug, Default)]
pub struct Blocks {
    blocks: Vec<Block>,
    unused: Vec<u32>,
    /// Each block under a key that none of its items is below and no item before it is above.
    nodes: Nodes<0>,
    homes: Vec<Home>,
}

impl Blocks {
    /// Makes room for items `0..count`; nothing allocates afterwards.
    #[inline]
    pub fn reserve(&mut self, count: usize) {
        if count > self.homes.len() {
            self.grow(count);
        }
    }

    /// Grows to `count` blocks. There are never more blocks than items, because no block is empty.
    #[cold]
    fn grow(&mut self, count: usize) {
        self.homes.resize(count, Home::default());
        self.nodes.reserve(count);
        self.blocks.reserve(count - self.blocks.len());
        self.unused.reserve(count - self.unused.len());
    }

    /// The key under which `item` was last inserted.
    #[inline]
    #[must_use]
    pub fn key(&self, item: u32) -> i64 {
        self.homes[item as usize].key
    }

    /// The block of `item` and its place there.
    #[inline]
    fn find(&self, item: u32) -> (u32, usize) {
        let Home { key, block } = self.homes[item as usize];
        let entries = &self.blocks[block as usize];
        let mut at = entries.count(|other| other < key);
        while entries.entries[at].item != item {
            at += 1;
        }
        (block, at)
    }

    fn take_unused(&mut self) -> u32 {
        self.unused.pop().unwrap_or_else(|| {
            self.blocks.push(Block::EMPTY);
            self.blocks.len() as u32 - 1
        })
    }
}

/// One order: its blocks and number of items.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sorted {
    tree: Tree,
    len: u32,
}

impl Sorted {
    /// Number of items.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// True if the order is empty.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The item with the smallest key, the one inserted first of equals.
    #[inline]
    #[must_use]
    pub fn first(&self, blocks: &Blocks) -> Option<u32> {
        self.tree.first().map(|block| blocks.blocks[block as usize].entries[0].item)
    }

    /// The item with the largest key, the one inserted last of equals.
    #[inline]
    #[must_use]
    pub fn last(&self, blocks: &Blocks) -> Option<u32> {
        let block = self.tree.last().map(|block| &blocks.blocks[block as usize])?;
        block.filled().last().map(|entry| entry.item)
    }

    /// Adds `item`, which must be in no order of these blocks, behind its equals. Returns its predecessor.
    #[inline]
    pub fn insert(&mut self, blocks: &mut Blocks, item: u32, key: i64) -> Option<u32> {
        let mut block = self.block_for(blocks, key);
        if blocks.blocks[block as usize].len as usize == SIZE {
            block = self.split(blocks, block, key);
        }
        self.len += 1;
        blocks.homes[item as usize] = Home { key, block };
        let entries = &mut blocks.blocks[block as usize];
        let at = entries.count(|other| other <= key);
        entries.insert(at, Entry { key, item });
        if at > 0 { Some(entries.entries[at - 1].item) } else { self.last_of_previous(blocks, block) }
    }

    /// The block in which `key` belongs.
    #[inline]
    fn block_for(&mut self, blocks: &mut Blocks, key: i64) -> u32 {
        if let Some(block) = self.tree.last_to(&blocks.nodes, key) {
            return block;
        }
        // Nothing precedes the first block, so it may begin with the smallest possible key.
        let block = match self.tree.first() {
            Some(first) => {
                self.tree.remove(&mut blocks.nodes, first);
                first
            }
            None => blocks.take_unused(),
        };
        self.tree.insert(&mut blocks.nodes, block, i64::MIN, []);
        block
    }

    /// Moves the upper half of a full block to a new one. Returns the block in which `key` belongs.
    #[cold]
    fn split(&mut self, blocks: &mut Blocks, full: u32, key: i64) -> u32 {
        let new = blocks.take_unused();
        let (lower, upper) = blocks.blocks[full as usize].entries.split_at(SIZE / 2);
        let (mut low, mut high) = (Block::EMPTY, Block::EMPTY);
        low.entries[..SIZE / 2].copy_from_slice(lower);
        high.entries[..SIZE / 2].copy_from_slice(upper);
        (low.len, high.len) = ((SIZE / 2) as u32, (SIZE / 2) as u32);
        for entry in high.filled() {
            blocks.homes[entry.item as usize].block = new;
        }
        let least = high.entries[0].key;
        blocks.blocks[full as usize] = low;
        blocks.blocks[new as usize] = high;
        self.tree.insert_behind(&mut blocks.nodes, full, new, least, []);
        if key < least { full } else { new }
    }

    /// Removes `item`, which must be in this order. Returns its successor.
    #[inline]
    pub fn remove(&mut self, blocks: &mut Blocks, item: u32) -> Option<u32> {
        let (block, at) = blocks.find(item);
        self.len -= 1;
        let entries = &mut blocks.blocks[block as usize];
        entries.remove(at);
        if at < entries.len as usize {
            return Some(entries.entries[at].item);
        }
        let is_empty = entries.len == 0;
        let next = self.first_of_next(blocks, block);
        if is_empty {
            self.tree.remove(&mut blocks.nodes, block);
            blocks.unused.push(block);
        }
        next
    }

    /// The item after `item`, which must be in this order.
    #[inline]
    #[must_use]
    pub fn next(&self, blocks: &Blocks, item: u32) -> Option<u32> {
        let (block, at) = blocks.find(item);
        match blocks.blocks[block as usize].filled().get(at + 1) {
            Some(entry) => Some(entry.item),
            None => self.first_of_next(blocks, block),
        }
    }

    /// The item before `item`, which must be in this order.
    #[inline]
    #[must_use]
    pub fn prev(&self, blocks: &Blocks, item: u32) -> Option<u32> {
        let (block, at) = blocks.find(item);
        match at.checked_sub(1) {
            Some(before) => Some(blocks.blocks[block as usize].entries[before].item),
            None => self.last_of_previous(blocks, block),
        }
    }

    /// The first item whose key is at least `key`.
    #[must_use]
    pub fn first_from(&self, blocks: &Blocks, key: i64) -> Option<u32> {
        let block = self.tree.last_before(&blocks.nodes, key).or(self.tree.first())?;
        let entries = &blocks.blocks[block as usize];
        match entries.filled().get(entries.count(|other| other < key)) {
            Some(entry) => Some(entry.item),
            None => self.first_of_next(blocks, block),
        }
    }

    fn first_of_next(&self, blocks: &Blocks, block: u32) -> Option<u32> {
        let next = self.tree.next(&blocks.nodes, block)?;
        Some(blocks.blocks[next as usize].entries[0].item)
    }

    fn last_of_previous(&self, blocks: &Blocks, block: u32) -> Option<u32> {
        let previous = self.tree.prev(&blocks.nodes, block)?;
        blocks.blocks[previous as usize].filled().last().map(|entry| entry.item)
    }
}

#[cfg(test)]
mod tests;
