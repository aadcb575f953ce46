//! Sweeps from edge to edge of the disk, for scan and cscan.
//!
//! An elevator cannot move the head without a request. Inferred: it waits as long as the movement would take, at a
//! constant speed of `stroke` for the whole disk, serves requests that arrive ahead of the head meanwhile, and starts
//! the next sweep at the edge. It moves only if a request waits behind. On a device without seeks, or with `stroke=0`,
//! the movement takes no time.

use crate::parts::sector_order::{Discipline, Waiting};
use goodness_core::{IoContext, IoReason, QueueFacts, RequestId, Span, Time};

goodness_core::tunables! {
    pub struct Settings {
        /// Time that the head takes from edge to edge.
        stroke: Span = Span::from_ms(10), in Span::ZERO => Span::from_s(1);
    }
}

/// Direction of the head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Up,
    Down,
    /// To the first sector, without serving requests.
    Return,
}

/// Sweeps to the edge and back, or to the edge and again from the first sector.
#[derive(Debug)]
pub struct EdgeSweep<const IS_CIRCULAR: bool> {
    stroke: Span,
    direction: Direction,
    /// Start and end of a movement without a request, from the last request or from edge to edge.
    movement: Option<(Time, Time)>,
    /// The edge at which the head waits.
    edge: Option<u64>,
}

impl<const IS_CIRCULAR: bool> EdgeSweep<IS_CIRCULAR> {
    pub fn new(facts: &QueueFacts, settings: &Settings) -> Self {
        let stroke = if facts.rotational { settings.stroke } else { Span::ZERO };
        EdgeSweep { stroke, direction: Direction::Up, movement: None, edge: None }
    }

    /// Position of the head, which started at `start`.
    fn place(&self, cx: &IoContext, start: u64) -> u64 {
        let Some((since, _)) = self.movement else { return start };
        let passed = u128::from(cx.now.since(since).0) * u128::from(cx.facts.sectors);
        let passed = u64::try_from(passed / u128::from(self.stroke.0.max(1))).unwrap_or(u64::MAX);
        match self.direction {
            Direction::Up => start.saturating_add(passed),
            Direction::Down => start.saturating_sub(passed),
            Direction::Return => 0,
        }
    }

    /// The first request ahead of the head.
    fn ahead(&self, cx: &IoContext, waiting: &Waiting) -> Option<RequestId> {
        let place = self.place(cx, self.edge.unwrap_or(waiting.head));
        match self.direction {
            Direction::Up => waiting.from(place),
            Direction::Down => waiting.below(place),
            Direction::Return => None,
        }
    }

    /// Starts a movement to the edge, or back from there.
    fn start_movement(&mut self, cx: &IoContext, start: u64) {
        let sectors = cx.facts.sectors.max(1);
        let distance = match self.direction {
            Direction::Up => sectors.saturating_sub(start),
            Direction::Down => start.min(sectors),
            Direction::Return => sectors,
        };
        let time = u128::from(self.stroke.0) * u128::from(distance) / u128::from(sectors);
        self.movement = Some((cx.now, cx.now + Span(time as u64)));
    }

    /// The head has arrived at the edge, or back from it.
    fn arrive(&mut self, cx: &IoContext) {
        self.movement = None;
        (self.direction, self.edge) = match self.direction {
            Direction::Up if IS_CIRCULAR => (Direction::Return, None),
            // A request beyond the capacity that was told is below the edge too.
            Direction::Up => (Direction::Down, Some(u64::MAX)),
            Direction::Down | Direction::Return => (Direction::Up, Some(0)),
        };
        if self.direction == Direction::Return {
            self.start_movement(cx, 0);
        }
    }
}

impl<const IS_CIRCULAR: bool> Discipline for EdgeSweep<IS_CIRCULAR> {
    fn choose(&mut self, cx: &IoContext, waiting: &Waiting) -> Option<RequestId> {
        // To the edge, back from it, up again: then every request lies ahead.
        for _ in 0..3 {
            if let Some(request) = self.ahead(cx, waiting) {
                (self.movement, self.edge) = (None, None);
                return Some(request);
            }
            if self.movement.is_none() {
                self.start_movement(cx, self.edge.unwrap_or(waiting.head));
            }
            if self.movement.is_some_and(|(_, until)| cx.now < until) {
                return None;
            }
            self.arrive(cx);
        }
        self.ahead(cx, waiting)
    }

    fn why(&self, ahead: Option<u64>, _: u64) -> Option<IoReason> {
        match ahead {
            Some(_) => Some(IoReason::SectorOrder),
            None => self.movement.map(|_| IoReason::HeadMoves),
        }
    }

    fn next_timer(&self) -> Option<Time> {
        self.movement.map(|(_, until)| until)
    }

    fn timer(&mut self, cx: &IoContext) {
        if self.movement.is_some_and(|(_, until)| until <= cx.now) {
            self.arrive(cx);
        }
    }
}

/// 1 ms for each of the textbook's 200 cylinders.
#[cfg(test)]
pub fn textbook_settings() -> Settings {
    Settings { stroke: Span::from_ms(200) }
}

/// The textbook's requests above the head, all served at once.
#[cfg(test)]
pub fn textbook_upward() -> Vec<(u64, u64)> {
    [65, 67, 98, 122, 124, 183].map(|cylinder| (cylinder, 0)).to_vec()
}

/// A disk of 200 sectors whose head is at 100, with requests behind it at 10 and 20.
#[cfg(test)]
pub fn moving<E: goodness_core::RegisteredElevator<Settings = Settings>>(
    rotational: bool,
) -> crate::parts::verb_driver::VerbDriver<E> {
    use crate::parts::verb_driver::{VerbDriver, facts};
    use goodness_core::{Io, Submitter};
    let mut driver = VerbDriver::<E>::with(QueueFacts { sectors: 200, rotational, ..facts() }, textbook_settings());
    for sector in [99, 10] {
        driver.insert(Io::read(Submitter(0), sector, 1));
    }
    driver.drain();
    driver.insert(Io::read(Submitter(0), 20, 1));
    driver
}
