//! Requests as tests write them.

use goodness_core::{Io, Operation, Request, Submitter, Time};

/// A request with the defaults of everything else.
pub fn request(op: Operation, sector: u64, sectors: u32) -> Request {
    Request::of(&Io { op, ..Io::read(Submitter(0), sector, sectors) }, Time::ZERO)
}
