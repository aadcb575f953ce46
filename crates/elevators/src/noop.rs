//! noop: one FIFO queue.
//!
//! Source: Linux 2.6, `specs/io-schedulers.md` section 3. Nothing is sorted and nothing expires. Before 2.6.19 only the
//! last request merged or inserted can grow (`merge=last`); since then any waiting one can by a back merge
//! (`merge=hash`).
//! Weakness: interleaved streams cost a seek per request.

use goodness_core::{
    Effort, Elevator, ElevatorAbout, HwQueue, IoContext, IoReason, Layer, Merges, QueueFacts, RegisteredElevator,
    RequestId, Run, Seed, WhyWaits,
};
use goodness_queues::{Links, List};

goodness_core::tunables! {
    pub struct Settings {
        /// Merge candidates: the last request (before 2.6.19) or any.
        merge: Merge = Merge::Hash;
    }
}

goodness_core::choices! {
    /// Merge candidates: the request last merged or inserted, or any.
    pub enum Merge { Last = "last", Hash = "hash" }
}

/// Arrival order.
#[derive(Debug)]
pub struct Noop {
    settings: Settings,
    links: Links,
    waiting: List,
}

impl RegisteredElevator for Noop {
    const ABOUT: ElevatorAbout = ElevatorAbout {
        name: "noop",
        summary: "First come, first served, with merging.",
        source: "Linux 2.6; specs section 3",
        layer: Layer::Legacy,
    };
    type Settings = Settings;

    fn new(_: &QueueFacts, settings: Settings, _: Seed) -> Noop {
        Noop { settings, links: Links::default(), waiting: List::default() }
    }
}

impl Elevator for Noop {
    fn merges(&self) -> Merges {
        match self.settings.merge {
            Merge::Last => Merges::LastOnly,
            Merge::Hash => Merges::Back,
        }
    }

    fn remove(&mut self, _: &IoContext, request: RequestId) {
        self.waiting.remove(&mut self.links, request.0);
    }

    fn insert(&mut self, cx: &IoContext, request: RequestId) -> Run {
        self.links.reserve(cx.requests.slots());
        self.waiting.push_back(&mut self.links, request.0);
        cx.examined(Effort::Insert, 1);
        Run::WhenUnplugged
    }

    fn dispatch(&mut self, cx: &IoContext, _: HwQueue) -> Option<RequestId> {
        cx.examined(Effort::Insert, 1);
        self.waiting.pop_front(&mut self.links).map(RequestId)
    }

    fn has_work(&self) -> bool {
        !self.waiting.is_empty()
    }

    fn why(&self, _: &IoContext, question: WhyWaits) -> Option<IoReason> {
        question.ahead.map(|_| IoReason::First)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::verb_driver::VerbDriver;
    use goodness_core::{Io, Submitter};

    #[test]
    fn the_order_of_dispatch_is_the_order_of_arrival() {
        // T-NOOP-3
        let mut driver = VerbDriver::<Noop>::new(Settings::default());
        let sectors = [800, 8, 4000, 16, 0];
        for sector in sectors {
            driver.insert(Io::read(Submitter(0), sector, 8));
        }
        assert_eq!(driver.drain(), sectors);
    }
}
