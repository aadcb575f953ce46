//! The flash array: rows, LUNs and channels.

use super::events::Event;
use super::lun::{Choice, Op, Work};
use super::mapping::NONE;
use super::{Flash, reserve, transfer};
use goodness_core::{Span, Time};

/// Most rows sent to a LUN at a time: one being programmed, one in its register.
const ROWS_MAX: u32 = 2;

impl Flash {
    /// Sends rows from the buffer to LUNs: full rows, and partial ones that a command waits for.
    pub(super) fn drain(&mut self, now: Time) {
        loop {
            let waiting = self.buffer.waiting();
            let is_wanted = self.buffer.is_awaited() || self.controller.is_flushing();
            if waiting == 0 || (waiting < self.geometry.units_per_row as usize && !is_wanted) {
                return;
            }
            let Some(lun) = self.lun_for_row(now) else { return };
            self.send_row(now, lun);
        }
    }

    /// The next LUN in striping order that can take a row.
    fn lun_for_row(&mut self, now: Time) -> Option<u32> {
        for _ in 0..self.geometry.luns {
            let lun = self.geometry.order[self.next_lun as usize];
            self.next_lun = (self.next_lun + 1) % self.geometry.luns;
            if !self.blocks.has_row(lun) {
                // It may rest because there was nothing to collect; now there may be.
                self.work(now, lun);
            } else if self.luns[lun as usize].rows < ROWS_MAX {
                return Some(lun);
            }
        }
        None
    }

    /// Sends a row from the buffer over the channel to the LUN's register.
    fn send_row(&mut self, now: Time, lun: u32) {
        let row = self.buffer.take_row(self.geometry.units_per_row);
        let place = self.blocks.host_row(&self.geometry, lun);
        let at = self.over_channel(now, lun, row.len() as u64 * self.settings.mapping_unit);
        self.wear.written += row.len() as u64;
        self.wear.padding += u64::from(self.geometry.units_per_row) - row.len() as u64;
        self.luns[lun as usize].rows += 1;
        let op = self.ops.take(Op::Program { row, place });
        self.events.push(at, Event::Loaded { op, lun });
    }

    /// Reserves the channel of `lun` for `bytes`. Returns the end of the transfer.
    pub(super) fn over_channel(&mut self, now: Time, lun: u32, bytes: u64) -> Time {
        let channel = (lun / self.geometry.luns_per_channel) as usize;
        reserve(&mut self.channels[channel], now, transfer(bytes, self.settings.channel_rate))
    }

    /// An operation waits for a LUN.
    pub(super) fn enqueue(&mut self, now: Time, lun: u32, op: u32) {
        self.luns[lun as usize].wait(&mut self.ops, op);
        self.work(now, lun);
    }

    /// Finds something to do for a LUN that rests, or interrupts it for a read.
    pub(super) fn work(&mut self, now: Time, lun: u32) {
        match self.luns[lun as usize].busy {
            Some(work) => self.suspend(now, lun, work),
            None => self.choose(now, lun),
        }
    }

    fn suspend(&mut self, now: Time, lun: u32, work: Work) {
        let span = match work {
            Work::Program(_) | Work::MoveProgram(_) => self.settings.suspend_program,
            Work::Erase => self.settings.suspend_erase,
            Work::Read(_) | Work::MoveRead | Work::Suspend => return,
        };
        let state = &mut self.luns[lun as usize];
        let left = state.end.since(now);
        if self.settings.suspend && left > span && state.wants_suspend() {
            state.suspend(work, left);
            self.begin(now + span, lun, Work::Suspend);
        }
    }

    fn choose(&mut self, now: Time, lun: u32) {
        let forced = self.must_collect(lun);
        let collects = forced || self.may_collect(lun);
        let state = &mut self.luns[lun as usize];
        match state.choose(&mut self.ops, self.settings.suspend, forced, collects) {
            Choice::Host(work) => {
                let span = self.host_span(work);
                self.begin(now + span, lun, work);
            }
            Choice::Resume(work, left) => self.begin(now + left, lun, work),
            Choice::Collect => self.collect(now, lun),
            Choice::Rest => {}
        }
    }

    /// The LUN does `work` until `end`.
    pub(super) fn begin(&mut self, end: Time, lun: u32, work: Work) {
        let state = &mut self.luns[lun as usize];
        state.generation = state.generation.wrapping_add(1);
        (state.busy, state.end) = (Some(work), end);
        self.events.push(end, Event::Lun { lun, generation: state.generation });
    }

    fn host_span(&mut self, work: Work) -> Span {
        let span = match work {
            Work::Read(op) => match self.ops.get(op) {
                Op::Read { upper, .. } => self.read_span(upper),
                Op::Program { .. } => unreachable!("reads are queued as reads"),
            },
            _ => self.settings.program,
        };
        self.jitter.apply(span)
    }

    /// Time to sense a page.
    pub(super) fn read_span(&self, upper: bool) -> Span {
        if upper { self.settings.read_upper } else { self.settings.read }
    }

    /// True if the pages of a row are of the slower kind.
    pub(super) fn is_upper(&self, row: u32) -> bool {
        row % self.geometry.rows_per_block % 2 == 1
    }

    /// Handles the end of a LUN's operation, unless it was interrupted.
    pub(super) fn lun_ended(&mut self, now: Time, lun: u32, generation: u32) {
        let state = &mut self.luns[lun as usize];
        if state.generation != generation {
            return;
        }
        let ended = state.busy.take();
        if matches!(ended, Some(Work::Program(_) | Work::MoveProgram(_) | Work::Erase)) {
            state.served();
        }
        match ended {
            Some(Work::Read(op)) => self.read_ended(now, op),
            Some(Work::Program(op)) => self.program_ended(now, lun, op),
            Some(Work::MoveRead) => self.move_read_ended(now, lun),
            Some(Work::MoveProgram(place)) => self.move_ended(lun, place),
            Some(Work::Erase) => self.erase_ended(now, lun),
            Some(Work::Suspend) | None => {}
        }
        if self.luns[lun as usize].busy.is_none() {
            self.choose(now, lun);
        }
    }

    fn read_ended(&mut self, now: Time, op: u32) {
        let Op::Read { command, bytes, lun, .. } = self.ops.finish(op) else { return };
        let at = self.over_channel(now, lun, bytes);
        if command != NONE {
            self.part_sensed(command, at);
        }
    }

    /// Handles the end of a program: frees the row's buffer slots and continues the commands that waited for them.
    fn program_ended(&mut self, now: Time, lun: u32, op: u32) {
        let Op::Program { mut row, place } = self.ops.finish(op) else { return };
        self.luns[lun as usize].rows -= 1;
        self.blocks.programmed(&self.geometry, &mut self.mapping, place);
        let mut to = place;
        while let Some((slot, was)) = self.buffer.drained(&mut row) {
            self.mapping.settle(&self.geometry, was.unit, slot, to);
            to += 1;
            if was.waiter != NONE {
                self.part_ended(now, was.waiter);
            }
        }
        for empty in to..place + self.geometry.units_per_row {
            self.mapping.program(&self.geometry, None, empty);
        }
        self.flushed(now);
        self.admit(now);
    }
}
