//! Pages in transit between memory and volume, and their waiters.

use crate::shares::Owner;
use goodness_core::FileId;

/// A transfer in flight: a slot, reused once it is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TransferId(pub u32);

/// Direction of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the volume.
    Fetch,
    /// To the volume.
    WriteBack,
}

/// Adjacent pages of a file that move together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// File of the pages.
    pub file: FileId,
    /// First page.
    pub first: u32,
    /// Number of pages.
    pub pages: u32,
    /// Direction.
    pub direction: Direction,
    /// True if it was waited for from the start.
    pub sync: bool,
    /// Whose pages they are; of no meaning for a fetch.
    pub owner: Owner,
}

/// A transfer, or room for one.
#[derive(Clone, Debug)]
struct Slot {
    transfer: Transfer,
    /// Waiters by the caller's numbers, one entry per wait.
    waiters: Vec<u32>,
    active: bool,
}

/// All transfers in flight.
#[derive(Clone, Debug, Default)]
pub struct Transfers {
    slots: Vec<Slot>,
    free: Vec<TransferId>,
}

impl Transfers {
    /// Starts a transfer.
    pub fn begin(&mut self, transfer: Transfer) -> TransferId {
        if let Some(id) = self.free.pop() {
            let slot = &mut self.slots[id.0 as usize];
            (slot.transfer, slot.active) = (transfer, true);
            return id;
        }
        self.slots.push(Slot { transfer, waiters: Vec::new(), active: true });
        TransferId(self.slots.len() as u32 - 1)
    }

    /// The transfer `id`.
    pub fn get(&self, id: TransferId) -> &Transfer {
        &self.slots[id.0 as usize].transfer
    }

    /// Adds `waiter` to `id`. Returns false if it was waiting already.
    pub fn wait(&mut self, id: TransferId, waiter: u32) -> bool {
        let waiters = &mut self.slots[id.0 as usize].waiters;
        let is_new = !waiters.contains(&waiter);
        if is_new {
            waiters.push(waiter);
        }
        is_new
    }

    /// Writes of `file` in flight.
    pub fn writes_of(&self, file: FileId) -> impl Iterator<Item = &Transfer> {
        self.slots.iter().filter(move |it| it.writes(file)).map(|it| &it.transfer)
    }

    /// Makes `waiter` wait for all writes of `file` in flight. Returns their number.
    pub fn wait_for_file(&mut self, file: FileId, waiter: u32) -> u32 {
        let mut count = 0;
        for index in 0..self.slots.len() {
            if self.slots[index].writes(file) {
                count += u32::from(self.wait(TransferId(index as u32), waiter));
            }
        }
        count
    }

    /// Ends a transfer, and appends its waiters to `woken`.
    pub fn end(&mut self, id: TransferId, woken: &mut Vec<u32>) {
        let it = &mut self.slots[id.0 as usize];
        it.active = false;
        woken.append(&mut it.waiters);
        self.free.push(id);
    }
}

impl Slot {
    /// True if it is write-back of `file` in flight.
    fn writes(&self, file: FileId) -> bool {
        self.active && self.transfer.file == file && self.transfer.direction == Direction::WriteBack
    }
}
