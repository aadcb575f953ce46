//! From the piece of I/O to the waiting request: joining one, taking a new one, or sleeping until there is one.

use crate::disk::{Out, Outcome};
use crate::layer::{Queue, State, context};
use crate::legacy::UNPLUG_THRESHOLD;
use crate::multi_queue::{PLUG_REQUESTS, PLUG_SECTORS};
use crate::pieces::NONE;
use goodness_core::{Allocate, Io, IoStage, Layer, Operation, RegisteredElevator, Request, RequestId, Run, Span, Time};

/// How far along a lane somebody is looked for whom the elevator does not refuse, so that a long lane costs no more than a
/// short one.
const PIECES_ASKED: u32 = 128;

/// The lane of its hardware queue in which `io` would wait.
fn lane_of(io: &Io) -> usize {
    2 * io.op.direction() + usize::from(!io.sync)
}

/// What came of looking for a request.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Entry {
    /// There is one.
    Found,
    /// All are in use.
    NoneFree,
    /// The elevator does not let this submitter have one.
    Refused,
}

impl<E: RegisteredElevator> Queue<E> {
    /// `io` reaches the layer; its submitter may be asleep already, and then it waits behind. Whether it need not wait.
    pub(crate) fn accept(&mut self, now: Time, io: &Io, sleeps: bool, out: &mut Out) -> bool {
        assert!(
            (io.sectors > 0) == (io.op != Operation::Flush) && io.end() <= self.facts.sectors,
            "a {} of {} sectors at {} does not fit a disk of {} sectors",
            io.op.name(),
            io.sectors,
            io.sector,
            self.facts.sectors
        );
        // A host may have more CPUs than the queue was set up for.
        let io = &Io { cpu: io.cpu % self.facts.cpus, ..*io };
        let piece = self.pieces.take(*io, now, NONE);
        out.event(|| self.of_piece(IoStage::Queued, RequestId(0), io, Span::ZERO));
        if io.op == Operation::Flush && !self.has_volatile_cache {
            let whole = self.pieces.done(piece).expect("a flush has no parts");
            self.tell_done(now, RequestId(0), &whole, out);
            return true;
        }
        if io.sectors <= self.sectors_max {
            return self.place(now, piece, sleeps, out);
        }
        let mut sleeps = sleeps;
        let mut sector = io.sector;
        while sector < io.end() {
            let sectors = u64::from(self.sectors_max).min(io.end() - sector) as u32;
            let part = self.pieces.take(Io { sector, sectors, ..*io }, now, piece);
            sleeps = !self.place(now, part, sleeps, out);
            sector += u64::from(sectors);
        }
        !sleeps
    }

    /// Finds a request for `piece`, or puts it to sleep. Whether it need not sleep.
    fn place(&mut self, now: Time, piece: u32, sleeps: bool, out: &mut Out) -> bool {
        if !sleeps && self.enter(now, piece, false, out) == Entry::Found {
            return true;
        }
        self.pieces[piece].is_tried = !sleeps;
        let io = &self.pieces[piece].io;
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

    /// Pieces that slept get requests, the oldest first, as far as there are any.
    pub(crate) fn admit(&mut self, now: Time, out: &mut Out) {
        if self.in_lanes == 0 {
            return;
        }
        for queue in 0..self.lanes.len() {
            while self.in_lanes > 0 && self.admit_one(now, queue, out) {}
        }
        self.flush_plug(now, out);
    }

    /// Somebody in a lane of `queue` gets a request; the lanes are asked in the order in which their first arrived.
    fn admit_one(&mut self, now: Time, queue: usize, out: &mut Out) -> bool {
        let mut heads = [(u64::MAX, 0); 4];
        for (lane, head) in heads.iter_mut().enumerate() {
            let first = self.lanes[queue][lane].head;
            *head = (if first == NONE { u64::MAX } else { self.pieces[first].order }, lane);
        }
        heads.sort_unstable();
        heads.iter().any(|(order, lane)| *order != u64::MAX && self.admit_from(now, queue, *lane, out))
    }

    /// The first in a lane gets a request, or the first of another submitter where the elevator refuses those before it.
    fn admit_from(&mut self, now: Time, queue: usize, lane: usize, out: &mut Out) -> bool {
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
                let entry = self.wake(now, piece, out);
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

    /// The submitter of `piece`, which is on no lane, looks for a request again.
    fn wake(&mut self, now: Time, piece: u32, out: &mut Out) -> Entry {
        let io = self.pieces[piece].io;
        if self.pool.wakes(self.share(io.op, io.cpu)) {
            self.pool.begin_batch(&self.facts, now, io.submitter);
        }
        let whole = self.pieces.whole(piece);
        let entry = self.enter(now, piece, true, out);
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

    /// `piece` joins a request or gets one of its own, if there is one for it.
    fn enter(&mut self, now: Time, piece: u32, is_awake: bool, out: &mut Out) -> Entry {
        let io = self.pieces[piece].io;
        let may_merge = io.mergeable && !io.durable && io.op != Operation::Flush;
        if may_merge && !self.pieces[piece].is_tried && self.try_merge(now, piece, &io, out) {
            return Entry::Found;
        }
        let queue = self.tags.queue_of(io.cpu).index();
        if Self::LAYER == Layer::MultiQueue && !is_awake && self.lanes[queue][lane_of(&io)].head != NONE {
            return Entry::NoneFree;
        }
        let share = self.share(io.op, io.cpu);
        let say = match io.op {
            Operation::Flush => Allocate::AsUsual,
            _ => self.elevator.may_allocate(context!(self, now), &io, self.pool.used(share)),
        };
        if say == Allocate::Wait {
            return Entry::Refused;
        }
        if !self.pool.take(&self.facts, now, share, io.submitter, say) {
            return Entry::NoneFree;
        }
        let request = self.make(now, piece, &io, may_merge);
        match (Self::LAYER, io.op) {
            (_, Operation::Flush) => self.insert_flush(now, request, out),
            (Layer::Legacy, _) => self.insert_legacy(now, request, out),
            (Layer::MultiQueue, _) => self.put_on_plug(now, request, out),
        }
        Entry::Found
    }

    /// A request of `piece` alone.
    fn make(&mut self, now: Time, piece: u32, io: &Io, mergeable: bool) -> RequestId {
        let request = self.requests.take(Request {
            durable: io.durable && self.has_volatile_cache,
            mergeable,
            queue: self.tags.queue_of(io.cpu),
            ..Request::of(io, now)
        });
        if request.index() >= self.states.len() {
            self.states.resize(request.index() + 1, State::Free);
        }
        self.states[request.index()] = State::Plugged;
        self.pieces.begin(request, piece);
        request
    }

    /// A flush goes first, and at once: somebody waits for it.
    fn insert_flush(&mut self, now: Time, request: RequestId, out: &mut Out) {
        self.states[request.index()] = State::Waiting;
        self.queued += 1;
        self.direct.push_back(request);
        out.event(|| self.of_request(IoStage::Inserted, request, &self.requests[request], Span::ZERO));
        self.run(now, out);
    }

    /// An empty queue is plugged; with enough requests, or if the elevator says so, it runs.
    fn insert_legacy(&mut self, now: Time, request: RequestId, out: &mut Out) {
        if self.queued == 0 {
            self.plug.put_on(&self.facts, now);
        }
        let run = self.insert(now, request, out);
        if !self.plug.is_on() || run == Run::Now || self.queued >= UNPLUG_THRESHOLD {
            self.run(now, out);
        }
    }

    /// A full plug is flushed first.
    fn put_on_plug(&mut self, now: Time, request: RequestId, out: &mut Out) {
        let is_full =
            self.tags.plug.last().is_some_and(|last| {
                self.tags.plug.len() >= PLUG_REQUESTS || self.requests[*last].sectors >= PLUG_SECTORS
            });
        if is_full {
            self.flush_plug(now, out);
        }
        self.tags.plug.push(request);
    }

    /// The requests of the plug go to the elevator, and the queue runs.
    pub(crate) fn flush_plug(&mut self, now: Time, out: &mut Out) {
        if self.tags.plug.is_empty() {
            return;
        }
        let mut plug = std::mem::take(&mut self.tags.plug);
        for request in plug.drain(..) {
            if !self.try_insert_merge(now, request, out) {
                let _run = self.insert(now, request, out);
            }
        }
        self.tags.plug = plug;
        self.run(now, out);
    }

    /// `request` begins to wait in the elevator.
    fn insert(&mut self, now: Time, request: RequestId, out: &mut Out) -> Run {
        self.states[request.index()] = State::Waiting;
        self.requests[request].inserted = now;
        self.queued += 1;
        self.remember(request);
        out.event(|| self.of_request(IoStage::Inserted, request, &self.requests[request], Span::ZERO));
        self.elevator.insert(context!(self, now), request)
    }
}
