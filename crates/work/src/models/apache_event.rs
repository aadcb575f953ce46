//! Apache with a thread per request, without lingering close.

use super::apache_worker::planned;
use super::parts::*;
use super::web::Front;

pub const ABOUT: About = About {
    name: "apache-event",
    summary: "Apache event: as worker, but a thread is free again at the last byte; ab or others ask.",
    source: "Apache 2.2's event MPM: the listener, not the thread, waits for what clients do next (general knowledge \
             of the server). Closing is charged to the thread that sent the answer. Times are parameters without \
             source.",
};

/// The settings of `apache-worker`: the models differ only in which thread waits for clients to close.
pub use super::apache_worker::Settings;

pub fn plan(settings: &Settings) -> Plan {
    planned(settings, Front::send)
}
