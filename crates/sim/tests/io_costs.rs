//! CPU time of block I/O: who pays, when the task goes on, and who waits for whose lock.

use goodness_block::{QueueOptions, Storage, by_name};
use goodness_core::*;
use goodness_sim::{Options, simulate_with};

const MS: Span = Span::from_ms(1);
const NOTHING: Span = Span::ZERO;

/// The events of `tasks` tasks, one a CPU, which each read `reads` times from a device that takes 5 ms.
fn run(tasks: u32, reads: usize, elevator: &str, queues: u32, io: IoCosts) -> Vec<(Time, Event)> {
    let device = goodness_device::by_name(&format!("null:latency=5ms,depth=64,queues={queues}"), Seed(1)).unwrap();
    let options = QueueOptions { hz: 1000, cpus: tasks as u16, ..QueueOptions::default() };
    let disk = by_name(elevator, &options, device).unwrap();
    let piece = Piece { disk: DiskId(0), sector: 0, sectors: disk.facts().sectors };
    let volume = VolumeSpec { name: "sda".into(), layout: Layout::Linear, pieces: vec![piece] };
    let disks = Storage::new(vec![disk], std::slice::from_ref(&volume)).unwrap();
    let disk = DiskSpec {
        name: "sda".into(),
        device: "null".into(),
        sample: None,
        elevator: None,
        service: DiskSpec::AS_MODELLED,
    };
    let storage = StorageSpec { disks: vec![disk], volumes: vec![volume], ..StorageSpec::default() };
    let task = |number: u32| {
        let read = move |index: usize| {
            let sector = u64::from(number) * 100_000 + index as u64 * 1000;
            let submit = IoStep::Submit { volume: VolumeId(0), op: Operation::Read, sector, sectors: 8, sync: true };
            [Step::Io(submit), Step::Io(IoStep::Await { at_most: 0 })]
        };
        let mut steps = (0..reads).flat_map(read).chain([Step::Compute(MS)]);
        TaskSpec {
            name: format!("t{number}"),
            start: Start::At(Time::ZERO),
            task: Task { affinity: CpuSet::of(&[CpuId(number)]), first_cpu: CpuId(number), ..Task::default() },
            behaviour: Box::new(move |_: &mut StepContext| steps.next().unwrap_or(Step::Exit)),
            judged: true,
        }
    };
    let work = Workload {
        tasks: (0..tasks).map(task).collect(),
        storage,
        horizon: Some(Time(60_000_000_000)),
        ..Workload::default()
    };
    let mut machine = Machine::flat(tasks, 1000).unwrap();
    machine.costs.io = io;
    let policy = MadePolicy::of::<goodness_policies::fifo::Fifo>(&machine, Default::default(), Seed(1));
    let mut seen = Vec::new();
    simulate_with(&machine, policy, work, Some(disks), &mut seen, Options::default()).unwrap();
    seen
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
