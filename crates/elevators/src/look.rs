//! look: the head moves in one direction while requests lie ahead, then reverses.
//!
//! Source: textbook (Merten 1970). Weakness: a request near either end waits up to two sweeps, one in the middle one.
//! New requests directly ahead of the head are served in the same sweep, so a busy region can hold the head.

use crate::parts::sector_order::{Discipline, SectorOrder, Waiting};
use goodness_core::{ElevatorAbout, IoContext, Layer, QueueFacts, RegisteredElevator, RequestId, Seed};

goodness_core::tunables! {
    pub struct Settings {}
}

/// Sweeps both ways, turning at the last request.
#[derive(Debug, Default)]
pub struct BothWays {
    is_downward: bool,
}

/// LOOK.
pub type Look = SectorOrder<BothWays>;

impl RegisteredElevator for Look {
    const ABOUT: ElevatorAbout = ElevatorAbout {
        name: "look",
        summary: "One way until no request lies ahead, then the other.",
        source: "textbook; Merten 1970",
        layer: Layer::Legacy,
    };
    type Settings = Settings;

    fn new(_: &QueueFacts, _: Settings, _: Seed) -> Look {
        SectorOrder::new(BothWays::default())
    }
}

impl Discipline for BothWays {
    fn choose(&mut self, _: &IoContext, waiting: &Waiting) -> Option<RequestId> {
        let ahead = |is_downward| match is_downward {
            false => waiting.from(waiting.head),
            true => waiting.below(waiting.head),
        };
        ahead(self.is_downward).or_else(|| {
            self.is_downward = !self.is_downward;
            ahead(self.is_downward)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::sector_order::textbook;
    use crate::parts::verb_driver::VerbDriver;
    use goodness_core::{Io, Submitter};

    #[test]
    fn the_textbook_queue_is_served_upwards_and_then_downwards_without_a_wait() {
        let order = textbook::<Look>(Settings::default());
        assert_eq!(order, [65, 67, 98, 122, 124, 183, 37, 14].map(|sector| (sector, 0)));
    }

    #[test]
    fn the_way_down_goes_on_past_a_request_that_arrives_above() {
        let mut driver = VerbDriver::<Look>::new(Settings::default());
        let read = |sector| Io::read(Submitter(0), sector, 8);
        driver.insert(read(800));
        driver.drain();
        for sector in [80, 400] {
            driver.insert(read(sector));
        }
        driver.dispatch();
        driver.insert(read(480));
        assert_eq!(driver.drain(), [80, 480]);
    }
}
