//! Shared state of the load: remaining export files, dirty pages, and waiting tasks.

use super::disks::{sector_of, volume_pages};
use super::tables::ExportFile;
use super::{Layout, Settings, VOLUMES};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Pages mapped by one converter page: 8 KiB by 8 bytes, a guess.
const CONVERTER: u64 = 1024;

/// Parts of a data cache of `pages`: the steps by which MaxDB 7.6 calculates `_DATA_CACHE_RGNS`.
const fn regions(pages: u64) -> u64 {
    match pages {
        0..=10_000 => 8,
        10_001..=50_000 => 16,
        50_001..=100_000 => 32,
        100_001..=149_999 => 48,
        _ => 64,
    }
}

/// Adjacent pages to be written to a data volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// First page of the volume.
    pub page: u64,
    /// Number of pages.
    pub pages: u64,
}

/// A savepoint's orders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// The data cache is too dirty.
    Flush,
    /// These loaders wait for a savepoint.
    Savepoint(Vec<u32>),
}

/// Handle to the database. A run is one thread, so the mutex is never contended.
#[derive(Clone)]
pub struct Database(Arc<Mutex<State>>);

/// State shared by the tasks.
pub struct State {
    files: Vec<ExportFile>,
    loading: u64,
    layout: Layout,
    cluster: u64,
    cache: u64,
    /// Parts of the data cache, each written by its own pager.
    regions: u64,
    /// Pages in the data cache that are on no volume.
    dirty: u64,
    /// Pages being written to the volumes.
    writing: u64,
    /// Unfinished writes of the current job.
    unwritten: u64,
    /// Volume that gets the next page.
    turn: usize,
    /// Next page to fill on each volume.
    fronts: [u64; VOLUMES],
    /// Writes queued for the I/O threads of each volume.
    queues: [VecDeque<Run>; VOLUMES],
    /// Pages for the log, and the loaders that wait for them to be written.
    log: (u64, Vec<u32>),
    /// Loaders that wait for the next savepoint.
    savers: Vec<u32>,
    /// Loaders that wait until a page of the data cache is clean.
    stalled: Vec<u32>,
    is_flushing: bool,
}

impl Database {
    pub fn new(settings: &Settings, files: Vec<ExportFile>) -> Database {
        Database(Arc::new(Mutex::new(State {
            files,
            loading: settings.loaders,
            layout: settings.layout,
            cluster: settings.cluster,
            cache: settings.cache * 128,
            regions: regions(settings.cache * 128),
            dirty: 0,
            writing: 0,
            unwritten: 0,
            turn: 0,
            fronts: [volume_pages(settings.layout) * settings.filled / 100; VOLUMES],
            queues: Default::default(),
            log: (0, Vec::new()),
            savers: Vec::new(),
            stalled: Vec::new(),
            is_flushing: false,
        })))
    }

    pub fn open(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Removes and returns the largest remaining export file.
    pub fn next_file(&mut self) -> Option<ExportFile> {
        self.files.pop()
    }

    /// Ends a loader. Returns true for the last one.
    pub fn leave(&mut self) -> bool {
        self.loading -= 1;
        self.is_over()
    }

    /// True if all is loaded.
    pub fn is_over(&self) -> bool {
        self.loading == 0
    }

    /// Adds `pages` dirty pages to the data cache. Returns true if a flush is needed.
    pub fn insert(&mut self, pages: u64) -> bool {
        self.dirty += pages;
        let is_due = self.dirty > self.cache / 3 && !self.is_flushing;
        self.is_flushing |= is_due;
        is_due
    }

    /// True if `loader` must wait for a clean page. If so, it is woken when there is one.
    pub fn stalls(&mut self, loader: u32) -> bool {
        let is_full = self.dirty + self.writing > self.cache;
        if is_full {
            self.stalled.push(loader);
        }
        is_full
    }

    /// `loader` waits until `pages` more are in the log.
    pub fn log(&mut self, loader: u32, pages: u64) {
        self.log.0 += pages;
        self.log.1.push(loader);
    }

    /// Pages that the log writer writes now, and the tasks that wait for them.
    pub fn take_log(&mut self) -> (u64, Vec<u32>) {
        std::mem::take(&mut self.log)
    }

    /// Makes `loader` wait for a savepoint that starts after now.
    pub fn save(&mut self, loader: u32) {
        self.savers.push(loader);
    }

    /// Next order of a savepoint, if any.
    pub fn order(&mut self) -> Option<Order> {
        let flush = std::mem::take(&mut self.is_flushing);
        if !self.savers.is_empty() {
            return Some(Order::Savepoint(std::mem::take(&mut self.savers)));
        }
        flush.then_some(Order::Flush)
    }

    /// Queues all dirty data pages for the I/O threads. Returns their number.
    pub fn hand_out_data(&mut self) -> u64 {
        let pages = std::mem::take(&mut self.dirty);
        self.writing = pages;
        self.hand_out(pages);
        pages
    }

    /// Issues the converter's pages for a savepoint of `pages` pages.
    pub fn hand_out_converter(&mut self, pages: u64) {
        self.hand_out(1 + pages / CONVERTER);
    }

    /// Issues the restart page, the first of the first volume.
    pub fn hand_out_restart(&mut self) {
        self.enqueue(0, Run { page: 0, pages: 1 });
    }

    /// Distributes dirty pages over the volumes. Each pager writes its part of the data cache in clusters; clusters go
    /// to the volumes round robin, in the order the pagers request them. Dirty pages are spread evenly over the parts.
    fn hand_out(&mut self, pages: u64) {
        let largest = pages.div_ceil(self.regions);
        for done in (0..largest).step_by(self.cluster as usize) {
            for region in 0..self.regions {
                let dirty = (pages + self.regions - 1 - region) / self.regions;
                let now = dirty.saturating_sub(done).min(self.cluster);
                if now > 0 {
                    self.extend(self.turn, now);
                    self.turn = (self.turn + 1) % VOLUMES;
                }
            }
        }
    }

    /// Allocates `pages` at the write position of `volume`; a full volume starts again.
    fn extend(&mut self, volume: usize, pages: u64) {
        let mut left = pages;
        while left > 0 {
            let room = volume_pages(self.layout) - self.fronts[volume];
            let pages = left.min(room);
            self.enqueue(volume, Run { page: self.fronts[volume], pages });
            left -= pages;
            self.fronts[volume] += pages;
            if self.fronts[volume] >= volume_pages(self.layout) {
                self.fronts[volume] = 1;
            }
        }
    }

    fn enqueue(&mut self, volume: usize, run: Run) {
        self.queues[volume].push_back(run);
        self.unwritten += 1;
    }

    /// Number of writes that wait for the I/O threads of `volume`.
    pub fn waiting(&self, volume: usize) -> usize {
        self.queues[volume].len()
    }

    /// The next write of an I/O thread of `volume`.
    pub fn take(&mut self, volume: usize) -> Option<Run> {
        self.queues[volume].pop_front()
    }

    /// Completes writes of an I/O thread. Returns true if the job is done.
    pub fn done(&mut self, writes: u64) -> bool {
        self.unwritten -= writes;
        self.unwritten == 0
    }

    /// Marks all issued data as written. Returns the loaders that waited for clean pages.
    pub fn clean(&mut self) -> Vec<u32> {
        self.writing = 0;
        std::mem::take(&mut self.stalled)
    }

    /// First sector of `run` of `volume` on the logical volume.
    pub fn sector_of(&self, volume: usize, run: Run) -> u64 {
        sector_of(self.layout, volume, run.page)
    }

    /// Layout of the logical volume on the disks.
    pub fn layout(&self) -> Layout {
        self.layout
    }
}
