//! `goodness teach`: a few jobs under several policies, as textbooks draw them.

use crate::failure::{Failure, exit};
use crate::output::{self, file, is_stdout};
use crate::watching::watch;
use crate::words::command_line;
use clap::Args;
use goodness::{Contender, PolicySpec, teach};
use goodness_core::Machine;
use goodness_report::json;
use goodness_report::teach::{page, text};
use std::io::IsTerminal;
use std::path::PathBuf;

/// Policies where none is named: those of a first lecture.
const POLICIES: [&str; 4] = ["fifo", "sjf", "srtf", "rr:timeslice=4ms"];

/// Draw the schedules of a few jobs under several policies, with the times of textbooks.
///
/// JOBS are NAME:ARRIVAL:BURST[:PRIORITY], separated by blanks. Times are in ms unless they have a unit. PRIORITY is
/// the nice value, 0 by default; less is more urgent. Switches cost nothing, and the tick is 1 ms. Waiting time is that
/// in the run queue, response time that from arrival to the first run, turnaround that from arrival to the end.
#[derive(Args)]
#[command(after_help = "\
Examples:
  goodness teach 'A:0:8 B:1:4 C:2:9'                            first come, shortest, round robin
  goodness teach 'A:0:8 B:1:4 C:2:9' -p srtf -p eevdf -v        each decision in words
  goodness teach 'A:0:8 B:1:4 C:2:9' --html lesson.html         a page that steps through them
  goodness teach 'P1:0:10:3 P2:0:1:1 P3:0:2:4' -p priority      priorities
  goodness teach 'A:0:5 B:0:5 C:0:5' -p fifo --cpus 2           two CPUs

Exit codes: 0 drawn, 1 failure, 2 bad input, 4 a checker was violated.")]
pub struct Teach {
    /// The jobs: 'A:0:8 B:1:4 C:2:9'.
    jobs: String,
    /// Policy with settings: rr:timeslice=4ms. May be repeated. Default: fifo, sjf, srtf and rr:timeslice=4ms.
    #[arg(short, long = "policy", value_name = "POLICY[:KEY=VAL,…]")]
    policy: Vec<String>,
    /// Number of CPUs.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=16))]
    cpus: u32,
    /// Print each decision in words.
    #[arg(short, long)]
    verbose: bool,
    /// Write the schedules as JSON (schema goodness.teach/1); without FILE, or with `-`, to standard output.
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-")]
    json: Option<PathBuf>,
    /// Write a self-contained page with a stepper.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

impl Teach {
    /// Runs and draws.
    ///
    /// # Errors
    /// Jobs or policies that are not valid, files that cannot be written.
    pub fn run(&self) -> Result<u8, Failure> {
        output::check("", &[(&self.json, "--json"), (&self.html, "--html")])?;
        let jobs = teach::jobs(&self.jobs)?;
        let named = self.policy.iter().map(String::as_str);
        let named: Vec<&str> = if self.policy.is_empty() { POLICIES.to_vec() } else { named.collect() };
        let parse = |text: &&str| PolicySpec::parse(text).map(Contender::policy);
        let policies = named.iter().map(parse).collect::<Result<_, _>>()?;
        let machine = Machine::flat(self.cpus, 1_000).map_err(Failure::usage)?;
        let lesson = teach::lesson(jobs, &machine, policies, &watch())?;
        let written = [
            output::write(file(&self.json), || json::text(&lesson))?,
            output::write(self.html.as_deref(), || page::render(&lesson, &command_line()))?,
        ];
        if is_stdout(&self.json) {
            output::say_json(&lesson);
            return Ok(exit::OK);
        }
        let colour = std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
        say!("{}", text::render(&lesson, output::columns(), colour, self.verbose).trim_end());
        output::say_written(&written.into_iter().flatten().collect::<Vec<_>>());
        Ok(exit::OK)
    }
}
