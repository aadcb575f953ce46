//! Hogs beside sleepers, as on a busy desktop or build server.

use super::parts::*;

pub const ABOUT: About = About {
    name: "mixed",
    summary: "Hogs beside sleepers, as on a busy desktop or build server.",
    source: "definition",
};

goodness_core::tunables! {
    pub struct Settings {
        /// Number of hogs.
        hogs: u64 = 3, in 0 => 100_000;
        /// Number of sleepers.
        sleepers: u64 = 8, in 0 => 100_000;
        /// CPU time of a sleeper's burst, ±10 %.
        run: Span = Span::from_ms(1), in Span::from_us(1) => Span::from_s(10);
        /// Sleep between bursts, ±10 %.
        sleep: Span = Span::from_ms(9), in Span::from_us(1) => Span::from_s(10);
        /// Duration of the run.
        duration: Span = Span::from_s(2), in Span::from_us(1) => Span::from_s(3600);
    }
}

pub fn plan(settings: &Settings) -> Plan {
    let mut plan = lasting(settings.duration);
    add(&mut plan, "hog", settings.hogs, &hog());
    let ops = vec![compute_about(settings.run), sleep_about(settings.sleep)];
    add(&mut plan, "sleeper", settings.sleepers, &forever(ops));
    plan
}
