//! Rejects workloads that a running kernel cannot play, before anything starts.

use super::PlayError;
use goodness_core::{Class, CpuId, CpuSet, LockKind, Task, TaskId, Workload};

/// Most tasks of a play. A choice: each is a thread, and a machine has at least 32 768 thread ids.
pub const TASKS_MAX: usize = 2_048;

/// Refuses a workload that threads of this machine cannot play. Its CPU n is the n-th of `cpus`.
///
/// # Errors
/// The first such task, with the reason.
pub fn check(work: &Workload, cpus: &[CpuId]) -> Result<(), PlayError> {
    if !work.storage.disks.is_empty() {
        return Err(PlayError::refused(
            None,
            "its disks are models that exist in the simulator only; leave out the disks and what reads and writes",
        ));
    }
    let all = work.tasks.len() + work.outside.len();
    if all > TASKS_MAX {
        let why = format!("{all} tasks are more than the {TASKS_MAX} threads of a play; lower a count");
        return Err(PlayError::refused(None, why));
    }
    if let Some(kind) = work.locks.iter().find(|kind| !matches!(kind, LockKind::Normal | LockKind::Fifo)) {
        let why = format!("a lock of the kind {} exists in the simulator only; take mutex or fifo", kind.name());
        return Err(PlayError::refused(None, why));
    }
    for (index, spec) in work.tasks.iter().enumerate() {
        let wrong = unplayable(&spec.task).or_else(|| stranded(&spec.task.affinity, cpus));
        if let Some(why) = wrong {
            let sentence = format!("task \"{}\": {why}", spec.name);
            return Err(PlayError::refused(Some(TaskId(index as u32)), sentence));
        }
    }
    Ok(())
}

/// Reason the kernel cannot run this task, if any.
fn unplayable(task: &Task) -> Option<String> {
    let class = class_number(task.class, libc::SCHED_OTHER).err();
    let other = match task {
        Task { priority: Some(_), .. } => Some("priority is one of another system; Linux knows nice and rt_priority"),
        Task { tickets: Some(_), .. } => Some("Linux knows no tickets; give it a nice"),
        Task { reservation: Some(_), .. } => Some("reservations are not played; leave it out"),
        Task { slice: Some(_), class, .. } if class.is_realtime() || *class == Class::Idle => {
            Some("the kernel takes a slice from the classes normal and batch only")
        }
        _ => None,
    };
    class.or(other.map(String::from))
}

/// Reason no CPU is left for a task, if so.
pub fn stranded(wanted: &CpuSet, cpus: &[CpuId]) -> Option<String> {
    allowed(wanted, cpus).is_empty().then(|| {
        let last = cpus.len().saturating_sub(1);
        format!("its affinity names none of the CPUs 0 to {last} of this machine; change it")
    })
}

/// The CPUs of this machine for a set from the file: CPU n of the file is the n-th of `cpus`.
pub fn allowed(wanted: &CpuSet, cpus: &[CpuId]) -> Vec<CpuId> {
    let numbered = cpus.iter().enumerate();
    numbered.filter(|(n, _)| wanted.contains(CpuId(*n as u32))).map(|(_, cpu)| *cpu).collect()
}

/// The kernel's number of a class; `normal` for the one that ordinary tasks are to have.
///
/// # Errors
/// The classes a running kernel does not offer.
pub fn class_number(class: Class, normal: i32) -> Result<i32, String> {
    match class {
        Class::Normal => Ok(normal),
        Class::Batch => Ok(libc::SCHED_BATCH),
        Class::Idle => Ok(libc::SCHED_IDLE),
        Class::Fifo => Ok(libc::SCHED_FIFO),
        Class::RoundRobin => Ok(libc::SCHED_RR),
        Class::Iso => Err("class iso never was in a released kernel; take normal or rr".into()),
        Class::Deadline => Err("class deadline is not played; take fifo, rr or normal".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use goodness_core::{DiskSpec, Start, Step, StepContext, StorageSpec, TaskSpec, Time};

    const CPUS: [CpuId; 2] = [CpuId(3), CpuId(5)];

    fn refusal(task: Task) -> Option<String> {
        let behaviour = Box::new(|_: &mut StepContext| Step::Exit);
        let spec = TaskSpec { name: "a".into(), start: Start::At(Time::ZERO), task, behaviour, judged: true };
        let work = Workload { tasks: vec![spec], ..Workload::default() };
        check(&work, &CPUS).err().map(|error| {
            assert_eq!(error.task(), Some(TaskId(0)));
            error.to_string()
        })
    }

    #[test]
    fn cpu_n_of_the_file_is_the_nth_that_may_be_used() {
        assert_eq!(allowed(&CpuSet::of(&[CpuId(1)]), &CPUS), [CpuId(5)]);
        assert_eq!(allowed(&CpuSet::All, &CPUS), CPUS);
        let task = Task { affinity: CpuSet::of(&[CpuId(2)]), ..Task::default() };
        assert!(refusal(task).is_some_and(|why| why.contains("none of the CPUs 0 to 1")));
    }

    #[test]
    fn what_a_kernel_does_not_have_is_refused_with_the_task() {
        let task = Task::default;
        assert_eq!(refusal(task()), None);
        assert!(refusal(Task { class: Class::Iso, ..task() }).is_some());
        assert!(refusal(Task { class: Class::Deadline, ..task() }).is_some());
        assert!(refusal(Task { priority: Some(9), ..task() }).is_some());
        assert!(refusal(Task { tickets: Some(9), ..task() }).is_some());
        let slice = Some(goodness_core::Span::from_ms(1));
        assert!(refusal(Task { slice, class: Class::Fifo, ..task() }).is_some_and(|why| why.contains("slice")));
        assert_eq!(refusal(Task { slice, ..task() }), None);
    }

    #[test]
    fn disks_are_refused() {
        let disk = DiskSpec::of("d", "null");
        let storage = StorageSpec { disks: vec![disk], ..StorageSpec::default() };
        let refused = check(&Workload { storage, ..Workload::default() }, &CPUS).unwrap_err();
        assert!(refused.to_string().contains("disks"));
    }
}
