//! scan, cscan: the arm moves to the edge of the disk before it reverses (scan) or returns to the first sector (cscan).
//!
//! Source: textbook (Denning 1967; Seaman, Lind, Wilson 1966). An elevator cannot move an arm without a request.
//! Inferred: it waits as long as the movement would take, at a constant speed of `stroke` for the whole disk, serves
//! requests that arrive ahead of the arm meanwhile, and starts the next sweep at the edge. It moves only if a request
//! waits behind. On a device without an arm, or with `stroke=0`, the movement takes no time: scan then equals look, and
//! cscan equals C-LOOK. Weakness: the movement to the edge serves nothing.

use crate::parts::arm::{Arm, Discipline, Waiting};
use goodness_core::{
    ElevatorAbout, IoContext, Layer, QueueFacts, RegisteredElevator, RequestId, Seed, Span, Time,
};

goodness_core::tunables! {
    pub struct Settings {
        /// Time that the arm takes from edge to edge.
        stroke: Span = Span::from_ms(10), in Span::ZERO => Span::from_s(1);
    }
}

/// Movement of the arm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Up,
    Down,
    /// To the first sector, without serving requests.
    Return,
}

/// To the edge and back, or to the edge and again from the start.
#[derive(Debug)]
pub struct Edges<const IS_CIRCULAR: bool> {
    stroke: Span,
    way: Way,
    /// Since when and until when the arm is on its way, from its last request or from edge to edge.
    journey: Option<(Time, Time)>,
    /// The edge at which the arm is, if it has been nowhere since.
    edge: Option<u64>,
}

/// SCAN.
pub type Scan = Arm<Edges<false>>;
/// C-SCAN.
pub type CScan = Arm<Edges<true>>;

impl RegisteredElevator for Scan {
    const ABOUT: ElevatorAbout = ElevatorAbout {
        name: "scan",
        summary: "From edge to edge and back.",
        source: "textbook; Denning 1967",
        layer: Layer::Legacy,
    };
    type Settings = Settings;

    fn new(facts: &QueueFacts, settings: Settings, _: Seed) -> Scan {
        Arm::new(Edges::new(facts, &settings))
    }
}

impl RegisteredElevator for CScan {
    const ABOUT: ElevatorAbout = ElevatorAbout {
        name: "cscan",
        summary: "From the first sector to the edge, and again from the first.",
        source: "textbook; Seaman, Lind, Wilson 1966",
        layer: Layer::Legacy,
    };
    type Settings = Settings;

    fn new(facts: &QueueFacts, settings: Settings, _: Seed) -> CScan {
        Arm::new(Edges::new(facts, &settings))
    }
}

impl<const IS_CIRCULAR: bool> Edges<IS_CIRCULAR> {
    fn new(facts: &QueueFacts, settings: &Settings) -> Self {
        let stroke = if facts.rotational { settings.stroke } else { Span::ZERO };
        Edges { stroke, way: Way::Up, journey: None, edge: None }
    }

    /// Position of the arm, which came from `start`.
    fn place(&self, cx: &IoContext, start: u64) -> u64 {
        let Some((since, _)) = self.journey else { return start };
        let passed = u128::from(cx.now.since(since).0) * u128::from(cx.facts.sectors);
        let passed = u64::try_from(passed / u128::from(self.stroke.0.max(1))).unwrap_or(u64::MAX);
        match self.way {
            Way::Up => start.saturating_add(passed),
            Way::Down => start.saturating_sub(passed),
            Way::Return => 0,
        }
    }

    /// The first request on the arm's way.
    fn ahead(&self, cx: &IoContext, waiting: &Waiting) -> Option<RequestId> {
        let place = self.place(cx, self.edge.unwrap_or(waiting.head));
        match self.way {
            Way::Up => waiting.from(place),
            Way::Down => waiting.below(place),
            Way::Return => None,
        }
    }

    /// Moves the arm: to the edge, or back from there.
    fn set_out(&mut self, cx: &IoContext, start: u64) {
        let sectors = cx.facts.sectors.max(1);
        let distance = match self.way {
            Way::Up => sectors.saturating_sub(start),
            Way::Down => start.min(sectors),
            Way::Return => sectors,
        };
        let time = u128::from(self.stroke.0) * u128::from(distance) / u128::from(sectors);
        self.journey = Some((cx.now, cx.now + Span(time as u64)));
    }

    /// The arm is at the edge, or back from it.
    fn arrive(&mut self, cx: &IoContext) {
        self.journey = None;
        (self.way, self.edge) = match self.way {
            Way::Up if IS_CIRCULAR => (Way::Return, None),
            // A request beyond the capacity that was told is below the edge too.
            Way::Up => (Way::Down, Some(u64::MAX)),
            Way::Down | Way::Return => (Way::Up, Some(0)),
        };
        if self.way == Way::Return {
            self.set_out(cx, 0);
        }
    }
}

impl<const IS_CIRCULAR: bool> Discipline for Edges<IS_CIRCULAR> {
    fn choose(&mut self, cx: &IoContext, waiting: &Waiting) -> Option<RequestId> {
        // To the edge, back from it, up again: then every request lies ahead.
        for _ in 0..3 {
            if let Some(request) = self.ahead(cx, waiting) {
                (self.journey, self.edge) = (None, None);
                return Some(request);
            }
            if self.journey.is_none() {
                self.set_out(cx, self.edge.unwrap_or(waiting.head));
            }
            if self.journey.is_some_and(|(_, until)| cx.now < until) {
                return None;
            }
            self.arrive(cx);
        }
        self.ahead(cx, waiting)
    }

    fn next_timer(&self) -> Option<Time> {
        self.journey.map(|(_, until)| until)
    }

    fn timer(&mut self, cx: &IoContext) {
        if self.journey.is_some_and(|(_, until)| until <= cx.now) {
            self.arrive(cx);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::arm::textbook;
    use crate::parts::verb_driver::{VerbDriver, facts};
    use goodness_core::{Elevator, Io, Submitter};

    /// 1 ms for each of the textbook's 200 cylinders.
    fn settings() -> Settings {
        Settings { stroke: Span::from_ms(200) }
    }

    fn upward() -> Vec<(u64, u64)> {
        [65, 67, 98, 122, 124, 183].map(|sector| (sector, 0)).to_vec()
    }

    #[test]
    fn scan_goes_to_the_edge_and_serves_the_rest_on_the_way_down() {
        // From just behind the beginning of cylinder 183 to the end of cylinder 199.
        assert_eq!(textbook::<Scan>(settings()), [upward(), vec![(37, 17), (14, 17)]].concat());
    }

    #[test]
    fn cscan_goes_to_the_edge_and_begins_again_at_the_first_sector() {
        assert_eq!(textbook::<CScan>(settings()), [upward(), vec![(14, 217), (37, 217)]].concat());
    }

    #[test]
    fn without_a_way_to_the_edge_nobody_waits() {
        let now = Settings { stroke: Span::ZERO };
        assert_eq!(textbook::<Scan>(now.clone()), [upward(), vec![(37, 0), (14, 0)]].concat());
        assert_eq!(textbook::<CScan>(now), [upward(), vec![(14, 0), (37, 0)]].concat());
    }

    fn on_the_way<E: RegisteredElevator<Settings = Settings>>(rotational: bool) -> VerbDriver<E> {
        let mut driver = VerbDriver::<E>::with(QueueFacts { sectors: 200, rotational, ..facts() }, settings());
        for sector in [99, 10] {
            driver.insert(Io::read(Submitter(0), sector, 1));
        }
        driver.drain();
        driver.insert(Io::read(Submitter(0), 20, 1));
        driver
    }

    #[test]
    fn what_arrives_ahead_of_the_arm_on_its_way_is_served_and_what_it_has_passed_is_not() {
        let mut driver = on_the_way::<Scan>(true);
        // The arm was at 100 and goes on at 1 ms a sector.
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
    fn a_device_without_an_arm_never_waits() {
        assert_eq!(on_the_way::<Scan>(false).drain(), [20]);
        assert_eq!(on_the_way::<CScan>(false).drain(), [20]);
    }
}
