//! Work as real threads of this machine.

use crate::refusal::Refusal;
use crate::replication::Replication;
use crate::work::Work;
use goodness_core::{CpuId, Span, WorkloadSource};
use goodness_play::{PlayClass, PlayError, Played};

/// The part of an input to play.
pub struct Part {
    /// Random seed. Lengths are those of the first simulated run with this seed.
    pub seed: u64,
    /// Duration, if not the input's own.
    pub duration: Option<Span>,
    /// The class of tasks that ask for none.
    pub class: PlayClass,
    /// The CPUs that tasks may use, where not all of this command.
    pub cpus: Option<Vec<CpuId>>,
}

impl Part {
    /// Plays it.
    ///
    /// # Errors
    /// Work that cannot be played, what needs root.
    pub fn play(self, work: &Work) -> Result<Played, Refusal> {
        let seed = Replication::of(self.seed, 0).seed;
        let options = goodness_play::Options { duration: self.duration, class: self.class, seed, cpus: self.cpus };
        goodness_play::play(work.source.build(seed, 0), options).map_err(|error| refusal(&error, &*work.source))
    }
}

/// An error of the player with the place in the file.
fn refusal(error: &PlayError, source: &dyn WorkloadSource) -> Refusal {
    let place = match error.task() {
        Some(task) => source.place_of(task),
        None if error.is_refusal() => source.place_of_storage(),
        None => None,
    };
    let place = place.unwrap_or_else(|| source.name().to_string());
    if error.is_refusal() {
        Refusal::usage(error.to_string()).at(place)
    } else {
        Refusal::failed(error.to_string()).at(place)
    }
}
