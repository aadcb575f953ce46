//! deadline against section 4 of the specification.

use super::*;
use crate::bench::Bench;
use goodness_core::Submitter;

const US: Submitter = Submitter(0);

fn bench(change: impl FnOnce(&mut Settings)) -> Bench<Deadline> {
    let mut settings = Settings::default();
    change(&mut settings);
    Bench::new(settings)
}

fn read(bench: &mut Bench<Deadline>, sector: u64) -> RequestId {
    bench.insert(Io::read(US, sector, 8))
}

fn write(bench: &mut Bench<Deadline>, sector: u64) -> RequestId {
    bench.insert(Io::write(US, sector, 8))
}

/// The lengths of the runs of one direction among the first `count` dispatched.
fn runs(bench: &mut Bench<Deadline>, count: usize) -> Vec<(char, usize)> {
    let mut runs: Vec<(char, usize)> = Vec::new();
    for _ in 0..count {
        let request = bench.dispatch().expect("requests wait");
        let is = if bench.requests[request].is_read() { 'R' } else { 'W' };
        bench.complete(request);
        match runs.last_mut() {
            Some((last, length)) if *last == is => *length += 1,
            _ => runs.push((is, 1)),
        }
    }
    runs
}

fn contiguous_reads_and_writes(kernel: Kernel) -> Vec<(char, usize)> {
    let mut bench = bench(|s| s.kernel = kernel);
    for i in 0..200 {
        read(&mut bench, i * 8);
        write(&mut bench, 1_000_000 + i * 8);
    }
    runs(&mut bench, 144)
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
        let mut bench = bench(|s| s.kernel = kernel);
        for i in 0..40 {
            read(&mut bench, i * 16);
            write(&mut bench, 1_000_000 + i * 16);
        }
        runs(&mut bench, 48)[..2].to_vec()
    };
    assert_eq!(gaps(Kernel::V2_6_18), [('R', 2), ('W', 1)]);
    assert_eq!(gaps(Kernel::V2_6_25), [('R', 32), ('W', 16)]);
}

/// Reads at 500, 300 and 700 begin a sweep; after 500 was dispatched, 100 and 600 arrive.
fn sweep(kernel: Kernel) -> Vec<u64> {
    let mut bench = bench(|s| s.kernel = kernel);
    for sector in [500, 300, 700] {
        read(&mut bench, sector);
    }
    let first = bench.dispatch().expect("reads wait");
    let mut order = vec![bench.requests[first].sector];
    bench.complete(first);
    for sector in [100, 600] {
        read(&mut bench, sector);
    }
    order.extend(bench.drain());
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
    let mut bench = bench(|s| (s.kernel, s.fifo_batch) = (Kernel::V2_6_25, 1));
    for i in 0..6 {
        read(&mut bench, 900 - i * 100);
        write(&mut bench, 9000 - i * 100);
    }
    bench.pass(Span::from_ms(5001));
    let order = [900, 800, 9000, 700, 600, 8900, 500, 400, 8800, 8700, 8600, 8500];
    assert_eq!(bench.drain(), order);
}

#[test]
fn a_read_aged_exactly_500_ms_has_not_expired() {
    let second_batch = |age| {
        let mut bench = bench(|s| s.fifo_batch = 1);
        read(&mut bench, 800);
        read(&mut bench, 8);
        bench.pass(age);
        bench.drain()[0]
    };
    assert_eq!((second_batch(Span::from_ms(500)), second_batch(Span::from_ms(501))), (8, 800));
}

#[test]
fn without_front_merges_a_request_still_grows_behind() {
    // T-DL-6
    for front_merges in [false, true] {
        let mut bench = bench(|s| s.front_merges = front_merges);
        let request = read(&mut bench, 100);
        let asked = [92, 108].map(|at| bench.call(|e, cx| e.allows_merge(cx, request, &Io::read(US, at, 8))));
        assert_eq!(asked, [front_merges, true]);
        let next = read(&mut bench, 108);
        assert!(bench.call(|e, cx| e.allows_absorb(cx, request, next)));
    }
}

#[test]
fn of_two_requests_at_one_sector_the_older_goes_first_and_the_sweep_is_where_it_ends() {
    let mut bench = bench(|_| ());
    for sector in [8, 100, 108] {
        read(&mut bench, sector);
    }
    let newer = bench.insert(Io::read(US, 100, 4));
    let order = [(); 4].map(|()| bench.dispatch().map(|r| (r == newer, bench.requests[r].sector)));
    assert_eq!(order, [Some((false, 100)), Some((false, 108)), Some((false, 8)), Some((true, 100))]);
}

#[test]
fn a_front_merge_moves_a_request_to_its_new_place() {
    let mut bench = bench(|_| ());
    let grows = read(&mut bench, 64);
    read(&mut bench, 60);
    bench.grow(grows, Side::Front, 32);
    assert_eq!(bench.drain(), [32, 60]);
}

#[test]
fn the_next_of_a_sweep_that_grows_in_front_is_passed_over_by_the_old_kernel() {
    let order = |kernel| {
        let mut bench = bench(|s| s.kernel = kernel);
        let next = [8, 64, 128].map(|sector| read(&mut bench, sector))[1];
        bench.dispatch();
        bench.grow(next, Side::Front, 8);
        bench.drain()
    };
    assert_eq!((order(Kernel::V2_6_18), order(Kernel::V2_6_25)), (vec![128, 56], vec![56, 128]));
}

#[test]
fn the_survivor_of_a_merge_has_the_earlier_place_and_the_earlier_deadline() {
    // T-BLK-5
    for (age, order) in [(500, [8, 100]), (501, [100, 8])] {
        let mut bench = bench(|_| ());
        let absorbed = read(&mut bench, 108);
        bench.pass(Span::from_ms(200));
        read(&mut bench, 8);
        bench.pass(Span::from_ms(200));
        let survivor = read(&mut bench, 100);
        bench.absorb(survivor, absorbed);
        bench.pass(Span::from_ms(age - 400));
        assert_eq!(bench.drain(), order);
    }
}
