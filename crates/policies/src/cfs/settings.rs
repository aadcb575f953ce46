//! Settings of CFS.

use goodness_core::Span;

goodness_core::choices! {
    /// Kernel whose fair class is modelled.
    pub enum Kernel { V2_6_24 = "2.6.24", V6_1 = "6.1" }
}

goodness_core::choices! {
    /// Preemption model.
    pub enum Preempt { None = "none", Voluntary = "voluntary", Full = "full" }
}

goodness_core::tunables! {
    pub struct Settings {
        /// Kernel whose behaviour and defaults apply.
        kernel: Kernel = Kernel::V6_1;
        /// Period in which every task runs once, before scaling by the number of CPUs.
        latency: Option<Span> = None, in Span::from_us(100) => Span::from_s(1);
        /// Shortest slice, before scaling by the number of CPUs.
        min_granularity: Option<Span> = None, in Span::from_us(100) => Span::from_s(1);
        /// Advantage a woken task needs to preempt, before scaling by the number of CPUs.
        wakeup_granularity: Option<Span> = None, in Span::ZERO => Span::from_s(1);
        /// Run a new task before its parent.
        child_runs_first: Option<bool> = None;
        /// Give sleepers half a period of credit instead of a whole one.
        gentle_fair_sleepers: Option<bool> = None;
        /// Start a new task one slice behind.
        start_debit: bool = true;
        /// Let woken tasks preempt.
        wakeup_preemption: bool = true;
        /// Preemption model: in the kernel tasks lose their CPU at its end (`none`, `voluntary`) or at once (`full`).
        preempt: Preempt = Preempt::Full;
        /// Favour a task preempted by a wake-up afterwards.
        last_buddy: Option<bool> = None;
    }
}
