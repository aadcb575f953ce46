//! `goodness tune`: searches settings for one that is better than the default.

use crate::failure::{Failure, exit};
use crate::input::InputOptions;
use crate::tables::Tables;
use crate::verbosity::Quiet;
use crate::watching::watch;
use crate::words::{self, command_line};
use crate::{output, progress, stop};
use clap::Args;
use goodness::tune::{Effort, Guard, Objective, Space, Tuning};
use goodness::{Progress, RUNS_MAX, Refusal, Work};
use goodness_report::tune::{self, Answer, Tuning as Tuned};
use std::path::PathBuf;

/// Search for settings that are better than the default.
///
/// INPUT is what `goodness compare` takes; of several recordings of one load, the last is held out. Knobs are tunables
/// of the policy or the elevator (`goodness list policies NAME`, `goodness list elevators NAME`; eevdf:kernel or
/// kyber:kernel where both have one), and edits of tasks, groups and machine as in `compare --arm`.
/// Candidates race on the same seeds, and run no more once they are shown not to be the best. The finalists are scored
/// on seeds and recordings that the search did not see. To keep the default is a normal answer.
#[derive(Args)]
#[command(after_help = "\
Examples:
  goodness tune mixed --over base_slice=0.7ms..12ms         a built-in workload
  goodness tune mixed -p eevdf:base_slice=3ms --over base_slice --over run_to_parity
  goodness tune mixed --over 'hog-*.nice=0..10' --keep 'jain_index >= -0.02'
  goodness tune my.ftrace.gz --over base_slice=0.3ms..12ms --race confirm.toml
  goodness tune examples/11-readers-and-writers.fio --device sata-7200-4tb \\
    --elevator mq-deadline --over fifo_batch=1..64      an elevator
  goodness tune mon.ftrace.gz tue.ftrace.gz --over redis.nice=-10..10 \\
    --over web.cpu_weight=20..500 --minimise request_latency_p99

Exit codes: 0 tuned, 1 failure or stopped, 2 bad input, 3 undecided or untrusted (--decide).")]
pub struct Tune {
    /// Recording, experiment, rt-app file, or built-in workload; or several recordings of one load.
    #[arg(required = true)]
    input: Vec<String>,
    /// Policy to tune, with settings that stay: eevdf:base_slice=3ms. Default: the recording's, else eevdf.
    #[arg(short, long, value_name = "POLICY[:KEY=VAL,…]")]
    policy: Option<String>,
    /// Elevator to tune, with settings that stay: bfq:low_latency=off. Default: the recorded one, else mq-deadline.
    #[arg(long, value_name = "ELEVATOR[:KEY=VAL,…]")]
    elevator: Option<String>,
    /// Knob with its values: base_slice=0.3ms..12ms, redis.nice=-10..10, backup.class=normal|batch|idle, or a tunable
    /// alone for all of its range. May be repeated.
    #[arg(long, value_name = "KNOB=VALUES", required = true)]
    over: Vec<String>,
    /// Metric to lower (`goodness list metrics`). Default: what the input ranks by, request_latency_p99 of a recording
    /// with requests, io_latency_p99 of disks, else wakeup_latency_p99.
    #[arg(long, value_name = "METRIC", conflicts_with = "maximise")]
    minimise: Option<String>,
    /// Metric to raise.
    #[arg(long, value_name = "METRIC")]
    maximise: Option<String>,
    /// Reject settings that do not keep this; the change is from the default: 'throughput >= -1%', or as a difference
    /// 'jain_index >= -0.02'. May be repeated.
    #[arg(long, value_name = "CONDITION")]
    keep: Vec<String>,
    /// Held-out runs of each finalist.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(2..=i64::from(RUNS_MAX)))]
    runs: u32,
    /// A candidate's runs in the search, at most.
    #[arg(long, value_name = "RUNS", default_value_t = 18, value_parser = clap::value_parser!(u32).range(2..=1_000))]
    search_runs: u32,
    /// Candidates of the first round; each later round has half of that. Default: 4 for each knob, and 4.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    candidates: Option<u32>,
    /// Rounds of the search. Default: 2 for one knob, 3 for two, 4 for four.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=20))]
    rounds: Option<u32>,
    /// Random seed.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Exit with 3 if the answer is undecided or untrusted.
    #[arg(long)]
    decide: bool,
    /// Print every candidate.
    #[arg(short, long)]
    verbose: bool,
    /// Write the race that confirms the answer on this machine's kernel: goodness race FILE.
    #[arg(long, value_name = "FILE.toml")]
    race: Option<PathBuf>,
    /// Write the result as JSON (schema goodness.tune/1); without FILE, or with `-`, to standard output.
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-")]
    json: Option<PathBuf>,
    /// Write a self-contained page.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    #[command(flatten)]
    quiet: Quiet,
    #[command(flatten)]
    tables: Tables,
    #[command(flatten)]
    options: InputOptions,
}

impl Tune {
    /// Searches, scores and prints.
    ///
    /// # Errors
    /// Bad input, files that cannot be written, faults and violations.
    pub fn run(&self) -> Result<u8, Failure> {
        self.quiet.begin();
        self.tables.check()?;
        let files = [(&self.json, "--json"), (&self.html, "--html"), (&self.race, "--race")];
        let files = [&files[..], &self.tables.asked()].concat();
        self.input.iter().try_for_each(|input| output::check(input, &files))?;
        let objective = match (&self.minimise, &self.maximise) {
            (Some(metric), _) => Some(Objective::minimise(metric)?),
            (None, Some(metric)) => Some(Objective::maximise(metric)?),
            (None, None) => None,
        };
        let guards = self.keep.iter().map(|text| Guard::parse(text)).collect::<Result<_, _>>()?;
        let options = self.options.read()?;
        let said = |named: &str, refusal| words::failure(&refusal, &self.options.words(named));
        let open = |named: &String| goodness::open(named, &options, &watch()).map_err(|it| said(named, it));
        let works: Vec<Work> = self.input.iter().map(open).collect::<Result<_, _>>()?;
        let tuning = Tuning {
            inputs: self.input.iter().cloned().zip(&works).collect(),
            space: Space::of(
                &self.over,
                works[0].default_contender(self.policy.as_deref(), self.elevator.as_deref())?,
            )?,
            objective: objective.unwrap_or_else(|| Objective::usual(&works[0])),
            guards,
            seed: self.seed,
            effort: self.effort(),
        };
        stop::heed()?;
        let mut tuned = search(&tuning).map_err(|refusal| said(&self.input[0], refusal))?;
        tuned.goodness.commit = crate::COMMIT.map(str::to_string);
        self.deliver(&tuned)?;
        Ok(match tuned.answer {
            Answer::Stopped => exit::FAILURE,
            _ if self.decide && tuned.is_undecided() => exit::INCONCLUSIVE,
            _ => exit::OK,
        })
    }

    fn effort(&self) -> Effort {
        Effort {
            candidates: self.candidates.unwrap_or_default(),
            rounds: self.rounds.unwrap_or_default(),
            first: Effort::default().first.min(self.search_runs),
            most: self.search_runs,
            held_out: self.runs,
            ..Effort::default()
        }
    }

    /// Prints the result and writes the files.
    fn deliver(&self, tuned: &Tuned) -> Result<(), Failure> {
        let to_stdout = output::is_stdout(&self.json);
        match to_stdout {
            true => say!("{}", tuned.json().trim_end()),
            false => say!("{}", tune::text(tuned, output::columns(), self.verbose).trim_end()),
        }
        let race = tuned.race.as_ref().and_then(|it| it.file.as_ref());
        let mut written = vec![output::write(output::file(&self.json), || tuned.json())?];
        written.push(output::write(self.html.as_deref(), || tune::page(tuned, &command_line()))?);
        let confirms = self.race.as_deref().filter(|_| race.is_some());
        written.push(output::write(confirms, || race.cloned().unwrap_or_default())?);
        let mut written: Vec<_> = written.into_iter().flatten().collect();
        written.extend(self.tables.write(|| std::iter::once(tune::candidates(tuned)))?);
        if to_stdout {
            return Ok(());
        }
        let file = confirms.map(|file| words::quoted(&file.to_string_lossy()));
        if let Some(confirmation) = tuned.confirmation(file.as_deref(), output::columns()) {
            say!("{confirmation}");
        } else if self.race.is_some() {
            say!("No race written: nothing to confirm.");
        }
        output::say_written(&written);
        Ok(())
    }
}

/// Runs the tuning with a progress line; Ctrl-C ends it with the best so far.
fn search(tuning: &Tuning) -> Result<Tuned, Refusal> {
    let bar = progress::counter("tuning".into());
    let tuned = tuning.run(&|progress| {
        if let Progress::Raced { round, rounds, left, runs } = progress {
            bar.set_position(runs);
            bar.set_message(match round {
                0 => "measuring the error of the replay,".into(),
                _ if round > rounds => format!("scoring {left} on held-out runs,"),
                _ => format!("round {round} of {rounds}, {left} candidates left,"),
            });
        }
        stop::flow()
    });
    bar.finish_and_clear();
    tuned
}
