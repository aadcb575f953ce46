//! Outside load: CPU time that processes outside the race used during a run.

use std::fs;

/// Total CPU times since boot, in ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTimes {
    /// User and kernel time. Interrupts are not attributed to anyone.
    busy: u64,
    /// Stolen by the hypervisor.
    stolen: u64,
    /// All of it.
    total: u64,
    /// Part of it used by this process.
    own: u64,
}

/// Outside load of a run, as shares of all CPU time there was.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct OutsideLoad {
    /// CPU use of processes outside the race; `None` if no cgroup reports the race's own use.
    pub others: Option<f64>,
    /// Taken by the hypervisor.
    pub stolen: f64,
}

impl CpuTimes {
    /// Now.
    #[must_use]
    pub fn now() -> CpuTimes {
        let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
        let own = fs::read_to_string("/proc/self/stat").unwrap_or_default();
        CpuTimes { own: own_ticks(&own).unwrap_or(0), ..CpuTimes::read(&stat) }
    }

    /// Parses the first line of `/proc/stat`: user, nice, system, idle, iowait, irq, softirq, steal, and guest times,
    /// which are part of user.
    fn read(stat: &str) -> CpuTimes {
        let line = stat.lines().find_map(|line| line.strip_prefix("cpu ")).unwrap_or_default();
        let ticks: Vec<u64> = line.split_whitespace().take(8).filter_map(|word| word.parse().ok()).collect();
        let at = |index: usize| ticks.get(index).copied().unwrap_or(0);
        CpuTimes { busy: at(0) + at(1) + at(2), stolen: at(7), total: ticks.iter().sum(), own: 0 }
    }

    /// Outside load between `self` and `later`, when the race's processes used `used_ns` of `capacity_ns`.
    #[must_use]
    pub fn until(self, later: CpuTimes, used_ns: Option<u64>, capacity_ns: u64) -> OutsideLoad {
        let total = later.total.saturating_sub(self.total).max(1) as f64;
        let part = |before: u64, after: u64| after.saturating_sub(before) as f64 / total;
        let busy = part(self.busy, later.busy) - part(self.own, later.own);
        let others = used_ns.map(|used| (busy - used as f64 / capacity_ns.max(1) as f64).max(0.0));
        OutsideLoad { others, stolen: part(self.stolen, later.stolen) }
    }
}

impl OutsideLoad {
    /// The larger of both, to compare with the bound.
    #[must_use]
    pub fn worst(&self) -> f64 {
        self.others.unwrap_or(0.0).max(self.stolen)
    }
}

/// User and system time of a process with its threads, from its `/proc/PID/stat`.
fn own_ticks(stat: &str) -> Option<u64> {
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    let (user, system): (u64, u64) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    Some(user + system)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_races_own_processes_used_is_not_outside() {
        let before = CpuTimes::read("cpu  100 0 100 800 0 0 0 0 0 0\ncpu0 1 2 3\n");
        let later = CpuTimes::read("cpu  200 0 150 830 10 3 4 3 50 0\n");
        // 200 ticks: 150 busy, 3 stolen.
        let outside = before.until(later, Some(500), 1000);
        assert!((outside.others.expect("told") - 0.25).abs() < 1e-9, "{outside:?}");
        assert!((outside.stolen - 0.015).abs() < 1e-9);
        assert_eq!(before.until(later, None, 1000).others, None);
        assert_eq!(before.until(later, Some(2000), 1000).others, Some(0.0));
    }

    #[test]
    fn this_process_knows_its_own_time() {
        assert_eq!(own_ticks("1 (a) b) S 1 1 1 0 -1 0 0 0 0 0 7 5 0 0"), Some(12));
        assert!(CpuTimes::now().total > 0);
    }
}
