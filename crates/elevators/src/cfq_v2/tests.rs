use super::*;
use crate::parts::testbed::{Disk, Job, Testbed};
use crate::parts::verb_driver::{VerbDriver, facts};

const FAR: u64 = 1 << 24;

fn driver(settings: Settings) -> VerbDriver<CfqV2> {
    VerbDriver::with(QueueFacts { depth: 64, ..facts() }, settings)
}

/// Dispatches one round and returns its requests.
fn round(driver: &mut VerbDriver<CfqV2>) -> Vec<RequestId> {
    let mut round: Vec<RequestId> = driver.dispatch().into_iter().collect();
    while !driver.elevator().chosen.is_empty() {
        round.extend(driver.dispatch());
    }
    round
}

fn by_submitter(driver: &VerbDriver<CfqV2>, round: &[RequestId], submitter: u32) -> usize {
    round.iter().filter(|request| driver.requests()[**request].submitter == Submitter(submitter)).count()
}

#[test]
fn a_round_ends_after_the_pass_that_reaches_the_quantum() {
    // T-CFQ2-1
    let of_round = |queues: u32| {
        let mut driver = driver(Settings::default());
        for n in 0..queues {
            (0..8).for_each(|k| _ = driver.insert(Io::read(Submitter(n), u64::from(n) * FAR + k * 800, 8)));
        }
        round(&mut driver).len()
    };
    assert_eq!([1, 2, 3, 5, 10].map(of_round), [4, 4, 6, 5, 10]);
}

#[test]
fn the_first_pass_leaves_out_who_has_requests_in_flight() {
    let mut driver = driver(Settings { quantum: 1, ..Settings::default() });
    (0..3).for_each(|k| _ = driver.insert(Io::read(Submitter(0), k * 800, 8)));
    assert_eq!(round(&mut driver).len(), 1);
    let other = driver.insert(Io::read(Submitter(1), FAR, 8));
    assert_eq!(round(&mut driver), [other]);
}

#[test]
fn two_readers_on_a_tagged_device_differ_by_one_request_a_round_at_most() {
    // T-CFQ2-2
    let mut driver = driver(Settings { quantum: 5, ..Settings::default() });
    for k in 0..60 {
        driver.insert(Io::read(Submitter(0), k * 800, 8));
        driver.insert(Io::read(Submitter(1), FAR + k * 800, 8));
    }
    let mut rounds = 0;
    loop {
        let round = round(&mut driver);
        if round.is_empty() {
            break;
        }
        let [first, second] = [0, 1].map(|submitter| by_submitter(&driver, &round, submitter));
        assert!(first.abs_diff(second) <= 1, "{first} and {second}");
        round.into_iter().for_each(|request| driver.complete(request));
        rounds += 1;
    }
    assert!(driver.elevator().is_tagged && rounds == 20);
    let used = [0, 1].map(|index: usize| driver.elevator().queues[index].service_used);
    // The requests of the rounds since the device counts as tagged, one request of the first round included.
    assert_eq!(used.iter().sum::<u64>(), 116);
}

#[test]
fn a_device_counts_as_tagged_once_it_has_had_four_requests() {
    let mut driver = driver(Settings::default());
    (0..8).for_each(|k| _ = driver.insert(Io::read(Submitter(0), k * 800, 8)));
    let three: Vec<_> = (0..3).filter_map(|_| driver.dispatch()).collect();
    assert!(!driver.elevator().is_tagged);
    driver.dispatch();
    three.into_iter().for_each(|request| driver.complete(request));
    assert!(driver.elevator().is_tagged);
}

#[test]
fn untagged_service_is_time_and_an_eighth_of_it_counts_after_a_second() {
    let mut driver = VerbDriver::<CfqV2>::new(Settings::default());
    let mut serve = |ms| {
        let read = driver.insert(Io::read(Submitter(0), 0, 8));
        assert_eq!(driver.dispatch(), Some(read));
        driver.pass(Span::from_ms(ms));
        driver.complete(read);
        driver.elevator().queues[0].service_used
    };
    assert_eq!([serve(400), serve(600), serve(80)], [400, 1000, 205]);
}

#[test]
fn the_limit_of_a_queue_is_its_part_of_all_slots_between_8_and_64() {
    // T-CFQ2-3
    let allowed_beside = |busy: u32| {
        let mut driver = driver(Settings::default());
        (1..busy).for_each(|n| _ = driver.insert(Io::read(Submitter(n), u64::from(n) * 800, 8)));
        let mut has = 0;
        loop {
            let io = Io::read(Submitter(0), FAR + has * 8, 8);
            let used = u32::try_from(has).expect("few");
            match driver.call(|elevator, cx| elevator.may_allocate(cx, &io, used)) {
                Allocate::Wait => return has,
                Allocate::Shallow(_) => unreachable!("it is of blk-mq"),
                Allocate::Always => assert!(has < 8),
                Allocate::AsUsual => assert!(has == 0 || has >= 8),
            }
            driver.insert(io);
            has += 1;
        }
    };
    assert_eq!([1, 2, 32, 200].map(allowed_beside), [64, 64, 32, 8]);
    assert_eq!(CfqV2::requests(&Settings::default(), &facts()), 1024);
}

#[test]
fn a_queue_may_have_more_after_a_completion() {
    let mut driver = driver(Settings::default());
    (0..64).for_each(|k| _ = driver.insert(Io::read(Submitter(0), k * 8, 8)));
    let io = Io::read(Submitter(0), FAR, 8);
    assert_eq!(driver.call(|elevator, cx| elevator.may_allocate(cx, &io, 64)), Allocate::Wait);
    let first = driver.dispatch().expect("work");
    driver.complete(first);
    assert_eq!(driver.call(|elevator, cx| elevator.may_allocate(cx, &io, 63)), Allocate::AsUsual);
}

#[test]
fn expired_requests_go_first_at_most_8_times_a_second_for_each_queue() {
    // T-CFQ2-4
    let settings = Settings { fifo_expiry: Expiry::AsDocumented, quantum: 1, ..Settings::default() };
    let mut driver = VerbDriver::<CfqV2>::new(settings);
    // Scattered, so that the oldest is seldom the best.
    (0..401).for_each(|k| _ = driver.insert(Io::read(Submitter(0), k * 37 % 401 * 80, 8)));
    driver.pass(Span::from_s(1));
    let (mut rescued, mut last) = (0, None);
    for _ in 0..200 {
        let oldest = driver.elevator().queues[0].arrivals[1].oldest();
        let before = driver.elevator().queues[0].rescued;
        let request = driver.dispatch();
        if driver.elevator().queues[0].rescued != before {
            assert_eq!(request, oldest);
            rescued += 1;
            assert!(last.is_none_or(|last| driver.now().since(last) >= Span::from_ms(125)));
            last = Some(driver.now());
        }
        driver.complete(request.expect("work"));
        driver.pass(Span::from_ms(5));
    }
    assert_eq!(rescued, 8, "in one second");
}

#[test]
fn as_written_the_two_ages_are_exchanged() {
    let goes_first = |fifo_expiry, io: fn(Submitter, u64, u32) -> Io| {
        let mut driver = driver(Settings { fifo_expiry, ..Settings::default() });
        let old = driver.insert(io(Submitter(0), FAR, 8));
        driver.pass(Span::from_ms(600));
        driver.insert(io(Submitter(0), 0, 8));
        driver.call(|elevator, cx| elevator.pick(cx, 0)) == old
    };
    assert!(goes_first(Expiry::AsWritten, Io::write) && !goes_first(Expiry::AsWritten, Io::sync_write));
    assert!(goes_first(Expiry::AsDocumented, Io::sync_write) && !goes_first(Expiry::AsDocumented, Io::write));
}

#[test]
fn a_round_ascends_from_the_last_sector() {
    // T-CFQ2-5
    let mut driver = driver(Settings::default());
    let mut rng = Seed(7).rng();
    for n in 0..6 {
        (0..10).for_each(|_| _ = driver.insert(Io::read(Submitter(n), rng.below(1 << 20) * 8, 8)));
    }
    let mut last = 0;
    for _ in 0..10 {
        let order: Vec<u64> = round(&mut driver).iter().map(|request| driver.requests()[*request].sector).collect();
        assert_eq!(order.len(), 6);
        assert!(order.is_sorted_by_key(|sector| (*sector < last, *sector)), "{order:?} from {last}");
        last = order[5] + 8;
    }
}

#[test]
fn without_find_best_crq_the_lowest_sector_is_next() {
    let first = |find_best_crq| {
        let mut driver = driver(Settings { find_best_crq, quantum: 1, ..Settings::default() });
        let read = driver.insert(Io::read(Submitter(0), FAR, 8));
        assert_eq!(driver.dispatch(), Some(read));
        driver.insert(Io::read(Submitter(0), FAR + 800, 8));
        driver.insert(Io::read(Submitter(0), 8, 8));
        driver.complete(read);
        driver.dispatch().map(|next| driver.requests()[next].sector)
    };
    assert_eq!((first(true), first(false)), (Some(FAR + 800), Some(8)));
}

#[test]
fn a_process_that_got_less_service_comes_first() {
    let mut driver = VerbDriver::<CfqV2>::new(Settings { quantum: 1, ..Settings::default() });
    let heavy = driver.insert(Io::read(Submitter(0), 0, 8));
    driver.dispatch();
    driver.pass(Span::from_ms(50));
    driver.complete(heavy);
    driver.insert(Io::read(Submitter(0), 8, 8));
    driver.insert(Io::read(Submitter(1), FAR, 8));
    assert_eq!(driver.elevator().busy.first(), Some(1));
    driver.call(|elevator, cx| elevator.exit(cx, Submitter(0)));
    driver.insert(Io::read(Submitter(0), 16, 8));
    assert_eq!(driver.elevator().queues[0].service_used, 0, "the number belongs to a new process");
}

#[test]
fn two_synchronous_sequential_readers_seek_at_each_request() {
    // The weakness that section 6 ends with.
    let mut bed = Testbed::<CfqV2>::new(facts(), Settings::default(), Disk::default());
    let readers = [0, 1].map(|n| bed.add(Job::reader(Submitter(n), u64::from(n) * FAR, Span::from_us(500))));
    bed.run(Span::from_s(5));
    assert!(bed.seeks() + 1 >= bed.log.len());
    let [first, second] = readers.map(|reader| bed.done(reader).requests);
    assert!(first.abs_diff(second) <= 1);
}
