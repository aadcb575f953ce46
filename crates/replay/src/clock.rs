//! Finds the recorded machine's tick from the times of its effects.

use super::history::History;
use goodness_core::{Span, Time};
use goodness_trace::SchedEvent;

/// A periodic tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TickGrid {
    /// Ticks per second.
    pub hz: u32,
    /// From the beginning of the recording to the first tick; less than one period.
    pub first: Span,
    /// Number of preemptions from which the grid was inferred.
    pub samples: usize,
    origin: Time,
}

/// A preemption counts as the tick's if no task was woken on its CPU for this long before. A choice.
const UNPROVOKED: Span = Span::from_us(200);
/// Fewest preemptions for an inference.
const SAMPLES_MIN: usize = 8;
/// The phase is sought in this many parts of a period.
const BINS: u64 = 80;
/// Tick rates that Linux can be built with on common architectures.
const RATES: [u32; 5] = [100, 250, 300, 1000, 1024];

impl TickGrid {
    /// Finds the tick grid for the recorded rate, or for the lowest rate that explains the preemptions.
    #[must_use]
    pub fn find(history: &History) -> Option<TickGrid> {
        let times = unprovoked_preemptions(history);
        if times.len() < SAMPLES_MIN {
            return None;
        }
        let fit = |hz: u32| peak(&times, period(hz));
        let hz = history.hz.or_else(|| {
            let best = RATES.iter().map(|hz| fit(*hz).1).max()?;
            RATES.into_iter().find(|hz| fit(*hz).1 * 5 >= best * 4)
        })?;
        let (phase, inside) = fit(hz);
        // A phase that less than half of them share is no grid.
        let first = phase + period(hz) - history.begin().0 % period(hz);
        (inside * 2 >= times.len()).then_some(TickGrid {
            hz,
            first: Span(first % period(hz)),
            samples: times.len(),
            origin: history.begin(),
        })
    }

    /// Time since the last tick.
    #[must_use]
    pub fn since_tick(&self, at: Time) -> Span {
        let period = period(self.hz);
        let offset = (at.0 % period + period - self.origin.0 % period) % period;
        Span((offset + period - self.first.0) % period)
    }
}

fn period(hz: u32) -> u64 {
    1_000_000_000 / u64::from(hz)
}

/// Times at which a runnable task lost its CPU to another without a recent waking there.
fn unprovoked_preemptions(history: &History) -> Vec<u64> {
    let mut provoked = vec![Time::ZERO; history.cpus.max(1)];
    let mut times = Vec::new();
    for record in history.records {
        let last = &mut provoked[record.cpu.index()];
        match record.event {
            SchedEvent::Waking(_) | SchedEvent::Wakeup(_) | SchedEvent::WakeupNew(_) => *last = record.at,
            SchedEvent::Switch { prev: Some(_), next: Some(_), prev_state, .. }
                if prev_state.is_runnable() && record.at.since(*last) > UNPROVOKED =>
            {
                times.push(record.at.0);
            }
            _ => {}
        }
    }
    times
}

/// The earliest time of the fullest sixteenth part of the period, and how many fall into it.
fn peak(times: &[u64], period: u64) -> (u64, usize) {
    let mut bins = vec![0usize; BINS as usize];
    let bin_of = |t: u64| (t % period * BINS / period) as usize;
    for time in times {
        bins[bin_of(*time)] += 1;
    }
    let width = (BINS / 16) as usize;
    let inside = |start: usize| (0..width).map(|i| bins[(start + i) % BINS as usize]).sum::<usize>();
    // Of equally full windows, the one that begins with a full bin: the tick comes before its effects.
    let start = (0..BINS as usize).max_by_key(|s| (inside(*s), bins[*s] > 0)).unwrap_or(0);
    let begin = start as u64 * period / BINS;
    let offset = |t: u64| (t % period + period - begin) % period;
    let earliest = times.iter().map(|t| offset(*t)).filter(|o| *o < period / 16).min().unwrap_or(0);
    ((begin + earliest) % period, inside(start))
}
