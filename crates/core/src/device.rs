//! Devices: take requests and complete them later.

use crate::request::{Operation, Request, RequestId};
use crate::time::{Span, Time};

/// A device's facts, for the block layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceFacts {
    /// Capacity in sectors.
    pub sectors: u64,
    /// Queue depth over all its queues; 1 for no command queue.
    pub depth: u32,
    /// Hardware queues.
    pub queues: u16,
    /// True if seeks take time, as on a rotating disk.
    pub rotational: bool,
    /// Largest transfer of one command, in sectors.
    pub sectors_max: u32,
    /// True if a completed write may be lost on power failure, so that flushes and durable writes matter.
    pub volatile_cache: bool,
    /// Age from which it serves a command before younger ones, or the time to serve a full queue if that is longer.
    /// `None` if it is not known.
    pub age_limit: Option<Span>,
}

/// A measured request with its service time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Service {
    /// Operation.
    pub op: Operation,
    /// Its size in sectors.
    pub sectors: u32,
    /// True if it started where the previous one of its operation ended.
    pub is_sequential: bool,
    /// From issue to completion.
    pub span: Span,
}

/// Measured behaviour of a device, from which a model is built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceSample {
    /// Facts of the model.
    pub facts: DeviceFacts,
    /// Speed of each command per mille, by the number of commands in the device less 1; more of them share the last.
    pub speeds: Vec<u32>,
    /// Times that commands take on their way to the device, where nothing keeps them waiting.
    pub lags: Vec<Span>,
    /// Service times at full speed, by operation.
    pub services: Vec<Service>,
}

/// A model of a device: like a policy, a state machine without a clock, to which the block layer supplies the time.
///
/// Every started request completes exactly once. Completions may be out of order.
pub trait Device: Send {
    /// Its facts; they never change.
    fn facts(&self) -> DeviceFacts;

    /// Starts a request. Fewer than [`DeviceFacts::depth`] are in the device already. It must not complete within this
    /// call, but may at the same instant.
    fn start(&mut self, now: Time, id: RequestId, request: &Request);

    /// Time at which [`Device::advance`] must be called next, for a completion or an internal event. [`Time::NEVER`] if
    /// nothing is in flight.
    fn next_event(&self) -> Time;

    /// Advances to the time given by [`Device::next_event`]. Appends completions to `done`, in order.
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
