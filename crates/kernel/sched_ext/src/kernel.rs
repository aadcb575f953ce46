//! Checks that the running kernel supports sched_ext, and describes its machine.

use super::error::LiveError;
use super::host::Setting;
use goodness_core::{Cpu, Machine, Needs, Seed, Time};
use goodness_sys as sys;
use goodness_sys::cpu_list::CpuList;
use goodness_sys::topology;
use std::path::Path;

/// Folder with the state of sched_ext.
const SCHED_EXT: &str = "/sys/kernel/sched_ext";

/// Highest CPU number that fits into the shim's masks.
const CPU_MAX: u32 = 63;

/// Checks that user, kernel and loaded scheduler allow a policy.
///
/// # Errors
/// The obstacle, with the remedy.
pub fn ready() -> Result<(), LiveError> {
    let uid = sys::effective_user();
    if uid != 0 {
        return Err(LiveError::NotRoot { uid });
    }
    let Some(state) = read("state") else { return Err(LiveError::NoKernel { release: release() }) };
    if !Path::new("/sys/kernel/btf/vmlinux").exists() {
        return Err(LiveError::NoKernel { release: release() });
    }
    if state != "disabled" {
        return Err(busy());
    }
    Ok(())
}

/// The error for a scheduler that is loaded already.
pub fn busy() -> LiveError {
    let name = loaded().unwrap_or_else(|| "unknown".into());
    LiveError::Busy { name, how: "; if it is ours: goodness live stop" }
}

/// The name of the scheduler that is loaded, if one is.
#[must_use]
pub fn loaded() -> Option<String> {
    let state = read("state")?;
    (state != "disabled").then(|| read("root/ops").unwrap_or_default())
}

/// True if a scheduler is loaded and not about to be ended.
#[must_use]
pub fn is_enabled() -> bool {
    read("state").as_deref() == Some("enabled")
}

fn read(file: &str) -> Option<String> {
    let text = std::fs::read_to_string(Path::new(SCHED_EXT).join(file)).ok()?;
    Some(text.trim().to_string())
}

/// Release of the running kernel.
pub fn release() -> String {
    sys::kernel_release().unwrap_or_else(|| "unknown".into())
}

/// The CPUs of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places {
    /// The policy's.
    pub policy: Vec<u16>,
    /// The daemon's.
    pub daemon: u32,
}

/// Divides the `online` CPUs. The policy gets those in `asked`, by default all but the first; the daemon gets the first
/// of the rest, or shares the first.
///
/// # Errors
/// A requested CPU that is not online or above 63.
pub fn places(online: &[u32], asked: Option<&[u32]>) -> Result<Places, LiveError> {
    let default: Vec<u32> =
        online.iter().skip(usize::from(online.len() > 1)).copied().filter(|c| *c <= CPU_MAX).collect();
    let mut policy = asked.map_or(default, <[u32]>::to_vec);
    policy.sort_unstable();
    policy.dedup();
    for cpu in &policy {
        if !online.contains(cpu) {
            let list = online.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
            return Err(LiveError::Cpu { cpu: *cpu, why: format!("is not online here (online: {list})") });
        }
        if *cpu > CPU_MAX {
            return Err(LiveError::Cpu {
                cpu: *cpu,
                why: format!("is above {CPU_MAX}, the last a live policy can have"),
            });
        }
    }
    let daemon = online.iter().find(|cpu| !policy.contains(cpu)).or(online.first()).copied().unwrap_or(0);
    Ok(Places { policy: policy.into_iter().map(|cpu| cpu as u16).collect(), daemon })
}

/// The machine as seen by a policy on `cpus`.
///
/// # Errors
/// The kernel does not report its tick and the policy needs it.
pub fn setting(policy: &'static str, needs: Needs, cpus: &[u16], seed: u64) -> Result<Setting, LiveError> {
    let hz = match sys::tick_ns().map(|ns| 1_000_000_000 / ns) {
        Some(hz) => hz as u32,
        None if needs.tick => {
            let why = "it counts ticks, and this kernel does not tell how often it ticks (CLOCK_MONOTONIC_COARSE). \
                       Choose a policy without `tick` among its needs: goodness list policies";
            return Err(LiveError::Needs { policy, why: why.into() });
        }
        None => 250,
    };
    if needs.tick
        && let Some(cpu) = tickless(cpus)
    {
        let why = format!(
            "it counts ticks, and CPU {cpu} has none while it runs one task (nohz_full). Leave it out with --cpus"
        );
        return Err(LiveError::Needs { policy, why });
    }
    let numbers: Vec<u32> = cpus.iter().map(|cpu| u32::from(*cpu)).collect();
    let near = topology::neighbours(&numbers);
    let first = |set: &[u32]| set.first().copied().unwrap_or(0);
    let built =
        near.iter().map(|n| Cpu { core: first(&n.core), cache: first(&n.cache), node: first(&n.node), capacity: 1024 });
    let machine = Machine::new("live", built.collect(), hz).map_err(LiveError::Policy)?;
    Ok(Setting { machine, cpus: cpus.to_vec(), epoch: Time(sys::monotonic_ns()), seed: Seed(seed) })
}

/// A CPU of `cpus` whose tick the kernel can stop.
fn tickless(cpus: &[u16]) -> Option<u32> {
    let list = std::fs::read_to_string("/sys/devices/system/cpu/nohz_full").ok()?;
    let CpuList(stopped) = list.parse().ok()?;
    cpus.iter().map(|cpu| u32::from(*cpu)).find(|cpu| stopped.contains(cpu))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_policy_has_all_cpus_but_the_daemons() {
        let two = places(&[0, 1], None).unwrap();
        assert_eq!((two.policy, two.daemon), (vec![1], 0));
        let asked = places(&[0, 1, 2, 3], Some(&[2, 0])).unwrap();
        assert_eq!((asked.policy, asked.daemon), (vec![0, 2], 1));
        let one = places(&[0], None).unwrap();
        assert_eq!((one.policy, one.daemon), (vec![0], 0));
        assert!(places(&[0, 1], Some(&[7])).unwrap_err().to_string().contains("not online here (online: 0,1)"));
    }
}
