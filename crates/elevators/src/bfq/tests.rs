mod groups;
mod shares;

use super::budget::Expiry;
use super::{Bfq, Settings};
use crate::parts::verb_driver::{VerbDriver, facts};
use goodness_core::{
    Allocate, Elevator, Io, IoClass, IoPriority, QueueFacts, Side, Span, Submitter,
};

fn fair() -> Settings {
    Settings { low_latency: false, ..Settings::default() }
}

fn best_effort(level: u8) -> IoPriority {
    IoPriority { class: IoClass::BestEffort, level }
}

/// A flash device with a queue of its own.
fn flash(settings: Settings) -> VerbDriver<Bfq> {
    VerbDriver::with(QueueFacts { depth: 32, rotational: false, requests: 64, ..facts() }, settings)
}

/// The same, but processes that start together have separate queues.
fn driver(settings: Settings) -> VerbDriver<Bfq> {
    flash(Settings { stable_merge: false, ..settings })
}

fn io(process: u32, level: u8, sector: u64) -> Io {
    Io { priority: best_effort(level), ..Io::read(Submitter(process), sector, 8) }
}

/// The device idles for a heavy queue, one request of which takes 100 us alone, while a light queue has requests.
fn waiting_for_the_heavy_queue() -> VerbDriver<Bfq> {
    let mut driver = driver(fair());
    for sector in [0, 8] {
        let heavy = driver.insert(io(0, 0, sector));
        driver.insert(io(1, 7, 1 << 20 | sector));
        assert_eq!(driver.dispatch(), Some(heavy));
        driver.pass(Span::from_us(100));
        driver.complete(heavy);
        driver.pass(Span::from_us(100));
    }
    assert!(driver.elevator().next_timer().is_some());
    driver
}

#[test]
fn processes_that_begin_together_share_a_queue_on_flash_unless_told_otherwise() {
    let share = |mut driver: VerbDriver<Bfq>| {
        let [one, other] = [0, 1].map(|process| driver.insert(io(process, 4, 1 << (20 + process))));
        driver.elevator().owner[one.index()] == driver.elevator().owner[other.index()]
    };
    assert!(share(flash(fair())));
    assert!(!share(driver(fair())));
    assert!(!share(VerbDriver::new(fair())), "a device that seeks");
}

#[test]
fn who_shares_a_queue_is_served_as_much_as_it_keeps_waiting() {
    let mut driver = flash(fair());
    let deep: Vec<_> = (0..9).map(|at| driver.insert(io(0, 4, 2048 * at))).collect();
    let shallow = driver.insert(io(1, 4, 2048 * 4 + 8));
    let order: Vec<_> = std::iter::from_fn(|| driver.dispatch()).collect();
    assert_eq!(order.len(), 10);
    assert_eq!(order.iter().position(|request| *request == shallow), Some(5), "by its place among those of the other");
    assert_eq!(order[4], deep[4]);
}

#[test]
fn while_shares_need_waiting_one_request_of_another_is_let_in_at_first() {
    let mut driver = waiting_for_the_heavy_queue();
    let light = driver.dispatch().expect("a request of the light queue");
    assert_eq!(driver.requests()[light].submitter, Submitter(1));
    assert_eq!(driver.dispatch(), None);
    assert!(driver.elevator().next_timer().is_some(), "the heavy queue is still waited for");
    let heavy = driver.insert(io(0, 0, 16));
    assert_eq!(driver.dispatch(), Some(heavy));
}

#[test]
fn more_are_let_in_until_they_delay_the_queue_by_half() {
    for (took, injected) in [(149, 2), (150, 0)] {
        let mut driver = waiting_for_the_heavy_queue();
        let light = driver.dispatch().expect("a request of the light queue");
        let heavy = driver.insert(io(0, 0, 16));
        assert_eq!(driver.dispatch(), Some(heavy));
        driver.pass(Span::from_us(took));
        driver.complete(light);
        driver.complete(heavy);
        (0..4).for_each(|n| _ = driver.insert(io(1, 7, 1 << 22 | n << 10)));
        assert_eq!(std::iter::from_fn(|| driver.dispatch()).count(), injected, "{took} us");
    }
}

#[test]
fn a_second_later_it_is_learnt_anew_how_many_may_be_let_in() {
    for (wait, left) in [(900, 0), (1000, 1)] {
        let mut driver = waiting_for_the_heavy_queue();
        let light = driver.dispatch().expect("a request of the light queue");
        let heavy = driver.insert(io(0, 0, 16));
        assert_eq!(driver.dispatch(), Some(heavy));
        driver.pass(Span::from_ms(1));
        driver.complete(light);
        driver.complete(heavy);
        driver.pass(Span::from_ms(wait));
        for sector in [24, 32] {
            let heavy = driver.insert(io(0, 0, sector));
            driver.insert(io(1, 7, 1 << 22 | sector));
            assert_eq!(driver.dispatch(), Some(heavy));
            driver.pass(Span::from_us(100));
            driver.complete(heavy);
        }
        assert_eq!(driver.elevator().queues[super::queue::SHARED as usize].inject, left);
    }
}

#[test]
fn strict_guarantees_let_nobody_in() {
    let mut driver = driver(Settings { strict_guarantees: true, ..fair() });
    let heavy = driver.insert(io(0, 0, 0));
    driver.insert(io(1, 7, 1 << 20));
    assert_eq!(driver.dispatch(), Some(heavy));
    driver.complete(heavy);
    assert_eq!(driver.dispatch(), None);
    driver.pass(Span::from_ms(8));
    assert!(driver.dispatch().is_some(), "waited in vain");
}

#[test]
fn within_a_queue_the_nearest_request_is_next_but_once_in_a_service_the_oldest_if_it_expired() {
    let mut driver = VerbDriver::<Bfq>::new(fair());
    driver.insert(io(0, 4, 5000));
    assert_eq!(driver.drain(), [5000]);
    [5100, 4990, 5200].iter().for_each(|sector| _ = driver.insert(io(0, 4, *sector)));
    driver.pass(Span::from_ms(124));
    // From 5008, 4990 costs 36 as it lies behind, and 5100 costs 92.
    assert_eq!(driver.drain(), [4990, 5100, 5200]);
    let sectors = [100_000, 5000, 4990, 5210, 0];
    sectors.iter().for_each(|sector| _ = driver.insert(io(1, 4, *sector)));
    driver.pass(Span::from_ms(125));
    assert_eq!(driver.drain(), [5210, 100_000, 0, 4990, 5000]);
}

#[test]
fn only_io_of_the_same_queue_joins_a_request() {
    let mut driver = driver(fair());
    let read = driver.insert(io(0, 4, 0));
    let write = driver.insert(Io::write(Submitter(0), 64, 8));
    let mut ask = |request, io: Io| driver.call(|elevator, cx| elevator.allows_merge(cx, request, &io));
    assert_eq!([ask(read, io(0, 4, 8)), ask(read, io(1, 4, 8))], [true, false]);
    assert!(ask(write, Io::write(Submitter(1), 72, 8)), "write-back is shared");
    assert!(!ask(write, Io::sync_write(Submitter(0), 72, 8)));
}

#[test]
fn a_request_that_grew_or_swallowed_another_keeps_its_queue_in_order() {
    let mut driver = driver(fair());
    let [a, b, c] = [80, 96, 64].map(|sector| driver.insert(io(0, 4, sector)));
    driver.grow(a, Side::Back, 8);
    driver.absorb(a, b);
    driver.grow(c, Side::Front, 8);
    assert_eq!(driver.drain(), [56, 80]);
    assert!(!driver.elevator().has_work());
}

#[test]
fn writes_get_a_part_of_the_slots_and_less_while_a_raised_queue_is_busy() {
    let mut driver = driver(Settings::default());
    let [write, sync] = [Io::write(Submitter(1), 0, 8), Io::sync_write(Submitter(1), 0, 8)];
    let limit = |driver: &mut VerbDriver<Bfq>, io: Io| match driver.call(|it, cx| it.may_allocate(cx, &io, 63)) {
        Allocate::Shallow(depth) => Some(depth),
        _ => None,
    };
    assert_eq!([limit(&mut driver, write), limit(&mut driver, sync)], [Some(32), Some(48)]);
    driver.insert(io(0, 4, 0));
    assert_eq!([limit(&mut driver, write), limit(&mut driver, sync)], [Some(12), Some(24)]);
    assert_eq!(limit(&mut driver, io(1, 4, 0)), None);
}

#[test]
fn a_raised_queue_takes_the_device_from_one_that_is_not() {
    for low_latency in [true, false] {
        let mut driver = driver(Settings { low_latency, ..Settings::default() });
        let greedy = [0, 8, 16, 24].map(|sector| driver.insert(io(0, 3, sector)));
        assert_eq!(driver.dispatch(), Some(greedy[0]));
        let new = driver.insert(io(1, 4, 1 << 20));
        assert_eq!(driver.dispatch(), Some(if low_latency { new } else { greedy[1] }));
    }
}

/// Requests of process 0 one by one, each completing at once.
fn one_by_one(driver: &mut VerbDriver<Bfq>, sectors: impl Iterator<Item = u64>) {
    for sector in sectors {
        let request = driver.insert(io(0, 4, sector));
        assert_eq!(driver.dispatch(), Some(request));
        driver.complete(request);
    }
}

#[test]
fn the_next_request_is_waited_for_8_ms_or_2_if_it_will_seek_or_20_if_the_queue_is_raised() {
    for (low_latency, step, idle) in [(false, 8, 8), (false, 1 << 20, 2), (true, 8, 20)] {
        let mut driver = driver(Settings { low_latency, ..Settings::default() });
        one_by_one(&mut driver, (0..32).map(|n| n * step));
        let until = driver.elevator().next_timer().expect("nobody else has requests");
        assert_eq!(until.since(driver.now()), Span::from_ms(idle));
    }
}

#[test]
fn a_queue_that_let_the_device_wait_in_vain_is_not_bound_by_io_until_it_came_in_time_120_times() {
    let mut driver = driver(fair());
    let mut rounds = 0;
    one_by_one(&mut driver, 0..1);
    driver.pass(Span::from_ms(8));
    let is_bound = |driver: &VerbDriver<Bfq>| driver.elevator().queues[super::queue::SHARED as usize].is_io_bound();
    while !is_bound(&driver) {
        rounds += 1;
        let request = driver.insert(io(0, 4, 8 * rounds));
        assert_eq!(driver.dispatch(), Some(request));
        // Its service ends at once: another queue has requests, and no share depends on waiting.
        let other = driver.insert(io(1, 4, 1 << 20));
        driver.complete(request);
        assert_eq!(driver.dispatch(), Some(other));
        driver.complete(other);
        driver.pass(Span::from_ms(1));
    }
    assert_eq!(rounds, 120);
}

#[test]
fn service_of_an_interactive_queue_may_take_thirty_times_as_long() {
    for (low_latency, longest) in [(false, 125), (true, 30 * 125)] {
        let mut driver = driver(Settings { low_latency, ..Settings::default() });
        one_by_one(&mut driver, 0..1);
        assert_eq!(driver.elevator().ends.since(driver.elevator().began), Span::from_ms(longest));
    }
}

#[test]
fn write_back_that_joins_a_backlog_after_half_a_second_is_raised() {
    for (pause, raised) in [(500, false), (501, true)] {
        let mut driver = driver(Settings::default());
        driver.insert(Io::write(Submitter(0), 0, 8));
        driver.pass(Span::from_ms(pause));
        driver.insert(Io::write(Submitter(0), 64, 8));
        assert_eq!(driver.elevator().queues.iter().any(|queue| queue.raise.is_raised()), raised);
    }
}

#[test]
fn a_queue_that_ran_out_of_time_with_a_third_of_its_budget_left_is_charged_for_the_time() {
    let mut driver = driver(fair());
    driver.insert(Io::write(Submitter(0), 0, 8));
    driver.dispatch();
    let queue = driver.elevator().schedule.serving().expect("the write is served");
    driver.call(|bfq, _| bfq.charge_time(queue, Expiry::Exhausted, Span::from_ms(100)));
    assert_eq!(driver.elevator().schedule[queue].service, 24);
    driver.call(|bfq, _| bfq.charge_time(queue, Expiry::Timeout, Span::from_ms(100)));
    assert_eq!(driver.elevator().schedule[queue].service, 16_384 * 100 / 125);
}

#[test]
fn a_weight_falls_with_the_request_that_ends_raising() {
    let mut driver = driver(Settings::default());
    for (sectors, weight) in [(120_000, 30 * 40), (8, 40)] {
        let request = driver.insert(Io::read(Submitter(0), 0, sectors));
        assert_eq!(driver.dispatch(), Some(request));
        let queue = driver.elevator().schedule.serving().expect("the read is served");
        assert_eq!(driver.elevator().schedule[queue].weight(), weight);
        driver.complete(request);
    }
}

#[test]
fn a_queue_idle_for_more_than_10_s_has_left_its_burst() {
    for (pause, raised) in [(10_000, false), (10_001, true)] {
        let mut driver = driver(Settings::default());
        (0..8).for_each(|process| _ = driver.insert(io(process, 4, u64::from(process) << 20)));
        while driver.elevator().has_work() {
            driver.drain();
            driver.pass(Span::from_ms(8));
        }
        let last = driver.elevator().queues.iter().filter_map(|queue| queue.emptied).max().expect("all are empty");
        driver.set_now(last + Span::from_ms(pause));
        let latest = (0..8).find(|process| {
            driver.elevator().queues[super::queue::SHARED as usize + process].emptied == Some(last)
        });
        driver.insert(io(latest.expect("one was last") as u32, 4, 0));
        assert_eq!(driver.elevator().queues.iter().any(|queue| queue.raise.is_raised()), raised, "{pause} ms");
    }
}
