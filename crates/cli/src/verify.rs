//! `goodness verify`: the fidelity of replays to their recordings.

use crate::failure::{Failure, exit};
use crate::input::InputOptions;
use crate::tables::Tables;
use crate::verbosity::Verbosity;
use crate::watching::watch;
use crate::{output, words};
use clap::Args;
use goodness::{Plan, shipped};
use goodness_report::model::{Details, Fidelity, FidelityMetric};
use goodness_report::{json, tables, verification};
use std::path::PathBuf;

/// Measure how closely a replay reproduces its recording.
///
/// The recording is replayed under the policy of the kernel that recorded it, a trace of block I/O under its elevator
/// (`--recorded-by`), and both are measured by the same code.
/// Metrics with a promised bound are marked if they miss it, or if the recording does not contain them.
#[derive(Args)]
#[command(after_help = "\
Examples:
  goodness verify                         all shipped recordings, a line each
  goodness verify my.ftrace.gz            your own, with the error of each metric
  goodness verify my.ftrace.gz -v         with the values that pass, repairs and gaps
  goodness verify my.ftrace.gz --html verify.html
  goodness verify my.ftrace.gz --judge 1234   one process of it
  goodness verify my.txt --fact 'worker*.affinity=0-1'   what a foreign trace does not say
  goodness verify my.ftrace.gz --strict   for scripts: fail if a bound is missed

Exit codes: 0 verified, 2 bad input; with --strict 1 if a metric misses its bound, 3 if none does but one was not \
measured.")]
pub struct Verify {
    /// Recordings; all shipped ones by default.
    traces: Vec<String>,
    /// Write JSON, one `fidelity` object for each trace; without FILE, or with `-`, to standard output.
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-")]
    json: Option<PathBuf>,
    /// Write a self-contained page.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Fail if a metric misses its promised bound.
    #[arg(long)]
    strict: bool,
    /// Random seed.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    tables: Tables,
    #[command(flatten)]
    verbosity: Verbosity,
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
        self.verbosity.begin();
        output::check_tables(traces, &self.tables)?;
        let asked = [(&self.json, "--json"), (&self.html, "--html")];
        traces.iter().try_for_each(|trace| output::check(trace, &[&asked[..], &self.tables.asked()].concat()))?;
        let extent = self.verbosity.extent_of_each(traces.len());
        let (mut results, mut all_details) = (Vec::new(), Vec::new());
        for trace in traces {
            let (fidelity, details) = self.verify(trace)?;
            if !output::is_stdout(&self.json) {
                say!("{}", verification::text(trace, &fidelity, &details, extent, output::columns()).trim_end());
            }
            results.push((trace.clone(), fidelity));
            all_details.push(details);
        }
        self.deliver(&results, &all_details)?;
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
    /// Writes the files that were asked for, and tells their names.
    fn deliver(&self, results: &[(String, Fidelity)], details: &[Details]) -> Result<(), Failure> {
        let document = verification::Document::of(results);
        let mut written = self.tables.write(|| std::iter::once(tables::fidelity(results)))?;
        written.extend(output::write(output::file(&self.json), || json::text(&document))?);
        let page = || verification::page(results, details, &words::command_line());
        written.extend(output::write(self.html.as_deref(), page)?);
        match output::is_stdout(&self.json) {
            true => output::say_json(&document),
            false if self.verbosity.quiet => {}
            false => output::say_written(&written),
        }
        Ok(())
    }

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
