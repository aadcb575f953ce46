//! Tracks idle CPUs, for policies with one queue for the whole machine, which must give arriving tasks to them.

use goodness_core::{Context, CpuId, Effort, Machine, Resched, TaskId};

/// The set of idle CPUs.
#[derive(Clone, Debug)]
pub(crate) struct IdleCpus {
    words: Vec<u64>,
    count: usize,
}

impl IdleCpus {
    /// All CPUs of the machine, idle at the start.
    pub fn all(machine: &Machine) -> IdleCpus {
        let mut idle = IdleCpus { words: vec![0; machine.cpu_count().div_ceil(64)], count: 0 };
        machine.cpu_ids().for_each(|cpu| idle.set(cpu, true));
        idle
    }

    /// Notes whether `cpu` is idle; call it at the end of every pick.
    #[inline]
    pub fn set(&mut self, cpu: CpuId, is_idle: bool) {
        if !is_idle && self.count == 0 {
            return;
        }
        let (word, bit) = (&mut self.words[cpu.index() / 64], 1 << (cpu.index() % 64));
        if is_idle != (*word & bit != 0) {
            *word ^= bit;
            self.count = if is_idle { self.count + 1 } else { self.count - 1 };
        }
    }

    /// True if no CPU is idle.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// True if `cpu` is idle.
    #[inline]
    pub fn contains(&self, cpu: CpuId) -> bool {
        self.words[cpu.index() / 64] >> (cpu.index() % 64) & 1 == 1
    }

    /// Finds an idle CPU for a task queued at `cpu`: preferably that one (which needs no request to reschedule), else
    /// the first allowed one. The CPU counts as busy from now on, so that the next arrival at the same instant gets
    /// another.
    #[inline]
    pub fn claim(&mut self, cx: &Context, cpu: CpuId, task: TaskId) -> Resched {
        if self.count == 0 { Resched::Keep } else { self.claim_one(cx, cpu, task) }
    }

    /// Like `claim`, if any CPU is idle.
    #[inline(never)]
    fn claim_one(&mut self, cx: &Context, cpu: CpuId, task: TaskId) -> Resched {
        if self.contains(cpu) {
            self.set(cpu, false);
            return Resched::Keep;
        }
        match self.first_allowed(cx, task) {
            Some(idle) => {
                self.set(idle, false);
                Resched::Preempt(idle)
            }
            None => Resched::Keep,
        }
    }

    /// The first idle CPU that the task may use.
    pub fn first_allowed(&self, cx: &Context, task: TaskId) -> Option<CpuId> {
        let affinity = &cx.tasks[task].affinity;
        self.iter().find(|cpu| {
            cx.examined(Effort::Balance, 1);
            affinity.contains(*cpu)
        })
    }

    /// The idle CPUs, ascending.
    pub fn iter(&self) -> impl Iterator<Item = CpuId> {
        self.words.iter().enumerate().flat_map(|(index, word)| {
            let mut bits = *word;
            std::iter::from_fn(move || {
                let bit = (bits != 0).then(|| bits.trailing_zeros())?;
                bits &= bits - 1;
                Some(CpuId(index as u32 * 64 + bit))
            })
        })
    }
}
