//! The kernel's read-write semaphore, against specs/groups-locks.md sections 5.4 and 7.

mod lab;

use goodness_core::*;
use goodness_policies::{cfs::Cfs, eevdf::Eevdf, fifo::Fifo};
use goodness_sim::{Blame, End, Options, simulate};
use lab::{MS, US, cycle, on, realtime, run_by_default, served, spun, task};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

const L: LockId = LockId(0);
const SERVED: Step = Step::Served(Time::ZERO);

fn work(kind: LockKind, tasks: Vec<TaskSpec>, horizon: Span) -> Workload {
    Workload { tasks, locks: vec![kind; 2], horizon: Some(Time::ZERO + horizon), ..Workload::default() }
}

/// CPUs with ticks at `hz`, whose wake-ups reach another CPU after 50 µs.
fn machine(cpus: u32, hz: u32) -> Machine {
    let mut machine = Machine::flat(cpus, hz).unwrap();
    machine.costs.interrupt = US(50);
    machine
}

/// A writer that takes the lock again after each millisecond, in which it sleeps, so that nobody spins.
fn stealing() -> TaskSpec {
    on(0, cycle(&[Step::Lock(L), Step::Sleep(MS(1)), Step::Unlock(L)]))
}

/// The first time at which a task had the lock that comes at `at`, beside a writer that steals it.
fn beside_a_thief(kind: LockKind, (hz, at): (u32, Span), take: Step, priority: u8) -> Option<Time> {
    let waiter = on(1, task(&[Step::Sleep(at), take, SERVED, Step::Unlock(L)]));
    let waiter = if priority > 0 { realtime(priority, waiter) } else { waiter };
    let (events, _) = run_by_default::<Cfs>(&machine(2, hz), work(kind, vec![stealing(), waiter], MS(100)));
    served(&events, 1).first().copied()
}

/// T-LOCK-4. From 0.5 ms on, HZ 250: the second tick is at 8 ms. The writer fails at 8.05 ms, and asks for the handoff;
/// the release at 9 ms makes it the owner.
#[test]
fn a_writer_that_waited_for_more_than_a_jiffy_gets_the_lock_at_the_second_release() {
    let got = |kind, hz| beside_a_thief(kind, (hz, US(500)), Step::Lock(L), 0);
    assert_eq!(got(LockKind::Rwsem, 250), Some(Time(9_050_000)));
    assert_eq!(got(LockKind::Rwsem, 1000), Some(Time(6_050_000)), "four jiffies, and one more");
    assert_eq!(got(LockKind::Rwsem, 100), Some(Time(21_050_000)), "a jiffy is 10 ms");
    assert_eq!(got(LockKind::Normal, 250), None, "without the handoff it starves");
    assert_eq!(got(LockKind::Kernel, 250), Some(Time(2_050_000)), "a mutex does not wait for a jiffy");
}

/// T-LOCK-4, whenever the writer comes: more than one tick, at most two, and two releases.
#[test]
fn a_writer_waits_for_one_to_two_jiffies_and_two_releases() {
    let waited: Vec<Span> = (0..80)
        .map(|step| {
            let at = Span(137_000 + step * 97_000);
            let got = beside_a_thief(LockKind::Rwsem, (250, at), Step::Lock(L), 0).expect("it gets the lock");
            got.since(Time::ZERO + at)
        })
        .collect();
    let (least, most) = (*waited.iter().min().unwrap(), *waited.iter().max().unwrap());
    assert!(least > MS(4) && least < MS(6), "{least}");
    assert!(most > MS(8) && most <= MS(10) + US(50), "{most}: two releases after 8 ms");
}

#[test]
fn a_real_time_writer_asks_for_the_handoff_at_once() {
    let got = beside_a_thief(LockKind::Rwsem, (250, US(500)), Step::Lock(L), 50);
    assert_eq!(got, Some(Time(1_050_000)));
}

/// A release lets the reader in before the thief comes by. Two writers that spin for each other are there before it:
/// the release at 8 ms asks for the handoff, and that at 9 ms passes the lock on.
#[test]
fn a_reader_waits_longer_than_a_jiffy_only_for_writers_that_spin() {
    let got = beside_a_thief(LockKind::Rwsem, (250, US(500)), Step::LockShared(L), 0);
    assert_eq!(got, Some(Time(1_050_000)));
    let writer = |cpu| on(cpu, cycle(&[Step::Lock(L), Step::Compute(MS(1)), Step::Unlock(L)]));
    let reader = on(2, task(&[Step::Sleep(US(500)), Step::LockShared(L), SERVED, Step::Unlock(L)]));
    let tasks = vec![writer(0), writer(1), reader];
    let (events, _) = run_by_default::<Fifo>(&machine(3, 250), work(LockKind::Rwsem, tasks, MS(50)));
    assert_eq!(served(&events, 2), [Time(9_050_000)]);
}

/// Readers of 3 ms that overlap, so that the lock is never free by itself.
fn overlapping(take: Step) -> Vec<TaskSpec> {
    (0..3)
        .map(|cpu| {
            let mut reader = on(cpu, cycle(&[take.clone(), Step::Compute(MS(3)), SERVED, Step::Unlock(L)]));
            reader.start = Start::At(Time(u64::from(cpu) * 1_000_000));
            reader
        })
        .collect()
}

#[test]
fn readers_share_the_lock_and_queue_behind_a_writer() {
    let mut tasks = overlapping(Step::LockShared(L));
    let (events, _) = run_by_default::<Fifo>(&machine(4, 250), work(LockKind::Rwsem, tasks, MS(30)));
    let all: usize = (0..3).map(|reader| served(&events, reader).len()).sum();
    assert_eq!(all, 9 + 9 + 9, "nobody waits");
    tasks = overlapping(Step::Lock(L));
    let (events, _) = run_by_default::<Fifo>(&machine(4, 250), work(LockKind::Rwsem, tasks, MS(30)));
    assert_eq!((0..3).map(|writer| served(&events, writer).len()).sum::<usize>(), 9, "writers have it one by one");

    let writer = on(3, task(&[Step::Sleep(MS(7)), Step::Lock(L), SERVED, Step::Compute(MS(2)), Step::Unlock(L)]));
    tasks = overlapping(Step::LockShared(L));
    tasks.push(writer);
    let (events, _) = run_by_default::<Fifo>(&machine(4, 250), work(LockKind::Rwsem, tasks, MS(30)));
    // The readers of 8 and 9 ms queue behind the writer. The one of 10 ms finds the lock free, and again at 13 ms; the
    // writer asks for the handoff then, and has the lock from 16 to 18 ms.
    let got = served(&events, 3);
    assert_eq!(got, [Time(16_050_000)]);
    let next = |reader| *served(&events, reader).iter().find(|at| **at > got[0]).unwrap();
    assert_eq!([0, 1, 2].map(next), [Time(21_100_000); 3], "one release lets all in");
}

/// A writer behind readers that have the lock for 5 ms. The second writer comes while spinning is off.
#[test]
fn a_writer_spins_behind_readers_for_a_limited_time() {
    let spins = |readers: u32| {
        let reader = |cpu| on(cpu, task(&[Step::LockShared(L), Step::Compute(MS(5)), Step::Unlock(L)]));
        let writer = |cpu, at| on(cpu, task(&[Step::Sleep(MS(at)), Step::Lock(L), Step::Unlock(L)]));
        let mut tasks: Vec<TaskSpec> = (0..readers).map(reader).collect();
        tasks.extend([writer(readers, 1), writer(readers + 1, 2)]);
        let machine = machine(readers + 2, 250);
        spun(&run_by_default::<Fifo>(&machine, work(LockKind::Rwsem, tasks, MS(20))).0)
    };
    assert_eq!([spins(1), spins(8), spins(40)], [Span(10_500), US(14), US(25)]);
}

#[test]
fn a_writer_spins_for_a_writer_that_runs_and_takes_the_lock_at_its_release() {
    let owner = on(0, task(&[Step::Lock(L), Step::Compute(MS(3)), Step::Unlock(L)]));
    let waiter = on(1, task(&[Step::Sleep(MS(1)), Step::Lock(L), SERVED, Step::Unlock(L)]));
    let (events, _) = run_by_default::<Fifo>(&machine(2, 250), work(LockKind::Rwsem, vec![owner, waiter], MS(20)));
    assert_eq!((served(&events, 1), spun(&events)), (vec![Time(3_000_000)], MS(2)));
}

#[test]
fn one_release_lets_256_readers_in() {
    let owner = on(0, task(&[Step::Lock(L), Step::Sleep(MS(5)), Step::Unlock(L)]));
    let reader = || task(&[Step::Sleep(MS(1)), Step::LockShared(L), SERVED, Step::Sleep(MS(3)), Step::Unlock(L)]);
    let mut tasks = vec![owner];
    tasks.extend((0..300).map(|_| reader()));
    let (events, _) = run_by_default::<Fifo>(&machine(4, 250), work(LockKind::Rwsem, tasks, MS(20)));
    let at = |event: &(Time, Event)| if let Event::Served { .. } = event.1 { Some(event.0) } else { None };
    let first = events.iter().filter_map(at).filter(|at| *at < Time(7_000_000)).count();
    assert_eq!((first, events.iter().filter_map(at).count()), (256, 300));
}

#[test]
fn who_shares_a_lock_of_one_owner_or_releases_what_it_does_not_share_is_at_fault() {
    let fault = |kind, steps: &[Step]| {
        let work = work(kind, vec![task(steps)], MS(20));
        let end = simulate::<Fifo>(&machine(1, 250), Default::default(), work, &mut (), Options::default());
        end.map_err(|fault| (fault.blame, fault.sentence)).unwrap_err()
    };
    let shares = fault(LockKind::Normal, &[Step::LockShared(L)]);
    assert_eq!(shares, (Blame::Workload, "shared lock 0, and the kind mutex has one owner".into()));
    let twice = [Step::LockShared(L), Step::Unlock(L), Step::Unlock(L)];
    assert!(fault(LockKind::Rwsem, &twice).1.contains("does not hold"));
}

/// Readers and writers that are within the section, and how often the rule of the lock was broken.
#[derive(Default)]
struct Section {
    readers: AtomicI64,
    writers: AtomicI64,
    broken: AtomicU64,
}

impl Section {
    fn pass(&self, is_writer: bool, by: i64) {
        let own = if is_writer { &self.writers } else { &self.readers };
        own.fetch_add(by, Ordering::Relaxed);
        let (readers, writers) = (self.readers.load(Ordering::Relaxed), self.writers.load(Ordering::Relaxed));
        if writers > 1 || writers == 1 && readers > 0 {
            self.broken.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// A drawn task that passes through the section twenty times. With `takes` off it does so without the lock.
fn passer(section: &Arc<Section>, rng: &mut Rng, cpus: u64, takes: bool) -> TaskSpec {
    let (section, is_writer) = (Arc::clone(section), rng.below(3) == 0);
    let lengths: Vec<Span> = (0..20).map(|_| Span(rng.within(1, 400_000))).collect();
    let (mut at, sleeps) = (0, rng.below(3) == 0);
    let next = move |_: &mut StepContext| {
        at += 1;
        let Some(&length) = lengths.get(at / 4) else { return Step::Exit };
        match (at % 4, takes) {
            (0, _) => Step::Sleep(length),
            (1, true) => {
                if is_writer {
                    Step::Lock(L)
                } else {
                    Step::LockShared(L)
                }
            }
            (2, _) => {
                section.pass(is_writer, 1);
                if sleeps { Step::Sleep(length) } else { Step::Compute(length) }
            }
            (3, _) => {
                section.pass(is_writer, -1);
                if takes { Step::Unlock(L) } else { Step::Compute(Span::ZERO) }
            }
            _ => Step::Compute(Span::ZERO),
        }
    };
    let mut spec = TaskSpec { behaviour: Box::new(next), ..task(&[]) };
    spec.task.first_cpu = CpuId(rng.below(cpus) as u32);
    if rng.below(5) == 0 { realtime(1 + rng.below(99) as u8, spec) } else { spec }
}

/// Number of times that a drawn run broke the rule of the lock, and true if everyone came to an end.
fn drawn<P: Registered>(seed: u64, takes: bool) -> (u64, bool) {
    let mut rng = Seed(seed).stream("rwsem", 0).rng();
    let cpus = 1 + rng.below(6);
    let section = Arc::new(Section::default());
    let tasks = (0..rng.within(2, 24)).map(|_| passer(&section, &mut rng, cpus, takes)).collect();
    let mut work = work(LockKind::Rwsem, tasks, MS(1));
    work.horizon = None;
    let (_, outcome) = run_by_default::<P>(&machine(cpus as u32, 250), work);
    (section.broken.load(Ordering::Relaxed), outcome.reason == End::Finished)
}

#[test]
fn no_writer_is_ever_beside_another_owner_and_nobody_sleeps_for_ever() {
    for seed in 0..400 {
        let runs = [drawn::<Eevdf>(seed, true), drawn::<Cfs>(seed, true), drawn::<Fifo>(seed, true)];
        assert_eq!(runs, [(0, true); 3], "seed {seed}");
    }
    let broken = (0..20).filter(|seed| drawn::<Eevdf>(*seed, false).0 > 0).count();
    assert!(broken > 10, "without the lock the rule breaks: {broken} of 20");
}
