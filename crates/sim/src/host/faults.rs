//! Faults of the machine: their plan, stolen CPUs and lost ticks.

use super::Host;
use crate::calendar::{Entry, class};
use goodness_core::{CpuId, FaultKind, MachineFault, Time};

impl Host<'_> {
    /// Puts the planned faults into the calendar.
    pub fn enlist_faults(&mut self, faults: Vec<MachineFault>) {
        for (index, fault) in faults.iter().enumerate() {
            let cpus = self.machine.cpu_count();
            if let Some(cpu) = fault.cpu.filter(|cpu| cpu.index() >= cpus) {
                let last = CpuId(cpus as u32 - 1);
                return self.at_fault(None, format!("a fault is planned for {cpu}, but the machine's last is {last}"));
            }
            self.agenda.calendar.push(fault.at, class::WAKE, Entry::Fault(index as u32));
        }
        self.faults = faults;
    }

    /// A fault begins.
    pub fn fault_begins(&mut self, index: u32) {
        let MachineFault { kind, span, cpu, .. } = self.faults[index as usize];
        let until = self.now() + span;
        let cpus = self.machine.cpu_ids().filter(|it| cpu.is_none_or(|only| only == *it));
        for cpu in cpus {
            match kind {
                FaultKind::Stolen => self.steal(cpu, until),
                FaultKind::Offline => self.goes_offline(cpu, until),
                FaultKind::LostTicks => {
                    let run = &mut self.cpus[cpu.index()];
                    run.without_ticks = run.without_ticks.max(until);
                }
            }
        }
    }

    /// `cpu` does nothing until `until`. Its slice, a timer of its own, ends no sooner than it is back.
    fn steal(&mut self, cpu: CpuId, until: Time) {
        self.settle(cpu);
        let now = self.now();
        let run = &mut self.cpus[cpu.index()];
        let more = until.since(run.stolen.max(now));
        run.stolen = run.stolen.max(until);
        run.working = run.working.max(now) + more;
        run.slice_end = run.slice_end.max(until);
        if let Some(task) = self.referee.current(cpu) {
            self.arm(cpu, task);
        }
    }

    /// True if the tick of `cpu` does not arrive now; one of a stolen CPU comes when it is back.
    pub fn tick_fails(&mut self, cpu: CpuId) -> bool {
        let now = self.now();
        let run = &self.cpus[cpu.index()];
        let next = match (run.stolen > now, run.without_ticks > now) {
            (false, false) => return false,
            (true, _) => run.stolen,
            (false, true) => self.machine.next_tick(now),
        };
        self.agenda.calendar.push(next, class::TICK, Entry::Tick(cpu));
        true
    }

    /// `cpu` is stolen: it sees the request to reschedule when it is back.
    #[cold]
    pub fn reschedule_once_back(&mut self, cpu: CpuId) {
        let run = &self.cpus[cpu.index()];
        self.agenda.calendar.push(run.stolen, class::RESCHEDULE, Entry::Reschedule(cpu, run.ask_stamp));
    }
}
