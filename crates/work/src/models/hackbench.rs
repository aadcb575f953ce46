//! hackbench: groups of senders and receivers exchange small messages through pipes or sockets.
//!
//! A parent creates all tasks, which start together once ready. Every sender writes `loops` messages to every receiver
//! of its group, and every receiver reads its messages. A full pipe or socket blocks its writers, an empty one its
//! reader. The parent reports one request, from the start to the last end: the time hackbench prints, shown as
//! `request_latency_max`.
//!
//! Not modelled: a full pipe unblocks writers only when a whole page is free (here each message read makes room for
//! one), and the cost of creating tasks.

use super::parts::*;
use goodness_core::BehaviourId;

pub const ABOUT: About = About {
    name: "hackbench",
    summary: "Groups of senders and receivers that pass small messages through pipes or sockets, until all have \
        passed.",
    source: "hackbench (R. Russell, 2001; now in rt-tests and perf): 10 groups of 20 senders and 20 receivers, 100 \
             loops, 100 bytes, sockets, processes. CPU time and capacity of pipes and sockets were measured on Linux \
             6.18 (AMD EPYC, Zen 3, virtual): medians of 301 times 200 messages; 640 and 278 messages of 100 bytes \
             fit.",
};

goodness_core::choices! {
    /// Transport of the messages.
    pub enum Transport { Socket = "socket", Pipe = "pipe" }
}

goodness_core::choices! {
    /// Kind of context: processes with an address space each, or threads sharing one.
    pub enum Contexts { Processes = "processes", Threads = "threads" }
}

goodness_core::tunables! {
    pub struct Settings {
        /// Groups of senders and receivers.
        groups: u64 = 10, in 1 => 1_000;
        /// Senders of a group, and as many receivers.
        fds: u64 = 20, in 1 => 500;
        /// Messages a sender writes to each receiver.
        loops: u64 = 100, in 1 => 1_000_000;
        /// Pipes or sockets.
        transport: Transport = Transport::Socket;
        /// Processes or threads.
        contexts: Contexts = Contexts::Processes;
        /// CPU time to write a message, ±10 %; auto: 350 ns into a pipe, 1150 ns into a socket.
        send: Option<Span> = None, in Span(1) => Span::from_s(1);
        /// CPU time to read a message, ±10 %; auto: 345 ns from a pipe, 1160 ns from a socket.
        receive: Option<Span> = None, in Span(1) => Span::from_s(1);
        /// Capacity of a pipe or socket in messages; auto: 640 for a pipe, 278 for a socket.
        capacity: Option<u64> = None, in 1 => 90_000;
        /// Longest duration of the run.
        duration: Span = Span::from_s(600), in Span::from_us(1) => Span::from_s(86_400);
    }
}

/// State that all groups share.
struct Stage {
    /// Barrier for the common start.
    start: goodness_core::Channel,
    /// Counts finished tasks.
    done: goodness_core::Channel,
    send: Op,
    receive: Op,
    capacity: u64,
}

pub fn plan(settings: &Settings) -> Plan {
    let mut plan = lasting(settings.duration);
    let (send, receive, capacity) = match settings.transport {
        Transport::Pipe => (Span(350), Span(345), 640),
        Transport::Socket => (Span(1150), Span(1160), 278),
    };
    let members = 2 * settings.fds * settings.groups;
    let stage = Stage {
        start: plan.channel(ChannelKind::Barrier(members as u32 + 1)),
        done: plan.channel(ChannelKind::Semaphore),
        send: compute_about(settings.send.unwrap_or(send)),
        receive: compute_about(settings.receive.unwrap_or(receive)),
        capacity: settings.capacity.unwrap_or(capacity),
    };
    add(&mut plan, "parent", 1, &parent(&stage, members));
    for number in 0..settings.groups {
        let first = plan.tasks.len();
        group(&mut plan, settings, &stage);
        name(&mut plan.tasks[first..], number, settings.fds as usize);
    }
    plan.tasks[1..].iter_mut().for_each(|member| member.start = Start::Forked);
    if settings.contexts == Contexts::Threads {
        plan.tasks.iter_mut().for_each(|task| task.task.address_space = Some(0));
    }
    plan
}

/// Creates all tasks, starts them together and waits for them to end.
fn parent(stage: &Stage, members: u64) -> Arc<Script> {
    let mut script = Script::default();
    let counter = script.counter();
    script.ops.push(Op::ForkNext { counter, first: BehaviourId(1), count: members as u32 });
    script.repeat_from(0, Some(members));
    script.ops.extend([Op::Do(Step::Wait(stage.start)), Op::Begin]);
    let wait = script.ops.len();
    script.ops.push(Op::Do(Step::Wait(stage.done)));
    script.repeat_from(wait, Some(members));
    script.ops.push(Op::Served);
    Arc::new(script)
}

/// Names the members of a group `0-receiver-0` to `0-sender-19`: group, role, number.
fn name(members: &mut [TaskPlan], group: u64, fds: usize) {
    for (index, member) in members.iter_mut().enumerate() {
        let role = if index < fds { "receiver" } else { "sender" };
        member.name = format!("{group}-{role}-{}", index % fds);
    }
}

/// One group: its receivers, each with an empty pipe or socket, and its senders.
fn group(plan: &mut Plan, settings: &Settings, stage: &Stage) {
    let mut sender = Script { ops: vec![Op::Do(Step::Wait(stage.start))], ..Script::default() };
    for _ in 0..settings.fds {
        let (room, letters) = (plan.channel(ChannelKind::Semaphore), plan.channel(ChannelKind::Semaphore));
        let mut empty = Script { ops: vec![Op::Do(Step::Wake(room))], ..Script::default() };
        empty.repeat_from(0, Some(stage.capacity));
        add_outside(plan, "room", 1, &Arc::new(empty));
        let mut receiver = Script { ops: vec![Op::Do(Step::Wait(stage.start))], ..Script::default() };
        receiver.ops.extend([Op::Do(Step::Wait(letters)), stage.receive.clone(), Op::Do(Step::Wake(room))]);
        receiver.repeat_from(1, Some(settings.fds * settings.loops));
        receiver.ops.push(Op::Do(Step::Wake(stage.done)));
        add(plan, "receiver", 1, &Arc::new(receiver));
        // A write to a pipe or a socket wakes its reader with the hint that the writer may sleep soon.
        sender.ops.extend([Op::Do(Step::Wait(room)), stage.send.clone(), Op::Do(Step::WakeSync(letters))]);
    }
    sender.repeat_from(1, Some(settings.loops));
    sender.ops.push(Op::Do(Step::Wake(stage.done)));
    add(plan, "sender", settings.fds, &Arc::new(sender));
}
