//! Threads of a machine's kernel, as tasks beside the work.

use goodness_core::{
    CpuId, CpuSet, Machine, Seed, Span, Start, Step, StepContext, Task, TaskSpec, Time, Workers, Workload,
};
use std::sync::Arc;

/// Adds the threads of `machine`'s kernel to `work`, each not judged, the pinned ones on the first `cpus` CPUs.
pub fn add(work: &mut Workload, machine: &Machine, cpus: usize, seed: Seed) {
    add_workers(work, machine, cpus, seed);
    if let Some(run) = machine.rcu_run {
        let pinned = machine.cpu_ids().take(cpus);
        work.tasks.push(reaper("rcu_preempt".into(), CpuSet::All, CpuId(0), run));
        work.tasks.extend(pinned.map(|cpu| reaper(format!("kworker/{}:1", cpu.0), CpuSet::of(&[cpu]), cpu, run)));
        work.reapers = cpus + 1;
        work.workers += work.reapers;
    }
}

/// A thread that sleeps until the host wakes it, because a task has ended.
fn reaper(name: String, affinity: CpuSet, first_cpu: CpuId, run: Span) -> TaskSpec {
    let mut has_run = false;
    let behaviour = move |_: &mut StepContext| {
        has_run = !has_run;
        if has_run { Step::Compute(run) } else { Step::SleepUntil(Time::NEVER) }
    };
    let task = Task { first_cpu, affinity, address_space: None, ..Task::default() };
    TaskSpec { name, start: Start::WokenAt(Time::NEVER), task, behaviour: Box::new(behaviour), judged: false }
}

/// `kworker/0` on CPU 0 and so on. Each wakes after a tick, and its sleeps before that tick are exponentially
/// distributed, drawn from `seed`.
fn add_workers(work: &mut Workload, machine: &Machine, cpus: usize, seed: Seed) {
    let Some(workers) = machine.workers else { return };
    let machine = Arc::new(machine.clone());
    for cpu in machine.cpu_ids().take(cpus) {
        let mut rng = seed.stream("worker", u64::from(cpu.0)).rng();
        let first = wake_up(&machine, Time::ZERO, rng.exponential(workers.every.0));
        work.tasks.push(worker(machine.clone(), workers, cpu, first));
    }
    work.workers += cpus;
}

/// A thread wakes so long after a tick, which is served first.
const AFTER_TICK: Span = Span(1);

/// Time at which a thread wakes that would wake `after` ns from `now`: after a tick.
fn wake_up(machine: &Machine, now: Time, after: u64) -> Time {
    machine.next_tick(now + Span(after)) + AFTER_TICK
}

fn worker(machine: Arc<Machine>, workers: Workers, cpu: CpuId, first: Time) -> TaskSpec {
    let mut has_run = false;
    let behaviour = move |cx: &mut StepContext| {
        has_run = !has_run;
        match has_run {
            true => Step::Compute(workers.run),
            false => Step::SleepUntil(wake_up(&machine, cx.now, cx.rng.exponential(workers.every.0))),
        }
    };
    let affinity = CpuSet::of(&[cpu]);
    let task = Task { first_cpu: cpu, affinity, address_space: None, ..Task::default() };
    let name = format!("kworker/{}", cpu.0);
    TaskSpec { name, start: Start::WokenAt(first), task, behaviour: Box::new(behaviour), judged: false }
}

#[cfg(test)]
mod tests {
    use super::*;
    use goodness_core::{Behaviour, TaskId};

    fn added(every: Span, seed: u64) -> Workload {
        let mut machine = Machine::flat(3, 250).unwrap();
        machine.workers = Some(Workers { every, run: Span::from_us(50) });
        let mut work = Workload::default();
        add(&mut work, &machine, 3, Seed(seed));
        work
    }

    /// Times from one wake-up to the next, as long as `count` of them.
    fn pauses(behaviour: &mut dyn Behaviour, count: usize) -> Vec<Span> {
        let mut rng = Seed(7).stream("test", 0).rng();
        let mut now = Time::ZERO;
        let mut next = |now| behaviour.next(&mut StepContext { now, task: TaskId(0), rng: &mut rng });
        let mut pause = || {
            assert_eq!(next(now), Step::Compute(Span::from_us(50)));
            let Step::SleepUntil(at) = next(now + Span::from_us(50)) else { panic!("it sleeps") };
            at.since(std::mem::replace(&mut now, at))
        };
        (0..count).map(|_| pause()).collect()
    }

    #[test]
    fn each_cpu_has_a_thread_that_nobody_judges_and_that_runs_nowhere_else() {
        let work = added(Span::from_ms(900), 1);
        let told = |it: &TaskSpec| (it.name.clone(), it.judged, it.task.affinity.clone(), it.task.address_space);
        let told: Vec<_> = work.tasks.iter().map(told).collect();
        let expected = |cpu: u32| (format!("kworker/{cpu}"), false, CpuSet::of(&[CpuId(cpu)]), None);
        assert_eq!((told, work.workers), ((0..3).map(expected).collect(), 3));
        let starts = |seed| added(Span::from_ms(900), seed).tasks.iter().map(|it| it.start).collect::<Vec<_>>();
        assert!(starts(1) == starts(1) && starts(1) != starts(2), "they are drawn from the seed");
    }

    #[test]
    fn a_thread_wakes_just_after_ticks_and_as_often_as_it_should() {
        let mut work = added(Span::from_ms(900), 1);
        let all = pauses(&mut *work.tasks[0].behaviour, 4_000);
        assert!(all[1..].iter().all(|it| it.0 % 4_000_000 == 0), "from tick to tick");
        let mean = all.iter().map(|it| it.0 as f64 / 1e9).sum::<f64>() / all.len() as f64;
        assert!((0.86..0.94).contains(&mean), "900 ms, half a tick and the run: {mean}");
    }

    #[test]
    fn threads_that_follow_the_end_of_a_task_sleep_until_they_are_woken() {
        let mut machine = Machine::flat(2, 250).unwrap();
        machine.rcu_run = Some(Span::from_us(10));
        let mut work = Workload::default();
        add(&mut work, &machine, 2, Seed(1));
        let told = |it: &TaskSpec| (it.name.clone(), it.judged, it.task.affinity.clone(), it.start);
        let told: Vec<_> = work.tasks.iter().map(told).collect();
        let expected = |name: &str, cpus| (name.to_string(), false, cpus, Start::WokenAt(Time::NEVER));
        let pinned = |cpu| expected(&format!("kworker/{cpu}:1"), CpuSet::of(&[CpuId(cpu)]));
        assert_eq!(told, [expected("rcu_preempt", CpuSet::All), pinned(0), pinned(1)]);
        assert_eq!((work.workers, work.reapers), (3, 3));
        let mut rng = Seed(7).stream("test", 0).rng();
        let mut next =
            || work.tasks[0].behaviour.next(&mut StepContext { now: Time(5), task: TaskId(0), rng: &mut rng });
        assert_eq!([next(), next()], [Step::Compute(Span::from_us(10)), Step::SleepUntil(Time::NEVER)]);
    }

    #[test]
    fn a_machine_without_such_threads_adds_none() {
        let mut work = Workload::default();
        add(&mut work, &Machine::flat(3, 250).unwrap(), 3, Seed(1));
        assert_eq!((work.tasks.len(), work.workers), (0, 0));
    }
}
