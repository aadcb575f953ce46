//! flash: the model behind `ssd`, `nvme` and `femu`.
//!
//! Source: `specs/io-schedulers.md` section 12. A drive is a controller, an interface, a write buffer and channels of
//! LUNs. The life of a command:
//!
//! ```text
//! read   queue ─▶ controller ─▶ LUN (sensing) ─▶ channel ─▶ interface ─▶ done
//! write  queue ─▶ controller ─▶ interface ─▶ buffer ─▶ done            (early completion)
//!                                              └─▶ channel ─▶ LUN (programming) ─▶ done   (otherwise, and if durable)
//! ```
//!
//! Channels and interface serve in order of readiness; a LUN can sense its next page while the last one is on the
//! channel. Pages are mapped one by one (`mapping`); a LUN whose free blocks run out collects (`collect`). Departures
//! and inferences are listed in `docs/devices.md`.

mod age;
mod array;
mod blocks;
mod buffer;
mod collect;
#[cfg(test)]
mod consistency;
mod events;
mod host;
mod jitter;
mod lun;
mod mapping;
mod settings;

pub use collect::Wear;
pub use settings::{Settings, Shape, Start, Stripe};

use blocks::Blocks;
use buffer::Buffer;
use events::{Event, Events};
use goodness_core::{Device, DeviceFacts, Request, RequestId, Seed, Span, Time, Tunable, Tunables};
use host::{Command, Controller};
use jitter::Jitter;
use lun::{Lun, Ops};
use mapping::Mapping;
use settings::Geometry;

/// Largest transfer of a command, in sectors.
const SECTORS_MAX: u32 = 2560;

/// A solid-state drive.
#[derive(Debug)]
pub struct Flash {
    settings: Settings,
    facts: DeviceFacts,
    geometry: Geometry,
    /// Commands in the drive, indexed by request.
    commands: Vec<Command>,
    controller: Controller,
    mapping: Mapping,
    blocks: Blocks,
    buffer: Buffer,
    luns: Vec<Lun>,
    ops: Ops,
    /// Time each channel becomes free.
    channels: Vec<Time>,
    /// Next LUN to get a row, as an index into the LUN order.
    next_lun: u32,
    events: Events,
    jitter: Jitter,
    wear: Wear,
}

impl Flash {
    /// A drive with these settings in its initial state. `seed` drives jitter and ageing.
    ///
    /// # Errors
    /// Sizes that do not fit each other, or a drive too small for its blocks, as a sentence.
    pub fn new(settings: &Settings, seed: Seed) -> Result<Flash, String> {
        let geometry = Geometry::new(settings)?;
        let mapping = match settings.start {
            Start::Empty => Mapping::new(&geometry, 0),
            Start::Half => Mapping::new(&geometry, geometry.units / 2),
            Start::Full => Mapping::new(&geometry, geometry.units),
            Start::Aged => age::aged(&geometry, seed),
        };
        let blocks = Blocks::new(&geometry, &mapping);
        let slots = (settings.buffer * 1024 / settings.mapping_unit).min(1 << 30) as u32;
        let facts = DeviceFacts {
            sectors: settings.sectors,
            depth: settings.depth as u32,
            queues: settings.queues as u16,
            rotational: false,
            sectors_max: SECTORS_MAX,
            volatile_cache: settings.volatile,
            age_limit: Some(settings.age_limit(SECTORS_MAX)),
        };
        Ok(Flash {
            settings: settings.clone(),
            facts,
            commands: Vec::new(),
            controller: Controller::new(settings),
            mapping,
            blocks,
            buffer: Buffer::new(slots),
            luns: (0..geometry.luns).map(|_| Lun::new(geometry.units_per_row)).collect(),
            ops: Ops::default(),
            channels: vec![Time::ZERO; settings.channels as usize],
            next_lun: 0,
            events: Events::default(),
            jitter: Jitter::new(settings, seed),
            wear: Wear::default(),
            geometry,
        })
    }

    /// Units written, moved and erased since the start.
    #[must_use]
    pub fn wear(&self) -> Wear {
        self.wear
    }

    fn handle(&mut self, now: Time, event: Event, done: &mut Vec<RequestId>) {
        match event {
            Event::Fetch => self.fetch(now),
            Event::Decoded(command) => self.decoded(now, command),
            Event::Received(command) => self.received(now, command),
            Event::Loaded { op, lun } => self.enqueue(now, lun, op),
            Event::Lun { lun, generation } => self.lun_ended(now, lun, generation),
            Event::Sensed(command) => self.sensed(now, command),
            Event::Complete(command) => done.push(RequestId(command)),
        }
    }
}

impl Device for Flash {
    fn facts(&self) -> DeviceFacts {
        self.facts
    }

    fn start(&mut self, now: Time, id: RequestId, request: &Request) {
        self.accept(now, id, request);
    }

    fn next_event(&self) -> Time {
        self.events.next()
    }

    fn advance(&mut self, now: Time, done: &mut Vec<RequestId>) {
        while let Some((at, event)) = self.events.pop_until(now) {
            self.handle(at, event, done);
        }
    }
}

/// Tunables of a preset, with its defaults.
pub(crate) fn tunables(preset: &Settings) -> Vec<Tunable> {
    let own = preset.values().into_iter().map(|(_, value)| value);
    Settings::spec().iter().cloned().zip(own).map(|(tunable, default)| Tunable { default, ..tunable }).collect()
}

/// A preset with some things set otherwise.
pub(crate) fn make(mut preset: Settings, typed: &[(String, String)], seed: Seed) -> Result<Box<dyn Device>, String> {
    for (key, value) in typed {
        preset.set(key, value).map_err(|e| e.0)?;
    }
    Ok(Box::new(Flash::new(&preset, seed)?))
}

/// Transfer time of `bytes` at `rate` MB/s, rounded up to the nanosecond.
fn transfer(bytes: u64, rate: u64) -> Span {
    Span((bytes * 1000).div_ceil(rate))
}

/// Reserves a serial resource for `span`, as soon as it is free. Returns the end.
fn reserve(free: &mut Time, now: Time, span: Span) -> Time {
    *free = (*free).max(now) + span;
    *free
}
