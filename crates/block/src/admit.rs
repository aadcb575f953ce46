//! Assigns an I/O to a request: merges it, takes a new request, or lets its submitter sleep until one is free.

use crate::disk::{Out, Outcome};
use crate::layer::Queue;
use crate::legacy::UNPLUG_THRESHOLD;
use crate::multi_queue::{PLUG_REQUESTS, PLUG_SECTORS};
use crate::pieces::NONE;
use crate::slots::{ALL, Slots};
use crate::wbt::Kind;
use goodness_core::{Allocate, Io, IoEvent, IoStage, Layer, Operation, Request, RequestId, Run, Span, Time};

/// Most entries of a lane that are offered to the elevator, so that a long lane costs no more than a short one.
const PIECES_ASKED: u32 = 128;

/// The lane of its hardware queue in which `io` would wait.
fn lane_of(io: &Io) -> usize {
    2 * io.op.direction() + usize::from(!io.sync)
}

/// Result of the search for a request.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Entry {
    /// A request was found.
    Found,
    /// All are in use.
    NoneFree,
    /// The elevator refused this submitter.
    Refused,
}

impl Queue {
    /// Accepts `io`. If its submitter already sleeps (`sleeps`), it queues behind. Returns false if it has to wait.
    pub(crate) fn accept(&mut self, io: &Io, sleeps: bool, out: &mut Out) -> bool {
        assert!(
            (io.sectors > 0) == (io.op != Operation::Flush) && io.end() <= self.referee.facts().sectors,
            "a {} of {} sectors at {} does not fit a disk of {} sectors",
            io.op.name(),
            io.sectors,
            io.sector,
            self.referee.facts().sectors
        );
        // A host may have more CPUs than the queue was set up for.
        let io = &Io { cpu: io.cpu % self.referee.facts().cpus, ..*io };
        let queued = Time(self.referee.now().0 - io.held.unwrap_or(Span::ZERO).0);
        if let (Some(wbt), Operation::Read) = (&mut self.wbt, io.op) {
            wbt.reads(self.referee.now());
        }
        let piece = self.pieces.take(*io, queued, NONE);
        if io.held.is_none() {
            out.event(|| IoEvent::of_io(self.disk, IoStage::Queued, RequestId(0), io, Span::ZERO));
        }
        if io.op == Operation::Flush && !self.has_volatile_cache {
            let whole = self.pieces.done(piece).expect("a flush has no parts");
            self.tell_done(RequestId(0), &whole, out);
            return true;
        }
        if io.sectors <= self.sectors_max {
            return self.place(piece, sleeps, out);
        }
        let mut sleeps = sleeps;
        let mut sector = io.sector;
        while sector < io.end() {
            let sectors = u64::from(self.sectors_max).min(io.end() - sector) as u32;
            let part = self.pieces.take(Io { sector, sectors, ..*io }, queued, piece);
            sleeps = !self.place(part, sleeps, out);
            sector += u64::from(sectors);
        }
        !sleeps
    }

    /// Finds a request for `piece`, or puts it to sleep. Returns false if it sleeps.
    fn place(&mut self, piece: u32, sleeps: bool, out: &mut Out) -> bool {
        if !sleeps && self.enter(piece, false, out) == Entry::Found {
            return true;
        }
        self.pieces[piece].is_tried = !sleeps;
        let io = &self.pieces[piece].io;
        out.event(|| IoEvent::of_io(self.disk, IoStage::Waits, RequestId(0), io, Span::ZERO));
        let (queue, lane) = (self.tags.queue_of(io.cpu).index(), lane_of(io));
        self.pieces.append(&mut self.lanes[queue][lane], piece);
        self.in_lanes += 1;
        let whole = self.pieces.whole(piece);
        self.pieces[whole].unadmitted += 1;
        if self.pieces[whole].unadmitted == 1 {
            out.outcomes.push(Outcome::Waiting { tag: self.pieces[whole].io.tag });
        }
        false
    }

    /// Gives requests to waiting I/Os, oldest first, while there are any.
    pub(crate) fn admit(&mut self, out: &mut Out) {
        if self.in_lanes == 0 {
            return;
        }
        for queue in 0..self.lanes.len() {
            while self.in_lanes > 0 && self.admit_one(queue, out) {}
        }
        self.slots.iter_mut().for_each(Slots::have_looked);
        self.flush_plug(out);
    }

    /// Gives a request to one I/O waiting at `queue`. The lane with the oldest head is tried first.
    fn admit_one(&mut self, queue: usize, out: &mut Out) -> bool {
        let mut heads = [(u64::MAX, 0); 4];
        for (lane, head) in heads.iter_mut().enumerate() {
            let first = self.lanes[queue][lane].head;
            *head = (if first == NONE { u64::MAX } else { self.pieces[first].order }, lane);
        }
        heads.sort_unstable();
        heads.iter().any(|(order, lane)| *order != u64::MAX && self.admit_from(queue, *lane, out))
    }

    /// Gives a request to the first entry of a lane, or, if the elevator refuses its submitter, to the first of another
    /// submitter.
    fn admit_from(&mut self, queue: usize, lane: usize, out: &mut Out) -> bool {
        self.walks += 1;
        let mut prior = NONE;
        let mut piece = self.lanes[queue][lane].head;
        for _ in 0..PIECES_ASKED {
            if piece == NONE {
                return false;
            }
            let submitter = self.pieces[piece].io.submitter.index();
            if self.refused.get(submitter) != Some(&self.walks) {
                self.pieces.take_off(&mut self.lanes[queue][lane], prior);
                let entry = self.wake(piece, out);
                if entry == Entry::Found {
                    return true;
                }
                self.pieces.put_back(&mut self.lanes[queue][lane], prior, piece);
                if entry == Entry::NoneFree {
                    return false;
                }
                self.refused.resize(self.refused.len().max(submitter + 1), 0);
                self.refused[submitter] = self.walks;
            }
            (prior, piece) = (piece, self.pieces.next(piece));
        }
        false
    }

    /// Tries again to find a request for `piece`, which is on no lane.
    fn wake(&mut self, piece: u32, out: &mut Out) -> Entry {
        let io = self.pieces[piece].io;
        if self.pool.wakes(self.share(io.op, io.cpu)) {
            self.pool.begin_batch(self.referee.facts(), self.referee.now(), io.submitter);
        }
        let whole = self.pieces.whole(piece);
        let entry = self.enter(piece, true, out);
        if entry != Entry::Found {
            self.pieces[piece].is_tried = true;
            return entry;
        }
        self.in_lanes -= 1;
        self.pieces[whole].unadmitted -= 1;
        if self.pieces[whole].unadmitted == 0 {
            out.outcomes.push(Outcome::Admitted { tag: self.pieces[whole].io.tag });
        }
        entry
    }

    /// Merges `piece` or gives it a new request, if it may have one.
    fn enter(&mut self, piece: u32, is_awake: bool, out: &mut Out) -> Entry {
        let io = self.pieces[piece].io;
        let may_merge = io.mergeable && !io.durable && io.op != Operation::Flush;
        if may_merge && !self.pieces[piece].is_tried && self.try_merge(piece, &io, out) {
            return Entry::Found;
        }
        let queue = self.tags.queue_of(io.cpu).index();
        if self.layer == Layer::MultiQueue && !is_awake && self.is_behind(self.lanes[queue][lane_of(&io)].head) {
            return Entry::NoneFree;
        }
        let now = self.referee.now();
        let limited = Kind::of(io.op, io.sync);
        if let (Some(wbt), Some(kind)) = (&mut self.wbt, limited)
            && !wbt.has_room(now, kind)
        {
            return Entry::NoneFree;
        }
        let share = self.share(io.op, io.cpu);
        let say = match io.op {
            Operation::Flush => Allocate::AsUsual,
            _ if self.pieces[piece].depth != ALL => Allocate::Shallow(self.pieces[piece].depth),
            _ => self.referee.may_take(&io, self.pool.used(share)),
        };
        let depth = if let Allocate::Shallow(depth) = say { depth.max(1) } else { ALL };
        if say == Allocate::Wait || depth != ALL && !self.has_free(share, io.cpu, depth, is_awake) {
            self.pieces[piece].depth = depth;
            return Entry::Refused;
        }
        if !self.pool.take(self.referee.facts(), now, share, io.submitter, say) {
            if let Some(slots) = self.slots.get_mut(share) {
                slots.in_vain(io.cpu);
            }
            return Entry::NoneFree;
        }
        if let (Some(wbt), Some(kind)) = (&mut self.wbt, limited) {
            wbt.take(now, kind);
        }
        let request = self.make(piece, &io, may_merge);
        if let Some(slots) = self.slots.get_mut(share) {
            slots.take(io.cpu, request, depth);
        }
        match (self.layer, io.op) {
            (_, Operation::Flush) => self.insert_flush(request, out),
            (Layer::Legacy, _) => self.insert_legacy(request, out),
            (Layer::MultiQueue, _) => self.put_on_plug(request, out),
        }
        Entry::Found
    }

    /// True if a newcomer queues behind the first entry of a lane. One that waits for the first slot alone lets others
    /// past.
    fn is_behind(&self, head: u32) -> bool {
        head != NONE && self.pieces[head].depth > 1
    }

    /// True if one of the first `depth` slots is free.
    fn has_free(&mut self, share: usize, cpu: u16, depth: u32, woken: bool) -> bool {
        let used = self.pool.used(share);
        self.slots.get_mut(share).is_some_and(|slots| slots.has_free(cpu, depth, woken, used))
    }

    /// Creates a request for `piece` alone.
    fn make(&mut self, piece: u32, io: &Io, mergeable: bool) -> RequestId {
        let request = self.referee.take(Request {
            durable: io.durable && self.has_volatile_cache,
            mergeable,
            queue: self.tags.queue_of(io.cpu),
            ..Request::of(io, self.referee.now())
        });
        self.pieces.begin(request, piece);
        request
    }

    /// Inserts a flush at the head and runs the queue at once, because a submitter waits for it.
    fn insert_flush(&mut self, request: RequestId, out: &mut Out) {
        self.direct.push_back(request);
        out.event(|| self.of_request(IoStage::Inserted, request, &self.referee.requests()[request], Span::ZERO));
        self.run(out);
    }

    /// Inserts a request. An empty queue is plugged; it runs once it has enough requests or when the elevator asks.
    fn insert_legacy(&mut self, request: RequestId, out: &mut Out) {
        if self.queued() == 0 {
            self.plug.put_on(self.referee.facts(), self.referee.now());
        }
        let run = self.insert(request, out);
        if !self.plug.is_on() || run == Run::Now || self.queued() >= UNPLUG_THRESHOLD {
            self.run(out);
        }
    }

    /// A full plug is flushed first.
    fn put_on_plug(&mut self, request: RequestId, out: &mut Out) {
        let is_full = self.tags.plug.last().is_some_and(|last| {
            self.tags.plug.len() >= PLUG_REQUESTS || self.referee.requests()[*last].sectors >= PLUG_SECTORS
        });
        if is_full {
            self.flush_plug(out);
        }
        self.tags.plug.push(request);
    }

    /// The requests of the plug go to the elevator, and the queue runs.
    pub(crate) fn flush_plug(&mut self, out: &mut Out) {
        if self.tags.plug.is_empty() {
            return;
        }
        let mut plug = std::mem::take(&mut self.tags.plug);
        for request in plug.drain(..) {
            if !self.try_insert_merge(request, out) {
                let _run = self.insert(request, out);
            }
        }
        self.tags.plug = plug;
        self.run(out);
    }

    /// Inserts `request` into the elevator.
    fn insert(&mut self, request: RequestId, out: &mut Out) -> Run {
        let run = self.referee.insert(request);
        self.work.queued += 1;
        self.remember(request);
        out.event(|| self.of_request(IoStage::Inserted, request, &self.referee.requests()[request], Span::ZERO));
        run
    }
}
