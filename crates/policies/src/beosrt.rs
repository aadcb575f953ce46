//! BeOSrt6, the add-on that M. Panasyuk measured beside his own proposal in 2009.
//!
//! Source: specs 7.8. Its shares and overhead in the table of 13 November 2009 fit the model of `haiku-fair`, and no
//! difference is known, so it uses the same code. Election, deviations and weakness: `parts/halving.rs`.

use crate::parts::be_elections::{Elections, NEEDS};
use crate::parts::halving::{Build, Halving};
use goodness_core::About;

/// The add-on.
#[derive(Debug)]
pub struct AddOn;

impl Build for AddOn {
    const ABOUT: About = About {
        name: "beosrt",
        summary: "The add-on BeOSrt6 of 2009, by its figures a build of haiku-fair.",
        source: "haiku-development, 13 November 2009; specs 7.8",
        needs: NEEDS,
    };
}

/// BeOSrt6.
pub type BeOsRt = Elections<Halving<AddOn>>;
