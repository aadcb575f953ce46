//! An empty workload, to test the tool itself.

use super::parts::*;

pub const ABOUT: About = About {
    name: "null",
    summary: "Nothing at all: tests the tool itself.",
    source: "definition",
};

goodness_core::tunables! {
    pub struct Settings {
        /// Duration of the run, in which nothing happens.
        duration: Span = Span::from_s(1), in Span::from_us(1) => Span::from_s(3600);
    }
}

pub fn plan(settings: &Settings) -> Plan {
    lasting(settings.duration)
}
