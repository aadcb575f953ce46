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
//! The cost of a switch is inside the recorded bursts, because a burst is the time between two switches.
//! A machine for replay must not charge it again; [`machine::machine_of`] makes such a machine.

pub mod answers;
pub mod attributes;
pub mod block;
pub mod causes;
pub mod clock;
pub mod conduits;
pub mod connections;
mod conversations;
mod dialogues;
mod draft;
mod groups;
mod handoffs;
mod history;
mod loop_rounds;
mod machine;
mod marks;
mod message_turns;
mod messages;
pub mod open_end;
mod paced;
mod participants;
mod pinned;
mod player;
pub mod pools;
mod priority;
pub mod program;
mod read_together;
pub mod recover;
mod recovered;
pub mod requests;
mod services;
mod task_recovery;
mod timers;
mod unknowns;
mod yields;

pub use history::History;
pub use machine::{Delays, Figure, RecordedMachine, machine_of};
pub use participants::{Participant, Role};
pub use recover::{Arrivals, Ends, Others, ReplayOptions, recover};
pub use recovered::{Recovered, RecoveredTask};
pub use requests::Requests;
pub use unknowns::Unknowns;

use conduits::Conduits;
use goodness_core::{Channel, ChannelKind, Seed, Span, TaskId, TaskSpec, Time, Workload, WorkloadSource};
use handoffs::HandoffState;
use loop_rounds::RoundState;
use player::{Player, Shared};
use program::permuted;
use services::{Queue, QueueState};
use std::sync::Arc;

/// Limit of a replay of work that was complete in the recording: this many times its length, plus ten seconds.
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

    /// State that the players of one run share, and their channels: edges, rounds, one for each task that may be forked
    /// again, one that nobody posts, queues, and conduits.
    fn shared(&self, queues: Vec<Queue>) -> (Arc<Shared>, Vec<ChannelKind>) {
        let Recovered {
            edges,
            ref rounds,
            ref going_on,
            ref delays,
            ref affinities,
            ref conduits,
            ref holders,
            lap,
            ref tasks,
            ..
        } = self.recovered;
        let forks = Channel(edges + rounds.rounds());
        let mut channels = vec![ChannelKind::Semaphore; forks.0 as usize + tasks.len() + 1];
        let of_queues = Channel(channels.len() as u32);
        channels.resize(channels.len() + queues.len(), ChannelKind::Condition);
        let of_conduits = Channel(channels.len() as u32);
        channels.resize(channels.len() + Conduits::channels(conduits), ChannelKind::Semaphore);
        let queues = QueueState::new(queues, of_queues);
        let conduits = (Arc::clone(conduits), self.recovered.transfer_costs);
        let conduits = Conduits::new(conduits, of_conduits, tasks.iter().map(|it| it.start));
        let handoffs = HandoffState::new(Arc::clone(holders), tasks.len());
        let rounds = RoundState::new(Arc::clone(rounds), Channel(edges));
        let (going_on, delays, affinities) = (going_on.clone(), delays.clone(), affinities.clone());
        (Arc::new(Shared { rounds, handoffs, conduits, queues, going_on, delays, affinities, forks, lap }), channels)
    }

    /// Every policy is measured in the recorded window. Work that was complete in the recording is replayed until it is
    /// done, up to a limit: after many repairs, a recording can need more CPU time than there is.
    fn horizon(&self) -> Time {
        let length = self.recovered.length;
        match self.recovered.is_over {
            true => Time::ZERO + length * LENGTHS_MAX + Span::from_s(10),
            false => Time::ZERO + length,
        }
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
        let seed = seed.stream("replay", replication.into());
        let queue = |(queue, number): (&Queue, u64)| match replication {
            0 => queue.clone(),
            _ => queue.permuted(seed.stream("queue", number)),
        };
        let (shared, channels) = self.shared(self.recovered.queues.iter().zip(0..).map(queue).collect());
        let tasks = self.recovered.tasks.iter().enumerate().map(|(index, task)| {
            let ops = match replication {
                0 => Arc::clone(&task.ops),
                _ => permuted(&task.ops, seed.stream("task", index as u64)),
            };
            let mut spec = task.participant.task.clone();
            spec.first_cpu = task.cpu;
            TaskSpec {
                name: task.participant.name.clone(),
                start: task.start,
                task: spec,
                behaviour: Box::new(Player::new(ops, Arc::clone(&shared))),
                judged: task.participant.judged,
            }
        });
        let (tasks, groups) = (tasks.collect(), self.recovered.groups.clone());
        Workload { tasks, groups, channels, horizon: Some(self.horizon()), is_recorded: true, ..Workload::default() }
    }

    fn cpus(&self) -> Option<usize> {
        Some(self.recovered.cpus)
    }

    fn id_of(&self, task: TaskId) -> u64 {
        self.recovered.tasks.get(task.index()).map_or(u64::from(task.0) + 1, |t| t.participant.pid.into())
    }

    fn may_end_waiting(&self) -> bool {
        true
    }
}
