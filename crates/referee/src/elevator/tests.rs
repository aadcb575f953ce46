use super::*;
use goodness_core::{Layer, Operation, Span};

/// Order of arrival, with a fault of one's choice.
#[derive(Default)]
struct Fifo {
    waiting: Vec<RequestId>,
    repeats: bool,
    hoards: bool,
    forgets: bool,
    refuses: bool,
    timer: Option<Time>,
    told: Vec<&'static str>,
}

impl Elevator for Fifo {
    fn merged(&mut self, _: &IoContext, _: RequestId, side: Side, before: u64) {
        self.told.push(if side == Side::Front { "front" } else { "back" });
        assert_eq!(before % 8, 0);
    }
    fn remove(&mut self, _: &IoContext, request: RequestId) {
        self.told.push("removed");
        self.waiting.retain(|other| *other != request);
    }
    fn may_allocate(&self, _: &IoContext, _: &Io, _: u32) -> Allocate {
        if self.refuses { Allocate::Wait } else { Allocate::AsUsual }
    }
    fn insert(&mut self, _: &IoContext, request: RequestId) -> Run {
        if !self.forgets {
            self.waiting.push(request);
        }
        Run::WhenUnplugged
    }
    fn dispatch(&mut self, _: &IoContext, _: HwQueue) -> Option<RequestId> {
        if self.hoards || self.waiting.is_empty() {
            return None;
        }
        Some(if self.repeats { self.waiting[0] } else { self.waiting.remove(0) })
    }
    fn complete(&mut self, cx: &IoContext, _: RequestId) {
        self.told.push(if cx.in_flight == 0 { "last complete" } else { "complete" });
    }
    fn next_timer(&self) -> Option<Time> {
        self.timer
    }
    fn has_work(&self) -> bool {
        !self.waiting.is_empty()
    }
}

static ABOUT: ElevatorAbout =
    ElevatorAbout { name: "fifo", summary: "Order of arrival.", source: "This test", layer: Layer::Legacy };

fn referee(elevator: Fifo) -> ElevatorReferee<Fifo> {
    let facts = QueueFacts { hz: 1000, depth: 4, queues: 1, cpus: 1, rotational: true, sectors: 1 << 20, requests: 8 };
    ElevatorReferee::of(&ABOUT, facts, Box::new(elevator), 8)
}

fn io(sector: u64) -> Io {
    Io::read(Submitter(0), sector, 8)
}

fn insert(referee: &mut ElevatorReferee<Fifo>, sector: u64) -> RequestId {
    let request = referee.take(Request::of(&io(sector), referee.now()));
    let _ = referee.insert(request);
    request
}

fn sentence(referee: &ElevatorReferee<Fifo>) -> &str {
    &referee.refusal().expect("the answer is refused").sentence
}

#[test]
fn a_request_is_held_then_waits_then_is_in_flight_then_gone() {
    let mut referee = referee(Fifo::default());
    let request = referee.take(Request::of(&io(0), Time::ZERO));
    assert_eq!(referee.place(request), Place::Held);
    referee.set_now(Time(5));
    let _ = referee.insert(request);
    assert_eq!((referee.place(request), referee.waiting(), referee.in_flight()), (Place::Waiting, 1, 0));
    referee.set_now(Time(9));
    assert_eq!(referee.dispatch(HwQueue(0)), Some(request));
    assert_eq!((referee.place(request), referee.waiting(), referee.in_flight()), (Place::InFlight, 0, 1));
    let about = referee.complete(request);
    assert_eq!((about.allocated, about.inserted, about.issued), (Time(0), Time(5), Time(9)));
    assert_eq!((referee.place(request), referee.in_flight(), referee.requests().len()), (Place::Free, 0, 0));
    assert_eq!((referee.elevator().told.as_slice(), referee.refusal()), (&["last complete"][..], None));
}

#[test]
fn the_first_answer_that_cannot_be_is_kept_with_its_time() {
    let mut referee = referee(Fifo { repeats: true, ..Fifo::default() });
    insert(&mut referee, 0);
    assert_eq!(referee.dispatch(HwQueue(0)), Some(RequestId(0)));
    referee.set_now(Time(3));
    assert_eq!(referee.dispatch(HwQueue(0)), None);
    referee.call(|fifo, _| fifo.waiting[0] = RequestId(77));
    assert_eq!(referee.dispatch(HwQueue(0)), None);
    assert_eq!(sentence(&referee), "fifo dispatched request 0, which does not wait: the device has it");
    assert_eq!(referee.refusal().map(|refusal| refusal.at), Some(Time(3)));
}

#[test]
fn silence_while_requests_wait_is_refused_unless_something_can_still_happen() {
    let mut referee = referee(Fifo { hoards: true, ..Fifo::default() });
    assert!(referee.goes_on(), "nothing waits");
    insert(&mut referee, 0);
    referee.call(|fifo, _| fifo.timer = Some(Time(7)));
    assert!(referee.goes_on());
    referee.call(|fifo, _| fifo.timer = None);
    assert!(!referee.goes_on());
    assert!(sentence(&referee).starts_with("fifo holds back 1 requests for ever"));
}

#[test]
fn a_timer_that_is_always_due_is_refused_unless_requests_are_dispatched() {
    let mut referee = referee(Fifo { timer: Some(Time(0)), hoards: true, ..Fifo::default() });
    let expired =
        |referee: &mut ElevatorReferee<Fifo>| std::iter::repeat_with(|| referee.expire()).take(999).all(|is| is);
    assert!(expired(&mut referee));
    referee.set_now(Time(1));
    assert!(expired(&mut referee), "time has passed");
    insert(&mut referee, 0);
    referee.call(|fifo, _| fifo.hoards = false);
    assert!(referee.dispatch(HwQueue(0)).is_some() && expired(&mut referee), "something was dispatched");
    assert!(referee.expire() && !referee.expire());
    assert!(sentence(&referee).starts_with("fifo asks again and again to be called at"));
}

#[test]
fn a_slot_may_not_be_refused_while_none_is_taken() {
    let mut referee = referee(Fifo { refuses: true, ..Fifo::default() });
    assert_eq!((referee.may_take(&io(0), 1), referee.refusal()), (Allocate::Wait, None));
    let _ = referee.may_take(&io(0), 0);
    assert!(sentence(&referee).contains("although none is taken"));
}

#[test]
fn has_work_tells_whether_requests_wait() {
    let mut referee = referee(Fifo { forgets: true, ..Fifo::default() });
    referee.verify_has_work();
    assert_eq!(referee.refusal(), None);
    insert(&mut referee, 0);
    referee.verify_has_work();
    assert_eq!(sentence(&referee), "fifo says false of has_work while 1 requests wait");
}

#[test]
fn requests_grow_join_and_absorb_and_keep_the_earlier_times() {
    let mut referee = referee(Fifo::default());
    let low = insert(&mut referee, 80);
    assert_eq!((referee.touches(low, &io(88)), referee.touches(low, &io(72))), (Some(Side::Back), Some(Side::Front)));
    let other = Io { op: Operation::Write, ..io(88) };
    assert_eq!((referee.touches(low, &other), referee.touches(low, &io(96))), (None, None));
    assert!(referee.may_join(low, Side::Front, &io(72)));
    referee.grow(low, Side::Front, 8);
    referee.set_now(Time(4));
    let held = referee.take(Request::of(&io(88), Time(4)));
    referee.grow(held, Side::Back, 8);
    assert_eq!(referee.elevator().told, ["front"], "the elevator does not know what its host holds");
    referee.join(low, held);
    let high = insert(&mut referee, 104);
    assert!(referee.may_absorb(low, high) && !referee.may_absorb(high, low));
    referee.absorb(low, high);
    assert_eq!(referee.elevator().told, ["front", "back", "removed"]);
    let Request { sector, sectors, segments, inserted, .. } = referee.requests()[low];
    assert_eq!((sector, sectors, segments, inserted), (72, 40, 5, Time(0)));
    assert_eq!((referee.waiting(), referee.requests().len(), referee.last()), (1, 1, Some(low)));
    assert_eq!(referee.dispatch(HwQueue(0)), Some(low));
    assert_eq!(referee.last(), None, "what has left does not grow");
    assert!(!referee.may_join(low, Side::Back, &io(112)));
}

#[test]
fn a_flush_passes_by_the_elevator() {
    let mut referee = referee(Fifo::default());
    let flush = Io { op: Operation::Flush, sectors: 0, ..io(0) };
    let request = referee.take(Request::of(&flush, Time::ZERO));
    referee.issue(request, HwQueue(0));
    referee.set_now(Time::ZERO + Span::from_ms(1));
    assert_eq!((referee.in_flight(), referee.complete(request).op), (1, Operation::Flush));
    assert!(referee.elevator().told.is_empty());
}

#[test]
#[should_panic(expected = "request 0 is completed by the device: it waits")]
fn a_device_that_completes_what_it_does_not_have_is_found_out() {
    let mut referee = referee(Fifo::default());
    let request = insert(&mut referee, 0);
    let _ = referee.complete(request);
}

#[test]
fn what_is_withdrawn_is_with_its_host_again() {
    let mut referee = referee(Fifo::default());
    let (first, second) = (insert(&mut referee, 0), insert(&mut referee, 8));
    referee.withdraw(first);
    assert_eq!((referee.place(first), referee.waiting()), (Place::Held, 1));
    assert_eq!((referee.dispatch(HwQueue(0)), referee.dispatch(HwQueue(0))), (Some(second), None));
    let _ = referee.insert(first);
    assert_eq!(referee.dispatch(HwQueue(0)), Some(first));
}
