//! Walks back from the end of a latency to its begin, along the critical path: a task that waits for a CPU waited
//! behind what that CPU did; one that was asleep waited for its waker.

use super::disks::IoTimes;
use super::pieces::{Piece, overlay};
use super::trail::{Entry, NONE, Seq, Trail, What};
use super::{Cause, Explained, Held, Late, Of, Origin, Segment};
use crate::tracker::Tracker;
use goodness_core::{CpuId, Off, Overhead, TaskId, Time};

/// Largest machine on which other CPUs are examined for each wait. A choice: their number times that of the waits is
/// the cost.
const CPUS_EXAMINED: usize = 64;

/// Occupation of a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Doing {
    Runs(TaskId),
    Idles,
    Host(Overhead),
    Unknown,
}

/// The way back so far.
struct Path {
    late: Late,
    /// Time down to which it is explained.
    to: Time,
    /// The lock for which the sleeper sleeps that is followed, or one before it.
    lock: Option<Held>,
    /// Its segments, last first.
    reversed: Vec<Segment>,
    origin: Origin,
    /// By CPU: an entry of it at or after the time down to which the latency is explained, near that time.
    cursors: Vec<Seq>,
}

/// The trail, and the tasks whose trail it is.
pub(super) struct Walk<'a> {
    pub trail: &'a Trail,
    pub tracker: &'a Tracker<()>,
}

impl Walk<'_> {
    /// The segments of `late`, which sum to its length.
    pub fn explain(&self, late: Late, of: Of) -> Explained {
        let cursors = (0..self.tracker.cpu_count() as u32).map(|cpu| self.trail.last_on(CpuId(cpu))).collect();
        let mut path = Path { late, to: late.to, lock: None, reversed: Vec::new(), origin: Origin::NotTold, cursors };
        self.follow(&mut path, (late.task, self.trail.last_of(late.task)), of);
        path.reversed.reverse();
        Explained { late, origin: path.origin, segments: merged(path.reversed) }
    }

    /// Follows `task` back from its entry. Where it slept until a task woke it, that one is followed over the sleep,
    /// and so on.
    fn follow(&self, path: &mut Path, (mut task, mut seq): (TaskId, Seq), of: Of) {
        // Sleepers whose wakers are followed: when they fell asleep, their entry before, and the lock of those before.
        let mut sleepers: Vec<(Time, TaskId, Seq, Option<Held>)> = Vec::new();
        let mut io = None;
        while path.to > path.late.from {
            let floor = sleepers.last().map_or(path.late.from, |(slept, ..)| path.late.from.max(*slept));
            let entry = self.trail.of_task(task, seq);
            if path.to > floor {
                self.stretch(path, (task, entry), io, floor);
            }
            if path.to <= floor
                && let Some((_, sleeper, before, lock)) = sleepers.pop()
            {
                (task, seq, io, path.lock) = (sleeper, before, None, lock);
                continue;
            }
            let Some(entry) = entry else { break };
            if sleepers.is_empty() && entry.at >= path.late.from {
                path.origin = origin_of(entry);
            }
            seq = entry.before;
            io = if let What::Io(times) = entry.what { Some(times) } else { None };
            if let (What::Wakes(Some((waker, its))), Of::Requests, Some(slept)) =
                (entry.what, of, self.trail.of_task(task, entry.before))
                && slept.at < entry.at
                && waker != task
            {
                sleepers.push((slept.at, task, slept.before, path.lock));
                if let What::SleepsFor(lock, _) = slept.what {
                    path.lock = Some(Held { lock, waiter: task, holder: waker });
                }
                (task, seq) = (waker, its);
            }
        }
        // A wait that begins where the latency does.
        if let Some(entry) = self.trail.of_task(task, seq).filter(|it| it.at == path.late.from && sleepers.is_empty()) {
            path.origin = origin_of(entry);
        }
    }

    /// Adds what `entry` of `task` says about the time before `path.to`, down to `floor`.
    fn stretch(&self, path: &mut Path, (task, entry): (TaskId, Option<&Entry>), io: Option<IoTimes>, floor: Time) {
        let Some(entry) = entry else {
            let unknown = Piece { from: floor, to: path.to, is: Cause::NotTold };
            path.reversed.push(Segment { lock: path.lock, ..segment(task, CpuId(0), &unknown) });
            path.to = floor;
            return;
        };
        let from = entry.at.max(floor);
        if from < path.to {
            let pieces = match (entry.what, io) {
                (What::Leaves(_) | What::Io(_), Some(io)) => on_disk(io, (from, path.to)),
                _ => self.pieces(&mut path.cursors, (entry, task), (from, path.to)),
            };
            let lock = match entry.what {
                What::SleepsFor(lock, holder) => Some(Held { lock, waiter: task, holder }),
                _ => path.lock,
            };
            let segments = pieces.iter().rev().map(|piece| Segment { lock, ..segment(task, entry.cpu, piece) });
            path.reversed.extend(segments);
            path.to = from;
        }
    }

    /// What happened to `task` in this interval, in which its state was that of `entry`.
    fn pieces(
        &self,
        cursors: &mut [Seq],
        (entry, task): (&Entry, TaskId),
        (from, to): (Time, Time),
    ) -> Vec<Piece<Cause>> {
        let all = |is| vec![Piece { from, to, is }];
        match entry.what {
            What::Leaves(Off::Uninterruptible) | What::Io(_) => all(Cause::Device),
            What::Leaves(Off::DirtyMemory) => all(Cause::DirtyMemory),
            What::Leaves(Off::Sleeping) | What::SleepsFor(..) => all(Cause::Asleep),
            What::Leaves(Off::Exited) | What::Idles | What::Spends(..) => all(Cause::NotTold),
            What::Runs => self.on_cpu(cursors, (entry.cpu, task), (from, to)),
            What::Leaves(_) | What::Wakes(_) | What::Moves => {
                let pieces = self.on_cpu(cursors, (entry.cpu, task), (from, to));
                self.beside_idle_cpus(cursors, pieces, (task, entry.cpu), (from, to))
            }
        }
    }

    /// What `cpu` did, as `task` on it or on its run queue has it.
    fn on_cpu(&self, cursors: &mut [Seq], (cpu, task): (CpuId, TaskId), window: (Time, Time)) -> Vec<Piece<Cause>> {
        let cause = |doing| match doing {
            Doing::Runs(it) if it == task => Cause::Computing,
            Doing::Runs(it) => Cause::Behind(it),
            Doing::Idles => Cause::IdleCpu,
            Doing::Host(kind) => Cause::Host(kind),
            Doing::Unknown => Cause::NotTold,
        };
        let doings = self.doings(cpu, &mut cursors[cpu.index()], window);
        doings.into_iter().map(|Piece { from, to, is }| Piece { from, to, is: cause(is) }).collect()
    }

    /// What `cpu` did. Its cursor goes back to the end of the window.
    fn doings(&self, cpu: CpuId, cursor: &mut Seq, (from, to): (Time, Time)) -> Vec<Piece<Doing>> {
        while let Some(later) = self.trail.on_cpu(cpu, *cursor).filter(|entry| entry.at >= to) {
            *cursor = later.cpu_before;
        }
        let (mut states, mut host) = (Vec::new(), Vec::new());
        let (mut seq, mut end) = (*cursor, to);
        loop {
            let Some(entry) = self.trail.on_cpu(cpu, seq) else {
                // CPUs idle before their first event.
                let is = if seq == NONE { Doing::Idles } else { Doing::Unknown };
                states.extend((end > from).then_some(Piece { from, to: end, is }));
                break;
            };
            // The work of the host at a switch is told before the switch.
            if end <= from && !matches!(entry.what, What::Spends(_, until) if until > from) {
                break;
            }
            seq = entry.cpu_before;
            let is = match entry.what {
                What::Spends(kind, until) => {
                    let (from, to) = (entry.at.max(from), until.min(to));
                    host.extend((from < to).then_some(Piece { from, to, is: kind }));
                    continue;
                }
                What::Runs => Doing::Runs(entry.task),
                _ => Doing::Idles,
            };
            if entry.at < end {
                states.push(Piece { from: entry.at.max(from), to: end, is });
                end = entry.at;
            }
        }
        states.reverse();
        host.reverse();
        overlay(&states, &host, |_, kind| Some(Doing::Host(kind)))
    }

    /// `pieces` of a wait for `cpu`, with those set apart in which another CPU idled.
    fn beside_idle_cpus(
        &self,
        cursors: &mut [Seq],
        pieces: Vec<Piece<Cause>>,
        (task, cpu): (TaskId, CpuId),
        window: (Time, Time),
    ) -> Vec<Piece<Cause>> {
        let count = self.tracker.cpu_count();
        if count == 1 || count > CPUS_EXAMINED || !pieces.iter().any(|it| matches!(it.is, Cause::Behind(_))) {
            return pieces;
        }
        let mut marked = pieces;
        let others = (0..count as u32).map(CpuId).filter(|other| *other != cpu);
        let (allowed, forbidden): (Vec<_>, Vec<_>) = others.partition(|other| self.tracker.may_run(task, *other));
        for other in allowed.into_iter().chain(forbidden) {
            let doings = self.doings(other, &mut cursors[other.index()], window);
            let idle: Vec<_> = doings.into_iter().filter(|it| it.is == Doing::Idles).collect();
            let allowed = self.tracker.may_run(task, other);
            marked = overlay(&marked, &idle, |cause, _| match cause {
                // A CPU that neither may use is no way out.
                Cause::Behind(behind) if allowed || self.tracker.may_run(behind, other) => {
                    Some(Cause::BesideIdle { behind, allowed })
                }
                _ => None,
            });
        }
        marked
    }
}

/// The parts of an I/O, whose stations are known if the device had it.
pub(super) fn io(late: Late, cpu: CpuId, done: Option<IoTimes>) -> Explained {
    let whole = (late.from, late.to);
    let untold = || vec![Piece { from: whole.0, to: whole.1, is: Cause::NotTold }];
    let pieces = done.map_or_else(untold, |io| on_disk(io, whole));
    let segments = pieces.iter().map(|piece| segment(late.task, cpu, piece)).collect();
    Explained { late, origin: Origin::NotTold, segments }
}

/// The part of a sleep that ends when an I/O is done.
fn on_disk(io: IoTimes, (from, to): (Time, Time)) -> Vec<Piece<Cause>> {
    let stations = [
        Piece { from: io.queued, to: io.released, is: Cause::IoLimit },
        Piece { from: io.released, to: io.issued, is: Cause::DiskQueue(io.first) },
    ];
    let first = if io.released == io.queued { 1 } else { 0 };
    overlay(&[Piece { from, to, is: Cause::Device }], &stations[first..], |_, cause| Some(cause))
}

fn segment(task: TaskId, cpu: CpuId, piece: &Piece<Cause>) -> Segment {
    let (from, span) = (piece.from, piece.to.since(piece.from));
    Segment { task, cpu, from, span, cause: piece.is, rule: None, placed: None, lock: None }
}

/// Segments of one cause that follow each other are one.
fn merged(segments: Vec<Segment>) -> Vec<Segment> {
    let mut merged: Vec<Segment> = Vec::with_capacity(segments.len());
    for segment in segments {
        match merged.last_mut() {
            Some(last)
                if (last.task, last.cpu, last.cause, last.lock)
                    == (segment.task, segment.cpu, segment.cause, segment.lock) =>
            {
                last.span += segment.span;
            }
            _ => merged.push(segment),
        }
    }
    merged
}

/// The begin of a wait.
fn origin_of(entry: &Entry) -> Origin {
    match entry.what {
        What::Wakes(waker) => Origin::Woken(waker.map(|(task, _)| task)),
        What::Leaves(off) if off.is_runnable() => Origin::LostCpu,
        _ => Origin::NotTold,
    }
}
