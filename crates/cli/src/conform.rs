//! `goodness conform`: compares the simulator with the running kernel.

use crate::failure::{Failure, exit};
use crate::tables::Tables;
use crate::verbosity::Quiet;
use crate::watching::watch;
use crate::words::{self, quoted};
use crate::{live, output, play};
use clap::Args;
use goodness::conform::{Loaded, Scenario, Told, running};
use goodness::play::Part;
use goodness::{OpenOptions, PolicySpec};
use goodness_play::PlayClass;
use goodness_sched_ext::Launcher;
use std::path::PathBuf;

/// Simulate a scenario, play it on the running kernel, and compare the two.
///
/// The same file is simulated and played by real threads. CPU shares, context switches and wake-up latencies are
/// compared task by task. Without -p, the running kernel's scheduler is compared with its model. With --live, a policy
/// is loaded into the kernel by `goodness live` and compared with itself in the simulator.
///
/// The simulated machine has the play's number of CPUs, the kernel's HZ and no costs, unless --machine gives them
/// (`goodness calibrate`). Under a loaded policy, a context switch costs the median decision latency.
#[derive(Args)]
#[command(after_help = "\
Examples:
  taskset -c 1 goodness conform examples/02-nice.toml -d 5s         this kernel's scheduler on CPU 1
  sudo goodness conform examples/02-nice.toml -p o1 --live          o1, simulated and in the kernel
  scripts/conformance                                               a table of scenarios, in guests

Use an idle machine: the simulator does not know its other load.
Exit codes: 0 all agrees within the bounds printed, 1 not all, 2 it cannot be played here (the error names the \
remedy).")]
pub struct Conform {
    /// An experiment (.toml), an rt-app file (.json), or a built-in workload.
    input: String,
    /// The policy to simulate, and with --live to load. By default the running kernel's own.
    #[arg(short, long, value_name = "POLICY[:KEY=VAL,…]")]
    policy: Option<String>,
    /// Play under `goodness live POLICY` instead of the kernel's own scheduler (root, sched_ext).
    #[arg(long, requires = "policy")]
    live: bool,
    /// Duration including warm-up. Default: the file's own.
    #[arg(short, long, value_name = "TIME")]
    duration: Option<String>,
    /// Simulated machine with costs: a file from `goodness calibrate`. CPUs and HZ are those of the play.
    #[arg(long)]
    machine: Option<String>,
    /// Number of simulations. They differ in tick phase, start order (within 100 µs) and initial CPUs, which are random
    /// in a play. The play is compared with their range.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=1000))]
    runs: u32,
    /// Random seed.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Write the results as JSON (schema goodness.conform/1); without FILE, or with `-`, to standard output.
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-")]
    json: Option<PathBuf>,
    #[command(flatten)]
    tables: Tables,
    #[command(flatten)]
    quiet: Quiet,
}

impl Conform {
    /// Plays, simulates, compares and prints.
    ///
    /// # Errors
    /// As `goodness play` and `goodness run`.
    pub fn run(&self) -> Result<u8, Failure> {
        self.quiet.begin();
        output::check_with(std::slice::from_ref(&self.input), &self.tables, &[(&self.json, "--json")])?;
        let duration = self.duration.as_deref().map(play::length).transpose()?;
        let watch = watch();
        let work = goodness::open(&self.input, &OpenOptions::default(), &watch)?;
        let policy = self.policy.as_deref().map_or_else(running, PolicySpec::parse)?;
        let (played, decisions) = if self.live {
            let launcher = Launcher::of_this_program().map_err(live::failure)?;
            let loaded = Loaded { launcher, policy: &policy, work: &work, seed: self.seed, duration };
            loaded.play(&mut |status| live::begun(&policy, status, self.seed))?
        } else {
            (
                Part { seed: self.seed, duration, class: PlayClass::Inherited, cpus: None, edits: Vec::new() }
                    .play(&work)?,
                None,
            )
        };
        if let Some(signal) = played.interrupted_by {
            return Err(Failure::other(format!("the play was ended by signal {signal}; nothing was compared")));
        }
        let scenario = Scenario {
            work: &work,
            policy: policy.clone(),
            duration,
            costs_of: self.machine.clone(),
            seed: self.seed,
            runs: self.runs,
        };
        let said = |refusal| words::failure(&refusal, &quoted(&self.input));
        let found = scenario.against(played, decisions, &watch).map_err(said)?;
        let told = Told {
            input: &self.input,
            policy: &policy,
            is_live: self.live,
            seed: self.seed,
            runs: self.runs,
            found: &found,
        };
        let document = told.document();
        let shown = |width| told.text(width).trim_end().to_string();
        output::deliver((&self.json, &self.tables), &document, shown, || told.table())?;
        Ok(if found.agreement.holds() { exit::OK } else { exit::FAILURE })
    }
}
