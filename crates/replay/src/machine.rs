//! The recorded machine, derived from its recording.

use super::clock::TickGrid;
use super::history::History;
use goodness_core::{Cpu, CpuId, Machine, Off, Span, TaskId, Time};
use goodness_trace::{Neighbourhood, Recording, SchedEvent, Wake};

/// A figure measured in a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Figure {
    /// Name of the value.
    pub name: &'static str,
    /// Its value; `None` if the recording does not show it.
    pub value: Option<String>,
    /// Number of samples; 0 if it is from the header.
    pub samples: usize,
    /// Its derivation and use.
    pub how: &'static str,
}

/// The recorded machine, with the source of each figure.
#[derive(Clone, Debug)]
pub struct RecordedMachine {
    /// The machine to replay on.
    pub machine: Machine,
    /// Its figures.
    pub figures: Vec<Figure>,
}

/// Delays from a waking to the switch that follows, by situation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Delays {
    /// The CPU was idle and the waking happened on it.
    pub idle_here: Vec<u64>,
    /// The CPU was idle and the waking happened on another.
    pub idle_elsewhere: Vec<u64>,
    /// The waking preempted the running task, which was the waker's or was interrupted.
    pub preempted_here: Vec<u64>,
    /// The waking preempted the running task of another CPU.
    pub preempted_elsewhere: Vec<u64>,
}

/// A preemption later than this after a waking counts as not caused by it: a tick came in between, or the kernel was
/// busy. A choice.
const AT_ONCE: Span = Span::from_us(500);
/// Fewest samples for a figure.
const SAMPLES_MIN: usize = 5;
/// HZ if neither header nor ticks show it: the long-time default of Debian and Ubuntu.
const HZ_UNKNOWN: u32 = 250;

/// The machine of `recording`. The costs of switches, wake-ups and ticks stay zero, because they are part of the
/// recorded bursts.
///
/// # Errors
/// The recording has no CPU or an impossible tick; a sentence.
pub fn machine_of(recording: &Recording, history: &History, grid: Option<TickGrid>) -> Result<RecordedMachine, String> {
    let hz = grid.map(|g| g.hz).or(history.hz);
    let header = recording.metadata.recording.as_ref();
    let known = header.map_or(&[][..], |h| &h.cpus.topology);
    let cpus = (0..history.cpus as u32).map(|i| place(i, known)).collect();
    let mut machine = Machine::new("as recorded", cpus, hz.unwrap_or(HZ_UNKNOWN))?;
    if let Some(grid) = grid {
        machine.first_tick = grid.first;
    }
    let delays = Delays::of(history);
    machine.costs.preempt = median(&delays.preempted_here).unwrap_or_default();
    machine.costs.interrupt = interrupt(&delays);
    machine.costs.idle_exit = idle_exit(&delays, machine.costs.interrupt);
    let figures = figures(&machine, grid, hz, history.hz.is_some(), &delays);
    Ok(RecordedMachine { machine, figures })
}

/// Time to make another CPU reschedule: what an idle one takes beyond a waking on itself, else as seen of those that
/// ran a task. Idle CPUs tell it if there are [`SAMPLES_MIN`] wakings of each kind, and those from elsewhere take
/// longer.
fn interrupt(delays: &Delays) -> Span {
    let of_idle = median(&delays.idle_here).zip(median(&delays.idle_elsewhere));
    let beyond = of_idle.map(|(here, elsewhere)| elsewhere.saturating_sub(here));
    beyond.filter(|it| *it > Span::ZERO).or_else(|| median(&delays.preempted_elsewhere)).unwrap_or_default()
}

/// Time that an idle CPU takes to leave idle: of a waking on itself, else of one on another beyond the interrupt.
fn idle_exit(delays: &Delays, interrupt: Span) -> Span {
    let elsewhere = || median(&delays.idle_elsewhere).map(|it| it.saturating_sub(interrupt));
    median(&delays.idle_here).or_else(elsewhere).unwrap_or_default()
}

fn place(index: u32, known: &[Neighbourhood]) -> Cpu {
    let found = known.iter().find(|n| n.cpu == index);
    let first = |list: Option<&Vec<u32>>, default| list.and_then(|l| l.iter().min().copied()).unwrap_or(default);
    Cpu {
        core: first(found.and_then(|n| n.smt.as_ref()), index),
        cache: first(found.and_then(|n| n.llc.as_ref()), 0),
        node: found.and_then(|n| n.node).unwrap_or(0),
        capacity: 1024,
    }
}

fn median(samples: &[u64]) -> Option<Span> {
    let mut sorted = samples.to_vec();
    sorted.sort_unstable();
    (sorted.len() >= SAMPLES_MIN).then(|| Span(sorted[sorted.len() / 2]))
}

fn figures(machine: &Machine, grid: Option<TickGrid>, hz: Option<u32>, hz_told: bool, delays: &Delays) -> Vec<Figure> {
    let ticks = grid.map_or(0, |g| g.samples);
    let shown = |samples: &[u64]| median(samples).map(|span| span.to_string());
    let figure = |name, value, samples, how| Figure { name, value, samples, how };
    vec![
        figure(
            "hz",
            hz.map(|hz| hz.to_string()),
            if hz_told { 0 } else { ticks },
            match (hz_told, hz) {
                (true, _) => "from the recording's header",
                (false, Some(_)) => "from preemptions that no wake-up explains",
                (false, None) => "250 is assumed",
            },
        ),
        figure(
            "first_tick",
            grid.map(|_| machine.first_tick.to_string()),
            ticks,
            "from preemptions that no wake-up explains",
        ),
        figure(
            "idle_exit",
            shown(&delays.idle_here),
            delays.idle_here.len(),
            "median time from a wake-up on an idle CPU to the switch",
        ),
        figure(
            "idle_elsewhere",
            shown(&delays.idle_elsewhere),
            delays.idle_elsewhere.len(),
            "median time from a wake-up for another, idle CPU to the switch; `interrupt` is the part beyond idle_exit",
        ),
        figure(
            "preempt_here",
            shown(&delays.preempted_here),
            delays.preempted_here.len(),
            "median time from a wake-up to the preemption on the same CPU",
        ),
        figure(
            "preempt_elsewhere",
            shown(&delays.preempted_elsewhere),
            delays.preempted_elsewhere.len(),
            "median time from a wake-up to the preemption on another CPU; `interrupt` if idle CPUs do not tell it",
        ),
    ]
}

/// A wake-up whose task has not run since.
#[derive(Clone, Copy)]
struct Pending {
    at: Time,
    from: CpuId,
    /// CPU it was queued on, and the task then running there.
    on: Option<(CpuId, Option<TaskId>)>,
}

impl Delays {
    /// Measures the delays in `history`.
    #[must_use]
    pub fn of(history: &History) -> Delays {
        let mut delays = Delays::default();
        let mut pending: Vec<Option<Pending>> = vec![None; history.participants.len()];
        let mut running: Vec<Option<Option<TaskId>>> = vec![None; history.cpus];
        for record in history.records {
            let (at, cpu) = (record.at, record.cpu);
            if let Some(wake) = history.waking(record) {
                pending[wake.task.index()] = Some(Pending { at, from: cpu, on: None });
            }
            match record.event {
                SchedEvent::Wakeup(Wake { task, target, .. }) | SchedEvent::WakeupNew(Wake { task, target, .. }) => {
                    if let (Some(wake), Some(there)) = (&mut pending[task.index()], running[target.index()]) {
                        wake.on = Some((target, there));
                    }
                }
                SchedEvent::Switch { prev, next, prev_state, .. } => {
                    running[cpu.index()] = Some(next);
                    if let Some(wake) = next.and_then(|n| pending[n.index()].take()) {
                        delays.note(wake, at, cpu, prev, prev_state.off());
                    }
                }
                _ => {}
            }
        }
        delays
    }

    fn note(&mut self, wake: Pending, at: Time, cpu: CpuId, prev: Option<TaskId>, off: Off) {
        let Some((on, there)) = wake.on.filter(|(on, _)| *on == cpu) else { return };
        let delay = at.since(wake.at);
        let is_here = wake.from == on;
        // A switch is caused by the waking only if it leads directly from the task that ran then to the woken one.
        if there != prev || delay > AT_ONCE {
            return;
        }
        match (there, is_here) {
            (None, true) => self.idle_here.push(delay.0),
            (None, false) => self.idle_elsewhere.push(delay.0),
            (Some(_), true) if off.is_runnable() => self.preempted_here.push(delay.0),
            (Some(_), false) if off.is_runnable() => self.preempted_elsewhere.push(delay.0),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn preemptions_tell_the_interrupt_where_idle_cpus_do_not() {
        let delays = |here: &[u64], elsewhere: &[u64]| Delays {
            idle_here: here.to_vec(),
            idle_elsewhere: elsewhere.to_vec(),
            preempted_elsewhere: vec![29; SAMPLES_MIN],
            ..Delays::default()
        };
        let few = SAMPLES_MIN - 1;
        assert_eq!(interrupt(&delays(&[6; SAMPLES_MIN], &[30; SAMPLES_MIN])), Span(24));
        assert_eq!(interrupt(&delays(&[6], &[6])), Span(29), "one of each");
        assert_eq!(interrupt(&delays(&vec![6; few], &[30; 193])), Span(29), "too few here");
        assert_eq!(interrupt(&delays(&[6; 40], &vec![30; few])), Span(29), "too few elsewhere");
        assert_eq!(interrupt(&delays(&[6; SAMPLES_MIN], &[6; SAMPLES_MIN])), Span(29), "no difference");
    }
}
