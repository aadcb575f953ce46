//! Planned faults of the machine: what a hypervisor or a broken timer does to CPUs for some time.

use crate::machine::CpuId;
use crate::time::{Span, Time};

crate::choices! {
    /// Kind of a fault. `stolen`: the hypervisor runs something else; the task on the CPU makes no progress but is
    /// charged, its tick is late, and a request to reschedule waits. On all CPUs: a virtual machine that is stopped
    /// while its clock goes on, so that time jumps for them. `lost-ticks`: timer interrupts do not arrive. `offline`:
    /// the CPU is unplugged and plugged in again; no task may use it meanwhile.
    pub enum FaultKind { Stolen = "stolen", LostTicks = "lost-ticks", Offline = "offline" }
}

/// One fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MachineFault {
    /// Kind.
    pub kind: FaultKind,
    /// Its beginning.
    pub at: Time,
    /// Its length.
    pub span: Span,
    /// The CPU; `None` for all of them.
    pub cpu: Option<CpuId>,
}
