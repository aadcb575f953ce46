//! Tasks of the load. Each plans a few steps ahead, then asks the database for more.

use super::database::{Database, Order, Run};
use super::disks::{LOGICAL, PAGE, file_of, log_sector_of};
use super::tables::ExportFile;
use super::{Channels, Settings, VOLUMES, Writes};
use goodness_core::{Behaviour, FileId, IoStep, LockId, Operation, Rng, Span, Step, StepContext, Time};
use std::collections::VecDeque;

/// CPU time of asking for one write and hearing of its end: a guess.
const IO_COST: Span = Span::from_us(30);
/// CPU time of preparing a savepoint: a guess.
const SAVEPOINT_COST: Span = Span::from_us(500);
/// Pages of one write of the log at most: MaxDB's default `LOG_IO_BLOCK_COUNT` on Unix.
const LOG_WRITE: u64 = 8;
/// Waits until no write is in flight.
const ALL: Step = Step::Io(IoStep::Await { at_most: 0 });

type Steps = VecDeque<Step>;

fn about(span: Span, rng: &mut Rng) -> Step {
    let tenth = span.0 / 10;
    Step::Compute(Span(rng.within(span.0 - tenth, span.0 + tenth)))
}

fn write(sector: u64, pages: u64, sync: bool) -> Step {
    let sectors = (pages * PAGE) as u32;
    Step::Io(IoStep::Submit { volume: LOGICAL, op: Operation::Write, sector, sectors, sync })
}

/// An R3load process.
pub struct Loader {
    database: Database,
    settings: Settings,
    number: u32,
    steps: Steps,
    file: ExportFile,
    /// The next table of the file, and how much of it is loaded.
    table: usize,
    loaded: u64,
    /// Pages loaded of the file, and bytes of it read in pages of 4 KiB.
    of_file: u64,
    read: u32,
    begun: Time,
    stage: Stage,
}

/// State of a loader.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Looks for a file.
    Seeking,
    /// Starts a table or ends the file.
    Between,
    /// It loads a table up to the next commit.
    Loading,
    /// Commits this many inserted pages.
    Inserted(u64),
    /// The savepoint behind a table is done.
    Saved,
    /// Finished.
    Leaving,
}

impl Loader {
    pub fn new(database: &Database, settings: &Settings, number: u32) -> Loader {
        Loader {
            database: database.clone(),
            settings: settings.clone(),
            number,
            steps: Steps::new(),
            file: ExportFile::default(),
            table: 0,
            loaded: 0,
            of_file: 0,
            read: 0,
            begun: Time::ZERO,
            stage: Stage::Seeking,
        }
    }

    fn seek(&mut self) {
        let found = self.database.open().next_file();
        match found {
            Some(file) => {
                (self.file, self.table, self.of_file, self.read) = (file, 0, 0, 0);
                self.stage = Stage::Between;
            }
            None => {
                if self.database.open().leave() {
                    self.dismiss();
                }
                self.steps.push_back(Step::Exit);
                self.stage = Stage::Leaving;
            }
        }
    }

    /// Wakes all tasks at the end, so that they exit.
    fn dismiss(&mut self) {
        for volume in 0..VOLUMES {
            let wake = Step::Wake(Channels::volume(volume));
            self.steps.extend((0..self.settings.threads).map(|_| wake.clone()));
        }
        self.steps.extend([Step::Wake(Channels::LOG), Step::Wake(Channels::SAVEPOINT)]);
    }

    fn begin_table(&mut self, cx: &mut StepContext) {
        self.stage = Stage::Seeking;
        if self.table < self.file.tables.len() {
            (self.begun, self.loaded) = (cx.now, 0);
            self.steps.push_back(about(self.settings.create, cx.rng));
            self.stage = Stage::Loading;
        }
    }

    /// Reads and inserts until the next commit. After the last one, requests a savepoint.
    fn load(&mut self, rng: &mut Rng) {
        let pages = (self.file.tables[self.table] - self.loaded).min(self.settings.commit);
        if pages == 0 {
            self.database.open().save(self.number);
            self.steps.extend([Step::Wake(Channels::SAVEPOINT), Step::Wait(Channels::loader(self.number))]);
            self.stage = Stage::Saved;
            return;
        }
        self.loaded += pages;
        self.of_file += pages;
        let needed = (self.of_file * 2 / self.settings.ratio) as u32 + 1;
        if needed > self.read {
            let (file, page) = (FileId(self.file.number), self.read);
            self.steps.push_back(Step::Io(IoStep::Read { file, page, pages: needed - page }));
            self.read = needed;
        }
        self.steps.push_back(about(Span(self.settings.cpu.0 * pages), rng));
        self.stage = Stage::Inserted(pages);
    }

    fn commit(&mut self, pages: u64) {
        let mut database = self.database.open();
        let me = Channels::loader(self.number);
        if database.insert(pages) {
            self.steps.push_back(Step::Wake(Channels::SAVEPOINT));
        }
        if database.stalls(self.number) {
            self.steps.push_back(Step::Wait(me));
        }
        let logged = (pages * self.settings.log).div_ceil(100);
        if logged > 0 {
            database.log(self.number, logged);
            self.steps.extend([Step::Wake(Channels::LOG), Step::Wait(me)]);
        }
        self.stage = Stage::Loading;
    }
}

impl Behaviour for Loader {
    fn next(&mut self, cx: &mut StepContext) -> Step {
        loop {
            if let Some(step) = self.steps.pop_front() {
                return step;
            }
            match self.stage {
                Stage::Seeking => self.seek(),
                Stage::Between => self.begin_table(cx),
                Stage::Loading => self.load(cx.rng),
                Stage::Inserted(pages) => self.commit(pages),
                Stage::Saved => {
                    self.table += 1;
                    self.stage = Stage::Between;
                    return Step::Served(self.begun);
                }
                Stage::Leaving => return Step::Exit,
            }
        }
    }
}

/// The log writer; one write serves all tasks waiting for it.
pub struct LogWriter {
    database: Database,
    steps: Steps,
    /// The next page of the log.
    page: u64,
    waiters: Vec<u32>,
}

impl LogWriter {
    pub fn new(database: &Database) -> LogWriter {
        LogWriter { database: database.clone(), steps: Steps::new(), page: 0, waiters: Vec::new() }
    }

    fn plan(&mut self) {
        self.steps.extend(self.waiters.drain(..).map(|loader| Step::Wake(Channels::loader(loader))));
        let mut database = self.database.open();
        let (mut left, waiters) = database.take_log();
        self.waiters = waiters;
        if left == 0 {
            let then = if database.is_over() { Step::Exit } else { Step::Wait(Channels::LOG) };
            return self.steps.push_back(then);
        }
        while left > 0 {
            let pages = left.min(LOG_WRITE);
            self.steps.extend([
                Step::Compute(IO_COST),
                write(log_sector_of(database.layout(), self.page), pages, true),
                ALL,
            ]);
            left -= pages;
            self.page += pages;
        }
    }
}

impl Behaviour for LogWriter {
    fn next(&mut self, _: &mut StepContext) -> Step {
        loop {
            match self.steps.pop_front() {
                Some(step) => return step,
                None => self.plan(),
            }
        }
    }
}

/// The task that conducts savepoints.
pub struct Savepoint {
    database: Database,
    steps: Steps,
    part: Part,
}

/// Finished part of a savepoint.
enum Part {
    /// No write in flight.
    Nothing,
    /// Writing this many data pages, for that order.
    Data(u64, Order),
    /// The converter is, for these loaders.
    Converter(Vec<u32>),
    /// The page for restarts is.
    Restart(Vec<u32>),
}

impl Savepoint {
    pub fn new(database: &Database) -> Savepoint {
        Savepoint { database: database.clone(), steps: Steps::new(), part: Part::Nothing }
    }

    fn plan(&mut self) {
        let mut database = self.database.open();
        let tell = |loader: u32| Step::Wake(Channels::loader(loader));
        self.part = match std::mem::replace(&mut self.part, Part::Nothing) {
            Part::Nothing => match database.order() {
                None => {
                    let then = if database.is_over() { Step::Exit } else { Step::Wait(Channels::SAVEPOINT) };
                    self.steps.push_back(then);
                    Part::Nothing
                }
                Some(order) => {
                    self.steps.push_back(Step::Compute(SAVEPOINT_COST));
                    Part::Data(database.hand_out_data(), order)
                }
            },
            Part::Data(pages, order) => {
                self.steps.extend(database.clean().into_iter().map(tell));
                match order {
                    Order::Flush => Part::Nothing,
                    Order::Savepoint(loaders) => {
                        database.hand_out_converter(pages);
                        Part::Converter(loaders)
                    }
                }
            }
            Part::Converter(loaders) => {
                database.hand_out_restart();
                Part::Restart(loaders)
            }
            Part::Restart(loaders) => {
                self.steps.extend(loaders.into_iter().map(tell));
                Part::Nothing
            }
        };
        let before = self.steps.len();
        for volume in 0..VOLUMES {
            let wake = Step::Wake(Channels::volume(volume));
            self.steps.extend((0..database.waiting(volume)).take(THREADS_MAX).map(|_| wake.clone()));
        }
        if self.steps.len() > before {
            self.steps.push_back(Step::Wait(Channels::WRITTEN));
        }
    }
}

/// More wake-ups than this are not needed for one volume: it has no more threads.
const THREADS_MAX: usize = 64;

impl Behaviour for Savepoint {
    fn next(&mut self, _: &mut StepContext) -> Step {
        loop {
            match self.steps.pop_front() {
                Some(step) => return step,
                None => self.plan(),
            }
        }
    }
}

/// A thread that writes to one data volume sequentially.
pub struct IoThread {
    database: Database,
    volume: usize,
    writes: Writes,
    flagged: bool,
    /// The lock of the volume's inode, held across a synchronous write.
    inode: Option<LockId>,
    steps: Steps,
    /// Writes done and not reported.
    done: u64,
    /// True if its writes only reach the page cache.
    is_soft: bool,
}

impl IoThread {
    pub fn new(database: &Database, settings: &Settings, volume: usize) -> IoThread {
        IoThread {
            database: database.clone(),
            volume,
            writes: settings.writes,
            flagged: settings.flagged,
            inode: settings.serial.then_some(LockId(volume as u32)),
            steps: Steps::new(),
            done: 0,
            is_soft: false,
        }
    }

    fn plan(&mut self) {
        let mut database = self.database.open();
        if !self.is_soft && self.done > 0 && database.done(std::mem::take(&mut self.done)) {
            self.steps.push_back(Step::Wake(Channels::WRITTEN));
        }
        match database.take(self.volume) {
            Some(run) => {
                self.steps.push_back(Step::Compute(Span(IO_COST.0)));
                match self.writes {
                    Writes::Direct => {
                        self.steps.extend(self.inode.map(Step::Lock));
                        self.steps.extend([write(database.sector_of(self.volume, run), run.pages, self.flagged), ALL]);
                        self.steps.extend(self.inode.map(Step::Unlock));
                    }
                    Writes::Buffered => self.steps.push_back(self.buffered(run)),
                }
                self.is_soft = self.writes == Writes::Buffered;
                self.done += 1;
            }
            None if self.is_soft => {
                self.steps.push_back(Step::Io(IoStep::Sync { file: FileId(file_of(self.volume)) }));
                self.is_soft = false;
            }
            None if database.is_over() => self.steps.push_back(Step::Exit),
            None => self.steps.push_back(Step::Wait(Channels::volume(self.volume))),
        }
    }

    fn buffered(&self, run: Run) -> Step {
        let file = FileId(file_of(self.volume));
        Step::Io(IoStep::Write { file, page: run.page as u32 * 2, pages: run.pages as u32 * 2 })
    }
}

impl Behaviour for IoThread {
    fn next(&mut self, _: &mut StepContext) -> Step {
        loop {
            match self.steps.pop_front() {
                Some(step) => return step,
                None => self.plan(),
            }
        }
    }
}
