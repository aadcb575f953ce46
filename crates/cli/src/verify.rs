//! `goodness verify`: the fidelity of replays to their recordings.

use crate::failure::{Failure, exit};
use crate::input::InputOptions;
use crate::tables::Tables;
use crate::watching::watch;
use crate::{output, words};
use clap::Args;
use goodness::{Plan, shipped};
use goodness_report::model::{Details, Fidelity, FidelityMetric};
use goodness_report::{tables, verification};

/// Measure how closely a replay reproduces its recording.
///
/// The recording is replayed under the policy of the kernel that recorded it, a trace of block I/O under its elevator
/// (`--recorded-by`), and both are measured by the same code.
/// Metrics with a promised bound are marked if they miss it, or if the recording does not contain them.
#[derive(Args)]
#[command(after_help = "\
Examples:
  goodness verify                         all shipped recordings
  goodness verify my.ftrace.gz            your own
  goodness verify my.ftrace.gz --judge 1234   one process of it
  goodness verify my.txt --fact 'worker*.affinity=0-1'   what a foreign trace does not say
  goodness verify my.ftrace.gz --strict   for scripts: fail if a bound is missed

Exit codes: 0 verified, 2 bad input; with --strict 1 if a metric misses its bound, 3 if none does but one was not \
measured.")]
pub struct Verify {
    /// Recordings; all shipped ones by default.
    traces: Vec<String>,
    /// Print JSON: one `fidelity` object for each trace.
    #[arg(long)]
    json: bool,
    /// Fail if a metric misses its promised bound.
    #[arg(long)]
    strict: bool,
    /// Random seed.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    tables: Tables,
    #[command(flatten)]
    options: InputOptions,
}

impl Verify {
    /// Replays, compares and prints.
    ///
    /// # Errors
    /// Unusable traces; with `--strict`, a metric beyond its bound.
    pub fn run(&self) -> Result<u8, Failure> {
        let shipped: Vec<String> = shipped::RECORDINGS.iter().map(|r| r.name.to_string()).collect();
        let traces = if self.traces.is_empty() { &shipped } else { &self.traces };
        output::check_tables(traces, &self.tables)?;
        let mut results = Vec::new();
        for trace in traces {
            let (fidelity, details) = self.verify(trace)?;
            if !self.json {
                say!("{}", verification::text(trace, &fidelity, &details, output::columns()));
            }
            results.push((trace.clone(), fidelity));
        }
        let written = self.tables.write(|| std::iter::once(tables::fidelity(&results)))?;
        match self.json {
            true => output::say_json(&verification::Document::of(&results)),
            false => output::say_written(&written),
        }
        let some = |is: fn(&FidelityMetric) -> bool| results.iter().any(|(_, found)| found.metrics.iter().any(is));
        match self.strict {
            true if some(FidelityMetric::misses_promise) => {
                Err(Failure::other("a metric misses its promised bound; see docs/fidelity.md"))
            }
            // A verdict was asked for, and the recording does not give one.
            true if some(FidelityMetric::is_open) => Ok(exit::INCONCLUSIVE),
            _ => Ok(exit::OK),
        }
    }
}

impl Verify {
    /// Replays a recording under the policy that made it: a plan without contenders.
    fn verify(&self, trace: &str) -> Result<(Fidelity, Details), Failure> {
        let input = self.options.words(trace);
        let said = |refusal| words::failure(&refusal, &input);
        let watch = watch();
        let work = goodness::open_recording(trace, &self.options.read()?, &watch).map_err(said)?;
        let plan = Plan { seed: self.seed, ..Plan::of(&work, Vec::new()) };
        let runs = plan.run(&watch).map_err(said)?;
        Ok((runs.fidelity.expect("a recording's plan states its error"), work.details))
    }
}
