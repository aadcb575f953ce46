//! Replays the I/O of one submitter, and measures the deviation from the recorded times.

use super::gather::{Piece, Programme};
use goodness_core::{Behaviour, IoStep, Span, Step, StepContext, Time, VolumeId};
use goodness_observe::Histogram;
use std::sync::{Arc, Mutex, PoisonError};

/// Deviation of submissions from the recorded times.
#[derive(Debug, Default)]
pub(super) struct Timing {
    /// Distances in ns, early or late.
    off: Histogram,
    /// Number of submissions later than recorded.
    late: u64,
    /// Time of the last submission, in the replay and as recorded.
    last: (Time, Time),
}

impl Timing {
    fn note(&mut self, now: Time, recorded: Time) {
        self.off.record(now.0.abs_diff(recorded.0));
        self.late += u64::from(now > recorded);
        self.last = (self.last.0.max(now), self.last.1.max(recorded));
    }

    /// Summary in one sentence; `None` when nothing was submitted.
    pub fn sentence(&self) -> Option<String> {
        let mean = rounded(self.off.mean()? as u64);
        let (p99, count) = (rounded(self.off.quantile(9_900)?), self.off.count());
        let percent = self.late * 100 / count;
        Some(format!(
            "{count} submissions were {mean} on average and {p99} at the 99th percentile from their recorded times, \
             {percent} % of them later; the last came {} after the beginning, recorded {}",
            rounded(self.last.0.0),
            rounded(self.last.1.0)
        ))
    }
}

/// To four digits or a little more, for sentences.
pub(super) const fn rounded(ns: u64) -> Span {
    let step = match ns {
        0..100_000 => 1,
        100_000..100_000_000 => 1_000,
        _ => 1_000_000,
    };
    Span((ns + step / 2) / step * step)
}

/// The timing of one run, which all its submitters write.
pub(super) type Shared = Arc<Mutex<Timing>>;

/// Next action of the player.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Await,
    Think,
    Submit,
}

/// Replays one submitter.
pub(super) struct Player {
    programmes: Arc<Vec<Programme>>,
    which: usize,
    at: usize,
    next: Next,
    /// Open loop: submits at recorded times instead of after the recorded predecessor.
    open: bool,
    timing: Shared,
}

impl Player {
    pub fn new(programmes: Arc<Vec<Programme>>, which: usize, open: bool, timing: Shared) -> Player {
        Player { programmes, which, at: 0, next: Next::Await, open, timing }
    }

    fn submit(&mut self, now: Time, piece: Piece) -> Step {
        self.timing.lock().unwrap_or_else(PoisonError::into_inner).note(now, piece.at);
        (self.at, self.next) = (self.at + 1, Next::Await);
        Step::Io(IoStep::Submit {
            volume: VolumeId(piece.volume()),
            op: piece.op(),
            sector: piece.sector,
            sectors: piece.sectors,
            sync: piece.sync(),
        })
    }
}

impl Behaviour for Player {
    fn next(&mut self, cx: &mut StepContext) -> Step {
        let pieces = &self.programmes[self.which].pieces;
        let Some(piece) = pieces.get(self.at).copied() else {
            let is_over = std::mem::replace(&mut self.next, Next::Think) == Next::Think;
            return if is_over { Step::Exit } else { Step::Io(IoStep::Await { at_most: 0 }) };
        };
        if self.next == Next::Await {
            self.next = Next::Think;
            if let Some(at_most) = piece.at_most().filter(|_| !self.open) {
                return Step::Io(IoStep::Await { at_most });
            }
        }
        if self.next == Next::Think {
            self.next = Next::Submit;
            if self.open && piece.at > cx.now {
                return Step::SleepUntil(piece.at);
            }
            if !self.open && piece.think > Span::ZERO {
                return Step::Sleep(piece.think);
            }
        }
        self.submit(cx.now, piece)
    }
}
