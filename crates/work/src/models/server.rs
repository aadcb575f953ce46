//! Clients with think time, workers that serve them, and one lock shared by the workers.

use super::parts::*;

pub const ABOUT: About = About {
    name: "server",
    summary: "Clients that think and ask; workers that answer; one lock they share.",
    source: "definition",
};

goodness_core::tunables! {
    pub struct Settings {
        /// Number of clients.
        clients: u64 = 16, in 1 => 100_000;
        /// Number of workers.
        workers: u64 = 8, in 1 => 100_000;
        /// Think time of a client between a reply and the next request, ±10 %.
        think: Span = Span::from_ms(5), in Span::ZERO => Span::from_s(100);
        /// CPU time of a request, ±10 %.
        service: Span = Span::from_us(800), in Span::from_us(1) => Span::from_s(10);
        /// Part of the service done under the lock all workers share, as time.
        locked: Span = Span::from_us(50), in Span::ZERO => Span::from_s(1);
        /// Duration of the run.
        duration: Span = Span::from_s(2), in Span::from_us(1) => Span::from_s(3600);
    }
}

/// Clients run on the machine; any free worker takes the oldest request.
pub fn plan(settings: &Settings) -> Plan {
    let mut plan = lasting(settings.duration);
    let (lock, inbox) = (plan.lock(LockKind::Normal), plan.mailbox());
    let mut ops = vec![Op::Receive(inbox), compute_about(settings.service)];
    if settings.locked > Span::ZERO {
        ops.push(Op::Do(Step::Lock(lock)));
        ops.push(Op::Do(Step::Compute(settings.locked)));
        ops.push(Op::Do(Step::Unlock(lock)));
    }
    ops.push(Op::Answer);
    add(&mut plan, "worker", settings.workers, &forever(ops));
    let ops = vec![Op::Do(Step::Compute(Span::from_us(20))), Op::Ask(inbox), sleep_about(settings.think)];
    add(&mut plan, "client", settings.clients, &forever(ops));
    plan
}
