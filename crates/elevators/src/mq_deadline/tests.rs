//! mq-deadline against section 8 of the specification.

use super::*;
use crate::parts::verb_driver::{VerbDriver, facts};
use goodness_core::{IoPriority, RegisteredElevator, Rng, Seed, Submitter, Time};

const US: Submitter = Submitter(0);

fn driver(change: impl FnOnce(&mut Settings)) -> VerbDriver<MqDeadline> {
    let mut settings = Settings::default();
    change(&mut settings);
    VerbDriver::new(settings)
}

fn read(class: IoClass, sector: u64) -> Io {
    Io { priority: IoPriority { class, level: 4 }, ..Io::read(US, sector, 8) }
}

use IoClass::{BestEffort, Idle, RealTime};

#[test]
fn endless_reads_and_writes_come_32_to_16() {
    // T-MQD-1; the first batch is of writes since the last direction is so initially
    let mut driver = driver(|_| ());
    for i in 0..200 {
        driver.insert(Io::read(US, i * 16, 8));
        driver.insert(Io::write(US, 1_000_000 + i * 16, 8));
    }
    let mut runs = Vec::new();
    for _ in 0..160 {
        let request = driver.dispatch().expect("requests wait");
        let is_read = driver.requests()[request].is_read();
        driver.complete(request);
        match runs.last_mut() {
            Some((last, length)) if *last == is_read => *length += 1,
            _ => runs.push((is_read, 1)),
        }
    }
    assert_eq!(runs, [(false, 16), (true, 32), (false, 16), (true, 32), (false, 16), (true, 32), (false, 16)]);
}

#[test]
fn under_endless_real_time_load_the_others_wait_10_s_and_no_longer() {
    // T-MQD-2
    let mut driver = driver(|_| ());
    let others = [0, 4].map(|s| {
        driver.pass(Span::from_s(s));
        driver.insert(read(BestEffort, 1000 + s))
    });
    let mut dispatched = [None; 2];
    let mut waits = driver.insert(read(RealTime, 8));
    for i in 2..200 {
        driver.pass(Span::from_ms(100));
        // One of the class waits or is in flight at each moment.
        let next = driver.insert(read(RealTime, i * 8));
        let request = driver.dispatch().expect("one waits");
        if let Some(which) = others.iter().position(|other| *other == request) {
            dispatched[which] = Some(driver.now().since(driver.requests()[request].inserted));
            driver.complete(request);
            assert_eq!(driver.dispatch(), Some(waits), "one aged request goes first, then the class again");
        }
        driver.complete(waits);
        waits = next;
    }
    assert_eq!(dispatched, [Some(Span::from_s(10)); 2]);
}

#[test]
fn an_idle_request_waits_while_a_best_effort_one_is_merely_in_flight() {
    // T-MQD-3
    let mut driver = driver(|_| ());
    let ahead = driver.insert(read(BestEffort, 8));
    let idle = driver.insert(read(Idle, 800));
    assert_eq!(driver.dispatch(), Some(ahead));
    assert_eq!(driver.dispatch(), None);
    assert!(driver.elevator().has_work());
    driver.complete(ahead);
    assert_eq!(driver.dispatch(), Some(idle));
}

#[test]
fn a_read_aged_exactly_500_ms_counts_as_expired() {
    // T-MQD-4
    let next = |age| {
        let mut driver = driver(|s| s.fifo_batch = 1);
        driver.insert(Io::read(US, 400, 8));
        driver.drain();
        driver.insert(Io::read(US, 8, 8));
        driver.pass(age);
        driver.insert(Io::read(US, 800, 8));
        driver.drain()[0]
    };
    assert_eq!((next(Span::from_ms(499)), next(Span::from_ms(500))), (800, 8));
}

/// On a device of 128 tags with this many random reads outstanding, one completing every `service`: dispatches out of a
/// thousand that start behind the previous one.
fn ascending<E: RegisteredElevator>(settings: E::Settings, outstanding: usize, service: Span) -> usize {
    let facts = goodness_core::QueueFacts { depth: 128, requests: 1024, ..facts() };
    let mut driver = VerbDriver::<E>::with(facts, settings);
    let mut rng = Seed(5).rng();
    let random = |rng: &mut Rng| Io::read(US, rng.below(1 << 28) * 8, 8);
    for _ in 0..outstanding {
        driver.insert(random(&mut rng));
    }
    let (mut flying, mut last, mut ascents) = (Vec::new(), 0, 0);
    for step in 0..20_128 {
        if flying.len() == 128 {
            driver.pass(service);
            let done = flying.swap_remove(rng.below(128) as usize);
            driver.complete(done);
            driver.insert(random(&mut rng));
        }
        let request = driver.dispatch().expect("a tag is free and a request waits");
        let sector = driver.requests()[request].sector;
        ascents += usize::from(step >= 128 && sector > last);
        last = sector;
        flying.push(request);
    }
    ascents / 20
}

#[test]
fn sorting_sees_what_the_device_has_no_tag_for() {
    // T-MQD-5: where all have expired, one of 16 goes to the oldest, which lies ahead half the
    // time: 97 %. Where none has, only the end of a sweep descends.
    let slow = Span::from_ms(5);
    let expired = ascending::<MqDeadline>(Settings::default(), 512, slow);
    assert!((955..=980).contains(&expired), "{expired}");
    let fresh = ascending::<MqDeadline>(Settings::default(), 512, Span::from_us(10));
    assert!(fresh >= 990, "{fresh}");
    // T-MQD-6
    let unsorted = ascending::<MqDeadline>(Settings::default(), 128, slow);
    assert!((485..=515).contains(&unsorted), "{unsorted}");
}

#[test]
fn all_but_synchronous_reads_are_held_to_async_depth() {
    let driver = driver(|s| s.async_depth = Some(10));
    let mut driver = driver;
    let mut ask = |io: Io| driver.call(|e, cx| e.may_allocate(cx, &io, 10));
    assert_eq!(ask(Io::read(US, 0, 8)), Allocate::AsUsual);
    assert_eq!(ask(Io::sync_write(US, 0, 8)), Allocate::Shallow(10));
    assert_eq!(ask(Io { sync: false, ..Io::read(US, 0, 8) }), Allocate::Shallow(10));
}

#[test]
fn two_requests_at_one_sector_both_wait_and_the_older_goes_first() {
    let mut driver = driver(|_| ());
    let [older, newer] = [8, 8].map(|sector| driver.insert(Io::read(US, sector, 8)));
    assert_eq!([driver.dispatch(), driver.dispatch(), driver.dispatch()], [Some(older), Some(newer), None]);
}

#[test]
fn what_left_by_a_merge_keeps_no_lower_class_waiting() {
    let mut driver = driver(|_| ());
    let [survivor, absorbed] = [8, 16].map(|sector| driver.insert(read(RealTime, sector)));
    let below = driver.insert(read(Idle, 800));
    driver.absorb(survivor, absorbed);
    driver.dispatch();
    driver.complete(survivor);
    assert_eq!(driver.dispatch(), Some(below));
}

#[test]
fn a_request_joins_only_its_own_class_and_in_front_only_where_allowed() {
    for front_merges in [false, true] {
        let mut driver = driver(|s| s.front_merges = front_merges);
        let request = driver.insert(read(BestEffort, 100));
        let mut ask = |io: Io| driver.call(|e, cx| e.allows_merge(cx, request, &io));
        assert_eq!(ask(read(BestEffort, 92)), front_merges);
        assert_eq!([ask(read(BestEffort, 108)), ask(read(RealTime, 108))], [true, false]);
        let behind = [BestEffort, RealTime].map(|class| driver.insert(read(class, 108)));
        let may = behind.map(|next| driver.call(|e, cx| e.allows_absorb(cx, request, next)));
        assert_eq!(may, [true, false]);
    }
}

#[test]
fn a_front_merge_moves_a_request_to_its_new_place() {
    let mut driver = driver(|_| ());
    let grows = driver.insert(Io::read(US, 64, 8));
    driver.insert(Io::read(US, 60, 8));
    // Begin a sweep: what expired first is not asked for.
    driver.insert(Io::read(US, 0, 8));
    driver.grow(grows, Side::Front, 32);
    driver.call(|elevator, _| elevator.last_direction = READ);
    assert_eq!(driver.drain(), [0, 32, 60]);
}

#[test]
fn a_request_that_comes_back_without_having_completed_counts_once() {
    let mut driver = driver(|_| ());
    let back = driver.insert(read(BestEffort, 8));
    let idle = driver.insert(read(Idle, 800));
    driver.dispatch();
    driver.set_now(Time(1));
    driver.take_back(back);
    let _ = driver.referee().insert(back);
    assert_eq!(driver.dispatch(), Some(back));
    driver.complete(back);
    assert_eq!(driver.dispatch(), Some(idle));
}
