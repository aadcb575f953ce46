//! The host side: hardware queues, controller, interface, and the steps of each command.

use super::events::Event;
use super::lun::Op;
use super::mapping::{NONE, Place};
use super::settings::Settings;
use super::{Flash, reserve, transfer};
use goodness_core::{Operation, Request, RequestId, SECTOR_BYTES, Span, Time};
use goodness_queues::{Links, List};
use std::ops::Range;

/// A command in the drive.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Command {
    op: Operation,
    sector: u64,
    sectors: u32,
    durable: bool,
    /// Parts that must end before it can go on.
    parts: u32,
    /// Write: units that are in the buffer.
    buffered: u64,
    /// Read: when the last part so far is in the controller.
    sensed: Time,
    /// Flush: the filling of the buffer that it waits for.
    filling: u64,
}

/// Hardware queues (served round robin), controller pipeline and interface.
#[derive(Debug)]
pub(crate) struct Controller {
    /// Commands not started yet, by hardware queue.
    queues: Vec<List>,
    /// List links. A command is in a hardware queue, waits for the buffer, or waits as a flush: on one list at a time.
    links: Links,
    /// Commands in all queues.
    queued: u32,
    /// Next queue to serve.
    turn: usize,
    /// Time from one command to the next.
    interval: Span,
    /// Time the next command can start.
    free: Time,
    /// Writes that wait for room in the buffer.
    writers: List,
    flushes: List,
    /// Time the interface towards the drive becomes free.
    inbound: Time,
    outbound: Time,
}

impl Controller {
    pub fn new(settings: &Settings) -> Controller {
        Controller {
            queues: vec![List::default(); settings.queues as usize],
            links: Links::default(),
            queued: 0,
            turn: 0,
            interval: Span(1_000_000_000u64.checked_div(settings.max_iops).unwrap_or(0)),
            free: Time::ZERO,
            writers: List::default(),
            flushes: List::default(),
            inbound: Time::ZERO,
            outbound: Time::ZERO,
        }
    }

    /// True if some flush waits.
    pub fn is_flushing(&self) -> bool {
        !self.flushes.is_empty()
    }

    /// Takes the next command, round robin over the queues.
    fn next(&mut self) -> Option<u32> {
        let count = self.queues.len();
        for queue in (self.turn..count).chain(0..self.turn) {
            if let Some(command) = self.queues[queue].pop_front(&mut self.links) {
                self.turn = (queue + 1) % count;
                self.queued -= 1;
                return Some(command);
            }
        }
        None
    }
}

impl Flash {
    /// A command enters its hardware queue.
    pub(super) fn accept(&mut self, now: Time, id: RequestId, request: &Request) {
        let command = Command {
            op: request.op,
            sector: request.sector,
            sectors: request.sectors,
            durable: request.durable,
            parts: 1,
            buffered: 0,
            sensed: now,
            filling: 0,
        };
        if id.index() >= self.commands.len() {
            self.commands.resize(id.index() + 1, command);
            self.controller.links.reserve(self.commands.len());
        }
        self.commands[id.index()] = command;
        let queue = request.queue.index() % self.controller.queues.len();
        let controller = &mut self.controller;
        controller.queues[queue].push_back(&mut controller.links, id.0);
        controller.queued += 1;
        if controller.queued == 1 {
            let at = controller.free.max(now);
            self.events.push(at, Event::Fetch);
        }
    }

    /// Starts a command in the controller.
    pub(super) fn fetch(&mut self, now: Time) {
        let Some(command) = self.controller.next() else { return };
        reserve(&mut self.controller.free, now, self.controller.interval);
        if self.controller.queued > 0 {
            self.events.push(self.controller.free, Event::Fetch);
        }
        let latency = self.latency(&self.commands[command as usize]);
        self.events.push(now + latency, Event::Decoded(command));
    }

    fn latency(&self, command: &Command) -> Span {
        let units = self.units(command);
        match command.op {
            Operation::Write => self.settings.write_command + self.settings.write_unit * (units.end - units.start),
            Operation::Read if units.end - units.start > 1 => self.settings.command_large,
            _ => self.settings.command,
        }
    }

    /// Handles a decoded command.
    pub(super) fn decoded(&mut self, now: Time, id: u32) {
        let command = self.commands[id as usize];
        match command.op {
            Operation::Read => self.read(now, id, &command),
            Operation::Write => {
                let span = self.interface_span(&command);
                let at = reserve(&mut self.controller.inbound, now, span);
                if !self.settings.duplex {
                    self.controller.outbound = at;
                }
                self.events.push(at, Event::Received(id));
            }
            Operation::Discard => self.discard(now, id, &command),
            Operation::Flush => self.flush(now, id),
        }
    }

    fn interface_span(&self, command: &Command) -> Span {
        transfer(u64::from(command.sectors) * SECTOR_BYTES, self.settings.interface_rate)
    }

    /// Mapping units that a command touches, before folding.
    fn units(&self, command: &Command) -> Range<u64> {
        let size = u64::from(self.geometry.unit_sectors);
        let end = command.sector + u64::from(command.sectors);
        command.sector / size..end.div_ceil(size).max(command.sector / size)
    }

    fn folded(&self, unit: u64) -> u32 {
        (unit % u64::from(self.geometry.units)) as u32
    }

    /// Sectors of `unit` that a command covers.
    fn covered(&self, command: &Command, unit: u64) -> u64 {
        let size = u64::from(self.geometry.unit_sectors);
        let end = command.sector + u64::from(command.sectors);
        end.min((unit + 1) * size) - command.sector.max(unit * size)
    }

    /// Reads each row the command needs. Units in the buffer or never written need no flash read.
    fn read(&mut self, now: Time, id: u32, command: &Command) {
        let mut part: Option<(u32, u64)> = None;
        for unit in self.units(command) {
            let Place::Flash(place) = self.mapping.place(self.folded(unit)) else { continue };
            let (row, bytes) = (place / self.geometry.units_per_row, self.covered(command, unit) * SECTOR_BYTES);
            match &mut part {
                Some((last, sum)) if *last == row => *sum += bytes,
                _ => {
                    if let Some((row, bytes)) = part.replace((row, bytes)) {
                        self.read_row(now, id, row, bytes);
                    }
                }
            }
        }
        if let Some((row, bytes)) = part {
            self.read_row(now, id, row, bytes);
        }
        self.part_ended(now, id);
    }

    /// Queues a row read at its LUN, for a command or for none ([`NONE`]).
    fn read_row(&mut self, now: Time, command: u32, row: u32, bytes: u64) {
        if command != NONE {
            self.commands[command as usize].parts += 1;
        }
        let lun = self.geometry.lun_of_place(row * self.geometry.units_per_row);
        let upper = self.is_upper(row);
        let op = self.ops.take(Op::Read { command, bytes, lun, upper });
        self.enqueue(now, lun, op);
    }

    /// Part of a read was sensed, and is in the controller at `at`.
    pub(super) fn part_sensed(&mut self, id: u32, at: Time) {
        let command = &mut self.commands[id as usize];
        command.sensed = command.sensed.max(at);
        self.part_ended(at, id);
    }

    /// Handles the end of a part of a command. After the last part a read goes to the interface; other commands
    /// complete.
    pub(super) fn part_ended(&mut self, now: Time, id: u32) {
        let command = &mut self.commands[id as usize];
        command.parts -= 1;
        if command.parts > 0 {
            return;
        }
        if command.op == Operation::Read {
            let at = command.sensed.max(now);
            self.events.push(at, Event::Sensed(id));
        } else {
            self.events.push(now, Event::Complete(id));
        }
    }

    /// Sends the data of a read over the interface.
    pub(super) fn sensed(&mut self, now: Time, id: u32) {
        let span = self.interface_span(&self.commands[id as usize]);
        let at = reserve(&mut self.controller.outbound, now, span);
        if !self.settings.duplex {
            self.controller.inbound = at;
        }
        self.events.push(at, Event::Complete(id));
    }

    /// The data of a write are here and wait for room in the buffer.
    pub(super) fn received(&mut self, now: Time, id: u32) {
        let controller = &mut self.controller;
        controller.writers.push_back(&mut controller.links, id);
        self.admit(now);
    }

    /// Moves waiting writes into the buffer, in order, while there is room; then drains it.
    pub(super) fn admit(&mut self, now: Time) {
        while let Some(id) = self.controller.writers.front() {
            if !self.fill(now, id) {
                break;
            }
            self.controller.writers.pop_front(&mut self.controller.links);
            self.part_ended(now, id);
        }
        self.drain(now);
    }

    /// Puts the units of a write into the buffer. Returns false if it fills up before the last one.
    fn fill(&mut self, now: Time, id: u32) -> bool {
        let command = self.commands[id as usize];
        let waits = !self.settings.early_completion || (command.durable && self.settings.volatile);
        let waiter = if waits { id } else { NONE };
        for unit in self.units(&command).skip(command.buffered as usize) {
            let folded = self.folded(unit);
            let place = self.mapping.place(folded);
            let is_absorbed = matches!(place, Place::Buffered(slot) if self.buffer.overwrite(slot, waiter));
            if !is_absorbed {
                let Some(slot) = self.buffer.fill(folded, waiter) else { return false };
                self.mapping.buffer(&self.geometry, folded, slot);
            }
            self.commands[id as usize].buffered += 1;
            self.commands[id as usize].parts += u32::from(waits);
            self.wear.host += 1;
            let missing = u64::from(self.geometry.unit_sectors) - self.covered(&command, unit);
            if let Place::Flash(place) = place
                && missing > 0
            {
                self.read_row(now, NONE, place / self.geometry.units_per_row, missing * SECTOR_BYTES);
            }
        }
        true
    }

    /// Forgets the units that lie wholly within the command.
    fn discard(&mut self, now: Time, id: u32, command: &Command) {
        let size = u64::from(self.geometry.unit_sectors);
        let end = (command.sector + u64::from(command.sectors)) / size;
        for unit in command.sector.div_ceil(size)..end {
            let folded = self.folded(unit);
            let Place::Buffered(slot) = self.mapping.discard(&self.geometry, folded) else { continue };
            if !self.buffer.slot(slot).draining {
                let slot = self.buffer.drop_waiting(slot);
                if slot.waiter != NONE {
                    self.part_ended(now, slot.waiter);
                }
            }
        }
        self.part_ended(now, id);
        self.flushed(now);
        self.admit(now);
    }

    /// A flush waits for all that is in the buffer now, if that can be lost.
    fn flush(&mut self, now: Time, id: u32) {
        if self.settings.volatile {
            self.commands[id as usize].filling = self.buffer.last_filling();
            let controller = &mut self.controller;
            controller.flushes.push_back(&mut controller.links, id);
            self.flushed(now);
            self.drain(now);
        } else {
            self.part_ended(now, id);
        }
    }

    /// Completes the flushes whose data is in flash.
    pub(super) fn flushed(&mut self, now: Time) {
        while let Some(id) = self.controller.flushes.front() {
            if !self.buffer.is_durable(self.commands[id as usize].filling) {
                return;
            }
            self.controller.flushes.pop_front(&mut self.controller.links);
            self.part_ended(now, id);
        }
    }
}
