//! Statistics of an elevated device, shown by `status` and at the end.

use super::host::Watch;
use super::probe::Probe;
use super::record::Record;
use goodness_observe::{Ending, Measured};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Quantiles of a latency, ns; `None` if nothing was measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Latency {
    /// Median.
    pub p50_ns: Option<f64>,
    /// 99th percentile.
    pub p99_ns: Option<f64>,
    /// Longest.
    pub max_ns: Option<f64>,
}

/// The work of one elevator before one device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Report {
    /// The device.
    pub device: String,
    /// The elevator as typed.
    pub elevator: String,
    /// Path of the backing.
    pub backing: String,
    /// Requests in the backing at a time.
    pub depth: u32,
    /// Time that was measured, in nanoseconds.
    pub measured_ns: u64,
    /// I/Os answered, without flushes.
    pub answered: u64,
    /// Requests that went to the backing, flushes not counted.
    pub requests: u64,
    /// I/Os merged into a waiting request.
    pub merges: u64,
    /// Flushes answered or in flight.
    pub flushes: u64,
    /// Writes that had to be durable before they were answered.
    pub durable_writes: u64,
    /// Sum of the distances in sectors from the end of each request to the start of the next.
    pub sectors_travelled: u64,
    /// The same for one request; `None` without any.
    pub seek_distance: Option<f64>,
    /// Latency from arrival to completion, reads and writes.
    pub latency: Latency,
    /// Read latency.
    pub read_latency: Latency,
    /// Write latency.
    pub write_latency: Latency,
    /// Time in the elevator and its layer per I/O, in nanoseconds.
    pub adapter_ns: Option<f64>,
    /// CPU time of the server per I/O, with system calls and copying.
    pub server_cpu_ns: Option<f64>,
    /// Single reads, from the backing itself and through the device.
    pub probe: Option<Probe>,
    /// Rules that were broken.
    pub violations: Vec<String>,
}

/// Resources used while measuring.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cost {
    /// Nanoseconds in elevator and layer.
    pub adapter_ns: u64,
    /// Nanoseconds of CPU time.
    pub cpu_ns: u64,
    /// Flushes.
    pub flushes: u64,
    /// Durable writes.
    pub durable: u64,
}

impl Report {
    /// Builds the report from metrics and costs.
    #[must_use]
    pub fn new(record: &Record, watch: Watch, cost: Cost, probe: Option<Probe>, ending: Ending) -> Report {
        let (from, to) = watch.window();
        let (measured, checked) = watch.finish(to, ending);
        let value = |name: &str| measured.get(name);
        let (answered, requests) = (value("iops").samples, value("seek_distance").samples);
        let each = |ns: u64| (answered > 0).then(|| ns as f64 / answered as f64);
        let distance = value("seek_distance").value;
        Report {
            device: format!("/dev/ublkb{}", record.device),
            elevator: record.elevator.clone(),
            backing: record.backing.display().to_string(),
            depth: record.depth,
            measured_ns: to.since(from).ns(),
            answered,
            requests,
            merges: value("merges").samples,
            flushes: cost.flushes,
            durable_writes: cost.durable,
            sectors_travelled: distance.map_or(0, |mean| (mean * requests as f64).round() as u64),
            seek_distance: distance,
            latency: latency(&measured, "io_latency"),
            read_latency: latency(&measured, "io_read_latency"),
            write_latency: latency(&measured, "io_write_latency"),
            adapter_ns: each(cost.adapter_ns),
            server_cpu_ns: each(cost.cpu_ns),
            probe,
            violations: checked.violations.iter().map(ToString::to_string).collect(),
        }
    }
}

fn latency(measured: &Measured, name: &str) -> Latency {
    let value = |part: &str| measured.get(&format!("{name}_{part}")).value;
    Latency { p50_ns: value("p50"), p99_ns: value("p99"), max_ns: value("max") }
}

/// Microseconds with one digit, or a placeholder if not measured.
fn us(ns: Option<f64>) -> String {
    ns.map_or_else(|| "not measured".into(), |ns| format!("{:.1} us", ns / 1e3))
}

impl fmt::Display for Latency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "p50 {}, p99 {}, max {}", us(self.p50_ns), us(self.p99_ns), us(self.max_ns))
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.measured_ns as f64 / 1e9;
        writeln!(f, "{}: {} before {}, {seconds:.1} s", self.device, self.elevator, self.backing)?;
        writeln!(f, "  answered        {} in {} requests, {} merges", self.answered, self.requests, self.merges)?;
        writeln!(f, "  made durable    {} flushes, {} durable writes", self.flushes, self.durable_writes)?;
        if let Some(each) = self.seek_distance {
            writeln!(f, "  distance        {} sectors, {each:.0} a request", self.sectors_travelled)?;
        }
        for (name, latency) in [("read latency", &self.read_latency), ("write latency", &self.write_latency)] {
            if latency.max_ns.is_some() {
                writeln!(f, "  {name:<15} {latency}")?;
            }
        }
        let (adapter, cpu) = (us(self.adapter_ns), us(self.server_cpu_ns));
        write!(f, "  own overhead    elevator and layer {adapter}, server's CPU time {cpu} for each answer")?;
        if let Some(probe) = &self.probe {
            let times = [probe.direct_ns, probe.through_ns, probe.added_ns()].map(|ns| us(Some(ns as f64)));
            let [direct, through, added] = times;
            write!(f, "\n                  a single read: backing {direct}, device {through}, so {added} more")?;
        }
        self.violations.iter().try_for_each(|violation| write!(f, "\n  VIOLATED        {violation}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::Host;
    use goodness_block::QueueOptions;
    use goodness_core::{DeviceFacts, Io, Submitter, Time};

    fn record() -> Record {
        let (elevator, backing) = ("noop".into(), "disk".into());
        let (identity, sectors, tags, depth) = ((0, 0), 8192, 4, 1);
        let (rotational, cpus, started) = (None, None, None);
        Record { device: 3, server: 1, started, elevator, backing, identity, sectors, tags, depth, rotational, cpus }
    }

    #[test]
    fn distances_latencies_and_merges_are_those_of_the_requests() {
        let facts = DeviceFacts {
            sectors: 8192,
            depth: 1,
            queues: 1,
            rotational: true,
            sectors_max: 1024,
            volatile_cache: true,
            age_limit: None,
        };
        let mut host = Host::new("noop", facts, &QueueOptions::default(), 4).unwrap();
        let read = |tag, sector| Io { tag, ..Io::read(Submitter(0), sector, 8) };
        host.arrive(Time(1000), &[read(0, 100), read(1, 1000), read(2, 1008)]);
        for at in [3000, 7000] {
            let mut started = Vec::new();
            host.hand_out(|transfer| started.push(transfer.request));
            assert_eq!(started.len(), 1);
            host.complete(started[0], Ok(()));
            host.advance(Time(at));
        }
        let watch = host.watch().lock().unwrap().clone();
        let cost = Cost { adapter_ns: 300, cpu_ns: 3000, flushes: 2, durable: 1 };
        let report = Report::new(&record(), watch, cost, None, Ending::Quiet);
        assert_eq!((report.answered, report.requests, report.merges), (3, 2, 1));
        assert_eq!(report.sectors_travelled, 100 + (1000 - 108));
        assert_eq!((report.adapter_ns, report.server_cpu_ns), (Some(100.0), Some(1000.0)));
        assert_eq!(report.read_latency.max_ns, Some(6000.0));
        assert_eq!((report.flushes, report.durable_writes), (2, 1));
        assert_eq!((report.write_latency.max_ns, report.violations.len()), (None, 0));
        let csv = goodness_table::csv::render(&report.values());
        assert!(csv.contains("disk,noop,,,,0,io_read_latency_max,ns,6000\n"), "{csv}");
        let text = report.to_string();
        assert!(text.contains("3 in 2 requests, 1 merges") && text.contains("992 sectors, 496 a request"), "{text}");
    }
}
