//! What a recording says, told the way recovery needs it: who was there, and what was seen in order of time.

use goodness_core::{CpuId, Off, Span, Task, Time};

/// Someone who was seen, by place in [`Story::cast`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Who(pub u32);

impl Who {
    /// The number as an index.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// What a task was in the recording.
#[derive(Clone, Debug)]
pub struct Character {
    /// Name for people.
    pub name: String,
    /// Its thread id on the recorded machine; not unique, since ids are used again.
    pub pid: u32,
    /// Class, nice, affinity; `address_space` is `None` for kernel threads.
    pub task: Task,
    /// Tasks with equal numbers belong to one program (process group, or equal names where that is unknown).
    pub party: u32,
    /// Whether it belongs to what was recorded on purpose.
    pub judged: bool,
}

/// The context in which a waking was executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The running task itself.
    Task,
    /// A soft interrupt: the running task's own network traffic, or a timer.
    Soft,
    /// A hard interrupt: a timer or a device.
    Hard,
}

/// Something seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// The CPU went from one task (`None`: idle) to another.
    Switch {
        /// Who left.
        prev: Option<Who>,
        /// How.
        off: Off,
        /// Who came.
        next: Option<Who>,
    },
    /// Someone was about to be made runnable.
    Waking {
        /// Who.
        task: Who,
        /// Who ran on the CPU that did it.
        by: Option<Who>,
        /// In which context.
        origin: Origin,
    },
    /// Someone was put on a runqueue.
    Woken {
        /// Who.
        task: Who,
        /// Of which CPU.
        on: CpuId,
    },
    /// Someone was created.
    Fork {
        /// By whom.
        parent: Option<Who>,
        /// Who.
        child: Who,
    },
    /// Someone changed its nice.
    Nice {
        /// Who.
        task: Who,
        /// To what, −20..=19.
        nice: i8,
    },
    /// Someone is ending; its last switch-out follows.
    Exit {
        /// Who.
        task: Who,
    },
    /// Events of this CPU were lost here.
    Lost,
}

/// Something seen, and where and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sighting {
    /// When, on the recording's clock.
    pub at: Time,
    /// On which CPU.
    pub cpu: CpuId,
    /// What.
    pub what: What,
}

/// A recording.
#[derive(Clone, Debug, Default)]
pub struct Story {
    /// Name for reports.
    pub name: String,
    /// Who was there; the idle task is not.
    pub cast: Vec<Character>,
    /// What was seen, in order of time.
    pub sightings: Vec<Sighting>,
    /// How many CPUs the machine had.
    pub cpus: usize,
    /// When recording ended; at least the time of the last sighting.
    pub end: Time,
    /// The tick rate, where the recording says.
    pub hz: Option<u32>,
}

impl Story {
    /// When recording began: the first sighting.
    #[must_use]
    pub fn begin(&self) -> Time {
        self.sightings.first().map_or(Time::ZERO, |s| s.at)
    }

    /// How long it lasted.
    #[must_use]
    pub fn length(&self) -> Span {
        self.end.since(self.begin())
    }
}
