//! Tasks that compute without end.

use super::parts::*;

pub const ABOUT: About = About {
    name: "hogs",
    summary: "Tasks that compute without end.",
    source: "definition",
};

goodness_core::tunables! {
    pub struct Settings {
        /// Number of hogs.
        tasks: u64 = 4, in 1 => 1_000_000;
        /// Duration of the run.
        duration: Span = Span::from_s(2), in Span::from_us(1) => Span::from_s(3600);
    }
}

pub fn plan(settings: &Settings) -> Plan {
    let mut plan = lasting(settings.duration);
    add(&mut plan, "hog", settings.tasks, &hog());
    plan
}
