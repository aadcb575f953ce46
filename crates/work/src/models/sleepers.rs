//! Tasks that compute briefly and sleep.

use super::parts::*;

pub const ABOUT: About = About {
    name: "sleepers",
    summary: "Tasks that compute briefly and sleep.",
    source: "definition",
};

goodness_core::tunables! {
    pub struct Settings {
        /// Number of sleepers.
        tasks: u64 = 20, in 1 => 1_000_000;
        /// CPU time of a burst, ±10 %.
        run: Span = Span::from_us(500), in Span::from_us(1) => Span::from_s(10);
        /// Sleep between bursts, ±10 %.
        sleep: Span = Span::from_ms(20), in Span::from_us(1) => Span::from_s(10);
        /// Duration of the run.
        duration: Span = Span::from_s(2), in Span::from_us(1) => Span::from_s(3600);
    }
}

pub fn plan(settings: &Settings) -> Plan {
    let mut plan = lasting(settings.duration);
    let ops = vec![compute_about(settings.run), sleep_about(settings.sleep)];
    add(&mut plan, "sleeper", settings.tasks, &forever(ops));
    plan
}
