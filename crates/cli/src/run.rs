//! `goodness run`: one run of one policy, in detail.

use crate::compare::{check_names, circumstances};
use crate::failure::{Failure, exit};
use crate::input::InputOptions;
use crate::output::{self, Outputs};
use crate::watching::Watching;
use crate::words::{self, command_line};
use clap::Args;
use goodness::{Contender, Plan, PolicySpec, Progress, Timelines, Work, shipped};
use goodness_core::{CpuId, Span};
use goodness_report::Timeline;
use goodness_report::model::Details;
use goodness_report::timeline::Slice;

/// Slices that a detailed run keeps.
const TIMELINE_CAP: usize = 2_000_000;

/// Run one policy once, in detail: metrics, latency by task, and on request the history and a map of the schedule.
#[derive(Args)]
#[command(after_help = "\
Examples:
  goodness run mixed -p eevdf                                metrics and tasks of one run
  goodness run mixed -p o1 --timehist 20                     the first 20 slices
  goodness run mixed -p rr --map                             switches: a column per CPU, a letter per task
  goodness run mariadb-sysbench-16 --perfetto run.perfetto

Exit codes: 0 ran, 1 failure, 2 bad input, 4 a checker was violated.")]
pub struct Run {
    /// Input, as in `goodness compare`.
    input: Option<String>,
    /// Policy with settings: eevdf:base_slice=3ms. Default: eevdf, or the policy that made the recording.
    #[arg(short, long, value_name = "POLICY[:KEY=VAL,…]")]
    policy: Option<String>,
    /// Elevator of the disks with settings: bfq:low_latency=off. Default: mq-deadline.
    #[arg(long, value_name = "ELEVATOR[:KEY=VAL,…]")]
    elevator: Option<String>,
    /// Random seed.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Replication of a comparison to show, from 0.
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u32).range(..10_000))]
    replication: u32,
    /// Print the first N slices: time, CPU, task, wait and run time.
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "50")]
    timehist: Option<usize>,
    /// Print the first N switches as a map: one column per CPU, one letter per task.
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "50")]
    map: Option<usize>,
    /// Report the run time of the simulation, the only figure that differs from run to run.
    #[arg(long)]
    timing: bool,
    #[command(flatten)]
    options: InputOptions,
    #[command(flatten)]
    outputs: Outputs,
}

impl Run {
    /// Runs and prints.
    ///
    /// # Errors
    /// Bad input, files that cannot be written, faults and violations.
    pub fn run(&self) -> Result<u8, Failure> {
        let named = self.input.as_deref().unwrap_or(shipped::DEFAULT);
        self.outputs.check(named)?;
        check_names(&self.policy, &self.elevator)?;
        let input = self.options.words(named);
        let said = |refusal| words::failure(&refusal, &input);
        let watching = Watching::new();
        let watch = |progress: Progress| watching.tell(progress);
        let work = goodness::open(named, &self.options.read()?, &watch).map_err(said)?;
        let mut runs = self.plan(&work)?.run(&watch).map_err(said)?;
        let details = Details { command: Some(command_line()), ..work.details };
        let report = runs.report(circumstances(work.about, details, &|again| words::reproduce(&input, again)));
        let timelines = runs.take_timelines();
        self.outputs.deliver(&report, &timelines)?;
        let quiet = self.outputs.json.as_deref().is_some_and(|p| p.as_os_str() == "-");
        if let (Some(timeline), false) = (timelines.first(), quiet) {
            self.print_schedule(timeline, runs.arms[0].decisions);
        }
        match report.policies.iter().flat_map(|p| &p.violations).next() {
            Some(v) => Err(Failure::violated(format!("{}: {}", v.checker, v.message))),
            None => Ok(exit::OK),
        }
    }

    fn plan<'a>(&self, work: &'a Work) -> Result<Plan<'a>, Failure> {
        let named: Vec<String> = self.elevator.iter().cloned().collect();
        let policy = self.policy.as_deref().map_or_else(|| work.standard_policy(), PolicySpec::parse)?;
        let contender = Contender { policy, elevator: work.elevators(&named)?.into_iter().next() };
        Ok(Plan {
            seed: self.seed,
            runs: 1,
            first: self.replication,
            timelines: Timelines { slices: TIMELINE_CAP, with_queues: self.outputs.perfetto.is_some() },
            timing: self.timing,
            ..Plan::of(work, vec![contender])
        })
    }

    fn print_schedule(&self, timeline: &Timeline, decisions: u64) {
        let mut slices: Vec<&Slice> = timeline.slices.iter().collect();
        slices.sort_by_key(|s| (s.start, s.cpu));
        if let Some(count) = self.timehist {
            print_timehist(&slices, timeline, count);
        }
        if let Some(count) = self.map {
            print_map(&slices, timeline, count);
        }
        if self.timehist.is_none() && self.map.is_none() {
            say!("{} slices, {decisions} decisions; --timehist lists them, --map draws them", slices.len());
        }
    }
}

/// Like `perf sched timehist`: one line per slice.
fn print_timehist(slices: &[&Slice], timeline: &Timeline, count: usize) {
    let mut table = output::table();
    table.set_header(["time", "CPU", "task", "waited", "ran", "then"]);
    for slice in slices.iter().take(count) {
        let then = slice.off.map_or("still running", |off| match off {
            goodness_core::Off::Preempted => "preempted",
            goodness_core::Off::Yielded => "yielded",
            goodness_core::Off::Sleeping => "slept",
            goodness_core::Off::Uninterruptible => "waited (D)",
            goodness_core::Off::Exited => "ended",
        });
        table.add_row([
            Span(slice.start).to_string(),
            slice.cpu.0.to_string(),
            timeline.task_label(slice.task),
            Span(slice.waited).to_string(),
            Span(slice.end - slice.start).to_string(),
            then.to_string(),
        ]);
    }
    output::align_right(&mut table, [0, 1, 3, 4]);
    say!("\nhistory, first {} of {} slices\n{table}", count.min(slices.len()), slices.len());
}

/// Like `perf sched map`: one line per switch, one column per CPU; `.` is an idle CPU.
fn print_map(slices: &[&Slice], timeline: &Timeline, count: usize) {
    let mut letters: Vec<goodness_core::TaskId> = Vec::new();
    let mut columns = vec![String::from("."); timeline.cpus as usize];
    let mut ends: Vec<(u64, CpuId)> = Vec::new();
    say!("\nmap, first {} switches", count.min(slices.len()));
    for slice in slices.iter().take(count) {
        for (_, cpu) in ends.extract_if(.., |(end, _)| *end < slice.start) {
            columns[cpu.index()] = ".".into();
        }
        let new = !letters.contains(&slice.task);
        if new {
            letters.push(slice.task);
        }
        let place = letters.iter().position(|t| *t == slice.task).unwrap_or_default();
        columns[slice.cpu.index()] = letter(place);
        ends.retain(|(_, cpu)| *cpu != slice.cpu);
        ends.push((slice.end, slice.cpu));
        let row: Vec<String> = columns
            .iter()
            .enumerate()
            .map(|(cpu, who)| format!("{}{who:<3}", if cpu == slice.cpu.index() { '*' } else { ' ' }))
            .collect();
        let note =
            if new { format!("{} => {}", letter(place), timeline.task_label(slice.task)) } else { String::new() };
        say!("{}  {:>12}  {note}", row.concat(), Span(slice.start).to_string());
    }
}

/// `A` … `Z`, then `A1` and so on.
fn letter(place: usize) -> String {
    let letter = char::from(b'A' + (place % 26) as u8);
    if place < 26 { letter.to_string() } else { format!("{letter}{}", place / 26) }
}
