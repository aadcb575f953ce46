//! Memory for the largest shipped recording: below 100 bytes per event while it is read and recovered, and independent
//! of the trace's length if it is only summarised.

use goodness_replay::{History, ReplayOptions, recover};
use goodness_trace::{Input, Record, load, load_input, summarise};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::alloc::System;
use std::cell::Cell;
use std::io::Read;
use std::path::Path;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Bytes held since `region` began.
fn held(region: &Region<System>) -> usize {
    let change = region.change();
    change.bytes_allocated - change.bytes_deallocated
}

/// A text that is read block by block, and the most memory that was held at the beginning of a block.
struct Watched<'a> {
    text: &'a [u8],
    region: &'a Region<'static, System>,
    most: &'a Cell<usize>,
}

impl Read for Watched<'_> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        self.most.set(self.most.get().max(held(self.region)));
        let len = into.len().min(1 << 14);
        self.text.read(&mut into[..len])
    }
}

/// Bytes held at most while `read` reads `text`, and what it made of it.
fn watched<T>(text: &[u8], read: impl Fn(Input) -> T) -> (usize, T) {
    let (region, most) = (Region::new(ALLOCATOR), Cell::new(0));
    let input = Input::reader("watched", Watched { text, region: &region, most: &most }).expect("memory can be read");
    let made = read(input);
    (most.get().max(held(&region)), made)
}

#[test]
fn an_event_takes_less_than_100_bytes_and_a_summary_takes_nothing_for_it() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../recordings/mariadb-sysbench-64.ftrace.zst");
    let mut text = Vec::new();
    Input::open(&path).expect("the recording is shipped").read_to_end(&mut text).expect("it can be read");

    let (whole, summary) = watched(&text, |input| summarise(input).expect("a trace"));
    let half = text[..text.len() / 2].rsplitn(2, |b| *b == b'\n').last().expect("lines");
    let (part, _) = watched(half, |input| summarise(input).expect("a trace"));
    assert!(whole < part + (1 << 16), "summarising holds {part} bytes for half of it and {whole} for all");

    let events = summary.events as usize;
    let region = Region::new(ALLOCATOR);
    let (most, recording) = watched(&text, |input| load_input(input).expect("a trace"));
    assert!(recording.records.len() >= events && events > 200_000, "{events} events");
    assert!(most < 100 * events, "{most} bytes for {events} events while they are read");
    let loaded = held(&region);
    assert!(loaded < (size_of::<Record>() + 5) * events, "{loaded} bytes for {events} events once they are read");

    let history = History::of(&recording);
    let recovered = recover(&history, ReplayOptions::default());
    let all = held(&region);
    assert!(all < 100 * events, "{all} bytes for {events} events, their recovered work included");
    println!(
        "{events} events: {most} bytes at most while read, {loaded} then, {all} with {} tasks",
        recovered.tasks.len()
    );
    drop(recovered);
    drop(recording);

    // With the calls that carry messages.
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../recordings/messages/messages-sockets.ftrace.zst");
    let region = Region::new(ALLOCATOR);
    let recording = load(&path).expect("the recording is shipped");
    let recovered = recover(&History::of(&recording), ReplayOptions::default());
    let (all, events) = (held(&region), recording.records.len());
    assert!(!recovered.conduits.is_empty() && all < 100 * events, "{all} bytes for {events} events");
}
