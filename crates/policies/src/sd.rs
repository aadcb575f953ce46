//! Con Kolivas' Staircase Deadline: RSDL where each nice has a list of levels, spread over the whole rotation.
//!
//! Source: specs section 4 (the versions after RSDL, up to 1.00). A task of little weight visits few levels, but
//! evenly, instead of all at the end; a task out of levels waits for the next rotation.
//! Inferred (specs section 4, 14 (2)): the matrix of levels was not found; nice n owns k = 40 − (n + 20) of the 40,
//! spread by the rule of Bresenham. There is no quota for a level as a whole. The `interactive` switch of 1.00 is left
//! out: its rule is not known. Further inferences and general knowledge: `rotation.rs`.
//! Weakness: as RSDL: the wait of a task is bounded only by the sum of all quotas.

use crate::parts::rotation::{LEVELS, Ladder, Rotation, scaled};
use goodness_core::{About, Machine, Needs, Registered, Seed, Span};

goodness_core::choices! {
    /// Version of the patch.
    pub enum Version { V0_48 = "0.48", V1_00 = "1.00" }
}

goodness_core::tunables! {
    pub struct Settings {
        /// Version of the patch: quotas of 6 ms in 0.48, of 10 ms in 1.00.
        version: Version = Version::V0_48;
        /// Quota at each level (/proc/sys/kernel/rr_interval; auto: by version, times 1 + log2 of the CPUs).
        rr_interval: Option<Span> = None, in Span::from_us(100) => Span::from_ms(5000);
    }
}

/// The levels of each nice, spread evenly.
#[derive(Clone, Copy, Debug)]
pub struct Matrix;

impl Ladder for Matrix {
    const HAS_QUEUE_QUOTA: bool = false;

    fn may_use(index: u8, level: u8) -> bool {
        let owned = u32::from(LEVELS - index);
        let before = |level: u32| level * owned / u32::from(LEVELS);
        before(u32::from(level) + 1) > before(u32::from(level))
    }
}

/// Staircase Deadline.
pub type Sd = Rotation<Matrix>;

impl Registered for Sd {
    const ABOUT: About = About {
        name: "sd",
        summary: "Staircase deadline: RSDL with the levels of each nice spread over the rotation.",
        source: "Con Kolivas, versions 0.48 and 1.00, 2007; specs section 4",
        needs: Needs { tick: false, timer: false, balance: true, global_lock: false },
    };
    type Settings = Settings;

    fn new(machine: &Machine, settings: Settings, _: Seed) -> Self {
        let base = if settings.version == Version::V0_48 { Span::from_ms(6) } else { Span::from_ms(10) };
        Rotation::with(machine, settings.rr_interval.unwrap_or(scaled(base, machine)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// specs/cpu-schedulers.md 4 "SD": nice n owns 40 − (n + 20) slots, evenly spread
    #[test]
    fn each_nice_owns_its_number_of_levels_evenly_spread() {
        for index in 0..LEVELS {
            let owned: Vec<u8> = (0..LEVELS).filter(|level| Matrix::may_use(index, *level)).collect();
            assert_eq!(owned.len(), usize::from(40 - index));
            let gaps: Vec<u8> = owned.windows(2).map(|pair| pair[1] - pair[0]).collect();
            let (least, most) = (gaps.iter().min(), gaps.iter().max());
            assert!(gaps.is_empty() || most.unwrap() - least.unwrap() <= 1, "{owned:?}");
            assert_eq!(owned.last(), Some(&39));
        }
    }
}
