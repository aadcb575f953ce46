//! Common parts of FreeBSD's two schedulers: the priority ranges, smaller is better, and the statistics clock.
//!
//! Source: specs section 9 for the time-share range 88..=223, the 48 of the kernel and stathz 127. The places of the
//! real-time and idle classes in the scale of 256 are general knowledge (marked (M) in the manner of the sheet).

use goodness_core::{Class, CpuId, Machine, Task};

/// Statistics ticks in a second: times at which running tasks are charged.
pub(crate) const STATHZ: u32 = 127;
/// Best and worst priority of time-sharing tasks.
pub(crate) const TIMESHARE: (u8, u8) = (88, 223);
/// Best and worst priority of the real-time class (M).
const REALTIME: (u8, u8) = (16, 47);
/// Best priority of the idle class (M); it has one level here, since SCHED_IDLE has none.
pub(crate) const IDLE: u8 = 224;
/// All priorities.
pub(crate) const PRIORITIES: usize = 256;
/// Priorities that share one list.
pub(crate) const PER_LIST: usize = 4;

/// Fixed priority of the real-time classes (99 best) and the idle class.
pub(crate) fn fixed_priority(task: &Task) -> Option<u8> {
    match task.class {
        Class::Fifo | Class::RoundRobin => {
            let steps = u16::from(REALTIME.1 - REALTIME.0);
            let urgency = u16::from(task.rt_priority.clamp(1, 99)) - 1;
            Some(REALTIME.1 - (urgency * steps / 98) as u8)
        }
        Class::Idle => Some(IDLE),
        Class::Normal | Class::Batch | Class::Iso | Class::Deadline => None,
    }
}

/// Statistics clock of each CPU: has its own rate, read at the machine's ticks.
#[derive(Clone, Debug)]
pub(crate) struct Statclock {
    hz: u32,
    /// Time to the next statistics tick, in 1/HZ of one.
    phases: Box<[u32]>,
}

impl Statclock {
    pub fn new(machine: &Machine) -> Statclock {
        Statclock { hz: machine.hz, phases: vec![0; machine.cpu_count()].into() }
    }

    /// Number of statistics ticks that the machine's tick on `cpu` brings.
    #[inline]
    pub fn tick(&mut self, cpu: CpuId) -> u32 {
        let phase = &mut self.phases[cpu.index()];
        *phase += STATHZ;
        let ticks = *phase / self.hz;
        *phase %= self.hz;
        ticks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_statistics_clock_keeps_its_rate_under_any_tick() {
        for hz in [100, 127, 1000] {
            let mut clock = Statclock::new(&Machine::flat(1, hz).unwrap());
            assert_eq!((0..10 * hz).map(|_| clock.tick(CpuId(0))).sum::<u32>(), 1270, "HZ {hz}");
        }
    }

    #[test]
    fn real_time_priorities_spread_over_their_range() {
        let of = |rt_priority| fixed_priority(&Task { class: Class::Fifo, rt_priority, ..Task::default() });
        assert_eq!([99, 50, 1].map(of), [Some(16), Some(32), Some(47)]);
    }
}
