//! none: no elevator. FIFO software queues per CPU; a hardware queue takes one request from each of its software queues
//! in turn.
//!
//! Source: blk-mq, `specs/io-schedulers.md` sections 2.2 and 3. An I/O may merge with one of the eight newest requests
//! of its CPU's queue. The only tags are the driver's. Departure: with many free tags the kernel empties one software
//! queue after another, which cannot be observed here.
//! Weakness: as noop.

use goodness_core::{
    Elevator, ElevatorAbout, HwQueue, Io, IoContext, IoReason, Layer, Merges, QueueFacts, QueueLock,
    RegisteredElevator, RequestId, Run, Seed, WhyWaits,
};
use goodness_queues::{Links, List};

goodness_core::tunables! {
    pub struct Settings {}
}

/// Number of newest requests of a software queue tried for a merge.
const SCANNED: usize = 8;

/// The software queues of one hardware queue.
#[derive(Clone, Debug)]
struct Hardware {
    software: Vec<List>,
    /// Requests waiting on the software queues.
    waiting: usize,
    /// Next queue in turn.
    turn: usize,
}

/// Arrival order, CPU by CPU.
#[derive(Clone, Debug)]
pub struct NoElevator {
    links: Links,
    hardware: Vec<Hardware>,
}

impl RegisteredElevator for NoElevator {
    const ABOUT: ElevatorAbout = ElevatorAbout {
        name: "none",
        summary: "No elevator: the software queues of the CPUs in turn, each in order of arrival.",
        source: "Linux blk-mq; specs section 3",
        layer: Layer::MultiQueue,
    };
    type Settings = Settings;

    fn requests(_: &Settings, facts: &QueueFacts) -> u32 {
        facts.depth
    }

    fn new(facts: &QueueFacts, _: Settings, _: Seed) -> NoElevator {
        let hardware =
            || Hardware { software: vec![List::default(); usize::from(facts.cpus.max(1))], waiting: 0, turn: 0 };
        NoElevator { links: Links::default(), hardware: (0..facts.queues.max(1)).map(|_| hardware()).collect() }
    }
}

impl Elevator for NoElevator {
    fn merges(&self) -> Merges {
        Merges::Newest
    }

    fn lock(&self) -> QueueLock {
        QueueLock::Free
    }

    fn allows_merge(&self, cx: &IoContext, request: RequestId, io: &Io) -> bool {
        let waits = &cx.requests[request];
        let list = &self.hardware[waits.queue.index()].software[usize::from(waits.cpu)];
        waits.cpu == io.cpu && list.iter_back(&self.links).take(SCANNED).any(|newest| newest == request.0)
    }

    fn remove(&mut self, cx: &IoContext, request: RequestId) {
        let waits = &cx.requests[request];
        let hardware = &mut self.hardware[waits.queue.index()];
        hardware.software[usize::from(waits.cpu)].remove(&mut self.links, request.0);
        hardware.waiting -= 1;
    }

    fn insert(&mut self, cx: &IoContext, request: RequestId) -> Run {
        self.links.reserve(cx.requests.slots());
        let new = &cx.requests[request];
        let hardware = &mut self.hardware[new.queue.index()];
        hardware.software[usize::from(new.cpu)].push_back(&mut self.links, request.0);
        hardware.waiting += 1;
        Run::WhenUnplugged
    }

    fn dispatch(&mut self, _: &IoContext, queue: HwQueue) -> Option<RequestId> {
        let hardware = &mut self.hardware[queue.index()];
        if hardware.waiting == 0 {
            return None;
        }
        hardware.waiting -= 1;
        let (before, from) = hardware.software.split_at(hardware.turn);
        let cpu = match from.iter().position(|list| !list.is_empty()) {
            Some(cpu) => before.len() + cpu,
            None => before.iter().position(|list| !list.is_empty())?,
        };
        hardware.turn = (cpu + 1) % hardware.software.len();
        hardware.software[cpu].pop_front(&mut self.links).map(RequestId)
    }

    fn has_work(&self) -> bool {
        self.hardware.iter().any(|hardware| hardware.waiting > 0)
    }

    fn why(&self, cx: &IoContext, question: WhyWaits) -> Option<IoReason> {
        let [ahead, waiting] = [question.ahead?, question.waiting].map(|request| &cx.requests[request]);
        let is_same_cpu = ahead.cpu == waiting.cpu;
        let reason = if is_same_cpu { IoReason::First } else { IoReason::CpuTurn };
        (waiting.queue == question.queue).then_some(reason)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::verb_driver::{VerbDriver, facts};
    use goodness_core::Submitter;

    fn driver() -> VerbDriver<NoElevator> {
        VerbDriver::with(QueueFacts { cpus: 4, ..facts() }, Settings::default())
    }

    fn from(cpu: u16, sector: u64) -> Io {
        Io { cpu, ..Io::read(Submitter(0), sector, 8) }
    }

    #[test]
    fn the_requests_of_one_cpu_keep_their_order() {
        // T-NOOP-3
        let mut driver = driver();
        let sectors = [800, 8, 4000, 16, 0];
        for sector in sectors {
            driver.insert(from(1, sector));
        }
        assert_eq!(driver.drain(), sectors);
    }

    #[test]
    fn the_software_queues_take_turns() {
        let mut driver = driver();
        for (cpu, sector) in [(0, 1), (0, 2), (0, 3), (2, 21), (2, 22), (3, 31)] {
            driver.insert(from(cpu, sector));
        }
        assert_eq!(driver.drain(), [1, 21, 31, 2, 22, 3]);
    }

    #[test]
    fn a_turn_is_remembered_while_others_have_nothing() {
        let mut driver = driver();
        driver.insert(from(1, 11));
        driver.drain();
        for (cpu, sector) in [(0, 1), (1, 12), (2, 21)] {
            driver.insert(from(cpu, sector));
        }
        assert_eq!(driver.drain(), [21, 1, 12]);
    }

    #[test]
    fn only_the_eight_newest_of_a_cpu_grow() {
        let mut driver = driver();
        let requests: Vec<RequestId> = (0..9).map(|i| driver.insert(from(0, i * 100))).collect();
        let mut ask = |request, cpu| driver.call(|e, cx| e.allows_merge(cx, request, &from(cpu, 0)));
        assert_eq!([ask(requests[0], 0), ask(requests[1], 0), ask(requests[8], 0)], [false, true, true]);
        assert!(!ask(requests[8], 1));
    }
}
