//! Edits that take a cause of waiting away: CPUs of one's own (`backup.affinity=own`), and less CPU time
//! (`backup.compute=50%`).

use super::{is_meant, wrong};
use crate::refusal::Refusal;
use goodness_core::{Behaviour, CpuId, CpuSet, Span, Step, StepContext, TaskId, TaskSpec, Workload, WorkloadSource};

/// The value of `affinity` that means CPUs of one's own.
pub(crate) const OWN: &str = "own";

/// Part of the CPU time that tasks use, in percent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Percent(pub u32);

impl Percent {
    /// A part as typed: `50%`.
    pub fn parse(text: &str, value: &str) -> Result<Percent, Refusal> {
        let number = value.strip_suffix('%').and_then(|number| number.parse().ok());
        let number = number.filter(|number| (1..=1_000).contains(number)).map(Percent);
        number.ok_or_else(|| wrong(text, &format!("\"{value}\" is no part from 1% to 1000%")))
    }

    pub fn of(self, span: Span) -> Span {
        match span {
            // A task that never stops computing does not with less, either.
            Span::MAX => span,
            Span(ns) => Span((u128::from(ns) * u128::from(self.0) / 100) as u64),
        }
    }
}

/// Shortens what `spec` computes to `part`.
pub(crate) fn compute(spec: &mut TaskSpec, part: Percent) {
    wrap(spec, move |step| match step {
        Step::Compute(span) => Step::Compute(part.of(span)),
        Step::Kernel(span) => Step::Kernel(part.of(span)),
        step => step,
    });
}

/// Gives the tasks that `whom` means the CPUs from `own` on, as many as there were before, and leaves the others where
/// they were. Returns whether any task is meant.
pub(crate) fn apart(
    whom: &str,
    work: &mut Workload,
    source: &dyn WorkloadSource,
    (shared, own): (usize, usize),
) -> bool {
    let cpus = |from: usize| CpuSet::of(&(from as u32..(from + shared) as u32).map(CpuId).collect::<Vec<_>>());
    let mut found = false;
    for (index, spec) in work.tasks.iter_mut().enumerate() {
        if is_meant(whom, &spec.name, source.id_of(TaskId(index as u32))) {
            found = true;
            (spec.task.affinity, spec.task.first_cpu) = (cpus(own), CpuId(own as u32 + spec.task.first_cpu.0));
            let cpus = cpus(own);
            wrap(spec, move |step| match step {
                Step::SetAffinity(_) => Step::SetAffinity(cpus.clone()),
                step => step,
            });
            continue;
        }
        let stay = cpus(0);
        let had_all = (0..shared as u32).all(|cpu| spec.task.affinity.contains(CpuId(cpu)));
        if had_all && shared == own {
            spec.task.affinity = stay.clone();
        }
        wrap(spec, move |step| match step {
            Step::SetAffinity(set) if (0..shared as u32).all(|cpu| set.contains(CpuId(cpu))) => {
                Step::SetAffinity(stay.clone())
            }
            step => step,
        });
    }
    found
}

/// Changes each step of `spec`.
pub(super) fn wrap(spec: &mut TaskSpec, change: impl FnMut(Step) -> Step + Send + 'static) {
    let behaviour = std::mem::replace(&mut spec.behaviour, Box::new(|_: &mut StepContext| Step::Exit));
    spec.behaviour = Box::new(Changed { behaviour, change });
}

/// A behaviour with changed steps.
struct Changed<F> {
    behaviour: Box<dyn Behaviour>,
    change: F,
}

impl<F: FnMut(Step) -> Step + Send> Behaviour for Changed<F> {
    fn next(&mut self, cx: &mut StepContext) -> Step {
        (self.change)(self.behaviour.next(cx))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Edit, machine, work};
    use super::*;
    use goodness_core::{Machine, Rng, Seed, Start, Task, Time};

    struct Source;

    impl WorkloadSource for Source {
        fn name(&self) -> &str {
            "two tasks"
        }

        fn what_varies(&self) -> &str {
            "nothing"
        }

        fn build(&self, _: Seed, _: u32) -> Workload {
            let task = |name: &str, step: Step| TaskSpec {
                name: name.into(),
                start: Start::At(Time::ZERO),
                task: Task::default(),
                behaviour: Box::new(move |_: &mut StepContext| step.clone()),
                judged: true,
            };
            let tasks = vec![task("web", Step::Compute(Span(1_000))), task("backup", Step::SetAffinity(CpuSet::All))];
            Workload { tasks, ..Workload::default() }
        }
    }

    fn edited(text: &str) -> (Machine, Workload) {
        let edits: Vec<Edit> = text.split(' ').map(|it| Edit::parse(it).unwrap().expect("an edit")).collect();
        let before = Machine::flat(2, 250).unwrap();
        let machine = machine(&edits, &before).unwrap();
        let mut built = Source.build(Seed(1), 0);
        work(&edits, &mut built, &Source, (before.cpu_count(), machine.cpu_count())).unwrap();
        (machine, built)
    }

    fn step(spec: &mut TaskSpec) -> Step {
        let mut rng: Rng = Seed(1).rng();
        spec.behaviour.next(&mut StepContext { now: Time::ZERO, task: TaskId(0), rng: &mut rng })
    }

    fn cpus(cpus: &[u32]) -> CpuSet {
        CpuSet::of(&cpus.iter().map(|cpu| CpuId(*cpu)).collect::<Vec<_>>())
    }

    #[test]
    fn cpus_of_ones_own_are_added_and_nobody_else_uses_them() {
        let (machine, mut work) = edited("backup.affinity=own");
        assert_eq!(machine.cpu_count(), 4);
        assert_eq!((&work.tasks[0].task.affinity, &work.tasks[1].task.affinity), (&cpus(&[0, 1]), &cpus(&[2, 3])));
        assert_eq!(step(&mut work.tasks[1]), Step::SetAffinity(cpus(&[2, 3])), "whatever it sets itself");
        let (machine, work) = edited("backup.affinity=own web.affinity=own cpus=3");
        assert_eq!(machine.cpu_count(), 9, "on three shared CPUs each gets three");
        let sets = [&work.tasks[0].task.affinity, &work.tasks[1].task.affinity];
        assert_eq!(sets, [&cpus(&[6, 7, 8]), &cpus(&[3, 4, 5])]);
    }

    #[test]
    fn a_task_computes_the_part_of_its_work_that_an_edit_leaves() {
        let (_, mut work) = edited("web.compute=75%");
        assert_eq!(step(&mut work.tasks[0]), Step::Compute(Span(750)));
        let forever = Percent(50).of(Span::MAX);
        assert_eq!(forever, Span::MAX, "half of forever is forever");
        for wrong in ["web.compute=half", "web.compute=0%", "web.compute=2000%"] {
            assert!(Edit::parse(wrong).unwrap_err().to_string().contains("1% to 1000%"), "{wrong}");
        }
        assert!(Edit::fact("web.compute=50%").is_err(), "no fact about a recording");
    }
}
