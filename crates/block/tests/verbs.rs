//! Calls of the block layer to the elevator, and the effect of the answers.

use goodness_block::{Disk, Out, Outcome, Queue, QueueOptions};
use goodness_core::{
    Allocate, Elevator, ElevatorAbout, HwQueue, Io, IoContext, IoStage, Layer, QueueFacts, RegisteredElevator,
    RequestId, Run, Seed, Span, Submitter, Time,
};
use std::cell::RefCell;
use std::collections::VecDeque;

const MS: u64 = 1_000_000;

goodness_core::tunables! {
    pub struct Settings {
        /// True if a plugged queue is run after each request.
        now: bool = false;
        /// Timer after each request; 0 for none.
        timer: Span = Span::ZERO;
        /// Slots it allows to be taken.
        slots: u64 = 1000;
        /// Slots it allows a process to take.
        slots_each: u64 = 1000;
    }
}

/// A FIFO elevator that follows its settings and logs its calls.
struct Obedient {
    settings: Settings,
    waiting: VecDeque<RequestId>,
    has: [u64; 10],
    timer: Option<Time>,
}

thread_local! {
    /// Log of this test's elevator: completions, and exits by submitter.
    static TOLD: RefCell<(u32, Vec<Submitter>)> = RefCell::default();
}

fn completed() -> u32 {
    TOLD.with_borrow(|(completed, _)| *completed)
}

impl RegisteredElevator for Obedient {
    const ABOUT: ElevatorAbout =
        ElevatorAbout { name: "obedient", summary: "Order of arrival.", source: "This test", layer: Layer::Legacy };
    type Settings = Settings;
    fn requests(_: &Settings, facts: &QueueFacts) -> u32 {
        facts.requests / 2
    }
    fn new(_: &QueueFacts, settings: Settings, _: Seed) -> Obedient {
        Obedient { settings, waiting: VecDeque::new(), has: [0; 10], timer: None }
    }
}

impl Elevator for Obedient {
    fn remove(&mut self, _: &IoContext, request: RequestId) {
        self.waiting.retain(|other| *other != request);
    }
    fn may_allocate(&self, _: &IoContext, io: &Io, used: u32) -> Allocate {
        let may = u64::from(used) < self.settings.slots && self.has[io.submitter.index()] < self.settings.slots_each;
        if may { Allocate::AsUsual } else { Allocate::Wait }
    }
    fn insert(&mut self, cx: &IoContext, request: RequestId) -> Run {
        self.waiting.push_back(request);
        self.has[cx.requests[request].submitter.index()] += 1;
        self.timer = (self.settings.timer != Span::ZERO).then(|| cx.now + self.settings.timer);
        if self.settings.now { Run::Now } else { Run::WhenUnplugged }
    }
    fn dispatch(&mut self, _: &IoContext, _: HwQueue) -> Option<RequestId> {
        self.waiting.pop_front()
    }
    fn complete(&mut self, cx: &IoContext, request: RequestId) {
        assert!(cx.requests[request].issued <= cx.now && cx.in_flight == 0);
        TOLD.with_borrow_mut(|(completed, _)| *completed += 1);
        self.has[cx.requests[request].submitter.index()] -= 1;
    }
    fn next_timer(&self) -> Option<Time> {
        self.timer
    }
    fn timer(&mut self, _: &IoContext) {
        self.timer = None;
    }
    fn exit(&mut self, _: &IoContext, submitter: Submitter) {
        TOLD.with_borrow_mut(|(_, exited)| exited.push(submitter));
    }
    fn has_work(&self) -> bool {
        !self.waiting.is_empty()
    }
}

fn disk(settings: Settings) -> Queue {
    let device = goodness_device::by_name("null:depth=1,latency=1ms", Seed(1)).unwrap();
    Queue::of::<Obedient>(settings, &QueueOptions::default(), device)
}

/// Issue times of the requests of `ios`, submitted at time 0.
fn issued(disk: &mut Queue, ios: &[Io], out: &mut Out) -> Vec<u64> {
    let mut issued = Vec::new();
    let mut keep = |now: Time, out: &mut Out| {
        let events = out.events.as_mut().unwrap();
        issued.extend(events.drain(..).filter(|event| event.stage == IoStage::Issued).map(|_| now.0));
    };
    disk.submit(Time::ZERO, ios, out);
    keep(Time::ZERO, out);
    while disk.next_event() != Time::NEVER {
        let now = disk.next_event();
        disk.advance(now, out);
        keep(now, out);
    }
    issued
}

fn read(sector: u64, tag: u64) -> Io {
    Io { tag, ..Io::read(Submitter(3), sector, 8) }
}

#[test]
fn an_elevator_can_run_a_plugged_queue_at_once_and_by_its_timer() {
    let first = |settings| issued(&mut disk(settings), &[read(0, 0)], &mut Out::with_events());
    assert_eq!(first(Settings::default()), [3 * MS]);
    assert_eq!(first(Settings { now: true, ..Settings::default() }), [0]);
    assert_eq!(first(Settings { timer: Span(MS), ..Settings::default() }), [MS]);
}

#[test]
fn who_is_refused_a_slot_by_the_elevator_sleeps_until_a_request_completes() {
    let (mut disk, mut out) = (disk(Settings { slots: 1, now: true, ..Settings::default() }), Out::with_events());
    assert_eq!(issued(&mut disk, &[read(0, 0), read(800, 1), read(1600, 2)], &mut out), [0, MS, 2 * MS]);
    use Outcome::{Admitted, Done, Waiting};
    let told = [
        Waiting { tag: 1 },
        Waiting { tag: 2 },
        Done { tag: 0 },
        Admitted { tag: 1 },
        Done { tag: 1 },
        Admitted { tag: 2 },
        Done { tag: 2 },
    ];
    assert_eq!(out.outcomes, told);
    assert_eq!(completed(), 3);
}

#[test]
fn who_is_refused_a_slot_by_the_elevator_keeps_no_other_process_waiting() {
    let settings = Settings { slots_each: 1, now: true, ..Settings::default() };
    let (mut disk, mut out) = (disk(settings), Out::with_events());
    let read = |submitter, sector, tag| Io { submitter: Submitter(submitter), ..read(sector, tag) };
    // The lane has two pieces of process 3 and then one of process 4, which has the first request that completes.
    disk.submit(Time::ZERO, &[read(4, 0, 0)], &mut out);
    disk.submit(Time::ZERO, &[read(3, 800, 1), read(3, 1600, 2), read(3, 2400, 3)], &mut out);
    assert_eq!(issued(&mut disk, &[read(4, 3200, 4)], &mut out).len(), 5);
    let admitted = out.outcomes.iter().filter(|outcome| matches!(outcome, Outcome::Admitted { .. }));
    let (one, two, three) = (Outcome::Admitted { tag: 4 }, Outcome::Admitted { tag: 2 }, Outcome::Admitted { tag: 3 });
    assert!(admitted.eq(&[one, two, three]), "{:?}", out.outcomes);
}

#[test]
fn a_piece_that_slept_does_not_look_for_a_request_to_join_but_those_behind_it_do() {
    let (mut disk, mut out) = (disk(Settings { slots: 1, ..Settings::default() }), Out::with_events());
    // When the second and third wake, the second has a request and the third joins it.
    issued(&mut disk, &[read(0, 0), read(800, 1), read(808, 2)], &mut out);
    assert_eq!(completed(), 2);
}

#[test]
fn an_elevator_learns_of_exits_and_may_change_the_number_of_requests() {
    let mut disk = disk(Settings::default());
    disk.exit(Time(5), Submitter(9), &mut Out::default());
    TOLD.with_borrow(|(_, exited)| assert_eq!(exited, &[Submitter(9)]));
    assert_eq!(disk.facts().requests, 64);
}
