//! Sets of CPUs: affinities and cpusets.

use crate::machine::CpuId;
use std::sync::Arc;

/// A set of CPUs. `All` and sets below CPU 64 need no allocation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum CpuSet {
    /// Every CPU of the machine.
    #[default]
    All,
    /// CPUs 0..64, one bit each.
    Small(u64),
    /// Any CPUs, 64 to a word.
    Large(Arc<[u64]>),
}

impl CpuSet {
    /// The set of the CPUs listed.
    #[must_use]
    pub fn of(cpus: &[CpuId]) -> CpuSet {
        let words = cpus.iter().map(|c| c.index() / 64 + 1).max().unwrap_or(1);
        let mut bits = vec![0u64; words];
        for cpu in cpus {
            bits[cpu.index() / 64] |= 1 << (cpu.index() % 64);
        }
        if words == 1 { CpuSet::Small(bits[0]) } else { CpuSet::Large(bits.into()) }
    }

    /// True if the set names one CPU alone.
    #[must_use]
    pub fn is_single(&self) -> bool {
        match self {
            CpuSet::All => false,
            CpuSet::Small(bits) => bits.count_ones() == 1,
            CpuSet::Large(words) => words.iter().map(|word| word.count_ones()).sum::<u32>() == 1,
        }
    }

    /// True if `cpu` belongs to the set.
    #[inline]
    #[must_use]
    pub fn contains(&self, cpu: CpuId) -> bool {
        let index = cpu.index();
        match self {
            CpuSet::All => true,
            CpuSet::Small(bits) => index < 64 && bits >> index & 1 == 1,
            CpuSet::Large(words) => words.get(index / 64).is_some_and(|w| w >> (index % 64) & 1 == 1),
        }
    }

    /// The CPUs that both sets have; `None` if there are none.
    #[must_use]
    pub fn and(&self, other: &CpuSet) -> Option<CpuSet> {
        let both = match (self, other) {
            (CpuSet::All, set) | (set, CpuSet::All) => set.clone(),
            (CpuSet::Small(one), set) | (set, CpuSet::Small(one)) => CpuSet::Small(one & set.first_word()),
            (CpuSet::Large(one), CpuSet::Large(two)) => {
                CpuSet::Large(one.iter().zip(&**two).map(|(a, b)| a & b).collect())
            }
        };
        (!both.is_empty()).then_some(both)
    }

    /// The CPUs of a machine of `count` that `keeps` names; all, if it names all of them.
    #[must_use]
    pub fn among(count: usize, keeps: impl Fn(CpuId) -> bool) -> CpuSet {
        let kept: Vec<CpuId> = (0..count).map(|cpu| CpuId(cpu as u32)).filter(|cpu| keeps(*cpu)).collect();
        if kept.len() == count { CpuSet::All } else { CpuSet::of(&kept) }
    }

    /// CPUs 0..64.
    fn first_word(&self) -> u64 {
        match self {
            CpuSet::All => u64::MAX,
            CpuSet::Small(bits) => *bits,
            CpuSet::Large(words) => words.first().copied().unwrap_or_default(),
        }
    }

    /// True if it has no CPU.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        match self {
            CpuSet::All => false,
            CpuSet::Small(bits) => *bits == 0,
            CpuSet::Large(words) => words.iter().all(|word| *word == 0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_sets_have_their_common_cpus_in_both() {
        let of = |cpus: &[u32]| CpuSet::of(&cpus.iter().copied().map(CpuId).collect::<Vec<_>>());
        let (low, high) = (of(&[0, 1, 2]), of(&[1, 2, 70, 130]));
        assert_eq!(low.and(&CpuSet::All), Some(low.clone()));
        assert_eq!(CpuSet::All.and(&high), Some(high.clone()));
        for (one, two) in [(&low, &high), (&high, &low)] {
            let both = one.and(two).expect("they have CPUs in common");
            let found: Vec<u32> = (0..200).filter(|cpu| both.contains(CpuId(*cpu))).collect();
            assert_eq!(found, [1, 2]);
        }
        let both = high.and(&of(&[70, 3])).expect("they have one in common");
        assert!(both.contains(CpuId(70)) && both.is_single());
        assert_eq!([low.and(&of(&[3])), high.and(&of(&[71])), low.and(&of(&[70]))], [None, None, None]);
    }
}
