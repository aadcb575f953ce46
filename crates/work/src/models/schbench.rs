//! schbench: workers are woken by a message thread, sleep briefly and compute.
//!
//! A worker posts to its message thread and sleeps; the message thread wakes it. The request then starts: a short sleep
//! (the simulated network) and the work. `request_latency` is the tool's request latency. The tool's wake-up latency is
//! in `wakeup_latency`, together with the wake-ups from the short sleep. With `rps`, the message threads instead queue
//! that many requests to their workers at the start of every second, in turn.
//!
//! Not modelled: the per-CPU lock a worker holds while it computes (the tool's `--no-locking`), the limit of 128 queued
//! requests, and that a worker of the tool takes all queued requests at one wake-up.

use super::parts::*;
use crate::script::Overrun;
use goodness_core::Channel;

pub const ABOUT: About = About {
    name: "schbench",
    summary: "Workers woken by message threads that sleep for a moment, compute, and ask to be woken again.",
    source: "schbench (C. Mason, 2016; version of 2023 and later): 1 message thread, 100 us of sleep, 5 matrix \
             products of 256 kB. Those take 5.6 ms on one core of an AMD EPYC (Zen 3, virtual; median of 101, a tenth \
             below 5.2, a tenth above 8.2). The tool has a worker for each CPU; 2 is our choice. What a post costs is \
             a guess.",
};

goodness_core::tunables! {
    pub struct Settings {
        /// Message threads.
        message_threads: u64 = 1, in 1 => 10_000;
        /// Workers of each message thread.
        workers: u64 = 2, in 1 => 10_000;
        /// Sleep at the beginning of a request; 0 for none.
        sleep: Span = Span::from_us(100), in Span::ZERO => Span::from_s(10);
        /// CPU time of a request, ±10 %.
        work: Span = Span::from_us(5_600), in Span::from_us(1) => Span::from_s(10);
        /// CPU time a message thread spends on one worker.
        post: Span = Span::from_us(1), in Span(1) => Span::from_s(1);
        /// Requests per second from each message thread; 0: workers request them.
        rps: u64 = 0, in 0 => 1_000_000;
        /// Duration of the run.
        duration: Span = Span::from_s(30), in Span::from_us(1) => Span::from_s(3600);
    }
}

pub fn plan(settings: &Settings) -> Plan {
    let mut plan = lasting(settings.duration);
    for _ in 0..settings.message_threads {
        match settings.rps {
            0 => closed(&mut plan, settings),
            _ => open(&mut plan, settings),
        }
    }
    plan.tasks.iter_mut().for_each(|task| task.task.address_space = Some(0));
    plan
}

/// A worker's request, after the instruction `before`.
fn worker(settings: &Settings, before: Op) -> Arc<Script> {
    let mut ops = vec![before, Op::Begin];
    if settings.sleep > Span::ZERO {
        ops.push(Op::Do(Step::Sleep(settings.sleep)));
    }
    ops.extend([compute_about(settings.work), Op::Served]);
    forever(ops)
}

/// Workers request, the message thread replies.
fn closed(plan: &mut Plan, settings: &Settings) {
    let posts = plan.mailbox();
    let answer = vec![Op::Receive(posts), Op::Do(Step::Compute(settings.post)), Op::Reply];
    add(plan, "message", 1, &forever(answer));
    add(plan, "worker", settings.workers, &worker(settings, Op::Ask(posts)));
}

/// The message thread: distributes requests to the workers in turn at the start of every second.
fn open(plan: &mut Plan, settings: &Settings) {
    let queues: Vec<Channel> = (0..settings.workers).map(|_| plan.channel(ChannelKind::Semaphore)).collect();
    let post = |queue: &Channel| [Op::Do(Step::Compute(settings.post)), Op::Do(Step::Wake(*queue))];
    let (rounds, rest) = (settings.rps / settings.workers, settings.rps % settings.workers);
    let mut script = Script { timers: 1, ..Script::default() };
    if rounds > 0 {
        script.ops.extend(queues.iter().flat_map(post));
        script.repeat_from(0, Some(rounds));
    }
    script.ops.extend(queues[..rest as usize].iter().flat_map(post));
    script.ops.push(Op::Timer { timer: 0, period: Span::from_s(1), overrun: Overrun::KeepsGrid });
    add(plan, "message", 1, &forever_script(script));
    for queue in queues {
        add(plan, "worker", 1, &worker(settings, Op::Do(Step::Wait(queue))));
    }
}
