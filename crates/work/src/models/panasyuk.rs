//! The two loads of M. Panasyuk's scheduler comparison for Haiku (2009): threads that never sleep, by priority.

use super::parts::*;

pub const ABOUT: About = About {
    name: "panasyuk-2009",
    summary: "Threads that never sleep, with Haiku priorities: load a has six levels and 1000 threads, load b two and \
        4095.",
    source: "M. Panasyuk, haiku-development, 13 November 2009: work time 10 s, quantum 3 ms.",
};

goodness_core::choices! {
    /// One of the two loads.
    pub enum Load { A = "a", B = "b" }
}

goodness_core::tunables! {
    pub struct Settings {
        /// Load of the table.
        load: Load = Load::A;
        /// Duration of the run.
        duration: Span = Span::from_ms(9_981), in Span::from_us(1) => Span::from_s(3600);
    }
}

/// Threads and their priority, the lowest first.
pub const fn levels(load: Load) -> &'static [(u64, u8)] {
    match load {
        Load::A => &[(2, 1), (15, 5), (479, 10), (6, 12), (478, 15), (20, 20)],
        Load::B => &[(2, 1), (4093, 99)],
    }
}

pub fn plan(settings: &Settings) -> Plan {
    let mut plan = lasting(settings.duration);
    for (threads, priority) in levels(settings.load) {
        let first = plan.tasks.len();
        add(&mut plan, &format!("p{priority}"), *threads, &hog());
        plan.tasks[first..].iter_mut().for_each(|it| it.task.priority = Some(*priority));
    }
    plan
}
