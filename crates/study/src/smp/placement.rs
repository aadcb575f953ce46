//! Where tasks run on a machine with threads, caches or nodes: whether they share cores while others are free, and how
//! unevenly they use two caches or nodes. Measured on the schedules of plays and runs alike.

use goodness_core::{CpuId, Level, Machine, Time};
use goodness_report::timeline::Slice;
use std::collections::BTreeMap;

/// The groups of CPUs that are compared: two caches or nodes, if the machine has two.
fn halves(machine: &Machine) -> Option<[&[CpuId]; 2]> {
    let groups = machine.groups(Level::Cache);
    if let [one, other] = groups { Some([one, other]) } else { None }
}

/// `shared_cores` of a machine with threads, `lopsided` of one with two caches, between `from` and `to`; `slices` are
/// those of the load's tasks.
#[must_use]
pub fn of_slices<'a>(
    machine: &Machine,
    slices: impl Iterator<Item = &'a Slice>,
    from: Time,
    to: Time,
) -> BTreeMap<String, f64> {
    let clipped = |at: u64| at.clamp(from.0, to.0);
    // A slice of no length would begin after it has ended.
    let within = slices.filter(|it| clipped(it.start) < clipped(it.end));
    let mut changes: Vec<(u64, bool, CpuId)> =
        within.flat_map(|it| [(clipped(it.start), true, it.cpu), (clipped(it.end), false, it.cpu)]).collect();
    changes.push((to.0, false, CpuId(0)));
    // A CPU that passes from one task to the next is never free: the end of a slice comes before the next begins.
    changes.sort_unstable();
    let (mut busy, mut before) = (vec![false; machine.cpu_count()], from.0);
    let (mut shared, mut uneven) = (0, 0);
    for (at, begins, cpu) in changes {
        let passed = at - before;
        before = at;
        if passed > 0 {
            shared += if shares_needlessly(machine, &busy) { passed } else { 0 };
            uneven += passed * difference(machine, &busy);
        }
        busy[cpu.index()] = begins;
    }
    let percent = |time: u64| 100.0 * time as f64 / to.since(from).0 as f64;
    let mut figures = BTreeMap::new();
    if machine.groups(Level::Smt).len() < machine.cpu_count() {
        figures.insert("shared_cores".into(), percent(shared));
    }
    if halves(machine).is_some() {
        figures.insert("lopsided".into(), percent(uneven));
    }
    figures
}

/// True if two threads of a core are busy and those of another core are not.
fn shares_needlessly(machine: &Machine, busy: &[bool]) -> bool {
    let used = |core: &[CpuId]| core.iter().filter(|cpu| busy[cpu.index()]).count();
    let cores = machine.groups(Level::Smt);
    cores.iter().any(|core| used(core) > 1) && cores.iter().any(|core| used(core) == 0)
}

/// By how many busy CPUs the two halves of the machine differ.
fn difference(machine: &Machine, busy: &[bool]) -> u64 {
    let used = |half: &[CpuId]| half.iter().filter(|cpu| busy[cpu.index()]).count() as u64;
    halves(machine).map_or(0, |[one, other]| used(one).abs_diff(used(other)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use goodness_core::TaskId;
    use goodness_work::machine::parse_machine;

    fn figures(machine: &str, slices: &[(u32, u64, u64)]) -> BTreeMap<String, f64> {
        let slice = |&(cpu, start, end): &(u32, u64, u64)| Slice {
            task: TaskId(cpu),
            cpu: CpuId(cpu),
            start,
            end,
            waited: 0,
            woken: None,
            off: None,
        };
        let slices: Vec<Slice> = slices.iter().map(slice).collect();
        of_slices(&parse_machine(machine).unwrap(), slices.iter(), Time(100), Time(200))
    }

    #[test]
    fn a_core_is_shared_needlessly_while_another_is_free() {
        let of = |slices: &[(u32, u64, u64)]| figures("cpus=4,smt=2", slices)["shared_cores"];
        assert_eq!(of(&[(0, 0, 200), (1, 150, 300)]), 50.0);
        assert_eq!(of(&[(0, 0, 200), (2, 0, 300)]), 0.0, "cores of their own");
        assert_eq!(of(&[(0, 0, 200), (1, 0, 200), (3, 120, 200)]), 20.0, "three have to share");
        assert_eq!(of(&[(0, 0, 150), (0, 150, 200), (1, 0, 200)]), 100.0, "one task follows another");
        assert_eq!(of(&[(0, 0, 200), (1, 0, 100), (1, 200, 300)]), 0.0, "before and after");
    }

    #[test]
    fn two_caches_are_used_evenly_or_not() {
        let of = |slices: &[(u32, u64, u64)]| figures("cpus=4,cache=2", slices)["lopsided"];
        assert_eq!(of(&[(0, 0, 200), (1, 100, 200)]), 200.0);
        assert_eq!(of(&[(0, 0, 200), (2, 150, 200)]), 50.0);
        assert_eq!(figures("cpus=4", &[(0, 0, 200)]), BTreeMap::new(), "nothing to compare");
    }
}
