use super::*;
use crate::parts::testbed::{Disk, Job, Pace, Place, Served, Testbed};
use crate::parts::verb_driver::{VerbDriver, facts};

const FAR: u64 = 1 << 26;

fn ms(ms: u64) -> Span {
    Span::from_ms(ms)
}

fn bed(facts: QueueFacts) -> Testbed<Cfq> {
    Testbed::new(facts, Settings::default(), Disk::default())
}

fn level(level: u8) -> IoPriority {
    IoPriority { class: IoClass::BestEffort, level }
}

const IDLE: IoPriority = IoPriority { class: IoClass::Idle, level: 7 };
const REAL_TIME: IoPriority = IoPriority { class: IoClass::RealTime, level: 4 };

/// A reader that always has four requests waiting.
fn backlogged(n: u32) -> Job {
    Job { outstanding: 4, ..Job::reader(Submitter(n), u64::from(n) * FAR, Span::ZERO) }
}

/// Shares of the disk's time, in 1/1000, of backlogged queues of these levels.
fn shares(levels: &[u8]) -> Vec<u64> {
    let disk = Disk { seek: Span::ZERO, transfer: Span::from_us(2) };
    let mut bed = Testbed::<Cfq>::new(facts(), Settings::default(), disk);
    for (n, l) in levels.iter().enumerate() {
        bed.add(backlogged(n as u32).with_priority(level(*l)));
    }
    bed.run(Span::from_s(50));
    let busy: Vec<u64> = (0..levels.len()).map(|job| bed.done(job).busy.0).collect();
    busy.iter().map(|own| own * 1000 / busy.iter().sum::<u64>()).collect()
}

fn assert_near(measured: &[u64], expected: &[u64]) {
    let near = measured.iter().zip(expected).all(|(a, b)| a.abs_diff(*b) <= 10);
    assert!(near && measured.len() == expected.len(), "{measured:?}, not {expected:?}");
}

#[test]
fn backlogged_queues_get_time_as_their_levels_and_the_walk_through_them_say() {
    // T-CFQ3-2, in 1/1000.
    assert_near(&shares(&[0, 4]), &[783, 217]);
    assert_near(&shares(&[0, 7]), &[973, 27]);
    assert_near(&shares(&[4, 7]), &[909, 91]);
    assert_near(&shares(&[0, 1, 2, 3, 4, 5, 6, 7]), &[300, 233, 175, 125, 83, 50, 25, 8]);
}

#[test]
fn two_sequential_readers_alternate_in_slices_of_100_ms() {
    // T-CFQ3-3
    let mut bed = bed(facts());
    let readers = [0, 1].map(|n| bed.add(Job::reader(Submitter(n), u64::from(n) * FAR, ms(1))));
    bed.run(Span::from_s(20));
    let [first, second] = readers.map(|reader| bed.done(reader).sectors);
    assert!(first.abs_diff(second) * 100 <= 6 * (first + second) / 2, "{first} and {second}");
    let a_second = bed.switches() / 20;
    assert!((8..=10).contains(&a_second), "{a_second} switches a second");
    assert_eq!(bed.seeks(), bed.switches());
}

/// Waits for a reader with this think time beside a backlogged one, and their lengths.
fn waits(bed: &Testbed<Cfq>, job: usize) -> Vec<(usize, Span)> {
    let log: &[Served] = &bed.log;
    let pairs = log.windows(2).enumerate().filter(|(_, pair)| pair[0].job == job);
    let pauses = pairs.map(|(n, pair)| (n, pair[1].begun.since(pair[0].completed)));
    pauses.filter(|(_, pause)| *pause > Span::ZERO).collect()
}

#[test]
fn who_thinks_for_20_ms_is_not_waited_for_after_its_third_request() {
    // T-CFQ3-4
    let mut bed = bed(facts());
    let thinker = bed.add(Job::reader(Submitter(0), 0, ms(20)));
    bed.add(backlogged(1));
    bed.run(Span::from_s(10));
    let served: Vec<usize> = (0..bed.log.len()).filter(|n| bed.log[*n].job == thinker).collect();
    assert!(served.len() > 50);
    let position = |n: usize| served.iter().position(|of| *of == n).expect("it was served");
    let waited_after: Vec<usize> = waits(&bed, thinker).iter().map(|(n, _)| position(*n)).collect();
    assert_eq!(waited_after, [0, 1], "waited for after these of its requests");
    // At most one call's requests each time: it has only one.
    assert!(served.windows(2).skip(2).all(|pair| pair[1] > pair[0] + 1));
}

#[test]
fn a_queue_without_idle_window_gets_one_call_of_dispatch_a_visit() {
    // T-CFQ3-4
    let settings = Settings { slice_idle: Some(Span::ZERO), ..Settings::default() };
    let mut driver = VerbDriver::<Cfq>::with(QueueFacts { depth: 32, ..facts() }, settings);
    for n in 0..2 {
        (0..12).for_each(|k| _ = driver.insert(Io::read(Submitter(n), u64::from(n) * FAR + k * 800, 8)));
    }
    let mut order = Vec::new();
    while let Some(request) = driver.dispatch() {
        order.push(driver.requests()[request].submitter.0);
        driver.pass(ms(1));
        driver.complete(request);
    }
    assert_eq!(order, [[0; 4], [1; 4], [0; 4], [1; 4], [0; 4], [1; 4]].concat());
}

/// Service in 30 s of an idle-class reader beside a best-effort one that submits periodically.
fn idle_beside(period: Span) -> (Testbed<Cfq>, usize, usize) {
    let mut bed = bed(facts());
    let idle = Job { outstanding: 4, start: Time(1), ..Job::random_reader(Submitter(0), 0, FAR) };
    let idle = bed.add(idle.with_priority(IDLE));
    let pace = Pace::Every(period);
    let busy = bed.add(Job { pace, ..Job::random_reader(Submitter(1), FAR, 2 * FAR) });
    bed.run(Span::from_s(30));
    (bed, idle, busy)
}

#[test]
fn the_idle_class_gets_nothing_while_somebody_else_completes_a_request_every_50_ms() {
    // T-CFQ3-5
    let (bed, idle, busy) = idle_beside(ms(50));
    assert_eq!(bed.done(idle).requests, 0);
    assert!(bed.done(busy).requests >= 599);
}

#[test]
fn the_idle_class_runs_one_request_at_a_time_after_100_ms_of_quiet() {
    // T-CFQ3-5
    let (bed, idle, busy) = idle_beside(ms(150));
    assert!(bed.done(idle).requests >= 400 && bed.done(busy).requests >= 199);
    let mut quiet_since = Time::ZERO;
    for served in &bed.log {
        if served.job == idle {
            assert!(served.issued.0 / 1_000_000 >= quiet_since.0 / 1_000_000 + 100, "{served:?}");
        } else {
            quiet_since = served.completed;
        }
    }
    let mut driver = VerbDriver::<Cfq>::with(QueueFacts { depth: 32, ..facts() }, Settings::default());
    driver.pass(ms(100));
    (0..8).for_each(|k| _ = driver.insert(Io { priority: IDLE, ..Io::read(Submitter(0), k * 800, 8) }));
    driver.dispatch();
    assert!(driver.elevator().chosen.is_empty() && driver.elevator().active.is_none(), "a slice is one request");
}

/// Pauses of the disk after requests of a seeky reader, on a disk of this depth that a flood of writes keeps at work.
fn pauses_after_seeky(depth: u32) -> Vec<Span> {
    let mut bed = bed(QueueFacts { depth, ..facts() });
    let (place, pace) = (Place::Random(0, 1 << 30), Pace::Think(ms(5)));
    let seeky = Job { place, pace, ..Job::random_reader(Submitter(0), 0, 1) };
    let seeky = bed.add(seeky);
    bed.add(Job::writer(Submitter(1), 1 << 30, 64));
    bed.run(Span::from_s(20));
    assert!(depth == 1 || bed.driver.elevator().is_tagged);
    // Before the first write the elevator does not know that the device queues, and the first requests of a process do
    // not count as seeky.
    let first_write = bed.log.iter().position(|served| served.job != seeky).expect("writes are served");
    waits(&bed, seeky).into_iter().filter(|(n, _)| *n >= first_write).map(|(_, pause)| pause).collect()
}

#[test]
fn a_seeky_reader_is_waited_for_2_ms_at_most_and_not_at_all_where_the_device_queues() {
    // T-CFQ3-6
    let pauses = pauses_after_seeky(1);
    assert!(!pauses.is_empty() && pauses.iter().all(|pause| *pause <= ms(2)), "{pauses:?}");
    assert_eq!(pauses_after_seeky(32), []);
}

#[test]
fn real_time_goes_before_all_best_effort() {
    let mut bed = bed(facts());
    let urgent = bed.add(backlogged(0).with_priority(REAL_TIME));
    let usual = bed.add(backlogged(1).with_priority(level(0)));
    bed.run(Span::from_s(10));
    // The other one had at most the slice it was in when the first came.
    assert!(bed.done(usual).busy <= ms(200), "{}", bed.done(usual).busy);
    assert!(bed.done(urgent).busy > ms(9000));
}

#[test]
fn nice_decides_where_ionice_does_not() {
    let share = |nice| {
        let mut bed = bed(facts());
        let nice = bed.add(backlogged(0).with_priority(IoPriority::from_nice(nice)));
        bed.add(backlogged(1));
        bed.run(Span::from_s(30));
        bed.done(nice).busy.0 * 1000 / 30_000_000_000
    };
    assert!(share(-20) > 700 && share(19) < 120, "{} and {}", share(-20), share(19));
}

#[test]
fn a_changed_priority_counts_from_the_next_request_on() {
    let mut driver = VerbDriver::<Cfq>::new(Settings::default());
    driver.insert(Io { priority: IDLE, ..Io::read(Submitter(0), 0, 8) });
    assert_eq!(driver.dispatch(), None, "the idle class waits for 100 ms of quiet");
    let urgent = driver.insert(Io { priority: REAL_TIME, ..Io::read(Submitter(0), 8, 8) });
    assert!(driver.dispatch().is_some() && driver.requests()[urgent].priority == REAL_TIME);
}

#[test]
fn nobody_waits_for_a_process_that_has_exited() {
    let mut driver = VerbDriver::<Cfq>::new(Settings::default());
    let read = driver.insert(Io::read(Submitter(0), 0, 8));
    driver.dispatch();
    let other = driver.insert(Io::read(Submitter(1), FAR, 8));
    driver.complete(read);
    assert_eq!((driver.dispatch(), driver.elevator().next_timer()), (None, Some(Time(8_000_000))));
    driver.call(|elevator, cx| elevator.exit(cx, Submitter(0)));
    assert_eq!(driver.elevator().next_timer(), Some(driver.now()), "the layer is called back at once");
    driver.pass(Span::ZERO);
    assert_eq!((driver.dispatch(), driver.elevator().next_timer()), (Some(other), None));
}

#[test]
fn an_asynchronous_request_of_the_process_waited_for_ends_the_wait() {
    let mut driver = VerbDriver::<Cfq>::new(Settings::default());
    let read = driver.insert(Io::read(Submitter(0), 0, 8));
    driver.dispatch();
    driver.insert(Io::read(Submitter(1), FAR, 8));
    driver.complete(read);
    assert_eq!(driver.dispatch(), None);
    assert_eq!(driver.insert_told(Io::write(Submitter(2), 8, 8)).1, Run::WhenUnplugged);
    assert_eq!(driver.insert_told(Io::write(Submitter(0), 16, 8)).1, Run::Now);
    assert!(driver.dispatch().is_some());
}

#[test]
fn the_next_request_of_the_process_waited_for_runs_at_once_and_may_always_have_a_slot() {
    let mut driver = VerbDriver::<Cfq>::new(Settings { queued: 1, ..Settings::default() });
    let read = driver.insert(Io::read(Submitter(0), 0, 8));
    driver.dispatch();
    driver.complete(read);
    let many = |driver: &mut VerbDriver<Cfq>| {
        let write = Io::sync_write(Submitter(0), 8, 8);
        driver.call(|elevator, cx| elevator.may_allocate(cx, &write, 128))
    };
    let (write, run) = driver.insert_told(Io::sync_write(Submitter(0), 8, 8));
    assert_eq!(run, Run::Now);
    assert_eq!(many(&mut driver), Allocate::AsUsual, "it has one already, and had its extra one in this slice");
    assert_eq!(driver.dispatch(), Some(write));
}

#[test]
fn writes_of_all_processes_of_a_level_share_a_queue_and_its_budget() {
    let mut driver = VerbDriver::<Cfq>::with(QueueFacts { depth: 64, ..facts() }, Settings::default());
    for n in 0..8 {
        (0..8).for_each(|k| _ = driver.insert(Io::write(Submitter(n), u64::from(n) * 8000 + k * 80, 8)));
    }
    let read = driver.insert(Io::read(Submitter(9), FAR, 8));
    let mut order = Vec::new();
    while let Some(request) = driver.dispatch() {
        order.push(request);
        driver.complete(request);
    }
    // The queue that came first has 16 requests; the reader's turn is next, and it is waited for.
    assert_eq!(order.iter().position(|request| *request == read), Some(16));
    assert_eq!(order.len(), 17);
}

#[test]
fn an_expired_request_goes_first_once_in_a_slice() {
    let mut driver = VerbDriver::<Cfq>::new(Settings::default());
    let old = driver.insert(Io::read(Submitter(0), FAR, 8));
    let older = driver.insert(Io::read(Submitter(0), FAR / 2, 8));
    driver.pass(ms(126));
    let near = driver.insert(Io::read(Submitter(0), 0, 8));
    let first = driver.dispatch();
    assert!(driver.elevator().queues[SHARED].was_rescued);
    let rest: Vec<_> = std::iter::from_fn(|| driver.call(|cfq, _| cfq.chosen.pop())).collect();
    // One call takes all three; the dispatch list sorts them.
    assert_eq!((first, rest), (Some(near), vec![older, old]));
    assert_eq!(driver.elevator().head, FAR / 2 + 8, "chosen in this order: old as expired, near and older as best");
}

#[test]
fn the_defaults_follow_hz() {
    let jiffies = |hz| {
        let cfq = Cfq::new(&QueueFacts { hz, ..facts() }, Settings::default(), Seed(1));
        (cfq.slices.base, cfq.expire, cfq.slice_idle)
    };
    assert_eq!(jiffies(1000), ([40, 100], [250, 125], 8));
    assert_eq!(jiffies(250), ([10, 25], [62, 31], 2));
    assert_eq!(jiffies(100), ([4, 10], [25, 12], 0));
}
