//! Measures: the figures of one run.

/// The better direction of a measure.
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
    /// Standard name without unit: `throughput`, `request_latency_p99`.
    pub name: String,
    /// Its unit: `1/s`, `ns`.
    pub unit: &'static str,
    /// Direction of improvement.
    pub better: Better,
    /// The figure.
    pub value: f64,
}

impl Measure {
    /// A figure called `name`.
    #[must_use]
    pub fn new(name: &str, unit: &'static str, better: Better, value: f64) -> Measure {
        Measure { name: name.into(), unit, better, value }
    }
}

/// The value of the figure called `name`, for tests.
///
/// # Panics
/// No figure is called so.
#[must_use]
pub fn value(all: &[Measure], name: &str) -> f64 {
    all.iter().find(|measure| measure.name == name).unwrap_or_else(|| panic!("no {name}")).value
}
