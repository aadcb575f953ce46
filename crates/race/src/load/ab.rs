//! ApacheBench: runs it and parses its output.
//!
//! Percentiles come from its percentage file, in microseconds; it prints the maximum in whole milliseconds only.

use super::Program;
use super::process::Process;
use crate::latency::extremes;
use crate::load_error::LoadError;
use crate::measure::{Better, Measure};
use crate::role::Role;
use crate::workspace::Workspace;
use std::fs;
use std::process::Command;
use std::time::Duration;

/// The program.
pub(super) const AB: Program = Program { name: "ab", package: "apache2-utils" };

/// Parameters of a run.
pub(super) struct Plan {
    pub(super) connections: u64,
    pub(super) requests: u64,
    pub(super) keep_alive: bool,
}

/// A tenth of the requests to warm up, then all.
pub(super) fn run(
    workspace: &Workspace,
    address: &str,
    plan: &Plan,
    timeout: Duration,
) -> Result<Vec<Measure>, LoadError> {
    let warm = (plan.requests / 10).max(plan.connections);
    start(workspace, address, plan, warm)?.finish(timeout)?;
    let printed = start(workspace, address, plan, plan.requests)?.finish(timeout)?;
    let table = workspace.folder().join("percentages.csv");
    let percentages = fs::read_to_string(&table);
    let percentages = percentages.map_err(|why| LoadError(format!("{}: {why}", table.display())))?;
    measures(&printed, &percentages)
}

fn start(workspace: &Workspace, address: &str, plan: &Plan, requests: u64) -> Result<Process, LoadError> {
    let mut command = Command::new(AB.find()?);
    command.args(["-q", "-d", "-s", "60", "-n"]).arg(requests.to_string());
    command.arg("-c").arg(plan.connections.to_string()).arg("-e").arg(workspace.folder().join("percentages.csv"));
    if plan.keep_alive {
        command.arg("-k");
    }
    Process::start(workspace, Role::Client, "ab", command.arg(address), None)
}

/// The figures of the article of 2005: time to finish, time per request, time per request across concurrent ones, and
/// the rest.
fn measures(printed: &str, percentages: &str) -> Result<Vec<Measure>, LoadError> {
    let time = |label: &str, unit: &str, ns: f64| figure(printed, label, unit).map(|figure| figure * ns);
    let mut all = Vec::new();
    let mut add = |name: &str, unit: &'static str, better: Better, value: f64| {
        all.push(Measure::new(name, unit, better, value));
    };
    add("time_to_finish", "ns", Better::Lower, time("Time taken for tests:", "seconds", 1e9)?);
    add("time_per_request", "ns", Better::Lower, time("Time per request:", "[ms] (mean)", 1e6)?);
    let across = time("Time per request:", "[ms] (mean, across all concurrent requests)", 1e6)?;
    add("time_per_request_across", "ns", Better::Lower, across);
    add("throughput", "1/s", Better::Higher, figure(printed, "Requests per second:", "[#/sec] (mean)")?);
    let failed = figure(printed, "Failed requests:", "")? + figure(printed, "Non-2xx responses:", "").unwrap_or(0.0);
    add("failed_requests", "1", Better::Lower, failed);
    let at = |percent: usize| percentile(percentages, percent).map(|ms| ms * 1e6);
    for (name, percent) in [("p50", 50), ("p95", 95), ("p99", 99)] {
        add(&format!("request_latency_{name}"), "ns", Better::Lower, at(percent)?);
    }
    // The largest is printed in whole ms, the percentiles to the µs.
    let largest = (largest(printed)? * 1e6).max(at(99)?);
    add("request_latency_max", "ns", Better::Lower, largest);
    all.extend(extremes("request_latency", at(0)?, at(95)?, largest));
    let done = figure(printed, "Complete requests:", "")?;
    if failed * 10.0 > done {
        return Err(LoadError(format!("ab had {done} requests done, and {failed} of them failed")));
    }
    Ok(all)
}

/// The number behind `label` in the line that ends with `unit`.
fn figure(printed: &str, label: &str, unit: &str) -> Result<f64, LoadError> {
    let behind = printed.lines().filter_map(|line| line.trim().strip_prefix(label));
    let number = behind.filter_map(|rest| rest.trim().strip_suffix(unit)).find_map(|text| text.trim().parse().ok());
    number
        .filter(|number: &f64| number.is_finite() && *number >= 0.0)
        .ok_or_else(|| LoadError(format!("ab printed no \"{label} NUMBER {unit}\"; is it ApacheBench 2.3?")))
}

/// Last column of the row `Total:`, in ms.
fn largest(printed: &str) -> Result<f64, LoadError> {
    let row = printed.lines().find_map(|line| line.strip_prefix("Total:"));
    let columns: Option<Vec<f64>> = row.and_then(|row| row.split_whitespace().map(|word| word.parse().ok()).collect());
    match columns.as_deref() {
        Some([_, _, _, _, largest]) if largest.is_finite() => Ok(*largest),
        _ => Err(LoadError("ab printed no row \"Total: MIN MEAN SD MEDIAN MAX\"; is it ApacheBench 2.3?".into())),
    }
}

/// Within how many ms `percent` of the requests were served.
fn percentile(percentages: &str, percent: usize) -> Result<f64, LoadError> {
    let row = percentages.lines().skip(1).filter_map(|line| line.split_once(','));
    let found = row.filter(|(at, _)| at.trim().parse() == Ok(percent)).find_map(|(_, ms)| ms.trim().parse().ok());
    found
        .filter(|ms: &f64| ms.is_finite() && *ms >= 0.0)
        .ok_or_else(|| LoadError(format!("ab's file of percentages has no row for {percent} %")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::value;

    /// Apache 2.4.71 (prefork), one page of 4 KiB: `ab -q -d -s 60 -n 2000 -c 8 -e FILE URL`, 2.3, two CPUs.
    const PRINTED: &str = include_str!("../../tests/recorded/ab.txt");
    const PERCENTAGES: &str = include_str!("../../tests/recorded/ab-percentages.csv");

    #[test]
    fn the_figures_of_a_run_are_read_in_nanoseconds() {
        let all = measures(PRINTED, PERCENTAGES).unwrap();
        assert_eq!(value(&all, "time_to_finish"), 490_000_000.0);
        assert_eq!(value(&all, "time_per_request"), 1_961_000.0);
        assert_eq!(value(&all, "time_per_request_across"), 245_000.0);
        assert_eq!(value(&all, "throughput"), 4078.70);
        assert_eq!(value(&all, "failed_requests"), 0.0);
        assert_eq!(value(&all, "request_latency_min"), 425_000.0);
        assert_eq!(value(&all, "request_latency_p95"), 4_816_000.0);
        assert_eq!(value(&all, "request_latency_max"), 7_000_000.0);
        assert_eq!(value(&all, "request_latency_max_minus_min"), 7_000_000.0 - 425_000.0);
        assert_eq!(value(&all, "request_latency_major_minus_min"), 4_816_000.0 - 425_000.0);
    }

    #[test]
    fn output_that_lacks_a_figure_is_refused_with_what_is_missing() {
        let without = |label: &str| -> String {
            PRINTED.lines().filter(|line| !line.starts_with(label)).collect::<Vec<_>>().join("\n")
        };
        for label in
            ["Time taken for tests:", "Time per request:", "Requests per second:", "Failed requests:", "Total:"]
        {
            let why = measures(&without(label), PERCENTAGES).unwrap_err().0;
            assert!(why.contains(label), "{why}");
        }
        assert!(measures(PRINTED, "").unwrap_err().0.contains("50 %"));
        assert!(measures(&PRINTED.replace("0.490", "nan"), PERCENTAGES).is_err());
        assert!(measures(&PRINTED.replace("0.490", "-1"), PERCENTAGES).is_err());
    }

    #[test]
    fn a_run_of_failures_is_no_result() {
        let failed = PRINTED.replace("Failed requests:        0", "Failed requests:        300");
        assert!(measures(&failed, PERCENTAGES).unwrap_err().0.contains("300 of them failed"));
    }
}
