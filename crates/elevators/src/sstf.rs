//! sstf: shortest seek time first. The request nearest to the head is next; on a tie the higher sector.
//!
//! Source: textbook (Denning 1967). Distance is in sectors, because elevators do not know cylinders.
//! Weakness: requests far from a busy region starve.

use crate::parts::sector_order::{Discipline, SectorOrder, Waiting};
use goodness_core::{ElevatorAbout, IoContext, IoReason, Layer, QueueFacts, RegisteredElevator, RequestId, Seed};

goodness_core::tunables! {
    pub struct Settings {}
}

/// The nearest request first.
#[derive(Debug, Default)]
pub struct Nearest {
    /// The head's place at the last choice.
    head: u64,
}

/// Shortest seek time first.
pub type Sstf = SectorOrder<Nearest>;

impl RegisteredElevator for Sstf {
    const ABOUT: ElevatorAbout = ElevatorAbout {
        name: "sstf",
        summary: "The request nearest to the head first.",
        source: "textbook; Denning 1967",
        layer: Layer::Legacy,
    };
    type Settings = Settings;

    fn new(_: &QueueFacts, _: Settings, _: Seed) -> Sstf {
        SectorOrder::new(Nearest::default())
    }
}

impl Discipline for Nearest {
    fn choose(&mut self, _: &IoContext, waiting: &Waiting) -> Option<RequestId> {
        self.head = waiting.head;
        let (above, below) = (waiting.from(waiting.head), waiting.below(waiting.head));
        let distance = |request| waiting.sector(request).abs_diff(waiting.head);
        match (above, below) {
            (Some(above), Some(below)) => Some(if distance(above) <= distance(below) { above } else { below }),
            _ => above.or(below),
        }
    }

    fn why(&self, ahead: Option<u64>, waiting: u64) -> Option<IoReason> {
        let [ahead, waiting] = [ahead?, waiting].map(|sector| sector.abs_diff(self.head));
        Some(IoReason::Nearer { ahead, waiting })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::sector_order::textbook;
    use crate::parts::verb_driver::VerbDriver;
    use goodness_core::{Io, Submitter};

    #[test]
    fn the_textbook_queue_is_served_from_neighbour_to_neighbour() {
        let order: Vec<u64> = textbook::<Sstf>(Settings::default()).iter().map(|(sector, _)| *sector).collect();
        assert_eq!(order, [65, 67, 37, 14, 98, 122, 124, 183]);
    }

    #[test]
    fn a_far_request_waits_while_near_ones_arrive() {
        let mut driver = VerbDriver::<Sstf>::new(Settings::default());
        let far = driver.insert(Io::read(Submitter(0), 1 << 30, 8));
        for i in 0..1000 {
            let near = driver.insert(Io::read(Submitter(1), i * 8, 8));
            assert_eq!(driver.dispatch(), Some(near));
            driver.complete(near);
        }
        assert_eq!(driver.dispatch(), Some(far));
    }
}
