//! Affinities, and how many tasks of each wait beside how many idle CPUs.

use goodness_core::{CpuId, CpuSet};
use std::collections::HashMap;

/// The different affinities of a run, numbered from 1; 0 stands for all CPUs.
#[derive(Clone, Debug)]
pub(crate) struct Sets {
    cpus: usize,
    list: Vec<CpuSet>,
    numbers: HashMap<Vec<u64>, u16>,
}

impl Sets {
    pub fn new(cpus: usize) -> Sets {
        Sets { cpus, list: Vec::new(), numbers: HashMap::new() }
    }

    pub fn number_of(&mut self, set: &CpuSet) -> u16 {
        let words = match set {
            CpuSet::All => return 0,
            CpuSet::Small(bits) => vec![*bits],
            CpuSet::Large(words) => words.to_vec(),
        };
        if let Some(&number) = self.numbers.get(&words) {
            return number;
        }
        if (0..self.cpus).all(|cpu| set.contains(CpuId(cpu as u32))) {
            self.numbers.insert(words, 0);
            return 0;
        }
        self.list.push(set.clone());
        let number = u16::try_from(self.list.len()).expect("at most 65535 different affinities");
        self.numbers.insert(words, number);
        number
    }

    /// True if `cpu` belongs to the affinity `set`.
    #[inline]
    pub fn contains(&self, set: u16, cpu: CpuId) -> bool {
        set == 0 || self.list[set as usize - 1].contains(cpu)
    }
}

/// Number of waiting tasks and idle CPUs, in total and per affinity.
///
/// Without affinities, two counters tell whether a CPU idles that could serve a waiting task. With affinities, the set
/// of idle CPUs is needed; it is kept for up to 64 CPUs and 64 different affinities.
#[derive(Clone, Debug)]
pub(crate) struct Waiting {
    /// Waiting tasks that may run anywhere.
    anywhere: u32,
    /// For each affinity: its CPUs, and the number of waiting tasks with it.
    restricted: Vec<(u64, u32)>,
    cpus: usize,
    idle: u32,
    idle_set: u64,
    /// At most 64 CPUs and 64 affinities, or no restricted task at all.
    known: bool,
}

impl Waiting {
    pub fn new(cpus: usize) -> Waiting {
        let idle_set = if cpus >= 64 { u64::MAX } else { (1 << cpus) - 1 };
        Waiting { anywhere: 0, restricted: Vec::new(), cpus, idle: cpus as u32, idle_set, known: true }
    }

    pub fn make_room(&mut self, set: u16, cpus: &CpuSet) {
        if set as usize <= self.restricted.len() {
            return;
        }
        let bits = match cpus {
            CpuSet::All => u64::MAX,
            CpuSet::Small(bits) => *bits,
            CpuSet::Large(words) => words.first().copied().unwrap_or(0),
        };
        self.restricted.push((bits, 0));
        self.known = self.restricted.len() <= 64 && self.cpus <= 64;
    }

    #[inline]
    pub fn idle_cpus(&self) -> u32 {
        self.idle
    }

    #[inline]
    pub fn queue(&mut self, set: u16) {
        match set {
            0 => self.anywhere += 1,
            _ => self.restricted[set as usize - 1].1 += 1,
        }
    }

    #[inline]
    pub fn unqueue(&mut self, set: u16) {
        match set {
            0 => self.anywhere -= 1,
            _ => self.restricted[set as usize - 1].1 -= 1,
        }
    }

    #[inline]
    pub fn busy(&mut self, cpu: CpuId) {
        self.idle -= 1;
        self.idle_set &= !(1u64 << (cpu.0 & 63));
    }

    #[inline]
    pub fn idle(&mut self, cpu: CpuId) {
        self.idle += 1;
        self.idle_set |= 1u64 << (cpu.0 & 63);
    }

    #[inline]
    pub fn idles_while_queued(&self) -> Option<bool> {
        if self.idle == 0 {
            return Some(false);
        }
        if self.anywhere > 0 {
            return Some(true);
        }
        if self.restricted.is_empty() {
            return Some(false);
        }
        self.known.then(|| self.restricted.iter().any(|(cpus, waiting)| *waiting > 0 && cpus & self.idle_set != 0))
    }
}
