//! `goodness shrink`: the smallest work that still shows a difference, a violation or a long wait.

use crate::failure::{Failure, exit};
use crate::input::span;
use crate::output;
use crate::stop;
use crate::verbosity::Quiet;
use crate::watching::watch;
use clap::Args;
use goodness::shrink::{Shrunk, Symptom, shrink};
use goodness::{Contender, PolicySpec};
use goodness_report::atomic;
use std::path::PathBuf;

/// Shrink an experiment to the smallest that still shows a difference, a violation or a long wait.
///
/// Removes tasks, steps and attributes, and shortens times, one by one, as long as the symptom stays. With two policies
/// the symptom is a decision in which they differ; with one and --wait a task that waits so long for a CPU; with one
/// alone a violation of a rule or an invariant.
#[derive(Args)]
#[command(after_help = "\
Examples:
  goodness shrink examples/02-nice.toml -p eevdf -p cfs -o small.toml     a difference
  goodness shrink examples/01-hogs-and-a-blinker.toml -p rr --wait 30ms   a task that waits
  goodness shrink big.toml -p mine                                        a violation

Exit codes: 0 shrunk, 1 failure, 2 bad input, or the work does not show it.")]
pub struct Shrinking {
    /// Experiment file.
    file: String,
    /// Policy with settings: eevdf:base_slice=3ms. Once, or twice for a difference.
    #[arg(short, long = "policy", value_name = "POLICY[:KEY=VAL,…]", required = true)]
    policy: Vec<String>,
    /// Keep a task that waits for a CPU for so long (30ms).
    #[arg(long, value_name = "TIME")]
    wait: Option<String>,
    /// Random seed.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Write the experiment here. Default: standard output.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    quiet: Quiet,
}

impl Shrinking {
    /// Shrinks and writes.
    ///
    /// # Errors
    /// A file that is no experiment or does not show the symptom, or that cannot be written.
    pub fn run(&self) -> Result<u8, Failure> {
        self.quiet.begin();
        output::check(&self.file, &[(&self.output, "--output")])?;
        let symptom = match (&self.policy[..], &self.wait) {
            ([_, _], None) => Symptom::Difference,
            ([_], None) => Symptom::Violation,
            ([_], Some(wait)) => Symptom::Wait(span("--wait", wait)?),
            _ => return Err(Failure::usage("name two policies for a difference, or one, perhaps with --wait")),
        };
        let parse = |text: &String| PolicySpec::parse(text).map(Contender::policy);
        let arms = self.policy.iter().map(parse).collect::<Result<Vec<_>, _>>()?;
        let text = std::fs::read_to_string(&self.file)
            .map_err(|why| Failure::usage(format!("{}: no experiment (.toml) can be read: {why}", self.file)))?;
        stop::heed()?;
        let Shrunk { text, shows, tried, is_smallest } =
            shrink((&self.file, &text), &arms, symptom, self.seed, &watch())?;
        let text = format!("# Smallest of {tried} works tried that shows: {shows}.\n{text}");
        match &self.output {
            Some(path) => {
                atomic::write(path, text.as_bytes()).map_err(Failure::other)?;
                say!("{tried} works tried; {shows}");
                output::say_written(&[path]);
            }
            None => say!("{}", text.trim_end()),
        }
        if is_smallest { Ok(exit::OK) } else { Err(Failure::other("stopped; a smaller work may show it, too")) }
    }
}
