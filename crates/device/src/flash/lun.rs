//! One LUN: its current operation, an interrupted one, and its queues.
//!
//! Host reads and programs are FIFO; with suspension, reads go first. Forced collection alternates with the host. Other
//! collection runs only while the queues are empty.

use super::mapping::NONE;
use goodness_core::{Span, Time};
use goodness_queues::{Links, List};

/// Most reads that may overtake an interrupted operation or waiting programs. Inferred: real drives limit it too, but
/// publish no value.
const OVERTAKE_MAX: u32 = 32;

/// Operation of a busy LUN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    /// Sensing the page that this operation reads.
    Read(u32),
    /// Programming the row of this operation.
    Program(u32),
    /// Reading a row whose valid units are to be moved.
    MoveRead,
    /// Programming moved units at this place.
    MoveProgram(u32),
    /// Erasing the block that is collected.
    Erase,
    /// Suspending its operation.
    Suspend,
}

/// An operation of the host on flash.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    /// The part of a command in one row.
    Read { command: u32, bytes: u64, lun: u32, upper: bool },
    /// A row from the write buffer, for this place.
    Program { row: List, place: u32 },
}

/// Waiting and running operations.
#[derive(Debug, Default)]
pub(crate) struct Ops {
    slots: Vec<(Op, u64)>,
    free: Vec<u32>,
    links: Links,
    taken: u64,
}

impl Ops {
    /// Takes a slot, numbered in order of taking.
    pub fn take(&mut self, op: Op) -> u32 {
        self.taken += 1;
        if let Some(id) = self.free.pop() {
            self.slots[id as usize] = (op, self.taken);
            return id;
        }
        self.slots.push((op, self.taken));
        self.links.reserve(self.slots.len());
        self.slots.len() as u32 - 1
    }

    pub fn get(&self, id: u32) -> Op {
        self.slots[id as usize].0
    }

    /// Frees the slot of an operation.
    pub fn finish(&mut self, id: u32) -> Op {
        self.free.push(id);
        self.get(id)
    }

    fn number(&self, id: u32) -> u64 {
        self.slots[id as usize].1
    }
}

/// The collection of one block.
#[derive(Debug)]
pub(crate) struct Collection {
    /// The block, or [`NONE`].
    pub victim: u32,
    /// Next row to examine.
    pub row: u32,
    /// Valid units read so far, with their places.
    pub gathered: Vec<(u32, u32)>,
}

/// The LUN's next operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    Host(Work),
    Resume(Work, Span),
    Collect,
    Rest,
}

/// State of one LUN.
#[derive(Debug)]
pub(crate) struct Lun {
    reads: List,
    programs: List,
    /// Rows sent to this LUN: on the channel, waiting, or being programmed.
    pub rows: u32,
    pub busy: Option<Work>,
    /// End of `busy`.
    pub end: Time,
    /// Number of the valid end event. End events of interrupted operations carry older numbers.
    pub generation: u32,
    suspended: Option<(Work, Span)>,
    /// Number of host operations that overtook one that has waited longer.
    overtaken: u32,
    pub collection: Collection,
}

impl Lun {
    pub fn new(units_per_row: u32) -> Lun {
        let gathered = Vec::with_capacity(2 * units_per_row as usize);
        Lun {
            reads: List::default(),
            programs: List::default(),
            rows: 0,
            busy: None,
            end: Time::ZERO,
            generation: 0,
            suspended: None,
            overtaken: 0,
            collection: Collection { victim: NONE, row: 0, gathered },
        }
    }

    /// Queues an operation.
    pub fn wait(&mut self, ops: &mut Ops, id: u32) {
        let list = match ops.get(id) {
            Op::Read { .. } => &mut self.reads,
            Op::Program { .. } => &mut self.programs,
        };
        list.push_back(&mut ops.links, id);
    }

    /// True if host operations wait or are suspended.
    pub fn has_host_work(&self) -> bool {
        !self.reads.is_empty() || !self.programs.is_empty() || self.suspended.is_some()
    }

    /// True if waiting reads should interrupt its operation.
    pub fn wants_suspend(&self) -> bool {
        !self.reads.is_empty() && self.suspended.is_none() && self.overtaken < OVERTAKE_MAX
    }

    /// Resets the overtaking limit after a program or an erase.
    pub fn served(&mut self) {
        self.overtaken = 0;
    }

    /// Suspends its operation, `left` before its end.
    pub fn suspend(&mut self, work: Work, left: Span) {
        self.suspended = Some((work, left));
    }

    /// Chooses the next operation. `forced`: collection must run; `collects`: it has work.
    pub fn choose(&mut self, ops: &mut Ops, reads_first: bool, forced: bool, collects: bool) -> Choice {
        if let Some((work, left)) = self.suspended {
            if self.overtaken < OVERTAKE_MAX
                && let Some(read) = self.take_read(ops)
            {
                self.overtaken += 1;
                return Choice::Host(read);
            }
            self.suspended = None;
            return Choice::Resume(work, left);
        }
        let turns = if reads_first { OVERTAKE_MAX } else { 1 };
        if forced && (self.overtaken >= turns || !self.has_host_work()) {
            self.overtaken = 0;
            return Choice::Collect;
        }
        if let Some(work) = self.take_host(ops, reads_first) {
            self.overtaken += u32::from(forced);
            return Choice::Host(work);
        }
        self.overtaken = 0;
        if collects { Choice::Collect } else { Choice::Rest }
    }

    fn take_host(&mut self, ops: &mut Ops, reads_first: bool) -> Option<Work> {
        let is_read = match (self.reads.front(), self.programs.front()) {
            (None, _) => false,
            (_, None) => true,
            (Some(_), Some(_)) if reads_first => self.overtaken < OVERTAKE_MAX,
            (Some(read), Some(program)) => ops.number(read) < ops.number(program),
        };
        if is_read {
            self.overtaken += u32::from(reads_first && !self.programs.is_empty());
            return self.take_read(ops);
        }
        if reads_first {
            self.overtaken = 0;
        }
        self.programs.pop_front(&mut ops.links).map(Work::Program)
    }

    fn take_read(&mut self, ops: &mut Ops) -> Option<Work> {
        self.reads.pop_front(&mut ops.links).map(Work::Read)
    }
}
