//! Drives a device without a block layer, with a fixed number of requests in flight.

pub mod request;

use goodness_core::{Device, Request, RequestId, Span, Time};
pub use request::request;

/// A completed request and its times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    pub request: Request,
    pub done: Time,
}

impl Record {
    pub fn latency(&self) -> Span {
        self.done - self.request.issued
    }
}

/// From `start` on, keeps up to `depth` requests in flight until `next` has no more. Returns them in order of
/// completion. Panics if the device breaks its contract: it completes an unknown request, goes back in time, or stops
/// with work left.
pub fn closed_loop(
    device: &mut (impl Device + ?Sized),
    start: Time,
    depth: u32,
    mut next: impl FnMut(u64) -> Option<Request>,
) -> Vec<Record> {
    assert!(depth <= device.facts().depth);
    let mut free: Vec<u32> = (0..depth).rev().collect();
    let mut under_way: Vec<Option<Request>> = vec![None; depth as usize];
    let (mut records, mut done) = (Vec::new(), Vec::new());
    while device.next_event() < start {
        device.advance(device.next_event(), &mut done);
    }
    assert!(done.is_empty(), "{} commands complete that nobody started", done.len());
    let (mut now, mut number, mut is_over) = (start, 0, false);
    loop {
        while !is_over && let Some(slot) = free.pop() {
            let Some(request) = next(number) else {
                free.push(slot);
                is_over = true;
                break;
            };
            number += 1;
            let request = Request { issued: now, ..request };
            under_way[slot as usize] = Some(request);
            device.start(now, RequestId(slot), &request);
        }
        if free.len() == depth as usize {
            return records;
        }
        let at = device.next_event();
        assert!(at != Time::NEVER, "{} requests are under way and nothing will happen", depth as usize - free.len());
        assert!(at >= now, "the next event, {at}, lies before {now}");
        now = at;
        device.advance(now, &mut done);
        for id in done.drain(..) {
            let request = under_way[id.index()].take().expect("completed twice, or never started");
            records.push(Record { request, done: now });
            free.push(id.0);
        }
    }
}
