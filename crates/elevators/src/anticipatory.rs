//! as, the anticipatory elevator: after a read it may keep the disk idle briefly, because the same process will
//! probably read nearby next.
//!
//! Source: Linux 2.6.18, `specs/io-schedulers.md` section 5, which also numbers the layers. Think time, batches and
//! expiry are counted in jiffies, so HZ matters.
//!
//! Inferred or different:
//! - The time of a write batch starts when the disk has finished the reads before it. A read batch that had to wait for
//!   writes starts at its oldest read, as the text says; the source does so only if nothing was in flight.
//! - "The process has requests dispatched" means chosen, and not yet taken by the device.
//! - The age in "close" is compared with `antic_expire` in milliseconds on both sides.
//! - A submitter's number that is reused after its exit is a new process.
//! - I/O priorities are ignored, as in the source.

mod anticipation;
#[cfg(test)]
mod tests;

use crate::parts::dispatch_list::DispatchList;
use crate::parts::fifo::{Arrivals, Fifo, age};
use crate::parts::kind::{ASYNC, SYNC, kind_of};
use crate::parts::nearest_request::{beside, better};
use crate::parts::selected::Selected;
use crate::parts::sorted::{Sectors, Sorted};
use anticipation::{Anticipation, BACKWARD};
use goodness_core::{
    Effort, Elevator, ElevatorAbout, HwQueue, Io, IoContext, IoReason, Layer, QueueFacts, RegisteredElevator, Request,
    RequestId, Run, Seed, Side, Span, Submitter, Time, WhyWaits,
};

goodness_core::tunables! {
    pub struct Settings {
        /// Age from which the oldest read goes first in a batch of reads; auto is HZ/8.
        read_expire: Option<Span> = None, in Span::ZERO => Span::from_s(60);
        /// Age from which the oldest write goes first in a batch of writes; auto is HZ/4.
        write_expire: Option<Span> = None, in Span::ZERO => Span::from_s(60);
        /// Length of a batch of reads while writes wait; auto is HZ/2.
        read_batch_expire: Option<Span> = None, in Span::ZERO => Span::from_s(60);
        /// Length of a batch of writes while reads wait; auto is HZ/8.
        write_batch_expire: Option<Span> = None, in Span::ZERO => Span::from_s(60);
        /// Longest wait for a process's next read; 0 turns anticipation off, auto is HZ/150 or one jiffy.
        antic_expire: Option<Span> = None, in Span::ZERO => Span::from_s(1);
    }
}


/// The requests of one kind: synchronous (with all reads), or asynchronous writes.
#[derive(Debug, Default)]
struct Kind {
    order: Sorted,
    arrivals: Fifo,
    /// Next request in sector order from the head.
    next: Option<RequestId>,
    /// The sector after the last one dispatched.
    head: u64,
    /// Time of the last expiry check.
    checked: u64,
    expire: u64,
    batch: u64,
}

/// The current batch.
#[derive(Debug)]
struct Batch {
    kind: usize,
    ends: u64,
    /// Writes left in the batch.
    writes_left: u64,
    /// Writes of a whole batch, as tuned.
    writes: u64,
    /// True if the write batch had the disk for itself, so that its duration does not count.
    was_idle: bool,
    /// The kind has changed, and requests of the other one are in flight.
    is_draining: bool,
    /// A batch of reads of which none has completed: its clock does not run.
    is_new: bool,
    /// A batch of reads that starts with its oldest read.
    begins_at_oldest: bool,
}

/// Batches of reads and of writes, and anticipation within those of reads.
#[derive(Debug)]
pub struct Anticipatory {
    kinds: [Kind; 2],
    sectors: Sectors,
    by_arrival: Arrivals,
    chosen: DispatchList,
    /// Requests chosen and not complete.
    undone: u32,
    batch: Batch,
    anticipation: Anticipation,
    anticipates: bool,
    jiffy: Span,
    /// The rule by which the last request was selected.
    selected: Selected,
    /// Time at which the layer was asked to dispatch without an event of its own.
    kick: Option<Time>,
}

impl RegisteredElevator for Anticipatory {
    const ABOUT: ElevatorAbout = ElevatorAbout {
        name: "as",
        summary: "Deadline in batches, which waits for the next read of the process it served last.",
        source: "Linux 2.6.18; specs section 5",
        layer: Layer::Legacy,
    };
    type Settings = Settings;

    fn new(facts: &QueueFacts, settings: Settings, _: Seed) -> Anticipatory {
        let hz = u64::from(facts.hz);
        let or = |set: Option<Span>, auto: u64| set.map_or(auto, |span| facts.jiffies_up(span));
        let antic = or(settings.antic_expire, (hz / 150).max(1));
        let kind = |expire, batch| Kind { expire, batch, ..Kind::default() };
        let kinds = [
            kind(or(settings.write_expire, hz / 4), or(settings.write_batch_expire, hz / 8)),
            kind(or(settings.read_expire, hz / 8), or(settings.read_batch_expire, hz / 2)),
        ];
        let batch = Batch {
            kind: SYNC,
            ends: kinds[SYNC].batch,
            writes_left: 0,
            writes: (kinds[ASYNC].batch / 10).max(2),
            was_idle: false,
            is_draining: false,
            is_new: false,
            begins_at_oldest: false,
        };
        Anticipatory {
            kinds,
            sectors: Sectors::default(),
            by_arrival: Arrivals::default(),
            chosen: DispatchList::default(),
            undone: 0,
            batch,
            anticipation: Anticipation::new(antic, (hz / 50).saturating_sub(1), hz),
            anticipates: antic > 0,
            jiffy: facts.jiffy(),
            selected: Selected::default(),
            kick: None,
        }
    }
}

impl Anticipatory {
    /// The next request to dispatch, if any.
    fn select(&mut self, cx: &IoContext) -> Option<RequestId> {
        let [writes, reads] = [ASYNC, SYNC].map(|kind| !self.kinds[kind].arrivals.is_empty());
        if self.batch.kind == ASYNC && !reads && (self.batch.writes_left == 0 || !writes) {
            self.batch.was_idle = true;
        }
        if !(reads || writes) || self.anticipation.is_waiting() || self.batch.is_draining {
            return None;
        }
        if self.batch.begins_at_oldest {
            self.batch.begins_at_oldest = false;
            if let Some(oldest) = self.kinds[SYNC].arrivals.oldest() {
                self.selected = Selected::Oldest;
                return Some(oldest);
            }
        }
        if !(reads && writes && self.batch_is_over(cx.jiffies())) {
            let kind = self.batch.kind;
            let next = self.kinds[kind].next;
            if kind == SYNC && self.anticipates {
                if let Some(expired) = self.expired(cx, SYNC) {
                    return Some(expired);
                }
                if self.waits(cx, next) {
                    return None;
                }
            }
            if let Some(next) = next {
                if reads && !writes {
                    self.batch.ends = cx.jiffies() + self.kinds[SYNC].batch;
                }
                return Some(self.expired(cx, kind).unwrap_or(next));
            }
        }
        self.change_batch(cx, reads, writes)
    }

    /// True to wait rather than dispatch `next`.
    fn waits(&mut self, cx: &IoContext, next: Option<RequestId>) -> bool {
        let candidate = next.map(|next| (&cx.requests[next], true));
        self.anticipation.waits_rather_than(cx.jiffies(), self.kinds[SYNC].head, candidate)
    }

    fn batch_is_over(&self, now: u64) -> bool {
        let is_late = now > self.batch.ends;
        match self.batch.kind {
            SYNC => is_late && !self.batch.is_new,
            _ => is_late || self.batch.writes_left == 0,
        }
    }

    /// Ends the batch and returns the first request of the next one, or `None` while requests of the old one are in
    /// flight.
    fn change_batch(&mut self, cx: &IoContext, reads: bool, writes: bool) -> Option<RequestId> {
        let now = cx.jiffies();
        let was = self.batch.kind;
        let candidate = if reads && !(writes && was == SYNC) {
            self.batch.kind = SYNC;
            self.kinds[SYNC].checked = now;
            self.batch.begins_at_oldest = was == ASYNC;
            self.kinds[SYNC].arrivals.oldest()
        } else {
            self.batch.kind = ASYNC;
            self.batch.writes_left = self.batch.writes;
            self.batch.was_idle = false;
            let next = self.kinds[ASYNC].next;
            self.expired(cx, ASYNC).or(next)
        };
        self.batch.is_draining = was != self.batch.kind;
        if self.batch.is_draining {
            self.batch.is_new = false;
            if self.undone > 0 {
                return None;
            }
            self.begin_batch(now);
        }
        self.batch.begins_at_oldest = false;
        if self.batch.kind == SYNC {
            self.selected = Selected::Oldest;
        }
        candidate
    }

    /// Starts the new batch, as nothing of the old one is in flight.
    fn begin_batch(&mut self, now: u64) {
        self.batch.is_draining = false;
        match self.batch.kind {
            SYNC => self.batch.is_new = true,
            _ => self.batch.ends = now + self.kinds[ASYNC].batch,
        }
    }

    /// Accounts for the completion or removal of a chosen request. Returns true if another batch was waiting for it.
    fn undo(&mut self, cx: &IoContext) -> bool {
        self.undone -= 1;
        let begins = self.batch.is_draining && self.undone == 0;
        if begins {
            self.begin_batch(cx.jiffies());
        }
        begins
    }

    /// The oldest request if it has expired; checked once per expiry time.
    fn expired(&mut self, cx: &IoContext, kind: usize) -> Option<RequestId> {
        let now = cx.jiffies();
        let kind = &mut self.kinds[kind];
        if now - kind.checked < kind.expire {
            return None;
        }
        kind.checked = now;
        let expired = kind.arrivals.oldest().filter(|oldest| age(cx, *oldest) > kind.expire);
        if expired.is_some() {
            self.selected = Selected::Expired;
        }
        expired
    }

    /// Adapts the number of writes per batch to the duration of the last one.
    fn tune_writes(&mut self, now: u64) {
        let target = self.kinds[ASYNC].batch;
        let took = (now + target).saturating_sub(self.batch.ends);
        let writes = &mut self.batch.writes;
        if took > target && !self.batch.was_idle {
            *writes = if took > 3 * target { *writes / 2 } else { *writes - 1 };
        } else if took < target && self.batch.writes_left == 0 {
            *writes = if 3 * took < target { *writes * 2 } else { *writes + 1 };
        }
        *writes = (*writes).max(1);
    }

    /// Moves `request` from the order to the dispatch list.
    fn choose(&mut self, cx: &IoContext, request: RequestId) {
        let io = &cx.requests[request];
        let kind = &mut self.kinds[kind_of(io)];
        kind.head = io.end();
        cx.examined(Effort::Search, 2);
        cx.linked(kind.order.len(), 3);
        kind.next = beside(&kind.order, &self.sectors, BACKWARD, kind.head, request);
        kind.order.remove(&mut self.sectors, request);
        self.enlist(io, request);
    }

    /// Appends `request`, already out of the order, to the dispatch list.
    fn enlist(&mut self, io: &Request, request: RequestId) {
        let kind = kind_of(io);
        self.kinds[kind].arrivals.remove(&mut self.by_arrival, request);
        self.anticipation.left(io.submitter, true);
        self.anticipation.dispatched(io.submitter, kind == SYNC);
        if kind == ASYNC {
            self.batch.writes_left = self.batch.writes_left.saturating_sub(1);
        }
        self.chosen.push_back(request);
        self.undone += 1;
    }

    /// Dispatches `older` at once, because `request` now starts at the same sector.
    fn send_alias(&mut self, cx: &IoContext, older: RequestId, request: RequestId) {
        let io = &cx.requests[older];
        let kind = &mut self.kinds[kind_of(io)];
        kind.head = io.end();
        let beside = beside(&kind.order, &self.sectors, BACKWARD, kind.head, request);
        kind.next = better(&self.sectors, BACKWARD, kind.head, Some(request), beside);
        self.enlist(io, older);
    }

    /// Removes a waiting request from the order, and updates the next one.
    fn leave_order(&mut self, request: RequestId, kind: usize) {
        let kind = &mut self.kinds[kind];
        if kind.next == Some(request) {
            kind.next = beside(&kind.order, &self.sectors, BACKWARD, kind.head, request);
        }
        kind.order.remove(&mut self.sectors, request);
    }
}

impl Elevator for Anticipatory {
    fn allows_merge(&self, _: &IoContext, request: RequestId, _: &Io) -> bool {
        !self.chosen.contains(request)
    }

    fn merged(&mut self, cx: &IoContext, request: RequestId, side: Side, _: u64) {
        if side == Side::Back || self.chosen.contains(request) {
            return;
        }
        let io = &cx.requests[request];
        let order = &mut self.kinds[kind_of(io)].order;
        if let Some(older) = order.rekey(&mut self.sectors, request, io.sector) {
            self.send_alias(cx, older, request);
            // The wait is over, and a merge alone does not run the queue.
            self.kick = Some(cx.now);
        }
    }

    fn absorbed(&mut self, cx: &IoContext, survivor: RequestId, absorbed: RequestId) {
        let kinds = [survivor, absorbed].map(|request| kind_of(&cx.requests[request]));
        if kinds[0] != kinds[1] || self.chosen.contains(survivor) || self.chosen.contains(absorbed) {
            return self.remove(cx, absorbed);
        }
        self.leave_order(absorbed, kinds[1]);
        self.kinds[kinds[1]].arrivals.absorb(&mut self.by_arrival, survivor, absorbed);
        self.anticipation.left(cx.requests[absorbed].submitter, false);
    }

    fn remove(&mut self, cx: &IoContext, request: RequestId) {
        let io = &cx.requests[request];
        if self.chosen.remove(request) {
            self.undo(cx);
            return self.anticipation.taken_back(io.submitter, kind_of(io) == SYNC);
        }
        let kind = kind_of(io);
        self.leave_order(request, kind);
        self.kinds[kind].arrivals.remove(&mut self.by_arrival, request);
        self.anticipation.left(io.submitter, false);
    }

    fn insert(&mut self, cx: &IoContext, request: RequestId) -> Run {
        let slots = cx.requests.slots();
        self.sectors.reserve(slots);
        self.by_arrival.reserve(slots);
        self.chosen.reserve(slots);
        let io = &cx.requests[request];
        let (now, kind) = (cx.jiffies(), kind_of(io));
        self.anticipation.arrived(now, io, kind == SYNC);
        let of_kind = &mut self.kinds[kind];
        of_kind.arrivals.push(&mut self.by_arrival, request);
        cx.linked(of_kind.order.len(), 2);
        cx.examined(Effort::Recalculate, 2);
        match of_kind.order.insert(&mut self.sectors, request, io.sector) {
            Some(older) => self.send_alias(cx, older, request),
            None => of_kind.next = better(&self.sectors, BACKWARD, of_kind.head, Some(request), of_kind.next),
        }
        match self.anticipation.ends_with(now, self.kinds[self.batch.kind].head, (io, kind == SYNC)) {
            true => Run::Now,
            false => Run::WhenUnplugged,
        }
    }

    fn dispatch(&mut self, cx: &IoContext, _: HwQueue) -> Option<RequestId> {
        // Those on the list before were displaced by others at their sectors.
        self.selected = Selected::Otherwise;
        if self.chosen.is_empty() {
            self.selected = Selected::InOrder;
            let request = self.select(cx)?;
            self.choose(cx, request);
        }
        let request = self.chosen.pop()?;
        self.anticipation.unlisted(cx.requests[request].submitter);
        Some(request)
    }

    fn complete(&mut self, cx: &IoContext, request: RequestId) {
        let (now, io) = (cx.jiffies(), &cx.requests[request]);
        let kind = kind_of(io);
        cx.examined(Effort::Recalculate, 2);
        if !self.undo(cx) && self.batch.is_new && self.batch.kind == kind {
            self.tune_writes(now);
            self.batch.ends = now + self.kinds[SYNC].batch;
            self.batch.is_new = false;
        }
        self.anticipation.completed(now, io.submitter, kind == SYNC);
    }

    fn next_timer(&self) -> Option<Time> {
        let ends = self.anticipation.ends().map(|jiffies| Time(jiffies * self.jiffy.0));
        ends.into_iter().chain(self.kick).min()
    }

    fn timer(&mut self, cx: &IoContext) {
        self.kick = None;
        if self.anticipation.ends().is_some_and(|at| at <= cx.jiffies()) {
            self.anticipation.timed_out();
        }
    }

    fn exit(&mut self, _: &IoContext, submitter: Submitter) {
        self.anticipation.exited(submitter);
    }

    fn has_work(&self) -> bool {
        !self.chosen.is_empty() || self.kinds.iter().any(|kind| !kind.arrivals.is_empty())
    }

    fn why(&self, cx: &IoContext, question: WhyWaits) -> Option<IoReason> {
        let Some(ahead) = question.ahead else {
            let waited_for = self.anticipation.waited_for().map(|(submitter, is_complete)| match is_complete {
                true => IoReason::Idles { submitter },
                false => IoReason::InService,
            });
            return waited_for.or(self.batch.is_draining.then_some(IoReason::Drains));
        };
        if self.selected == Selected::Otherwise || self.chosen.contains(question.waiting) {
            return None;
        }
        if kind_of(&cx.requests[ahead]) != kind_of(&cx.requests[question.waiting]) {
            return Some(IoReason::KindTurn);
        }
        self.selected.within_a_kind(cx, ahead)
    }
}
