//! Begins anew where an excerpt of a trace begins, with the state at that time.

use super::{Moment, Repairer};
use crate::event::{Origin, Record, SchedEvent};
use crate::prev_state::PrevState;
use crate::record_consumer::RecordConsumer;
use crate::repairs::Repairs;
use goodness_core::{CpuId, Time};

/// Kernel priority of the idle task.
const IDLE_PRIO: i16 = 120;

impl Repairer {
    /// What comes from `at` on is kept: records and repairs are counted anew, and each CPU's running task is switched
    /// in. Where its priority is unknown, its next event shows who it is.
    pub fn begin_anew(&mut self, at: u64, consumer: &mut impl RecordConsumer) {
        self.repairs = Repairs::default();
        (self.records, self.wakings, self.switches) = (0, 0, 0);
        for state in &mut self.states {
            state.left.next_record = 0;
            state.woken = state.woken.map(|(woken, _)| (woken, 0));
        }
        for (cpu, state) in (0..).zip(&mut self.cpus) {
            state.last = Moment { at, next_record: 0, inferred: false };
            if let (Some(Some(next)), Some(next_prio)) = (state.running, state.prio) {
                let (prev_prio, prev_state) = (IDLE_PRIO, PrevState::RUNNABLE);
                let event = SchedEvent::Switch { prev: None, next: Some(next), prev_prio, next_prio, prev_state };
                let record = Record { at: Time(at), cpu: CpuId(cpu), event, origin: Origin::Repaired };
                consumer.record(&record, &self.tasks);
                self.records += 1;
            }
        }
    }
}
