//! Compares a scenario in the simulator with the same scenario on the running kernel.

mod agreement;
mod both;
mod document;
mod limits;
mod loaded;
mod text;

pub use agreement::{Agreement, Bounds, Row, Worst};
pub use both::Both;
pub use document::Document;
pub use limits::GroupRow;
pub use loaded::Loaded;
pub use text::Told;

use crate::contender::Contender;
use crate::kernel::running_policy;
use crate::open::machine;
use crate::plan::Plan;
use crate::progress::Watch;
use crate::refusal::Refusal;
use crate::run::RunResult;
use crate::spec::PolicySpec;
use crate::work::Work;
use goodness_core::{Awaited, CpuId, Machine, Seed, Span, Start, TaskId, Time, Workload, WorkloadSource};
use goodness_observe::TaskMeasured;
use goodness_play::Played;

/// The running kernel's own policy.
///
/// # Errors
/// A kernel that is not known.
pub fn running() -> Result<PolicySpec, Refusal> {
    let unknown =
        || Refusal::usage("which scheduler this kernel has is not known").remedy("name the policy to compare");
    running_policy().ok_or_else(unknown)
}

/// The simulations to compare with a play.
pub struct Scenario<'a> {
    /// The work that was played.
    pub work: &'a Work,
    /// Policy of the play: the kernel's own, or a loaded one.
    pub policy: PolicySpec,
    /// Duration of the play, if not the workload's own.
    pub duration: Option<Span>,
    /// Machine whose costs are simulated. CPUs and HZ are those of the play.
    pub costs_of: Option<String>,
    /// Random seed of the simulations.
    pub seed: u64,
    /// Number of simulations. Each has another tick phase, start order and initial CPUs, which are random in a play.
    /// The play is compared with their range.
    pub runs: u32,
}

/// Decision latency of a loaded policy: from the kernel's event until the decision took effect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Decisions {
    /// The middle.
    pub p50: Span,
    /// 99th percentile.
    pub p99: Span,
}

/// Result of the comparison.
pub struct Conformance {
    /// Task by task, with the verdict.
    pub agreement: Agreement,
    /// The simulated machine.
    pub machine: Machine,
    /// Measurements of the play.
    pub played: Played,
    /// Measurements of the tasks in each simulation.
    pub simulated: Vec<Vec<TaskMeasured>>,
    /// Decision latency of a loaded policy; `None` for the kernel's own scheduler.
    pub decisions: Option<Decisions>,
}

impl Scenario<'_> {
    /// Simulates and compares with the play.
    ///
    /// # Errors
    /// An invalid machine, a fault of policy or work, or cancellation.
    pub fn against(self, played: Played, decisions: Option<Decisions>, watch: &Watch) -> Result<Conformance, Refusal> {
        let machine = self.machine(played.cpus.len(), decisions)?;
        let source = Drawn { source: &*self.work.source, duration: self.duration, cpus: machine.cpu_count() };
        let contenders = vec![Contender::policy(self.policy.clone())];
        let plan = Plan { seed: self.seed, runs: self.runs, ..Plan::on(&source, &machine, contenders) };
        let kept = |run: RunResult| Ok((run.measured.tasks, run.outcome.cpu_stats));
        let (simulated, limits): (Vec<_>, Vec<_>) = plan.run_each(watch, kept)?.remove(0).into_iter().unzip();
        let bounds = Bounds::new(machine.tick(), decisions.unwrap_or_default().p99);
        let mut agreement = Agreement::of(&simulated, &played, bounds);
        agreement.groups = GroupRow::all(&limits, &played.groups, machine.tick());
        Ok(Conformance { agreement, machine, played, simulated, decisions })
    }

    /// The machine to simulate: `cpus` CPUs and the kernel's HZ. While a loaded policy decides, a free CPU stays idle
    /// and a task to be preempted keeps running. Machine costs add this to the simulation.
    fn machine(&self, cpus: usize, decisions: Option<Decisions>) -> Result<Machine, Refusal> {
        let hz = goodness_play::ticks_per_second().unwrap_or(250);
        let mut found = machine(&format!("cpus={cpus},hz={hz}"))?;
        if let Some(Decisions { p50, .. }) = decisions {
            (found.costs.switch, found.costs.idle_exit, found.costs.preempt) = (p50, p50, p50);
        }
        if let Some(text) = &self.costs_of {
            let given = machine(text)?;
            (found.name, found.costs, found.workers) = (given.name, given.costs, given.workers);
        }
        Ok(found)
    }
}

/// The work as played: with the play's duration, a random start order and random initial CPUs.
struct Drawn<'a> {
    source: &'a dyn WorkloadSource,
    duration: Option<Span>,
    cpus: usize,
}

/// Window after the due time in which a played task starts, allowing for timers and earlier threads.
const BEGUN: Span = Span::from_us(100);

impl WorkloadSource for Drawn<'_> {
    fn name(&self) -> &str {
        self.source.name()
    }
    fn what_varies(&self) -> &str {
        self.source.what_varies()
    }
    /// All runs have the lengths of the play. Its threads exist before the start, on any CPU, and wake up for it.
    fn build(&self, seed: Seed, replication: u32) -> Workload {
        let mut work = self.source.build(seed, replication);
        let mut rng = seed.stream("begun", u64::from(replication)).rng();
        for spec in &mut work.tasks {
            if let Start::At(at) = spec.start {
                spec.start = Start::WokenAt(at + Span(rng.below(BEGUN.0)));
                let cpus: Vec<CpuId> =
                    (0..self.cpus as u32).map(CpuId).filter(|cpu| spec.task.affinity.contains(*cpu)).collect();
                spec.task.first_cpu =
                    *cpus.get(rng.below(cpus.len().max(1) as u64) as usize).unwrap_or(&spec.task.first_cpu);
            }
        }
        let horizon = self.duration.map(|duration| Time::ZERO + duration).or(work.horizon);
        Workload { horizon, ..work }
    }
    fn place_of(&self, task: TaskId) -> Option<String> {
        self.source.place_of(task)
    }
    fn name_of(&self, awaited: Awaited) -> Option<String> {
        self.source.name_of(awaited)
    }
}
