//! Context switches and migrations. A yield is involuntary, as in Linux's own count: the task stays runnable.

use super::measured::Values;
use super::task_account::TaskAccount;
use goodness_core::{CpuId, Off};

#[derive(Clone, Debug, Default)]
pub(super) struct Switches {
    all: u64,
    involuntary: u64,
    migrations: u64,
}

impl Switches {
    /// A task left its CPU.
    #[inline]
    pub fn switched(&mut self, off: Off, task: &mut TaskAccount) {
        let involuntary = u32::from(off.is_runnable());
        self.all += 1;
        self.involuntary += u64::from(involuntary);
        task.involuntary += involuntary;
        task.voluntary += 1 - involuntary;
    }

    /// A task begins a stint on `cpu`; `before` is where its previous one was.
    #[inline]
    pub fn placed(&mut self, before: Option<CpuId>, cpu: CpuId, task: &mut TaskAccount) {
        let moved = before.is_some_and(|before| before != cpu);
        self.migrations += u64::from(moved);
        task.migrations += u32::from(moved);
    }

    pub fn report(&self, values: &mut Values) {
        values.set("context_switches", Some(self.all as f64), self.all);
        values.set("involuntary_switches", Some(self.involuntary as f64), self.involuntary);
        values.set("migrations", Some(self.migrations as f64), self.migrations);
    }
}
