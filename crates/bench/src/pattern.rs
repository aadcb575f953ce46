//! The work of the benchmark: bursts of about 10 us, and sleeps such that one task in eight sleeps.

use goodness_core::{Behaviour, Span, Start, Step, StepContext, Task, TaskSpec, Time, Workload};

/// Work that is simulated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pattern {
    /// Bursts and yields: one event per decision, no sleeps ([`turns`]).
    Turns,
    /// Bursts and sleeps: three events and a wake-up for each decision ([`workload`]).
    #[default]
    Sleeps,
}

impl Pattern {
    /// The work of this pattern.
    #[must_use]
    pub fn work(self, tasks: usize, cpus: usize, horizon: Time) -> Workload {
        match self {
            Pattern::Turns => turns(tasks, cpus, horizon),
            Pattern::Sleeps => workload(tasks, cpus, horizon),
        }
    }
}

/// Length of a burst.
pub const BURST: Span = Span::from_us(10);

/// All tasks are woken for the first time before this instant, in ns.
pub const FIRST_WAKES: u64 = 1000;

/// One task in this many sleeps at any time.
pub const ASLEEP: usize = 8;

/// Computes for about a burst, then sleeps.
struct Blinker {
    sleep: Span,
    computing: bool,
}

impl Behaviour for Blinker {
    fn next(&mut self, cx: &mut StepContext) -> Step {
        self.computing = !self.computing;
        if self.computing {
            Step::Compute(Span(BURST.0 + cx.rng.below(1024)))
        } else {
            Step::Sleep(Span(self.sleep.0 + cx.rng.below(65_536)))
        }
    }
}

/// `tasks` blinkers on `cpus` CPUs for `horizon`. They overcommit the CPUs: a sleep lasts as long as the CPUs take to
/// serve an eighth of the tasks, so the queues stay long.
#[must_use]
pub fn workload(tasks: usize, cpus: usize, horizon: Time) -> Workload {
    let round = BURST.0 * tasks as u64 / cpus as u64;
    let sleep = Span((round / ASLEEP as u64).max(BURST.0));
    let spec = |index: usize| TaskSpec {
        name: String::new(),
        start: Start::WokenAt(Time(index as u64 % FIRST_WAKES)),
        task: Task { first_cpu: goodness_core::CpuId((index % cpus) as u32), ..Task::default() },
        behaviour: Box::new(Blinker { sleep, computing: false }),
        judged: true,
    };
    Workload { tasks: (0..tasks).map(spec).collect(), horizon: Some(horizon), ..Workload::default() }
}

/// `tasks` tasks that alternately compute for a burst and yield: one event per decision, no sleeps.
#[must_use]
pub fn turns(tasks: usize, cpus: usize, horizon: Time) -> Workload {
    let yielding = || {
        let mut computing = false;
        move |_: &mut StepContext| {
            computing = !computing;
            if computing { Step::Compute(BURST) } else { Step::Yield }
        }
    };
    let mut work = workload(tasks, cpus, horizon);
    work.tasks.iter_mut().for_each(|spec| spec.behaviour = Box::new(yielding()));
    work
}
