//! Limits on the I/O of task groups (`io.max`) in front of a disk.
//!
//! ```text
//!  Io ──▶ its group's gate ──▶ the parent's gate ──▶ … ──▶ Queue
//!              │ over the limit: held, in order of arrival, by direction
//! ```
//!
//! Source: `Documentation/admin-guide/cgroup-v2.rst` of the kernel, "IO Interface Files": limits of bytes and I/Os a
//! second, by direction, hierarchical, with bursts of a slice. A slice begins with a group's first I/O; within it the
//! group may use at once what its rate gives to the slice's end, and what it leaves unused is not kept.
//!
//! Departures and inferences. A slice is 100 ms where the disk rotates and 20 ms where it does not: inferred, the
//! documentation names none. Of several groups within a limited one, I/Os go in order of arrival; the kernel
//! takes them in turns. A submitter whose I/O is held does not sleep for that, as it
//! does not in the kernel, where a worker submits it later.

use crate::disk::{Disk, Out, Outcome};
use goodness_core::{
    DeviceFacts, DiskId, Groups, Io, IoEvent, IoStage, Operation, QueueFacts, RequestId, SECTOR_BYTES, Span, Submitter,
    Time,
};
use goodness_referee::Refusal;
use std::collections::{BTreeSet, VecDeque};

/// Slice of a disk that rotates.
const SLICE_ROTATING: Span = Span::from_ms(100);
/// Slice of one that does not.
const SLICE_FLASH: Span = Span::from_ms(20);
/// Bytes that a discard counts as.
const DISCARD_BYTES: u64 = 512;
/// Nanoseconds in a second, and the unit of what is used.
const SECOND: u128 = 1_000_000_000;

/// A disk behind the limits of groups.
pub struct Throttle {
    disk: Box<dyn Disk>,
    id: DiskId,
    slice: Span,
    /// By group; the parent of a group comes before it.
    levels: Vec<Level>,
    /// I/Os that go on, for one call of the disk.
    batch: Vec<Io>,
    /// Tags of I/Os that were held and are in the disk: their submitters do not sleep for a request.
    released: BTreeSet<u64>,
    /// Submitters that ended while I/O of theirs was held.
    ended: Vec<Submitter>,
}

/// The limits of one group.
struct Level {
    parent: usize,
    /// For reads, and for everything else.
    gates: [Option<Gate>; 2],
}

/// A limit in one direction, with what it holds.
struct Gate {
    bytes: Option<u64>,
    ios: Option<u64>,
    /// Begin of the slice.
    start: Time,
    /// Its end; a slice is made longer while it is used.
    end: Time,
    /// Bytes and I/Os of the slice, in billionths, so that a slice which is worth a fraction of an I/O loses nothing.
    used: [u128; 2],
    held: VecDeque<(Io, Time)>,
    /// Time at which the first of them may go.
    due: Time,
}

impl Throttle {
    /// `disk` behind the limits of `groups`; `disk` itself if there are none.
    #[must_use]
    pub fn around(disk: Box<dyn Disk>, id: DiskId, groups: &Groups) -> Box<dyn Disk> {
        if groups.iter().all(|(_, group)| group.io_max.is_none()) {
            return disk;
        }
        let level = |number: usize| {
            let group = &groups[goodness_core::GroupId(number as u32)];
            let limit = group.io_max.unwrap_or_default();
            let gates = [(limit.read_bytes, limit.reads), (limit.written_bytes, limit.writes)];
            let gates = gates.map(|(bytes, ios)| (bytes.is_some() || ios.is_some()).then(|| Gate::new(bytes, ios)));
            Level { parent: group.parent.index(), gates }
        };
        Box::new(Throttle {
            id,
            slice: if disk.facts().rotational { SLICE_ROTATING } else { SLICE_FLASH },
            levels: (0..groups.count()).map(level).collect(),
            batch: Vec::new(),
            released: BTreeSet::new(),
            ended: Vec::new(),
            disk,
        })
    }

    /// Lets `io` through the gates from `level` outwards. Returns false if one holds it.
    fn passes(&mut self, now: Time, io: &Io, since: Time, mut level: usize) -> bool {
        while level != 0 {
            let Level { parent, gates } = &mut self.levels[level];
            if let Some(gate) = &mut gates[io.op.direction()]
                && !gate.takes(now, io, self.slice)
            {
                gate.held.push_back((*io, since));
                return false;
            }
            level = *parent;
        }
        true
    }

    /// Moves on what is due, the innermost groups first, and hands it to the disk.
    fn release(&mut self, now: Time, out: &mut Out) {
        self.batch.clear();
        for level in (1..self.levels.len()).rev() {
            for direction in 0..2 {
                while let Some((io, since)) = self.next_due(level, direction, now) {
                    if self.passes(now, &io, since, self.levels[level].parent) {
                        self.released.insert(io.tag);
                        let held = now.since(since);
                        let io = Io { held: Some(held), ..io };
                        out.event(|| IoEvent::of_io(self.id, IoStage::Released, RequestId(0), &io, held));
                        self.batch.push(io);
                    }
                }
            }
        }
        if !self.batch.is_empty() {
            let batch = std::mem::take(&mut self.batch);
            let told = out.outcomes.len();
            self.disk.submit(now, &batch, out);
            self.settle(told, out);
            self.batch = batch;
        }
        self.end_submitters(now, out);
    }

    /// Takes the first held I/O of a gate that may go now.
    fn next_due(&mut self, level: usize, direction: usize, now: Time) -> Option<(Io, Time)> {
        let gate = self.levels[level].gates[direction].as_mut()?;
        if gate.held.is_empty() || gate.due > now {
            return None;
        }
        let (io, since) = gate.held.pop_front()?;
        gate.charge(now, &io, self.slice);
        gate.look_ahead(now, self.slice);
        Some((io, since))
    }

    /// Leaves out that the submitter of a released I/O sleeps for a request.
    fn settle(&mut self, from: usize, out: &mut Out) {
        if self.released.is_empty() {
            return;
        }
        let mut place = from;
        while place < out.outcomes.len() {
            let is_kept = match out.outcomes[place] {
                Outcome::Waiting { tag } | Outcome::Admitted { tag } => !self.released.contains(&tag),
                Outcome::Done { tag } => {
                    self.released.remove(&tag);
                    true
                }
            };
            if is_kept {
                place += 1;
            } else {
                out.outcomes.remove(place);
            }
        }
    }

    fn holds_of(&self, submitter: Submitter) -> bool {
        self.held().any(|(io, _)| io.submitter == submitter)
    }

    fn held(&self) -> impl Iterator<Item = &(Io, Time)> {
        self.levels.iter().flat_map(|level| level.gates.iter().flatten()).flat_map(|gate| &gate.held)
    }

    /// Ends submitters whose last held I/O has gone.
    fn end_submitters(&mut self, now: Time, out: &mut Out) {
        let mut place = 0;
        while place < self.ended.len() {
            if self.holds_of(self.ended[place]) {
                place += 1;
                continue;
            }
            let submitter = self.ended.remove(place);
            let told = out.outcomes.len();
            self.disk.exit(now, submitter, out);
            self.settle(told, out);
        }
    }
}

impl Gate {
    fn new(bytes: Option<u64>, ios: Option<u64>) -> Gate {
        let (start, end) = (Time::ZERO, Time::ZERO);
        Gate { bytes, ios, start, end, used: [0; 2], held: VecDeque::new(), due: Time::NEVER }
    }

    /// Takes `io` at once if nothing is held and the limit has room. Otherwise the caller holds it.
    fn takes(&mut self, now: Time, io: &Io, slice: Span) -> bool {
        if !self.held.is_empty() {
            return false;
        }
        if now >= self.end {
            (self.start, self.end, self.used) = (now, now + slice, [0; 2]);
        }
        let wait = self.wait(now, io, slice);
        if wait > Span::ZERO {
            self.due = now + wait;
            return false;
        }
        self.charge(now, io, slice);
        true
    }

    /// The wait until the limit has room for `io`.
    fn wait(&self, now: Time, io: &Io, slice: Span) -> Span {
        let elapsed = now.since(self.start).0;
        let rounded = elapsed.div_ceil(slice.0).max(1) * slice.0;
        let of = |rate: Option<u64>, used: u128, size: u64| {
            let Some(rate) = rate.map(u128::from) else { return 0 };
            let over = (used + u128::from(size) * SECOND).saturating_sub(rate * u128::from(rounded));
            if over == 0 {
                return 0;
            }
            (rounded - elapsed).saturating_add(u64::try_from(over.div_ceil(rate)).unwrap_or(u64::MAX))
        };
        Span(of(self.bytes, self.used[0], size(io)).max(of(self.ios, self.used[1], 1)))
    }

    /// Charges `io`, and forgets the slices that are over.
    fn charge(&mut self, now: Time, io: &Io, slice: Span) {
        self.end = self.end.max(now + slice);
        let over = now.since(self.start).0 / slice.0 * slice.0;
        for ((used, size), rate) in self.used.iter_mut().zip([size(io), 1]).zip([self.bytes, self.ios]) {
            let given = rate.map_or(u128::MAX, |rate| u128::from(rate) * u128::from(over));
            *used = (*used + u128::from(size) * SECOND).saturating_sub(given);
        }
        self.start += Span(over);
    }

    /// Finds out when the next held I/O may go.
    fn look_ahead(&mut self, now: Time, slice: Span) {
        self.due = match self.held.front() {
            Some((io, _)) => now + self.wait(now, io, slice),
            None => Time::NEVER,
        };
    }
}

/// Bytes that an I/O counts as.
fn size(io: &Io) -> u64 {
    match io.op {
        Operation::Discard => DISCARD_BYTES,
        _ => u64::from(io.sectors) * SECTOR_BYTES,
    }
}

impl Disk for Throttle {
    fn submit(&mut self, now: Time, ios: &[Io], out: &mut Out) {
        self.batch.clear();
        for io in ios {
            if self.passes(now, io, now, io.group.index()) {
                self.batch.push(*io);
            } else {
                out.event(|| IoEvent::of_io(self.id, IoStage::Queued, RequestId(0), io, Span::ZERO));
            }
        }
        let batch = std::mem::take(&mut self.batch);
        if !batch.is_empty() {
            let told = out.outcomes.len();
            self.disk.submit(now, &batch, out);
            self.settle(told, out);
        }
        self.batch = batch;
    }

    fn unplug(&mut self, now: Time, out: &mut Out) {
        let told = out.outcomes.len();
        self.disk.unplug(now, out);
        self.settle(told, out);
    }

    fn next_event(&self) -> Time {
        if self.disk.refusal().is_some() {
            return Time::NEVER;
        }
        let gates = self.levels.iter().flat_map(|level| level.gates.iter().flatten());
        let due = gates.filter(|gate| !gate.held.is_empty()).map(|gate| gate.due).min();
        self.disk.next_event().min(due.unwrap_or(Time::NEVER))
    }

    fn advance(&mut self, now: Time, out: &mut Out) {
        if self.disk.next_event() <= now {
            let told = out.outcomes.len();
            self.disk.advance(now, out);
            self.settle(told, out);
        }
        self.release(now, out);
    }

    fn exit(&mut self, now: Time, submitter: Submitter, out: &mut Out) {
        self.ended.push(submitter);
        self.end_submitters(now, out);
    }

    fn in_flight(&self) -> u32 {
        self.disk.in_flight()
    }

    fn waiting(&self) -> u32 {
        self.disk.waiting() + self.held().count() as u32
    }

    fn facts(&self) -> &QueueFacts {
        self.disk.facts()
    }

    fn device(&self) -> DeviceFacts {
        self.disk.device()
    }

    fn elevator(&self) -> &'static str {
        self.disk.elevator()
    }

    fn refusal(&self) -> Option<&Refusal> {
        self.disk.refusal()
    }

    fn pieces(&self, request: RequestId, each: &mut dyn FnMut(&Io)) {
        self.disk.pieces(request, each);
    }
}
