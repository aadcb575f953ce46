//! Work recovered from small traces, and its replay.

use super::{BlockReplay, DEFAULT_DEVICE, Events, Lost, Options};
use crate::{Arrivals, Ends};
use goodness_core::{IoStep, Operation, Seed, Step, StepContext, TaskId, Time, WorkloadSource};
use goodness_trace::Input;
use goodness_trace::block::read_block;

const US: u64 = 1_000;

/// A line of ftrace: `us` after the first second, by thread `pid`.
fn line(us: u64, pid: u32, event: &str, place: &str) -> String {
    let tail = if event == "block_rq_complete" { "[0]" } else { "[dd]" };
    let bytes = match event {
        "block_bio_queue" => "",
        "block_rq_complete" => "() ",
        _ => "4096 () ",
    };
    let (letters, place) = place.split_once(' ').expect("letters, then the place");
    format!("dd-{pid} [000] ..... 1.{us:06}: {event}: 8,0 {letters} {bytes}{place} {tail}\n")
}

fn queue(us: u64, pid: u32, place: &str) -> String {
    line(us, pid, "block_bio_queue", place)
}

fn issue(us: u64, pid: u32, place: &str) -> String {
    line(us, pid, "block_rq_issue", place)
}

fn complete(us: u64, place: &str) -> String {
    line(us, 0, "block_rq_complete", place)
}

fn read(lines: &[String], options: &Options) -> Result<BlockReplay, String> {
    let text = lines.concat();
    BlockReplay::read("t", || read_block(vec![Input::bytes("t", text.as_bytes()).expect("plain text")]), options)
}

fn recovered(lines: &[String]) -> BlockReplay {
    read(lines, &ONCE).unwrap_or_else(|why| panic!("{why}"))
}

/// The recorded I/O, and no more.
const ONCE: Options = Options { arrivals: Arrivals::Delays, events: Events::Queue, device: None, ends: Ends::Recorded };

/// The steps of a task, all at the same instant.
fn steps(replay: &BlockReplay, task: usize) -> Vec<Step> {
    let mut work = replay.build(Seed(1), 0);
    let behaviour = &mut work.tasks[task].behaviour;
    let mut rng = Seed(1).rng();
    let mut steps = Vec::new();
    while steps.last() != Some(&Step::Exit) {
        steps.push(behaviour.next(&mut StepContext { now: Time::ZERO, task: TaskId(task as u32), rng: &mut rng }));
    }
    steps
}

/// The steps as text: `await n`, `sleep us`, `until us`, `read sector`, …
fn told(replay: &BlockReplay, task: usize) -> Vec<String> {
    let tell = |step: &Step| match step {
        Step::Io(IoStep::Await { at_most }) => format!("await {at_most}"),
        Step::Io(IoStep::Submit { op, sector, .. }) => format!("{} {sector}", op.name()),
        Step::Sleep(span) => format!("sleep {}", span.0 / US),
        Step::SleepUntil(at) => format!("until {}", at.0 / US),
        Step::Exit => "exit".into(),
        other => format!("{other:?}"),
    };
    steps(replay, task).iter().map(tell).collect()
}

/// Two sequential reads, with 50 µs of think time between them.
fn chain() -> Vec<String> {
    vec![
        queue(0, 9, "R 8 + 8"),
        issue(5, 9, "R 8 + 8"),
        complete(105, "R 8 + 8"),
        queue(155, 9, "R 64 + 8"),
        issue(160, 9, "R 64 + 8"),
        complete(260, "R 64 + 8"),
    ]
}

#[test]
fn a_read_after_a_completion_waits_for_it_and_thinks_as_long() {
    let replay = recovered(&chain());
    assert_eq!(told(&replay, 0), ["read 8", "await 0", "sleep 50", "read 64", "await 0", "exit"]);
    assert_eq!((replay.pieces(), replay.id_of(TaskId(0)), replay.lost), (2, 9, Lost::default()));
}

#[test]
fn what_is_kept_in_flight_stays_as_deep_as_recorded() {
    let replay = recovered(&[
        queue(0, 9, "R 0 + 8"),
        queue(200, 9, "R 100 + 8"),
        queue(400, 9, "R 200 + 8"),
        complete(500, "R 100 + 8"),
        queue(530, 9, "R 300 + 8"),
        complete(600, "R 0 + 8"),
        complete(640, "R 200 + 8"),
        queue(650, 9, "R 400 + 8"),
        complete(700, "R 300 + 8"),
        complete(710, "R 400 + 8"),
    ]);
    let expected = [
        "read 0",
        "await 2",
        "sleep 200",
        "read 100",
        "await 2",
        "sleep 200",
        "read 200",
        "await 2",
        "sleep 30",
        "read 300",
        "await 2",
        "sleep 50",
        "read 400",
        "await 0",
        "exit",
    ];
    assert_eq!(told(&replay, 0), expected);
}

#[test]
fn arrivals_a_few_microseconds_apart_are_plugged_together() {
    let replay = recovered(&[
        queue(0, 9, "R 0 + 8"),
        queue(4, 9, "R 8 + 8"),
        queue(8, 9, "R 16 + 8"),
        complete(100, "R 0 + 24"),
        queue(130, 9, "W 0 + 8"),
        complete(200, "W 0 + 8"),
    ]);
    assert_eq!(told(&replay, 0), ["read 0", "read 8", "read 16", "await 0", "sleep 30", "write 0", "await 0", "exit"]);
}

#[test]
fn submitters_do_not_wait_for_each_others_pieces() {
    let replay = recovered(&[
        queue(0, 9, "R 0 + 8"),
        queue(100, 7, "R 1000 + 8"),
        complete(150, "R 0 + 8"),
        complete(300, "R 1000 + 8"),
        queue(350, 7, "R 1008 + 8"),
        complete(400, "R 1008 + 8"),
    ]);
    assert_eq!(told(&replay, 0), ["read 0", "await 0", "exit"]);
    assert_eq!(told(&replay, 1), ["read 1000", "await 0", "sleep 50", "read 1008", "await 0", "exit"]);
    let work = replay.build(Seed(1), 0);
    assert_eq!(work.tasks[1].start, goodness_core::Start::At(Time(100 * US)));
}

#[test]
fn an_open_loop_submits_at_the_recorded_times() {
    let options = Options { arrivals: Arrivals::Recorded, ..ONCE };
    let replay = read(&chain(), &options).unwrap();
    assert_eq!(told(&replay, 0), ["read 8", "until 155", "read 64", "await 0", "exit"]);
}

#[test]
fn a_trace_without_completions_is_an_open_loop_on_the_default_disk() {
    let text = "0.100000 0 1234 8 1\n0.300000 0 99 8 0\n";
    let open = || read_block(vec![Input::bytes("t", text.as_bytes()).expect("plain text")]);
    let replay = BlockReplay::read("t", open, &ONCE).unwrap();
    assert_eq!(told(&replay, 0), ["read 1234", "until 200", "write 99", "await 0", "exit"]);
    let work = replay.build(Seed(1), 0);
    assert_eq!((work.storage.disks[0].device.as_str(), &work.storage.disks[0].sample), (DEFAULT_DEVICE, &None));
    assert!(replay.notes.iter().any(|note| note.contains("no completions")), "{:?}", replay.notes);
}

#[test]
fn response_times_within_arrivals_close_the_loop() {
    let text = "128166372003061629,usr,0,Read,4096,4096,1000\n128166372003063629,usr,0,Write,8192,4096,500\n";
    let open = || read_block(vec![Input::bytes("t", text.as_bytes()).expect("plain text")]);
    let replay = BlockReplay::read("t", open, &ONCE).unwrap();
    assert_eq!(told(&replay, 0), ["read 8", "await 0", "sleep 100", "write 16", "await 0", "exit"]);
}

#[test]
fn the_disk_of_a_trace_takes_the_traces_own_service_times() {
    let work = recovered(&chain()).build(Seed(1), 0);
    let sample = work.storage.disks[0].sample.as_ref().expect("the trace has completions");
    assert_eq!(
        sample.services.iter().map(|s| (s.op, s.sectors, s.span.0)).collect::<Vec<_>>(),
        [(Operation::Read, 8, 100 * US), (Operation::Read, 8, 100 * US)]
    );
    assert_eq!((&sample.speeds[..], sample.facts.depth, sample.facts.rotational), (&[1000][..], 1, false));
}

#[test]
fn issues_are_replayed_for_who_queued_their_pieces() {
    let lines = [
        queue(0, 9, "R 8 + 8"),
        queue(20, 9, "R 16 + 8"),
        issue(40, 77, "R 8 + 16"),
        complete(140, "R 8 + 16"),
        issue(190, 77, "W 64 + 8"),
        complete(240, "W 64 + 8"),
    ];
    let replay = read(&lines, &Options { events: Events::Issue, ..ONCE }).unwrap();
    assert_eq!(told(&replay, 0), ["read 8", "await 0", "exit"]);
    assert_eq!((replay.id_of(TaskId(0)), replay.id_of(TaskId(1))), (9, 77));
    let refused = read(&[queue(0, 9, "R 8 + 8")], &Options { events: Events::Issue, ..ONCE });
    let why = refused.err().expect("there is no issue");
    assert!(why.contains("--block-events issue") && why.contains("no issues"), "{why}");
    let refused = read(&[issue(0, 9, "R 8 + 8"), complete(10, "R 8 + 8")], &ONCE);
    let why = refused.err().expect("there is no arrival");
    assert!(why.ends_with("no arrival of the trace can be replayed; replay issues with --block-events issue"), "{why}");
}

#[test]
fn pieces_beyond_the_device_are_wrapped_into_it_and_counted() {
    let lines = [queue(0, 9, "R 99999999999 + 8"), complete(10, "R 99999999999 + 8")];
    let options = Options { device: Some("null:sectors=2048".into()), ..ONCE };
    let replay = read(&lines, &options).unwrap_or_else(|why| panic!("{why}"));
    let work = replay.build(Seed(1), 0);
    let size = work.storage.volumes[0].sectors();
    let Step::Io(IoStep::Submit { sector, sectors, .. }) = steps(&replay, 0)[0] else { panic!("a read comes first") };
    assert!(sector + u64::from(sectors) <= size, "{sector} + {sectors} of {size}");
    assert_eq!(replay.lost.wrapped, 1);
}

#[test]
fn what_a_stacked_disk_hands_on_is_replayed_once_and_a_partition_is_its_disk() {
    let on = |device: &str, text: String| text.replace(" 8,0 ", &format!(" {device} "));
    let replay = recovered(&[
        on("253,0", queue(0, 9, "R 8 + 8")),
        on("8,1", queue(2, 9, "R 2056 + 8")),
        issue(5, 9, "R 2056 + 8"),
        complete(105, "R 2056 + 8"),
        on("253,0", queue(155, 9, "R 64 + 8")),
        on("8,1", queue(156, 9, "R 2112 + 8")),
        issue(160, 9, "R 2112 + 8"),
        complete(260, "R 2112 + 8"),
    ]);
    assert_eq!(told(&replay, 0), ["read 2056", "await 0", "sleep 51", "read 2112", "await 0", "exit"]);
    assert_eq!((replay.build(Seed(1), 0).storage.disks.len(), replay.lost.stacked), (1, 2));
    // Without issues, a disk of another driver that hands on is stacked.
    let replay = recovered(&[
        on("253,0", queue(0, 9, "R 8 + 8")),
        line(1, 9, "block_bio_remap", "R 2056 + 8 <- (253,0) 8"),
        queue(2, 9, "R 2056 + 8"),
        complete(105, "R 2056 + 8"),
    ]);
    assert_eq!((told(&replay, 0)[0].as_str(), replay.lost.stacked), ("read 2056", 1));
}
