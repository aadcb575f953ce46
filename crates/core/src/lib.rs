//! Shared types and interfaces: time, task, machine, policy, behaviour, event, tunables, registry and randomness. No
//! I/O, no clock, no floats.
//!
//! # Life of a task, as a policy sees it
//!
//! ```text
//!  admit ─▶ select_cpu ─▶ enqueue ─▶ (queued) ─▶ pick_next ─▶ (running) ─▶ charge ─┬─▶ enqueue(Preempted | …)
//!              ▲                        │ dequeue(Migrate | Change | Kill)         ├─▶ blocked ─▶ select_cpu …
//!              └────────────────────────┘                                          └─▶ exit
//! ```
//!
//! Four rules hold for every host:
//!
//! 1. A running task is not on the run queue. A policy that includes the running task in its weights tracks it itself.
//! 2. `charge(Tick)` leaves the task running; with every other reason it has left the CPU before the call.
//! 3. A preemption is always `charge(Preempted)`, `enqueue(Preempted)`, `pick_next`. If the same task is picked again,
//!    it is not a context switch.
//! 4. Changes of nice, class or affinity have no call of their own: a queued task is dequeued with `Change`, edited and
//!    enqueued with `Restored`; a running one is charged as `Preempted`, edited and enqueued with `Restored`.
//!
//! # Glossary
//!
//! | word | meaning |
//! |---|---|
//! | timeslice | CPU time a task may use before its policy decides again |
//! | wake-up latency | time from runnable to running: from the first waking of a wait to the next switch-in |
//! | effort | elements a policy examined for a decision; the machine converts it to time |
//! | slice | uninterrupted time of a task on a CPU: from a switch-in to the next switch-out |

pub mod behaviour;
pub mod cpu_set;
pub mod cpu_stat;
pub mod device;
pub mod effort;
pub mod elevator;
pub mod event;
pub mod fault;
pub mod group;
pub mod io_limit;
pub mod io_reason;
pub mod lock;
pub mod machine;
mod nice;
mod placement;
pub mod policy;
pub mod reason;
pub mod registry;
pub mod request;
pub mod rng;
pub mod spelling;
pub mod storage;
pub mod task;
pub mod time;
pub mod tunable;
pub mod workload;

pub use behaviour::{Behaviour, BehaviourId, Channel, ChannelKind, Step, StepContext};
pub use cpu_set::CpuSet;
pub use cpu_stat::CpuStat;
pub use device::{Device, DeviceFacts, DeviceSample, Service};
pub use effort::{Effort, EffortMeter};
pub use elevator::{
    Allocate, Elevator, ElevatorAbout, ElevatorEntry, IoContext, Layer, MadeElevator, Merges, QueueLock,
    RegisteredElevator, Run, Side,
};
pub use event::{Event, IoEvent, IoStage, Observer, Off, Overhead, WakeSource};
pub use fault::{FaultKind, MachineFault};
pub use group::{Group, GroupId, Groups, Quota};
pub use io_limit::IoLimit;
pub use io_reason::{IoReason, WhyWaits};
pub use lock::{LockId, LockKind};
pub use machine::{CPUS_MAX, Costs, Cpu, CpuId, IoCosts, Level, Machine, Workers};
pub use nice::Nice;
pub use placement::Placement;
pub use policy::{Context, CpuPolicy, Dequeue, Enqueue, Idle, Pick, Preemption, Pull, Rejected, Resched, Stop};
pub use reason::{Reason, Standing, Why};
pub use registry::{About, MadePolicy, Needs, PolicyEntry, Registered, Typed};
pub use request::{
    DiskId, HwQueue, Io, IoClass, IoPriority, Operation, PAGE_BYTES, PAGE_SECTORS, QueueFacts, Request, RequestId,
    RequestTable, SECTOR_BYTES, Submitter,
};
pub use rng::{Rng, Seed};
pub use storage::{DiskSpec, FileId, FileSpec, IoStep, Layout, Piece, StorageSpec, VolumeId, VolumeSpec};
pub use task::{Class, PerTask, Reservation, State, Task, TaskId, TaskTable};
pub use time::{Span, Time};
pub use tunable::{Tunable, TunableError, Tunables};
pub use workload::{Awaited, HORIZON_MAX, Outsider, Remarked, Remarks, Start, TaskSpec, Workload, WorkloadSource};
