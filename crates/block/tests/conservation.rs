//! Conservation under random loads that merge, for every elevator: each request goes out exactly once.

mod common;

use common::Watched;
use common::device::Unruly;
use goodness_block::{Outcome, QueueOptions};
use goodness_core::{
    Event, Io, IoClass, IoEvent, IoPriority, IoStage, Observer, Operation, RequestId, Rng, Seed, Submitter, Time,
};
use goodness_observe::{Checkers, Ending};
use proptest::prelude::*;
use std::collections::BTreeMap;

const SUBMITTERS: u64 = 5;

/// A random I/O near the submitter's last one, so that many are adjacent.
fn draw(rng: &mut Rng, places: &mut [u64], tag: u64) -> Io {
    let submitter = rng.below(SUBMITTERS);
    let place = &mut places[submitter as usize];
    match rng.below(10) {
        0 => *place = rng.below(1 << 12) * 8,
        1 => *place = place.saturating_sub(16),
        _ => {}
    }
    let op = match rng.below(20) {
        0 => Operation::Flush,
        1 => Operation::Discard,
        n if n < 10 => Operation::Write,
        _ => Operation::Read,
    };
    // Now and then more than a request may hold.
    let largest = if rng.below(8) == 0 { 80 } else { 4 };
    let sectors = if op == Operation::Flush { 0 } else { 8 * (1 + rng.below(largest)) };
    let sector = *place;
    *place = (sector + sectors) % (1 << 15);
    // Each submitter has a class of its own: different priorities do not merge in blk-mq.
    let class = [IoClass::RealTime, IoClass::BestEffort, IoClass::BestEffort, IoClass::Idle][submitter as usize % 4];
    Io {
        op,
        sync: op == Operation::Read || rng.below(3) == 0,
        durable: op == Operation::Write && rng.below(10) == 0,
        mergeable: rng.below(10) != 0,
        priority: IoPriority { class, level: submitter as u8 },
        cpu: rng.below(4) as u16,
        tag,
        ..Io::read(Submitter(submitter as u32), sector, sectors as u32)
    }
}

/// Runs 300 I/Os to completion and returns the disk.
fn run(elevator: &str, seed: Seed, options: &QueueOptions) -> Watched {
    let mut rng = seed.rng();
    let depth = [1, 2, 8, 32][rng.below(4) as usize];
    let queues = [1, 1, 2, 4][rng.below(4) as usize];
    let slowest = [1_000, 1_000_000, 20_000_000][rng.below(3) as usize];
    let device = Unruly::new(depth, queues, slowest, seed.stream("device", 0));
    let mut disk = Watched::on(elevator, Box::new(device), options);
    let mut places = [0; SUBMITTERS as usize];
    let (mut at, mut tag) = (0, 0);
    while tag < 300 {
        at += rng.below(8 * slowest / u64::from(depth).min(8));
        let ios: Vec<Io> = (0..=rng.below(12)).map(|n| draw(&mut rng, &mut places, tag + n)).collect();
        tag += ios.len() as u64;
        disk.submit(at, &ios);
        if rng.below(3) == 0 {
            disk.unplug(at);
        }
    }
    disk.finish();
    disk
}

/// Number of requests by operation and sector.
type Map = BTreeMap<(Operation, u64), u32>;

fn sectors(disk: &Watched, stage: IoStage) -> Map {
    let mut map = Map::new();
    for (_, event) in disk.events.iter().filter(|(_, event)| event.stage == stage) {
        for sector in event.sector..event.sector + u64::from(event.sectors) {
            *map.entry((event.op, sector)).or_default() += 1;
        }
    }
    map
}

/// Checks that each I/O completes once, and that `Admitted` follows `Waiting`.
fn check_outcomes(disk: &Watched) {
    let mut waiting = BTreeMap::<u64, bool>::new();
    let mut done = BTreeMap::<u64, u32>::new();
    for (_, outcome) in &disk.outcomes {
        match outcome {
            Outcome::Waiting { tag } => assert_eq!(waiting.insert(*tag, true), None),
            Outcome::Admitted { tag } => assert_eq!(waiting.insert(*tag, false), Some(true)),
            Outcome::Done { tag } => {
                assert_ne!(waiting.get(tag), Some(&true), "done before it was admitted");
                *done.entry(*tag).or_default() += 1;
            }
        }
    }
    assert!(waiting.values().all(|waits| !waits) && done.values().all(|times| *times == 1));
    assert_eq!(done.len(), disk.count_all(IoStage::Queued));
}

/// Checks that each request is inserted, then issued and completed, or merged.
fn check_requests(events: &[(u64, IoEvent)]) {
    let mut stages = BTreeMap::<RequestId, IoStage>::new();
    for (_, event) in events {
        let is_legal = |before: Option<IoStage>| match event.stage {
            IoStage::Inserted => matches!(before, None | Some(IoStage::Completed | IoStage::Absorbed)),
            IoStage::Issued => before == Some(IoStage::Inserted),
            IoStage::Completed => before == Some(IoStage::Issued),
            // Out of the elevator, or straight out of a plug.
            IoStage::Absorbed => before != Some(IoStage::Issued),
            _ => true,
        };
        if matches!(event.stage, IoStage::Inserted | IoStage::Issued | IoStage::Completed | IoStage::Absorbed) {
            let before = stages.insert(event.request, event.stage);
            assert!(is_legal(before), "{:?} after {before:?}", event.stage);
        }
    }
    assert!(stages.values().all(|stage| matches!(stage, IoStage::Completed | IoStage::Absorbed)));
}

/// Checks that each request carries exactly the sectors merged into it.
fn check_sectors(elevator: &str, events: &[(u64, IoEvent)]) {
    let mut checkers = Checkers::new(1, &[]);
    events.iter().for_each(|(at, event)| checkers.observe(Time(*at), &Event::Io(*event)));
    let end = events.last().map_or(0, |(at, _)| *at);
    assert_eq!(checkers.finish(Time(end), Ending::Quiet).violations, [], "{elevator}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn every_sector_asked_for_is_transferred_once_and_every_piece_is_done_once(
        seed: u64, small: bool, hz in 0..3usize,
    ) {
        for about in goodness_elevators::ALL {
            let requests = small.then_some(6);
            let options = QueueOptions { requests, cpus: 4, hz: [100, 250, 1000][hz], ..QueueOptions::default() };
            let disk = run(about.name, Seed(seed), &options);
            let asked = sectors(&disk, IoStage::Queued);
            for stage in [IoStage::Issued, IoStage::Completed, IoStage::Done] {
                assert_eq!(asked, sectors(&disk, stage), "{}: {stage:?}", about.name);
            }
            check_outcomes(&disk);
            check_requests(&disk.events);
            check_sectors(about.name, &disk.events);
        }
    }
}

#[test]
fn the_random_streams_merge_in_every_way_and_fill_every_pool() {
    for about in goodness_elevators::ALL {
        let mut counts = BTreeMap::<&str, usize>::new();
        for seed in 0..20 {
            let requests = (seed % 2 == 0).then_some(6);
            let disk = run(about.name, Seed(seed), &QueueOptions { requests, cpus: 4, ..QueueOptions::default() });
            *counts.entry("back").or_default() += disk.count(IoStage::BackMerged);
            *counts.entry("front").or_default() += disk.count(IoStage::FrontMerged);
            *counts.entry("absorbed").or_default() += disk.count(IoStage::Absorbed);
            let waits = disk.outcomes.iter().filter(|o| matches!(o.1, Outcome::Waiting { .. })).count();
            *counts.entry("waiting").or_default() += waits;
        }
        // Those that keep arrival order never look for neighbours.
        let is_plain = matches!(about.name, "kyber" | "none" | "noop");
        assert!(counts["back"] > 50 && counts["waiting"] > 50, "{}: {counts:?}", about.name);
        assert_eq!(counts["absorbed"] > 0, !is_plain, "{}: {counts:?}", about.name);
        assert_eq!(counts["front"] > 0, about.name != "noop", "{}: {counts:?}", about.name);
    }
}

#[test]
fn equal_seeds_give_equal_runs() {
    for about in goodness_elevators::ALL {
        let options = QueueOptions { cpus: 4, ..QueueOptions::default() };
        let (a, b) = (run(about.name, Seed(11), &options), run(about.name, Seed(11), &options));
        assert!(a.events == b.events && a.outcomes == b.outcomes, "{}", about.name);
    }
}
