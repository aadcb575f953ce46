//! CPUs of groups under every policy: docs/specs/groups-locks.md section 3.

mod harness;

use goodness_core::*;
use harness::*;

fn only(cpu: u32) -> CpuSet {
    CpuSet::of(&[CpuId(cpu)])
}

fn confined(cpus: CpuSet) -> (Groups, GroupId) {
    let mut groups = Groups::default();
    let group = groups.add(Group { cpus, ..Group::new("confined", GroupId::ROOT) });
    (groups, group)
}

fn within(group: GroupId, affinity: CpuSet, mut spec: TaskSpec) -> TaskSpec {
    (spec.task.group, spec.task.affinity) = (group, affinity);
    spec
}

/// CPU time of `task` on a CPU, in ms.
fn on(history: &History, until: Span, task: u32, cpu: u32) -> u64 {
    let here = |it: &&(Time, CpuId, TaskId, Time)| it.2.0 == task && it.1.0 == cpu;
    stretches(history, until).iter().filter(here).map(|it| (it.3.0 - it.0.0) / 1_000_000).sum()
}

fn run_under(policy: &str, cpus: u32, work: (Groups, Vec<TaskSpec>), until: Span) -> History {
    let entry = goodness_policies::entry(policy).expect("a policy");
    run_in_groups(entry, &Machine::flat(cpus, 1000).unwrap(), &[], work, until)
}

#[test]
fn tasks_stay_on_the_cpus_of_their_group_under_every_policy() {
    for about in goodness_policies::ALL {
        let (groups, group) = confined(only(1));
        let sleeper = cycle(&[Step::Compute(MS(2)), Step::Sleep(MS(3))]);
        let tasks = vec![within(group, CpuSet::All, hog()), within(group, CpuSet::All, sleeper)];
        let history = run_under(about.name, 3, (groups, tasks), MS(200));
        let strays = stretches(&history, MS(200)).iter().filter(|it| it.1 != CpuId(1)).count();
        assert_eq!(strays, 0, "{}", about.name);
        assert!(on(&history, MS(200), 0, 1) > 0, "{}", about.name);
    }
}

/// The negative control: without a cpuset the two use two CPUs.
#[test]
fn without_a_cpuset_they_use_several_cpus() {
    for policy in ["cfs", "eevdf", "rr", "o1"] {
        let (groups, group) = confined(CpuSet::All);
        let tasks = vec![within(group, CpuSet::All, hog()), within(group, CpuSet::All, hog())];
        let history = run_under(policy, 2, (groups, tasks), MS(200));
        assert!((0..2).all(|cpu| on(&history, MS(200), 0, cpu) + on(&history, MS(200), 1, cpu) > 150), "{policy}");
    }
}

#[test]
fn a_task_uses_what_it_asks_for_and_its_group_may_or_else_all_of_its_group() {
    for about in goodness_policies::ALL {
        for (asked, used) in [(&[1, 2][..], 1), (&[2], 1)] {
            let (groups, group) = confined(only(1));
            let asked = CpuSet::of(&asked.iter().copied().map(CpuId).collect::<Vec<_>>());
            let history = run_under(about.name, 3, (groups, vec![within(group, asked, hog())]), MS(50));
            assert_eq!(on(&history, MS(50), 0, used), 50, "{}", about.name);
        }
    }
}

/// A task that runs on a CPU which its new group may not use moves at once; back in the root group it has the affinity
/// that it asked for before.
#[test]
fn a_running_task_leaves_a_forbidden_cpu_at_once_and_keeps_what_it_asked_for() {
    for about in goodness_policies::ALL {
        let (groups, group) = confined(only(1));
        let steps = [
            Step::Compute(MS(10)),
            Step::SetGroup(group),
            Step::Compute(MS(10)),
            Step::SetGroup(GroupId::ROOT),
            Step::SetAffinity(only(0)),
            Step::Compute(MS(10)),
        ];
        let history = run_under(about.name, 2, (groups, vec![within(GroupId::ROOT, only(0), task(&steps))]), MS(60));
        assert_eq!(schedule_of(&history, MS(60)), "a 0..10  a@1 10..20  a 20..30", "{}", about.name);
        let (groups, group) = confined(only(1));
        let steps = [
            Step::SetGroup(group),
            Step::Compute(MS(10)),
            Step::SetGroup(GroupId::ROOT),
            Step::Sleep(MS(1)),
            Step::Compute(MS(10)),
        ];
        let history = run_under(about.name, 2, (groups, vec![within(GroupId::ROOT, only(0), task(&steps))]), MS(60));
        assert_eq!([0, 1].map(|cpu| on(&history, MS(60), 0, cpu)), [10, 10], "{}: its own mask", about.name);
    }
}

#[test]
fn a_group_without_a_cpu_of_the_machine_is_refused() {
    let (groups, group) = confined(only(5));
    let tasks = vec![within(group, CpuSet::All, hog())];
    let (machine, options) = (one_cpu(1000), goodness_sim::Options::default());
    let made = (goodness_policies::entry("rr").unwrap().make)(&machine, &[], options.seed).unwrap();
    let work = Workload { tasks, groups, horizon: Some(Time(1_000_000)), ..Workload::default() };
    let why = goodness_sim::simulate_with(&machine, made, work, None, &mut (), options).unwrap_err().to_string();
    assert!(why.contains("may use no CPU of this machine"), "{why}");
}
