//! The fair scheduler proposed for Haiku by M. Panasyuk in 2009, reconstructed from his measurements.
//!
//! Source: specs 7.7, derived from the table of 13 November 2009 (7.6); the algorithm was never published. Election,
//! inferences, deviations and weakness: `parts/halving.rs`.

use crate::parts::be_elections::{Elections, NEEDS};
use crate::parts::halving::{Build, Halving};
use goodness_core::About;

/// The `Build` of the proposed fair scheduler.
#[derive(Debug)]
pub struct Proposal;

impl Build for Proposal {
    const ABOUT: About = About {
        name: "haiku-fair",
        summary: "Panasyuk's fair scheduler for Haiku: each occupied level has half the weight of the one above.",
        source: "haiku-development, 13 November 2009; specs 7.7",
        needs: NEEDS,
    };
}

/// The fair scheduler proposed for Haiku.
pub type HaikuFair = Elections<Halving<Proposal>>;
