//! Limits on the I/O of groups: kept within a slice, used up under a backlog, hierarchical, by direction; nothing is
//! lost, and nobody else is slowed.

use goodness_block::{Disk, Out, Outcome, QueueOptions, Throttle, by_name};
use goodness_core::{DiskId, Group, GroupId, Groups, Io, IoLimit, IoStage, Rng, Seed, Span, Submitter, Time};

/// Closed submitters of a group each, which keep a number of I/Os in flight.
struct Load {
    disk: Box<dyn Disk>,
    out: Out,
    now: Time,
    /// By submitter: its group, I/O and number in flight.
    of: Vec<(GroupId, Io, u32)>,
    /// By submitter: bytes done, I/Os done, and the time spent by I/Os.
    done: Vec<(u64, u64, Span)>,
    /// By tag: the submitter and the time of submission.
    under_way: Vec<Option<(usize, Time)>>,
}

impl Load {
    fn new(limits: &[(&str, GroupId)], device: &str, of: Vec<(GroupId, Io, u32)>) -> Load {
        let mut groups = Groups::default();
        for (number, (limit, parent)) in limits.iter().enumerate() {
            let io_max = Some(IoLimit::parse(limit).unwrap()).filter(|it| *it != IoLimit::NONE);
            groups.add(Group { io_max, ..Group::new(&format!("g{number}"), *parent) });
        }
        let device = goodness_device::by_name(device, Seed(1)).unwrap();
        let disk = by_name("mq-deadline", &QueueOptions::default(), device).unwrap();
        let disk = Throttle::around(disk, DiskId(0), &groups);
        let done = vec![(0, 0, Span::ZERO); of.len()];
        Load { disk, out: Out::with_events(), now: Time::ZERO, of, done, under_way: Vec::new() }
    }

    fn submit(&mut self, number: usize, rng: &mut Rng) {
        let (group, io, _) = self.of[number];
        let tag = self.under_way.iter().position(Option::is_none).unwrap_or(self.under_way.len());
        self.under_way.resize(self.under_way.len().max(tag + 1), None);
        self.under_way[tag] = Some((number, self.now));
        let sector = rng.below(1 << 20) * 8;
        let submitter = Submitter(number as u32);
        self.disk.submit(self.now, &[Io { group, sector, submitter, tag: tag as u64, ..io }], &mut self.out);
    }

    /// Runs for `span`; counts what is done, and submits again if `again`.
    fn run(&mut self, span: Span, again: bool) {
        let mut rng = Seed(3).rng();
        if again {
            for number in 0..self.of.len() {
                (0..self.of[number].2).for_each(|_| self.submit(number, &mut rng));
            }
        }
        let end = self.now + span;
        loop {
            let told: Vec<Outcome> = self.out.outcomes.drain(..).collect();
            let any = !told.is_empty();
            for outcome in told {
                let Outcome::Done { tag } = outcome else { continue };
                let (number, since) = self.under_way[tag as usize].take().expect("it is done once");
                let done = &mut self.done[number];
                done.0 += u64::from(self.of[number].1.sectors) * 512;
                done.1 += 1;
                done.2 += self.now.since(since);
                if again {
                    self.submit(number, &mut rng);
                }
            }
            if any {
                continue;
            }
            let next = self.disk.next_event();
            if next > end {
                self.now = end;
                return;
            }
            self.now = next.max(self.now);
            self.disk.advance(self.now, &mut self.out);
        }
    }

    fn bytes(&self, number: usize) -> f64 {
        self.done[number].0 as f64
    }
}

const READ: Io = Io::read(Submitter(0), 0, 32);
const WRITE: Io = Io::write(Submitter(0), 0, 32);
const SECONDS: u64 = 4;
const FIRST: GroupId = GroupId(1);

/// Bytes done in four seconds under a limit, by submitter.
fn bytes(limits: &[(&str, GroupId)], of: Vec<(GroupId, Io, u32)>) -> Vec<f64> {
    let mut load = Load::new(limits, "null:depth=32", of);
    load.run(Span::from_s(SECONDS), true);
    (0..load.of.len()).map(|it| load.bytes(it)).collect()
}

/// The parts of a request are those that the limited disk has; a device with real memory needs them.
#[test]
fn the_device_has_the_parts_of_a_request_under_a_limit() {
    let mut load = Load::new(&[("riops=1000", GroupId::ROOT)], "null:latency=1ms", vec![(FIRST, READ, 1)]);
    load.submit(0, &mut Seed(3).rng());
    load.disk.advance(Time(1), &mut load.out);
    let issued =
        load.out.events.iter().flatten().find(|event| event.stage == IoStage::Issued).expect("it is under way").request;
    let mut sectors = Vec::new();
    load.disk.pieces(issued, &mut |io| sectors.push(io.sectors));
    assert_eq!(sectors, [32]);
}

#[test]
fn a_limit_of_bytes_or_ios_is_used_up_under_a_backlog_and_kept_within_a_slice() {
    let slice = 0.02;
    for (limit, rate) in [
        ("rbps=10M", 10.0 * f64::from(1 << 20)),
        ("riops=500", 500.0 * 16384.0),
        ("rbps=1G riops=40", 40.0 * 16384.0),
        ("rbps=100K", 100.0 * 1024.0),
    ] {
        let [done, free] = [limit, "wbps=1K"].map(|limit| bytes(&[(limit, GroupId::ROOT)], vec![(FIRST, READ, 8)])[0]);
        let most = rate * (SECONDS as f64 + slice) + 16384.0;
        let least = 0.97 * rate * SECONDS as f64 - 16384.0;
        assert!((least..=most).contains(&done), "{limit}: {done} of {}", rate * 4.0);
        assert!(free > 2.0 * most, "the control, without a limit on reads: {free}");
    }
}

#[test]
fn a_limit_of_one_direction_leaves_the_other_and_other_groups_alone() {
    let limits = [("wbps=1M", GroupId::ROOT), ("max", GroupId::ROOT)];
    let of = vec![(FIRST, READ, 4), (FIRST, WRITE, 4), (GroupId(2), WRITE, 4), (GroupId::ROOT, WRITE, 4)];
    let done = bytes(&limits, of);
    let limit = f64::from(1 << 20) * SECONDS as f64;
    assert!(done[1] <= 1.01 * limit, "{done:?}");
    assert!([0, 2, 3].iter().all(|it| done[*it] > 10.0 * limit), "{done:?}");
}

#[test]
fn the_limit_around_a_group_holds_for_all_within_it_together() {
    let limits = [("riops=1000", GroupId::ROOT), ("riops=100", FIRST), ("max", FIRST)];
    let done = bytes(&limits, vec![(GroupId(2), READ, 8), (GroupId(3), READ, 8)]);
    let [inner, sum] = [done[0], done[0] + done[1]].map(|it| it / 16384.0 / SECONDS as f64);
    assert!((95.0..=101.0).contains(&inner), "{inner} a second of 100");
    assert!((970.0..=1006.0).contains(&sum), "{sum} a second of 1000");
}

#[test]
fn held_io_is_told_counts_in_latencies_and_ends_even_after_its_submitter_has() {
    let mut load = Load::new(&[("riops=100", GroupId::ROOT)], "null:depth=32", vec![(FIRST, READ, 50)]);
    let mut rng = Seed(3).rng();
    (0..50).for_each(|_| load.submit(0, &mut rng));
    assert_eq!(load.disk.waiting(), 48, "a slice of 20 ms has room for two");
    load.disk.exit(load.now, Submitter(0), &mut load.out);
    load.run(Span::from_s(1), false);
    assert_eq!((load.done[0].1, load.disk.waiting(), load.disk.in_flight()), (50, 0, 0));
    let events = load.out.events.take().unwrap();
    let of = |stage: IoStage| events.iter().filter(|it| it.stage == stage).collect::<Vec<_>>();
    assert_eq!([IoStage::Queued, IoStage::Released, IoStage::Done].map(|it| of(it).len()), [50, 48, 50]);
    let slowest = of(IoStage::Done).iter().map(|it| it.span).max().unwrap();
    let held = of(IoStage::Released).iter().map(|it| it.span).max().unwrap();
    assert!(slowest >= held && held > Span::from_ms(430) && held < Span::from_ms(500), "{held} {slowest}");
}

#[test]
fn without_limits_nothing_is_in_front_of_the_disk() {
    let mut with = Load::new(&[("riops=1000000000", GroupId::ROOT)], "sata-7200-4tb", vec![(FIRST, READ, 4)]);
    let mut without = Load::new(&[("max", GroupId::ROOT)], "sata-7200-4tb", vec![(FIRST, READ, 4)]);
    [&mut with, &mut without].into_iter().for_each(|it| it.run(Span::from_s(2), true));
    assert_eq!(with.done, without.done, "a limit that is never reached changes nothing");
    assert!(with.done[0].1 > 100);
}

#[test]
fn an_io_that_comes_as_the_gate_opens_is_queued_once() {
    let mut load = Load::new(&[("riops=100", GroupId::ROOT)], "null:depth=32", vec![(FIRST, READ, 8)]);
    let mut rng = Seed(3).rng();
    (0..4).for_each(|_| load.submit(0, &mut rng));
    // Two went on, two are held. More come before the gate is told that it is open.
    load.now = Time(40_000_000);
    (0..2).for_each(|_| load.submit(0, &mut rng));
    load.disk.advance(load.now, &mut load.out);
    load.run(Span::from_s(1), false);
    let events = load.out.events.take().unwrap();
    let count = |stage: IoStage| events.iter().filter(|it| it.stage == stage).count();
    assert_eq!([IoStage::Queued, IoStage::Released, IoStage::Done].map(count), [6, 4, 6]);
    let at_once = |it: &&goodness_core::IoEvent| it.stage == IoStage::Released && it.span == Span::ZERO;
    assert!(events.iter().any(|it| at_once(&it)), "one of them goes on at the instant at which it came");
}

/// I/Os of two groups are not merged, as in current kernels, so that each is charged for its own.
#[test]
fn neighbours_of_two_groups_are_not_merged() {
    let merges = |groups: [GroupId; 2]| {
        let limits = [("rbps=1G", GroupId::ROOT), ("rbps=1G", GroupId::ROOT)];
        let mut load = Load::new(&limits, "null:depth=1,latency=1ms", Vec::new());
        let io = |number: u64| Io {
            group: groups[number as usize % 2],
            tag: number,
            ..Io::read(Submitter(0), number * 8, 8)
        };
        let ios: Vec<Io> = (0..8).map(io).collect();
        load.disk.submit(Time::ZERO, &ios, &mut load.out);
        let merged = |it: &&goodness_core::IoEvent| matches!(it.stage, IoStage::BackMerged | IoStage::Absorbed);
        load.out.events.take().unwrap().iter().filter(merged).count()
    };
    assert_eq!(merges([FIRST, GroupId(2)]), 0);
    assert!(merges([FIRST, FIRST]) >= 6, "the control");
}
