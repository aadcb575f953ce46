//! Infers switches that are missing in the trace.
//!
//! Every line names the task running on its CPU. If that is not the task of the last switch, a switch between the CPU's
//! last two lines is missing. It is inserted
//!
//! - where the new task was woken, if that is in between;
//! - directly after the earlier line, if the new task was already waiting and the CPU was idle or about to switch;
//! - else in the middle, as nothing more is known.
//!
//! The replaced task counts as asleep if it was woken in between. Otherwise its next event decides: running without a
//! waking means it was preempted.

use super::{CpuState, Moment, Repairer, Standing};
use crate::event::{Origin, Record, SchedEvent};
use crate::prev_state::PrevState;
use crate::record_consumer::RecordConsumer;
use crate::repairs::Repair;
use goodness_core::{CpuId, TaskId, Time};
use std::ops::Range;

impl Repairer {
    /// A line proves that `task` runs on `cpu`.
    pub(super) fn now_running(
        &mut self,
        cpu: u32,
        task: Option<TaskId>,
        prio: Option<i16>,
        at: u64,
        line: u64,
        consumer: &mut impl RecordConsumer,
    ) {
        let running = self.cpus[cpu as usize].running;
        if running == Some(task) {
            return;
        }
        if let Some(task) = task
            && let Standing::Running(other) = self.states[task.index()].standing
            && other != cpu
        {
            self.repairs.add(Repair::TwoPlaces, 1, line);
            self.put_switch(other, None, None, at, consumer);
        }
        // Of a CPU without a line so far, a task that was woken since the trace began did not run there from its start.
        let has_come = |task: TaskId| self.states[task.index()].standing == Standing::Runnable;
        if running.is_some() || task.is_some_and(has_come) {
            self.repairs.add(Repair::MissingSwitch, 1, line);
            self.put_switch(cpu, task, prio, at, consumer);
        } else if let Some(task) = task {
            self.states[task.index()].standing = Standing::Running(cpu);
        }
        self.cpus[cpu as usize].running = Some(task);
        self.cpus[cpu as usize].prio = prio;
    }

    /// Inserts the missing switch on `cpu` from its running task to `next`, which must have happened before `now`.
    pub(super) fn put_switch(
        &mut self,
        cpu: u32,
        next: Option<TaskId>,
        next_prio: Option<i16>,
        now: u64,
        consumer: &mut impl RecordConsumer,
    ) {
        let state = self.cpus[cpu as usize];
        let prev = state.running.flatten();
        // Events have 0 where it is unknown.
        let [prev_prio, next_prio_or_0] = [state.prio, next_prio].map(Option::unwrap_or_default);
        let (at, place) = self.arrival(&state, next, now);
        let slept = prev.and_then(|t| self.states[t.index()].woken).filter(|woken| state.last.precedes(*woken));
        let prev_state = match (prev, slept) {
            (None, _) => PrevState::RUNNABLE,
            (Some(_), Some(_)) => PrevState::SLEEPING,
            (Some(_), None) => PrevState::UNKNOWN,
        };
        if let Some(task) = prev {
            let state = &mut self.states[task.index()];
            state.standing = if slept.is_some() { Standing::Runnable } else { Standing::Unknown };
            state.woken_early = false;
        }
        let switch = |prev, prev_prio, prev_state, next, next_prio| SchedEvent::Switch {
            prev,
            next,
            prev_prio,
            next_prio,
            prev_state,
        };
        let at = match slept.filter(|(_, record)| *record < place.end) {
            Some((woken, record)) => {
                // It slept before it was woken: a task that comes later finds the CPU idle.
                self.emit_late(woken, cpu, switch(prev, prev_prio, prev_state, None, 120), record..record, consumer);
                self.left(prev, Moment { at: woken, next_record: record, inferred: false });
                let (at, start) = (at.max(woken), place.start.max(record));
                let from_idle = switch(None, 120, PrevState::RUNNABLE, next, next_prio_or_0);
                self.emit_late(at, cpu, from_idle, start..place.end, consumer);
                at
            }
            None => {
                self.left(prev, Moment { at, next_record: place.start, inferred: true });
                self.emit_late(at, cpu, switch(prev, prev_prio, prev_state, next, next_prio_or_0), place, consumer);
                at
            }
        };
        self.begin_stretch(cpu, next, next_prio, at);
    }

    fn left(&mut self, task: Option<TaskId>, when: Moment) {
        if let Some(task) = task {
            self.states[task.index()].left = when;
        }
    }

    /// Inferred time at which `next` came to the CPU, and the records between which that lies.
    fn arrival(&self, cpu: &CpuState, next: Option<TaskId>, now: u64) -> (u64, Range<u64>) {
        let state = next.map(|t| self.states[t.index()]).unwrap_or_default();
        // Not before the CPU's last line, and not while the task was still elsewhere.
        let (from, start) = (cpu.last.at.max(state.left.at), cpu.last.next_record.max(state.left.next_record));
        match state.woken.filter(|_| state.standing == Standing::Runnable) {
            Some(woken) if cpu.last.precedes(woken) && state.left.precedes(woken) => {
                (woken.0, woken.1 + 1..woken.1 + 1)
            }
            Some(_) if cpu.resched || cpu.running == Some(None) => (from, start..self.records),
            _ => (from + now.saturating_sub(from) / 2, start..self.records),
        }
    }

    /// `next` runs on `cpu` since `at`; what else is put in there comes later.
    fn begin_stretch(&mut self, cpu: u32, next: Option<TaskId>, prio: Option<i16>, at: u64) {
        let state = &mut self.cpus[cpu as usize];
        state.last = Moment { at, inferred: true, ..state.last };
        state.resched = false;
        state.running = Some(next);
        state.prio = prio;
        if let Some(task) = next {
            self.states[task.index()].standing = Standing::Running(cpu);
        }
    }

    /// Emits an inferred record that belongs between others. It has no number.
    fn emit_late(
        &mut self,
        at: u64,
        cpu: u32,
        event: SchedEvent,
        place: Range<u64>,
        consumer: &mut impl RecordConsumer,
    ) {
        if matches!(event, SchedEvent::Switch { prev, next, .. } if prev == next) {
            return;
        }
        let record = Record { at: Time(at), cpu: CpuId(cpu), event, origin: Origin::Repaired };
        consumer.late(&record, place, &self.tasks);
    }
}
