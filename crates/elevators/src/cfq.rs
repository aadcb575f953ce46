//! cfq: fairness by disk time. Each process has the disk for a time slice; within it the disk may idle for the
//! process's next request.
//!
//! Source: Linux 2.6.18, `specs/io-schedulers.md` section 7 (version 3, time slices). Times are jiffies: at HZ 100,
//! `slice_idle` is 0 and all asynchronous slices are equal.
//!
//! Inferred or different:
//! - While requests of the active queue are in flight, no other queue dispatches. The wait for its next one starts when
//!   the last of them completes; arrivals elsewhere do not prolong it. If no other queue waits, it lasts until the
//!   slice ends.
//! - Preemption is left out. As written it needs an active queue of the idle class (whose slice ends with the call that
//!   dispatches) or a wait flag on an inactive queue (which never has it). So `slice_left` is not needed.
//! - `queued` is as in cfq-v2: this many requests of each direction are always allowed.
//! - A synchronous queue has no other requests, so "synchronous before asynchronous" within a queue has no effect.
//! - A queue adopts a new priority with the first request that carries it.
//! - Holders of file system resources get no boost, because they are not known.

mod queue;
mod service;
mod slice;
#[cfg(test)]
mod tests;
mod why;

use crate::parts::dispatch_list::DispatchList;
use crate::parts::fifo::Arrivals;
use crate::parts::nearest_request::{Backward, beside, better};
use crate::parts::sorted::Sectors;
use goodness_core::{
    Allocate, Effort, Elevator, ElevatorAbout, HwQueue, Io, IoClass, IoContext, IoPriority, IoReason, Layer,
    QueueFacts, RegisteredElevator, Request, RequestId, Run, Seed, Side, Span, Submitter, Time, WhyWaits,
};
use queue::{Queue, SHARED, Slices, of_process, shared, shared_priority, stored};
use service::Service;

goodness_core::tunables! {
    pub struct Settings {
        /// Requests of one call, 1 for the idle class.
        quantum: u64 = 4, in 1 => 1024;
        /// Requests of each direction that a queue may always have.
        queued: u64 = 8, in 1 => 8192;
        /// Age from which a read or synchronous write goes first, once per slice; auto is HZ/8.
        fifo_expire_sync: Option<Span> = None, in Span::ZERO => Span::from_s(60);
        /// Age from which another write goes first, once per slice; auto is HZ/4.
        fifo_expire_async: Option<Span> = None, in Span::ZERO => Span::from_s(60);
        /// Longest backward seek, in KiB.
        back_seek_max: u64 = 16384, in 0 => 1 << 40;
        /// Cost of a backward seek, relative to a forward seek of the same length.
        back_seek_penalty: u64 = 2, in 1 => 1024;
        /// Slice of a process's queue of level 4; auto is HZ/10.
        slice_sync: Option<Span> = None, in Span::from_ms(1) => Span::from_s(60);
        /// Slice of a shared queue of level 4; auto is HZ/25.
        slice_async: Option<Span> = None, in Span::from_ms(1) => Span::from_s(60);
        /// Requests of a shared queue's slice: twice this for each level from its own to the last.
        slice_async_rq: u64 = 2, in 1 => 1024;
        /// Longest wait for the next request of a process; 0 turns waiting off, auto is HZ/125.
        slice_idle: Option<Span> = None, in Span::ZERO => Span::from_s(1);
    }
}

/// Requests in the driver from which the device counts as queueing commands.
const TAGGED: u32 = 5;

/// Slices of time for queues of processes.
#[derive(Debug)]
pub struct Cfq {
    quantum: u64,
    queued: u64,
    back: Backward,
    slices: Slices,
    /// In jiffies: asynchronous, synchronous.
    expire: [u64; 2],
    slice_idle: u64,
    grace: u64,
    /// The longest wait for a seeky process, in jiffies.
    seeky_wait: u64,
    jiffy: Span,
    /// The shared ones, then one for each process.
    queues: Vec<Queue>,
    service: Service,
    active: Option<u32>,
    /// Requests of the slice so far.
    slice_requests: u64,
    /// The queue that the dispatch list was last filled from.
    filled: u32,
    sectors: Sectors,
    by_arrival: Arrivals,
    chosen: DispatchList,
    /// The sector after the request chosen last.
    head: u64,
    /// The sector after the request that the device got last.
    position: u64,
    is_tagged: bool,
    /// Time of the last completion outside the idle class.
    last_completion: u64,
    /// Jiffies at which waiting for the active queue ends, and at which the idle class may run.
    idle_timer: Option<u64>,
    grace_timer: Option<u64>,
    /// Time at which the layer was asked to dispatch without an event of its own.
    kick: Option<Time>,
}

#[inline]
fn number_of(sync: bool, submitter: Submitter, priority: IoPriority) -> u32 {
    if sync { of_process(submitter) } else { shared(stored(priority)) }
}

#[inline]
fn queue_of(request: &Request) -> u32 {
    number_of(request.counts_as_sync(), request.submitter, request.priority)
}

impl RegisteredElevator for Cfq {
    const ABOUT: ElevatorAbout = ElevatorAbout {
        name: "cfq",
        summary: "A queue and a slice of time for each process, and waiting for its next request within the slice.",
        source: "Linux 2.6.18; specs section 7",
        layer: Layer::Legacy,
    };
    type Settings = Settings;

    fn new(facts: &QueueFacts, settings: Settings, _: Seed) -> Cfq {
        let hz = u64::from(facts.hz);
        let or = |set: Option<Span>, auto: u64| set.map_or(auto, |span| facts.jiffies_up(span));
        Cfq {
            quantum: settings.quantum,
            queued: settings.queued,
            back: Backward { max: settings.back_seek_max * 2, penalty: settings.back_seek_penalty },
            slices: Slices {
                base: [or(settings.slice_async, hz / 25), or(settings.slice_sync, hz / 10)],
                async_requests: settings.slice_async_rq,
            },
            expire: [or(settings.fifo_expire_async, hz / 4), or(settings.fifo_expire_sync, hz / 8)],
            slice_idle: or(settings.slice_idle, hz / 125),
            grace: hz / 10,
            seeky_wait: facts.jiffies_up(slice::SEEKY_WAIT),
            jiffy: facts.jiffy(),
            queues: (0..SHARED).map(|number| Queue::new(false, shared_priority(number), 0)).collect(),
            service: Service::default(),
            active: None,
            slice_requests: 0,
            filled: 0,
            sectors: Sectors::default(),
            by_arrival: Arrivals::default(),
            chosen: DispatchList::default(),
            head: 0,
            position: 0,
            is_tagged: false,
            last_completion: 0,
            idle_timer: None,
            grace_timer: None,
            kick: None,
        }
    }
}

impl Cfq {
    #[inline]
    fn queue(&self, number: u32) -> &Queue {
        &self.queues[number as usize]
    }

    #[inline]
    fn queue_mut(&mut self, number: u32) -> &mut Queue {
        &mut self.queues[number as usize]
    }

    /// Makes room for the request's slot and the queue of its process, which may be new under an old number.
    fn prepare(&mut self, cx: &IoContext, request: &Request) {
        let (slots, now) = (cx.requests.slots(), cx.jiffies());
        self.sectors.reserve(slots);
        self.by_arrival.reserve(slots);
        self.chosen.reserve(slots);
        let index = of_process(request.submitter) as usize;
        if index >= self.queues.len() {
            self.queues.resize(index + 1, Queue::new(true, IoPriority::DEFAULT, now));
        }
        self.service.reserve(self.queues.len());
        if !request.counts_as_sync() {
            return;
        }
        let priority = stored(request.priority);
        let queue = &mut self.queues[index];
        if queue.pattern.think.samples() == 0 || queue.pattern.has_exited {
            let fresh = Queue::new(true, priority, now);
            (queue.pattern, queue.has_idle_window) = (fresh.pattern, fresh.has_idle_window);
        }
        if queue.priority != priority {
            queue.priority = priority;
            queue.has_idle_window &= priority.class != IoClass::Idle;
            if queue.place.is_some() {
                self.service.sort_in(&mut self.queues, index as u32);
            }
        }
    }

    /// Updates a process's statistics with a synchronous request, and decides whether to wait for it in future.
    fn learn(&mut self, now: u64, request: &Request) {
        let (idle, is_tagged) = (self.slice_idle, self.is_tagged);
        let queue = self.queue_mut(of_process(request.submitter));
        queue.pattern.update(now, 2 * idle, request);
        let is_lost = queue.pattern.has_exited || queue.is_idle_class() || (is_tagged && queue.pattern.is_seeky());
        if is_lost || idle == 0 {
            queue.has_idle_window = false;
        } else if let Some(think) = queue.pattern.think_time() {
            queue.has_idle_window = think <= idle;
        }
    }

    /// Accounts for a waiting request that has left the order.
    fn left_order(&mut self, number: u32) {
        if self.queue(number).order.is_empty() {
            self.service.remove(&mut self.queues, number);
        }
    }

    /// Removes `request` from its queue's order.
    fn leave(&mut self, number: u32, request: RequestId) {
        let queue = &mut self.queues[number as usize];
        if queue.next == Some(request) {
            queue.next = beside(&queue.order, &self.sectors, self.back, self.head, request);
        }
        queue.order.remove(&mut self.sectors, request);
        self.left_order(number);
    }

    /// Moves `request` from its queue's order to the dispatch list.
    fn choose(&mut self, cx: &IoContext, request: RequestId) {
        let io = &cx.requests[request];
        let number = queue_of(io);
        self.head = io.end();
        self.queue_mut(number).next = Some(request);
        self.queue_mut(number).dispatched += 1;
        cx.examined(Effort::Search, 2);
        cx.linked(self.queue(number).order.len(), 3);
        self.leave(number, request);
        self.enlist(cx, number, request);
    }

    fn enlist(&mut self, cx: &IoContext, number: u32, request: RequestId) {
        self.queues[number as usize].arrivals.remove(&mut self.by_arrival, request);
        self.chosen.insert_one_way(self.position, request, |of| cx.requests[of].sector);
    }

    /// Dispatches `older` at once, because `request` of the same queue now starts at the same sector.
    fn send_alias(&mut self, cx: &IoContext, number: u32, older: RequestId, request: RequestId) {
        self.head = cx.requests[older].end();
        let queue = &mut self.queues[number as usize];
        queue.dispatched += 1;
        let beside = beside(&queue.order, &self.sectors, self.back, self.head, request);
        queue.next = better(&self.sectors, self.back, self.head, Some(request), beside);
        self.enlist(cx, number, older);
    }

    /// Handles a new request of `number`. Returns whether the disk was waiting for it. An asynchronous request of the
    /// awaited process ends the wait.
    fn meets_wait(&mut self, now: u64, number: u32, request: &Request) -> Run {
        let Some(active) = self.active.filter(|active| self.queue(*active).is_awaited) else {
            return Run::WhenUnplugged;
        };
        if active == number {
            let queue = self.queue_mut(active);
            (queue.must_dispatch, queue.was_indulged) = (true, true);
            self.idle_timer = None;
            Run::Now
        } else if !request.counts_as_sync() && active == of_process(request.submitter) {
            self.expire(now);
            Run::Now
        } else {
            Run::WhenUnplugged
        }
    }
}

impl Elevator for Cfq {
    fn allows_merge(&self, _: &IoContext, request: RequestId, _: &Io) -> bool {
        !self.chosen.contains(request)
    }

    fn merged(&mut self, cx: &IoContext, request: RequestId, side: Side, _: u64) {
        if side == Side::Back || self.chosen.contains(request) {
            return;
        }
        let io = &cx.requests[request];
        let number = queue_of(io);
        let order = &mut self.queues[number as usize].order;
        if let Some(older) = order.rekey(&mut self.sectors, request, io.sector) {
            self.send_alias(cx, number, older, request);
        }
    }

    fn absorbed(&mut self, cx: &IoContext, survivor: RequestId, absorbed: RequestId) {
        let [stays, goes] = [survivor, absorbed].map(|request| queue_of(&cx.requests[request]));
        if stays != goes || self.chosen.contains(survivor) || self.chosen.contains(absorbed) {
            return self.remove(cx, absorbed);
        }
        self.leave(goes, absorbed);
        let queue = &mut self.queues[goes as usize];
        queue.arrivals.absorb(&mut self.by_arrival, survivor, absorbed);
        queue.allocated[cx.requests[absorbed].op.direction()] -= 1;
    }

    fn remove(&mut self, cx: &IoContext, request: RequestId) {
        let io = &cx.requests[request];
        let number = queue_of(io);
        if self.chosen.remove(request) {
            self.queue_mut(number).dispatched -= 1;
        } else {
            self.leave(number, request);
            self.queues[number as usize].arrivals.remove(&mut self.by_arrival, request);
        }
        self.queue_mut(number).allocated[io.op.direction()] -= 1;
    }

    fn may_allocate(&self, _: &IoContext, io: &Io, _: u32) -> Allocate {
        let number = number_of(io.counts_as_sync(), io.submitter, io.priority);
        let Some(queue) = self.queues.get(number as usize) else { return Allocate::AsUsual };
        let is_few = u64::from(queue.allocated[io.op.direction()]) < self.queued;
        match is_few || (queue.is_awaited && !queue.was_indulged) {
            true => Allocate::Always,
            false => Allocate::AsUsual,
        }
    }

    fn insert(&mut self, cx: &IoContext, request: RequestId) -> Run {
        let (now, io) = (cx.jiffies(), &cx.requests[request]);
        self.prepare(cx, io);
        let number = queue_of(io);
        let queue = &mut self.queues[number as usize];
        queue.allocated[io.op.direction()] += 1;
        queue.arrivals.push(&mut self.by_arrival, request);
        match queue.order.insert(&mut self.sectors, request, io.sector) {
            Some(older) => self.send_alias(cx, number, older, request),
            None => queue.next = better(&self.sectors, self.back, self.head, Some(request), queue.next),
        }
        cx.linked(self.queue(number).order.len(), 2);
        if self.queue(number).place.is_none() {
            self.service.sort_in(&mut self.queues, number);
        }
        if io.counts_as_sync() {
            self.learn(now, io);
        }
        self.meets_wait(now, number, io)
    }

    fn dispatch(&mut self, cx: &IoContext, _: HwQueue) -> Option<RequestId> {
        if self.chosen.is_empty() {
            self.fill(cx);
        }
        let request = self.chosen.pop()?;
        self.position = cx.requests[request].end();
        self.is_tagged |= cx.in_flight + 1 >= TAGGED;
        Some(request)
    }

    fn complete(&mut self, cx: &IoContext, request: RequestId) {
        let (now, io) = (cx.jiffies(), &cx.requests[request]);
        let number = queue_of(io);
        cx.examined(Effort::Recalculate, 3);
        let queue = self.queue_mut(number);
        queue.dispatched -= 1;
        queue.allocated[io.op.direction()] -= 1;
        let (is_last, is_idle_class) = (queue.dispatched == 0, queue.is_idle_class());
        if io.counts_as_sync() {
            queue.pattern.last_completion = now;
        }
        if is_last && queue.place.is_some() {
            queue.served = Some(now);
            self.service.sort_in(&mut self.queues, number);
        }
        if !is_idle_class {
            self.last_completion = now;
        }
        if self.active != Some(number) {
            return;
        }
        let queue = self.queue(number);
        if queue.slice_end.is_some_and(|end| now > end) {
            self.expire(now);
        } else if queue.order.is_empty() {
            self.awaits(now, number);
        }
    }

    fn next_timer(&self) -> Option<Time> {
        let timers = [self.idle_timer, self.grace_timer].into_iter().flatten();
        timers.map(|jiffies| Time(jiffies * self.jiffy.0)).chain(self.kick).min()
    }

    fn timer(&mut self, cx: &IoContext) {
        let now = cx.jiffies();
        self.kick = None;
        self.grace_timer = self.grace_timer.filter(|at| *at > now);
        if self.idle_timer.is_some_and(|at| at <= now) {
            self.wait_ended(now);
        }
    }

    fn exit(&mut self, cx: &IoContext, submitter: Submitter) {
        let number = of_process(submitter);
        let Some(queue) = self.queues.get_mut(number as usize) else { return };
        queue.pattern.has_exited = true;
        if self.active == Some(number) {
            self.expire(cx.jiffies());
            self.kick = Some(cx.now);
        }
    }

    fn has_work(&self) -> bool {
        !self.chosen.is_empty() || self.service.queues() > 0
    }

    fn why(&self, cx: &IoContext, question: WhyWaits) -> Option<IoReason> {
        self.reason(cx, question)
    }
}
