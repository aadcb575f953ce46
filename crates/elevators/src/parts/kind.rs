//! Kinds of requests that older elevators keep apart.

use goodness_core::Request;

/// The kind of asynchronous requests.
pub const ASYNC: usize = 0;
/// The kind of synchronous requests.
pub const SYNC: usize = 1;

/// Kind of a request, which counts as synchronous or not.
#[inline]
pub fn kind_of(request: &Request) -> usize {
    if request.counts_as_sync() { SYNC } else { ASYNC }
}
