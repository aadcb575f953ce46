//! Counts of values in a sorted vector, for few distinct values. Adding and removing take
//! O(1) while all are equal, and else time linear in the number of distinct ones.
//!
//! ```
//! use goodness_queues::Tally;
//! let mut tally = Tally::default();
//! tally.add(30);
//! tally.add(10);
//! tally.add(30);
//! tally.remove(10);
//! assert_eq!(tally.least(), Some(30));
//! ```

/// Distinct values, ascending, with their counts.
#[derive(Clone, Debug, Default)]
pub struct Tally(Vec<(u64, u32)>);

impl Tally {
    /// Makes room for this many distinct values.
    pub fn reserve(&mut self, distinct: usize) {
        self.0.reserve_exact(distinct.saturating_sub(self.0.len()));
    }

    /// The smallest value; `None` when there is none.
    #[inline]
    #[must_use]
    pub fn least(&self) -> Option<u64> {
        self.0.first().map(|entry| entry.0)
    }

    /// The largest value; `None` when there is none.
    #[inline]
    #[must_use]
    pub fn greatest(&self) -> Option<u64> {
        self.0.last().map(|entry| entry.0)
    }

    /// Counts one more `value`.
    #[inline]
    pub fn add(&mut self, value: u64) {
        match self.place(value) {
            Ok(place) => self.0[place].1 += 1,
            Err(place) => self.0.insert(place, (value, 1)),
        }
    }

    /// Removes one occurrence of `value`.
    ///
    /// # Panics
    /// `value` is not present.
    #[inline]
    pub fn remove(&mut self, value: u64) {
        let place =
            self.place(value).unwrap_or_else(|_| panic!("{value} is removed from a tally that does not have it"));
        self.0[place].1 -= 1;
        if self.0[place].1 == 0 {
            self.0.remove(place);
        }
    }

    /// Index of `value`, or its insertion index.
    #[inline]
    fn place(&self, value: u64) -> Result<usize, usize> {
        match self.0.first() {
            Some(first) if first.0 == value => Ok(0),
            _ => self.0.binary_search_by_key(&value, |entry| entry.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_and_the_greatest_value_are_known_while_values_come_and_go() {
        let mut tally = Tally::default();
        assert_eq!(tally.least(), None);
        for value in [7, 3, 7, 9, 3] {
            tally.add(value);
        }
        let mut seen = Vec::new();
        for value in [9, 3, 3, 7, 7] {
            seen.push((tally.least(), tally.greatest()));
            tally.remove(value);
        }
        let expected = [(3, 9), (3, 7), (3, 7), (7, 7), (7, 7)];
        assert_eq!(seen, expected.map(|(least, greatest)| (Some(least), Some(greatest))));
        assert_eq!((tally.least(), tally.greatest()), (None, None));
    }

    #[test]
    #[should_panic(expected = "5 is removed")]
    fn removing_what_is_not_there_is_noticed() {
        let mut tally = Tally::default();
        tally.add(4);
        tally.remove(5);
    }
}
