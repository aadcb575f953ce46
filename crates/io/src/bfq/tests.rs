use super::{Bfq, Settings};
use crate::bench::facts;
use crate::testbed::{Disk, Job, Testbed};
use goodness_core::{IoClass, IoPriority, QueueFacts, Span, Submitter, Time};

const NO_THINK: Span = Span::from_us(100);

fn bed(settings: Settings) -> Testbed<Bfq> {
    Testbed::new(QueueFacts { requests: 256, ..facts() }, settings, Disk::default())
}

fn fair() -> Settings {
    Settings { low_latency: false, ..Settings::default() }
}

fn best_effort(level: u8) -> IoPriority {
    IoPriority { class: IoClass::BestEffort, level }
}

/// A sequential reader of its own region.
fn reader(number: u32) -> Job {
    Job::reader(Submitter(number), u64::from(number) << 24, NO_THINK)
}

#[test]
fn readers_of_level_0_and_7_share_sectors_8_to_1() {
    // T-BFQ-1
    let mut bed = bed(fair());
    let heavy = bed.add(reader(0).with_priority(best_effort(0)));
    let light = bed.add(reader(1).with_priority(best_effort(7)));
    bed.run(Span::from_s(60));
    let since = Time(10_000_000_000);
    let (heavy, light) = (bed.done_since(heavy, since).sectors, bed.done_since(light, since).sectors);
    assert!((72 * light..=88 * light).contains(&(10 * heavy)), "{heavy} : {light}");
}

#[test]
fn a_reader_gets_three_sectors_for_one_that_nobody_waits_for() {
    // T-BFQ-2
    let mut bed = bed(fair());
    let reads = bed.add(reader(0));
    let writes = bed.add(Job::writer(Submitter(1), 1 << 30, 32));
    bed.run(Span::from_s(60));
    let since = Time(10_000_000_000);
    let (reads, writes) = (bed.done_since(reads, since).sectors, bed.done_since(writes, since).sectors);
    assert!((27 * writes..=33 * writes).contains(&(10 * reads)), "{reads} : {writes}");
}

#[test]
fn a_new_reader_weighs_30_until_it_has_read_120_000_sectors() {
    // T-BFQ-4
    for greedy in [1, 3] {
        let mut bed = bed(Settings::default());
        let others: Vec<usize> = (0..greedy).map(|number| bed.add(reader(number))).collect();
        let start = Time(60_000_000_000);
        let new = bed.add(Job { start, ..reader(9) });
        bed.run(Span::from_ms(61_500));
        assert_eq!(bed.bench.elevator.queues.iter().filter(|queue| queue.raise.is_raised()).count(), 1);
        let got = bed.done_since(new, start).sectors;
        let rest: u64 = others.iter().map(|job| bed.done_since(*job, start).sectors).sum();
        let (share, expected) = (1000 * got / (got + rest), 1000 * 30 / (30 + u64::from(greedy)));
        assert!(share.abs_diff(expected) <= 30, "{share} of 1000, not {expected}");
        while bed.bench.elevator.queues[super::queue::SHARED as usize + 9].raise.is_raised() {
            bed.run(Span::from_ms(10));
        }
        let got = bed.done(new).sectors;
        assert!((120_000..121_024).contains(&got), "{got}");
        let end = bed.bench.now;
        bed.run(Span::from_s(30));
        let got = bed.done_since(new, end).sectors;
        let rest: u64 = others.iter().map(|job| bed.done_since(*job, end).sectors).sum();
        assert!((1000 * got / (got + rest)).abs_diff(1000 / (u64::from(greedy) + 1)) <= 50);
    }
}

#[test]
fn under_strict_guarantees_the_device_has_one_request_at_most() {
    // T-BFQ-6
    for (strict, deepest) in [(true, 1), (false, 16)] {
        let settings = Settings { strict_guarantees: strict, ..Settings::default() };
        let facts = QueueFacts { depth: 32, requests: 64, ..facts() };
        let mut bed = Testbed::<Bfq>::new(facts, settings, Disk::default());
        bed.add(Job::writer(Submitter(0), 0, 16));
        bed.add(Job { outstanding: 16, ..Job::random_reader(Submitter(1), 1 << 24, 1 << 25) });
        let mut seen = 0;
        for _ in 0..20_000 {
            bed.run(Span::from_us(100));
            seen = seen.max(bed.bench.in_flight);
        }
        assert!(if strict { seen == deepest } else { seen >= deepest }, "{seen}");
    }
}
