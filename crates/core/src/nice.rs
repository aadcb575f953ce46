//! Nice values and the weights that Linux gives them.

/// POSIX nice, −20 (most favoured) to +19.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Nice(i8);

impl Nice {
    /// The default.
    pub const ZERO: Nice = Nice(0);

    /// `value`, if in −20..=19.
    #[must_use]
    pub const fn new(value: i64) -> Option<Nice> {
        if value >= -20 && value <= 19 { Some(Nice(value as i8)) } else { None }
    }

    /// The number itself, −20..=19.
    #[must_use]
    pub const fn get(self) -> i64 {
        self.0 as i64
    }

    /// Linux's weights for nice −20..=19: each step is a factor of about 1.25, and nice 0 weighs 1024.
    pub const WEIGHTS: [u32; 40] = [
        88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916, 9548, 7620, 6100, 4904, 3906, 3121, 2501,
        1991, 1586, 1277, 1024, 820, 655, 526, 423, 335, 272, 215, 172, 137, 110, 87, 70, 56, 45, 36, 29, 23, 18, 15,
    ];

    /// 0 for nice −20 up to 39 for nice +19; handy for tables.
    #[must_use]
    pub const fn index(self) -> usize {
        (self.0 + 20) as usize
    }
}
