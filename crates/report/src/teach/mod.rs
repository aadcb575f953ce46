//! Schedules of a few jobs under several policies, as textbooks draw them: model, text and page.

mod axis;
mod gantt;
pub mod page;
mod places;
pub mod text;

use crate::rule::Rule;
use serde::Serialize;

/// Name and version of the schema.
pub const SCHEMA: &str = "goodness.teach/1";

/// Jobs, and their schedule under each policy. Times in ns.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Lesson {
    /// Always [`SCHEMA`].
    pub schema: &'static str,
    /// The jobs, as typed.
    pub jobs: Vec<Job>,
    /// CPUs of the machine.
    pub cpus: u32,
    /// One for each policy.
    pub policies: Vec<Schedule>,
}

/// A job: it arrives, computes and ends.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Job {
    /// Name.
    pub name: String,
    /// Time of its arrival.
    pub arrival_ns: u64,
    /// CPU time that it needs.
    pub burst_ns: u64,
    /// Priority: its nice value. Small is urgent.
    pub priority: i64,
}

/// The jobs under one policy.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Schedule {
    /// The policy as typed.
    pub policy: String,
    /// Who ran where and when, in order of time.
    pub slices: Vec<Piece>,
    /// Times of each job, in the order of the jobs.
    pub times: Vec<Times>,
    /// Means over the jobs.
    pub mean: Means,
    /// Places of the jobs in the queue at each pick, in order of time; none for a policy without virtual deadlines.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub places: Vec<Place>,
}

/// A job on a CPU without interruption.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Piece {
    /// Place of the job in the list.
    pub job: usize,
    /// CPU.
    pub cpu: u32,
    /// Start.
    pub start_ns: u64,
    /// End.
    pub end_ns: u64,
    /// Why it left the CPU: preempted, slice_over, yielded, ended.
    pub then: String,
    /// The jobs that waited when it got the CPU, with the rule by which it was ahead of each, as far as the policy
    /// tells.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ahead_of: Vec<Ahead>,
}

/// A job that waited, and the rule by which another one was ahead of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Ahead {
    /// Place of the waiting job in the list.
    pub job: usize,
    /// The rule.
    pub rule: Rule,
}

/// The place of a job in the queue of a policy with virtual deadlines, at a pick.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Place {
    /// Time of the pick.
    pub at_ns: u64,
    /// Place of the job in the list.
    pub job: usize,
    /// CPU time that it is owed; negative if it had more than its share.
    pub lag_ns: i64,
    /// Its deadline, in virtual time since the first pick.
    pub deadline_ns: i64,
    /// Virtual time since the first pick.
    pub virtual_time_ns: i64,
}

/// Times of a job, as textbooks define them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Times {
    /// In the run queue, from arrival to end.
    pub waiting_ns: u64,
    /// From arrival to the first time on a CPU.
    pub response_ns: u64,
    /// From arrival to end.
    pub turnaround_ns: u64,
}

/// Means of [`Times`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Means {
    /// Mean waiting time.
    pub waiting_ns: f64,
    /// Mean response time.
    pub response_ns: f64,
    /// Mean turnaround.
    pub turnaround_ns: f64,
}

impl Schedule {
    /// The times of each job, from its slices.
    #[must_use]
    pub fn of(policy: String, jobs: &[Job], slices: Vec<Piece>) -> Schedule {
        let times: Vec<Times> = (0..jobs.len()).map(|job| times(&jobs[job], job, &slices)).collect();
        let mean =
            |value: fn(&Times) -> u64| times.iter().map(|it| value(it) as f64).sum::<f64>() / times.len().max(1) as f64;
        let mean = Means {
            waiting_ns: mean(|it| it.waiting_ns),
            response_ns: mean(|it| it.response_ns),
            turnaround_ns: mean(|it| it.turnaround_ns),
        };
        Schedule { policy, slices, times, mean, places: Vec::new() }
    }

    /// End of the last slice.
    #[must_use]
    pub fn end_ns(&self) -> u64 {
        self.slices.iter().map(|it| it.end_ns).max().unwrap_or(0)
    }
}

fn times(job: &Job, index: usize, slices: &[Piece]) -> Times {
    let own = || slices.iter().filter(|it| it.job == index);
    let (first, last) = (own().map(|it| it.start_ns).min(), own().map(|it| it.end_ns).max());
    let ran: u64 = own().map(|it| it.end_ns - it.start_ns).sum();
    let since = |at: Option<u64>| at.unwrap_or(job.arrival_ns) - job.arrival_ns;
    let turnaround_ns = since(last);
    Times { waiting_ns: turnaround_ns - ran, response_ns: since(first), turnaround_ns }
}
