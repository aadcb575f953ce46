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

    /// True if `bit` is in the set.
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

    /// The smallest number in the set that is not below `bit`.
    #[inline]
    #[must_use]
    pub fn first_from(&self, bit: usize) -> Option<usize> {
        let mut words = self.0.iter().enumerate().skip(bit / 64);
        let (index, word) = words.next()?;
        let rest = word & (u64::MAX << (bit % 64));
        if rest != 0 {
            return Some(index * 64 + rest.trailing_zeros() as usize);
        }
        words.find(|(_, w)| **w != 0).map(|(i, w)| i * 64 + w.trailing_zeros() as usize)
    }

    /// True if the set is empty.
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

    #[test]
    fn the_first_bit_from_a_place_on_is_found_in_its_word_or_a_later_one() {
        let mut bits = Bitmap::<3>::default();
        for bit in [3, 63, 130] {
            bits.set(bit);
        }
        let found = [0, 3, 4, 64, 130, 131, 191, 192].map(|bit| bits.first_from(bit));
        assert_eq!(found, [Some(3), Some(3), Some(63), Some(130), Some(130), None, None, None]);
    }
}
