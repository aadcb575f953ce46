//! The loads that a device is fitted to, and others that it is tried on.

use super::closed_loop::Load;

/// Sizes in bytes.
const SIZES: [u32; 5] = [4096, 12_288, 32_768, 98_304, 262_144];
/// Numbers in flight of random reads; of random writes and reads in sequence.
const DEPTHS: &[u32] = &[1, 4, 8, 16, 32, 64];
const FEWER: &[u32] = &[1, 4, 16];
/// The most bytes in flight: with more, a measurement ends before the first commands do.
const INSIDE: u32 = 4 << 20;

/// Loads to fit, with at most `depth` commands in flight.
#[must_use]
pub fn seen(with_writes: bool, depth: u32) -> Vec<Load> {
    let each = |depths: &'static [u32], load: fn(u32, u32) -> Load| {
        SIZES.iter().flat_map(move |bytes| depths.iter().map(move |depth| load(*bytes, *depth)))
    };
    let mut loads: Vec<Load> = each(DEPTHS, |bytes, depth| Load::random(bytes, depth, 0)).collect();
    loads.extend(each(FEWER, Load::sequential));
    if with_writes {
        loads.extend(each(FEWER, |bytes, depth| Load::random(bytes, depth, 100)));
    }
    loads.retain(|load| load.depth <= depth && load.depth * load.sizes[0] <= INSIDE);
    loads
}

/// Loads that no time is fitted to: another size and depth, a mixture of sizes, another sequence; and with writes, a
/// mixture of both.
#[must_use]
pub fn unseen(with_writes: bool, depth: u32) -> Vec<Load> {
    let mixture = |sizes: &[u32], depth, writes| Load { sizes: sizes.to_vec(), depth, is_sequential: false, writes };
    let mut loads =
        vec![Load::random(8192, 3, 0), mixture(&[4096, 32_768, 131_072], 6, 0), Load::sequential(49_152, 12)];
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
