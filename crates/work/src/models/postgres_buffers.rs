//! PostgreSQL backends that update rows and take their buffers from one list, under one spin lock.

use super::parts::*;
use goodness_core::LockId;

pub const ABOUT: About = About {
    name: "postgres-buffers",
    summary: "PostgreSQL backends in simple updates; each takes buffers from one list under one spin lock.",
    source: "pgbench simple-update of April 2026 (docs/specs/groups-locks.md section 4.3): 1024 clients of 96 threads, \
             98 565 transactions a second on 96 CPUs, so 974 us of CPU time each if the CPUs are busy. The lock of \
             StrategyGetBuffer is s_lock. That the clients share the machine, what a hold takes, how often it faults, \
             and how often a transaction enters the kernel besides are assumptions without source.",
};

goodness_core::tunables! {
    pub struct Settings {
        /// Backends, one for each client.
        backends: u64 = 1024, in 1 => 100_000;
        /// Threads of pgbench on the machine, which share the clients; 0: they are elsewhere, and answer at once.
        clients: u64 = 96, in 0 => 10_000;
        /// CPU time of a client's thread for a transaction, ±10 %.
        client: Span = Span::from_us(30), in Span(10) => Span::from_s(1);
        /// CPU time of a transaction in user mode outside the lock, ±10 %.
        user: Span = Span::from_us(870), in Span::from_us(1) => Span::from_s(1);
        /// Entries of the kernel in a transaction outside the lock: system calls and page faults.
        entries: u64 = 12, in 1 => 10_000;
        /// CPU time in the kernel of each of them, ±10 %.
        entry: Span = Span::from_us(6), in Span(10) => Span::from_s(1);
        /// Buffers taken in a transaction, evenly spread.
        buffers: u64 = 2, in 1 => 1_000;
        /// CPU time in user mode with the lock, half of it before the fault.
        held: Span = Span(100), in Span(2) => Span::from_s(1);
        /// CPU time of a page fault with the lock.
        fault: Span = Span(700), in Span(1) => Span::from_s(1);
        /// Holds in a thousand with a page fault.
        faults: u64 = 1_000, in 0 => 1_000;
        /// Wait for disk and network in a transaction, exponential with this mean.
        wait: Span = Span::from_ms(1), in Span::from_us(1) => Span::from_s(10);
        /// Duration of the run.
        duration: Span = Span::from_ms(500), in Span::from_us(1) => Span::from_s(3600);
    }
}

pub fn plan(settings: &Settings) -> Plan {
    let mut plan = lasting(settings.duration);
    let lock = plan.lock(LockKind::SLock);
    let transaction = transaction(settings, lock);
    let backend = |ask: Option<Op>| {
        let rest = [Op::SleepExponential(settings.wait), Op::Served].into_iter().chain(ask);
        forever(transaction.iter().cloned().chain(rest).collect())
    };
    match settings.clients {
        0 => add(&mut plan, "backend", settings.backends, &backend(None)),
        threads => {
            for thread in 0..threads.min(settings.backends) {
                let inbox = plan.mailbox();
                let ops = vec![Op::Receive(inbox), compute_about(settings.client), Op::Reply];
                add(&mut plan, "client", 1, &forever(ops));
                let own = (settings.backends - thread).div_ceil(threads);
                add(&mut plan, "backend", own, &backend(Some(Op::Ask(inbox))));
            }
        }
    }
    for (number, task) in plan.tasks.iter_mut().enumerate() {
        let kind = if task.name.starts_with("client") { "client" } else { "backend" };
        task.name = format!("{kind}-{number}");
    }
    plan.warmup = Span(settings.duration.0 / 5);
    plan
}

/// A transaction without its waits.
fn transaction(settings: &Settings, lock: LockId) -> Vec<Op> {
    let entries = settings.entries.max(settings.buffers);
    let mut script = Script { ops: vec![Op::Begin], ..Script::default() };
    for entry in 0..entries {
        let about = Span(settings.entry.0 / 10);
        script.ops.push(compute_about(Span(settings.user.0 / entries)));
        script.ops.push(Op::KernelBetween(settings.entry.saturating_sub(about), settings.entry + about));
        // As many of the entries as there are buffers are followed by one.
        if (entry + 1) * settings.buffers / entries > entry * settings.buffers / entries {
            take_buffer(&mut script, settings, lock);
        }
    }
    script.ops
}

fn take_buffer(script: &mut Script, settings: &Settings, lock: LockId) {
    let half = Step::Compute(Span(settings.held.0 / 2));
    script.ops.extend([Op::Do(Step::Lock(lock)), Op::Do(half.clone())]);
    let fault = script.ops.len();
    script.ops.push(Op::Chance { millionths: settings.faults as u32 * 1_000, or_to: 0 });
    script.ops.push(Op::Do(Step::Kernel(settings.fault)));
    branch_to_here(script, fault);
    script.ops.extend([Op::Do(half), Op::Do(Step::Unlock(lock))]);
}
