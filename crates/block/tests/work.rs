//! Work that the block layer bills to CPUs: everything once, the elevators' part under the lock that they work under.

use goodness_block::{Disk, Out, QueueOptions, Work, by_name};
use goodness_core::{Effort, Io, Operation, Seed, Submitter, Time};

/// I/Os of each CPU.
const EACH: u32 = 20;

/// Work of two CPUs for random reads of two pages each, on a device with two hardware queues, behind `elevator`.
fn work(elevator: &str) -> Vec<Work> {
    let device = goodness_device::by_name("null:queues=2,depth=4", Seed(1)).unwrap();
    let options = QueueOptions { cpus: 2, ..QueueOptions::default() };
    let mut disk = by_name(elevator, &options, device).unwrap();
    let mut out = Out { work: Some(Vec::new()), ..Out::default() };
    let mut rng = Seed(3).rng();
    for number in 0..2 * EACH {
        let sector = rng.bits() % 10_000 * 1000;
        let cpu = (number % 2) as u16;
        disk.submit(Time(0), &[Io { cpu, ..Io::read(Submitter(u32::from(cpu)), sector, 16) }], &mut out);
    }
    disk.unplug(Time(0), &mut out);
    while disk.next_event() != Time::NEVER && (disk.waiting() > 0 || disk.in_flight() > 0) {
        disk.advance(disk.next_event(), &mut out);
    }
    out.work.unwrap()
}

#[test]
fn every_io_is_billed_once_to_the_cpu_that_submitted_it() {
    for elevator in goodness_elevators::ALL {
        let (name, work) = (elevator.name, work(elevator.name));
        for cpu in 0..2 {
            let sum = |part: fn(&Work) -> u32| work.iter().filter(|it| it.cpu == cpu).map(part).sum::<u32>();
            let sums = [sum(|it| it.submitted), sum(|it| it.pages), sum(|it| it.completed)];
            assert_eq!(sums, [EACH, 2 * EACH, EACH], "{name}: of CPU {cpu}");
        }
    }
}

#[test]
fn all_but_none_work_under_a_lock_and_kyber_under_one_for_each_hardware_queue() {
    for elevator in goodness_elevators::ALL {
        let (name, work) = (elevator.name, work(elevator.name));
        let sum = |part: fn(&Work) -> u32| work.iter().map(part).sum::<u32>();
        let (queued, effort) = (sum(|it| it.queued), sum(|it| it.effort.iter().sum()));
        let mut locks: Vec<_> = work.iter().filter_map(|it| it.lock).collect();
        locks.sort_unstable();
        locks.dedup();
        match name {
            "none" => assert_eq!((locks, queued, effort), (vec![], 0, 0)),
            "kyber" => {
                assert!(locks == [0, 1] && queued == 2 * EACH && effort > 2 * EACH, "{locks:?} {queued} {effort}")
            }
            _ => {
                assert!(locks == [0] && queued == 2 * EACH && effort > 2 * EACH, "{name}: {locks:?} {queued} {effort}")
            }
        }
    }
}

/// A disk behind `elevator` with room for what it says that CPUs did.
fn disk(elevator: &str) -> (impl Disk, Out) {
    let device = goodness_device::by_name("null:queues=2,depth=4", Seed(1)).unwrap();
    let options = QueueOptions { cpus: 2, ..QueueOptions::default() };
    (by_name(elevator, &options, device).unwrap(), Out { work: Some(Vec::new()), ..Out::default() })
}

/// Effort of the bills for `cpu`, all of which are for that CPU.
fn effort_of(cpu: u16, out: &mut Out) -> u32 {
    let bills: Vec<Work> = out.work.as_mut().unwrap().drain(..).collect();
    assert!(bills.iter().all(|it| it.cpu == cpu), "{bills:?}");
    bills.iter().flat_map(|it| it.effort).sum()
}

#[test]
fn who_plugs_a_queue_pays_for_its_run_by_a_waiting_submitter_or_by_the_timer() {
    for waits in [true, false] {
        let (mut disk, mut out) = disk("deadline");
        disk.submit(Time(0), &[Io { cpu: 1, ..Io::read(Submitter(0), 0, 8) }], &mut out);
        effort_of(1, &mut out);
        match waits {
            true => disk.unplug(Time(1), &mut out),
            false => disk.advance(disk.next_event(), &mut out),
        }
        assert_eq!(disk.in_flight(), 1);
        assert!(effort_of(1, &mut out) > 0, "waits: {waits}");
    }
}

#[test]
fn a_discard_moves_no_page() {
    let discard = Io { op: Operation::Discard, sync: false, ..Io::read(Submitter(0), 0, u32::MAX) };
    assert_eq!(Work::of_submission(&discard), Work { submitted: 1, ..Work::default() });
}

#[test]
fn kyber_counts_nothing_for_queues_that_have_nothing() {
    // An insertion; a domain looked at, two lists and a token.
    let (mut disk, mut out) = disk("kyber");
    disk.submit(Time(0), &[Io::read(Submitter(0), 0, 8)], &mut out);
    let effort: Vec<_> = out.work.unwrap().iter().map(|it| it.effort[Effort::Search as usize]).collect();
    assert_eq!(effort, [1]);
}
