//! The device that takes the times of a sample.

mod rig;

use goodness_core::{Device, DeviceFacts, Operation, Request, RequestId, Seed, Span, Time};
use goodness_device::{Recorded, Service};
use rig::{Record, closed_loop, request};

const FACTS: DeviceFacts = DeviceFacts {
    sectors: 1 << 20,
    depth: 32,
    queues: 1,
    rotational: false,
    sectors_max: 2560,
    volatile_cache: false,
    age_limit: None,
};

fn seen(op: Operation, sectors: u32, is_sequential: bool, us: u64) -> Service {
    Service { op, sectors, is_sequential, span: Span::from_us(us) }
}

fn device(sample: &[Service], servers: u32) -> Recorded {
    Recorded::new(FACTS, servers, sample, Seed(1)).unwrap()
}

/// `count` copies of one request, one at a time.
fn times(device: &mut Recorded, count: u64, what: Request) -> Vec<u64> {
    let records = closed_loop(device, Time::ZERO, 1, |n| (n < count).then_some(what));
    records.iter().map(|r: &Record| r.latency().0 / 1000).collect()
}

#[test]
fn the_times_of_a_class_are_drawn_as_often_as_they_were_seen() {
    let read = |us| seen(Operation::Read, 8, false, us);
    let sample = [read(100), read(100), read(100), read(900), seen(Operation::Write, 8, false, 7)];
    let drawn = times(&mut device(&sample, 1), 40_000, request(Operation::Read, 64, 8));
    let slow = drawn.iter().filter(|us| **us == 900).count();
    assert!(drawn.iter().all(|us| [100, 900].contains(us)) && (9_700..10_300).contains(&slow), "{slow}");
}

#[test]
fn size_and_succession_part_the_classes_and_the_nearest_stands_in_for_an_empty_one() {
    let sample = [
        seen(Operation::Read, 8, false, 80),
        seen(Operation::Read, 8, true, 20),
        seen(Operation::Read, 256, false, 500),
        seen(Operation::Discard, 8, false, 3),
    ];
    let mut device = device(&sample, 1);
    let mut one = |op, sector, sectors| times(&mut device, 1, request(op, sector, sectors))[0];
    assert_eq!(one(Operation::Read, 0, 8), 80);
    assert_eq!(one(Operation::Read, 8, 8), 20, "it begins where the last one ended");
    assert_eq!(one(Operation::Read, 100, 200), 500, "200 sectors are rounded up to 256");
    assert_eq!(one(Operation::Read, 900, 16), 80, "16 lies nearer to 8 than to 256");
    assert_eq!(one(Operation::Write, 500, 8), 80, "no writes were seen: reads stand in");
    assert_eq!(one(Operation::Discard, 0, 64), 3);
    assert_eq!(one(Operation::Flush, 0, 0), 0, "no flushes were seen");
}

#[test]
fn one_server_serves_in_order_and_four_serve_four_at_a_time() {
    let sample = [seen(Operation::Read, 8, false, 100)];
    let took = |servers| {
        let records = closed_loop(&mut device(&sample, servers), Time::ZERO, 8, |n| {
            (n < 8).then(|| request(Operation::Read, n * 800, 8))
        });
        assert_eq!(records.len(), 8);
        records.last().unwrap().done
    };
    assert_eq!((took(1), took(4), took(8)), (Time(800_000), Time(200_000), Time(100_000)));
}

#[test]
fn a_sample_without_reads_and_writes_is_refused() {
    let error = |servers, sample: &[Service]| Recorded::new(FACTS, servers, sample, Seed(1)).err().unwrap();
    assert!(error(1, &[]).contains("none of the 0 requests"));
    assert!(error(1, &[seen(Operation::Flush, 0, false, 1)]).contains("is a read or a write"));
    assert!(error(0, &[seen(Operation::Read, 8, false, 1)]).contains("0 servers"));
}

#[test]
fn at_a_pace_all_that_is_under_way_is_late_together() {
    let sample = [seen(Operation::Read, 8, false, 100)];
    // 4 ms at the usual speed, 4 ms at a thousandth of it.
    let speeds = [[1000; 4], [1; 4]].concat();
    let mut device = device(&sample, 4).paced(Span::from_ms(1), speeds).unwrap();
    let what = |n| (n < 4000).then(|| request(Operation::Read, n * 800, 8));
    let records = closed_loop(&mut device, Time::ZERO, 4, what);
    let took: Vec<u64> = records.iter().map(|r: &Record| r.latency().0 / 1000).collect();
    // Each time the four that it catches take what is left of the stall; nothing else is slow.
    let slow: Vec<usize> = (0..took.len()).filter(|n| took[*n] > 100).collect();
    assert!(
        (4 * 20..=4 * 26).contains(&slow.len()) && slow.len().is_multiple_of(4),
        "{} of {}",
        slow.len(),
        took.len()
    );
    for four in slow.chunks(4) {
        assert_eq!(four[3], four[0] + 3, "one after the other: {slow:?}");
        assert!(four.iter().all(|n| took[*n] == took[four[0]]), "by the same");
    }
    assert!(took[slow[4]] > 3_000, "{}", took[slow[4]]);
}

#[test]
fn where_a_pace_begins_is_a_matter_of_the_seed() {
    let sample = [seen(Operation::Read, 8, false, 100)];
    let first = |seed| {
        let device = Recorded::new(FACTS, 1, &sample, Seed(seed)).unwrap();
        let mut device = device.paced(Span::from_ms(1), vec![1000, 500, 250, 125]).unwrap();
        times(&mut device, 1, request(Operation::Read, 0, 8))[0]
    };
    let mut seen: Vec<u64> = (0..40).map(first).collect();
    assert_eq!(seen, (0..40).map(first).collect::<Vec<u64>>());
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen, [100, 200, 400, 800]);
    let device = Recorded::new(FACTS, 1, &sample, Seed(1)).unwrap();
    assert!(device.paced(Span::from_ms(1), Vec::new()).err().unwrap().contains("0 windows"));
}

#[test]
fn a_shared_device_serves_a_few_at_full_speed_and_more_of_them_no_faster_in_all() {
    let sample = [seen(Operation::Read, 8, false, 100)];
    let took = |at_once: u32, depth| {
        let speeds = (1..=32).map(|n| 1000 * at_once.min(n) / n).collect();
        let mut device = device(&sample, 32).sharing(speeds).unwrap();
        let records = closed_loop(&mut device, Time::ZERO, depth, |n| (n < 24).then(|| request(Operation::Read, n, 8)));
        records.last().unwrap().done.0 / 1000
    };
    assert_eq!([took(2, 1), took(2, 2), took(2, 4), took(2, 8)], [2_400, 1_200, 1_200, 1_200]);
    assert_eq!([took(1, 8), took(8, 8), took(32, 8)], [2_400, 300, 300]);
    assert!(device(&sample, 1).sharing(vec![1000, 0]).unwrap_err().contains("2 commands have speed 0"));
}

#[test]
fn a_command_joined_by_another_slows_down_from_then_on() {
    let sample = [seen(Operation::Read, 8, false, 100)];
    let mut device = device(&sample, 32).sharing(vec![1000]).unwrap();
    let mut done = Vec::new();
    device.start(Time::ZERO, RequestId(0), &request(Operation::Read, 0, 8));
    device.start(Time(50_000), RequestId(1), &request(Operation::Read, 80, 8));
    // Half of the first is left, at half the speed; then the second has the device to itself.
    assert_eq!(device.next_event(), Time(150_000));
    device.advance(Time(150_000), &mut done);
    assert_eq!((&done[..], device.next_event()), (&[RequestId(0)][..], Time(200_000)));
}

#[test]
fn in_order_what_was_slow_together_stays_together() {
    let read = |us| seen(Operation::Read, 8, false, us);
    let sample: Vec<Service> = (1..=100).map(read).collect();
    let taken = |seed| -> Vec<u64> {
        let mut device = Recorded::new(FACTS, 1, &sample, Seed(seed)).unwrap().in_order(30);
        times(&mut device, 200, request(Operation::Read, 64, 8))
    };
    let first = taken(1);
    assert!(first.windows(2).all(|two| two[1] == two[0] % 100 + 1), "{first:?}");
    assert!(taken(1) == first && (2..6).any(|seed| taken(seed)[0] != first[0]));
    assert!((1..20).all(|seed| taken(seed)[0] <= 30));
}

#[test]
fn on_its_way_a_command_shares_nothing() {
    let sample = [seen(Operation::Read, 8, false, 100)];
    let mut device = device(&sample, 1).sharing(vec![1000]).unwrap().lagging(vec![Span::from_us(30)]);
    assert_eq!(times(&mut device, 3, request(Operation::Read, 0, 8)), [130, 130, 130]);
    let records = closed_loop(&mut device, Time(1_000_000), 2, |n| (n < 20).then(|| request(Operation::Read, n, 8)));
    let last = records.last().unwrap().done.0 / 1000 - 1000;
    assert!((2_000..=2_060).contains(&last), "the next is served meanwhile: {last}");
}
