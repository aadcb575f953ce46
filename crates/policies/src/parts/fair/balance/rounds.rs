//! Passes of balancing: how often a CPU makes them at each level, and those of one tick.
//!
//! Source: specs/smp.md sections 1.4 and 3.1.

use super::super::moves::Moving;
use super::luck::Luck;
use goodness_core::{CpuId, Idle, Machine, Span, Time};

/// Factor by which a busy CPU balances less often than an idle one.
const BUSY_FACTOR: u64 = 16;

/// One CPU's passes at one level.
#[derive(Clone, Copy, Debug)]
pub struct Attempt {
    /// Time of the last pass.
    pub last: Time,
    /// The first pass of a busy CPU comes this much earlier: CPUs started at different times.
    pub phase: Span,
    /// The next pass of a busy CPU comes one tick later.
    pub is_late: bool,
    /// Milliseconds between passes of an idle CPU.
    pub interval: u64,
    /// That as a time, for a busy and an idle CPU.
    pub spans: [Span; 2],
    /// Passes in a row that should have moved something and did not.
    pub failed: u32,
    /// Success of passes without work.
    pub luck: Luck,
}

impl Attempt {
    pub fn set_interval(&mut self, machine: &Machine, ms: u64) {
        self.interval = ms;
        self.spans = [interval(machine, ms, false), interval(machine, ms, true)];
    }

    /// Time of the next pass.
    pub fn due(&self, machine: &Machine, is_idle: bool) -> Time {
        let late = if self.is_late && !is_idle { machine.tick() } else { Span::ZERO };
        self.last + self.spans[usize::from(is_idle)].saturating_sub(self.phase) + late
    }
}

/// A round of passes at one tick, or later: for the CPU itself, then for idle ones.
#[derive(Debug, Default)]
pub struct Round {
    /// Time, CPU that ticked, and occasion.
    pub of: Option<(Time, CpuId, Idle)>,
    /// The tick, which was earlier than that time if the round comes later.
    pub tick: Time,
    /// CPU that balances for itself.
    pub own: Option<CpuId>,
    /// CPUs to balance, and the number of those that are done. Those after `own` idle.
    pub cpus: Vec<CpuId>,
    pub done: usize,
    /// Levels of the present CPU that are done, and true if those above are left to another CPU.
    pub levels: usize,
    pub is_cut: bool,
    /// The earliest time of the next pass of an idle CPU.
    pub next_idle: Option<Time>,
    pub moving: Option<Moving>,
}

impl Round {
    pub fn add_own(&mut self, cpu: CpuId) {
        self.own = Some(cpu);
        self.cpus.push(cpu);
    }
}

/// Time between passes, from milliseconds between those of an idle CPU (specs/smp.md section 1.4).
pub fn interval(machine: &Machine, ms: u64, is_idle: bool) -> Span {
    let hz = u64::from(machine.hz);
    let ticks = match is_idle {
        true => (ms * hz).div_ceil(1000),
        false => (ms * BUSY_FACTOR * hz).div_ceil(1000) - 1,
    };
    let longest = (hz * machine.cpu_count() as u64 / 10).max(1);
    Span(machine.tick().0 * ticks.clamp(1, longest))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// specs/smp.md section 1.4, T-SMP-1 and T-SMP-2.
    #[test]
    fn intervals_are_the_kernels() {
        let ms = |cpus: u32, hz: u32, ms: u64, is_idle: bool| {
            interval(&Machine::flat(cpus, hz).expect("a machine"), ms, is_idle).0 / 1_000_000
        };
        assert_eq!([ms(2, 250, 2, false), ms(2, 250, 4, false)], [28, 60]);
        assert_eq!([ms(4, 250, 4, false), ms(4, 250, 8, false)], [60, 124]);
        assert_eq!([ms(8, 250, 8, false), ms(8, 250, 16, false)], [124, 252]);
        assert_eq!([ms(2, 1000, 2, false), ms(4, 1000, 8, false), ms(2, 100, 4, false)], [31, 127, 60]);
        assert_eq!([ms(4, 250, 4, true), ms(4, 250, 8, true)], [4, 8]);
        assert_eq!(ms(2, 250, 512, false), 200, "a tenth of a second for each CPU");
    }
}
