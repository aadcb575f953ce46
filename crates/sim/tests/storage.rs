//! Tasks and disks on one clock: waits, their lengths, and cached pages.

use goodness_block::{Disk, Queue, QueueOptions, Storage, by_name};
use goodness_core::{
    Elevator, ElevatorAbout, Event, FileId, FileSpec, HwQueue, IoContext, IoStage, IoStep, Layer, Layout, Machine,
    MadePolicy, Operation, Piece, QueueFacts, RegisteredElevator, RequestId, Run, Seed, Span, Start, Step, StepContext,
    StorageSpec, Task, TaskSpec, Time, VolumeId, VolumeSpec, Workload,
};
use goodness_sim::{Blame, Fault, Options, Outcome, simulate_with};

const MS: u64 = 1_000_000;

fn spec(sectors: u64) -> StorageSpec {
    let piece = Piece { disk: goodness_core::DiskId(0), sector: 0, sectors };
    let file =
        |name: &str, sector, pages| FileSpec { name: name.into(), volume: VolumeId(0), sector, pages, fragments: None };
    StorageSpec {
        disks: Vec::new(),
        volumes: vec![VolumeSpec { name: "sda".into(), layout: Layout::Linear, pieces: vec![piece] }],
        files: vec![file("a", 0, 1000), file("b", 100_000, 1000)],
        cache_pages: 1000,
        ..StorageSpec::default()
    }
}

/// Runs one task per list of steps, on a disk `device` behind `elevator`. Returns the outcome and events.
fn run(device: &str, elevator: &str, programmes: Vec<Vec<Step>>) -> (Outcome, Vec<(Time, Event)>) {
    let programmes = programmes.into_iter().map(|steps| Box::new(steps.into_iter()) as Programme).collect();
    let (outcome, seen) = try_run(device, elevator, programmes);
    (outcome.unwrap(), seen)
}

type Programme = Box<dyn Iterator<Item = Step> + Send>;

fn try_run(device: &str, elevator: &str, programmes: Vec<Programme>) -> (Result<Outcome, Fault>, Vec<(Time, Event)>) {
    let device = goodness_device::by_name(device, Seed(1)).unwrap();
    try_run_on(by_name(elevator, &QueueOptions { hz: 1000, ..QueueOptions::default() }, device).unwrap(), programmes)
}

fn try_run_on(disk: Box<dyn Disk>, programmes: Vec<Programme>) -> (Result<Outcome, Fault>, Vec<(Time, Event)>) {
    let storage = spec(disk.facts().sectors.min(1 << 24));
    let disks = Storage::new(vec![disk], &storage.volumes).unwrap();
    let task = |(index, mut steps): (usize, Programme)| TaskSpec {
        name: format!("t{index}"),
        start: Start::At(Time::ZERO),
        task: Task::default(),
        behaviour: Box::new(move |_: &mut StepContext| steps.next().unwrap_or(Step::Exit)),
        judged: true,
    };
    let tasks = programmes.into_iter().enumerate().map(task).collect();
    let work = Workload { tasks, storage, horizon: Some(Time(60_000 * MS)), ..Workload::default() };
    let machine = Machine::flat(2, 1000).unwrap();
    let mut seen: Vec<(Time, Event)> = Vec::new();
    let policy = fifo(&machine);
    let outcome = simulate_with(&machine, policy, work, Some(disks), &mut seen, Options::default());
    (outcome, seen)
}

fn io(step: IoStep) -> Step {
    Step::Io(step)
}

fn submit(sector: u64) -> Step {
    io(IoStep::Submit { volume: VolumeId(0), op: Operation::Read, sector, sectors: 8, sync: true })
}

const AWAIT_ALL: Step = Step::Io(IoStep::Await { at_most: 0 });

/// End of each task.
fn ends(seen: &[(Time, Event)]) -> Vec<u64> {
    let mut ends = vec![0; 8];
    for (at, event) in seen {
        if let Event::Exit { task } = event {
            ends[task.index()] = at.0;
        }
    }
    ends
}

fn count(seen: &[(Time, Event)], stage: IoStage) -> usize {
    seen.iter().filter(|(_, event)| matches!(event, Event::Io(io) if io.stage == stage)).count()
}

fn fifo(machine: &Machine) -> MadePolicy {
    MadePolicy::of::<goodness_policies::fifo::Fifo>(machine, Default::default(), Seed(1))
}

#[test]
fn a_task_that_reads_is_blocked_for_as_long_as_the_disk_takes_and_another_has_the_cpu() {
    let reader = vec![submit(800), AWAIT_ALL, Step::Compute(Span(MS))];
    let (_, seen) = run("null:latency=5ms,depth=1", "none", vec![reader]);
    assert_eq!(ends(&seen)[0], 6 * MS);
    let off = seen.iter().any(|(_, e)| matches!(e, Event::Switch { off: goodness_core::Off::Uninterruptible, .. }));
    assert!(off, "a wait for a disk is uninterruptible");
}

#[test]
fn pieces_asked_for_in_a_row_are_under_way_together() {
    let four = vec![submit(0), submit(1000), submit(2000), submit(3000), AWAIT_ALL];
    assert_eq!(ends(&run("null:latency=5ms,depth=4", "none", vec![four.clone()]).1)[0], 5 * MS);
    assert_eq!(ends(&run("null:latency=5ms,depth=1", "none", vec![four]).1)[0], 20 * MS);
}

#[test]
fn waiting_for_all_but_two_ends_with_the_second_of_four() {
    let steps = vec![
        submit(0),
        submit(1000),
        submit(2000),
        submit(3000),
        io(IoStep::Await { at_most: 2 }),
        Step::Compute(Span(MS)),
    ];
    assert_eq!(ends(&run("null:latency=5ms,depth=1", "noop", vec![steps]).1)[0], 11 * MS);
}

#[test]
fn adjacent_pieces_of_one_plug_become_one_request() {
    let steps = vec![submit(0), submit(8), submit(16), AWAIT_ALL];
    let (_, seen) = run("null:latency=5ms,depth=4", "mq-deadline", vec![steps]);
    assert_eq!((count(&seen, IoStage::Issued), count(&seen, IoStage::Done)), (1, 3));
}

#[test]
fn pages_once_read_are_in_memory() {
    let read = |page| io(IoStep::Read { file: FileId(0), page, pages: 4 });
    let steps = vec![read(100), read(100), read(102), Step::Compute(Span(MS))];
    let (_, seen) = run("null:latency=5ms,depth=1", "none", vec![steps]);
    assert_eq!(ends(&seen)[0], 11 * MS, "the third read needs two pages more");
}

#[test]
fn a_sequential_reader_waits_less_often_than_it_reads() {
    let read = |page| io(IoStep::Read { file: FileId(0), page, pages: 1 });
    let steps = (0..64).flat_map(|page| [read(page), Step::Compute(Span(MS))]).collect();
    let (_, seen) = run("null:latency=5ms,depth=4", "none", vec![steps]);
    assert!(ends(&seen)[0] < (64 + 4 * 5) * MS, "{}", ends(&seen)[0]);
    assert!(count(&seen, IoStage::Queued) < 12);
}

#[test]
fn a_write_is_done_at_once_and_a_sync_waits_for_the_disk() {
    let write = io(IoStep::Write { file: FileId(0), page: 0, pages: 8 });
    let (_, seen) = run("null:latency=5ms,depth=1", "none", vec![vec![write.clone()]]);
    assert_eq!(ends(&seen)[0], 0);
    let (_, seen) = run("null:latency=5ms,depth=1", "none", vec![vec![write, io(IoStep::Sync { file: FileId(0) })]]);
    assert!(ends(&seen)[0] >= 5 * MS);
}

#[test]
fn what_is_dirty_is_written_back_after_thirty_seconds_to_thirty_five() {
    let write = io(IoStep::Write { file: FileId(0), page: 0, pages: 8 });
    let (_, seen) = run("null:latency=5ms,depth=1", "none", vec![vec![write, Step::Sleep(Span(50_000 * MS))]]);
    let at = seen.iter().find(|(_, e)| matches!(e, Event::Io(io) if io.stage == IoStage::Issued)).unwrap().0.0;
    assert!((30_000 * MS..=35_000 * MS).contains(&at), "{at}");
}

#[test]
fn who_writes_more_than_a_fifth_of_memory_waits_for_the_disk() {
    let write = |page| io(IoStep::Write { file: FileId(0), page, pages: 50 });
    let steps = (0..6).map(|n| write(n * 50)).collect();
    let (_, seen) = run("null:latency=5ms,depth=1", "none", vec![steps]);
    assert!(ends(&seen)[0] >= 5 * MS);
}

#[test]
fn write_back_that_nobody_waits_for_takes_the_time_of_the_disk() {
    let write = io(IoStep::Write { file: FileId(0), page: 0, pages: 150 });
    let (_, seen) = run("null:latency=5ms,depth=1", "none", vec![vec![write, Step::Compute(Span(1000 * MS))]]);
    let done = seen.iter().find(|(_, e)| matches!(e, Event::Io(io) if io.stage == IoStage::Completed)).unwrap();
    assert_eq!(done.0.0, 5 * MS, "not when somebody looks next");
}

#[test]
fn a_page_that_is_read_ahead_is_written_over_once_it_came() {
    let read = io(IoStep::Read { file: FileId(0), page: 0, pages: 1 });
    let write = io(IoStep::Write { file: FileId(0), page: 3, pages: 1 });
    let second = vec![Step::Compute(Span(MS)), write.clone(), write, Step::Sleep(Span(60_000 * MS))];
    let (outcome, seen) = run("null:latency=5ms,depth=1", "none", vec![vec![read], second]);
    let waited = seen
        .iter()
        .any(|(at, e)| at.0 == MS && matches!(e, Event::Switch { off: goodness_core::Off::Uninterruptible, .. }));
    assert!(waited, "the page is on its way");
    assert!(outcome.end.0 >= 35_000 * MS);
    assert_eq!(count(&seen, IoStage::Done), 2, "one fetch, one write");
}

#[test]
fn a_sync_covers_what_was_written_over_while_it_was_being_written() {
    let write = || io(IoStep::Write { file: FileId(0), page: 0, pages: 1 });
    let sync = || io(IoStep::Sync { file: FileId(0) });
    let late = vec![Step::Sleep(Span(2 * MS)), write(), sync()];
    let (_, seen) = run("null:latency=5ms,depth=1", "none", vec![vec![write(), sync()], late]);
    assert_eq!(ends(&seen)[..2], [5 * MS, 10 * MS]);
}

#[test]
fn who_finds_the_request_pool_full_sleeps_before_its_next_step() {
    let mut steps: Vec<Step> = (0..200).map(|n| submit(n * 1000)).collect();
    steps.push(Step::Compute(Span(MS)));
    let (_, seen) = run("null:latency=1ms,depth=1", "noop", vec![steps]);
    assert!(
        ends(&seen)[0] >= 2 * MS,
        "{}: a slot is free once a request is done, and the computing comes after it",
        ends(&seen)[0]
    );
    assert_eq!(count(&seen, IoStage::Done), 200);
}

#[test]
fn what_does_not_exist_is_the_works_fault() {
    let machine = Machine::flat(1, 1000).unwrap();
    let steps = |step: Step| {
        let mut steps = vec![step].into_iter();
        TaskSpec {
            name: "t".into(),
            start: Start::At(Time::ZERO),
            task: Task::default(),
            behaviour: Box::new(move |_: &mut StepContext| steps.next().unwrap_or(Step::Exit)),
            judged: true,
        }
    };
    let work = Workload { tasks: vec![steps(submit(0))], ..Workload::default() };
    let fault = simulate_with(&machine, fifo(&machine), work, None, &mut (), Options::default()).unwrap_err();
    assert!(fault.to_string().contains("no disk"), "{fault}");
}

#[test]
fn two_runs_of_the_same_work_are_the_same() {
    let programme = |first: u64| (0..50).flat_map(|n| [submit((n * 7919 + first) % 100_000), AWAIT_ALL]).collect();
    let once = || run("null:latency=3ms,depth=2", "deadline", vec![programme(0), programme(13)]).1;
    assert_eq!(once(), once());
}

#[test]
fn a_large_read_or_write_goes_part_by_part_of_1_mib() {
    let file = FileId(0);
    let (_, seen) = run("null:latency=1ms", "none", vec![vec![io(IoStep::Read { file, page: 0, pages: 700 })]]);
    let reads: Vec<_> = (seen.iter())
        .filter_map(|(at, event)| match event {
            Event::Io(io) if io.stage == IoStage::Queued => Some((at.0 / MS, io.sector, io.sectors)),
            _ => None,
        })
        .collect();
    assert_eq!(reads, [(0, 0, 2048), (1, 2048, 2048), (2, 4096, 1504)], "each when the one before is there");
    // 700 of 1000 pages of memory: the writer waits for the flusher amidst its step.
    let steps = vec![io(IoStep::Write { file, page: 0, pages: 700 }), io(IoStep::Sync { file })];
    let (_, seen) = run("null:latency=1ms", "none", vec![steps]);
    let written: u64 = (seen.iter())
        .map(|(_, event)| match event {
            Event::Io(io) if io.stage == IoStage::Queued && io.op == Operation::Write => u64::from(io.sectors),
            _ => 0,
        })
        .sum();
    assert_eq!((written, ends(&seen)[0] / MS >= 2), (5600, true), "all of it, and not at once");
}

#[test]
fn waiting_for_a_device_that_takes_no_time_for_ever_is_the_works_fault() {
    let round = [submit(800), AWAIT_ALL];
    let (outcome, _) = try_run("null:latency=0ns", "none", vec![Box::new(round.into_iter().cycle())]);
    let fault = outcome.unwrap_err();
    assert_eq!((fault.blame, fault.task), (Blame::Workload, Some(goodness_core::TaskId(0))));
    assert!(fault.sentence.contains("steps in a row without using time"), "{fault}");
}

goodness_core::tunables! {
    pub struct NoSettings {}
}

/// Dispatches its first request again and again.
struct Repeater(Option<RequestId>);

impl RegisteredElevator for Repeater {
    const ABOUT: ElevatorAbout =
        ElevatorAbout { name: "repeater", summary: "Repeats.", source: "This test", layer: Layer::MultiQueue };
    type Settings = NoSettings;
    fn new(_: &QueueFacts, _: NoSettings, _: Seed) -> Repeater {
        Repeater(None)
    }
}

impl Elevator for Repeater {
    fn remove(&mut self, _: &IoContext, _: RequestId) {}
    fn insert(&mut self, _: &IoContext, request: RequestId) -> Run {
        self.0.get_or_insert(request);
        Run::WhenUnplugged
    }
    fn dispatch(&mut self, _: &IoContext, _: HwQueue) -> Option<RequestId> {
        self.0
    }
    fn has_work(&self) -> bool {
        self.0.is_some()
    }
}

#[test]
fn an_elevator_that_dispatches_a_request_twice_ends_the_run_with_a_sentence() {
    let device = goodness_device::by_name("null:latency=1ms", Seed(1)).unwrap();
    let disk = Queue::of::<Repeater>(NoSettings {}, &QueueOptions::default(), device);
    let programme = vec![submit(0), submit(800), AWAIT_ALL];
    let fault = try_run_on(Box::new(disk), vec![Box::new(programme.into_iter())]).0.unwrap_err();
    assert_eq!(fault.blame, Blame::Policy);
    assert_eq!(fault.sentence, "repeater dispatched request 0, which does not wait: the device has it");
}
