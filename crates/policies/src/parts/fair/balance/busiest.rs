//! The busiest of the groups that a pass of balancing looks at.
//!
//! Source: specs/smp.md section 3.4.

use super::super::domains::{Group, Kind};
use goodness_core::{CpuId, Rng};
use std::cmp::Ordering;

/// The busiest group so far of those that a pass looks at.
#[derive(Default)]
pub struct Busiest<'a> {
    pub found: Option<(Kind, Group, &'a [CpuId])>,
    /// Groups that are as busy.
    equals: u64,
}

impl<'a> Busiest<'a> {
    /// Compares it with another group. With `rng`, any of overloaded groups that are alike is it: averages that
    /// have converged differ by rounding, which depends on when each CPU brought its own up to date.
    pub fn compare(&mut self, other: (Kind, Group, &'a [CpuId]), rng: Option<&mut Rng>) {
        let (kind, group, _) = &other;
        let order = match &self.found {
            None => Ordering::Greater,
            Some((than, busiest, _)) => kind.cmp(than).then(group.rank(*kind).cmp(&busiest.rank(*than))),
        };
        self.equals = if order == Ordering::Greater { 1 } else { self.equals + u64::from(order == Ordering::Equal) };
        let is_drawn = || *kind == Kind::Overloaded && rng.is_some_and(|rng| rng.below(self.equals) == 0);
        if order == Ordering::Greater || (order == Ordering::Equal && is_drawn()) {
            self.found = Some(other);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The control: without a draw, the first of equal groups is always found.
    #[test]
    fn any_of_overloaded_groups_that_are_alike_is_found_and_of_others_the_first() {
        let cpus = [0, 1, 2].map(CpuId);
        let found = |kind: Kind, rng: &mut Option<Rng>| {
            let mut busiest = Busiest::default();
            cpus.iter()
                .for_each(|cpu| busiest.compare((kind, Group::default(), std::slice::from_ref(cpu)), rng.as_mut()));
            busiest.found.expect("a group").2[0].index()
        };
        let counts = |kind, mut rng: Option<Rng>| {
            let mut counts = [0; 3];
            (0..3_000).for_each(|_| counts[found(kind, &mut rng)] += 1);
            counts
        };
        let drawn = counts(Kind::Overloaded, Some(goodness_core::Seed(7).rng()));
        assert!(drawn.iter().all(|count| (900..1_100).contains(count)), "a third each: {drawn:?}");
        assert_eq!(counts(Kind::Overloaded, None), [3_000, 0, 0]);
        assert_eq!(counts(Kind::Spare, Some(goodness_core::Seed(7).rng())), [3_000, 0, 0]);
    }
}
