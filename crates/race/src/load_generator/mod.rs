//! A load generator for web servers: closed or open loop, one non-blocking thread, with `CLOCK_MONOTONIC` in ns.
//!
//! *Closed loop*: each connection sends a request, waits for the reply, thinks, and repeats; a slow server gets fewer
//! requests. *Open loop*: requests arrive at a given rate, whatever the server does, with exponentially distributed
//! gaps. A request that finds all connections busy waits for one, and its latency counts from its *arrival*, not from
//! when it was sent. Otherwise a stalled server would hide all but one request of the stall (coordinated omission).
//!
//! The client's own influence is measured, too: how late it noticed due requests (`client_delay_p99`), and its share of
//! one CPU (`client_cpu_share`). `tests/load_generator_alone.rs` tests it against a server that replies from memory.

mod connection;
mod driver;
mod http;
mod tally;

use crate::load_error::LoadError;
use crate::measure::Measure;
use goodness_core::{Span, choices, tunables};
use std::net::SocketAddrV4;

choices! {
    /// Arrival of requests: closed or open loop.
    pub enum Pattern { Closed = "closed", Open = "open" }
}

tunables! {
    /// Settings of the load generator.
    pub struct Settings {
        /// Port of the server on 127.0.0.1.
        port: u64 = 80, in 1 => 65_535;
        /// Closed loop (a connection's next request follows the reply) or open loop (requests arrive at a rate).
        pattern: Pattern = Pattern::Closed;
        /// Connections at most.
        connections: u64 = 8, in 1 => 1024;
        /// Mean time between a reply and the next request of the connection, exponentially distributed; closed loop.
        think: Span = Span::ZERO, in Span::ZERO => Span::from_s(60);
        /// Requests that arrive per second; open loop.
        rate: u64 = 1000, in 1 => 1_000_000;
        /// Send many requests over one connection (keep-alive).
        keep_alive: bool = false;
        /// Time before anything is counted.
        warmup: Span = Span::from_s(1), in Span::ZERO => Span::from_s(600);
        /// Time that is counted.
        duration: Span = Span::from_s(5), in Span::from_ms(10) => Span::from_s(600);
        /// Seed of thinking times and arrivals.
        seed: u64 = 1;
    }
}

/// Path of the page our servers serve.
pub(crate) const PATH: &str = "/page";

/// Drives the server and measures it.
///
/// # Errors
/// A server that never replies, or fails in more than one request of ten.
pub fn run(settings: &Settings) -> Result<Vec<Measure>, LoadError> {
    let port = u16::try_from(settings.port).map_err(|_| LoadError(format!("{} is no port", settings.port)))?;
    let address = SocketAddrV4::new(std::net::Ipv4Addr::LOCALHOST, port);
    let failed = |why: rustix::io::Errno| LoadError(format!("the client could not wait for events: {why}"));
    let tally = driver::Driver::new(settings, address).map_err(failed)?.run().map_err(failed)?;
    tally.measures(&format!("http://{address}{PATH}"))
}
