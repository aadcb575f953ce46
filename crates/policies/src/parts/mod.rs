//! Parts shared by several policies. None is registered.

pub mod ahead;
pub mod be_elections;
pub mod be_priorities;
pub mod bursts;
pub mod cbs;
pub mod domains;
pub mod fair;
pub mod feedback;
pub mod freebsd;
pub mod goodness;
pub mod halving;
pub mod idle_cpus;
pub mod jobs;
pub mod levels;
pub mod ordered;
pub mod per_cpu;
pub mod prio_array;
pub mod realtime;
pub mod reasons;
pub mod rotation;
pub mod running_cpus;
pub mod scx;
pub mod shared_queue;
pub mod tickets;
#[cfg(test)]
pub mod verb_driver;
pub mod virtual_deadline;
