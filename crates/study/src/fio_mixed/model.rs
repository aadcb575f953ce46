//! A device model with the service times measured under none, read from `service.toml`.

use super::jobs::Job;
use goodness_core::{DeviceFacts, Operation, Seed, Service, Span};
use goodness_device::recorded::Recorded;

/// The file; `crates/kernel/ublk/examples/fio_mixed` writes it.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    /// True if the device rotates.
    #[serde(default)]
    rotational: bool,
    /// Length of a window of the pace.
    #[serde(default)]
    window_ns: u64,
    /// Speeds of the windows, per mille; empty for a constant pace.
    #[serde(default)]
    speeds: Vec<u32>,
    kind: Vec<Kind>,
}

/// A kind of request with its measured times.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Kind {
    reads: bool,
    sectors: u32,
    /// The means of bins of equal count.
    ns: Vec<u64>,
}

/// The model of a device.
pub struct Model {
    file: File,
    /// True if the device rotates.
    pub rotational: bool,
    /// Factor on all times.
    pub factor: f64,
}

impl Model {
    /// Reads it; the factor is 1.
    pub fn read(text: &str) -> Result<Model, String> {
        let file: File = toml::from_str(text).map_err(|why| why.to_string())?;
        Ok(Model { rotational: file.rotational, factor: 1.0, file })
    }

    /// A device of this kind.
    pub fn device(&self, facts: DeviceFacts, seed: Seed) -> Result<Recorded, String> {
        let device = Recorded::new(facts, facts.depth, &self.services(), seed)?;
        if self.file.speeds.is_empty() {
            return Ok(device);
        }
        device.paced(Span(self.file.window_ns), self.file.speeds.clone())
    }

    /// Fits the factor so that `tags` requests in flight give `total` per second, with the jobs' shares of `mix`.
    pub fn fit(&mut self, tags: u32, total: f64, mix: &[(&Job, f64)]) {
        let speeds = &self.file.speeds;
        let sum: f64 = speeds.iter().map(|speed| f64::from(*speed)).sum();
        let speed = if speeds.is_empty() { 1.0 } else { sum / 1000.0 / speeds.len() as f64 };
        let work: f64 = mix.iter().map(|(job, share)| share * self.mean(job)).sum();
        self.factor = f64::from(tags) * speed * 1e9 / (total * work);
    }

    /// Mean time of a request of `job`; of the first kind, if its own was not measured.
    fn mean(&self, job: &Job) -> f64 {
        let own = |kind: &&Kind| (kind.reads, kind.sectors) == (job.reads, job.sectors);
        let kind = self.file.kind.iter().find(own).or(self.file.kind.first());
        kind.map_or(0.0, |kind| kind.ns.iter().map(|ns| *ns as f64).sum::<f64>() / kind.ns.len() as f64)
    }

    fn services(&self) -> Vec<Service> {
        let of = |kind: &Kind| {
            let op = if kind.reads { Operation::Read } else { Operation::Write };
            let sectors = kind.sectors;
            let span = |ns: &u64| Span((*ns as f64 * self.factor) as u64);
            kind.ns
                .iter()
                .map(|ns| Service { op, sectors, is_sequential: false, span: span(ns) })
                .collect::<Vec<Service>>()
        };
        self.file.kind.iter().flat_map(of).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fio_mixed::jobs::JOBS;

    const TEXT: &str = "window_ns = 1000\nspeeds = [500, 1500, 250]\n\
        [[kind]]\nreads = true\nsectors = 8\nns = [100, 300]\n[[kind]]\nreads = false\nsectors = 128\nns = [600]\n";

    #[test]
    fn four_busy_tags_give_the_total_with_the_shares_told_at_the_mean_speed() {
        let mut model = Model::read(TEXT).unwrap();
        // Three reads of 200 ns on average for a write of 600: 300 ns at three quarters of the speed.
        model.fit(4, 5e6, &[(&JOBS[0], 0.25), (&JOBS[1], 0.5), (&JOBS[2], 0.25)]);
        assert!((model.factor - 2.0).abs() < 1e-9, "{}", model.factor);
        let spans: Vec<u64> = model.services().iter().map(|service| service.span.0).collect();
        assert_eq!(spans, [200, 600, 1200]);
    }

    #[test]
    fn a_kind_that_was_not_seen_takes_as_long_as_the_first() {
        let model = Model::read(TEXT).unwrap();
        assert!((model.mean(&JOBS[3]) - 200.0).abs() < 1e-9);
    }
}
