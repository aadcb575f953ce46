//! Planted differences between elevators are found where they were planted, with what each side saw, and both say why.

use super::parting::{parting, told};
use crate::contender::Contender;
use crate::parallel::untold;
use crate::plan::Plan;
use crate::refusal::Refusal;
use crate::run::Named;
use crate::simulation::Beside;
use crate::storage::AroundElevator;
use goodness_core::{
    Allocate, Elevator, HwQueue, Io, IoContext, MadeElevator, Merges, QueueLock, Request, RequestId, Run, Side, Time,
};
use goodness_report::diff::FirstDifference;
use goodness_work::experiment::Experiment;
use std::sync::{Arc, Mutex};

/// Readers at random places of a disk, and a writer.
const WORK: &str = "duration = \"400ms\"\nmachine = \"cpus=2,hz=1000\"\n\
    [[disk]]\nname = \"sda\"\ndevice = \"cheetah-9lp\"\n\
    [[task]]\nname = \"reader\"\ncount = 6\nprogram = [ { read = \"sda\", size = \"4KiB\", at = \"random\" } ]\n\
    [[task]]\nname = \"writer\"\n\
    program = [ { write = \"sda\", size = \"64KiB\", at = \"random\", sync = true } ]\n";

/// A dispatch that was swapped: time, the elevator's own choice, and what was dispatched instead.
type Planted = (Time, [Request; 2]);

/// An elevator, of which one dispatch is swapped for the one that would have followed it.
struct Swapping {
    inner: Box<dyn Elevator + Send>,
    /// Dispatches with a choice until it is swapped; `None` swaps none.
    left: Option<u64>,
    waiting: usize,
    planted: Arc<Mutex<Option<Planted>>>,
}

impl Elevator for Swapping {
    fn merges(&self) -> Merges {
        self.inner.merges()
    }
    fn lock(&self) -> QueueLock {
        self.inner.lock()
    }
    fn allows_merge(&self, cx: &IoContext, request: RequestId, io: &Io) -> bool {
        self.inner.allows_merge(cx, request, io)
    }
    fn merged(&mut self, cx: &IoContext, request: RequestId, side: Side, before: u64) {
        self.inner.merged(cx, request, side, before);
    }
    fn remove(&mut self, cx: &IoContext, request: RequestId) {
        self.waiting -= 1;
        self.inner.remove(cx, request);
    }
    fn may_allocate(&self, cx: &IoContext, io: &Io, used: u32) -> Allocate {
        self.inner.may_allocate(cx, io, used)
    }
    fn insert(&mut self, cx: &IoContext, request: RequestId) -> Run {
        self.waiting += 1;
        self.inner.insert(cx, request)
    }
    fn dispatch(&mut self, cx: &IoContext, queue: HwQueue) -> Option<RequestId> {
        let own = self.inner.dispatch(cx, queue)?;
        self.waiting -= 1;
        if self.waiting == 0 {
            return Some(own);
        }
        let is_swapped = self.left == Some(0);
        self.left = self.left.and_then(|left| left.checked_sub(1));
        if !is_swapped {
            return Some(own);
        }
        let other = self.inner.dispatch(cx, queue).expect("another one waits");
        let _ = self.inner.insert(cx, own);
        *self.planted.lock().unwrap() = Some((cx.now, [own, other].map(|it| cx.requests[it])));
        Some(other)
    }
    fn complete(&mut self, cx: &IoContext, request: RequestId) {
        self.inner.complete(cx, request);
    }
    fn has_work(&self) -> bool {
        self.inner.has_work()
    }
}

/// The first difference of two elevators, and what was planted into that of B.
fn found(elevators: [&str; 2], work: &str, swap: Option<u64>) -> (Option<FirstDifference>, Option<Planted>) {
    let experiment = Experiment::read("disk.toml", work).unwrap();
    let machine = experiment.machine().unwrap();
    let contenders = elevators.map(|it| Contender::parse(&format!("eevdf+{it}")).unwrap());
    let plan = Plan { runs: 1, ..Plan::on(&experiment, machine, contenders.to_vec()) };
    let planted = Arc::new(Mutex::new(None));
    let rerun = |side: usize, beside: Beside| -> Result<Vec<Named>, Refusal> {
        let Beside { observer, around, around_elevator: asked } = beside;
        let (left, planted) = (swap.filter(|_| side == 1), Arc::clone(&planted));
        let swapping = move |disk, MadeElevator { about, facts, elevator: inner }| {
            let planted = Arc::clone(&planted);
            let elevator: Box<dyn Elevator + Send> = match left {
                Some(_) => Box::new(Swapping { inner, left, waiting: 0, planted }),
                None => inner,
            };
            let made = MadeElevator { about, facts, elevator };
            match &asked {
                Some(asked) => asked(disk, made),
                None => made,
            }
        };
        let around_elevator: Option<Box<AroundElevator>> = Some(Box::new(swapping));
        plan.watch_one(side, 0, Beside { observer, around, around_elevator }, &untold)
    };
    let first = parting(&rerun).unwrap().map(|it| told(&it, plan.most_cpus().unwrap(), &rerun).unwrap());
    let planted = planted.lock().unwrap().take();
    (first, planted)
}

fn sectors(it: &Request) -> (String, u64) {
    (it.op.name().into(), it.sector)
}

#[test]
fn a_planted_dispatch_is_named_with_the_queue_and_an_elevator_that_does_not_tell_says_nothing() {
    for (elevator, swap) in [("noop", 0), ("noop", 7), ("sstf", 3), ("look", 11), ("mq-deadline", 9)] {
        let (found, planted) = found([elevator; 2], WORK, Some(swap));
        let (found, (at, requests)) = (found.expect("a difference"), planted.expect("a swap"));
        assert_eq!((Time(found.at_ns), found.disk, found.cpu), (at, Some(0), None), "{elevator}: {found:?}");
        let did = requests.map(|it| format!("issues a {} of {} sectors from {} ", it.op.name(), it.sectors, it.sector));
        for (side, did) in [&found.a, &found.b].into_iter().zip(did) {
            assert!(side.did.starts_with(&did), "{elevator}: {side:?}, not {did}");
            let queue: Vec<_> = side.requests.iter().map(|it| (it.operation.clone(), it.sector)).collect();
            assert!(requests.iter().all(|it| queue.contains(&sectors(it))), "{elevator}: both waited: {queue:?}");
        }
        assert_eq!(found.a.requests, found.b.requests, "{elevator}: both saw the same");
        assert!(found.a.rule.is_some(), "{elevator} tells: {found:?}");
        assert_eq!(found.b.rule, None, "the planted one does not tell");
    }
}

#[test]
fn equal_elevators_differ_nowhere() {
    for elevator in ["noop", "mq-deadline", "bfq", "kyber"] {
        assert_eq!(found([elevator; 2], WORK, None).0, None, "{elevator}");
    }
}

/// The choices of both sides and their reasons, as the terminal shows them.
fn said(elevators: [&str; 2], work: &str) -> [(String, Option<String>); 2] {
    let found = found(elevators, work, None).0.unwrap_or_else(|| panic!("{elevators:?} differ"));
    [found.a, found.b].map(|it| (it.did, it.rule.map(|rule| rule.said)))
}

#[test]
fn both_elevators_say_their_rules_at_the_first_request_that_differs() {
    let [first, second] =
        ["read of 8 sectors from 15476560 by reader-1 2", "write of 128 sectors from 6728576 by writer 7"];
    let [a, b] = said(["noop", "as"], WORK);
    assert_eq!(a, (format!("issues a {first}"), Some("it came before the write at 6728576".into())));
    let rule = "it comes before the read at 15476560 in the order of sectors";
    assert_eq!(b, (format!("issues a {second}"), Some(rule.into())));
    let [a, b] = said(["none", "kyber"], WORK).map(|it| it.1.expect("both tell"));
    let rules = ["the read at 9699792 was not in its queue", "it is not the turn of the CPU of the read at 15476560"];
    assert_eq!([a, b], rules);
}

/// The rule of the nearest request is checked by the queue that the side saw.
#[test]
fn the_nearest_request_is_the_nearest_of_the_queue_that_is_shown() {
    let found = found(["noop", "sstf"], WORK, None).0.expect("a difference");
    let [first, nearest] = [&found.a, &found.b].map(|it| it.rule.as_ref().expect("both tell"));
    assert_eq!([first.name.as_str(), nearest.name.as_str()], ["first", "nearer"], "{found:?}");
    let from = |did: &str| did.split(" from ").nth(1).and_then(|it| it.split(' ').next()?.parse().ok());
    let [own, other] = [&found.a, &found.b].map(|it| from(&it.did).expect("a sector"));
    let place = |sector: u64| found.b.requests.iter().position(|it| it.sector == sector).expect("it waits");
    assert!(place(own) < place(other), "the one that came first is before the nearest: {:?}", found.b.requests);
}

/// An elevator idles: the other side's request waits though the disk is free.
#[test]
fn a_disk_that_is_kept_idle_is_said_to_be() {
    let work = "duration = \"400ms\"\nmachine = \"cpus=2,hz=1000\"\n\
        [[disk]]\nname = \"sda\"\ndevice = \"cheetah-9lp\"\n\
        [[task]]\nname = \"thinks\"\nprogram = [ { read = \"sda\", size = \"4KiB\" }, { sleep = \"2ms\" } ]\n\
        [[task]]\nname = \"far\"\nprogram = [ { read = \"sda\", size = \"4KiB\", at = \"random\" } ]\n";
    let [a, b] = said(["noop", "cfq"], work);
    assert!(a.0.starts_with("issues a read of 8 sectors from ") && a.0.ends_with(" by far 2"), "{a:?}");
    let idles = "the disk was kept idle for the next request of thinks 1";
    assert_eq!((b.0.as_str(), b.1.as_deref()), ("issues nothing", Some(idles)));
}
