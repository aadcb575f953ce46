//! Causal replay: the work in a recording, freed from the scheduler that ran it.
//!
//! A burst is CPU time *executed*: preemption and waiting for a CPU under the recorded scheduler are in no
//! burst. A wait ends for the reason it ended in the recording: another task reached a certain point of its own
//! work (an edge), or something outside happened. [`causes`] says how the two are told apart, [`recover`](mod@recover)
//! why no policy can deadlock the result.
//!
//! ```text
//!  Recording ─▶ History (its records, borrowed; participants) ─▶ causes, clock, answers ─▶ recover ─▶ Replay
//! ```
//!
//! What it costs to switch is inside the recorded bursts, because a burst is the time between two switches.
//! A machine for replay must not charge it again; [`machine::machine_of`] makes such a machine.

pub mod answers;
pub mod block;
pub mod causes;
pub mod clock;
pub mod conversations;
pub mod history;
pub mod loop_rounds;
pub mod machine;
pub mod participants;
pub mod player;
mod priority;
pub mod program;
pub mod recover;
pub mod recovered;
mod track;
pub mod unknowns;

pub use history::History;
pub use machine::{Delays, Figure, RecordedMachine, machine_of};
pub use participants::Participant;
pub use recover::{Arrivals, Others, recover};
pub use recovered::{Recovered, RecoveredTask};
pub use unknowns::Unknowns;

use goodness_core::{Channel, ChannelKind, Seed, Span, TaskId, TaskSpec, Time, Workload, WorkloadSource};
use loop_rounds::RoundState;
use player::Player;
use program::permuted;
use std::sync::Arc;

/// A replay ends at the latest after this many times the recording's length, plus ten seconds.
const LENGTHS_MAX: u64 = 20;

/// A recovered recording as a workload.
#[derive(Clone, Debug)]
pub struct Replay {
    name: String,
    recovered: Recovered,
}

impl Replay {
    /// The replay of `recovered`, called `name` in reports.
    #[must_use]
    pub fn new(name: &str, recovered: Recovered) -> Replay {
        Replay { name: name.into(), recovered }
    }

    /// The recovered work.
    #[must_use]
    pub fn recovered(&self) -> &Recovered {
        &self.recovered
    }
}

impl WorkloadSource for Replay {
    fn name(&self) -> &str {
        &self.name
    }

    fn what_varies(&self) -> &str {
        "run 1 replays the recording unchanged; the others shuffle similar bursts and external delays within each \
         task and draw the phase of the tick"
    }

    fn build(&self, seed: Seed, replication: u32) -> Workload {
        let Recovered { edges, ref rounds, .. } = self.recovered;
        let rounds = Arc::new(RoundState::new(Arc::clone(rounds), Channel(edges)));
        let channels = vec![ChannelKind::Semaphore; rounds.never().0 as usize + 1];
        let seed = seed.stream("replay", replication.into());
        let tasks = self.recovered.tasks.iter().enumerate().map(|(index, task)| {
            let ops = match replication {
                0 => Arc::clone(&task.ops),
                _ => permuted(&task.ops, seed.stream("task", index as u64)),
            };
            let mut spec = task.participant.task.clone();
            spec.cpu = task.cpu;
            TaskSpec {
                name: task.participant.name.clone(),
                start: task.start,
                task: spec,
                behaviour: Box::new(Player::new(ops, Arc::clone(&rounds))),
                judged: task.participant.judged,
            }
        });
        // A recording full of repairs can ask for more CPU time than its length holds: the replay ends all the same.
        let horizon = Some(Time::ZERO + self.recovered.length * LENGTHS_MAX + Span::from_s(10));
        Workload { tasks: tasks.collect(), channels, horizon, ..Workload::default() }
    }

    fn id_of(&self, task: TaskId) -> u64 {
        self.recovered.tasks.get(task.index()).map_or(u64::from(task.0) + 1, |t| t.participant.pid.into())
    }

    fn may_end_waiting(&self) -> bool {
        true
    }
}
