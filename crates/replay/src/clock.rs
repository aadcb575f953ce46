//! Finds the recorded machine's tick from the times of its effects.

use super::history::History;
use goodness_core::{CpuId, Span, Time};
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
/// Resolution of the phase: parts of a period.
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
        // A phase shared by less than half of them is no grid.
        (inside * 2 >= times.len()).then(|| TickGrid::at(history, hz, phase, times.len()))
    }

    /// The phase that stands out among `times`: its window holds more than a tenth of them beyond an even distribution.
    /// `None` if no phase does. Of several times on a CPU in a sixteenth of a period, one counts: a burst is no tick.
    #[must_use]
    pub fn outstanding(history: &History, times: &[(CpuId, Time)]) -> Option<TickGrid> {
        let rates = history.hz.map_or(RATES.to_vec(), |hz| vec![hz]);
        let fits = rates.into_iter().map(|hz| {
            let mut times = times.to_vec();
            times.sort_unstable_by_key(|(cpu, at)| (cpu.0, *at));
            times.dedup_by_key(|(cpu, at)| (cpu.0, at.0 * 16 / period(hz)));
            let times: Vec<u64> = times.iter().map(|(_, at)| at.0).collect();
            let (phase, inside) = peak(&times, period(hz));
            (hz, phase, inside, times.len())
        });
        let (hz, phase, inside, all) = fits.max_by_key(|(.., inside, _)| *inside)?;
        (inside * 16 > all + all * 16 / 10).then(|| TickGrid::at(history, hz, phase, inside))
    }

    fn at(history: &History, hz: u32, phase: u64, samples: usize) -> TickGrid {
        let first = (phase + period(hz) - history.begin().0 % period(hz)) % period(hz);
        TickGrid { hz, first: Span(first), samples, origin: history.begin() }
    }

    /// True if `at` is in the first sixteenth of a period, which contains the effects of a tick.
    #[must_use]
    pub fn is_first_part(&self, at: Time) -> bool {
        self.since_tick(at).0 < period(self.hz) / 16
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
