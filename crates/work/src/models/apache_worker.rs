//! Apache with a thread for each connection, handed out by a listener.

use super::parts::*;
use super::web::{Client, Front, Load, clients};

pub const ABOUT: About = About {
    name: "apache-worker",
    summary: "Apache worker: a listener thread of each process accepts and hands connections to threads; ab or others \
        ask.",
    source: "Apache 2.0's worker MPM: 25 threads a process, a listener that accepts only when one of them is idle; the \
             thread stays with the connection until the client has closed (general knowledge of the server). Times are \
             parameters without source.",
};

goodness_core::tunables! {
    pub struct Settings {
        /// Clients: ab on this machine, the same number of clients outside, or requests at random times.
        client: Client = Client::Ab;
        /// Connections open at a time.
        clients: u64 = 16, in 1 => 100_000;
        /// Server processes.
        processes: u64 = 2, in 1 => 10_000;
        /// Threads of a process, its listener not counted.
        threads: u64 = 25, in 1 => 10_000;
        /// Connections that may wait to be accepted. Further ones are dropped and retried after 3, 6, 12 … s (`ab`).
        backlog: u64 = 128, in 1 => 100_000;
        /// Requests in all.
        requests: u64 = 10_000, in 1 => 100_000_000;
        /// CPU time of the listener for a connection, ±10 %.
        accept: Span = Span::from_us(50), in Span::from_us(1) => Span::from_s(1);
        /// CPU time of the thread until the last byte, ±10 %.
        service: Span = Span::from_us(1000), in Span::from_us(1) => Span::from_s(10);
        /// CPU time after the last byte: log and close; ±10 %.
        close: Span = Span::from_us(100), in Span::ZERO => Span::from_s(1);
        /// CPU time ab takes to open a connection and send a request, ±10 %.
        connect: Span = Span::from_us(100), in Span::from_us(1) => Span::from_s(1);
        /// CPU time ab takes to read an answer and close, ±10 %.
        read: Span = Span::from_us(100), in Span::from_us(1) => Span::from_s(1);
        /// Mean time between requests at random times.
        arrivals: Span = Span::from_ms(2), in Span::from_us(1) => Span::from_s(100);
        /// Time at which the clients begin; the server has been idle until then.
        start: Span = Span::from_s(1), in Span::from_us(1) => Span::from_s(100);
        /// Longest duration of the run.
        duration: Span = Span::from_s(600), in Span::from_us(1) => Span::from_s(360_000);
    }
}

pub fn plan(settings: &Settings) -> Plan {
    planned(settings, Front::send_and_linger)
}

/// The server and its clients; `send` is how a thread sends the last byte.
pub fn planned(settings: &Settings, send: fn(Front) -> Op) -> Plan {
    let Settings { client, clients: open, requests, connect, read, arrivals, start, backlog, .. } = *settings;
    let Settings { processes, threads, accept, service, close, duration, .. } = *settings;
    let mut plan = lasting(duration);
    let deferred = true;
    let load = Load { client, clients: open, requests, connect, read, arrivals, start, backlog, deferred };
    let front = clients(&mut plan, &load);
    let send = send(front);
    serve(&mut plan, front, &Pool { processes, threads, accept, service, close, send });
    plan
}

/// Processes of a listener and its threads.
struct Pool {
    pub processes: u64,
    pub threads: u64,
    pub accept: Span,
    pub service: Span,
    pub close: Span,
    /// Instruction with which a thread sends the last byte.
    pub send: Op,
}

/// Adds the server: each process is one address space.
fn serve(plan: &mut Plan, front: Front, pool: &Pool) {
    for process in 0..pool.processes {
        let (queue, idle) = (plan.mailbox(), plan.channel(ChannelKind::Semaphore));
        let first = plan.tasks.len();
        let listener = vec![
            Op::Do(Step::Wait(idle)),
            Op::Receive(front.listen),
            compute_about(pool.accept),
            Op::Pass(queue),
        ];
        add(plan, &format!("httpd-{process}-listener"), 1, &forever(listener));
        let thread = vec![
            Op::Do(Step::Wake(idle)),
            Op::Receive(queue),
            compute_about(pool.service),
            pool.send.clone(),
            compute_about(pool.close),
        ];
        add(plan, &format!("httpd-{process}"), pool.threads, &forever(thread));
        plan.tasks[first..].iter_mut().for_each(|task| task.task.address_space = Some(first as u32));
    }
}
