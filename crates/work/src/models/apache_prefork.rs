//! Apache with a process for each connection.

use super::parts::*;
use super::web::{Client, Load, clients};
use goodness_core::BehaviourId;

pub const ABOUT: About = About {
    name: "apache-prefork",
    summary: "Apache prefork: a process serves a connection from accept to the client's close; ab or others ask.",
    source: "Apache 2.0's prefork MPM: idle processes wait in accept in turn, connections are not kept alive, the \
             close lingers until the client has closed. A process accepts a connection that is there and waits for its \
             request. StartServers 5; while fewer than MinSpareServers 5 are idle the parent starts 1, 2, 4 … 32 \
             processes a second. ab (support/ab.c) connects without waiting, sends when the connection can be written \
             to, reads, closes, opens the next one. Linux 2.6 cuts the backlog to net.core.somaxconn, 128, and takes \
             one more; with no room it ignores the last packet of a connection's beginning while fewer than two such \
             are young, whose data come again after 200 ms and twice as long each time, and drops the first packet of \
             others, which comes again after 3 s, 6 s and so on (tcp_ipv4.c, tcp_minisocks.c). Times are parameters \
             without source. Left out: what a fork costs; that idle processes beyond MaxSpareServers end during a \
             run.",
};

goodness_core::tunables! {
    pub struct Settings {
        /// Clients: ab on this machine, the same number of clients outside, or requests at random times.
        client: Client = Client::Ab;
        /// Connections open at a time.
        clients: u64 = 16, in 1 => 100_000;
        /// Server processes.
        workers: u64 = 24, in 1 => 100_000;
        /// Processes running when the clients start. The parent starts the others later: after a second one, then 2, 4
        /// … 32 per second.
        started: u64 = 5, in 1 => 100_000;
        /// Connections that may wait to be accepted, minus one. With `ab`, further ones are dropped and retried; see
        /// the source.
        backlog: u64 = 128, in 1 => 100_000;
        /// Requests in all.
        requests: u64 = 10_000, in 1 => 100_000_000;
        /// Wake a process when the request has arrived, not when the connection has, as Linux does for Apache since
        /// 2.2.
        deferred: bool = false;
        /// CPU time from accept until it waits for the request, ±10 %; none if the request has already arrived.
        accept: Span = Span::from_us(50), in Span::ZERO => Span::from_s(1);
        /// CPU time from the request to the last byte, ±10 %.
        service: Span = Span::from_us(1000), in Span::from_us(1) => Span::from_s(10);
        /// CPU time after the client has closed: log, close, accept; ±10 %.
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

/// Processes that the parent starts in a second at most.
const AT_ONCE_MAX: u32 = 32;

pub fn plan(settings: &Settings) -> Plan {
    let mut plan = lasting(settings.duration);
    let Settings { client, clients: open, requests, connect, read, arrivals, start, backlog, deferred, .. } = *settings;
    let load = Load { client, clients: open, requests, connect, read, arrivals, start, backlog, deferred };
    let front = clients(&mut plan, &load);
    let mut ops = vec![Op::Receive(front.listen)];
    if let Some(read) = front.read_request() {
        ops.extend([compute_about(settings.accept), read]);
    }
    ops.extend([compute_about(settings.service), front.send_and_linger(), compute_about(settings.close)]);
    let first = plan.tasks.len();
    add(&mut plan, "httpd", settings.workers, &forever(ops));
    start_up(&mut plan, first + settings.started.min(settings.workers) as usize, start);
    plan
}

/// Makes the parent start the tasks from `first` on. Once a second it finds too few idle processes while all
/// connections are in use, and starts 1, 2, 4 … 32 more.
fn start_up(plan: &mut Plan, first: usize, start: Span) {
    let late = &mut plan.tasks[first..];
    late.iter_mut().for_each(|process| process.start = Start::Forked);
    let count = late.len() as u32;
    if count == 0 {
        return;
    }
    let second = Span::from_s(1);
    let mut parent = Script { ops: vec![Op::SleepBetween(start, start + second)], ..Script::default() };
    let counter = parent.counter();
    let (mut left, mut at_once) = (count, 1);
    while left > 0 {
        for _ in 0..at_once.min(left) {
            parent.ops.push(Op::ForkNext { counter, first: BehaviourId(first as u32), count });
        }
        parent.ops.push(Op::Do(Step::Sleep(second)));
        left -= at_once.min(left);
        at_once = (at_once * 2).min(AT_ONCE_MAX);
    }
    add(plan, "httpd-parent", 1, &Arc::new(parent));
}
