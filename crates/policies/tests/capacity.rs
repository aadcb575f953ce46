//! The fair classes on CPUs of unequal capacity: specs/smp.md sections 2.1, 3.4, 3.8, 4.4 and 4.7.

mod harness;

use goodness_core::*;
use harness::{History, MS, hog, run_of, stretches, task};

/// Two slow CPUs and two fast ones, which share a cache.
fn unequal(slow: u32) -> Machine {
    let cpu = |core| Cpu { core, cache: 0, node: 0, capacity: if core < 2 { slow } else { 1024 } };
    Machine::new("unequal", (0..4).map(cpu).collect(), 250).expect("a machine")
}

fn run(policy: &str, machine: &Machine, tasks: Vec<TaskSpec>, ms: u64) -> History {
    run_of(goodness_policies::entry(policy).expect("a policy"), machine, &[], tasks, MS(ms))
}

/// `steps` without end, from CPU 0 on.
fn from_slow(steps: &[Step]) -> TaskSpec {
    let (steps, mut at) = (steps.to_vec(), 0);
    let mut spec = task(&[]);
    spec.task.affinity = CpuSet::of(&[CpuId(0)]);
    spec.behaviour = Box::new(move |_: &mut StepContext| {
        at += 1;
        if at == 1 { Step::SetAffinity(CpuSet::All) } else { steps[(at - 2) % steps.len()].clone() }
    });
    spec
}

/// Moves to another CPU: when, and where to.
fn moves(history: &History) -> Vec<(u64, CpuId)> {
    let moves = history.iter().filter_map(|(at, event)| match event {
        Event::Migrate { to, .. } => Some((at.0 / 1_000_000, *to)),
        _ => None,
    });
    moves.collect()
}

/// specs/smp.md sections 2.1 and 4.7: a slow CPU does less in the same time.
#[test]
fn work_takes_longer_on_a_slow_cpu() {
    let end = |cpu: u32| {
        let mut once = task(&[Step::Compute(MS(100))]);
        once.task.affinity = CpuSet::of(&[CpuId(cpu)]);
        let history = run("eevdf", &unequal(512), vec![once], 1_000);
        stretches(&history, MS(1_000)).last().map(|(_, _, _, until)| until.0 / 1_000_000)
    };
    assert_eq!([end(0), end(2)], [Some(200), Some(100)]);
}

/// specs/smp.md sections 3.4, 3.8 and 4.7: a task that does not fit its CPU is moved to an idle larger one although it
/// runs. Half a second suffices, once its utilisation is above 80 %. Controls: it stays among equal CPUs, if it fits,
/// and on a slow CPU if no larger one may run it.
#[test]
fn a_task_too_large_for_its_cpu_moves_to_a_larger_one() {
    for policy in ["eevdf", "cfs"] {
        let moved = moves(&run(policy, &unequal(446), vec![from_slow(&[Step::Compute(Span::MAX)])], 2_000));
        assert!(matches!(moved[..], [(ms, to)] if ms < 500 && to >= CpuId(2)), "{policy}: {moved:?}");
        let equal = Machine::flat(4, 250).expect("a machine");
        assert_eq!(moves(&run(policy, &equal, vec![from_slow(&[Step::Compute(Span::MAX)])], 2_000)), [], "{policy}");
        let light = from_slow(&[Step::Compute(MS(1)), Step::Sleep(MS(19))]);
        assert_eq!(moves(&run(policy, &unequal(446), vec![light], 2_000)), [], "{policy}: it fits");
        let mut bound = hog();
        bound.task.affinity = CpuSet::of(&[CpuId(0), CpuId(1)]);
        assert_eq!(moves(&run(policy, &unequal(446), vec![bound], 2_000)), [], "{policy}: nowhere to go");
    }
}

/// specs/smp.md section 4.7: nothing is gained where the larger CPUs are busy.
#[test]
fn a_task_too_large_stays_while_the_larger_cpus_are_busy() {
    let mut tasks = vec![from_slow(&[Step::Compute(Span::MAX)])];
    for cpu in [2, 3] {
        let mut bound = hog();
        bound.task.affinity = CpuSet::of(&[CpuId(cpu)]);
        tasks.push(bound);
    }
    assert_eq!(moves(&run("eevdf", &unequal(446), tasks, 2_000)), []);
}

/// specs/smp.md section 4.4, step 5: a large task does not wake on a slow CPU, idle as it is. The control is a small
/// one.
#[test]
fn a_woken_task_finds_an_idle_cpu_that_it_fits() {
    let last = |steps: &[Step]| {
        let history = run("eevdf", &unequal(446), vec![from_slow(steps)], 2_000);
        stretches(&history, MS(2_000)).last().map(|(_, cpu, _, _)| cpu.0 >= 2)
    };
    assert_eq!(last(&[Step::Compute(MS(20)), Step::Sleep(MS(4))]), Some(true));
    assert_eq!(last(&[Step::Compute(MS(1)), Step::Sleep(MS(19))]), Some(false));
}

/// specs/smp.md section 3.4: as many hogs as large CPUs end up on these, wherever they began; one more than that leaves
/// none of them idle.
#[test]
fn hogs_use_the_large_cpus_first() {
    for count in [1, 2, 3] {
        let tasks = (0..count).map(|_| from_slow(&[Step::Compute(Span::MAX)])).collect();
        let history = run("eevdf", &unequal(446), tasks, 3_000);
        let at_end: Vec<u32> = stretches(&history, MS(3_000))
            .iter()
            .filter(|(_, _, _, until)| until.0 == 3_000_000_000)
            .map(|(_, cpu, _, _)| cpu.0)
            .collect();
        let large = at_end.iter().filter(|cpu| **cpu >= 2).count();
        assert_eq!(large, count.min(2), "{count} hogs: {at_end:?}");
    }
}
