//! Tasks in a ring, each waking the next.

use super::parts::*;

pub const ABOUT: About = About {
    name: "pipe-ring",
    summary: "Tasks in a ring, each waking the next.",
    source: "definition",
};

goodness_core::tunables! {
    pub struct Settings {
        /// Number of tasks in the ring.
        tasks: u64 = 8, in 2 => 100_000;
        /// Number of tokens that go round at a time.
        tokens: u64 = 1, in 1 => 100_000;
        /// CPU time a task spends on a token, ±10 %.
        run: Span = Span::from_us(20), in Span::from_us(1) => Span::from_s(10);
        /// Duration of the run.
        duration: Span = Span::from_s(1), in Span::from_us(1) => Span::from_s(3600);
    }
}

pub fn plan(settings: &Settings) -> Plan {
    let mut plan = lasting(settings.duration);
    let channels: Vec<_> = (0..settings.tasks).map(|_| plan.channel(ChannelKind::Semaphore)).collect();
    for (place, channel) in channels.iter().enumerate() {
        let next = channels[(place + 1) % channels.len()];
        let mut ops = Vec::new();
        // The holders of the first tokens begin by passing one on.
        if (place as u64) < settings.tokens {
            ops.extend([compute_about(settings.run), Op::Do(Step::Wake(next))]);
        }
        let body = ops.len();
        ops.extend([Op::Do(Step::Wait(*channel)), compute_about(settings.run), Op::Do(Step::Wake(next))]);
        let mut script = Script { ops, ..Script::default() };
        script.repeat_from(body, None);
        add(&mut plan, "link", 1, &Arc::new(script));
    }
    plan
}
