//! `goodness verify`: how faithfully a replay repeats its recording.

use crate::failure::{Failure, exit};
use crate::input::{InputOptions, Verified, verified};
use crate::output;
use crate::recorded::Recorded;
use clap::Args;
use goodness_report::figure;
use goodness_report::model::{Fidelity, FidelityMetric};
use serde_json::{Value, json};

/// How faithfully a replay repeats its recording, metric by metric.
///
/// The recording is replayed under the policy of the kernel that recorded it, and both are measured by the same code.
/// Metrics with a promised bound are marked when they miss it, and when the recording does not show them. Exit code with
/// --strict: 1 if one misses, 3 if none does but one was not measured.
#[derive(Args)]
pub struct Verify {
    /// Recordings; all shipped ones by default.
    traces: Vec<String>,
    /// Print JSON: one `fidelity` object for each trace.
    #[arg(long)]
    json: bool,
    /// Fail when a metric misses its promised bound.
    #[arg(long)]
    strict: bool,
    /// Where chance begins.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    options: InputOptions,
}

impl Verify {
    /// Replays, compares, prints.
    ///
    /// # Errors
    /// Traces that cannot be used; with `--strict`, a metric beyond its bound.
    pub fn run(&self) -> Result<u8, Failure> {
        let shipped: Vec<String> = crate::shipped::RECORDINGS.iter().map(|r| r.name.to_string()).collect();
        let traces = if self.traces.is_empty() { &shipped } else { &self.traces };
        let mut results = Vec::new();
        for trace in traces {
            let (recorded, Verified { fidelity, .. }) = verified(trace, &self.options, self.seed)?;
            if !self.json {
                print(trace, &fidelity, &recorded);
            }
            results.push((trace.clone(), fidelity));
        }
        if self.json {
            let object = |(trace, fidelity): &(String, Fidelity)| {
                let mut value = serde_json::to_value(fidelity).expect("plain values serialise");
                value["trace"] = Value::from(trace.as_str());
                value
            };
            let all: Vec<Value> = results.iter().map(object).collect();
            let text = serde_json::to_string_pretty(&json!({ "fidelity": all })).expect("plain values serialise");
            say!("{text}");
        }
        let some = |is: fn(&FidelityMetric) -> bool| results.iter().any(|(_, found)| found.metrics.iter().any(is));
        match self.strict {
            true if some(misses) => Err(Failure::other("a metric misses its promised bound; see docs/fidelity.md")),
            // A verdict was asked for, and the recording does not give one.
            true if some(is_open) => Ok(exit::INCONCLUSIVE),
            _ => Ok(exit::OK),
        }
    }
}

fn misses(metric: &FidelityMetric) -> bool {
    metric.keeps_promise() == Some(false)
}

/// Whether a bound is promised for what the recording does not show.
fn is_open(metric: &FidelityMetric) -> bool {
    metric.tolerance.is_some() && metric.keeps_promise().is_none()
}

fn print(trace: &str, fidelity: &Fidelity, recorded: &Recorded) {
    say!("{trace}, replayed under {}", fidelity.policy);
    for warning in &recorded.warnings {
        say!("  note: {warning}");
    }
    let mut table = output::table();
    table.set_header(["metric", "recorded", "replayed", "error", "bound", ""]);
    for metric in &fidelity.metrics {
        let mark = match (metric.tolerance, metric.keeps_promise()) {
            (None, _) => "",
            (_, None) => "not measured",
            (_, Some(true)) => "holds",
            (_, Some(false)) => "misses",
        };
        table.add_row([
            metric.name.clone(),
            figure::show(metric.recorded, &metric.unit),
            figure::show(metric.replayed, &metric.unit),
            figure::percent(metric.error),
            figure::percent(metric.tolerance),
            mark.into(),
        ]);
    }
    output::align_right(&mut table, 1..5);
    say!("{table}");
    let listed = recorded.repairs.iter().chain(&recorded.unknowns).filter(|c| c.count > 0);
    for counted in listed {
        say!("  {:>8}  {}", counted.count, counted.what);
    }
    say!("");
}
