//! Entries of coarse slots, in lists of batches: what was filed one after the other lies together in memory and is
//! read so when its slot is reached, long after it left the caches.

use super::{Due, NONE, SLOTS};

/// Entries of a batch.
const ROOM: usize = 8;

/// Up to [`ROOM`] entries of one slot, and the batch filled before it.
#[derive(Clone, Copy, Debug)]
struct Batch<T> {
    entries: [Due<T>; ROOM],
    len: u32,
    next: u32,
}

/// All batches. A list is named by its first batch, [`NONE`] if empty.
#[derive(Clone, Debug)]
pub(super) struct Batches<T> {
    all: Vec<Batch<T>>,
    free: u32,
}

impl<T: Copy> Batches<T> {
    /// Room for `entries` entries before it allocates, however they spread over the slots.
    pub fn with_capacity(entries: usize) -> Self {
        Batches { all: Vec::with_capacity(entries / ROOM + entries.min(SLOTS)), free: NONE }
    }

    /// Adds `due` to `list`. Returns the list.
    #[inline]
    pub fn add(&mut self, list: u32, due: Due<T>) -> u32 {
        if let Some(batch) = self.all.get_mut(list as usize)
            && let Some(place) = batch.entries.get_mut(batch.len as usize)
        {
            *place = due;
            batch.len += 1;
            return list;
        }
        self.begin(list, due)
    }

    /// Begins a batch before those of `list`.
    #[inline(never)]
    fn begin(&mut self, list: u32, due: Due<T>) -> u32 {
        let batch = Batch { entries: [due; ROOM], len: 1, next: list };
        let at = self.free;
        if let Some(unused) = self.all.get_mut(at as usize) {
            self.free = unused.next;
            *unused = batch;
            return at;
        }
        self.all.push(batch);
        (self.all.len() - 1) as u32
    }

    /// Calls `each` with all entries of `list`, which is empty afterwards.
    #[inline]
    pub fn drain(&mut self, mut list: u32, mut each: impl FnMut(Due<T>)) {
        while let Some(batch) = self.all.get_mut(list as usize) {
            batch.entries.iter().take(batch.len as usize).for_each(|due| each(*due));
            let next = std::mem::replace(&mut batch.next, self.free);
            self.free = list;
            list = next;
        }
    }
}
