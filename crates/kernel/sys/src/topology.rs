//! CPU topology from `/sys/devices/system`.

use crate::cpu_list::CpuList;
use std::path::Path;

/// CPUs that share a core, a cache or a node with one CPU, which is included; ascending.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Neighbours {
    /// The CPU.
    pub cpu: u32,
    /// Hardware threads of its core.
    pub core: Vec<u32>,
    /// CPUs that share its last-level cache.
    pub cache: Vec<u32>,
    /// CPUs of its memory node.
    pub node: Vec<u32>,
}

/// Distance between two different CPUs: the levels of machine files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Distance {
    /// Threads of one core.
    Smt,
    /// Cores with one last-level cache.
    Cache,
    /// CPUs of one memory node.
    Node,
    /// CPUs of different nodes.
    Machine,
}

impl Neighbours {
    /// Distance to `other`.
    #[must_use]
    pub fn distance(&self, other: u32) -> Distance {
        match other {
            _ if self.core.contains(&other) => Distance::Smt,
            _ if self.cache.contains(&other) => Distance::Cache,
            _ if self.node.contains(&other) => Distance::Node,
            _ => Distance::Machine,
        }
    }
}

/// Neighbours of each of `cpus`, among `cpus`. Missing facts default to: a core of its own, one cache and one node for
/// all.
#[must_use]
pub fn neighbours(cpus: &[u32]) -> Vec<Neighbours> {
    read(Path::new("/sys/devices/system"), cpus)
}

fn read(system: &Path, cpus: &[u32]) -> Vec<Neighbours> {
    let listed = |path: &Path| Some(std::fs::read_to_string(path).ok()?.parse::<CpuList>().ok()?.0);
    let among = |set: Vec<u32>| cpus.iter().copied().filter(|cpu| set.contains(cpu)).collect::<Vec<u32>>();
    let nodes: Vec<Vec<u32>> =
        (0..1024).filter_map(|node| listed(&system.join(format!("node/node{node}/cpulist")))).collect();
    let one = |&cpu: &u32| {
        let home = system.join(format!("cpu/cpu{cpu}"));
        let core = listed(&home.join("topology/thread_siblings_list")).map(&among);
        // The highest index is the last level.
        let caches = (0..8).rev().find_map(|i| listed(&home.join(format!("cache/index{i}/shared_cpu_list"))));
        let node = nodes.iter().find(|node| node.contains(&cpu)).cloned().map(&among);
        let known = |set: Option<Vec<u32>>| set.filter(|set| set.contains(&cpu));
        Neighbours {
            cpu,
            core: known(core).unwrap_or_else(|| vec![cpu]),
            cache: known(caches.map(&among)).unwrap_or_else(|| cpus.to_vec()),
            node: known(node).unwrap_or_else(|| cpus.to_vec()),
        }
    };
    cpus.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_caches_and_nodes_are_told_apart() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: String, text: &str| {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        for cpu in 0..8 {
            write(
                format!("cpu/cpu{cpu}/topology/thread_siblings_list"),
                &format!("{},{}\n", cpu / 2 * 2, cpu / 2 * 2 + 1),
            );
            write(format!("cpu/cpu{cpu}/cache/index3/shared_cpu_list"), ["0-3\n", "4-7\n"][cpu / 4]);
            write(format!("cpu/cpu{cpu}/cache/index0/shared_cpu_list"), &format!("{cpu}\n"));
        }
        write("node/node0/cpulist".into(), "0-7\n");
        let seen = read(root.path(), &[0, 1, 2, 4, 9]);
        let from_0: Vec<Distance> = [1, 2, 4, 9].map(|cpu| seen[0].distance(cpu)).into();
        assert_eq!(from_0, [Distance::Smt, Distance::Cache, Distance::Node, Distance::Machine]);
        assert_eq!(seen[0].cache, [0, 1, 2], "only CPUs that may be used");
    }
}
