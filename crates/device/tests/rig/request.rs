//! Requests as tests write them.

use goodness_core::{HwQueue, IoPriority, Operation, Request, Submitter, Time};

/// A request with the defaults of everything else.
pub fn request(op: Operation, sector: u64, sectors: u32) -> Request {
    Request {
        op,
        sector,
        sectors,
        segments: 1,
        sync: true,
        durable: false,
        mergeable: true,
        submitter: Submitter(0),
        priority: IoPriority::DEFAULT,
        cpu: 0,
        queue: HwQueue(0),
        allocated: Time::ZERO,
        inserted: Time::ZERO,
        issued: Time::ZERO,
    }
}
