//! CPU time of block I/O: who pays, when the task goes on, and who waits for whose lock.

use goodness_block::{QueueOptions, Storage, by_name};
use goodness_core::*;
use goodness_sim::{Options, simulate_with};

const MS: Span = Span::from_ms(1);
const NOTHING: Span = Span::ZERO;

/// A read of 4 KiB by task `number`, its `index`-th.
fn read(number: usize, index: usize) -> Step {
    let sector = number as u64 * 100_000 + index as u64 * 1000;
    Step::Io(IoStep::Submit { volume: VolumeId(0), op: Operation::Read, sector, sectors: 8, sync: true })
}

const AWAIT: Step = Step::Io(IoStep::Await { at_most: 0 });

/// The events of `tasks` tasks, one a CPU, which each read `reads` times from a device that takes 5 ms.
fn run(tasks: u32, reads: usize, elevator: &str, queues: u32, io: IoCosts) -> Vec<(Time, Event)> {
    let one = |number| (0..reads).flat_map(|index| [read(number, index), AWAIT]).chain([Step::Compute(MS)]).collect();
    perform((0..tasks as usize).map(one).collect(), elevator, queues, io)
}

/// The events of tasks with these steps, one a CPU, on a device that takes 5 ms and has a file.
fn perform(all: Vec<Vec<Step>>, elevator: &str, queues: u32, io: IoCosts) -> Vec<(Time, Event)> {
    perform_as(all, elevator, queues, io, false)
}

/// The same; if `serves_ios`, I/Os are requests.
fn perform_as(all: Vec<Vec<Step>>, elevator: &str, queues: u32, io: IoCosts, serves_ios: bool) -> Vec<(Time, Event)> {
    let tasks = all.len() as u32;
    let device = goodness_device::by_name(&format!("null:latency=5ms,depth=64,queues={queues}"), Seed(1)).unwrap();
    let options = QueueOptions { hz: 1000, cpus: tasks as u16, ..QueueOptions::default() };
    let disk = by_name(elevator, &options, device).unwrap();
    let piece = Piece { disk: DiskId(0), sector: 0, sectors: disk.facts().sectors };
    let volume = VolumeSpec { name: "sda".into(), layout: Layout::Linear, pieces: vec![piece] };
    let disks = Storage::new(vec![disk], std::slice::from_ref(&volume)).unwrap();
    let disk = DiskSpec::of("sda", "null");
    let file = FileSpec { name: "f".into(), volume: VolumeId(0), sector: 0, pages: 4096, fragments: None };
    let (disks_of_run, disks) = (disks, vec![disk]);
    let storage = StorageSpec { disks, volumes: vec![volume], files: vec![file], cache_pages: 1024, serves_ios };
    let task = |(number, steps): (u32, Vec<Step>)| {
        let mut steps = steps.into_iter();
        TaskSpec {
            name: format!("t{number}"),
            start: Start::At(Time::ZERO),
            task: Task { affinity: CpuSet::of(&[CpuId(number)]), first_cpu: CpuId(number), ..Task::default() },
            behaviour: Box::new(move |_: &mut StepContext| steps.next().unwrap_or(Step::Exit)),
            judged: true,
        }
    };
    let work = Workload {
        tasks: (0..).zip(all).map(task).collect(),
        storage,
        horizon: Some(Time(60_000_000_000)),
        ..Workload::default()
    };
    let mut machine = Machine::flat(tasks, 1000).unwrap();
    machine.costs.io = io;
    let policy = MadePolicy::of::<goodness_policies::rr::RoundRobin>(&machine, Default::default(), Seed(1));
    let mut seen = Vec::new();
    simulate_with(&machine, policy, work, Some(disks_of_run), &mut seen, Options::default()).unwrap();
    seen
}

/// Time that CPU 0 was busy: slices, and what it did while it ran nothing. Asserts that nothing is reported before it
/// has passed.
fn busy(seen: &[(Time, Event)]) -> Span {
    let (mut total, mut since, mut runs, mut reported) = (NOTHING, Time::ZERO, false, NOTHING);
    for (at, event) in seen {
        match *event {
            Event::Switch { cpu: CpuId(0), next, .. } => {
                total += if runs { at.since(since) } else { reported };
                (since, runs, reported) = (*at, next.is_some(), NOTHING);
            }
            Event::Overhead { cpu: CpuId(0), span, .. } => {
                reported += span;
                assert!(reported <= at.since(since), "{reported} of overhead since {since}, at {at}");
            }
            _ => {}
        }
    }
    total + if runs { NOTHING } else { reported }
}

/// End of the last task.
fn end(seen: &[(Time, Event)]) -> Span {
    let ends = seen.iter().filter(|(_, event)| matches!(event, Event::Exit { .. })).map(|(at, _)| at.0);
    Span(ends.max().unwrap())
}

/// CPU time of this kind.
fn spent(seen: &[(Time, Event)], of: Overhead) -> Span {
    let spans = seen.iter().filter_map(|(_, event)| match event {
        Event::Overhead { kind, span, .. } if *kind == of => Some(*span),
        _ => None,
    });
    spans.fold(NOTHING, |sum, span| sum + span)
}

#[test]
fn a_cpu_works_for_a_submission_before_the_device_and_for_a_completion_behind_it() {
    let io = IoCosts { submit: MS, page: MS, complete: MS * 3, ..IoCosts::default() };
    let seen = run(1, 1, "none", 1, io);
    // 1 + 1 ms submitting, 5 ms of the device, 3 ms completing, 1 ms computing.
    assert_eq!((end(&seen), spent(&seen, Overhead::Io)), (MS * 11, MS * 5));
    let seen = run(1, 1, "none", 1, IoCosts::default());
    assert_eq!((end(&seen), spent(&seen, Overhead::Io)), (MS * 6, NOTHING));
}

/// Three I/Os are done together after 5 ms. The task takes one each time that it waits, as few as it must, and computes
/// for 1 ms in between. The control: I/Os that are no requests.
#[test]
fn an_io_that_is_a_request_is_served_when_its_task_takes_it() {
    let leave = |at_most| Step::Io(IoStep::Await { at_most });
    let latencies = |io: IoCosts, serves_ios| -> Vec<(Time, Span)> {
        let reads = (0..3).map(|index| read(0, index));
        let takes = [leave(2), Step::Compute(MS), leave(1), Step::Compute(MS), AWAIT];
        let seen = perform_as(vec![reads.chain(takes).collect()], "none", 1, io, serves_ios);
        let of = |(at, event): &(Time, Event)| match event {
            Event::Served { latency, .. } => Some((*at, *latency)),
            _ => None,
        };
        seen.iter().filter_map(of).collect()
    };
    let free = latencies(IoCosts::default(), true);
    assert_eq!(free, [5, 6, 7].map(|ms| (Time(ms * MS.0), Span(ms * MS.0))));
    assert_eq!(latencies(IoCosts::default(), false), []);
    // A flush is no request.
    let flush =
        Step::Io(IoStep::Submit { volume: VolumeId(0), op: Operation::Flush, sector: 0, sectors: 0, sync: true });
    let seen = perform_as(vec![vec![flush, AWAIT, read(0, 0), AWAIT]], "none", 1, IoCosts::default(), true);
    let served = |it: &&(Time, Event)| matches!(it.1, Event::Served { .. });
    assert_eq!(seen.iter().filter(served).count(), 1);
    // Submission comes before a latency begins, and the work of completions belongs to it.
    let costs = IoCosts { submit: MS, complete: MS, ..IoCosts::default() };
    let first = latencies(costs, true)[0];
    assert_eq!(first, (Time(11 * MS.0), Span(8 * MS.0)), "three are submitted, take 5 ms, and are completed");
}

#[test]
fn only_those_pay_for_an_elevator_who_have_one() {
    let mut io = IoCosts { request: MS, ..IoCosts::default() };
    io.effort[Effort::Insert as usize] = Span::from_us(1);
    let of = |elevator| spent(&run(1, 10, elevator, 1, io.clone()), Overhead::Io);
    assert_eq!(of("none"), NOTHING);
    // A request through kyber passes three lists, through mq-deadline two lists and a tree of one, twice.
    assert_eq!(of("kyber"), (MS + Span::from_us(3)) * 10);
    assert_eq!(of("mq-deadline"), (MS + Span::from_us(6)) * 10);
}

#[test]
fn submitters_wait_for_the_one_lock_of_a_device_and_not_for_those_of_other_queues() {
    let io = IoCosts { effort: [Span::from_us(50); 4], ..IoCosts::default() };
    let waited = |elevator, queues| spent(&run(4, 3, elevator, queues, io.clone()), Overhead::IoLock);
    assert_eq!([waited("none", 1), waited("none", 4), waited("kyber", 4)], [NOTHING; 3]);
    for (elevator, queues) in [("mq-deadline", 1), ("mq-deadline", 4), ("bfq", 4), ("kyber", 1)] {
        assert!(waited(elevator, queues) > NOTHING, "{elevator} on {queues} hardware queues");
    }
}

#[test]
fn a_backlog_of_one_cpu_does_not_hold_the_lock_before_its_time() {
    // 16 requests of CPU 0 and one of CPU 1 complete at once.
    let reads = |number, count| (0..count).map(|index| read(number, index)).chain([AWAIT]).collect();
    let io = IoCosts { complete: Span::from_us(3), effort: [Span(50); 4], ..IoCosts::default() };
    let seen = perform(vec![reads(0, 16), reads(1, 1)], "kyber", 1, io);
    let waits = seen.iter().filter_map(|(_, event)| match event {
        Event::Overhead { cpu: CpuId(1), kind: Overhead::IoLock, span } => Some(*span),
        _ => None,
    });
    // The other's longest hold: the insertion and dispatch of 16 requests by 4 elements.
    let longest = waits.max().unwrap_or(NOTHING);
    assert!(longest <= Span(16 * 5 * 50), "waited {longest}");
}

#[test]
fn all_cpu_time_of_io_is_busy_time_and_reported_as_it_passes() {
    let io = IoCosts { submit: MS, page: MS, complete: MS * 3, effort: [MS; 4], ..IoCosts::default() };
    let file = FileId(0);
    let (page, pages) = (0, 40);
    let buffered = [IoStep::Read { file, page, pages }, IoStep::Write { file, page, pages }, IoStep::Sync { file }];
    let direct = (0..9).map(|index| read(0, index)).chain([Step::Compute(MS), AWAIT, Step::Compute(MS)]);
    let buffered = buffered.map(Step::Io).into_iter().chain([Step::Compute(MS), Step::Compute(MS)]);
    for steps in [direct.collect::<Vec<_>>(), buffered.collect()] {
        for elevator in ["none", "mq-deadline", "kyber", "bfq", "cfq", "deadline"] {
            let seen = perform(vec![steps.clone()], elevator, 1, io.clone());
            assert_eq!(busy(&seen), spent(&seen, Overhead::Io) + MS * 2, "{elevator}, {:?}", steps[0]);
        }
    }
}

#[test]
fn the_flusher_writes_no_faster_than_its_cpu_can() {
    let io = IoCosts { submit: MS * 10, ..IoCosts::default() };
    let write = |_| Step::Io(IoStep::Write { file: FileId(0), page: 0, pages: 1024 });
    // The second CPU dirties pages; the first has nothing else to do than to write them.
    let writer = (0..50).map(write).chain([Step::SleepUntil(Time(40_000_000_000))]).collect();
    let seen = perform(vec![vec![Step::SleepUntil(Time(40_000_000_000))], writer], "none", 1, io);
    let done = seen.iter().filter(|(_, event)| matches!(event, Event::Io(io) if io.stage == IoStage::Done));
    let ahead = (0..).zip(done).map(|(before, (at, _))| (MS * 10 * before).saturating_sub(Span(at.0)));
    // It waits for its CPU after each batch of some MiB.
    let most = ahead.max().unwrap();
    assert!(most <= MS * 100, "{most} ahead");
}

#[test]
fn a_slice_that_ends_during_the_submission_does_not_hurry_it() {
    let io = IoCosts { submit: MS, ..IoCosts::default() };
    let reads = (0..300).map(|index| read(0, index)).chain([AWAIT]).collect();
    let seen = perform(vec![reads], "none", 1, io);
    let first = seen.iter().find(|(_, event)| matches!(event, Event::Io(io) if io.stage == IoStage::Issued));
    assert_eq!(first.unwrap().0, Time(300_000_000));
    assert_eq!(busy(&seen), MS * 300);
}
