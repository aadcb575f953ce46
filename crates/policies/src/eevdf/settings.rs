//! Settings of EEVDF.

use crate::parts::fair::order::CgroupMode;
use goodness_core::{Preemption, Span};

goodness_core::choices! {
    /// Kernel whose fair class is modelled.
    pub enum Kernel {
        V6_6 = "6.6", V6_12_0 = "6.12.0", V6_12 = "6.12", V6_15 = "6.15", V6_18 = "6.18", V6_18_33 = "6.18.33",
        V7_2 = "7.2", V7_3 = "7.3",
    }
}

goodness_core::tunables! {
    pub struct Settings {
        /// Kernel whose behaviour and defaults apply; `6.12` and `6.18.33` are stable kernels with their backports.
        kernel: Kernel = Kernel::V6_12;
        /// Slice of a task that requests none, before scaling by the number of CPUs.
        base_slice: Option<Span> = None, in Span::from_us(100) => Span::from_ms(100);
        /// Keep a task's lag while it sleeps.
        place_lag: Option<bool> = None;
        /// Put a new task's first deadline half a slice away.
        place_deadline_initial: Option<bool> = None;
        /// Keep the distance to the deadline at migration and renice.
        place_rel_deadline: Option<bool> = None;
        /// Protect a task that was picked until its slice is used, while eligible.
        run_to_parity: Option<bool> = None;
        /// End that protection when a task with a shorter slice wakes.
        preempt_short: Option<bool> = None;
        /// Keep a task that sleeps owing CPU time queued until it has worked that off.
        delay_dequeue: Option<bool> = None;
        /// Reset a positive lag that a delayed task has gained by waiting.
        delay_zero: Option<bool> = None;
        /// Let woken tasks preempt.
        wakeup_preemption: bool = true;
        /// Preemption model (`lazy` from 6.15): in the kernel tasks lose their CPU at its end (`none`, `voluntary`), at
        /// once (`full`) or at a tick (`lazy`); a lazy wake-up from another CPU waits for a system call or a tick.
        preempt: Preemption = Preemption::Full;
        /// Favour the task woken last at the next pick.
        next_buddy: bool = false;
        /// Reconsider a task that has used up its protection at every tick, not only at its deadline.
        expire_protection: Option<bool> = None;
        /// End slices by a timer of their own, instead of at the next tick.
        hrtick: Option<bool> = None;
        /// Make a yield give up the whole slice, instead of only delaying the deadline.
        yield_forfeits: Option<bool> = None;
        /// Time for which a critical section keeps its CPU after a request to reschedule (`7.2`); 0 for none, and 5 to
        /// 50 µs in a kernel.
        slice_extension: Span = Span::ZERO, in Span::ZERO => Span::from_us(50);
        /// Weight of a task group on each CPU (`7.3`): its whole weight (`up`); its weight divided among CPUs by load
        /// (`smp`); or the latter times its CPUs (`max`), its runnable tasks (`tasks`) or the smaller of these two
        /// (`concur`).
        cgroup_mode: CgroupMode = CgroupMode::Concur;
    }
}
