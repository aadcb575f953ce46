//! The device: takes requests, and completes them when its mechanism is done.

use crate::request::{Operation, Request, RequestId};
use crate::time::{Span, Time};

/// A device's facts, for the block layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceFacts {
    /// Capacity in sectors.
    pub sectors: u64,
    /// Commands it takes at a time, over all its queues. 1: it has no command queue.
    pub depth: u32,
    /// Hardware queues.
    pub queues: u16,
    /// True if seeking costs.
    pub rotational: bool,
    /// Largest transfer of one command, in sectors.
    pub sectors_max: u32,
    /// True if a completed write may still be lost: flushes and durable writes then have a meaning.
    pub volatile_cache: bool,
}

/// A request that was seen, and the time it took in the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Service {
    /// What.
    pub op: Operation,
    /// Its size in sectors.
    pub sectors: u32,
    /// True if it began where the last one of its operation ended.
    pub is_sequential: bool,
    /// From issue to completion.
    pub span: Span,
}

/// A device's behaviour as it was measured: enough for a model that takes as long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceSample {
    /// Facts that the model gives of itself.
    pub facts: DeviceFacts,
    /// Commands it serves at a time. With 1 the times are times of service; with the depth at which they were seen they
    /// include waiting in the device.
    pub servers: u32,
    /// Service times by operation.
    pub services: Vec<Service>,
}

/// A model of a device. Like a policy it is a state machine without a clock: the block layer tells the time.
///
/// Every request that was started completes exactly once. A device may complete in another order than it was given.
pub trait Device: Send {
    /// Its facts; they never change.
    fn facts(&self) -> DeviceFacts;

    /// The device gets a request. There are fewer than [`DeviceFacts::depth`] in it already. It must not complete
    /// within this call, but may at the same instant.
    fn start(&mut self, now: Time, id: RequestId, request: &Request);

    /// Time at which [`Device::advance`] must be called next: the next completion, or a change inside. [`Time::NEVER`]
    /// if nothing
    /// is under way.
    fn next_event(&self) -> Time;

    /// The time given by [`Device::next_event`] has come: appends what is complete at `now` to `done`, in order.
    fn advance(&mut self, now: Time, done: &mut Vec<RequestId>);
}

impl<D: Device + ?Sized> Device for Box<D> {
    fn facts(&self) -> DeviceFacts {
        (**self).facts()
    }
    fn start(&mut self, now: Time, id: RequestId, request: &Request) {
        (**self).start(now, id, request);
    }
    fn next_event(&self) -> Time {
        (**self).next_event()
    }
    fn advance(&mut self, now: Time, done: &mut Vec<RequestId>) {
        (**self).advance(now, done);
    }
}
