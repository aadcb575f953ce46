//! The rules of the two block layers, as checkable numbers of the specification.

mod common;

use common::{MS, Watched};
use goodness_block::{Outcome, QueueOptions};
use goodness_core::{Io, IoStage, Operation, Submitter};

fn read(sector: u64) -> Io {
    Io::read(Submitter(0), sector, 8)
}

fn tagged(io: Io, tag: u64) -> Io {
    Io { tag, ..io }
}

fn hz(hz: u32) -> QueueOptions {
    QueueOptions { hz, ..QueueOptions::default() }
}

#[test]
fn sixty_four_adjacent_pieces_under_one_plug_become_one_request() {
    // T-BLK-1
    let ios: Vec<Io> = (0..64).map(|n| read(8 * n)).collect();
    let mut disk = Watched::new("none", "null:depth=1024", &hz(1000));
    disk.submit(0, &ios);
    assert_eq!(disk.issued(), [(0, 0, 512)]);
    disk.finish();
    assert_eq!(disk.count(IoStage::Done), 64);

    // The limit of a request is 1024 sectors, or 128 pieces.
    let ios: Vec<Io> = (0..130).map(|n| read(8 * n)).collect();
    let mut disk = Watched::new("none", "null:depth=1024", &hz(1000));
    disk.submit(0, &ios);
    assert_eq!(disk.issued(), [(0, 0, 1024), (0, 1024, 16)]);
}

#[test]
fn a_lone_request_on_an_idle_queue_waits_three_milliseconds_for_company() {
    // T-BLK-3
    let first_issue = |rate, at: u64| {
        let mut disk = Watched::new("noop", "null", &hz(rate));
        disk.submit(at, &[Io::write(Submitter(0), 0, 8)]);
        disk.finish();
        disk.issued()[0].0
    };
    assert_eq!([first_issue(1000, 0), first_issue(250, 0), first_issue(100, 0)], [3 * MS, 4 * MS, 10 * MS]);
}

#[test]
fn the_fourth_request_within_a_millisecond_takes_the_plug_off() {
    // T-BLK-3
    let mut disk = Watched::new("noop", "null", &hz(1000));
    for n in 0..4 {
        assert!(disk.issued().is_empty());
        disk.submit(n * MS / 4, &[Io::write(Submitter(0), 100 * n, 8)]);
    }
    let at = 3 * MS / 4;
    assert_eq!(disk.issued(), [(at, 0, 8), (at, 100, 8), (at, 200, 8), (at, 300, 8)]);
}

#[test]
fn whoever_waits_takes_the_plug_off_and_so_does_a_synchronous_write() {
    let mut disk = Watched::new("noop", "null", &hz(1000));
    disk.submit(0, &[read(0)]);
    disk.unplug(MS / 2);
    assert_eq!(disk.issued(), [(MS / 2, 0, 8)]);
    disk.submit(MS, &[Io::sync_write(Submitter(0), 800, 8)]);
    assert_eq!(disk.issued()[1], (MS, 800, 8));
}

#[test]
fn noop_merges_with_the_last_request_or_with_any_by_version() {
    // T-NOOP-1
    let issued = |elevator| {
        let mut disk = Watched::new(elevator, "null", &hz(1000));
        for (sector, sectors) in [(0, 8), (100, 8), (8, 8)] {
            disk.submit(0, &[Io::read(Submitter(0), sector, sectors)]);
        }
        disk.unplug(0);
        disk.issued().iter().map(|(_, sector, sectors)| (*sector, *sectors)).collect::<Vec<_>>()
    };
    assert_eq!(issued("noop:merge=last"), [(0, 8), (100, 8), (8, 8)]);
    assert_eq!(issued("noop:merge=hash"), [(0, 16), (100, 8)]);
}

#[test]
fn without_a_scheduler_the_newest_eight_of_a_software_queue_may_grow() {
    let issued = |others: u64| {
        let mut disk = Watched::new("none", "null:depth=1", &QueueOptions { requests: Some(64), ..hz(1000) });
        disk.submit(0, &[read(50_000)]);
        disk.submit(1, &[read(0)]);
        for n in 0..others {
            disk.submit(2, &[read(1000 * (n + 1))]);
        }
        disk.submit(3, &[read(8)]);
        disk.finish();
        disk.issued().len() as u64
    };
    assert_eq!(issued(7), 1 + 1 + 7, "it is the eighth");
    assert_eq!(issued(8), 1 + 1 + 8 + 1, "it is the ninth");
}

#[test]
fn a_plug_is_handed_over_with_32_requests_or_behind_one_of_128_kib() {
    let issued_before_end = |ios: &[Io]| {
        // One tag: what is handed over later waits, so the order of insertions shows the flushes.
        let mut disk = Watched::new("none", "null:depth=1", &QueueOptions { requests: Some(256), ..hz(1000) });
        disk.submit(0, ios);
        let stages: Vec<IoStage> = disk.events.iter().map(|(_, event)| event.stage).collect();
        stages.iter().position(|stage| *stage == IoStage::Inserted).unwrap()
    };
    let small: Vec<Io> = (0..40).map(|n| read(1000 * n)).collect();
    assert_eq!(issued_before_end(&small), 33, "32 are queued, the 33rd finds the plug full");
    let large = [Io::read(Submitter(0), 0, 256), read(1000), read(2000)];
    assert_eq!(issued_before_end(&large), 2);
}

#[test]
fn a_piece_that_finds_no_request_waits_and_its_submitter_is_told_twice() {
    let mut disk = Watched::new("none", "null:depth=2,latency=1ms", &hz(1000));
    let ios: Vec<Io> = (0..4).map(|n| tagged(read(1000 * n), n)).collect();
    disk.submit(0, &ios);
    assert_eq!(disk.disk.waiting(), 2);
    assert_eq!(disk.outcomes, [(0, Outcome::Waiting { tag: 2 }), (0, Outcome::Waiting { tag: 3 })]);
    disk.finish();
    let rest: Vec<(u64, Outcome)> = disk.outcomes[2..].to_vec();
    assert_eq!(
        rest,
        [
            (MS, Outcome::Done { tag: 0 }),
            (MS, Outcome::Done { tag: 1 }),
            (MS, Outcome::Admitted { tag: 2 }),
            (MS, Outcome::Admitted { tag: 3 }),
            (2 * MS, Outcome::Done { tag: 2 }),
            (2 * MS, Outcome::Done { tag: 3 }),
        ]
    );
}

#[test]
fn a_piece_larger_than_a_request_is_cut_and_done_once() {
    for elevator in ["noop", "none"] {
        let mut disk = Watched::new(elevator, "null", &hz(1000));
        disk.submit(0, &[tagged(Io::read(Submitter(0), 0, 2500), 7)]);
        disk.finish();
        let sizes: Vec<u32> = disk.issued().iter().map(|issue| issue.2).collect();
        assert_eq!(sizes, [1024, 1024, 452], "{elevator}");
        assert_eq!(disk.outcomes.iter().map(|o| o.1).collect::<Vec<_>>(), [Outcome::Done { tag: 7 }]);
    }
}

#[test]
fn a_flush_is_done_at_once_where_no_write_can_be_lost() {
    let mut disk = Watched::new("noop", "null", &hz(1000));
    disk.submit(5, &[Io { op: Operation::Flush, sectors: 0, tag: 3, ..read(0) }]);
    assert_eq!(disk.outcomes, [(5, Outcome::Done { tag: 3 })]);
}
