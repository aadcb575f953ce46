//! A drawn simulation, simulated with all checkers on.

use super::draw::Drawn;
use goodness::{Contender, ElevatorSpec, Kind, Plan, PolicySpec, Progress, Refusal};
use goodness_observe::METRICS;
use goodness_work::experiment::Experiment;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};

/// Outcome of one simulation.
#[derive(Debug, PartialEq)]
pub enum Outcome {
    /// It kept all rules, with so many decisions.
    Kept(u64),
    /// The settings or the work are refused, in a sentence.
    Refused(String),
    /// It took too many events.
    Long,
    /// The mistake.
    Broken(String),
}

/// The policy and the elevator of a simulation.
pub fn contender(drawn: &Drawn) -> Result<Contender, Refusal> {
    let elevator = drawn.elevator.as_deref().map(ElevatorSpec::parse).transpose()?;
    Ok(Contender { elevator, ..Contender::policy(PolicySpec::parse(&drawn.policy)?) })
}

/// Number of decisions, and every metric's bits: a figure that is no number equals itself.
pub type Values = (u64, Vec<Option<u64>>);

/// Simulates it once, for so many progress messages of at most 1024 events each.
pub fn values(drawn: &Drawn, contender: &Contender, patience: u64) -> Result<Values, Outcome> {
    let experiment = Experiment::read("swarm.toml", &drawn.experiment).map_err(Outcome::Refused)?;
    let machine = experiment.machine().expect("each names one");
    let told = AtomicU64::new(0);
    let watch = |_: Progress| match told.fetch_add(1, Ordering::Relaxed) < patience {
        true => ControlFlow::Continue(()),
        false => ControlFlow::Break(()),
    };
    let plan = Plan { seed: drawn.seed, runs: 1, ..Plan::on(&experiment, machine, vec![contender.clone()]) };
    let runs = match catch_unwind(AssertUnwindSafe(|| plan.run(&watch))) {
        Ok(Ok(runs)) => runs,
        Ok(Err(refusal)) => {
            return Err(match refusal.kind {
                Kind::Usage => Outcome::Refused(refusal.to_string()),
                Kind::Cancelled => Outcome::Long,
                Kind::Violated | Kind::Failed => Outcome::Broken(refusal.to_string()),
            });
        }
        Err(_) => return Err(Outcome::Broken("it panics".into())),
    };
    if let Some((_, violation)) = runs.violation() {
        return Err(Outcome::Broken(format!("{}: {}", violation.checker, violation.sentence)));
    }
    let arm = &runs.arms[0];
    let all = METRICS.iter().flat_map(|metric| arm.values(metric.name));
    Ok((arm.decisions, all.map(|it| it.map(f64::to_bits)).collect()))
}
