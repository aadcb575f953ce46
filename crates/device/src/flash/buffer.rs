//! The write buffer: slots of one mapping unit, drained in FIFO order.

use super::mapping::NONE;
use goodness_queues::{Links, List};

/// One buffered unit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot {
    pub unit: u32,
    /// The command that waits until this slot is in flash, or [`NONE`].
    pub waiter: u32,
    /// Serial number of the fill; flushes wait by it.
    pub filled: u64,
    /// True while it is sent to flash; it cannot be overwritten then.
    pub draining: bool,
}

/// The slots, and which are filled.
#[derive(Debug)]
pub(crate) struct Buffer {
    slots: Vec<Slot>,
    free: Vec<u32>,
    /// Filled slots that are not draining. The links also hold rows being drained.
    waiting: List,
    row_links: Links,
    /// Filled slots in FIFO order, including those being drained.
    filled: List,
    filled_links: Links,
    /// Fillings so far.
    fillings: u64,
    /// Waiting slots that a command waits for.
    awaited: u32,
}

impl Buffer {
    /// An empty buffer of this many slots.
    pub fn new(slots: u32) -> Buffer {
        let empty = Slot { unit: NONE, waiter: NONE, filled: 0, draining: false };
        let (mut row_links, mut filled_links) = (Links::default(), Links::default());
        row_links.reserve(slots as usize);
        filled_links.reserve(slots as usize);
        Buffer {
            slots: vec![empty; slots as usize],
            free: (0..slots).rev().collect(),
            waiting: List::default(),
            row_links,
            filled: List::default(),
            filled_links,
            fillings: 0,
            awaited: 0,
        }
    }

    pub fn slot(&self, slot: u32) -> &Slot {
        &self.slots[slot as usize]
    }

    /// Fills a slot; `None` if none is free.
    pub fn fill(&mut self, unit: u32, waiter: u32) -> Option<u32> {
        let slot = self.free.pop()?;
        self.fillings += 1;
        self.slots[slot as usize] = Slot { unit, waiter, filled: self.fillings, draining: false };
        self.waiting.push_back(&mut self.row_links, slot);
        self.filled.push_back(&mut self.filled_links, slot);
        self.awaited += u32::from(waiter != NONE);
        Some(slot)
    }

    /// Overwrites the waiting `slot`. Fails while it drains, or if two commands would wait for it.
    pub fn overwrite(&mut self, slot: u32, waiter: u32) -> bool {
        let slot = &mut self.slots[slot as usize];
        if slot.draining || (waiter != NONE && slot.waiter != NONE) {
            return false;
        }
        if waiter != NONE {
            slot.waiter = waiter;
            self.awaited += 1;
        }
        true
    }

    /// Units that wait for flash.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// True if some command waits for a unit that waits for flash.
    pub fn is_awaited(&self) -> bool {
        self.awaited > 0
    }

    /// Takes up to `count` waiting units for a row.
    pub fn take_row(&mut self, count: u32) -> List {
        let mut row = List::default();
        while row.len() < count as usize {
            let Some(slot) = self.waiting.pop_front(&mut self.row_links) else { break };
            self.slots[slot as usize].draining = true;
            self.awaited -= u32::from(self.slots[slot as usize].waiter != NONE);
            row.push_back(&mut self.row_links, slot);
        }
        row
    }

    /// Frees the next slot of a programmed row. Returns its number and contents.
    pub fn drained(&mut self, row: &mut List) -> Option<(u32, Slot)> {
        let slot = row.pop_front(&mut self.row_links)?;
        Some((slot, self.release(slot)))
    }

    /// Empties a slot whose unit was discarded and that is not draining. Returns its contents.
    pub fn drop_waiting(&mut self, slot: u32) -> Slot {
        self.waiting.remove(&mut self.row_links, slot);
        self.awaited -= u32::from(self.slots[slot as usize].waiter != NONE);
        self.release(slot)
    }

    fn release(&mut self, slot: u32) -> Slot {
        self.filled.remove(&mut self.filled_links, slot);
        self.free.push(slot);
        self.slots[slot as usize]
    }

    /// Number of the last filling.
    pub fn last_filling(&self) -> u64 {
        self.fillings
    }

    /// True if all fillings up to this number are in flash.
    pub fn is_durable(&self, filling: u64) -> bool {
        self.filled.front().is_none_or(|slot| self.slots[slot as usize].filled > filling)
    }
}
