//! Kernels in guests: which were played, on which machines.

/// Plays of a cell, with seeds from 1 on.
pub const PLAYS: u64 = 12;

/// Caches and cores that the CPUs of a guest share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Shape {
    /// One cache.
    Flat,
    /// One cache, and each two a core.
    Threads,
    /// Half of them a cache.
    Caches,
    /// Half of them a cache and a node.
    Nodes,
}

/// A kernel on a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Guest {
    /// Kernel series.
    pub kernel: &'static str,
    /// CPUs.
    pub cpus: u32,
    /// Caches and cores that they share.
    pub shape: Shape,
}

const fn guest(kernel: &'static str, cpus: u32, shape: Shape) -> Guest {
    Guest { kernel, cpus, shape }
}

/// The guests in which the loads of `fidelity/smp` were played.
pub const GUESTS: [Guest; 6] = [
    guest("6.1", 2, Shape::Flat),
    guest("6.1", 4, Shape::Flat),
    guest("6.12", 4, Shape::Flat),
    guest("6.18", 2, Shape::Flat),
    guest("6.18", 4, Shape::Flat),
    guest("7.3", 4, Shape::Flat),
];

/// Those in which the loads of `fidelity/eight` were, of twice the tasks.
pub const EIGHT: [Guest; 1] = [guest("6.18", 8, Shape::Flat)];

/// Those in which the loads of `fidelity/topologies` were.
pub const TOPOLOGIES: [Guest; 4] = [
    guest("6.18", 4, Shape::Caches),
    guest("6.18", 4, Shape::Nodes),
    guest("6.18", 4, Shape::Threads),
    guest("6.18", 8, Shape::Threads),
];

/// Those in which the loads of `fidelity/groups` were.
pub const GROUPS: [Guest; 3] =
    [guest("6.18", 4, Shape::Flat), guest("7.3", 2, Shape::Flat), guest("7.3", 4, Shape::Flat)];

impl Guest {
    /// Name of its folder of traces.
    #[must_use]
    pub fn name(self) -> String {
        let shape = match self.shape {
            Shape::Flat => "",
            Shape::Threads => "t2",
            Shape::Caches => "c2",
            Shape::Nodes => "n2",
        };
        format!("{}-{}{shape}", self.kernel, self.cpus)
    }

    /// Plays of `load`: more where starts are counted.
    #[must_use]
    pub fn plays(self, load: &str) -> u64 {
        match (self.cpus, self.shape, load) {
            (8, Shape::Threads, "four-hogs") => 20,
            _ => PLAYS,
        }
    }

    /// The scheduler of its kernel. 6.18 and 7.3 preempt lazily, as they are built.
    #[must_use]
    pub fn policy(self) -> &'static str {
        match self.kernel {
            "6.1" => "cfs:kernel=6.1",
            "6.12" => "eevdf:kernel=6.12",
            "6.18" => "eevdf:kernel=6.18,preempt=lazy",
            _ => "eevdf:kernel=7.3,preempt=lazy",
        }
    }

    /// The kernel whose rules its policy has: its own, or the nearest before it.
    #[must_use]
    pub fn profile(self) -> &'static str {
        self.policy().split(['=', ',']).nth(1).unwrap_or("")
    }

    /// Its policy's name, which shares an error.
    #[must_use]
    pub fn family(self) -> &'static str {
        self.policy().split_once(':').map_or("", |(name, _)| name)
    }
}
