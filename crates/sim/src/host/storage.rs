//! Tasks' I/O: the page cache, the block layer below it, and the waiting tasks. Disks and the flusher use no CPU; their
//! completions wake tasks like interrupts.

use super::Host;
use super::elevator_lock::ElevatorLock;
use super::flusher::Flusher;
use super::steps::Then;
use super::task_io::{STEPS_MAX, Syncing, TaskIo};
use crate::calendar::Entry;
use crate::calendar::class;
use goodness_block::{Out, Outcome, Storage, Work};
use goodness_core::{
    CpuId, Event, FileId, GroupId, Io, IoPriority, IoStep, Off, Operation, Rng, Step, Submitter, TaskId, Time,
    VolumeId, Workload,
};
use goodness_memory::{Direction, File, Limits, Owner, PageCache, TransferId};
use std::collections::VecDeque;

/// Most pages per part of a step; the rest follows when they are done. 1 MiB, the flusher's unit: a choice. It bounds a
/// task's I/O in flight and lets a large write wait midway.
const PART: u32 = 256;
/// Most I/Os of a task that are collected before they are submitted. A choice, far above the plug size of a queue.
const PLUG_MAX: usize = 1024;

/// Marks the tag of an I/O that belongs to a transfer of the page cache.
const TRANSFER: u64 = 1 << 63;
/// Marks the tag of the flush that ends a task's sync. Other tags are the numbers of tasks, and above bit 32 those of
/// their I/Os, where these are requests.
const FLUSH: u64 = 1 << 62;

/// End of the first part of `pages` pages from `page`, in a file of `size` pages, and the number of pages that remain,
/// if any.
fn part(page: u32, pages: u32, size: u32) -> (u32, Option<u32>) {
    let all = page.saturating_add(pages).min(size);
    let end = page.saturating_add(PART).min(all);
    (end, (end < all).then(|| all - end))
}

/// Disks, files and memory of one run.
pub struct StorageRun {
    disks: Storage,
    files: Vec<(VolumeId, File)>,
    pub cache: PageCache,
    tasks: Vec<TaskIo>,
    /// I/Os collected since the last step that took time, all of one task.
    plug: Vec<(VolumeId, Io)>,
    /// The I/Os of `plug` for one volume.
    batch: Vec<Io>,
    pub out: Out,
    /// Unfinished I/Os, by transfer.
    parts: Vec<u32>,
    pub transfers: Vec<TransferId>,
    woken: Vec<u32>,
    /// Writers that wait until fewer pages are dirty, and their domains.
    throttled: VecDeque<(TaskId, u32)>,
    /// Number of groups.
    groups: u32,
    /// The I/Os of tasks are requests.
    serves_ios: bool,
    pub flusher: Flusher,
    armed: Time,
    is_busy: bool,
    /// What the block layer has done since it was last charged.
    pub work: Vec<Work>,
    /// True while I/Os are submitted whose submission has been charged.
    pub is_prepaid: bool,
    /// The locks of the elevators, by disk and number.
    pub locks: Vec<Vec<ElevatorLock>>,
}

impl StorageRun {
    /// Allocates the files and starts with an empty cache.
    pub fn new(workload: &Workload, disks: Storage, has_costs: bool, rng: &mut Rng) -> StorageRun {
        let spec = &workload.storage;
        let groups = workload.groups.count() as u32;
        let domains = spec.volumes.len() * groups as usize;
        let file = |it: &goodness_core::FileSpec, rng: &mut Rng| match it.fragments {
            None => File::contiguous(it.sector, it.pages),
            Some((piece, spread)) => File::fragmented(it.sector, it.pages, piece, spread, rng),
        };
        StorageRun {
            disks,
            files: spec.files.iter().map(|it| (it.volume, file(it, rng))).collect(),
            cache: PageCache::new(Limits::linux(spec.cache_pages), spec.files.len(), domains),
            tasks: workload.tasks.iter().map(|_| TaskIo::default()).collect(),
            plug: Vec::new(),
            batch: Vec::new(),
            out: Out { work: has_costs.then(Vec::new), ..Out::with_events() },
            parts: Vec::new(),
            transfers: Vec::new(),
            woken: Vec::new(),
            throttled: VecDeque::new(),
            groups,
            serves_ios: spec.serves_ios,
            flusher: Flusher::new(domains),
            armed: Time::NEVER,
            is_busy: false,
            work: Vec::new(),
            is_prepaid: false,
            locks: vec![Vec::new(); spec.disks.len()],
        }
    }

    /// The domain of what a task of `group` writes to `file`: a volume, and a group on it.
    fn domain(&self, file: FileId, group: GroupId) -> u32 {
        u32::from(self.files[file.0 as usize].0.0) * self.groups + group.0
    }

    /// Plugs the I/Os of `task` whose submission its CPU has worked for. Returns false if there are none.
    pub fn plug_submitted(&mut self, task: TaskId) -> bool {
        let it = &mut self.tasks[task.index()];
        self.is_prepaid = !it.submitting.is_empty();
        self.plug.append(&mut it.submitting);
        self.is_prepaid
    }

    /// Takes the plugged I/Os of `task` back, for whose submission its CPU works first, unless it may add to them.
    pub fn take_plugged(&mut self, task: TaskId, adds: bool) -> &[(VolumeId, Io)] {
        let it = &mut self.tasks[task.index()];
        if !adds || self.plug.len() >= PLUG_MAX {
            it.submitting.append(&mut self.plug);
        }
        &it.submitting
    }

    /// True if `task` waits for I/O as soon as its CPU has worked for it.
    pub fn will_wait(&self, task: TaskId) -> bool {
        self.tasks[task.index()].will_wait
    }

    /// True if `task` has nothing left to wait for here.
    fn may_go_on(&self, task: TaskId) -> bool {
        let it = &self.tasks[task.index()];
        it.unadmitted == 0 && it.transfers == 0 && it.awaits.is_none_or(|most| it.under_way <= most)
    }

    /// Submits the I/Os of a page-cache transfer, on behalf of the submitter of `by` and on its CPU. Write-back
    /// is of the group that the file's owner was in when it wrote.
    pub fn submit_transfer(&mut self, now: Time, id: TransferId, by: Io) {
        let it = self.cache.transfer(id);
        let (volume, file) = &self.files[it.file.0 as usize];
        let op = if it.direction == Direction::Fetch { Operation::Read } else { Operation::Write };
        let sync = it.sync || op == Operation::Read;
        let tag = TRANSFER | u64::from(id.0);
        let (owner, group) = match it.direction {
            Direction::Fetch => (by.owner, by.group),
            Direction::WriteBack => (Submitter(it.owner.writer), GroupId(it.owner.domain % self.groups)),
        };
        let pieces = file.runs(it.first, it.pages);
        let ios = pieces.map(|(sector, sectors)| Io { op, sync, tag, sector, sectors, owner, group, ..by });
        let begin = self.plug.len();
        self.plug.extend(ios.map(|io| (*volume, io)));
        if self.parts.len() <= id.0 as usize {
            self.parts.resize(id.0 as usize + 1, 0);
        }
        self.parts[id.0 as usize] = (self.plug.len() - begin) as u32;
        self.submit_plugged(now);
    }

    /// Submits plugged I/O to the block layer, volume by volume.
    fn submit_plugged(&mut self, now: Time) {
        if self.serves_ios {
            let is_request = |io: &Io| io.tag & (TRANSFER | FLUSH) == 0 && io.op != Operation::Flush;
            for (_, io) in self.plug.iter().filter(|(_, io)| is_request(io)) {
                self.tasks[io.tag as u32 as usize].taken.submit((io.tag >> 32) as u32, now);
            }
        }
        for group in self.plug.chunk_by(|a, b| a.0 == b.0) {
            self.batch.clear();
            self.batch.extend(group.iter().map(|(_, io)| *io));
            self.disks.submit(now, group[0].0, &self.batch, &mut self.out);
        }
        self.plug.clear();
    }
}

impl Host<'_> {
    /// Performs a step that concerns storage.
    pub fn perform_io(&mut self, cpu: CpuId, task: TaskId, step: IoStep) -> Then {
        if let Err(what) = self.check_io(task, cpu, step) {
            self.at_fault(task, what);
            return Then::Stop;
        }
        match step {
            IoStep::Submit { volume, op, sector, sectors, sync } => {
                let io = self.io(task, cpu, sector, sectors);
                let storage = self.storage.as_mut().expect("checked");
                let it = &mut storage.tasks[task.index()];
                let number = if storage.serves_ios { it.taken.number() } else { 0 };
                let tag = u64::from(task.0) | u64::from(number) << 32;
                storage.plug.push((volume, Io { op, sync: sync || op == Operation::Read, tag, ..io }));
                it.under_way += 1;
                it.uses(volume);
                Then::Next
            }
            IoStep::Await { at_most } => {
                let storage = self.storage.as_mut().expect("checked");
                let it = &mut storage.tasks[task.index()];
                it.awaits = Some(at_most);
                if storage.serves_ios {
                    it.taken.asks(at_most);
                }
                self.wait_for_io(cpu, task)
            }
            IoStep::Read { file, page, pages } => self.read(cpu, task, file, page, pages),
            IoStep::Write { file, page, pages } => self.write(cpu, task, file, page, pages),
            IoStep::Sync { file } => self.sync(cpu, task, file),
            IoStep::SetPriority(priority) => {
                self.referee.edit(task, |it| it.io_priority = priority);
                Then::Next
            }
        }
    }

    /// Checks that everything `step` names exists and that the task has not taken too many storage steps at this
    /// instant.
    fn check_io(&mut self, task: TaskId, cpu: CpuId, step: IoStep) -> Result<(), String> {
        let now = self.now();
        let Some(storage) = &mut self.storage else { return Err("asks for I/O, and the work has no disk".into()) };
        if storage.tasks[task.index()].is_stuck(now) {
            return Err(format!("took {STEPS_MAX} steps in a row without using time"));
        }
        let Some(storage) = &self.storage else { unreachable!("seen above") };
        match step {
            IoStep::Submit { volume, .. } if usize::from(volume.0) >= storage.disks.volumes() => {
                Err(format!("uses volume {}, which does not exist", volume.0))
            }
            IoStep::Submit { volume, op, sector, sectors, .. } => {
                let size = storage.disks.sectors(volume);
                let io = Io { op, ..self.io(task, cpu, sector, sectors) };
                let what = || format!("asks to {} sectors {sector} + {sectors} of a volume of {size}", op.name());
                io.fits(size).then_some(()).ok_or_else(what)
            }
            IoStep::Read { file, .. } | IoStep::Write { file, .. } | IoStep::Sync { file }
                if file.0 as usize >= storage.files.len() =>
            {
                Err(format!("uses file {}, which does not exist", file.0))
            }
            _ => Ok(()),
        }
    }

    /// A read by `task` from `cpu`, to be completed by the caller.
    fn io(&self, task: TaskId, cpu: CpuId, sector: u64, sectors: u32) -> Io {
        let it = &self.task(task);
        let priority = it.io_priority.unwrap_or_else(|| IoPriority::from_nice(it.nice.get()));
        Io { priority, cpu: cpu.0 as u16, group: it.group, ..Io::read(Submitter(task.0), sector, sectors) }
    }

    fn read(&mut self, cpu: CpuId, task: TaskId, file: FileId, page: u32, pages: u32) -> Then {
        let storage = self.storage.as_mut().expect("checked");
        let size = storage.files[file.0 as usize].1.pages();
        let (end, rest) = part(page, pages, size);
        if page >= end {
            return Then::Next;
        }
        let rest = rest.map(|pages| Step::Io(IoStep::Read { file, page: end, pages }));
        let max = storage.cache.limits().read_ahead;
        let window = storage.tasks[task.index()].window(file);
        let ahead = window.plan(page, end - page, size, max);
        let mut made = std::mem::take(&mut storage.transfers);
        let waits = storage.cache.read(file, page, end, ahead, task.0, &mut made);
        let it = &mut storage.tasks[task.index()];
        it.transfers += waits;
        it.deferred = rest;
        it.uses(storage.files[file.0 as usize].0);
        self.submit_made(cpu, task, made);
        self.wait_for_io(cpu, task)
    }

    fn write(&mut self, cpu: CpuId, task: TaskId, file: FileId, page: u32, pages: u32) -> Then {
        let (now, group) = (self.now(), self.task(task).group);
        let storage = self.storage.as_mut().expect("checked");
        let (end, rest) = part(page, pages, storage.files[file.0 as usize].1.pages());
        let waits = storage.cache.wait_for_fetches(file, page, end, task.0);
        if waits > 0 {
            let it = &mut storage.tasks[task.index()];
            it.transfers += waits;
            it.deferred = Some(Step::Io(IoStep::Write { file, page, pages }));
            return self.wait_for_io(cpu, task);
        }
        let domain = storage.domain(file, group);
        storage.cache.write(now, Owner { writer: task.0, domain }, file, page, end);
        storage.tasks[task.index()].deferred = rest.map(|pages| Step::Io(IoStep::Write { file, page: end, pages }));
        self.flush();
        self.heed_disks();
        let storage = self.storage.as_mut().expect("checked");
        if storage.cache.is_throttling(domain) {
            storage.throttled.push_back((task, domain));
            let it = &mut storage.tasks[task.index()];
            it.transfers += 1;
            it.is_throttled = true;
        }
        self.wait_for_io(cpu, task)
    }

    fn sync(&mut self, cpu: CpuId, task: TaskId, file: FileId) -> Then {
        let storage = self.storage.as_mut().expect("checked");
        let volume = storage.files[file.0 as usize].0;
        let it = &mut storage.tasks[task.index()];
        it.uses(volume);
        it.sync = Some(Syncing { file, cpu, again: true });
        self.go_on_with_sync(task);
        self.heed_disks();
        self.wait_for_io(cpu, task)
    }

    /// Starts the next part of a sync: the pages, then pages overwritten meanwhile, then the device's cache. Returns
    /// false if nothing is left.
    fn go_on_with_sync(&mut self, task: TaskId) -> bool {
        let now = self.now();
        let storage = self.storage.as_mut().expect("a task that syncs has storage");
        let it = &mut storage.tasks[task.index()];
        if it.transfers > 0 {
            return it.sync.is_some();
        }
        let Some(Syncing { file, cpu, again }) = it.sync.take() else { return false };
        let volume = storage.files[file.0 as usize].0;
        let by = self.io(task, cpu, 0, 0);
        let storage = self.storage.as_mut().expect("as above");
        if again {
            let mut made = std::mem::take(&mut storage.transfers);
            let synced = storage.cache.sync(file, task.0, &mut made);
            let it = &mut storage.tasks[task.index()];
            it.transfers += synced.waits;
            it.sync = Some(Syncing { file, cpu, again: synced.again });
            made.drain(..).for_each(|id| storage.submit_transfer(now, id, by));
            storage.transfers = made;
            return self.go_on_with_sync(task);
        }
        storage.tasks[task.index()].transfers += 1;
        let flush = Io { op: Operation::Flush, tag: FLUSH | u64::from(task.0), ..by };
        storage.disks.submit(now, volume, &[flush], &mut storage.out);
        true
    }

    /// Submits the page cache's transfers for `task`.
    fn submit_made(&mut self, cpu: CpuId, task: TaskId, mut made: Vec<TransferId>) {
        let by = self.io(task, cpu, 0, 0);
        let now = self.now();
        let storage = self.storage.as_mut().expect("checked");
        made.drain(..).for_each(|id| storage.submit_transfer(now, id, by));
        storage.transfers = made;
        self.heed_disks();
    }

    /// Submits the task's collected I/O before `step`, unless `step` adds to it. If the block layer has no slot, the
    /// step is deferred and the task blocks.
    pub fn unplug(&mut self, cpu: CpuId, task: TaskId, step: Step) -> Result<Step, Then> {
        let is_submission = matches!(step, Step::Io(IoStep::Submit { .. }));
        if self.charging.io && self.works_for_io(cpu, task, is_submission) {
            self.storage.as_mut().expect("asked by the caller").tasks[task.index()].deferred = Some(step);
            return Err(Then::Next);
        }
        let storage = self.storage.as_mut().expect("asked by the caller");
        let it = &storage.tasks[task.index()];
        let is_more = is_submission && storage.plug.len() < PLUG_MAX;
        if it.unadmitted == 0 && (is_more || storage.plug.is_empty()) {
            return Ok(step);
        }
        self.submit_all();
        let storage = self.storage.as_mut().expect("as above");
        storage.is_prepaid = false;
        let is_charged = self.cpus[cpu.index()].io_until > self.referee.now();
        let it = &mut self.storage.as_mut().expect("as above").tasks[task.index()];
        if it.unadmitted == 0 && !is_charged {
            return Ok(step);
        }
        it.deferred = Some(step);
        if it.unadmitted == 0 { Err(Then::Next) } else { Err(self.wait_for_io(cpu, task)) }
    }

    /// True if `task` waits for I/O now that its CPU has worked for it.
    pub fn waits_after_work(&mut self, task: TaskId) -> bool {
        let storage = self.storage.as_mut().expect("asked by storage");
        std::mem::take(&mut storage.tasks[task.index()].will_wait)
    }

    /// `task` goes on after it waited for I/O, and takes what is done.
    pub fn take_ios(&mut self, task: TaskId) {
        let now = self.now();
        while let Some(storage) = &mut self.storage
            && let it = &mut storage.tasks[task.index()]
            && let Some(submitted) = it.taken.take(it.under_way)
        {
            self.emit(Event::Served { task, latency: now.since(submitted) });
        }
    }

    /// Removes and returns the step that `task` put off.
    pub fn deferred(&mut self, task: TaskId) -> Option<Step> {
        self.storage.as_mut()?.tasks[task.index()].deferred.take()
    }

    /// Submits all plugged I/O: the task's next step takes time.
    pub fn submit_all(&mut self) {
        let now = self.now();
        let Some(storage) = self.storage.as_mut().filter(|storage| !storage.plug.is_empty()) else { return };
        storage.submit_plugged(now);
        self.heed_disks();
    }

    /// Continues, or blocks until the awaited I/O is done.
    pub fn wait_for_io(&mut self, cpu: CpuId, task: TaskId) -> Then {
        self.submit_all();
        let now = self.now();
        let storage = self.storage.as_mut().expect("a task that waits for I/O has storage");
        if !storage.may_go_on(task) {
            for volume in storage.tasks[task.index()].volumes.drain(..) {
                storage.disks.unplug(now, volume, &mut storage.out);
            }
            self.heed_disks();
        }
        let storage = self.storage.as_mut().expect("as above");
        if storage.may_go_on(task) {
            storage.tasks[task.index()].awaits = None;
            return Then::Next;
        }
        if self.charging.io && self.cpus[cpu.index()].working > now {
            // What it waits for may be done when its CPU is.
            storage.tasks[task.index()].will_wait = true;
            return Then::Next;
        }
        let it = &mut storage.tasks[task.index()];
        it.is_blocked = true;
        let off = if it.is_throttled { Off::DirtyMemory } else { Off::Uninterruptible };
        self.block(cpu, task, off)
    }

    /// A task ended; elevators forget it.
    pub fn exit_io(&mut self, task: TaskId) {
        let now = self.now();
        self.submit_all();
        if let Some(storage) = &mut self.storage {
            storage.disks.exit(now, Submitter(task.0), &mut storage.out);
            self.heed_disks();
        }
    }

    /// Handles disks whose next event is due.
    pub fn disks_due(&mut self) {
        let now = self.now();
        let storage = self.storage.as_mut().expect("only storage sets this time");
        if storage.armed != now {
            // An earlier time was set after this one, and what follows from it as well.
            return;
        }
        storage.armed = Time::NEVER;
        if storage.disks.next_event() <= now {
            storage.disks.advance(now, &mut storage.out);
        }
        self.heed_disks();
    }

    /// Passes the disks' outcomes to the observer and the tasks until there are no more.
    pub fn heed_disks(&mut self) {
        let now = self.now();
        loop {
            let storage = self.storage.as_mut().expect("asked by storage");
            if let Some(events) = &mut storage.out.events {
                for event in events.drain(..) {
                    self.outbox.push(now, Event::Io(event));
                }
            }
            if self.charging.io {
                self.charge_io();
            }
            let storage = self.storage.as_mut().expect("as above");
            let mut outcomes = std::mem::take(&mut storage.out.outcomes);
            if outcomes.is_empty() {
                break;
            }
            for outcome in outcomes.drain(..) {
                self.heed_disk(outcome);
            }
            let storage = self.storage.as_mut().expect("as above");
            if storage.out.outcomes.is_empty() {
                storage.out.outcomes = outcomes;
            }
        }
        let refusal = self.storage.as_ref().and_then(|storage| storage.disks.refusal()).cloned();
        if let Some(refusal) = refusal {
            self.refused(&refusal);
        }
        self.arm_disks();
    }

    fn heed_disk(&mut self, outcome: Outcome) {
        let now = self.now();
        let storage = self.storage.as_mut().expect("asked by storage");
        let (tag, is_done) = match outcome {
            Outcome::Waiting { tag } | Outcome::Admitted { tag } => (tag, false),
            Outcome::Done { tag } => (tag, true),
        };
        if tag & TRANSFER != 0 {
            if is_done {
                self.transfer_part_done(TransferId(tag as u32));
            }
            return;
        }
        let it = &mut storage.tasks[tag as u32 as usize];
        match outcome {
            Outcome::Waiting { .. } if tag & FLUSH == 0 => it.unadmitted += 1,
            Outcome::Admitted { .. } if tag & FLUSH == 0 => {
                it.unadmitted -= 1;
                it.taken.admit((tag >> 32) as u32, now);
            }
            Outcome::Done { .. } if tag & FLUSH == 0 => {
                it.under_way -= 1;
                if storage.serves_ios {
                    it.taken.complete((tag >> 32) as u32);
                }
            }
            Outcome::Done { .. } => it.transfers -= 1,
            _ => {}
        }
        self.resume(TaskId(tag as u32));
    }

    /// Completes one I/O of a page cache transfer.
    fn transfer_part_done(&mut self, id: TransferId) {
        let now = self.now();
        let storage = self.storage.as_mut().expect("asked by storage");
        let parts = &mut storage.parts[id.0 as usize];
        *parts -= 1;
        if *parts > 0 {
            return;
        }
        let it = storage.cache.transfer(id);
        let (is_flushers, domain) = (it.direction == Direction::WriteBack && !it.sync, it.owner.domain);
        let mut woken = std::mem::take(&mut storage.woken);
        storage.cache.done(now, id, &mut woken);
        storage.throttled.retain(|(task, domain)| {
            let waits = storage.cache.is_throttling(*domain);
            if !waits {
                woken.push(task.0);
                storage.tasks[task.index()].is_throttled = false;
            }
            waits
        });
        if is_flushers {
            storage.flusher.done(domain);
        }
        for task in woken.drain(..) {
            self.storage.as_mut().expect("as above").tasks[task as usize].transfers -= 1;
            self.resume(TaskId(task));
        }
        self.storage.as_mut().expect("as above").woken = woken;
        if is_flushers {
            self.flush();
        }
    }

    /// Wakes `task` if it is blocked and may go on.
    fn resume(&mut self, task: TaskId) {
        if self.go_on_with_sync(task) {
            return;
        }
        let storage = self.storage.as_mut().expect("asked by storage");
        if !storage.tasks[task.index()].is_blocked || !storage.may_go_on(task) {
            return;
        }
        let it = &mut storage.tasks[task.index()];
        it.is_blocked = false;
        it.awaits = None;
        self.wake(task, None, false);
    }

    /// Schedules the next event of the disks. Returns whether they keep the run alive.
    fn arm_disks(&mut self) {
        let storage = self.storage.as_mut().expect("asked by storage");
        let next = storage.disks.next_event();
        let is_busy = next != Time::NEVER;
        if is_busy != storage.is_busy {
            storage.is_busy = is_busy;
            self.agenda.live = if is_busy { self.agenda.live + 1 } else { self.agenda.live - 1 };
        }
        if next < storage.armed {
            storage.armed = next.max(self.referee.now());
            self.agenda.calendar.push(storage.armed, class::WAKE, Entry::Disks);
        }
    }
}
