//! A fixed set of small numbers with find-first.

/// A set of the numbers `0..64 * WORDS`.
#[derive(Clone, Debug)]
pub struct Bitmap<const WORDS: usize>([u64; WORDS]);

impl<const WORDS: usize> Default for Bitmap<WORDS> {
    fn default() -> Self {
        Bitmap([0; WORDS])
    }
}

impl<const WORDS: usize> Bitmap<WORDS> {
    /// Adds `bit`.
    #[inline]
    pub fn set(&mut self, bit: usize) {
        self.0[bit / 64] |= 1 << (bit % 64);
    }

    /// Removes `bit`.
    #[inline]
    pub fn clear(&mut self, bit: usize) {
        self.0[bit / 64] &= !(1 << (bit % 64));
    }

    /// Whether `bit` is in the set.
    #[inline]
    #[must_use]
    pub fn contains(&self, bit: usize) -> bool {
        self.0[bit / 64] >> (bit % 64) & 1 == 1
    }

    /// The smallest number in the set.
    #[inline]
    #[must_use]
    pub fn first(&self) -> Option<usize> {
        self.0.iter().enumerate().find(|(_, w)| **w != 0).map(|(i, w)| i * 64 + w.trailing_zeros() as usize)
    }

    /// Whether nothing is in the set.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|w| *w == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_bit_is_found_across_words() {
        let mut bits = Bitmap::<3>::default();
        assert_eq!(bits.first(), None);
        bits.set(140);
        bits.set(63);
        assert_eq!(bits.first(), Some(63));
        bits.clear(63);
        assert_eq!((bits.first(), bits.contains(140), bits.contains(139)), (Some(140), true, false));
    }
}
