//! Apache with a process for each connection.

use super::parts::*;
use super::web::{Client, Load, clients};

pub const ABOUT: About = About {
    name: "apache-prefork",
    summary: "Apache prefork: a process serves a connection from accept to the client's close; ab or others ask.",
    source: "Apache 2.0's prefork MPM: idle processes wait in accept in turn, connections are not kept alive, the close \
             lingers until the client has closed (general knowledge of the server). Times are parameters without source.",
};

goodness_core::tunables! {
    pub struct Settings {
        /// Who asks: ab on this machine, as many askers outside, or requests at random times.
        client: Client = Client::Ab;
        /// Connections open at a time.
        clients: u64 = 16, in 1 => 100_000;
        /// Server processes.
        workers: u64 = 24, in 1 => 100_000;
        /// Requests in all.
        requests: u64 = 10_000, in 1 => 100_000_000;
        /// CPU time from accept to the last byte, give or take a tenth.
        service: Span = Span::from_us(1000), in Span::from_us(1) => Span::from_s(10);
        /// CPU time after the client has closed: log, close, accept; give or take a tenth.
        close: Span = Span::from_us(100), in Span::ZERO => Span::from_s(1);
        /// CPU time ab takes to open a connection and send a request, give or take a tenth.
        connect: Span = Span::from_us(100), in Span::from_us(1) => Span::from_s(1);
        /// CPU time ab takes to read an answer and close, give or take a tenth.
        read: Span = Span::from_us(100), in Span::from_us(1) => Span::from_s(1);
        /// Mean time between requests at random times.
        arrivals: Span = Span::from_ms(2), in Span::from_us(1) => Span::from_s(100);
        /// When the clients begin; the server has been idle until then.
        start: Span = Span::from_s(1), in Span::from_us(1) => Span::from_s(100);
        /// How long the run lasts at most.
        duration: Span = Span::from_s(600), in Span::from_us(1) => Span::from_s(360_000);
    }
}

pub fn plan(settings: &Settings) -> Plan {
    let mut plan = lasting(settings.duration);
    let Settings { client, clients: open, requests, connect, read, arrivals, start, .. } = *settings;
    let front = clients(&mut plan, &Load { client, clients: open, requests, connect, read, arrivals, start });
    let ops = vec![
        Op::Receive(front.listen),
        compute_about(settings.service),
        front.send_and_linger(),
        compute_about(settings.close),
    ];
    add(&mut plan, "httpd", settings.workers, &forever(ops));
    plan
}
