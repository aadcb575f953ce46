//! Pages in transit between memory and volume, and their waiters.

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
#[derive(Clone, Debug, PartialEq, Eq)]
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
    /// Waiters by the caller's numbers, one entry per wait.
    waiters: Vec<u32>,
    active: bool,
}

/// All transfers in flight.
#[derive(Clone, Debug, Default)]
pub struct Transfers {
    slots: Vec<Transfer>,
    free: Vec<TransferId>,
}

impl Transfers {
    /// Starts a transfer.
    pub fn begin(&mut self, file: FileId, first: u32, pages: u32, direction: Direction, sync: bool) -> TransferId {
        if let Some(id) = self.free.pop() {
            let it = &mut self.slots[id.0 as usize];
            (it.file, it.first, it.pages, it.direction, it.sync, it.active) =
                (file, first, pages, direction, sync, true);
            return id;
        }
        self.slots.push(Transfer { file, first, pages, direction, sync, waiters: Vec::new(), active: true });
        TransferId(self.slots.len() as u32 - 1)
    }

    /// The transfer `id`.
    pub fn get(&self, id: TransferId) -> &Transfer {
        &self.slots[id.0 as usize]
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
        let moves = move |it: &&Transfer| it.active && it.file == file && it.direction == Direction::WriteBack;
        self.slots.iter().filter(moves)
    }

    /// Makes `waiter` wait for all writes of `file` in flight. Returns their number.
    pub fn wait_for_file(&mut self, file: FileId, waiter: u32) -> u32 {
        let mut count = 0;
        for index in 0..self.slots.len() {
            let it = &self.slots[index];
            if it.active && it.file == file && it.direction == Direction::WriteBack {
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
