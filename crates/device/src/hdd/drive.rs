//! The drive: queues commands, serves them with the arm, and transfers data over the bus.

use super::cache::Cache;
use super::geometry::Geometry;
use super::mechanics::Mechanics;
use super::parameters::{Overhead, Parameters};
use super::plan::Plan;
use super::queue::{Sweep, Waiting};
use super::seek::SeekTimes;
use super::statistics::Statistics;
use goodness_core::{Device, DeviceFacts, Operation, Request, RequestId, Time};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Next event of the drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Event {
    /// The bus is wanted by a read's data.
    Transfer(u32),
    /// A command is complete.
    Complete(u32),
    /// The arm is free.
    ArmFree,
}

/// A command in the drive.
#[derive(Clone, Copy, Debug)]
pub(super) struct Command {
    pub(super) id: RequestId,
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) op: Operation,
    pub(super) arrived: u64,
    /// Number among all commands.
    pub(super) turn: u64,
    /// Nanosecond at which its overhead is over.
    pub(super) ready: u64,
    /// Writes: nanosecond from which the media may be written without waiting for the bus.
    pub(super) data_ready: u64,
    /// For a read: the segment that holds its beginning.
    pub(super) continues: Option<usize>,
}

/// Current use of the arm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Held {
    /// Idle, or read-ahead, which can be interrupted.
    Free,
    /// An access, until the next [`Event::ArmFree`].
    Access,
    /// A command until it completes; the drive does not seek earlier.
    Command(u32),
}

/// A rotating disk.
#[derive(Debug)]
pub struct Hdd {
    pub(super) facts: DeviceFacts,
    pub(super) parameters: Parameters,
    pub(super) mechanics: Mechanics,
    pub(super) cache: Cache,
    pub(super) commands: Vec<Command>,
    pub(super) unused: Vec<u32>,
    pub(super) waiting: Vec<Waiting>,
    /// Scratch list of early-completed writes, while one of them is chosen.
    pub(super) candidates: Vec<Waiting>,
    /// Writes that wait for room in the buffer.
    pub(super) blocked: VecDeque<u32>,
    /// Flushes that wait for writes.
    pub(super) flushes: Vec<u32>,
    pub(super) sweep: Sweep,
    /// True if the last access was for a write that completed early.
    pub(super) destages: bool,
    /// True if the last command served was chosen for its age.
    pub(super) serves_for_age: bool,
    /// True if the last write that completed early was chosen for its age.
    pub(super) destages_for_age: bool,
    pub(super) plan: Plan,
    /// The segment that read-ahead fills.
    pub(super) reading: Option<usize>,
    pub(super) held: Held,
    /// Time in ns before which the arm may not leave, because a command waits for passing sectors.
    pub(super) committed: u64,
    pub(super) bus_free: u64,
    pub(super) turn: u64,
    pub(super) after_write: bool,
    pub(super) events: BinaryHeap<Reverse<(u64, u64, Event)>>,
    pub(super) event_turn: u64,
    pub(super) statistics: Statistics,
}

impl Hdd {
    /// A drive with these parameters, idle on cylinder 0.
    #[must_use]
    pub fn new(parameters: Parameters) -> Hdd {
        let p = &parameters;
        let geometry = Geometry::new(p.heads, p.order, &p.zones, p.sectors);
        let depth = p.depth as usize;
        let mechanics = Mechanics {
            seeks: SeekTimes::new(&p.curve, geometry.cylinders()),
            geometry,
            revolution: p.revolution_ps,
            head_switch: p.head_switch.ns(),
            write_settle: p.write_settle.ns(),
        };
        let facts = DeviceFacts {
            sectors: mechanics.geometry.sectors(),
            depth: p.depth,
            queues: 1,
            rotational: true,
            sectors_max: p.sectors_max,
            volatile_cache: p.write_extents > 0,
            age_limit: Some(p.age_limit.max(p.full_queue(&mechanics))),
        };
        Hdd {
            facts,
            mechanics,
            cache: Cache::new(p.segments as usize, p.segment_sectors, p.write_extents as usize),
            commands: Vec::with_capacity(depth),
            unused: Vec::with_capacity(depth),
            waiting: Vec::with_capacity(depth),
            candidates: Vec::with_capacity(p.write_extents as usize),
            blocked: VecDeque::with_capacity(depth),
            flushes: Vec::with_capacity(depth),
            sweep: Sweep::default(),
            destages: false,
            serves_for_age: false,
            destages_for_age: false,
            plan: Plan::default(),
            reading: None,
            held: Held::Free,
            committed: 0,
            bus_free: 0,
            turn: 0,
            after_write: false,
            events: BinaryHeap::with_capacity(3 * depth + 8),
            event_turn: 0,
            statistics: Statistics::default(),
            parameters,
        }
    }

    /// Statistics so far.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        self.statistics
    }

    /// Its parts that move.
    #[must_use]
    pub fn mechanics(&self) -> &Mechanics {
        &self.mechanics
    }

    pub(super) fn push(&mut self, at: u64, event: Event) {
        self.event_turn += 1;
        self.events.push(Reverse((at, self.event_turn, event)));
    }

    pub(super) fn overhead(&self, overhead: Overhead) -> u64 {
        if self.after_write { overhead.after_write.ns() } else { overhead.after_read.ns() }
    }

    /// Reserves the bus for `sectors`, at `at` or as soon as it is free. Returns start and end.
    pub(super) fn take_bus(&mut self, at: u64, sectors: u64) -> (u64, u64) {
        let begin = at.max(self.bus_free);
        self.bus_free = begin + sectors * self.parameters.bus.ns();
        (begin, self.bus_free)
    }

    fn take_slot(&mut self, command: Command) -> u32 {
        if let Some(slot) = self.unused.pop() {
            self.commands[slot as usize] = command;
            return slot;
        }
        self.commands.push(command);
        self.commands.len() as u32 - 1
    }

    fn handle(&mut self, now: u64, event: Event, done: &mut Vec<RequestId>) {
        match event {
            Event::Transfer(slot) => {
                let Command { start, end, .. } = self.commands[slot as usize];
                let sent = self.take_bus(now, end - start).1;
                self.push(sent, Event::Complete(slot));
            }
            Event::Complete(slot) => {
                done.push(self.commands[slot as usize].id);
                self.unused.push(slot);
                if self.held == Held::Command(slot) {
                    self.refresh(now);
                    self.arm_free(now);
                }
            }
            Event::ArmFree => {
                self.refresh(now);
                self.arm_free(now);
            }
        }
    }
}

impl Device for Hdd {
    fn facts(&self) -> DeviceFacts {
        self.facts
    }

    fn start(&mut self, now: Time, id: RequestId, request: &Request) {
        let now = now.ns();
        self.turn += 1;
        let last = self.facts.sectors - 1;
        let start = request.sector.min(last);
        let command = Command {
            id,
            start,
            end: (start + u64::from(request.sectors.max(1))).min(last + 1),
            op: request.op,
            arrived: now,
            turn: self.turn,
            ready: now,
            data_ready: 0,
            continues: None,
        };
        let slot = self.take_slot(command);
        self.refresh(now);
        match request.op {
            Operation::Read => self.read_arrives(now, slot),
            Operation::Write => self.write_arrives(now, slot, request.durable),
            Operation::Discard | Operation::Flush => {
                let ready = now + self.overhead(self.parameters.write_hit);
                self.commands[slot as usize].ready = ready;
                if request.op == Operation::Flush {
                    self.flushes.push(slot);
                    self.end_flushes(now);
                } else {
                    self.push(ready, Event::Complete(slot));
                }
            }
        }
        self.after_write = request.op == Operation::Write;
        self.dispatch(now);
    }

    fn next_event(&self) -> Time {
        self.events.peek().map_or(Time::NEVER, |Reverse((at, ..))| Time(*at))
    }

    fn advance(&mut self, now: Time, done: &mut Vec<RequestId>) {
        while let Some(Reverse((at, _, event))) = self.events.peek().copied() {
            if at > now.ns() {
                return;
            }
            self.events.pop();
            self.handle(at, event, done);
        }
    }
}
