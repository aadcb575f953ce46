//! The rules of the two block layers, as checkable numbers of the specification.

mod common;

use common::device::Unruly;
use common::{MS, Watched};
use goodness_block::{Outcome, QueueOptions};
use goodness_core::{Io, IoStage, Operation, Rng, Seed, Submitter};

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
fn of_a_plug_only_the_newest_request_takes_a_piece_and_the_others_meet_where_they_wait() {
    let ios = [read(0), read(800), read(8), read(808)];
    let mut disk = Watched::new("none", "null:depth=1024", &hz(1000));
    disk.submit(0, &ios);
    assert_eq!(disk.issued(), [(0, 0, 8), (0, 800, 8), (0, 8, 8), (0, 808, 8)]);
    let mut disk = Watched::new("none", "null:depth=1024", &hz(1000));
    disk.submit(0, &[read(0), read(800), read(808), read(792)]);
    assert_eq!(disk.issued(), [(0, 0, 8), (0, 792, 24)]);
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
fn whoever_must_sleep_for_a_request_takes_the_plug_off() {
    let options = QueueOptions { requests: Some(1), ..hz(1000) };
    let mut disk = Watched::new("noop", "null", &options);
    // There is one request only.
    disk.submit(0, &[read(0)]);
    assert!(disk.issued().is_empty());
    disk.submit(MS, &[read(800)]);
    assert_eq!((disk.issued(), disk.disk.waiting()), (vec![(MS, 0, 8)], 1));
    disk.finish();
}

#[test]
fn a_completion_runs_the_queue_though_it_is_plugged() {
    let mut disk = Watched::new("noop", "null:depth=1,latency=1ms", &hz(1000));
    disk.submit(0, &[read(0)]);
    disk.unplug(0);
    disk.submit(MS / 2, &[read(800)]);
    disk.finish();
    assert_eq!(disk.issued(), [(0, 0, 8), (MS, 800, 8)]);
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

#[test]
fn of_two_requests_that_become_one_the_earlier_time_counts() {
    // T-BLK-5: a deadline is the time of insertion and a fixed span.
    for elevator in ["deadline", "mq-deadline"] {
        let options = QueueOptions { requests: Some(128), ..hz(1000) };
        let mut disk = Watched::new(elevator, "null:depth=1,latency=10ms", &options);
        disk.submit(0, &[read(50_000)]);
        disk.unplug(0);
        disk.submit(MS, &[read(16)]);
        disk.submit(2 * MS, &[read(0)]);
        disk.submit(3 * MS, &[read(8)]);
        disk.finish();
        let issued = |event: &&(u64, goodness_core::IoEvent)| event.1.stage == IoStage::Issued;
        let (at, last) = disk.events.iter().filter(issued).nth(1).unwrap();
        assert_eq!((*at, last.sector, last.sectors, last.span.0), (10 * MS, 0, 24, 9 * MS), "{elevator}");
        assert_eq!(disk.count(IoStage::Absorbed), 1);
    }
}

/// Sectors of 64 random reads in order of arrival and of issue, on a device with this many tags.
fn orders(elevator: &str, depth: u32) -> (Vec<u64>, Vec<u64>) {
    let options = QueueOptions { requests: Some(128), ..hz(1000) };
    let mut disk = Watched::new(elevator, &format!("null:depth={depth},latency=1ms"), &options);
    let mut rng: Rng = Seed(3).rng();
    let arrived: Vec<u64> = (0..64).map(|_| rng.below(1 << 20) * 16).collect();
    for (n, sector) in arrived.iter().enumerate() {
        disk.submit(n as u64, &[read(*sector)]);
    }
    disk.finish();
    (arrived, disk.issued().iter().map(|issued| issued.1).collect())
}

#[test]
fn an_elevator_orders_nothing_as_long_as_there_are_tags() {
    // T-BLK-6, T-MQD-6
    for elevator in ["mq-deadline", "none"] {
        let (arrived, issued) = orders(elevator, 64);
        assert_eq!(arrived, issued, "{elevator}");
    }
    let (arrived, issued) = orders("mq-deadline", 4);
    assert_ne!(arrived, issued, "with few tags most wait, and are sorted");
    // A sweep ends at the last sector, and the next begins with the oldest.
    let turns = |order: &[u64]| order.windows(2).filter(|pair| pair[1] < pair[0]).count();
    assert!(turns(&issued) < 10 && turns(&arrived) > 25, "{} {}", turns(&issued), turns(&arrived));
    let (arrived, issued) = orders("none", 4);
    assert_eq!(arrived, issued);
}

#[test]
fn a_flush_goes_by_itself_before_all_that_waits() {
    for elevator in ["noop", "mq-deadline"] {
        let device = Unruly::new(1, 1, 1000, Seed(1));
        let mut disk = Watched::on(elevator, Box::new(device), &hz(1000));
        disk.submit(0, &[read(0)]);
        disk.unplug(0);
        let write = Io::write(Submitter(0), 800, 8);
        disk.submit(0, &[write, Io { op: Operation::Flush, sectors: 0, tag: 9, ..write }]);
        disk.finish();
        let ops: Vec<Operation> = disk.events.iter().filter(|e| e.1.stage == IoStage::Issued).map(|e| e.1.op).collect();
        assert_eq!(ops, [Operation::Read, Operation::Flush, Operation::Write], "{elevator}");
        assert!(disk.outcomes.iter().any(|outcome| outcome.1 == Outcome::Done { tag: 9 }));
    }
}

#[test]
fn a_durable_write_is_not_merged_and_passes_the_elevator() {
    for elevator in ["noop", "mq-deadline"] {
        let device = Unruly::new(8, 1, 1000, Seed(1));
        let mut disk = Watched::on(elevator, Box::new(device), &hz(1000));
        let write = |sector| Io::write(Submitter(0), sector, 8);
        disk.submit(0, &[write(0), Io { durable: true, ..write(8) }, write(16)]);
        disk.finish();
        assert_eq!(disk.issued().len(), 3, "{elevator}");
    }
}

#[test]
fn what_a_plug_holds_joins_a_request_that_waits() {
    let issued = |elevator| {
        let mut disk = Watched::new(elevator, "null:depth=1,latency=1ms", &hz(1000));
        disk.submit(0, &[read(50_000)]);
        disk.submit(1, &[read(0)]);
        // 16..24 and then 8..16 become one request in the plug; it ends up behind the one that waits.
        disk.submit(2, &[read(16), read(8)]);
        disk.finish();
        disk.issued()[1..].to_vec()
    };
    assert_eq!(issued("mq-deadline"), [(MS, 0, 24)]);
    assert_eq!(issued("kyber"), [(MS, 0, 8), (2 * MS, 8, 16)], "two requests of kyber never unite");
}

#[test]
fn tags_are_twice_the_depth_but_at_most_256_for_each_hardware_queue() {
    let requests = |elevator: &str, device: &str| Watched::new(elevator, device, &hz(1000)).disk.facts().requests;
    assert_eq!(requests("mq-deadline", "null:depth=128"), 256);
    assert_eq!(requests("mq-deadline", "null:depth=32"), 64);
    assert_eq!(requests("mq-deadline", "null:depth=1024"), 256);
    assert_eq!(requests("mq-deadline", "null:depth=1024,queues=8"), 2048);
    assert_eq!(requests("none", "null:depth=128"), 128, "switching to a scheduler doubles it");
    assert_eq!([requests("noop", "null"), requests("deadline", "null:depth=1")], [128, 128]);
}

#[test]
fn each_hardware_queue_has_its_share_of_the_tags() {
    let options = QueueOptions { cpus: 2, ..hz(1000) };
    let mut disk = Watched::new("none", "null:depth=4,queues=2,latency=1ms", &options);
    for n in 0..3 {
        disk.submit(n, &[Io { cpu: 0, ..read(1000 * n) }]);
    }
    assert_eq!((disk.disk.in_flight(), disk.disk.waiting()), (2, 1));
    assert_eq!(disk.outcomes, [(2, Outcome::Waiting { tag: 0 })], "the other queue's tags are not for it");
    disk.submit(3, &[Io { cpu: 1, tag: 1, ..read(9000) }]);
    assert_eq!(
        (disk.disk.in_flight(), disk.outcomes.len()),
        (3, 1),
        "who waits for a tag keeps no other queue waiting"
    );
    disk.finish();
}

#[test]
fn writers_may_fill_their_pool_while_readers_find_theirs_empty() {
    let mut disk = Watched::new("noop", "null:depth=1,latency=1ms", &hz(1000));
    let writes: Vec<Io> = (0..200).map(|n| tagged(Io::write(Submitter(0), 1000 * n, 8), n)).collect();
    disk.submit(0, &writes);
    let waiting = |disk: &Watched| disk.outcomes.iter().filter(|o| matches!(o.1, Outcome::Waiting { .. })).count();
    // 127, and a batch of 32 with the 128th.
    assert_eq!(waiting(&disk), 200 - 159);
    disk.submit(0, &[Io { submitter: Submitter(1), ..read(500) }]);
    assert_eq!(waiting(&disk), 200 - 159);
    // The sleeper is woken when 127 writes are left, and then batches again.
    disk.finish();
    let first = disk.outcomes.iter().find(|o| matches!(o.1, Outcome::Admitted { .. })).unwrap();
    let done = disk.outcomes.iter().filter(|o| o.0 <= first.0 && matches!(o.1, Outcome::Done { .. })).count();
    assert_eq!((done, first.1), (32, Outcome::Admitted { tag: 159 }));
}
