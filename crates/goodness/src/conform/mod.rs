//! A scenario in the simulator and on the running kernel, side by side: how far the two agree.

mod agreement;

pub use agreement::{Agreement, Both, Bounds, Row, Worst};

use crate::contender::Contender;
use crate::open::machine;
use crate::plan::Plan;
use crate::progress::Watch;
use crate::refusal::Refusal;
use crate::spec::PolicySpec;
use crate::work::Work;
use goodness_core::{Awaited, CpuId, Machine, Seed, Span, Start, TaskId, Time, Workload, WorkloadSource};
use goodness_play::Played;
use serde_json::{Value, json};

/// What is simulated beside a play.
pub struct Scenario<'a> {
    /// The work that was played.
    pub work: &'a Work,
    /// The policy that decided: the kernel's own, or one loaded into it.
    pub policy: PolicySpec,
    /// How long it was played, where not as long as the work says.
    pub duration: Option<Span>,
    /// A machine whose costs the simulated one has; CPUs and HZ are the play's.
    pub costs_of: Option<String>,
    /// What simulations are drawn from.
    pub seed: u64,
    /// How many there are: each with the tick at another phase and the tasks beginning in another order and on other CPUs, which
    /// a play leaves to chance. The play is held against their range.
    pub runs: u32,
}

/// How long a loaded policy took, from the kernel's event until what it decided was done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Decisions {
    /// The middle.
    pub p50: Span,
    /// 99 of 100 took no longer.
    pub p99: Span,
}

/// What came of it.
pub struct Conformance {
    /// Task by task, with the verdict.
    pub agreement: Agreement,
    /// The simulated machine.
    pub machine: Machine,
    /// What was measured.
    pub played: Played,
    /// How long a loaded policy took; `None` for the kernel's own scheduler.
    pub decisions: Option<Decisions>,
}

impl Scenario<'_> {
    /// Simulates, and holds the play against it.
    ///
    /// # Errors
    /// A machine that cannot be, faults of policy or work, what cancelled it.
    pub fn against(self, played: Played, decisions: Option<Decisions>, watch: &Watch) -> Result<Conformance, Refusal> {
        let machine = self.machine(played.cpus.len(), decisions)?;
        let source = Drawn { source: &*self.work.source, duration: self.duration, cpus: machine.cpu_count() };
        let contenders = vec![Contender::policy(self.policy.clone())];
        let plan = Plan { seed: self.seed, runs: self.runs, ..Plan::on(&source, &machine, contenders) };
        let simulated = plan.run_each(watch, |run| Ok(run.measured.tasks))?.remove(0);
        let bounds = Bounds::new(machine.tick(), decisions.unwrap_or_default().p99);
        Ok(Conformance { agreement: Agreement::of(&simulated, &played, bounds), machine, played, decisions })
    }

    /// The machine to simulate: `cpus` of them and the kernel's HZ. While a loaded policy decides, a CPU that became free
    /// stays idle and who is to be preempted goes on, which costs nothing in a simulator: hence the costs.
    fn machine(&self, cpus: usize, decisions: Option<Decisions>) -> Result<Machine, Refusal> {
        let hz = goodness_play::ticks_per_second().unwrap_or(250);
        let mut found = machine(&format!("cpus={cpus},hz={hz}"))?;
        if let Some(Decisions { p50, .. }) = decisions {
            (found.costs.switch, found.costs.idle_exit, found.costs.preempt) = (p50, p50, p50);
        }
        if let Some(text) = &self.costs_of {
            let given = machine(text)?;
            (found.name, found.costs) = (given.name, given.costs);
        }
        Ok(found)
    }
}

impl Conformance {
    /// The fields of the schema `goodness.conform/1` that follow from the comparison.
    #[must_use]
    pub fn fields(&self) -> Value {
        json!({
            "machine": {"name": self.machine.name, "cpus": self.machine.cpu_count(), "hz": self.machine.hz},
            "measured_ns": self.played.measured_ns,
            "watched_in_time": self.played.watched_in_time,
            "decision_latency_p50_ns": self.decisions.map(|decisions| decisions.p50.0),
            "decision_latency_p99_ns": self.decisions.map(|decisions| decisions.p99.0),
            "bounds": self.agreement.bounds,
            "tasks": self.agreement.rows,
            "worst": self.agreement.worst(),
            "agrees": self.agreement.holds(),
        })
    }
}

/// The work as a play draws it: with another duration than its own, if asked for, and begun in an order and from CPUs that chance
/// chooses.
struct Drawn<'a> {
    source: &'a dyn WorkloadSource,
    duration: Option<Span>,
    cpus: usize,
}

/// Within this time after it was due, a played task has begun: what timers and the threads before it take.
const BEGUN: Span = Span::from_us(100);

impl WorkloadSource for Drawn<'_> {
    fn name(&self) -> &str {
        self.source.name()
    }
    fn what_varies(&self) -> &str {
        self.source.what_varies()
    }
    /// The same lengths in every run, those of the play. Its threads are there before the beginning, on whatever CPU, and wake
    /// for it.
    fn build(&self, seed: Seed, replication: u32) -> Workload {
        let mut work = self.source.build(seed, replication);
        let mut rng = seed.stream("begun", u64::from(replication)).rng();
        for spec in &mut work.tasks {
            if let Start::At(at) = spec.start {
                spec.start = Start::WokenAt(at + Span(rng.below(BEGUN.0)));
                let cpus: Vec<CpuId> =
                    (0..self.cpus as u32).map(CpuId).filter(|cpu| spec.task.affinity.contains(*cpu)).collect();
                spec.task.cpu = *cpus.get(rng.below(cpus.len().max(1) as u64) as usize).unwrap_or(&spec.task.cpu);
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
