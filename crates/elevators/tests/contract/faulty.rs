//! An elevator that breaks its contract in a chosen way, to test that the contract test notices.

use goodness_core::{
    Elevator, ElevatorAbout, HwQueue, IoContext, Layer, QueueFacts, RegisteredElevator, RequestId, Run, Seed, Time,
};

use std::sync::atomic::{AtomicUsize, Ordering};

goodness_core::choices! {
    /// Kind of fault.
    pub enum Fault { Loses = "loses", Repeats = "repeats", Hangs = "hangs", Waits = "waits", Varies = "varies" }
}

goodness_core::tunables! {
    pub struct Settings {
        /// Kind of fault.
        fault: Fault = Fault::Loses;
    }
}

/// Number of draws in all runs.
static DRAWS: AtomicUsize = AtomicUsize::new(0);

/// Arrival order with a fault.
pub struct Faulty {
    fault: Fault,
    waiting: Vec<RequestId>,
    inserted: u32,
    /// Time until which nothing is dispatched.
    held: Option<Time>,
}

impl RegisteredElevator for Faulty {
    const ABOUT: ElevatorAbout =
        ElevatorAbout { name: "faulty", summary: "Arrival order with a fault.", source: "none", layer: Layer::Legacy };
    type Settings = Settings;

    fn new(_: &QueueFacts, settings: Settings, _: Seed) -> Faulty {
        Faulty { fault: settings.fault, waiting: Vec::new(), inserted: 0, held: None }
    }
}

impl Elevator for Faulty {
    fn remove(&mut self, _: &IoContext, request: RequestId) {
        self.waiting.retain(|waits| *waits != request);
    }

    fn insert(&mut self, _: &IoContext, request: RequestId) -> Run {
        self.inserted += 1;
        let is_last_straw = self.inserted == 10;
        match self.fault {
            Fault::Loses if is_last_straw => {}
            _ => self.waiting.push(request),
        }
        Run::WhenUnplugged
    }

    fn dispatch(&mut self, cx: &IoContext, _: HwQueue) -> Option<RequestId> {
        let is_late = self.inserted >= 10;
        match self.fault {
            Fault::Hangs if is_late => return None,
            Fault::Waits if is_late => {
                self.held = Some(cx.now);
                return None;
            }
            Fault::Repeats if is_late => return self.waiting.first().copied(),
            // Only the state before the run decides.
            Fault::Varies if !self.waiting.is_empty() => {
                let which = DRAWS.fetch_add(1, Ordering::Relaxed) % self.waiting.len();
                return Some(self.waiting.remove(which));
            }
            _ => {}
        }
        (!self.waiting.is_empty()).then(|| self.waiting.remove(0))
    }

    fn next_timer(&self) -> Option<Time> {
        self.held
    }

    fn has_work(&self) -> bool {
        !self.waiting.is_empty()
    }
}
