//! Instruction counts by callgrind, which do not depend on the machine's load.
//!
//! ```text
//! cargo install gungraun-runner --version 0.20.0
//! cargo bench -p goodness-bench --features instruction-counts
//! ```
//!
//! Each count covers many decisions or operations, without setup; divide by the number in the benchmark's name.

use goodness::PolicySpec;
use goodness_bench::verbs::Driver;
use goodness_bench::{Size, dispatch, end_to_end, machine_of};
use goodness_core::Seed;
use goodness_queues::Wheel;
use gungraun::{library_benchmark, library_benchmark_group, main};
use std::hint::black_box;

const SIZE: Size = Size { tasks: 1_000, cpus: 1 };

/// A warm driver.
type Turns = Box<dyn FnMut(u64)>;

fn driver_of(policy: &str) -> Turns {
    let machine = machine_of(SIZE.cpus).expect("one CPU is a machine");
    let made = PolicySpec::parse(policy).expect("the benchmark names registered policies").make(&machine, Seed(1));
    let mut driver = Driver::new(made, &machine, SIZE).expect("the benchmark's tasks are plain ones");
    let mut turns = move |count| driver.batch(count).expect("registered policies keep the rules");
    turns(2 * SIZE.tasks as u64);
    Box::new(turns)
}

#[library_benchmark]
#[bench::fifo(driver_of("fifo"))]
#[bench::rr(driver_of("rr"))]
#[bench::o1(driver_of("o1"))]
#[bench::staircase(driver_of("staircase"))]
#[bench::linux_2_0(driver_of("linux-2.0"))]
#[bench::linux_2_2(driver_of("linux-2.2"))]
#[bench::linux_2_4(driver_of("linux-2.4"))]
#[bench::cfs(driver_of("cfs"))]
#[bench::eevdf(driver_of("eevdf"))]
fn thousand_decisions(mut turns: Turns) {
    turns(1_000);
}

/// Requests that wait in an elevator.
const WAITING: u32 = 48;

fn requests_of(elevator: &str) -> Turns {
    let made = dispatch::made(elevator, &[], WAITING).expect("the benchmark names registered elevators");
    let mut driver = dispatch::Driver::new(made, WAITING);
    let mut turns = move |count| driver.batch(count).expect("registered elevators go on");
    turns(2 * u64::from(WAITING));
    Box::new(turns)
}

#[library_benchmark]
#[bench::noop(requests_of("noop"))]
#[bench::none(requests_of("none"))]
#[bench::deadline(requests_of("deadline"))]
#[bench::mq_deadline(requests_of("mq-deadline"))]
#[bench::kyber(requests_of("kyber"))]
#[bench::cfq(requests_of("cfq"))]
#[bench::bfq(requests_of("bfq"))]
fn thousand_requests(mut turns: Turns) {
    turns(1_000);
}

/// A wheel with 1 000 entries ahead of it, and a time from which on to push.
fn full_wheel() -> (Wheel<u64>, u64) {
    let mut wheel = Wheel::with_capacity(1_001);
    for item in 0..1_000 {
        wheel.push(item * 10_000, 0, item);
    }
    (wheel, 1_000 * 10_000)
}

#[library_benchmark]
#[bench::of_1000(full_wheel())]
fn thousand_pops_and_pushes((mut wheel, mut time): (Wheel<u64>, u64)) {
    for _ in 0..1_000 {
        let popped = black_box(wheel.pop());
        time += 10_000;
        wheel.push(time, 0, popped.map_or(0, |(_, item)| item));
    }
}

#[library_benchmark]
#[bench::rr("rr")]
#[bench::o1("o1")]
#[bench::eevdf("eevdf")]
fn simulated_second(policy: &str) -> u64 {
    let policy = PolicySpec::parse(policy).expect("the policy is registered");
    // A hundred thousand bursts of 10 us fill a second.
    end_to_end::once(&policy, SIZE, 100_000).expect("the run is sound").decisions
}

library_benchmark_group!(
    name = counts;
    benchmarks = thousand_decisions, thousand_requests, thousand_pops_and_pushes, simulated_second
);
main!(library_benchmark_groups = counts);
