//! Times in which CPUs are offline.

use goodness_core::{CpuId, FaultKind, MachineFault};

/// A time in which a CPU was offline. Times in ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offline {
    /// The CPU.
    pub cpu: CpuId,
    /// Its begin.
    pub from: u64,
    /// Its end.
    pub to: u64,
}

impl Offline {
    /// The times that faults take CPUs offline, by their begins; what overlaps on a CPU, or follows at once, is one.
    #[must_use]
    pub fn of(faults: &[MachineFault]) -> Vec<Offline> {
        let offline = |it: &MachineFault| {
            let cpu = it.cpu.filter(|_| it.kind == FaultKind::Offline)?;
            Some(Offline { cpu, from: it.at.ns(), to: (it.at + it.span).ns() })
        };
        let mut all: Vec<Offline> = faults.iter().filter_map(offline).collect();
        all.sort_unstable_by_key(|it| (it.cpu, it.from));
        all.dedup_by(|later, earlier| {
            let joins = later.cpu == earlier.cpu && later.from <= earlier.to;
            if joins {
                earlier.to = earlier.to.max(later.to);
            }
            joins
        });
        all.sort_unstable_by_key(|it| (it.from, it.cpu));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use goodness_core::{Span, Time};

    #[test]
    fn times_that_overlap_on_a_cpu_are_one_and_other_faults_are_none() {
        let fault = |kind, at, span, cpu| MachineFault { kind, at: Time(at), span: Span(span), cpu: Some(CpuId(cpu)) };
        let faults = [
            fault(FaultKind::Offline, 50, 10, 1),
            fault(FaultKind::Stolen, 10, 10, 0),
            fault(FaultKind::LostTicks, 10, 10, 0),
            fault(FaultKind::Offline, 40, 15, 1),
            fault(FaultKind::Offline, 45, 5, 0),
            fault(FaultKind::Offline, 61, 1, 1),
        ];
        let shown: Vec<_> = Offline::of(&faults).iter().map(|it| (it.cpu.0, it.from, it.to)).collect();
        assert_eq!(shown, [(1, 40, 60), (0, 45, 50), (1, 61, 62)]);
    }
}
