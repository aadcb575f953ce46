//! Measurements of a play: CPU time and switches from the kernel, latencies from the tasks.

use goodness_observe::Histogram;
use goodness_sys as sys;
use serde::Serialize;

/// The kernel's counters of one thread so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// CPU time, in ns.
    pub cpu: u64,
    /// Switches to another task because the thread waited.
    pub voluntary: u64,
    /// Involuntary switches. A yield counts as one.
    pub involuntary: u64,
    /// Time runnable without a CPU, in ns; `None` if the kernel does not keep it.
    pub waited: Option<u64>,
}

impl Usage {
    /// The calling thread's.
    pub fn of_this_thread() -> Usage {
        let (voluntary, involuntary) = sys::switches();
        let waited = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
        Usage { cpu: sys::thread_cpu_ns(), voluntary, involuntary, waited: waited.as_deref().and_then(run_delay) }
    }

    /// Usage of thread `tid` with the given CPU time; `None` if it has ended.
    pub fn of(tid: i32, cpu: u64) -> Option<Usage> {
        let folder = format!("/proc/self/task/{tid}");
        let status = std::fs::read_to_string(format!("{folder}/status")).ok()?;
        let waited = std::fs::read_to_string(format!("{folder}/schedstat")).ok();
        let count = |key: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(key))?;
            line.trim().parse().ok()
        };
        Some(Usage {
            cpu,
            voluntary: count("voluntary_ctxt_switches:")?,
            involuntary: count("nonvoluntary_ctxt_switches:")?,
            waited: waited.as_deref().and_then(run_delay),
        })
    }

    /// Difference to `before`.
    pub fn since(self, before: Usage) -> Usage {
        Usage {
            cpu: self.cpu.saturating_sub(before.cpu),
            voluntary: self.voluntary.saturating_sub(before.voluntary),
            involuntary: self.involuntary.saturating_sub(before.involuntary),
            waited: self.waited.map(|waited| waited.saturating_sub(before.waited.unwrap_or_default())),
        }
    }
}

/// The second figure of a `schedstat` file.
fn run_delay(text: &str) -> Option<u64> {
    text.split_whitespace().nth(1)?.parse().ok()
}

/// Measurements a task takes of itself.
#[derive(Debug, Default)]
pub struct Log {
    /// Wake-up latency: from the due time of a sleep, or the wake call, to the first instruction after the wait.
    pub latency: Histogram,
    /// Worst latency in ns, and its end in ns since the start of the play.
    pub worst: (u64, u64),
    /// Steps taken, those during warm-up too.
    pub steps: u64,
    /// CPU time of completed compute steps, in ns. Endless steps count 0.
    pub computed: u64,
    /// Requests served.
    pub served: u64,
    /// Steps that were played only approximately.
    pub nearly: Nearly,
}

/// Steps that a thread can only approximate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Nearly {
    /// Sync wakes (the waker says that it sleeps soon).
    pub sync: u64,
    /// Wakes by an interrupt.
    pub interrupts: u64,
    /// Uninterruptible waits.
    pub uninterruptible: u64,
    /// Execs.
    pub execs: u64,
}

impl Nearly {
    /// Adds another task's.
    pub fn add(&mut self, other: Nearly) {
        self.sync += other.sync;
        self.interrupts += other.interrupts;
        self.uninterruptible += other.uninterruptible;
        self.execs += other.execs;
    }

    /// One sentence per kind that occurred.
    pub fn sentences(self) -> Vec<String> {
        let all = [
            (self.sync, "wakes by a waker that sleeps soon were played without saying so"),
            (self.interrupts, "wakes by interrupts were made by the task that stood for them"),
            (self.uninterruptible, "waits for devices were played as interruptible ones"),
            (self.execs, "execs were left out, as a thread cannot replace its program alone"),
        ];
        all.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect()
    }
}

/// Measurements of one task. Times in ns, from the end of the warm-up.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlayedTask {
    /// Its name in the file; its thread has the first 15 bytes.
    pub name: String,
    /// Its number in the run, from 1.
    pub id: u64,
    /// Nice at the start; `None` for real-time tasks.
    pub nice: Option<i64>,
    /// CPU time.
    pub cpu_time_ns: u64,
    /// CPU time as a share of the capacity of all CPUs; `None` when nothing was measured.
    pub share: Option<f64>,
    /// Time spent runnable but not running; `None` where the kernel does not record it.
    pub wait_ns: Option<u64>,
    /// Voluntary and involuntary switches together.
    pub switches: u64,
    /// Switches because it waited.
    pub voluntary_switches: u64,
    /// Involuntary context switches.
    pub involuntary_switches: u64,
    /// Number of wake-ups.
    pub wakeups: u64,
    /// Middle wake-up latency.
    pub wakeup_latency_p50_ns: Option<u64>,
    /// 99 % of wake-up latencies are at most this.
    pub wakeup_latency_p99_ns: Option<u64>,
    /// The largest wake-up latency.
    pub wakeup_latency_max_ns: Option<u64>,
    /// End of the worst latency, in ns since the start of the play.
    pub wakeup_latency_max_at_ns: Option<u64>,
    /// Requests served.
    pub served: u64,
    /// Steps taken, warm-up included.
    pub steps: u64,
    /// CPU time of the compute steps completed, warm-up included.
    pub computed_ns: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_waits_and_computes_is_counted_so_from_inside_and_outside() {
        let before = Usage::of_this_thread();
        std::thread::sleep(std::time::Duration::from_millis(2));
        let cpu = sys::thread_cpu_ns();
        while sys::thread_cpu_ns() < cpu + 2_000_000 {}
        let tid = sys::thread_id();
        let outside = Usage::of(tid, crate::kernel::cpu_ns_of(tid).expect("it lives")).expect("it lives");
        for seen in [Usage::of_this_thread(), outside] {
            let added = seen.since(before);
            assert!(added.cpu >= 2_000_000 && added.voluntary >= 1, "{added:?}");
        }
        assert_eq!(Usage::of(i32::MAX, 0), None, "there is no such thread");
    }

    #[test]
    fn what_was_only_nearly_played_is_said_once_a_kind() {
        assert!(Nearly::default().sentences().is_empty());
        let mut all = Nearly { sync: 2, ..Nearly::default() };
        all.add(Nearly { uninterruptible: 1, execs: 3, ..Nearly::default() });
        assert_eq!(all.sentences().len(), 3);
    }
}
