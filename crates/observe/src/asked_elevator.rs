//! An elevator around another one, which is asked for its rules after its decisions. It decides as the elevator itself.

use goodness_core::{
    Allocate, Elevator, HwQueue, Io, IoContext, IoReason, MadeElevator, Merges, QueueLock, RequestId, Run, Side,
    Submitter, Time, WhyWaits,
};

/// A verb that an elevator just carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DidIo {
    /// It got this request.
    Inserted(RequestId),
    /// It merged the second request into the first.
    Absorbed(RequestId, RequestId),
    /// For this hardware queue, it dispatched this request; `None`: it holds back all that wait.
    Dispatched(HwQueue, Option<RequestId>),
    /// The device has completed this request.
    Completed(RequestId),
}

/// A decision, and who waits.
pub struct DecidedIo<'a> {
    /// The view of the elevator.
    pub cx: &'a IoContext<'a>,
    /// The verb that the elevator carried out.
    pub did: DidIo,
    /// Requests that wait in the elevator.
    pub waiting: &'a [RequestId],
    elevator: &'a dyn Elevator,
}

impl DecidedIo<'_> {
    /// The rule by which `waiting` waits after a dispatch; `None` if the elevator does not tell.
    #[must_use]
    pub fn why(&self, waiting: RequestId) -> Option<IoReason> {
        let DidIo::Dispatched(queue, ahead) = self.did else { return None };
        self.elevator.why(self.cx, WhyWaits { queue, ahead, waiting })
    }
}

/// Asks an elevator about its decisions.
pub trait AskerIo {
    /// Called after each decision.
    fn ask(&mut self, decided: &DecidedIo);
}

/// An elevator that is asked.
pub struct AskedElevator<A> {
    elevator: Box<dyn Elevator + Send>,
    asker: A,
    waiting: Vec<RequestId>,
}

impl<A: AskerIo + Send + 'static> AskedElevator<A> {
    /// `made`, which `asker` asks.
    pub fn around(made: MadeElevator, asker: A) -> MadeElevator {
        let MadeElevator { about, facts, elevator } = made;
        MadeElevator { about, facts, elevator: Box::new(AskedElevator { elevator, asker, waiting: Vec::new() }) }
    }

    fn ask(&mut self, cx: &IoContext, did: DidIo) {
        self.asker.ask(&DecidedIo { cx, did, waiting: &self.waiting, elevator: &*self.elevator });
    }

    fn leaves(&mut self, request: RequestId) {
        self.waiting.retain(|waiting| *waiting != request);
    }
}

impl<A: AskerIo + Send + 'static> Elevator for AskedElevator<A> {
    fn merges(&self) -> Merges {
        self.elevator.merges()
    }

    fn lock(&self) -> QueueLock {
        self.elevator.lock()
    }

    fn allows_merge(&self, cx: &IoContext, request: RequestId, io: &Io) -> bool {
        self.elevator.allows_merge(cx, request, io)
    }

    fn allows_absorb(&self, cx: &IoContext, survivor: RequestId, absorbed: RequestId) -> bool {
        self.elevator.allows_absorb(cx, survivor, absorbed)
    }

    fn merged(&mut self, cx: &IoContext, request: RequestId, side: Side, before: u64) {
        self.elevator.merged(cx, request, side, before);
    }

    fn absorbed(&mut self, cx: &IoContext, survivor: RequestId, absorbed: RequestId) {
        self.elevator.absorbed(cx, survivor, absorbed);
        self.leaves(absorbed);
        self.ask(cx, DidIo::Absorbed(survivor, absorbed));
    }

    fn remove(&mut self, cx: &IoContext, request: RequestId) {
        self.elevator.remove(cx, request);
        self.leaves(request);
    }

    fn may_allocate(&self, cx: &IoContext, io: &Io, used: u32) -> Allocate {
        self.elevator.may_allocate(cx, io, used)
    }

    fn insert(&mut self, cx: &IoContext, request: RequestId) -> Run {
        let answer = self.elevator.insert(cx, request);
        self.waiting.push(request);
        self.ask(cx, DidIo::Inserted(request));
        answer
    }

    fn dispatch(&mut self, cx: &IoContext, queue: HwQueue) -> Option<RequestId> {
        let request = self.elevator.dispatch(cx, queue);
        if let Some(request) = request {
            self.leaves(request);
        }
        self.ask(cx, DidIo::Dispatched(queue, request));
        request
    }

    fn complete(&mut self, cx: &IoContext, request: RequestId) {
        self.elevator.complete(cx, request);
        self.ask(cx, DidIo::Completed(request));
    }

    fn next_timer(&self) -> Option<Time> {
        self.elevator.next_timer()
    }

    fn timer(&mut self, cx: &IoContext) {
        self.elevator.timer(cx);
    }

    fn exit(&mut self, cx: &IoContext, submitter: Submitter) {
        self.elevator.exit(cx, submitter);
    }

    fn has_work(&self) -> bool {
        self.elevator.has_work()
    }

    fn why(&self, cx: &IoContext, question: WhyWaits) -> Option<IoReason> {
        self.elevator.why(cx, question)
    }
}
