//! `goodness bench`: what a decision costs, and how it grows.

mod elevators;

use crate::failure::{Failure, exit};
use crate::output;
use crate::progress;
use clap::{Args, ValueEnum};
use goodness_bench::pattern::Pattern;
use goodness_bench::{Size, end_to_end, verbs};
use goodness_lab::PolicySpec;
use serde::Serialize;
use std::time::Duration;

/// What a decision costs for each policy, and how it grows with tasks and CPUs; with --elevator, what a request costs.
///
/// decision_ns is the cost of the policy's own verbs (a pick, the charge that ends the stint, a wake-up);
/// end_to_end_ns is the CPU time of the whole simulator per decision, metrics and checkers on; --work says on what.
/// With --elevator, decision_ns is that of the elevator's verbs (a request chosen, completed and replaced), and
/// end_to_end_ns is the CPU time of a random 4 KiB request through the block layer to a device that costs nothing.
#[derive(Args)]
pub struct Bench {
    /// Policies to time; all of them by default.
    #[arg(short, long = "policy", value_name = "POLICY[:KEY=VAL,…]")]
    policy: Vec<String>,
    /// Elevators to time instead, or "all". May be repeated.
    #[arg(long, value_name = "ELEVATOR[:KEY=VAL,…]", conflicts_with_all = ["policy", "tasks", "cpus", "work"])]
    elevator: Vec<String>,
    /// Numbers of requests that wait in an elevator.
    #[arg(long, value_delimiter = ',', default_values_t = [48, 1_000], requires = "elevator")]
    waiting: Vec<u32>,
    /// Numbers of tasks.
    #[arg(long, value_delimiter = ',', default_values_t = [10, 1_000, 100_000])]
    tasks: Vec<usize>,
    /// Numbers of CPUs.
    #[arg(long, value_delimiter = ',', default_values_t = [1])]
    cpus: Vec<usize>,
    /// Time spent on each row's verbs, in milliseconds.
    #[arg(long, default_value_t = 200)]
    budget: u64,
    /// Decisions, or requests, of the end-to-end run.
    #[arg(long, default_value_t = 300_000)]
    decisions: u64,
    /// Work of the end-to-end run.
    #[arg(long, value_enum, default_value_t = Work::Turns)]
    work: Work,
    /// Print JSON instead of a table.
    #[arg(long)]
    json: bool,
}

/// Work of the end-to-end run.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Work {
    /// Bursts of 10 us and yields: one event for each decision.
    Turns,
    /// Bursts of 10 us and sleeps: three events and a wake-up for each decision.
    Sleeps,
}

impl Work {
    fn pattern(self) -> Pattern {
        match self {
            Work::Turns => Pattern::Turns,
            Work::Sleeps => Pattern::Sleeps,
        }
    }
}

/// One row, as printed with `--json`.
#[derive(Serialize)]
struct Row {
    policy: String,
    tasks: usize,
    cpus: usize,
    decision_ns: f64,
    end_to_end_ns: Option<f64>,
    decisions_per_s: Option<f64>,
    effort: f64,
    /// Why there are no end-to-end figures, where there are none.
    #[serde(skip)]
    missing: Option<Missing>,
}

/// Why a row has no end-to-end figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Missing {
    /// The run would take minutes.
    TooLong,
    /// The run took no longer than its set-up alone.
    TooShort,
}

impl Missing {
    fn sentence(self) -> &'static str {
        match self {
            Missing::TooLong => "not run end to end, because it would take minutes; give --decisions a smaller number",
            Missing::TooShort => "the run took no longer than its set-up alone; give --decisions a larger number",
        }
    }
}

/// Nanoseconds per decision and decisions per second, as printed; nothing where the decisions cannot be told from the
/// set-up, whose time is taken off.
fn rates(end_to_end_ns: f64) -> Result<(f64, f64), Missing> {
    let ns = round(end_to_end_ns);
    if ns > 0.0 { Ok((ns, (1e9 / ns).round())) } else { Err(Missing::TooShort) }
}

impl Bench {
    /// Measures and prints.
    ///
    /// # Errors
    /// Unknown policies or tunables, sizes out of range, faults found on the way.
    pub fn run(&self) -> Result<u8, Failure> {
        self.check_budget()?;
        if !self.elevator.is_empty() {
            return elevators::run(self);
        }
        let sizes = self.sizes()?;
        let policies = self.policies()?;
        let bar = progress::bar((sizes.len() * policies.len()) as u64, "timing");
        let mut rows = Vec::new();
        for spec in &policies {
            for size in &sizes {
                rows.push(row(spec, *size, self)?);
                bar.inc(1);
            }
        }
        bar.finish_and_clear();
        if self.json {
            say!("{}", serde_json::to_string_pretty(&rows).expect("plain values serialise"));
        } else {
            print(&rows);
        }
        Ok(exit::OK)
    }

    fn check_budget(&self) -> Result<(), Failure> {
        if self.budget > 3_600_000 {
            return Err(Failure::usage(format!("--budget {} is outside 0 ..= 3600000 (an hour)", self.budget)));
        }
        Ok(())
    }

    /// Time for each row's verbs.
    fn time(&self) -> Duration {
        Duration::from_millis(self.budget.max(1))
    }

    fn sizes(&self) -> Result<Vec<Size>, Failure> {
        let mut sizes = Vec::new();
        for &cpus in &self.cpus {
            for &tasks in &self.tasks {
                if !(1..=10_000_000).contains(&tasks) {
                    return Err(Failure::usage(format!("--tasks {tasks} is outside 1 ..= 10000000")));
                }
                if !(1..=65_536).contains(&cpus) {
                    return Err(Failure::usage(format!("--cpus {cpus} is outside 1 ..= 65536")));
                }
                sizes.push(Size { tasks, cpus });
            }
        }
        Ok(sizes)
    }

    fn policies(&self) -> Result<Vec<PolicySpec>, Failure> {
        if self.policy.is_empty() {
            return goodness_cpu::ALL.iter().map(|about| crate::lab::policy(about.name)).collect();
        }
        self.policy.iter().map(|text| crate::lab::policy(text)).collect()
    }
}

fn row(policy: &PolicySpec, size: Size, bench: &Bench) -> Result<Row, Failure> {
    let budget = bench.time();
    let fail = |sentence: String| Failure::other(format!("{policy}: {sentence}"));
    let cost = verbs::cost(policy, size, budget).map_err(fail)?;
    // A policy that looks at every task on each decision would take hours end to end at these sizes.
    let feasible = cost.decision_ns * (bench.decisions as f64) < 20e9;
    let rates = match feasible {
        true => {
            rates(end_to_end::speed(policy, size, bench.decisions, bench.work.pattern()).map_err(fail)?.end_to_end_ns)
        }
        false => Err(Missing::TooLong),
    };
    Ok(Row {
        policy: policy.to_string(),
        tasks: size.tasks,
        cpus: size.cpus,
        decision_ns: round(cost.decision_ns),
        end_to_end_ns: rates.ok().map(|(ns, _)| ns),
        decisions_per_s: rates.ok().map(|(_, per_s)| per_s),
        effort: round(cost.effort),
        missing: rates.err(),
    })
}

fn round(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

fn print(rows: &[Row]) {
    let mut table = output::table();
    table.set_header(["policy", "tasks", "CPUs", "decision ns", "end to end ns", "decisions/s", "examined"]);
    for row in rows {
        let optional = |value: Option<f64>, digits: usize| value.map_or("-".into(), |v| format!("{v:.digits$}"));
        table.add_row([
            row.policy.clone(),
            row.tasks.to_string(),
            row.cpus.to_string(),
            format!("{:.1}", row.decision_ns),
            optional(row.end_to_end_ns, 1),
            optional(row.decisions_per_s, 0),
            format!("{:.1}", row.effort),
        ]);
    }
    output::align_right(&mut table, 1..7);
    say!("{table}");
    for why in [Missing::TooLong, Missing::TooShort] {
        if rows.iter().any(|row| row.missing == Some(why)) {
            say!("\n\"-\": {}.", why.sentence());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_as_short_as_its_set_up_has_no_speed() {
        assert_eq!(rates(0.0), Err(Missing::TooShort));
        assert_eq!(rates(0.04), Err(Missing::TooShort), "it would be printed as 0.0");
        assert_eq!(rates(62.53), Ok((62.5, 16_000_000.0)));
    }
}
