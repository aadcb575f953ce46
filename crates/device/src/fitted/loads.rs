//! The loads that a device is fitted to, and others that it is tried on.

use super::closed_loop::Load;

/// Smallest size measured, in bytes.
const LEAST: u32 = 4096;
/// Larger sizes in bytes, each with the numbers in flight.
const LARGER: [(u32, &[u32]); 3] = [(16_384, &[1, 16]), (65_536, &[1, 4, 16]), (262_144, &[1, 8])];

/// Loads to fit, with at most `depth` commands in flight.
#[must_use]
pub fn seen(with_writes: bool, depth: u32) -> Vec<Load> {
    let mut loads = vec![Load::sequential(LEAST, 1), Load::sequential(65_536, 4)];
    for writes in if with_writes { vec![0, 100] } else { vec![0] } {
        loads.extend([1, 2, 4, 8, 16, 32, 64].map(|depth| Load::random(LEAST, depth, writes)));
        let larger = LARGER.iter().flat_map(|(bytes, depths)| depths.iter().map(|depth| (*bytes, *depth)));
        loads.extend(larger.map(|(bytes, depth)| Load::random(bytes, depth, writes)));
    }
    loads.retain(|load| load.depth <= depth);
    loads
}

/// Loads that no time is fitted to: another size and depth, a mixture of sizes, another sequence; and with writes, a
/// mixture of both.
#[must_use]
pub fn unseen(with_writes: bool, depth: u32) -> Vec<Load> {
    let mixture = |sizes: &[u32], depth, writes| Load { sizes: sizes.to_vec(), depth, is_sequential: false, writes };
    let mut loads =
        vec![Load::random(8192, 3, 0), mixture(&[4096, 32_768, 131_072], 6, 0), Load::sequential(32_768, 12)];
    if with_writes {
        loads.push(mixture(&[8192], 6, 30));
    }
    loads.iter_mut().for_each(|load| load.depth = load.depth.min(depth));
    loads
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_unseen_load_is_among_those_fitted_and_none_is_deeper_than_the_device() {
        let seen = seen(true, 64);
        assert!(unseen(true, 64).iter().all(|load| !seen.contains(load)));
        let is_deep = |load: &Load| load.depth > 2;
        assert!(!super::seen(true, 2).iter().any(is_deep) && !unseen(true, 2).iter().any(is_deep));
    }
}
