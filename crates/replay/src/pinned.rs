//! Affinities of tasks in traces that state none.
//!
//! An idle CPU takes waiting tasks from others at its ticks, and then they have run there. A task that waits again and
//! again beside an idle CPU and never runs on it may not use it. If that holds for every CPU on which it never ran, it
//! is confined to the others. Nothing is concluded from a task that was not kept waiting: it may have been well where
//! it was.

use goodness_core::{CpuId, CpuSet, Span, TaskId, Time};
use goodness_trace::{Record, SchedEvent, Wake};

/// Shorter waits say nothing: balancing takes its time. A choice.
const LONG: Span = Span::from_ms(2);
/// Waits that must show it for each CPU. A choice: a few may be between two looks of the balancer.
const WAITS_MIN: u32 = 20;

/// The CPUs that each task may use, as far as its waits show: all CPUs where they show nothing.
#[must_use]
pub fn affinities(records: &[Record], tasks: usize, cpus: usize) -> Vec<CpuSet> {
    let mut waits = Waits::new(tasks, cpus);
    records.iter().for_each(|record| waits.see(record));
    (0..tasks).map(|task| waits.affinity(task)).collect()
}

/// Facts known of a task.
#[derive(Clone, Default)]
struct Known {
    /// Since when it waits for a CPU.
    waits_since: Option<Time>,
    /// CPUs on which it ran.
    ran_on: Vec<bool>,
    /// Long waits beside each CPU, idle all the time.
    beside: Vec<u32>,
}

struct Waits {
    tasks: Vec<Known>,
    /// Since when each CPU is idle.
    idle_since: Vec<Option<Time>>,
}

impl Waits {
    fn new(tasks: usize, cpus: usize) -> Waits {
        let known = Known { waits_since: None, ran_on: vec![false; cpus], beside: vec![0; cpus] };
        Waits { tasks: vec![known; tasks], idle_since: vec![None; cpus] }
    }

    fn see(&mut self, record: &Record) {
        let (at, cpu) = (record.at, record.cpu.index());
        match record.event {
            SchedEvent::Switch { prev, next, prev_state, .. } => {
                if let Some(prev) = prev {
                    self.tasks[prev.index()].ran_on[cpu] = true;
                    self.tasks[prev.index()].waits_since = prev_state.is_runnable().then_some(at);
                }
                if let Some(next) = next {
                    self.come(next, cpu, at);
                }
                self.idle_since[cpu] = next.is_none().then_some(at);
            }
            SchedEvent::Wakeup(Wake { task, .. }) | SchedEvent::WakeupNew(Wake { task, .. }) => {
                self.tasks[task.index()].waits_since.get_or_insert(at);
            }
            // An unknown state shows nothing.
            SchedEvent::Lost { .. } => {
                self.idle_since.fill(None);
                self.tasks.iter_mut().for_each(|task| task.waits_since = None);
            }
            _ => {}
        }
    }

    /// `task` gets CPU `cpu` after its wait.
    fn come(&mut self, task: TaskId, cpu: usize, at: Time) {
        let known = &mut self.tasks[task.index()];
        known.ran_on[cpu] = true;
        let Some(since) = known.waits_since.take().filter(|since| at.since(*since) >= LONG) else { return };
        for (other, idle) in self.idle_since.iter().enumerate() {
            known.beside[other] += u32::from(idle.is_some_and(|idle| idle <= since));
        }
    }

    fn affinity(&self, task: usize) -> CpuSet {
        let Known { ran_on, beside, .. } = &self.tasks[task];
        let is_shut_out = |cpu: usize| !ran_on[cpu] && beside[cpu] >= WAITS_MIN;
        if !ran_on.contains(&true) || (0..ran_on.len()).any(|cpu| !ran_on[cpu] && !is_shut_out(cpu)) {
            return CpuSet::All;
        }
        let used: Vec<CpuId> = (0..ran_on.len()).filter(|cpu| ran_on[*cpu]).map(|cpu| CpuId(cpu as u32)).collect();
        if used.len() == ran_on.len() { CpuSet::All } else { CpuSet::of(&used) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use goodness_trace::{Origin, PrevState};

    fn switch(ms: u64, cpu: u32, prev: Option<u32>, next: Option<u32>) -> Record {
        let (prev, next) = (prev.map(TaskId), next.map(TaskId));
        let prev_state = PrevState::RUNNABLE;
        let event = SchedEvent::Switch { prev, next, prev_prio: 120, next_prio: 120, prev_state };
        Record { at: Time(ms * 1_000_000), cpu: CpuId(cpu), event, origin: Origin::Recorded }
    }

    /// Two tasks take turns of `turn` ms on CPU 0, while CPU 1 is idle or, every other turn, runs a third.
    fn turns(turn: u64, is_busy: bool) -> Vec<Record> {
        let mut records = vec![switch(0, 1, Some(2), None)];
        for round in 0..60 {
            let (prev, next) = if round % 2 == 0 { (0, 1) } else { (1, 0) };
            records.push(switch(1 + round as u64 * turn, 0, Some(prev), Some(next)));
            if is_busy {
                let (prev, next) = if round % 2 == 0 { (None, Some(2)) } else { (Some(2), None) };
                records.push(switch(1 + round as u64 * turn + turn / 2, 1, prev, next));
            }
        }
        records
    }

    #[test]
    fn tasks_that_wait_beside_an_idle_cpu_may_not_use_it() {
        let found = affinities(&turns(4, false), 3, 2);
        let here = CpuSet::of(&[CpuId(0)]);
        assert_eq!(found, [here.clone(), here, CpuSet::All]);
    }

    #[test]
    fn short_waits_and_busy_cpus_show_nothing() {
        assert_eq!(affinities(&turns(1, false), 3, 2), [CpuSet::All, CpuSet::All, CpuSet::All]);
        assert_eq!(affinities(&turns(4, true), 3, 2), [CpuSet::All, CpuSet::All, CpuSet::All]);
        let beside_one_of_two = affinities(&turns(4, false), 3, 3);
        assert_eq!(beside_one_of_two[0], CpuSet::All, "nothing is known of the third CPU");
    }
}
