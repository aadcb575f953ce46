use super::*;
use crate::deadline::{self, Deadline};
use crate::parts::testbed::{Disk, Job, Served, Testbed};
use crate::parts::verb_driver::{VerbDriver, facts};
use goodness_core::{Operation, Tunables};

const FAR: u64 = 1 << 28;

fn bed(settings: Settings) -> Testbed<Anticipatory> {
    Testbed::new(facts(), settings, Disk::default())
}

fn without_anticipation() -> Settings {
    Settings { antic_expire: Some(Span::ZERO), ..Settings::default() }
}

/// Two sequential readers far apart.
fn two_readers(settings: Settings, think: Span) -> Testbed<Anticipatory> {
    let mut bed = bed(settings);
    bed.add(Job::reader(Submitter(0), 0, think));
    bed.add(Job::reader(Submitter(1), FAR, think));
    bed.run(Span::from_s(10));
    bed
}

#[test]
fn two_sequential_readers_change_places_when_a_read_expires_and_not_at_each_request() {
    // T-AS-2: read_expire is 125 ms, hence about 8 changes a second at most. The oldest read is looked at once in 125
    // ms, and a moment after a change it is not older than that: every second look finds it expired, which makes 4.
    let bed = two_readers(Settings::default(), Span::from_us(500));
    let in_ten_seconds = bed.switches();
    assert!((38..=42).contains(&in_ten_seconds), "{in_ten_seconds} changes in 10 s");
    assert_eq!(bed.seeks(), bed.switches());
    let [first, second] = [0, 1].map(|job| bed.done(job).sectors);
    assert!(first.abs_diff(second) * 20 <= first + second, "{first} and {second} sectors");
    // The purpose of anticipation: without it the disk seeks at each request.
    let without = two_readers(without_anticipation(), Span::from_us(500));
    assert!(without.seeks() + 1 >= without.log.len());
    assert!(bed.log.len() > 3 * without.log.len());
}

#[test]
fn who_thinks_longer_than_antic_expire_is_waited_for_at_most_six_times() {
    // T-AS-3
    let bed = two_readers(Settings::default(), Span::from_ms(10));
    let held: Vec<usize> = held(&bed.log).collect();
    assert!(held.iter().all(|at| *at < 12), "the disk was held at requests {held:?}");
    let without = two_readers(without_anticipation(), Span::from_ms(10));
    assert!(bed.log.len().abs_diff(without.log.len()) * 100 <= 3 * without.log.len());
}

/// Positions at which the disk idled although a request was waiting.
fn held(log: &[Served]) -> impl Iterator<Item = usize> + '_ {
    (1..log.len()).filter(|at| log[*at].begun > log[at - 1].completed.max(log[*at].submitted))
}

#[test]
fn at_hz_250_a_process_with_one_or_two_samples_is_not_waited_for() {
    // T-AS-1: the means of the first samples are 4, 2 and 1 jiffies; antic_expire is 1.
    let facts = QueueFacts { hz: 250, ..facts() };
    let mut driver = VerbDriver::<Anticipatory>::with(facts, Settings::default());
    let mut is_held = Vec::new();
    for n in 0..4 {
        let read = driver.insert(Io::read(Submitter(0), n * 8, 8));
        assert_eq!(driver.dispatch(), Some(read));
        let other = driver.insert(Io::write(Submitter(1), FAR + n * 8, 8));
        driver.complete(read);
        is_held.push(driver.dispatch().map(|other| driver.complete(other)).is_none());
        if is_held[n as usize] {
            driver.pass(Span::from_ms(4));
            assert_eq!(driver.dispatch(), Some(other));
            driver.complete(other);
        }
    }
    assert_eq!(is_held, [true, false, false, true]);
}

#[test]
fn reads_and_writes_of_two_batches_are_never_in_the_disk_together() {
    // T-AS-4
    for settings in [Settings::default(), without_anticipation()] {
        let mut bed = Testbed::<Anticipatory>::new(QueueFacts { depth: 8, ..facts() }, settings, Disk::default());
        bed.add(Job::writer(Submitter(0), 0, 64));
        for n in 1..4 {
            bed.add(Job::reader(Submitter(n), u64::from(n) * FAR, Span::from_us(300)));
        }
        bed.run(Span::from_s(10));
        let changes = bed.log.windows(2).filter(|pair| pair[0].op != pair[1].op);
        assert!(changes.clone().count() > 10);
        changes.for_each(|pair| assert!(pair[1].issued >= pair[0].completed, "{pair:?}"));
        assert!(
            bed.log.windows(2).any(|pair| pair[1].issued < pair[0].completed),
            "the queue of the disk was not \
            used"
        );
    }
}

#[test]
fn a_lone_random_reader_loses_nothing() {
    // T-AS-5
    let mut bed = bed(Settings::default());
    let reader = bed.add(Job::random_reader(Submitter(0), 0, FAR));
    bed.run(Span::from_s(10));
    let mut plain = Testbed::<Deadline>::new(facts(), deadline::Settings::default(), Disk::default());
    let reference = plain.add(Job::random_reader(Submitter(0), 0, FAR));
    plain.run(Span::from_s(10));
    assert_eq!(bed.done(reader), plain.done(reference));
}

#[test]
fn between_two_random_readers_the_disk_is_never_held_longer_than_antic_expire_and_a_jiffy() {
    // T-AS-5
    let mut bed = bed(Settings::default());
    bed.add(Job::random_reader(Submitter(0), 0, FAR));
    let pace = crate::parts::testbed::Pace::Think(Span::from_ms(5));
    let slow = Job { pace, ..Job::random_reader(Submitter(1), FAR, 2 * FAR) };
    bed.add(slow);
    bed.run(Span::from_s(20));
    let switches = bed.pauses().zip(bed.log.windows(2)).filter(|(_, pair)| pair[0].job != pair[1].job);
    let longest = switches.map(|((pause, _), _)| pause).max().expect("both are served");
    assert!(longest > Span::ZERO, "nobody was waited for");
    assert!(longest <= Span::from_ms(7), "{longest}");
}

#[test]
fn a_flood_of_writes_leaves_a_synchronous_reader_four_fifths_of_the_time() {
    // T-AS-6
    let mut bed = bed(Settings::default());
    bed.add(Job::writer(Submitter(0), FAR, 64));
    let reader = bed.add(Job::reader(Submitter(1), 0, Span::from_us(500)));
    bed.run(Span::from_s(30));
    let tuned: Vec<&Served> = bed.log.iter().filter(|served| served.completed >= Time(10_000_000_000)).collect();
    // The time of a read is that since the request before it completed: thinking is part of the batch.
    let of_reader = tuned.windows(2).filter(|pair| pair[1].job == reader);
    let read: u64 = of_reader.map(|pair| pair[1].completed.since(pair[0].completed).0).sum();
    let all = tuned[tuned.len() - 1].completed.since(tuned[0].completed).0;
    assert!(read * 100 >= all * 80, "{} %", read * 100 / all);
    assert!(read * 100 <= all * 90, "the writes get their batches: {} %", read * 100 / all);
}

#[test]
fn the_defaults_follow_hz() {
    let jiffies = |hz| {
        let elevator = Anticipatory::new(&QueueFacts { hz, ..facts() }, Settings::default(), Seed(1));
        let [writes, reads] = elevator.kinds.each_ref().map(|kind| (kind.expire, kind.batch));
        (reads, writes, elevator.batch.writes)
    };
    assert_eq!(jiffies(1000), ((125, 500), (250, 125), 12));
    assert_eq!(jiffies(250), ((31, 125), (62, 31), 3));
    assert_eq!(jiffies(100), ((12, 50), (25, 12), 2));
    assert!(Settings::spec().iter().all(|tunable| tunable.default == "auto"));
}

#[test]
fn a_new_batch_of_reads_begins_at_the_oldest_read() {
    let mut driver = VerbDriver::<Anticipatory>::new(Settings::default());
    let write = driver.insert(Io::write(Submitter(0), 0, 8));
    assert_eq!(driver.dispatch(), Some(write));
    let oldest = driver.insert(Io::read(Submitter(1), 900, 8));
    driver.insert(Io::read(Submitter(2), 100, 8));
    assert_eq!(driver.dispatch(), None, "the write is under way");
    driver.complete(write);
    assert_eq!(driver.dispatch(), Some(oldest));
}

#[test]
fn an_expired_write_does_not_interrupt_a_batch_of_reads() {
    let mut driver = VerbDriver::<Anticipatory>::new(without_anticipation());
    driver.insert(Io::write(Submitter(0), 0, 8));
    let first = driver.insert(Io::read(Submitter(1), 100, 8));
    assert_eq!(driver.dispatch(), Some(first));
    driver.complete(first);
    driver.pass(Span::from_ms(300));
    let second = driver.insert(Io::read(Submitter(1), 200, 8));
    assert_eq!(driver.dispatch(), Some(second));
    driver.complete(second);
    driver.pass(Span::from_ms(300));
    driver.insert(Io::read(Submitter(1), 300, 8));
    let next = driver.dispatch().expect("the batch of reads is over after 500 ms");
    assert_eq!(driver.requests()[next].op, Operation::Write);
}

#[test]
fn a_write_of_the_anticipated_process_ends_the_wait_and_runs_the_queue() {
    let mut driver = VerbDriver::<Anticipatory>::new(Settings::default());
    let read = driver.insert(Io::read(Submitter(0), 0, 8));
    driver.dispatch();
    driver.insert(Io::read(Submitter(1), FAR, 8));
    driver.complete(read);
    assert_eq!((driver.dispatch(), driver.elevator().next_timer()), (None, Some(Time(6_000_000))));
    let stranger = driver.insert_told(Io::write(Submitter(2), 2 * FAR, 8)).1;
    let own = driver.insert_told(Io::write(Submitter(0), 3 * FAR, 8)).1;
    assert_eq!((stranger, own), (Run::WhenUnplugged, Run::Now));
    assert!(driver.dispatch().is_some());
}

#[test]
fn exits_that_nobody_followed_up_are_remembered() {
    let mut driver = VerbDriver::<Anticipatory>::new(Settings::default());
    let mut held = 0;
    for n in 0..12 {
        let read = driver.insert(Io::read(Submitter(n), 0, 8));
        assert_eq!(driver.dispatch(), Some(read));
        driver.insert(Io::write(Submitter(100), FAR, 8));
        driver.call(|elevator, cx| elevator.exit(cx, Submitter(n)));
        driver.complete(read);
        match driver.dispatch() {
            Some(write) => driver.complete(write),
            None => held += 1,
        }
        driver.pass(Span::from_ms(10));
        driver.drain();
    }
    // 256 (1 - (7/8)^k) exceeds 128 from the 6th on.
    assert_eq!(held, 6);
}

#[test]
fn of_two_requests_at_one_sector_the_older_goes_at_once() {
    let mut driver = VerbDriver::<Anticipatory>::new(Settings::default());
    driver.insert(Io::read(Submitter(0), FAR, 8));
    let older = driver.insert(Io::read(Submitter(1), 8, 8));
    driver.insert(Io::read(Submitter(2), 8, 8));
    assert_eq!(driver.dispatch(), Some(older));
    driver.complete(older);
    driver.pass(Span::from_ms(10));
    assert_eq!(driver.drain().len(), 1, "the next one is waited for");
    driver.pass(Span::from_ms(10));
    assert_eq!(driver.drain().len(), 1);
    assert!(!driver.elevator().has_work());
}

#[test]
fn a_merged_request_takes_the_earlier_place_and_counts_no_more() {
    let mut driver = VerbDriver::<Anticipatory>::new(without_anticipation());
    let first = driver.insert(Io::read(Submitter(0), 108, 8));
    let second = driver.insert(Io::read(Submitter(1), 100, 8));
    driver.absorb(second, first);
    assert_eq!(driver.elevator().kinds[SYNC].arrivals.oldest(), Some(second));
    driver.grow(second, Side::Front, 8);
    assert_eq!(driver.drain(), [92]);
    assert!(!driver.elevator().has_work());
}

#[test]
fn a_merge_that_pushes_an_alias_out_asks_for_a_dispatch() {
    let mut driver = VerbDriver::<Anticipatory>::new(Settings::default());
    let read = driver.insert(Io::read(Submitter(0), 0, 8));
    driver.dispatch();
    let older = driver.insert(Io::read(Submitter(1), FAR, 8));
    let younger = driver.insert(Io::read(Submitter(1), FAR + 8, 8));
    driver.complete(read);
    assert_eq!(driver.dispatch(), None, "process 0 is waited for");
    driver.grow(younger, Side::Front, 8);
    assert_eq!(driver.elevator().next_timer(), Some(driver.now()));
    driver.pass(Span::ZERO);
    assert_eq!((driver.dispatch(), driver.elevator().kick), (Some(older), None));
}

#[test]
fn at_hz_250_a_wait_ends_with_its_jiffy_which_is_too_early_for_one_request_in_eight() {
    // antic_expire is one jiffy of 4 ms, counted from the begin of the jiffy in which the read completed: a think time
    // of 0.5 ms crosses its end once in eight times.
    let mut bed = Testbed::<Anticipatory>::new(QueueFacts { hz: 250, ..facts() }, Settings::default(), Disk::default());
    bed.add(Job::reader(Submitter(0), 0, Span::from_us(500)));
    bed.add(Job::reader(Submitter(1), FAR, Span::from_us(500)));
    bed.run(Span::from_s(20));
    let (seeks, requests) = (bed.seeks(), bed.log.len());
    assert!((requests / 10..requests / 6).contains(&seeks), "{seeks} seeks for {requests} requests");
    let without_a_think_time = {
        let mut bed =
            Testbed::<Anticipatory>::new(QueueFacts { hz: 250, ..facts() }, Settings::default(), Disk::default());
        bed.add(Job::reader(Submitter(0), 0, Span::ZERO));
        bed.add(Job::reader(Submitter(1), FAR, Span::ZERO));
        bed.run(Span::from_s(20));
        bed.seeks()
    };
    assert!(without_a_think_time < 20 * 9, "{without_a_think_time} seeks");
}
