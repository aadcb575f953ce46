//! Edits that are made, not typed.

use super::apart::{self, Percent};
use super::disks::DiskChange;
use super::groups::GroupChange;
use super::{Change, Edit, What};
use goodness_core::{CpuId, IoLimit};

impl Edit {
    fn made(text: String, what: What) -> Edit {
        Edit { text, what }
    }

    fn of_task(whom: &str, value: &str, change: Change) -> Edit {
        Edit::made(format!("{whom}.{value}"), What::Task { whom: whom.into(), change })
    }

    /// The tasks that `whom` means have CPUs of their own.
    pub(crate) fn apart(whom: &str) -> Edit {
        Edit::of_task(whom, &format!("affinity={}", apart::OWN), Change::Apart)
    }

    /// They use this many percent of their CPU time.
    pub(crate) fn computes(whom: &str, percent: u32) -> Edit {
        Edit::of_task(whom, &format!("compute={percent}%"), Change::Compute(Percent(percent)))
    }

    /// They may use each of `cpus` CPUs.
    pub(crate) fn anywhere(whom: &str, cpus: u32) -> Edit {
        let change = Change::Affinity((0..cpus).map(CpuId).collect());
        Edit::of_task(whom, &format!("affinity=0-{}", cpus - 1), change)
    }

    /// The machine has `cpus` CPUs.
    pub(crate) fn cpus_of(cpus: u32) -> Edit {
        Edit::made(format!("cpus={cpus}"), What::Cpus(cpus))
    }

    /// The group has no limit.
    pub(crate) fn unlimited(group: &str) -> Edit {
        let what = What::Group { whom: group.into(), change: GroupChange::Max(None) };
        Edit::made(format!("{group}.cpu_max=max"), what)
    }

    /// The group has no limit on I/O.
    pub(crate) fn io_unlimited(group: &str) -> Edit {
        let what = What::Group { whom: group.into(), change: GroupChange::Io(IoLimit::NONE) };
        Edit::made(format!("{group}.io_max=max"), what)
    }

    /// Tasks hold the lock for this many percent of the time.
    pub(crate) fn holds(lock: &str, percent: u32) -> Edit {
        let what = What::Lock { whom: lock.into(), hold: Percent(percent) };
        Edit::made(format!("{lock}.hold={percent}%"), what)
    }

    /// The disk takes this many percent of the time.
    pub(crate) fn serves(disk: &str, percent: u32) -> Edit {
        let what = What::Disk { whom: disk.into(), change: DiskChange::Service(Percent(percent)) };
        Edit::made(format!("{disk}.service={percent}%"), what)
    }
}
