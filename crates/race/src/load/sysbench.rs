//! sysbench 1.0: runs it and parses its output.

use super::Program;
use super::process::Process;
use crate::latency::extremes;
use crate::load_error::LoadError;
use crate::measure::{Better, Measure};
use crate::role::Role;
use crate::workspace::Workspace;
use goodness_core::Span;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// The program.
pub(super) const SYSBENCH: Program = Program { name: "sysbench", package: "sysbench" };
/// Time limit for creating a table or finishing a given number of transactions.
const TIMEOUT: Duration = Duration::from_secs(1800);

/// The test and its tables.
#[derive(Clone, Debug)]
pub(super) struct Test {
    pub(super) script: &'static str,
    pub(super) tables: u64,
    pub(super) rows: u64,
    pub(super) threads: u64,
}

/// End condition of a run.
#[derive(Clone, Copy, Debug)]
pub(super) enum End {
    After(Span),
    Transactions(u64),
}

impl Test {
    fn command(&self, socket: &Path, what: &[String], verb: &str) -> Result<Command, LoadError> {
        let mut command = Command::new(SYSBENCH.find()?);
        command.arg(self.script).arg(format!("--mysql-socket={}", socket.display()));
        command.args(["--mysql-user=root", &format!("--mysql-db={}", super::mariadb_server::DATABASE)]);
        command.args([format!("--tables={}", self.tables), format!("--table-size={}", self.rows)]);
        command.args(what).arg(verb);
        Ok(command)
    }

    /// Creates the tables.
    pub(super) fn prepare(&self, workspace: &Workspace, socket: &Path) -> Result<(), LoadError> {
        let mut command = self.command(socket, &[], "prepare")?;
        Process::start(workspace, Role::Client, SYSBENCH.name, &mut command, None)?.finish(TIMEOUT).map(|_| ())
    }

    /// Runs sysbench until `end`. Returns its output.
    pub(super) fn run(&self, workspace: &Workspace, socket: &Path, end: End, seed: u64) -> Result<String, LoadError> {
        let mut what = vec![
            format!("--threads={}", self.threads),
            // It takes 31 bits, and 0 for the clock.
            format!("--rand-seed={}", (seed & 0x3fff_ffff) + 1),
            "--percentile=95".into(),
            "--histogram=on".into(),
        ];
        let timeout = match end {
            End::After(span) => {
                // Whole seconds are all it takes.
                let seconds = span.ns().div_ceil(1_000_000_000);
                what.extend(["--events=0".into(), format!("--time={seconds}")]);
                Duration::from_secs(seconds + 120)
            }
            End::Transactions(count) => {
                what.extend([format!("--events={count}"), "--time=0".into()]);
                TIMEOUT
            }
        };
        let mut command = self.command(socket, &what, "run")?;
        Process::start(workspace, Role::Client, SYSBENCH.name, &mut command, None)?.finish(timeout)
    }
}

/// Transactions per second, total time, mean time per transaction, and latencies.
pub(super) fn measures(printed: &str) -> Result<Vec<Measure>, LoadError> {
    let count = behind(printed, "total number of events:")?;
    let total = behind(printed, "total time:")?;
    if count < 1.0 || total <= 0.0 {
        return Err(LoadError("sysbench finished no transaction; give it more time".into()));
    }
    let histogram = histogram(printed)?;
    let ms = |label: &str| behind(printed, label).map(|ms| ms * 1e6);
    let (smallest, mean, largest) = (ms("min:")?, ms("avg:")?, ms("max:")?);
    let latency = |part: &str, ns: f64| Measure::new(&format!("request_latency_{part}"), "ns", Better::Lower, ns);
    let mut all = vec![
        Measure::new("throughput", "1/s", Better::Higher, count / total),
        Measure::new("time_to_finish", "ns", Better::Lower, total * 1e9),
        latency("mean", mean),
    ];
    for (part, share) in [("p50", 0.5), ("p95", 0.95), ("p99", 0.99), ("p999", 0.999)] {
        all.push(latency(part, quantile(&histogram, share)));
    }
    let major = quantile(&histogram, 0.95);
    all.push(latency("max", largest));
    all.extend(extremes("request_latency", smallest, major, largest));
    Ok(all)
}

/// The number behind `label`, with or without a unit.
fn behind(printed: &str, label: &str) -> Result<f64, LoadError> {
    let rests = printed.lines().filter_map(|line| line.trim().strip_prefix(label));
    let number = rests.filter_map(|rest| rest.trim().trim_end_matches('s').parse().ok()).next();
    number
        .filter(|number: &f64| number.is_finite() && *number >= 0.0)
        .ok_or_else(|| LoadError(format!("sysbench printed no \"{label} NUMBER\"; is it sysbench 1.0?")))
}

/// Latencies in ns and how many there were of each, ascending.
fn histogram(printed: &str) -> Result<Vec<(f64, u64)>, LoadError> {
    let rows = printed.lines().skip_while(|line| !line.starts_with("Latency histogram")).skip(2);
    let row = |line: &str| -> Option<(f64, u64)> {
        let (value, rest) = line.split_once('|')?;
        let value: f64 = value.trim().parse().ok()?;
        (value.is_finite() && value >= 0.0).then_some((value * 1e6, rest.split_whitespace().last()?.parse().ok()?))
    };
    let read: Vec<(f64, u64)> = rows.map_while(row).collect();
    if read.is_empty() {
        return Err(LoadError("sysbench printed no \"Latency histogram\"; is it sysbench 1.0?".into()));
    }
    Ok(read)
}

fn quantile(histogram: &[(f64, u64)], share: f64) -> f64 {
    let all: u64 = histogram.iter().map(|(_, count)| count).sum();
    let rank = ((all as f64 * share).ceil() as u64).max(1);
    let mut seen = 0;
    for (value, count) in histogram {
        seen += count;
        if seen >= rank {
            return *value;
        }
    }
    histogram.last().map_or(0.0, |(value, _)| *value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::value;

    /// MariaDB 10.11, a table of 10 000 rows: `sysbench oltp_read_write --threads=8 --time=3 --events=0 --percentile=95
    /// --histogram=on run`, 1.0.20, two CPUs; the rows of the histogram are made up so that ranks can be counted.
    const PRINTED: &str = include_str!("../../tests/recorded/sysbench.txt");

    #[test]
    fn the_figures_of_a_run_are_read_in_nanoseconds() {
        let all = measures(PRINTED).unwrap();
        assert_eq!(value(&all, "throughput"), 1896.0 / 3.0075);
        assert_eq!(value(&all, "time_to_finish"), 3.0075 * 1e9);
        assert_eq!(value(&all, "request_latency_mean"), 12.66 * 1e6);
        // Ranks 948, 1802, 1878 and 1895 of 1896, by the counts of the rows.
        assert_eq!(value(&all, "request_latency_p50"), 12.0 * 1e6);
        assert_eq!(value(&all, "request_latency_p95"), 20.0 * 1e6);
        assert_eq!(value(&all, "request_latency_p99"), 30.0 * 1e6);
        assert_eq!(value(&all, "request_latency_p999"), 48.335 * 1e6);
        assert!((value(&all, "request_latency_max_minus_min") - (48.30 - 1.31) * 1e6).abs() < 1.0);
        assert!((value(&all, "request_latency_major_minus_min") - (20.0 - 1.31) * 1e6).abs() < 1.0);
    }

    #[test]
    fn output_that_lacks_a_figure_is_refused_with_what_is_missing() {
        for label in ["total number of events:", "total time:", "min:", "avg:", "max:", "Latency histogram"] {
            let without: Vec<&str> = PRINTED.lines().filter(|line| !line.trim().starts_with(label)).collect();
            let why = measures(&without.join("\n")).unwrap_err().0;
            assert!(why.contains(label), "{why}");
        }
        assert!(measures("").is_err());
        let idle = PRINTED.replace("events:              1896", "events:              0");
        assert!(measures(&idle).unwrap_err().0.contains("no transaction"));
        assert!(measures(&PRINTED.replace("12.66", "inf")).is_err());
    }
}
