//! The database load of 2006: R3load processes fill a MaxDB database, which is saved after every table.
//!
//! ```text
//!  loader ×5 ── rows ─▶ data cache ── savepoint ─▶ I/O thread ×2 of each volume ─▶ data volumes 1 … 6
//!    ▲  └── commit ─▶ log writer ─▶ log volume
//!  export files (page cache)
//! ```
//!
//! A loader takes the largest export file that is left, and reads, converts and inserts it table by table. At each
//! commit it waits for the log, and after each table for a savepoint, which writes all that is dirty in the data cache:
//! first the pages of data (a pager for each part of the cache, in runs that go to the volumes in turn, as in the
//! published source of MaxDB 7.6.00), then the converter's (which page lies where), then the page from which a restart
//! begins. A loader that asks while a savepoint is under way shares the next one. Pages are never written in place, so
//! each volume is filled from its beginning.
//!
//! Left out: the two reports at the end of the published time, swapping, the file system's own metadata (the volumes
//! were allocated before), what the database reads back, what a page written a second time leaves behind.

mod database;
mod disks;
mod tables;
mod tasks;

use super::About;
use database::Database;
use goodness_core::{ChannelKind, HORIZON_MAX, LockKind, Seed, Span, Start, Task, TaskSpec, Time, Workload};
use tasks::{IoThread, Loader, LogWriter, Savepoint};

pub const ABOUT: About = About {
    name: "dbload",
    summary: "Five R3load processes fill a MaxDB database on three disks; a savepoint after every table.",
    source: "H. Kuehnemund's load of 2006: 34 export files, more than 44 000 tables, about 73 GB, six data volumes of \
             15 GB and a log of 2 GB on linear LVM. Tasks and savepoints as the manuals of MaxDB 7.5 and 7.6, the \
             published source of 7.6.00 and SAP's slides describe them (two I/O threads a volume until 7.6; pages of 8 \
             KiB in runs of up to 64). Times, sizes and what was not published are parameters.",
};

goodness_core::choices! {
    /// Distribution of table sizes by rank: equal, falling with the root of the rank, or with the rank (Zipf).
    pub enum Sizes { Equal = "equal", Root = "root", Zipf = "zipf" }
}

goodness_core::choices! {
    /// Path of pages to a data volume: bypassing the page cache, or through it with a final sync.
    pub enum Writes { Direct = "direct", Buffered = "buffered" }
}

goodness_core::choices! {
    /// Layout of the logical volume on the disks.
    pub enum Layout { Linear = "linear", Striped = "striped" }
}

goodness_core::choices! {
    /// Location of the export files: on the first disk with the system, or behind the database's volumes.
    pub enum Exports { Root = "root", Volume = "volume" }
}

goodness_core::tunables! {
    pub struct Settings {
        /// Load one table in this many; the mean size is unchanged.
        scale: u64 = 200, in 1 => 8_000;
        /// R3load processes.
        loaders: u64 = 5, in 1 => 34;
        /// Distribution of sizes from the largest table to the smallest.
        sizes: Sizes = Sizes::Zipf;
        /// CPU time of reading, converting and inserting a page of 8 KiB, ±10 %.
        cpu: Span = Span::from_us(1000), in Span::from_us(1) => Span::from_s(1);
        /// CPU time of creating a table, ±10 %.
        create: Span = Span::from_ms(20), in Span::ZERO => Span::from_s(10);
        /// Bytes of the database that a byte of an export file becomes.
        ratio: u64 = 16, in 1 => 100;
        /// Pages loaded from one commit to the next.
        commit: u64 = 16, in 1 => 10_000;
        /// Growth of the log in pages per hundred pages loaded.
        log: u64 = 50, in 0 => 200;
        /// I/O threads of each data volume.
        threads: u64 = 2, in 1 => 64;
        /// Pages of one write at most.
        cluster: u64 = 64, in 1 => 128;
        /// Path of pages to the data volumes.
        writes: Writes = Writes::Direct;
        /// Mark these writes as synchronous for the elevators.
        flagged: bool = true;
        /// Let only one thread at a time write to a volume, as a file system does that holds the lock of a file's inode
        /// across a synchronous write.
        serial: bool = false;
        /// Data cache, MiB. Loaders wait while all of it is dirty; pagers write once a third is.
        cache: u64 = 1500, in 1 => 3000;
        /// Layout of the logical volume on the disks.
        layout: Layout = Layout::Linear;
        /// Revolutions a minute of the disks.
        rpm: u64 = 10_000, in 10_000 => 15_000;
        /// Let disks complete writes in their buffer.
        write_cache: bool = false;
        /// Commands that a disk takes at a time.
        depth: u64 = 64, in 1 => 256;
        /// Place of the export files.
        exports: Exports = Exports::Root;
        /// Fill level of the volumes at the start, in percent, so that a partial load stands for the middle of a whole
        /// one.
        filled: u64 = 40, in 0 => 99;
    }
}

/// Data volumes.
const VOLUMES: usize = 6;

/// The channels of the workload, by number.
struct Channels;

impl Channels {
    /// Work for the I/O threads of data volume `volume`.
    fn volume(volume: usize) -> goodness_core::Channel {
        goodness_core::Channel(volume as u32)
    }
    /// Work for the log writer.
    const LOG: goodness_core::Channel = goodness_core::Channel(VOLUMES as u32);
    /// Work for savepoints.
    const SAVEPOINT: goodness_core::Channel = goodness_core::Channel(VOLUMES as u32 + 1);
    /// All of a savepoint's pages are written.
    const WRITTEN: goodness_core::Channel = goodness_core::Channel(VOLUMES as u32 + 2);
    /// Channel on which loader `loader` waits.
    fn loader(loader: u32) -> goodness_core::Channel {
        goodness_core::Channel(VOLUMES as u32 + 3 + loader)
    }
}

/// The work, with tables dealt to export files by `seed`.
pub fn build(settings: &Settings, seed: Seed) -> Workload {
    let files = tables::deal(settings, &mut seed.stream("tables", 0).rng());
    let storage = disks::storage(settings, &files);
    let database = Database::new(settings, files);
    let mut tasks = Vec::new();
    let mut add = |name: String, space: u32, behaviour: Box<dyn goodness_core::Behaviour>| {
        let task = Task { address_space: Some(space), ..Task::default() };
        tasks.push(TaskSpec { name, start: Start::At(Time::ZERO), task, behaviour, judged: true });
    };
    for loader in 0..settings.loaders as u32 {
        add(format!("r3load-{loader}"), loader + 1, Box::new(Loader::new(&database, settings, loader)));
    }
    add("log-writer".into(), 0, Box::new(LogWriter::new(&database)));
    add("savepoint".into(), 0, Box::new(Savepoint::new(&database)));
    for volume in 0..VOLUMES {
        for thread in 0..settings.threads {
            add(format!("volume-{volume}-{thread}"), 0, Box::new(IoThread::new(&database, settings, volume)));
        }
    }
    Workload {
        tasks,
        channels: vec![ChannelKind::Semaphore; VOLUMES + 3 + settings.loaders as usize],
        locks: vec![LockKind::Fifo; if settings.serial { VOLUMES } else { 0 }],
        horizon: Some(Time::ZERO + HORIZON_MAX),
        storage,
        ..Workload::default()
    }
}
