//! Throughput of competing processes: closed loops on the test host.

use super::{best_effort, fair};
use crate::parts::verb_driver::facts;
use crate::bfq::raising::Kind;
use crate::bfq::{Bfq, Settings, queue};
use crate::parts::testbed::{Disk, Job, Pace, Testbed};
use goodness_core::{IoClass, IoPriority, QueueFacts, Span, Submitter, Time};

const NO_THINK: Span = Span::from_us(100);

fn bed(settings: Settings) -> Testbed<Bfq> {
    Testbed::new(QueueFacts { requests: 256, ..facts() }, settings, Disk::default())
}

/// A process reading its own region sequentially.
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
    // T-BFQ-4. Those that begin together keep their own queues: it is their weights that are asked for.
    for greedy in [1, 3] {
        let mut bed = bed(Settings { stable_merge: false, ..Settings::default() });
        let others: Vec<usize> = (0..greedy).map(|number| bed.add(reader(number))).collect();
        let start = Time(60_000_000_000);
        let new = bed.add(Job { start, ..reader(9) });
        bed.run(Span::from_ms(61_500));
        assert_eq!(bed.driver.elevator().queues.iter().filter(|queue| queue.raise.is_raised()).count(), 1);
        let got = bed.done_since(new, start).sectors;
        let rest: u64 = others.iter().map(|job| bed.done_since(*job, start).sectors).sum();
        let (share, expected) = (1000 * got / (got + rest), 1000 * 30 / (30 + u64::from(greedy)));
        assert!(share.abs_diff(expected) <= 30, "{share} of 1000, not {expected}");
        while bed.driver.elevator().queues[queue::SHARED as usize + 9].raise.is_raised() {
            bed.run(Span::from_ms(10));
        }
        let got = bed.done(new).sectors;
        assert!((120_000..121_024).contains(&got), "{got}");
        let end = bed.driver.now();
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
            seen = seen.max(bed.driver.in_flight());
        }
        assert!(if strict { seen == deepest } else { seen >= deepest }, "{seen}");
    }
}

#[test]
fn two_equal_sequential_readers_take_turns_of_up_to_125_ms() {
    let mut bed = bed(fair());
    let readers = [0, 1].map(|number| bed.add(reader(number)));
    bed.run(Span::from_s(20));
    let [first, second] = readers.map(|job| bed.done(job).sectors);
    assert!((45..=55).contains(&(100 * first / (first + second))), "{first} : {second}");
    assert!((150..=250).contains(&bed.switches()), "{} in 20 s", bed.switches());
    assert_eq!(bed.seeks(), bed.switches() + usize::from(bed.log[0].seek));
}

#[test]
fn the_device_is_never_kept_idle_longer_than_8_ms_and_not_at_all_where_slice_idle_is_0() {
    for (idle, longest) in [(8, 8), (0, 0)] {
        let mut bed = bed(Settings { slice_idle: Span::from_ms(idle), ..fair() });
        bed.add(Job { pace: Pace::Think(Span::from_ms(30)), ..reader(0) });
        bed.add(Job::writer(Submitter(1), 1 << 30, 4));
        bed.run(Span::from_s(5));
        let pause = bed.pauses().map(|(pause, _)| pause).max().expect("more than one request was served");
        assert_eq!(pause, Span::from_ms(longest));
    }
}

#[test]
fn a_random_reader_pays_for_time_once_the_disk_is_known_to_have_no_queue() {
    let mut bed = bed(Settings { max_budget: 12_000, ..fair() });
    bed.add(Job { count: 200, ..Job::writer(Submitter(2), 1 << 30, 32) });
    let sequential = bed.add(reader(0));
    let random = bed.add(Job::random_reader(Submitter(1), 1 << 28, 1 << 29));
    bed.run(Span::from_s(30));
    assert!(!bed.driver.elevator().queueing.is_queueing());
    let [sequential, random] = [sequential, random].map(|job| bed.done_since(job, Time(10_000_000_000)));
    assert!(sequential.sectors > 50 * random.sectors);
    let share = 100 * random.busy.0 / (random.busy.0 + sequential.busy.0);
    assert!((40..=60).contains(&share), "{share} % of the time");
}

#[test]
fn real_time_precedes_best_effort_and_idle_gets_a_request_each_200_ms() {
    let mut bed = bed(fair());
    let class = |class| IoPriority { class, level: 4 };
    let deep = |job| Job { outstanding: 4, ..job };
    let real_time = bed.add(deep(reader(0)).with_priority(class(IoClass::RealTime)));
    let usual = bed.add(deep(reader(1)));
    let idle = bed.add(deep(reader(2)).with_priority(class(IoClass::Idle)));
    bed.run(Span::from_s(10));
    assert!(bed.done(real_time).requests > 1000);
    assert_eq!(bed.done(usual).requests, 0);
    assert!((30..=50).contains(&bed.done(idle).requests), "{}", bed.done(idle).requests);
}

#[test]
fn a_player_beside_greedy_readers_is_soft_real_time_and_never_waits_long() {
    let mut latency = [true, false].map(|low_latency| {
        let mut bed = bed(Settings { low_latency, ..Settings::default() });
        for number in 0..3 {
            bed.add(reader(number));
        }
        // 128 sectors each 100 ms: 1280 sectors a second.
        let player = Job { pace: Pace::Every(Span::from_ms(100)), start: Time(20_000_000_000), ..reader(7) };
        let player = bed.add(player);
        bed.run(Span::from_s(60));
        let raise = bed.driver.elevator().queues[queue::SHARED as usize + 7].raise;
        assert_eq!(raise.kind(), low_latency.then_some(Kind::SoftRealTime));
        let late = bed.log.iter().filter(|served| served.job == player && served.submitted > Time(40_000_000_000));
        late.map(|served| served.completed.since(served.submitted)).max().expect("it plays")
    });
    latency[1].0 /= 4;
    assert!(latency[0] < latency[1], "{latency:?}");
    assert!(latency[0] < Span::from_ms(40), "{latency:?}");
}

#[test]
fn a_ninth_process_of_a_burst_is_not_raised_and_a_lone_one_is() {
    for (processes, raised) in [(7, 7), (8, 0), (9, 0)] {
        let mut bed = bed(Settings { stable_merge: false, ..Settings::default() });
        for number in 0..processes {
            bed.add(Job { start: Time(u64::from(number) * 100_000_000), ..reader(number) });
        }
        bed.run(Span::from_ms(1000));
        let count = bed.driver.elevator().queues.iter().filter(|queue| queue.raise.is_raised()).count();
        assert_eq!(count, raised, "{processes} processes");
    }
}

#[test]
fn a_chosen_priority_is_not_raised() {
    let mut bed = bed(Settings::default());
    bed.add(reader(0).with_priority(best_effort(3)));
    bed.run(Span::from_ms(100));
    assert!(bed.driver.elevator().queues.iter().all(|queue| !queue.raise.is_raised()));
}

#[test]
fn the_largest_budget_becomes_what_the_disk_reads_in_125_ms() {
    let mut bed = bed(fair());
    bed.add(Job { outstanding: 4, ..reader(0) });
    bed.run(Span::from_s(60));
    let max = bed.driver.elevator().bounds.max();
    assert!((12_000..=12_600).contains(&max), "{max}: the disk reads 12 500");
}

#[test]
fn a_process_that_exits_is_waited_for_no_longer() {
    let mut bed = bed(fair());
    let last = bed.add(Job { count: 20, ..reader(0) });
    let other = bed.add(Job { outstanding: 2, ..reader(1) });
    bed.run(Span::from_s(2));
    assert_eq!(bed.done(last).requests, 20);
    let end = bed.log.iter().rposition(|served| served.job == last).expect("it was served");
    let next = bed.log[end + 1];
    assert_eq!((next.job, next.begun), (other, bed.log[end].completed));
}


#[test]
fn on_flash_the_heavier_of_two_closed_loops_gets_its_share_at_least() {
    let facts = QueueFacts { depth: 32, rotational: false, requests: 256, ..facts() };
    let mut bed = Testbed::<Bfq>::new(facts, fair(), Disk { seek: Span::ZERO, transfer: Span::from_us(1) });
    let pace = Pace::Think(Span::from_us(10));
    let heavy = bed.add(Job { pace, ..reader(0).with_priority(best_effort(0)) });
    let light = bed.add(Job { pace, ..reader(1).with_priority(best_effort(7)) });
    bed.run(Span::from_s(10));
    let (heavy, light) = (bed.done(heavy).sectors, bed.done(light).sectors);
    assert!(heavy >= 8 * light && light > 0, "{heavy} : {light}");
}

#[test]
fn random_readers_that_began_together_on_a_disk_that_queues_share_a_queue_after_600_ms() {
    let facts = QueueFacts { depth: 32, rotational: true, requests: 256, ..facts() };
    let mut bed = Testbed::<Bfq>::new(facts, fair(), Disk { seek: Span::from_us(100), transfer: Span::from_us(1) });
    for (number, outstanding) in [(0, 8), (1, 24)] {
        bed.add(Job { outstanding, ..Job::random_reader(Submitter(number), 0, 1 << 20) });
    }
    let queues = |bed: &Testbed<Bfq>| [0, 1].map(|number| bed.driver.elevator().sharing.queue_of(Submitter(number)));
    bed.run(Span::from_ms(590));
    assert_ne!(queues(&bed)[0], queues(&bed)[1]);
    bed.run(Span::from_ms(100));
    assert_eq!(queues(&bed)[0], queues(&bed)[1]);
}

#[test]
fn a_queue_that_is_given_up_passes_its_raise_on() {
    let facts = QueueFacts { depth: 32, rotational: true, requests: 256, ..facts() };
    let disk = Disk { seek: Span::from_us(100), transfer: Span::from_us(1) };
    let mut bed = Testbed::<Bfq>::new(facts, Settings::default(), disk);
    for number in [0, 1] {
        bed.add(Job { outstanding: 16, ..Job::random_reader(Submitter(number), 0, 1 << 20) });
    }
    let raised = |bed: &Testbed<Bfq>| {
        [0, 1].map(|number| bed.driver.elevator().queues[queue::SHARED as usize + number].raise.is_raised())
    };
    bed.run(Span::from_ms(590));
    assert_eq!(raised(&bed), [true, true]);
    bed.run(Span::from_ms(100));
    assert_eq!(raised(&bed), [true, false], "nothing raised is left behind");
}
