//! Replays the I/O of one submitter, and measures the deviation from the recorded times.

use super::gather::{Piece, Programme};
use goodness_core::{Behaviour, IoStep, Span, Step, StepContext, Time, VolumeId};
use goodness_observe::Histogram;
use std::sync::{Arc, Mutex, PoisonError};

/// The lateness that counts: of the hundredth part that is latest.
const LATE: u32 = 9_900;

/// Deviation of submissions from the recorded times.
#[derive(Debug, Default)]
pub(super) struct Timing {
    /// Distances in ns, early or late.
    off: Histogram,
    /// Number of submissions later than recorded.
    late: u64,
    /// Lateness of the I/Os that have a recorded time, in ns.
    lateness: Histogram,
    /// Time of the last submission, in the replay and as recorded.
    last: (Time, Time),
}

impl Timing {
    fn note(&mut self, now: Time, recorded: Time, is_open: bool) {
        if is_open {
            self.lateness.record(now.since(recorded).0);
        }
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

impl Timing {
    /// The doubt that open-loop submissions leave which were later than recorded: their submitters had to wait, so this
    /// is no longer the recorded demand. `usual` is the recorded time of an I/O.
    pub fn doubt(&self, usual: Span) -> Option<String> {
        let late = self.lateness.quantile(LATE)?;
        (late > usual.0).then(|| {
            format!(
                "one in a hundred of the {} submissions at recorded times came {} late or later, where an I/O took {} \
                 in the recording: the disk could not take what was recorded",
                self.lateness.count(),
                rounded(late),
                rounded(usual.0)
            )
        })
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
    /// Times the programme has begun again.
    laps: u32,
    timing: Shared,
}

impl Player {
    pub fn new(programmes: Arc<Vec<Programme>>, which: usize, timing: Shared) -> Player {
        // The first I/O comes when the task starts.
        Player { programmes, which, at: 0, next: Next::Submit, laps: 0, timing }
    }

    /// Continuation after the programme: the next lap, or the end.
    fn end(&mut self) -> Option<Step> {
        if self.programmes[self.which].lap.is_some() {
            (self.at, self.laps) = (0, self.laps.saturating_add(1));
            return None;
        }
        let is_over = std::mem::replace(&mut self.next, Next::Think) == Next::Think;
        Some(if is_over { Step::Exit } else { Step::Io(IoStep::Await { at_most: 0 }) })
    }

    fn submit(&mut self, now: Time, piece: Piece) -> Step {
        if self.laps == 0 {
            let is_open = self.programmes[self.which].open;
            self.timing.lock().unwrap_or_else(PoisonError::into_inner).note(now, piece.at, is_open);
        }
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
        if self.at == self.programmes[self.which].pieces.len()
            && let Some(step) = self.end()
        {
            return step;
        }
        let programme = &self.programmes[self.which];
        let (piece, open) = (programme.pieces[self.at], programme.open);
        if self.next == Next::Await {
            self.next = Next::Think;
            if let Some(at_most) = piece.at_most().filter(|_| !open) {
                return Step::Io(IoStep::Await { at_most });
            }
        }
        if self.next == Next::Think {
            self.next = Next::Submit;
            let think = programme.lap.filter(|_| self.at == 0).unwrap_or(piece.think);
            if open && piece.at > cx.now {
                return Step::SleepUntil(piece.at);
            }
            if !open && think > Span::ZERO {
                return Step::Sleep(think);
            }
        }
        self.submit(cx.now, piece)
    }
}
