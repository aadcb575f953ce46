//! CPU time and stops of each task in each fifth of a window: a share that holds in sum may hold at no time.

use crate::metrics::Window;
use goodness_core::{CpuId, Event, Observer, Span, TaskId, Time};

/// CPU time and stops of a task in one fifth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InFifth {
    /// Its CPU time.
    pub cpu_time: Span,
    /// Number of times that it left a CPU.
    pub stops: u32,
}

/// Those of each fifth.
pub type ByFifth = [InFifth; Fifths::COUNT];

/// Adds up CPU time and stops by task and fifth.
#[derive(Clone, Debug)]
pub struct Fifths {
    window: Window,
    /// By CPU: the task that runs, and since when.
    running: Vec<Option<(TaskId, Time)>>,
    by_task: Vec<ByFifth>,
}

impl Fifths {
    /// Number of parts of the window.
    pub const COUNT: usize = 5;

    /// Observes a machine of `cpus` CPUs during `window`.
    #[must_use]
    pub fn new(cpus: usize, window: Window) -> Fifths {
        Fifths { window, running: vec![None; cpus], by_task: Vec::new() }
    }

    /// By task number and fifth; tasks after the last that ran are missing.
    #[must_use]
    pub fn finish(mut self) -> Vec<ByFifth> {
        for cpu in 0..self.running.len() {
            self.stop(cpu, self.window.to, false);
        }
        self.by_task
    }

    /// Adds up to `at` what ran on `cpu`, and a stop if it `leaves` the CPU then.
    fn stop(&mut self, cpu: usize, at: Time, leaves: bool) {
        let Some((task, since)) = self.running[cpu].take() else { return };
        if self.by_task.len() <= task.index() {
            self.by_task.resize(task.index() + 1, ByFifth::default());
        }
        for (index, fifth) in self.window.fifths().into_iter().enumerate() {
            let (from, to) = (fifth.from.max(since), fifth.to.min(at));
            let own = &mut self.by_task[task.index()][index];
            own.cpu_time += to.since(from);
            own.stops += u32::from(leaves && fifth.from < at && at <= fifth.to);
        }
    }
}

impl Observer for Fifths {
    fn observe(&mut self, at: Time, event: &Event) {
        let Event::Switch { cpu: CpuId(cpu), next, .. } = *event else { return };
        let cpu = cpu as usize;
        if cpu < self.running.len() {
            self.stop(cpu, at, true);
            self.running[cpu] = next.map(|next| (next, at));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use goodness_core::Off;

    fn switch(cpu: u32, next: Option<u32>) -> Event {
        Event::Switch { cpu: CpuId(cpu), prev: None, off: Off::Sleeping, next: next.map(TaskId) }
    }

    #[test]
    fn cpu_time_is_split_where_fifths_begin_and_cut_off_where_the_window_does() {
        let mut fifths = Fifths::new(2, Window { from: Time(100), to: Time(150) });
        let events = [(90, 0, Some(1)), (115, 0, None), (131, 1, Some(0)), (135, 0, Some(1)), (137, 0, Some(2))];
        for (at, cpu, next) in events {
            fifths.observe(Time(at), &switch(cpu, next));
        }
        fifths.observe(Time(160), &switch(1, None));
        let found = fifths.finish();
        let ns: Vec<[u64; 5]> = found.iter().map(|task| task.map(|it| it.cpu_time.ns())).collect();
        assert_eq!(ns, [[0, 0, 0, 9, 10], [10, 5, 0, 2, 0], [0, 0, 0, 3, 10]]);
        let stops: Vec<[u32; 5]> = found.iter().map(|task| task.map(|it| it.stops)).collect();
        assert_eq!(stops, [[0, 0, 0, 0, 0], [0, 1, 0, 1, 0], [0, 0, 0, 0, 0]], "none after the window or at its end");
    }
}
