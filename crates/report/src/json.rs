//! A report as JSON, `goodness.report/1`: pretty-printed, fields in schema order, reproducible byte for byte.

use crate::model::{Report, SCHEMA};
use serde::Serialize;
use std::io::{self, Write};

/// A document as JSON text with a final newline.
///
/// # Panics
/// Never: documents contain nothing JSON lacks; numbers that are not finite become `null`.
#[must_use]
pub fn text(document: &impl Serialize) -> String {
    serde_json::to_string_pretty(document).expect("documents have string keys only") + "\n"
}

/// The report as JSON text with a final newline.
#[must_use]
pub fn render(report: &Report) -> String {
    text(report)
}

/// Writes the same text, in little memory.
///
/// # Errors
/// Those of `out`.
pub fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, report)?;
    out.write_all(b"\n")
}

/// Parses a report.
///
/// # Errors
/// Text that is not JSON, has another schema version, or lacks a field, as a sentence.
pub fn read(text: &str) -> Result<Report, String> {
    let value: serde_json::Value = serde_json::from_str(text).map_err(|e| format!("this is not JSON: {e}"))?;
    match value.get("schema").and_then(|s| s.as_str()) {
        Some(SCHEMA) => serde_json::from_value(value).map_err(|e| format!("this is not a {SCHEMA}: {e}")),
        Some(other) => Err(format!("the schema is \"{other}\"; this version of goodness reads \"{SCHEMA}\"")),
        None => Err(format!("there is no \"schema\" field; a report begins with \"schema\": \"{SCHEMA}\"")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{
        Better, Details, Distribution, Fidelity, FidelityMetric, MetricSummary, PolicyReport, Setting, TaskReport,
        Verdict, VsReference,
    };

    fn sample() -> Report {
        let metric = MetricSummary {
            name: "wakeup_latency_p99".into(),
            unit: "ns".into(),
            better: Better::Lower,
            value: Some(1.5e6),
            ci95: Some([1.4e6, 1.6e6]),
            samples: 1000,
            error_factor: Some(1.2),
            vs_reference: Some(VsReference { ratio: Some(0.8), ci95: None, verdict: Verdict::Better }),
        };
        let unmeasured = MetricSummary { name: "io_latency_p99".into(), unit: "ns".into(), ..Default::default() };
        Report {
            fidelity: Some(Fidelity {
                policy: "eevdf".into(),
                metrics: vec![FidelityMetric { name: "context_switches".into(), ..Default::default() }],
                lacks: Vec::new(),
            }),
            policies: vec![PolicyReport {
                name: "rr".into(),
                settings: vec![Setting { name: "timeslice".into(), value: "10ms".into() }],
                metrics: vec![metric, unmeasured],
                tasks: vec![TaskReport { name: "httpd".into(), id: 7, ..Default::default() }],
                ..PolicyReport::default()
            }],
            ..Report::default()
        }
    }

    /// The keys of every object at this indent, in order, without nested objects.
    fn keys(text: &str, indent: usize) -> Vec<&str> {
        let pad = " ".repeat(indent) + "\"";
        text.lines().filter_map(|l| l.strip_prefix(&pad)).map(|l| &l[..l.find('"').unwrap()]).collect()
    }

    #[test]
    fn fields_come_in_the_order_of_the_schema() {
        let text = render(&sample());
        assert_eq!(
            keys(&text, 2),
            [
                "schema",
                "goodness",
                "input",
                "machine",
                "seed",
                "runs_per_policy",
                "simulated_ns",
                "fidelity",
                "policies"
            ]
        );
        assert_eq!(
            keys(&text, 6)[1..],
            ["name", "settings", "is_reference", "metrics", "tasks", "decisions", "simulation_wall_ns", "violations"]
        );
    }

    #[test]
    fn a_label_stands_beside_the_name_and_only_where_there_is_one() {
        let mut report = sample();
        assert!(!render(&report).contains("\"label\""));
        report.policies[0].label = "rr:timeslice=10ms".into();
        let value: serde_json::Value = serde_json::from_str(&render(&report)).unwrap();
        let policy = &value["policies"][0];
        assert_eq!((&policy["name"], &policy["label"]), (&"rr".into(), &"rr:timeslice=10ms".into()));
        assert_eq!(read(&render(&report)).unwrap(), report);
    }

    #[test]
    fn what_was_not_measured_is_null_and_never_zero() {
        let value: serde_json::Value = serde_json::from_str(&render(&sample())).unwrap();
        let metric = &value["policies"][0]["metrics"]["io_latency_p99"];
        assert!(metric["value"].is_null() && metric["ci95"].is_null() && metric["vs_reference"].is_null());
        assert!(value["policies"][0]["tasks"][0]["wakeup_latency_p99_ns"].is_null());
        assert!(value["policies"][0]["decisions"].is_null());
    }

    #[test]
    fn a_number_that_is_not_finite_is_written_as_null() {
        let mut report = sample();
        report.policies[0].metrics[0].value = Some(f64::NAN);
        let value: serde_json::Value = serde_json::from_str(&render(&report)).unwrap();
        assert!(value["policies"][0]["metrics"]["wakeup_latency_p99"]["value"].is_null());
    }

    #[test]
    fn a_report_reads_back_as_it_was_written() {
        let mut report = sample();
        assert_eq!(read(&render(&report)).unwrap(), report);
        report.details = Details { command: Some("goodness compare".into()), ..Details::default() };
        report.policies[0].distributions.push(Distribution { quantiles: vec![[0.5, 1.0]], ..Default::default() });
        assert_eq!(read(&render(&report)).unwrap(), report);
    }

    #[test]
    fn another_schema_is_refused_by_name() {
        let other = render(&sample()).replace("report/1", "report/9");
        assert!(read(&other).unwrap_err().contains("goodness.report/9"));
        assert!(read("{}").unwrap_err().contains("no \"schema\""));
        assert!(read("{").unwrap_err().contains("not JSON"));
    }
}
