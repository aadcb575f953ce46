//! Edits of locks: `table.hold=75%`, tasks hold it for three quarters of the time.

use super::apart::{Percent, wrap};
use super::{matches, wrong};
use crate::refusal::Refusal;
use goodness_core::spelling::suggest;
use goodness_core::{Awaited, LockId, Step, Workload, WorkloadSource};

/// The key.
pub(super) const KEY: &str = "hold";

/// The name of a lock of `source`, which edits understand: that of its file, without the quotes around it in messages,
/// else its number.
pub(crate) fn name(lock: LockId, source: &dyn WorkloadSource) -> String {
    let said = source.name_of(Awaited::Lock(lock));
    let quoted = said.as_deref().and_then(|said| said.split('"').nth(1)).map(str::to_string);
    quoted.or(said).unwrap_or_else(|| format!("lock-{}", lock.0))
}

/// Shortens or lengthens what tasks do while they hold the locks that `whom` means: computing, and sleeping on a timer.
pub(super) fn apply(
    text: &str,
    (whom, hold): (&str, Percent),
    work: &mut Workload,
    source: &dyn WorkloadSource,
) -> Result<(), Refusal> {
    let names: Vec<String> = (0..work.locks.len() as u32).map(|lock| name(LockId(lock), source)).collect();
    let meant: Vec<bool> = names.iter().map(|name| matches(whom, name)).collect();
    if names.is_empty() {
        return Err(wrong(text, "the work has no locks").remedy("change the CPU time of tasks: TASK.compute=75%"));
    }
    if !meant.contains(&true) {
        let near = suggest(whom, names.iter().map(String::as_str));
        return Err(wrong(text, &format!("no lock is called \"{whom}\"")).remedy(near));
    }
    for spec in &mut work.tasks {
        let meant = meant.clone();
        let is_meant = move |lock: LockId| meant.get(lock.0 as usize).copied().unwrap_or(false);
        // A task that waits on a condition has the lock again when it goes on.
        let mut held = 0_u32;
        wrap(spec, move |step| match step {
            Step::Lock(lock) | Step::LockShared(lock) if is_meant(lock) => {
                held += 1;
                step
            }
            Step::Unlock(lock) if is_meant(lock) => {
                held = held.saturating_sub(1);
                step
            }
            Step::Compute(span) if held > 0 => Step::Compute(hold.of(span)),
            Step::Kernel(span) if held > 0 => Step::Kernel(hold.of(span)),
            Step::Sleep(span) if held > 0 => Step::Sleep(hold.of(span)),
            step => step,
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::{Edit, work};
    use goodness_core::{
        Awaited, LockId, LockKind, Seed, Span, Start, Step, StepContext, Task, TaskId, TaskSpec, Time, Workload,
        WorkloadSource,
    };

    const STEPS: [Step; 7] = [
        Step::Compute(Span(1_000)),
        Step::Lock(LockId(0)),
        Step::Compute(Span(1_000)),
        Step::Sleep(Span(2_000)),
        Step::Unlock(LockId(0)),
        Step::Lock(LockId(1)),
        Step::Compute(Span(1_000)),
    ];

    struct Source(usize);

    impl WorkloadSource for Source {
        fn name(&self) -> &str {
            "locks"
        }
        fn what_varies(&self) -> &str {
            "nothing"
        }
        fn build(&self, _: Seed, _: u32) -> Workload {
            let mut steps = STEPS.into_iter();
            let behaviour = Box::new(move |_: &mut StepContext| steps.next().unwrap_or(Step::Exit));
            let (name, task) = ("a".into(), Task::default());
            let tasks = vec![TaskSpec { name, start: Start::At(Time::ZERO), task, behaviour, judged: true }];
            Workload { tasks, locks: vec![LockKind::Normal; self.0], ..Workload::default() }
        }
        fn name_of(&self, awaited: Awaited) -> Option<String> {
            (awaited == Awaited::Lock(LockId(0))).then(|| "lock \"table\"".into())
        }
    }

    fn edited(text: &str, locks: usize) -> Result<Vec<Step>, String> {
        let mut built = Source(locks).build(Seed(1), 0);
        let edit = Edit::parse(text).map_err(|why| why.to_string())?.expect("an edit");
        work(&[edit], &mut built, &Source(locks), (1, 1)).map_err(|why| why.to_string())?;
        let mut rng = Seed(1).rng();
        let behaviour = &mut built.tasks[0].behaviour;
        let mut next = || behaviour.next(&mut StepContext { now: Time::ZERO, task: TaskId(0), rng: &mut rng });
        Ok(STEPS.iter().map(|_| next()).collect())
    }

    #[test]
    fn what_a_task_does_with_the_lock_is_shorter_and_nothing_else() {
        let mut expected = STEPS;
        (expected[2], expected[3]) = (Step::Compute(Span(750)), Step::Sleep(Span(1_500)));
        assert_eq!(edited("table.hold=75%", 2).unwrap(), expected);
        let mut other = STEPS;
        other[6] = Step::Compute(Span(750));
        assert_eq!(edited("lock-1.hold=75%", 2).unwrap(), other, "a lock without a name");
    }

    #[test]
    fn a_lock_that_is_not_there_is_refused_with_the_nearest() {
        assert!(edited("tabel.hold=75%", 2).unwrap_err().contains("the nearest is \"table\""));
        assert!(edited("table.hold=75%", 0).unwrap_err().contains("the work has no locks"));
        assert!(edited("table.hold=0%", 2).unwrap_err().contains("1% to 1000%"));
    }
}
