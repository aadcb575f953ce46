//! Interim looks at a running comparison, without more false findings than promised.
//!
//! Testing after every block and stopping at the first p below 5 % finds differences between equals far more often than
//! in 5 % of the races. So the error probability is spent gradually: when a fraction `t` of the maximal number of
//! blocks has run, `alpha · t` has been spent (linear spending function of Lan and DeMets, "Discrete sequential
//! boundaries for clinical trials", Biometrika 70(3), 1983). A look is tested at the level spent since the previous
//! look.
//!
//! The looks are combined by Bonferroni's inequality, not by their joint distribution. That is valid for any test
//! (Student's, with Holm's correction) and any number of runs, and slightly conservative.

use super::Confidence;

/// Increase of the number of blocks from one look to the next. Looks are few because each spends error probability.
const STEP: f64 = 0.4;

/// The looks of a race: the blocks before each, and the error probability it may spend.
#[derive(Clone, Debug, PartialEq)]
pub struct Looks {
    most: usize,
    alpha: f64,
    at: Vec<usize>,
}

impl Looks {
    /// Looks from `first` blocks on, the last after `most`. Without early looks there is only that one.
    ///
    /// # Panics
    /// If there are no blocks.
    pub fn plan(first: usize, most: usize, confidence: Confidence) -> Looks {
        assert!(first > 0 && most > 0, "a race of no blocks cannot be looked at");
        let mut at = Vec::new();
        let mut next = first;
        while next < most {
            at.push(next);
            next += ((next as f64 * STEP) as usize).max(1);
        }
        // A look shortly before the end would take from the last one and hardly end anything sooner.
        if at.last().is_some_and(|last| (most - last) * 5 < most) {
            at.pop();
        }
        at.push(most);
        Looks { most, alpha: confidence.alpha(), at }
    }

    /// Only one look, after `most` blocks.
    ///
    /// # Panics
    /// If there are no blocks.
    pub fn once(most: usize, confidence: Confidence) -> Looks {
        Looks::plan(most, most, confidence)
    }

    /// Blocks before each look.
    pub fn at(&self) -> &[usize] {
        &self.at
    }

    /// Confidence level of a look after `blocks` blocks, with the previous look after `before` (0 if none). Looks may
    /// deviate from the plan as long as their timing does not depend on the measurements. `None` if nothing is left to
    /// spend.
    pub fn level(&self, before: usize, blocks: usize) -> Option<Confidence> {
        let spent = |blocks: usize| self.alpha * blocks.min(self.most) as f64 / self.most as f64;
        Confidence::new(1.0 - (spent(blocks) - spent(before)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_looks_together_spend_the_allowance_and_no_more() {
        for (first, most) in [(5, 20), (6, 30), (5, 5), (7, 6), (1, 100)] {
            let looks = Looks::plan(first, most, Confidence::P95);
            let mut before = 0;
            let spend = |at: &usize| {
                let level = looks.level(before, *at).expect("something is left");
                before = *at;
                level.alpha()
            };
            let spent: f64 = looks.at().iter().map(spend).sum();
            assert!((spent - 0.05).abs() < 1e-12, "{looks:?}");
            assert_eq!(looks.at().last(), Some(&most));
            assert!(looks.at().windows(2).all(|pair| pair[0] < pair[1]));
        }
    }

    #[test]
    fn looks_become_rarer() {
        assert_eq!(Looks::plan(5, 30, Confidence::P95).at(), [5, 7, 9, 12, 16, 22, 30]);
        assert_eq!(Looks::once(30, Confidence::P95).at(), [30]);
    }

    #[test]
    fn nothing_is_left_after_the_last_look() {
        let looks = Looks::plan(5, 20, Confidence::P95);
        assert_eq!(looks.level(20, 21), None);
        assert!(looks.level(0, 20).is_some_and(|level| (level.alpha() - 0.05).abs() < 1e-12));
    }
}
