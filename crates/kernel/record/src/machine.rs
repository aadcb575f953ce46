//! Facts about the machine and its kernel that a reader needs to judge a recording. A fact that cannot be read is
//! listed as unreadable; none is guessed.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::Path;

use goodness_sys::cpu_list::CpuList;
use goodness_sys::{kernel_release, listed};
use serde::Serialize;

/// Kernel configuration facts that change scheduling or its measurement.
const CONFIG_FACTS: [&str; 30] = [
    "HZ",
    "NO_HZ_IDLE",
    "NO_HZ_FULL",
    "HZ_PERIODIC",
    "HIGH_RES_TIMERS",
    "PREEMPT_NONE",
    "PREEMPT_VOLUNTARY",
    "PREEMPT",
    "PREEMPT_LAZY",
    "PREEMPT_RT",
    "PREEMPT_DYNAMIC",
    "SMP",
    "NR_CPUS",
    "SCHED_SMT",
    "SCHED_MC",
    "SCHED_CLUSTER",
    "SCHED_AUTOGROUP",
    "SCHED_CORE",
    "SCHED_HRTICK",
    "SCHED_CLASS_EXT",
    "SCHED_DEBUG",
    "SCHEDSTATS",
    "FAIR_GROUP_SCHED",
    "CFS_BANDWIDTH",
    "RT_GROUP_SCHED",
    "UCLAMP_TASK",
    "NUMA_BALANCING",
    "PSI",
    "IRQ_TIME_ACCOUNTING",
    "PARAVIRT_TIME_ACCOUNTING",
];

/// Something that exists in principle but could not be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Unreadable {
    /// A path.
    pub what: String,
    /// Reason, as a sentence.
    pub why: String,
}

/// The kernel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Kernel {
    /// `uname -r`.
    pub release: String,
    /// `uname -m`.
    pub machine: String,
    /// Timer interrupts a second.
    pub hz: Option<u32>,
    /// Preemption mode in force.
    pub preempt: Option<String>,
    /// Configuration facts by name without `CONFIG_`.
    pub config: Option<BTreeMap<String, String>>,
}

/// Topology of one CPU.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Cpu {
    /// Number.
    pub cpu: u32,
    /// NUMA node.
    pub node: Option<u32>,
    /// Physical package.
    pub package: Option<i64>,
    /// Core within the package.
    pub core: Option<i64>,
    /// CPUs of the same core.
    pub smt: Option<Vec<u32>>,
    /// CPUs of the same last-level cache.
    pub llc: Option<Vec<u32>>,
}

impl Kernel {
    /// Reads the facts of the running kernel. `tunables` supplies the preemption mode.
    pub fn read(tunables: &BTreeMap<String, String>, unreadable: &mut Vec<Unreadable>) -> Self {
        let release = kernel_release().unwrap_or_default();
        let config = config_text(&release).map(|text| config_facts(&text));
        if config.is_none() {
            unreadable.push(Unreadable {
                what: format!("/boot/config-{release}"),
                why: "neither /proc/config.gz nor this file could be read, so HZ is unknown".to_string(),
            });
        }
        let hz = config.as_ref().and_then(|facts| facts.get("HZ")).and_then(|hz| hz.parse().ok());
        let preempt = preempt_mode(tunables.get("sched/preempt").map(String::as_str), config.as_ref());
        Self { release, machine: machine_name(), hz, preempt, config }
    }
}

/// `uname -m`: read from `/proc/sys/kernel/arch` (since Linux 6.1), else the architecture of this build.
fn machine_name() -> String {
    trimmed("/proc/sys/kernel/arch").unwrap_or_else(|| std::env::consts::ARCH.to_string())
}

fn config_text(release: &str) -> Option<String> {
    let plain = [format!("/boot/config-{release}"), format!("/lib/modules/{release}/config")];
    if let Some(text) = plain.iter().find_map(|path| fs::read_to_string(path).ok()) {
        return Some(text);
    }
    let packed = fs::File::open("/proc/config.gz").ok()?;
    let mut text = String::new();
    flate2::read::GzDecoder::new(packed).read_to_string(&mut text).ok()?;
    Some(text)
}

fn config_facts(text: &str) -> BTreeMap<String, String> {
    let mut facts = BTreeMap::new();
    for line in text.lines() {
        let fact = match line.strip_prefix("# CONFIG_") {
            Some(off) => off.strip_suffix(" is not set").map(|name| (name, "n")),
            None => line.strip_prefix("CONFIG_").and_then(|on| on.split_once('=')),
        };
        if let Some((name, value)) = fact.filter(|(name, _)| CONFIG_FACTS.contains(name)) {
            facts.insert(name.to_string(), value.trim_matches('"').to_string());
        }
    }
    facts
}

/// The active preemption mode. Debugfs shows it in parentheses. Without debugfs it is known only for kernels that
/// cannot change it at run time.
fn preempt_mode(shown: Option<&str>, config: Option<&BTreeMap<String, String>>) -> Option<String> {
    if let Some(mode) = shown.and_then(|text| text.split('(').nth(1)).and_then(|rest| rest.split(')').next()) {
        return Some(mode.to_string());
    }
    let set = |name: &str| config.is_some_and(|facts| facts.get(name).is_some_and(|value| value == "y"));
    if set("PREEMPT_DYNAMIC") {
        return None;
    }
    let modes =
        [("PREEMPT_NONE", "none"), ("PREEMPT_VOLUNTARY", "voluntary"), ("PREEMPT_LAZY", "lazy"), ("PREEMPT", "full")];
    modes.iter().find(|(name, _)| set(name)).map(|(_, mode)| mode.to_string())
}

/// CPUs that are online, ascending.
pub fn online() -> Vec<u32> {
    let text = trimmed("/sys/devices/system/cpu/online").unwrap_or_default();
    let cpus = cpu_list(&text);
    if cpus.is_empty() { goodness_sys::affinity_of(0).unwrap_or_else(|| vec![0]) } else { cpus }
}

/// Numbers of a list in kernel notation; empty if there is none.
fn cpu_list(text: &str) -> Vec<u32> {
    text.parse().map_or_else(|_| Vec::new(), |CpuList(cpus)| cpus)
}

/// Topology of `cpus`.
pub fn topology(cpus: &[u32]) -> Vec<Cpu> {
    let root = Path::new("/sys/devices/system/cpu");
    cpus.iter().map(|&cpu| cpu_facts(&root.join(format!("cpu{cpu}")), cpu)).collect()
}

fn cpu_facts(folder: &Path, cpu: u32) -> Cpu {
    let text = |file: &str| trimmed(folder.join("topology").join(file));
    let siblings = text("core_cpus_list").or_else(|| text("thread_siblings_list"));
    let node = listed(folder).iter().find_map(|path| path.file_name()?.to_str()?.strip_prefix("node")?.parse().ok());
    Cpu {
        cpu,
        node,
        package: text("physical_package_id").and_then(|id| id.parse().ok()),
        core: text("core_id").and_then(|id| id.parse().ok()),
        smt: siblings.map(|list| cpu_list(&list)),
        llc: last_level_cache(&folder.join("cache")),
    }
}

/// The CPUs that share the last-level data cache.
fn last_level_cache(folder: &Path) -> Option<Vec<u32>> {
    let caches = listed(folder).into_iter().filter_map(|index| {
        let level: u32 = trimmed(index.join("level"))?.parse().ok()?;
        let data = trimmed(index.join("type"))? != "Instruction";
        data.then_some((level, trimmed(index.join("shared_cpu_list"))?))
    });
    caches.max_by_key(|(level, _)| *level).map(|(_, list)| cpu_list(&list))
}

/// The scheduler's tunables, by path below debugfs or `/proc/sys`.
pub fn tunables(unreadable: &mut Vec<Unreadable>) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let debug = Path::new("/sys/kernel/debug");
    if listed(&debug.join("sched")).is_empty() {
        unreadable.push(Unreadable {
            what: "/sys/kernel/debug/sched".to_string(),
            why: "debugfs is not mounted, or this kernel hides the folder even from root".to_string(),
        });
    }
    gather(&debug.join("sched"), debug, 3, &mut found, unreadable);
    let proc_sys = Path::new("/proc/sys");
    for path in listed(&proc_sys.join("kernel")) {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.starts_with("sched_") {
            read_tunable(&path, proc_sys, &mut found, unreadable);
        }
    }
    found
}

/// Reads every file of `folder` and its subfolders down to `depth`. Skips `debug`, a dump of all tasks and not a
/// tunable.
fn gather(
    folder: &Path,
    base: &Path,
    depth: u32,
    found: &mut BTreeMap<String, String>,
    unreadable: &mut Vec<Unreadable>,
) {
    for path in listed(folder) {
        if path.is_dir() && depth > 0 {
            gather(&path, base, depth - 1, found, unreadable);
        } else if path.is_file() && path.file_name() != Some("debug".as_ref()) {
            read_tunable(&path, base, found, unreadable);
        }
    }
}

fn read_tunable(path: &Path, base: &Path, found: &mut BTreeMap<String, String>, unreadable: &mut Vec<Unreadable>) {
    match fs::read_to_string(path) {
        Ok(text) => {
            let name = path.strip_prefix(base).unwrap_or(path).to_string_lossy().into_owned();
            found.insert(name, text.trim().to_string());
        }
        Err(error) => unreadable.push(Unreadable { what: path.display().to_string(), why: error.to_string() }),
    }
}

/// Available memory (`MemAvailable`) in bytes.
pub fn available_memory() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? * 1024)
}

/// The content of a small file without surrounding white space; `None` when unreadable or empty.
pub fn trimmed(path: impl AsRef<Path>) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    Some(text.trim().to_string()).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn configuration_facts_are_kept_and_the_rest_dropped() {
        let text = "CONFIG_HZ=250\n# CONFIG_PREEMPT_RT is not set\nCONFIG_DEFAULT_HOSTNAME=\"secret\"\n";
        let facts = config_facts(text);
        assert_eq!(facts.get("HZ").map(String::as_str), Some("250"));
        assert_eq!(facts.get("PREEMPT_RT").map(String::as_str), Some("n"));
        assert_eq!(facts.len(), 2);
    }

    #[test]
    fn the_preemption_mode_in_force_wins_over_the_built_in_one() {
        let facts = config_facts("CONFIG_PREEMPT_NONE=y\nCONFIG_PREEMPT_DYNAMIC=y\n");
        assert_eq!(preempt_mode(Some("none voluntary (full) lazy"), Some(&facts)).as_deref(), Some("full"));
        assert_eq!(preempt_mode(None, Some(&facts)), None, "it may have been changed at boot");
        let fixed = config_facts("CONFIG_PREEMPT_VOLUNTARY=y\n");
        assert_eq!(preempt_mode(None, Some(&fixed)).as_deref(), Some("voluntary"));
    }

    #[test]
    fn this_machine_has_cpus_with_a_topology() {
        let cpus = online();
        let topology = topology(&cpus);
        assert!(!cpus.is_empty() && topology.len() == cpus.len());
        assert!(topology[0].smt.as_ref().is_none_or(|smt| smt.contains(&cpus[0])));
    }
}
