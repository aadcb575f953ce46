//! deadline against section 4 of the specification.

use super::*;
use crate::parts::verb_driver::VerbDriver;
use goodness_core::Submitter;

const US: Submitter = Submitter(0);

fn driver(change: impl FnOnce(&mut Settings)) -> VerbDriver<Deadline> {
    let mut settings = Settings::default();
    change(&mut settings);
    VerbDriver::new(settings)
}

fn read(driver: &mut VerbDriver<Deadline>, sector: u64) -> RequestId {
    driver.insert(Io::read(US, sector, 8))
}

fn write(driver: &mut VerbDriver<Deadline>, sector: u64) -> RequestId {
    driver.insert(Io::write(US, sector, 8))
}

/// The lengths of the runs of one direction among the first `count` dispatched.
fn runs(driver: &mut VerbDriver<Deadline>, count: usize) -> Vec<(char, usize)> {
    let mut runs: Vec<(char, usize)> = Vec::new();
    for _ in 0..count {
        let request = driver.dispatch().expect("requests wait");
        let is = if driver.requests()[request].is_read() { 'R' } else { 'W' };
        driver.complete(request);
        match runs.last_mut() {
            Some((last, length)) if *last == is => *length += 1,
            _ => runs.push((is, 1)),
        }
    }
    runs
}

fn contiguous_reads_and_writes(kernel: Kernel) -> Vec<(char, usize)> {
    let mut driver = driver(|s| s.kernel = kernel);
    for i in 0..200 {
        read(&mut driver, i * 8);
        write(&mut driver, 1_000_000 + i * 8);
    }
    runs(&mut driver, 144)
}

#[test]
fn contiguous_reads_and_writes_come_17_to_16_in_the_old_kernel() {
    // T-DL-1, variant A
    let runs = contiguous_reads_and_writes(Kernel::V2_6_18);
    assert_eq!(runs[..8], [('R', 17), ('W', 16), ('R', 17), ('W', 16), ('R', 17), ('W', 16), ('R', 17), ('W', 16)]);
}

#[test]
fn contiguous_reads_and_writes_come_32_to_16_in_the_new_kernel() {
    // T-DL-1, variant B
    let runs = contiguous_reads_and_writes(Kernel::V2_6_25);
    assert_eq!(runs, [('R', 32), ('W', 16), ('R', 32), ('W', 16), ('R', 32), ('W', 16)]);
}

#[test]
fn a_gap_ends_a_batch_of_the_old_kernel_only() {
    let gaps = |kernel| {
        let mut driver = driver(|s| s.kernel = kernel);
        for i in 0..40 {
            read(&mut driver, i * 16);
            write(&mut driver, 1_000_000 + i * 16);
        }
        runs(&mut driver, 48)[..2].to_vec()
    };
    assert_eq!(gaps(Kernel::V2_6_18), [('R', 2), ('W', 1)]);
    assert_eq!(gaps(Kernel::V2_6_25), [('R', 32), ('W', 16)]);
}

/// Reads at 500, 300 and 700 start a sweep; after 500 is dispatched, 100 and 600 arrive.
fn sweep(kernel: Kernel) -> Vec<u64> {
    let mut driver = driver(|s| s.kernel = kernel);
    for sector in [500, 300, 700] {
        read(&mut driver, sector);
    }
    let first = driver.dispatch().expect("reads wait");
    let mut order = vec![driver.requests()[first].sector];
    driver.complete(first);
    for sector in [100, 600] {
        read(&mut driver, sector);
    }
    order.extend(driver.drain());
    order
}

#[test]
fn reads_alone_are_swept_upwards_and_the_sweep_begins_again_at_the_lowest_or_the_oldest() {
    // T-DL-3: A starts at the lowest, B at the oldest; what arrives behind the cursor waits for the next sweep
    assert_eq!(sweep(Kernel::V2_6_18), [300, 500, 600, 700, 100]);
    assert_eq!(sweep(Kernel::V2_6_25), [500, 700, 300, 600, 100]);
}

#[test]
fn with_batches_of_one_expired_requests_come_in_order_of_arrival_two_reads_to_a_write() {
    // T-DL-5
    let mut driver = driver(|s| (s.kernel, s.fifo_batch) = (Kernel::V2_6_25, 1));
    for i in 0..6 {
        read(&mut driver, 900 - i * 100);
        write(&mut driver, 9000 - i * 100);
    }
    driver.pass(Span::from_ms(5001));
    let order = [900, 800, 9000, 700, 600, 8900, 500, 400, 8800, 8700, 8600, 8500];
    assert_eq!(driver.drain(), order);
}

#[test]
fn a_read_aged_exactly_500_ms_has_not_expired() {
    let second_batch = |age| {
        let mut driver = driver(|s| s.fifo_batch = 1);
        read(&mut driver, 800);
        read(&mut driver, 8);
        driver.pass(age);
        driver.drain()[0]
    };
    assert_eq!((second_batch(Span::from_ms(500)), second_batch(Span::from_ms(501))), (8, 800));
}

#[test]
fn without_front_merges_a_request_still_grows_behind() {
    // T-DL-6
    for front_merges in [false, true] {
        let mut driver = driver(|s| s.front_merges = front_merges);
        let request = read(&mut driver, 100);
        let asked = [92, 108].map(|at| driver.call(|e, cx| e.allows_merge(cx, request, &Io::read(US, at, 8))));
        assert_eq!(asked, [front_merges, true]);
        let next = read(&mut driver, 108);
        assert!(driver.call(|e, cx| e.allows_absorb(cx, request, next)));
    }
}

#[test]
fn of_two_requests_at_one_sector_the_older_goes_first_and_the_sweep_is_where_it_ends() {
    let mut driver = driver(|_| ());
    for sector in [8, 100, 108] {
        read(&mut driver, sector);
    }
    let newer = driver.insert(Io::read(US, 100, 4));
    let order = [(); 4].map(|()| driver.dispatch().map(|r| (r == newer, driver.requests()[r].sector)));
    assert_eq!(order, [Some((false, 100)), Some((false, 108)), Some((false, 8)), Some((true, 100))]);
}

#[test]
fn a_front_merge_moves_a_request_to_its_new_place() {
    let mut driver = driver(|_| ());
    let grows = read(&mut driver, 64);
    read(&mut driver, 60);
    driver.grow(grows, Side::Front, 32);
    assert_eq!(driver.drain(), [32, 60]);
}

#[test]
fn the_next_of_a_sweep_that_grows_in_front_is_passed_over_by_the_old_kernel() {
    let order = |kernel| {
        let mut driver = driver(|s| s.kernel = kernel);
        let next = [8, 64, 128].map(|sector| read(&mut driver, sector))[1];
        driver.dispatch();
        driver.grow(next, Side::Front, 8);
        driver.drain()
    };
    assert_eq!((order(Kernel::V2_6_18), order(Kernel::V2_6_25)), (vec![128, 56], vec![56, 128]));
}

#[test]
fn the_survivor_of_a_merge_has_the_earlier_place_and_the_earlier_deadline() {
    // T-BLK-5
    for (age, order) in [(500, [8, 100]), (501, [100, 8])] {
        let mut driver = driver(|_| ());
        let absorbed = read(&mut driver, 108);
        driver.pass(Span::from_ms(200));
        read(&mut driver, 8);
        driver.pass(Span::from_ms(200));
        let survivor = read(&mut driver, 100);
        driver.absorb(survivor, absorbed);
        driver.pass(Span::from_ms(age - 400));
        assert_eq!(driver.drain(), order);
    }
}
