//! Write-back belongs to the task that wrote, and to its group: limits of the group hold it, and nobody else's.

use goodness_block::{QueueOptions, Storage, Throttle, by_name};
use goodness_core::{
    DiskId, Event, FileId, FileSpec, Group, GroupId, Groups, IoLimit, IoStage, IoStep, Layout, Machine, MadePolicy,
    Operation, Piece, Seed, Span, Start, Step, StepContext, StorageSpec, Task, TaskSpec, Time, VolumeId, VolumeSpec,
    Workload,
};
use goodness_sim::{Options, simulate_with};

/// 1 MiB in pages.
const MIB: u32 = 256;
const MIB_BYTES: u64 = 1 << 20;
/// Size of each file in MiB.
const FILE: u32 = 1000;
const SECONDS: u64 = 10;

/// A task of `group` that writes a MiB to `file` every ten milliseconds, over and over.
fn writer(group: GroupId, file: FileId) -> TaskSpec {
    let mut steps = (0..FILE).cycle().flat_map(move |at| {
        let write = IoStep::Write { file, page: at * MIB, pages: MIB };
        [Step::Io(write), Step::Compute(Span::from_ms(1)), Step::Sleep(Span::from_ms(9))]
    });
    TaskSpec {
        name: format!("writer-{}", file.0),
        start: Start::At(Time::ZERO),
        task: Task { group, ..Task::default() },
        behaviour: Box::new(move |_: &mut StepContext| steps.next().expect("without end")),
        judged: true,
    }
}

/// Two writers, each in a group and with a file of its own, for ten seconds; the first group has the limit. Returns
/// what was written back for each in MiB.
fn written(limit: &str) -> [u64; 2] {
    let mut groups = Groups::default();
    let limited = Group { io_max: Some(IoLimit::parse(limit).unwrap()), ..Group::new("limited", GroupId::ROOT) };
    let owners = [groups.add(limited), groups.add(Group::new("free", GroupId::ROOT))];
    let device = goodness_device::by_name("null:latency=1ms,depth=32", Seed(1)).unwrap();
    let disk = Throttle::around(by_name("none", &QueueOptions::default(), device).unwrap(), DiskId(0), &groups);
    let piece = Piece { disk: DiskId(0), sector: 0, sectors: 1 << 24 };
    let file = |number: u32| FileSpec {
        name: number.to_string(),
        volume: VolumeId(0),
        sector: u64::from(number) << 22,
        pages: FILE * MIB,
        fragments: None,
    };
    let storage = StorageSpec {
        disks: Vec::new(),
        volumes: vec![VolumeSpec { name: "sda".into(), layout: Layout::Linear, pieces: vec![piece] }],
        files: vec![file(0), file(1)],
        // 400 MiB: the flusher begins at 40, writers wait at 80.
        cache_pages: 400 * MIB,
        ..StorageSpec::default()
    };
    let disks = Storage::new(vec![disk], &storage.volumes).unwrap();
    let tasks = (0..2).map(|number| writer(owners[number as usize], FileId(number))).collect();
    let horizon = Some(Time::ZERO + Span::from_s(SECONDS));
    let work = Workload { tasks, storage, groups, horizon, ..Workload::default() };
    let machine = Machine::flat(2, 1000).unwrap();
    let policy = MadePolicy::of::<goodness_policies::fifo::Fifo>(&machine, Default::default(), Seed(1));
    let mut seen: Vec<(Time, Event)> = Vec::new();
    simulate_with(&machine, policy, work, Some(disks), &mut seen, Options::default()).unwrap();
    let mut sectors = [0, 0];
    for (_, event) in &seen {
        if let Event::Io(io) = event
            && (io.stage, io.op) == (IoStage::Done, Operation::Write)
        {
            assert_eq!(io.submitter.0, 2, "the flusher submits it");
            sectors[io.owner.index()] += u64::from(io.sectors);
        }
    }
    sectors.map(|sectors| sectors * 512 / MIB_BYTES)
}

#[test]
fn a_limit_holds_the_write_back_of_its_group_alone() {
    let [limited, free] = written("wbps=10M");
    assert!((90..=102).contains(&limited), "10 MiB a second: {limited}");
    // It writes 1000 MiB, of which up to 80 may still be dirty.
    assert!(free >= 900, "the other group goes on: {free}");
    // The control: without a limit of writes both are equal.
    let [limited, free] = written("rbps=10M");
    assert!(limited >= 900 && free >= 900, "{limited} {free}");
}
