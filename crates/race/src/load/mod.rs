//! Loads: real servers with clients, and benchmarks, by name.

use crate::place::Place;
use goodness_core::Seed;

/// Whether more or less of a measure is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// Throughput, shares.
    Higher,
    /// Times, losses.
    Lower,
}

/// One figure of one run.
#[derive(Clone, Debug, PartialEq)]
pub struct Measure {
    /// The field's name, without unit: `throughput`, `request_latency_p99`.
    pub name: String,
    /// Its unit: `1/s`, `ns`.
    pub unit: &'static str,
    /// Which way is better.
    pub better: Better,
    /// The figure.
    pub value: f64,
}

/// Something real that can be run again and again on this machine.
pub trait Load {
    /// Makes what every run needs (data, configuration). Called once a race, before the first run.
    ///
    /// # Errors
    /// A program that is missing (named with its package), or what making the data reports.
    fn prepare(&mut self, place: &Place) -> Result<(), LoadError>;

    /// One run: starts the servers through `place`, waits until they answer, warms them up, drives and measures them,
    /// and stops them. Nothing of it runs afterwards, also when it fails.
    ///
    /// # Errors
    /// Servers that do not start or answer, clients that fail; each with what the program itself printed last.
    fn run(&mut self, place: &Place, seed: Seed) -> Result<Vec<Measure>, LoadError>;
}

/// Why a load could not be prepared or run.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct LoadError(pub String);
