//! I/O to volumes reaches the right sectors of the right disks and completes once.

mod common;

use common::MS;
use common::device::Unruly;
use goodness_block::{Out, Outcome, QueueOptions, Storage, by_name};
use goodness_core::storage::{Layout, Piece, VolumeId, VolumeSpec};
use goodness_core::{Device, DiskId, Io, IoStage, Operation, Seed, Submitter, Time};

const VOLUME: VolumeId = VolumeId(0);

/// A part issued to a device: disk, operation, first sector, sectors.
type Issued = (u16, Operation, u64, u32);

struct Run {
    storage: Storage,
    out: Out,
    issued: Vec<Issued>,
    outcomes: Vec<(u64, Outcome)>,
}

fn run(layout: Layout, disks: u16, device: &str) -> Run {
    run_on(layout, disks, "none", |_| goodness_device::by_name(device, Seed(1)).unwrap())
}

fn run_on(layout: Layout, disks: u16, elevator: &str, device: impl Fn(u16) -> Box<dyn Device>) -> Run {
    let make = |disk| {
        let options = QueueOptions { disk: DiskId(disk), ..QueueOptions::default() };
        by_name(elevator, &options, device(disk)).unwrap()
    };
    let pieces = (0..disks).map(|disk| Piece { disk: DiskId(disk), sector: 0, sectors: 10_000 }).collect();
    let spec = VolumeSpec { name: "v".into(), layout, pieces };
    let storage = Storage::new((0..disks).map(make).collect(), &[spec]).unwrap();
    Run { storage, out: Out::with_events(), issued: Vec::new(), outcomes: Vec::new() }
}

impl Run {
    fn submit(&mut self, at: u64, ios: &[Io]) {
        self.storage.submit(Time(at), VOLUME, ios, &mut self.out);
        self.keep(at);
    }

    fn finish(&mut self) {
        while self.storage.next_event() != Time::NEVER {
            let at = self.storage.next_event();
            self.storage.advance(at, &mut self.out);
            self.keep(at.0);
        }
        assert_eq!((self.storage.waiting(), self.storage.in_flight()), (0, 0));
    }

    fn keep(&mut self, at: u64) {
        let issued = self.out.events.iter().flatten().filter(|event| event.stage == IoStage::Issued);
        self.issued.extend(issued.map(|event| (event.disk.0, event.op, event.sector, event.sectors)));
        self.outcomes.extend(self.out.outcomes.iter().map(|outcome| (at, *outcome)));
        self.out.clear();
    }
}

fn write(sector: u64, sectors: u32) -> Io {
    Io { tag: sector, ..Io::write(Submitter(0), sector, sectors) }
}

#[test]
fn a_read_across_stripes_is_done_with_its_last_part() {
    let mut run = run(Layout::Striped { chunk: 8 }, 2, "null:latency=1ms,depth=1");
    run.submit(0, &[Io::read(Submitter(0), 0, 32)]);
    run.finish();
    run.issued.sort_by_key(|issued| (issued.0, issued.2));
    // The parts of one disk are adjacent there and merge under the plug.
    assert_eq!(run.issued, [(0, Operation::Read, 0, 16), (1, Operation::Read, 0, 16)]);
    assert_eq!(run.outcomes, [(MS, Outcome::Done { tag: 0 })]);
}

#[test]
fn a_mirror_writes_to_all_and_reads_from_the_idle_or_the_near() {
    let mut idle = run(Layout::Mirrored, 2, "null");
    idle.submit(0, &[write(100, 8)]);
    idle.finish();
    assert_eq!(idle.issued, [(0, Operation::Write, 100, 8), (1, Operation::Write, 100, 8)]);
    idle.submit(MS, &[Io::read(Submitter(0), 500, 8)]);
    idle.submit(MS, &[Io::read(Submitter(0), 900, 8)]);
    idle.submit(MS, &[Io::read(Submitter(0), 508, 8)]);
    let disks: Vec<u16> = idle.issued[2..].iter().map(|issued| issued.0).collect();
    assert_eq!(disks, [0, 1, 0], "the second goes to the disk with nothing to do, the third reads on");
}

#[test]
fn a_mirror_whose_disks_seek_reads_from_the_nearest() {
    let device = |disk: u16| -> Box<dyn Device> { Box::new(Unruly::new(1, 1, MS, Seed(u64::from(disk)))) };
    let mut run = run_on(Layout::Mirrored, 2, "none", device);
    run.submit(0, &[Io::read(Submitter(0), 9000, 8)]);
    run.finish();
    for (at, sector) in [(10, 100), (20, 8000), (30, 200)] {
        run.submit(at * MS, &[Io::read(Submitter(0), sector, 8)]);
        run.finish();
    }
    // The first goes to disk 0, whose head stays far out; disk 1 serves requests near the beginning.
    let disks: Vec<u16> = run.issued.iter().map(|issued| issued.0).collect();
    assert_eq!(disks, [0, 1, 0, 1]);
}

#[test]
fn a_small_write_to_a_raid_5_is_four_commands_in_two_steps() {
    let mut run = run(Layout::Parity { chunk: 16 }, 5, "null:latency=1ms");
    run.submit(0, &[write(0, 8)]);
    assert_eq!(run.issued, [(0, Operation::Read, 0, 8), (4, Operation::Read, 0, 8)]);
    run.finish();
    assert_eq!(run.issued[2..], [(0, Operation::Write, 0, 8), (4, Operation::Write, 0, 8)]);
    assert_eq!(run.outcomes, [(2 * MS, Outcome::Done { tag: 0 })]);
}

#[test]
fn a_raid_5_writes_whole_rows_without_a_read_and_one_row_after_the_other() {
    let mut run = run(Layout::Parity { chunk: 16 }, 3, "null:latency=1ms");
    run.submit(0, &[write(0, 64)]);
    assert!(run.issued.iter().all(|issued| issued.1 == Operation::Write));
    let sectors: u32 = run.issued.iter().map(|issued| issued.3).sum();
    assert_eq!(sectors, 96, "64 of data and 32 of parity");
    // The second write to the first row waits for the first; one to another row does not.
    run.submit(MS / 2, &[write(4, 4), write(32 * 5, 32)]);
    assert_eq!(run.storage.waiting(), 1);
    run.finish();
    let done: Vec<(u64, u64)> = run
        .outcomes
        .iter()
        .map(|(at, outcome)| match outcome {
            Outcome::Done { tag } => (*at, *tag),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(done, [(MS, 0), (MS * 3 / 2, 160), (3 * MS, 4)]);
}

#[test]
fn a_flush_reaches_every_disk_and_a_discard_stops_at_a_raid_5() {
    let mut run = run(Layout::Parity { chunk: 16 }, 3, "null");
    let flush = Io { op: Operation::Flush, sectors: 0, tag: 1, ..write(0, 0) };
    run.submit(0, &[flush, Io { op: Operation::Discard, tag: 2, ..write(0, 64) }]);
    run.finish();
    assert!(run.issued.is_empty(), "null has no volatile cache");
    let done: Vec<Outcome> = run.outcomes.iter().map(|outcome| outcome.1).collect();
    assert_eq!(done, [Outcome::Done { tag: 2 }, Outcome::Done { tag: 1 }]);
}

#[test]
fn who_waits_at_several_disks_is_told_once_that_he_waits_and_once_that_he_may_go_on() {
    let mut run = run(Layout::Striped { chunk: 8 }, 2, "null:latency=1ms,depth=1");
    run.submit(0, &[Io::read(Submitter(0), 0, 16), Io { tag: 1, ..Io::read(Submitter(0), 5000, 16) }]);
    run.finish();
    let told: Vec<Outcome> = run.outcomes.iter().map(|outcome| outcome.1).collect();
    let expected = [Outcome::Waiting { tag: 1 }, Outcome::Done { tag: 0 }, Outcome::Admitted { tag: 1 }];
    assert_eq!(told, [expected.as_slice(), &[Outcome::Done { tag: 1 }]].concat());
}

/// Sectors that the devices got of `op`.
fn sectors(run: &Run, op: Operation) -> u64 {
    run.issued.iter().filter(|issued| issued.1 == op).map(|issued| u64::from(issued.3)).sum()
}

#[test]
fn random_streams_on_every_layout_are_done_once_and_cost_what_the_layout_costs() {
    let layouts = [Layout::Linear, Layout::Striped { chunk: 24 }, Layout::Mirrored, Layout::Parity { chunk: 24 }];
    for (layout, elevator) in layouts.into_iter().flat_map(|layout| [(layout, "deadline"), (layout, "mq-deadline")]) {
        let device = |disk: u16| -> Box<dyn Device> { Box::new(Unruly::new(2, 1, MS, Seed(u64::from(disk)))) };
        let mut run = run_on(layout, 4, elevator, device);
        let (mut rng, mut asked) = (Seed(9).rng(), [0, 0]);
        for batch in 0..100 {
            let at = Time(batch * MS);
            while run.storage.next_event() <= at {
                let due = run.storage.next_event();
                run.storage.advance(due, &mut run.out);
                run.keep(due.0);
            }
            let ios: Vec<Io> = (0..6)
                .map(|n| {
                    let (sector, count) = (rng.below(60) * 8, 8 + 8 * rng.below(20) as u32);
                    let way = rng.below(2) as usize;
                    asked[way] += u64::from(count);
                    let io = [Io::read(Submitter(0), sector, count), Io::write(Submitter(1), sector, count)][way];
                    Io { tag: 6 * batch + n, ..io }
                })
                .collect();
            run.submit(at.0, &ios);
        }
        run.finish();
        let mut done: Vec<u64> = run
            .outcomes
            .iter()
            .filter_map(|(_, outcome)| if let Outcome::Done { tag } = outcome { Some(*tag) } else { None })
            .collect();
        done.sort_unstable();
        assert_eq!(done, (0..600).collect::<Vec<_>>(), "{layout:?} {elevator}");
        let (read, written) = (sectors(&run, Operation::Read), sectors(&run, Operation::Write));
        match layout {
            Layout::Linear | Layout::Striped { .. } => assert_eq!([read, written], asked),
            Layout::Mirrored => assert_eq!([read, written], [asked[0], 4 * asked[1]]),
            // Each write adds parity: a third of it for whole rows, as much again for the smallest.
            Layout::Parity { .. } => {
                assert!(read > asked[0] && 3 * written >= 4 * asked[1] && written <= 2 * asked[1]);
            }
        }
    }
}
