//! scan: the head moves to the edge of the disk before it reverses.
//!
//! Source: textbook (Denning 1967). Inferred: see `parts/edge_sweep.rs`. With `stroke=0` it equals look. Weakness: the
//! movement to the edge serves nothing.

use crate::parts::edge_sweep::{EdgeSweep, Settings};
use crate::parts::sector_order::SectorOrder;
use goodness_core::{ElevatorAbout, Layer, QueueFacts, RegisteredElevator, Seed};

/// SCAN.
pub type Scan = SectorOrder<EdgeSweep<false>>;

impl RegisteredElevator for Scan {
    const ABOUT: ElevatorAbout = ElevatorAbout {
        name: "scan",
        summary: "From edge to edge and back.",
        source: "textbook; Denning 1967",
        layer: Layer::Legacy,
    };
    type Settings = Settings;

    fn new(facts: &QueueFacts, settings: Settings, _: Seed) -> Scan {
        SectorOrder::new(EdgeSweep::new(facts, &settings))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::edge_sweep::{moving, textbook_settings, textbook_upward};
    use crate::parts::sector_order::textbook;
    use goodness_core::{Elevator, Io, Span, Submitter};

    #[test]
    fn it_goes_to_the_edge_and_serves_the_rest_on_the_way_down() {
        // From just behind the beginning of cylinder 183 to the end of cylinder 199.
        assert_eq!(textbook::<Scan>(textbook_settings()), [textbook_upward(), vec![(37, 17), (14, 17)]].concat());
    }

    #[test]
    fn without_a_way_to_the_edge_nobody_waits() {
        let now = Settings { stroke: Span::ZERO };
        assert_eq!(textbook::<Scan>(now), [textbook_upward(), vec![(37, 0), (14, 0)]].concat());
    }

    #[test]
    fn what_arrives_ahead_of_the_moving_head_is_served_and_what_it_has_passed_is_not() {
        let mut driver = moving::<Scan>(true);
        // The head was at 100 and goes on at 1 ms a sector.
        assert_eq!(driver.dispatch(), None);
        driver.pass(Span::from_ms(50));
        driver.insert(Io::read(Submitter(0), 149, 1));
        assert_eq!(driver.dispatch(), None);
        driver.insert(Io::read(Submitter(0), 150, 1));
        assert_eq!(driver.drain(), [150]);
        assert_eq!(driver.elevator().next_timer(), Some(driver.now() + Span::from_ms(49)));
        driver.pass(Span::from_ms(49));
        assert_eq!(driver.drain(), [149, 20]);
    }

    #[test]
    fn a_device_without_seeks_never_waits() {
        assert_eq!(moving::<Scan>(false).drain(), [20]);
    }
}
