//! Work as a player begins it: all threads exist before the play, sleep through its run-up, and are woken at their
//! start.

use goodness_core::{Behaviour, Seed, Span, Start, Step, StepContext, TaskId, Time, Workload, WorkloadSource};

/// The player's run-up, without the 0.2 ms for each thread that it adds.
const RUN_UP: Span = Span::from_ms(20);

/// Work that begins after the run-up, with tasks that sleep until their start instead of being forked then.
pub struct AsPlayed<'a>(pub &'a dyn WorkloadSource);

/// `behaviour` that begins at `start`, on a clock that is behind by the run-up.
fn late(mut behaviour: Box<dyn Behaviour>, start: Time) -> Box<dyn Behaviour> {
    let mut sleep = Some(Step::SleepUntil(start));
    Box::new(move |cx: &mut StepContext| {
        sleep.take().unwrap_or_else(|| {
            let now = Time(cx.now.0.saturating_sub(RUN_UP.0));
            match behaviour.next(&mut StepContext { now, task: cx.task, rng: cx.rng }) {
                Step::SleepUntil(at) => Step::SleepUntil(at + RUN_UP),
                Step::Served(since) => Step::Served(since + RUN_UP),
                step => step,
            }
        })
    })
}

impl WorkloadSource for AsPlayed<'_> {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn what_varies(&self) -> &str {
        self.0.what_varies()
    }

    fn place_of(&self, task: TaskId) -> Option<String> {
        self.0.place_of(task)
    }

    fn build(&self, seed: Seed, replication: u32) -> Workload {
        let work = self.0.build(seed, replication);
        assert!(work.outside.is_empty() && work.faults.is_empty(), "they have a clock, too");
        let tasks = work.tasks.into_iter().map(|mut task| {
            if let Start::At(start) = task.start {
                task.start = Start::At(Time::ZERO);
                task.behaviour = late(task.behaviour, start + RUN_UP);
            }
            task
        });
        Workload {
            tasks: tasks.collect(),
            warmup: work.warmup + RUN_UP,
            horizon: work.horizon.map(|end| end + RUN_UP),
            ..work
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use goodness_core::{Rng, Task, TaskSpec};

    /// A task that starts at 7 ms, sleeps until 50 ms and computes for as many nanoseconds as its clock shows.
    struct Load;

    impl WorkloadSource for Load {
        fn name(&self) -> &str {
            "load"
        }

        fn what_varies(&self) -> &str {
            "nothing"
        }

        fn build(&self, _: Seed, _: u32) -> Workload {
            let mut first = Some(Step::SleepUntil(Time::ZERO + Span::from_ms(50)));
            let behaviour = move |cx: &mut StepContext| first.take().unwrap_or(Step::Compute(Span(cx.now.0)));
            let task = TaskSpec {
                name: "late".into(),
                start: Start::At(Time::ZERO + Span::from_ms(7)),
                task: Task::default(),
                behaviour: Box::new(behaviour),
                judged: true,
            };
            let horizon = Some(Time::ZERO + Span::from_ms(100));
            Workload { tasks: vec![task], horizon, warmup: Span::from_ms(10), ..Workload::default() }
        }
    }

    #[test]
    fn all_times_of_the_load_come_later_by_the_run_up_and_its_own_clock_does_not_know() {
        let mut work = AsPlayed(&Load).build(Seed(1), 0);
        assert_eq!((work.horizon, work.warmup), (Some(Time::ZERO + Span::from_ms(120)), Span::from_ms(30)));
        let task = &mut work.tasks[0];
        assert_eq!(task.start, Start::At(Time::ZERO));
        let mut rng: Rng = Seed(1).stream("test", 0).rng();
        let mut next = |ms: u64| {
            let now = Time::ZERO + Span::from_ms(ms);
            task.behaviour.next(&mut StepContext { now, task: TaskId(0), rng: &mut rng })
        };
        assert_eq!(next(0), Step::SleepUntil(Time::ZERO + Span::from_ms(27)));
        assert_eq!(next(27), Step::SleepUntil(Time::ZERO + Span::from_ms(70)));
        assert_eq!(next(70), Step::Compute(Span::from_ms(50)));
    }
}
