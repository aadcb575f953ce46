//! cscan: the head moves to the edge of the disk, returns to the first sector and starts again.
//!
//! Source: textbook (Seaman, Lind, Wilson 1966). Inferred: see `parts/edge_sweep.rs`. With `stroke=0` it equals C-LOOK.
//! Weakness: the movements to the edge and back serve nothing.

use crate::parts::edge_sweep::{EdgeSweep, Settings};
use crate::parts::sector_order::SectorOrder;
use goodness_core::{ElevatorAbout, Layer, QueueFacts, RegisteredElevator, Seed};

/// C-SCAN.
pub type CScan = SectorOrder<EdgeSweep<true>>;

impl RegisteredElevator for CScan {
    const ABOUT: ElevatorAbout = ElevatorAbout {
        name: "cscan",
        summary: "From the first sector to the edge, and again from the first.",
        source: "textbook; Seaman, Lind, Wilson 1966",
        layer: Layer::Legacy,
    };
    type Settings = Settings;

    fn new(facts: &QueueFacts, settings: Settings, _: Seed) -> CScan {
        SectorOrder::new(EdgeSweep::new(facts, &settings))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::edge_sweep::{moving, textbook_settings, textbook_upward};
    use crate::parts::sector_order::textbook;
    use goodness_core::Span;

    #[test]
    fn it_goes_to_the_edge_and_begins_again_at_the_first_sector() {
        assert_eq!(textbook::<CScan>(textbook_settings()), [textbook_upward(), vec![(14, 217), (37, 217)]].concat());
    }

    #[test]
    fn without_a_way_to_the_edge_nobody_waits() {
        let now = Settings { stroke: Span::ZERO };
        assert_eq!(textbook::<CScan>(now), [textbook_upward(), vec![(14, 0), (37, 0)]].concat());
    }

    #[test]
    fn a_device_without_seeks_never_waits() {
        assert_eq!(moving::<CScan>(false).drain(), [20]);
    }
}
