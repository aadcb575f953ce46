use super::histogram::bucket;
use super::mean::{Status, balanced};
use super::{CURRENT, Kernel, Kyber, Settings};
use crate::parts::verb_driver::{VerbDriver, facts};
use goodness_core::{
    Allocate, Elevator, HwQueue, Io, Merges, Operation, QueueFacts, RequestId, Side, Span, Submitter, Time,
};

const READ: Io = Io::read(Submitter(0), 0, 8);
const WRITE: Io = Io::write(Submitter(0), 0, 8);
const SYNC_WRITE: Io = Io::sync_write(Submitter(0), 0, 8);
const DISCARD: Io = Io { op: Operation::Discard, ..WRITE };
const FLUSH: Io = Io { op: Operation::Flush, sectors: 0, ..SYNC_WRITE };

fn driver(kernel: Kernel) -> VerbDriver<Kyber> {
    let facts = QueueFacts { depth: 1024, cpus: 4, rotational: false, requests: 256, ..facts() };
    VerbDriver::with(facts, Settings { kernel, ..Settings::default() })
}

/// `count` requests like `io`, one by one, each for `wait` in the queue and `device` in the device.
fn run(driver: &mut VerbDriver<Kyber>, io: Io, count: usize, wait: Span, device: Span) {
    for _ in 0..count {
        let request = driver.insert(io);
        driver.requests_mut()[request].allocated = Time(driver.now().0.saturating_sub(wait.0));
        assert_eq!(driver.dispatch(), Some(request));
        driver.requests_mut()[request].issued = Time(driver.now().0.saturating_sub(device.0));
        driver.complete(request);
    }
}

fn depths(driver: &VerbDriver<Kyber>) -> Vec<u32> {
    driver.elevator().tokens.iter().map(|tokens| tokens.depth).collect()
}

/// A second in which the p99 of reads is in bucket `p99` and writes see a congested device; 500 of each.
fn congested(driver: &mut VerbDriver<Kyber>, p99: u64) {
    run(driver, READ, 500, Span::from_us(500 * p99 + 1), Span(1));
    run(driver, WRITE, 500, Span::from_ms(11), Span::from_ms(11));
    driver.pass(Span::from_ms(100));
}

#[test]
fn a_latency_of_exactly_a_quarter_of_the_target_is_in_the_first_bucket() {
    // T-KYB-5
    let target = Span::from_ms(2);
    assert_eq!([500_000, 500_001].map(|ns| bucket(Span(ns), target)), [0, 1]);
    assert_eq!([0, 2_000_000, 2_000_001, 60_000_000_000].map(|ns| bucket(Span(ns), target)), [0, 3, 4, 7]);
}

#[test]
fn congestion_scales_the_depth_of_reads_by_their_p99() {
    // T-KYB-1
    let mut driver = driver(Kernel::V4_20);
    driver.set_now(Time(20_000_000_000));
    for (p99, depth) in [(2, 192), (1, 96), (7, 192)] {
        congested(&mut driver, p99);
        assert_eq!(depths(&driver)[0], depth);
    }
    assert_eq!(depths(&driver)[1..], [128, 64, 16], "late writes keep all of theirs, other domains have no samples");
}

#[test]
fn without_congestion_domains_within_their_targets_are_never_throttled() {
    // T-KYB-2
    let mut driver = driver(Kernel::V4_20);
    driver.set_now(Time(20_000_000_000));
    congested(&mut driver, 1);
    assert_eq!(depths(&driver)[0], 128);
    for p99 in [0, 1, 2, 3] {
        run(&mut driver, READ, 500, Span::from_us(500 * p99 + 1), Span(1));
        driver.pass(Span::from_ms(100));
        assert_eq!(depths(&driver)[0], 128);
    }
}

#[test]
fn fewer_than_500_samples_decide_nothing_before_a_second_has_passed() {
    // T-KYB-3: reads late since allocation, in a domain that was throttled before
    for (samples, second_look, depth) in [(499, false, 128), (500, false, 256), (499, true, 256)] {
        let mut driver = driver(Kernel::V4_20);
        driver.set_now(Time(20_000_000_000));
        congested(&mut driver, 1);
        run(&mut driver, READ, samples, Span::from_ms(4), Span(1));
        driver.pass(Span::from_ms(900));
        if second_look {
            run(&mut driver, DISCARD, 1, Span(1), Span(1));
            driver.pass(Span::from_ms(101));
        }
        assert_eq!(depths(&driver)[0], depth, "{samples} samples");
    }
}

#[test]
fn a_percentile_waits_for_the_next_congestion_and_serves_once() {
    let mut driver = driver(Kernel::V4_20);
    driver.set_now(Time(20_000_000_000));
    run(&mut driver, READ, 500, Span::from_us(1_001), Span(1));
    driver.pass(Span::from_ms(100));
    assert_eq!(depths(&driver)[0], 256);
    for _ in 0..2 {
        run(&mut driver, WRITE, 500, Span::from_ms(11), Span::from_ms(11));
        driver.pass(Span::from_ms(100));
        assert_eq!(depths(&driver)[0], 192);
    }
}

#[test]
fn a_depth_stays_between_one_and_the_table() {
    let mut driver = driver(Kernel::V4_20);
    driver.set_now(Time(20_000_000_000));
    for _ in 0..6 {
        congested(&mut driver, 0);
    }
    assert_eq!(depths(&driver)[0], 1);
    for _ in 0..12 {
        congested(&mut driver, 7);
    }
    assert_eq!(depths(&driver)[0], 256);
}

#[test]
fn the_first_decision_follows_the_first_completion_by_100_ms() {
    let mut driver = driver(Kernel::V4_20);
    assert_eq!(driver.elevator().next_timer(), None);
    driver.pass(Span::from_ms(7));
    run(&mut driver, READ, 1, Span(1), Span(1));
    driver.pass(Span::from_ms(1));
    run(&mut driver, READ, 1, Span(1), Span(1));
    assert_eq!(driver.elevator().next_timer(), Some(Time(107_000_000)));
    driver.pass(Span::from_ms(200));
    assert_eq!(driver.elevator().next_timer(), None);
}

fn letters(driver: &mut VerbDriver<Kyber>, count: usize) -> String {
    let name = |driver: &VerbDriver<Kyber>, id: RequestId| match driver.requests()[id].op {
        Operation::Read => 'r',
        Operation::Write if driver.requests()[id].sync => 's',
        Operation::Write => 'w',
        Operation::Discard => 'd',
        Operation::Flush => 'f',
    };
    (0..count).map_while(|_| driver.dispatch().map(|id| name(driver, id))).collect()
}

#[test]
fn with_a_backlog_everywhere_domains_alternate_by_their_batches() {
    // T-KYB-4
    let mut driver = driver(Kernel::V4_20);
    for io in [READ, WRITE, DISCARD, FLUSH] {
        (0..40).for_each(|_| _ = driver.insert(io));
    }
    let round = "rrrrrrrrrrrrrrrrwwwwwwwwdf";
    assert_eq!(letters(&mut driver, 52), [round, round].concat());
}

#[test]
fn the_old_form_knows_reads_synchronous_writes_and_others() {
    let mut driver = driver(Kernel::V4_12);
    for io in [READ, SYNC_WRITE, DISCARD, WRITE] {
        (0..17).for_each(|_| _ = driver.insert(io));
    }
    assert_eq!(letters(&mut driver, 40), "rrrrrrrrrrrrrrrrssssssssddddddddrsssssss");
}

#[test]
fn a_domain_without_tokens_waits_until_a_request_completes_and_others_go_on() {
    let mut driver = driver(Kernel::V4_20);
    (0..18).for_each(|_| _ = driver.insert(FLUSH));
    let flushes: Vec<_> = std::iter::from_fn(|| driver.dispatch()).collect();
    assert_eq!(flushes.len(), CURRENT[3].tokens as usize);
    let read = driver.insert(READ);
    assert_eq!(driver.dispatch(), Some(read));
    assert_eq!(driver.dispatch(), None);
    assert!(driver.elevator().has_work());
    driver.complete(flushes[3]);
    assert!(driver.dispatch().is_some());
    assert_eq!(driver.dispatch(), None);
}

#[test]
fn each_hardware_queue_has_its_own_turn_and_serves_its_cpus_in_order() {
    let facts = QueueFacts { depth: 64, queues: 2, cpus: 4, ..facts() };
    let mut driver = VerbDriver::<Kyber>::with(facts, Settings::default());
    let mut insert = |cpu: u16, io: Io| {
        let request = driver.insert(Io { cpu, mergeable: false, ..io });
        driver.call(|elevator, cx| elevator.remove(cx, request));
        driver.requests_mut()[request].queue = HwQueue(cpu / 2);
        _ = driver.call(|elevator, cx| elevator.insert(cx, request));
        request
    };
    let [a, b, c, d] = [(3, READ), (1, READ), (0, READ), (0, WRITE)].map(|(cpu, io)| insert(cpu, io));
    let mut dispatch = |queue| driver.call(|elevator, cx| elevator.dispatch(cx, HwQueue(queue)));
    assert_eq!([dispatch(1), dispatch(1)], [Some(a), None]);
    assert_eq!([dispatch(0), dispatch(0), dispatch(0), dispatch(0)], [Some(c), Some(b), Some(d), None]);
}

#[test]
fn io_that_nobody_waits_for_gets_three_quarters_of_the_slots() {
    let mut driver = driver(Kernel::V4_20);
    let mut ask = |io: Io| driver.call(|elevator, cx| elevator.may_allocate(cx, &io, 255));
    assert_eq!(ask(WRITE), Allocate::Shallow(192));
    assert_eq!([ask(READ), ask(SYNC_WRITE)], [Allocate::AsUsual; 2]);
}

#[test]
fn only_the_eight_newest_requests_of_the_same_cpu_and_domain_may_grow() {
    let mut driver = driver(Kernel::V4_20);
    let requests: Vec<_> = (0..9).map(|_| driver.insert(READ)).collect();
    let mut ask = |id, io: Io| driver.call(|elevator, cx| elevator.allows_merge(cx, id, &io));
    assert_eq!([ask(requests[0], READ), ask(requests[1], READ)], [false, true]);
    assert!(!ask(requests[8], Io { cpu: 1, ..READ }));
    assert!(!ask(requests[8], WRITE));
    assert_eq!(driver.elevator().merges(), Merges::Newest, "two requests never unite");
    driver.dispatch();
    driver.grow(requests[5], Side::Back, 8);
    let is_left = driver.call(|elevator, cx| elevator.allows_merge(cx, requests[5], &READ));
    assert!(!is_left, "it waits for its hardware queue now");
}

#[test]
fn the_old_form_throttles_who_is_well_for_who_is_not() {
    use Status::{Awful, Bad, Good, Great};
    let depth = |this, other| balanced(100, Some(this), Some(other));
    assert_eq!([depth(Great, Awful), depth(Great, Bad), depth(Good, Awful), depth(Good, Bad)], [50, 75, 75, 88]);
    assert_eq!([depth(Bad, Good), depth(Awful, Good), depth(Awful, Great)], [101, 101, 102]);
    assert_eq!([depth(Good, Great), depth(Bad, Awful), balanced(100, None, Some(Awful))], [100; 3]);
    assert_eq!(balanced(100, Some(Bad), None), 101);
}

#[test]
fn the_old_form_watches_for_10_ms_after_a_late_request_then_for_100_ms_while_targets_are_missed() {
    let mut driver = driver(Kernel::V4_12);
    driver.set_now(Time(5_000_000_000));
    run(&mut driver, READ, 1, Span::ZERO, Span::from_ms(2));
    assert_eq!(driver.elevator().next_timer(), None);
    run(&mut driver, READ, 1, Span::ZERO, Span(2_000_001));
    assert_eq!(driver.elevator().next_timer(), Some(Time(5_010_000_000)));
    run(&mut driver, READ, 3, Span::ZERO, Span::from_ms(4));
    run(&mut driver, SYNC_WRITE, 3, Span::ZERO, Span::from_ms(1));
    run(&mut driver, WRITE, 1, Span::ZERO, Span::from_ms(1));
    driver.pass(Span::from_ms(10));
    assert_eq!(depths(&driver)[..3], [256, 64, 64], "reads awful, writes great");
    assert_eq!(driver.elevator().next_timer(), Some(Time(5_110_000_000)));
    run(&mut driver, READ, 3, Span::ZERO, Span::from_ms(3));
    run(&mut driver, WRITE, 1, Span::ZERO, Span::from_ms(1));
    driver.pass(Span::from_ms(100));
    assert_eq!(depths(&driver)[..3], [256, 64, 48], "only reads, and bad: others give way");
    for _ in 0..9 {
        run(&mut driver, READ, 1, Span::ZERO, Span(1));
        run(&mut driver, WRITE, 1, Span::ZERO, Span(1));
        driver.pass(Span::from_ms(100));
    }
    assert_eq!((depths(&driver)[2], driver.elevator().next_timer()), (64, None));
}
