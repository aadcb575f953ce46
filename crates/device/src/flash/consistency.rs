//! Random drives under random loads: both mapping tables agree, blocks count their valid units, and nothing leaks.

use super::mapping::{NONE, Place};
use super::settings::{Geometry, Settings, Shape, Start, Stripe};
use super::{Device, Flash, Request, RequestId, Seed, Span, Time};
use goodness_core::{HwQueue, Io, Operation, Rng, Submitter};

/// Drives with the least over-provisioning that they can do with, or somewhat more.
fn any_settings(rng: &mut Rng) -> Settings {
    let settings = any_shape(rng);
    let fits = |over_provision: &u64| Geometry::new(&Settings { over_provision: *over_provision, ..settings.clone() });
    let least = (1..=400).find(|spare| fits(spare).is_ok()).expect("some over-provisioning suffices");
    Settings { over_provision: least + rng.below(2) * 10, ..settings }
}

fn any_shape(rng: &mut Rng) -> Settings {
    let unit = 512 << rng.below(4);
    let page = unit << rng.below(4);
    let planes = rng.within(1, 3);
    let (channels, luns, pages_per_block) = (rng.within(1, 4), rng.within(1, 3), rng.within(4, 24));
    let block = page * planes * pages_per_block * channels * luns / 512;
    Settings {
        sectors: (block * rng.within(8, 20)).max(2048),
        start: [Start::Empty, Start::Half, Start::Full, Start::Aged][rng.below(4) as usize],
        channels,
        luns,
        planes,
        page,
        pages_per_block,
        mapping_unit: unit,
        stripe: [Stripe::Channel, Stripe::Lun][rng.below(2) as usize],
        suspend: rng.below(2) == 0,
        buffer: (page * planes).div_ceil(1024) * rng.within(1, 8),
        early_completion: rng.below(4) > 0,
        volatile: rng.below(4) > 0,
        copyback: rng.below(2) == 0,
        collect_background: rng.below(2) * 300,
        jitter: rng.below(2) * 20,
        jitter_shape: [Shape::LogNormal, Shape::Even][rng.below(2) as usize],
        queues: rng.within(1, 4),
        max_iops: rng.below(2) * 100_000,
        duplex: rng.below(2) == 0,
        ..Settings::ssd()
    }
}

fn any_request(rng: &mut Rng, settings: &Settings) -> Request {
    let op = match rng.below(30) {
        0 => Operation::Flush,
        1 => Operation::Discard,
        2..12 => Operation::Read,
        _ => Operation::Write,
    };
    let most = if rng.below(8) == 0 { 256 } else { 16 };
    let sectors = if op == Operation::Flush { 0 } else { rng.within(1, most) };
    let io = Io::read(Submitter(0), rng.below(settings.sectors - sectors), sectors as u32);
    let io = Io { op, durable: rng.below(10) == 0, ..io };
    Request { queue: HwQueue(rng.below(settings.queues) as u16), ..Request::of(&io, Time::ZERO) }
}

/// Starts `count` requests at random times, runs until the drive is idle, and returns the number of completions.
fn run(drive: &mut Flash, rng: &mut Rng, count: u32) -> u32 {
    let (mut completed, mut started, mut now) = (0, 0, Time::ZERO);
    let mut free: Vec<RequestId> = (0..32).map(RequestId).collect();
    let mut done = Vec::new();
    let mut next = Time::ZERO;
    while started < count || drive.next_event() != Time::NEVER {
        let may_start = started < count && !free.is_empty();
        if may_start && next <= drive.next_event() {
            now = now.max(next);
            let request = any_request(rng, &drive.settings);
            drive.start(now, free.pop().expect("one is free"), &request);
            started += 1;
            next = now + Span(rng.below(100_000));
            continue;
        }
        assert!(drive.next_event() >= now && drive.next_event() != Time::NEVER, "stuck at {now}, {started} started");
        now = drive.next_event();
        drive.advance(now, &mut done);
        completed += done.len() as u32;
        free.append(&mut done);
    }
    completed
}

/// Checks that each valid unit is mapped both ways and counted by its block.
fn check_tables(drive: &Flash) {
    let geometry = &drive.geometry;
    let mut valid = 0;
    for block in 0..geometry.luns * geometry.blocks {
        let places = block * geometry.units_per_block()..(block + 1) * geometry.units_per_block();
        let owned = places.filter(|place| {
            let owner = drive.mapping.owner(*place);
            assert!(owner.is_none_or(|unit| drive.mapping.place(unit) == Place::Flash(*place)), "{place} {owner:?}");
            owner.is_some()
        });
        let owned = owned.count() as u32;
        assert_eq!(owned, drive.mapping.valid(block), "block {block}");
        valid += owned;
    }
    let placed = (0..geometry.units).filter(|unit| matches!(drive.mapping.place(*unit), Place::Flash(_)));
    assert_eq!(placed.count() as u32, valid);
    let buffered = (0..geometry.units).filter(|unit| match drive.mapping.place(*unit) {
        Place::Buffered(slot) => {
            assert_eq!(drive.buffer.slot(slot).unit, *unit);
            true
        }
        _ => false,
    });
    assert!(buffered.count() <= drive.buffer.waiting());
}

#[test]
fn random_drives_complete_everything_once_and_keep_their_tables_in_agreement() {
    let mut erased = 0;
    for seed in 0..150 {
        let mut rng = Seed(seed).stream("drive", 0).rng();
        let settings = any_settings(&mut rng);
        let mut drive = Flash::new(&settings, Seed(seed)).unwrap_or_else(|e| panic!("seed {seed}: {e}: {settings:?}"));
        check_tables(&drive);
        let count = 3000;
        assert_eq!(run(&mut drive, &mut rng, count), count, "seed {seed}: {settings:?}");
        check_tables(&drive);
        assert!(
            drive.luns.iter().all(|lun| lun.busy.is_none() && lun.rows == 0 && !lun.has_host_work()),
            "seed {seed}"
        );
        assert!(drive.luns.iter().all(|lun| lun.collection.victim == NONE || lun.collection.gathered.is_empty()));
        erased += drive.wear().erased;
    }
    assert!(erased > 1000, "only {erased} blocks were collected in all");
}
