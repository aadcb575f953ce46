//! Jobs that depend on each other while they run: those that end together (`exitall`) and those of one flow (`flow`).

use super::job::{Ends, FioJob, Flow};
use goodness_core::Span;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

/// Pause of a job ahead of its flow that names none. fio asks again at once. A choice, short beside most I/Os.
const ASK_AGAIN: Span = Span::from_us(10);

/// Weights and I/Os of the jobs of one flow.
#[derive(Debug, Default)]
struct Shared {
    weight: u64,
    ios: u64,
}

#[derive(Debug, Default)]
struct State {
    /// Waves up to, and without, this one have ended; `wave + 1` of a job that ends its own.
    ended_waves: u32,
    has_ended_all: bool,
    flows: BTreeMap<u64, Shared>,
}

/// The state that the jobs of a run share. One thread runs them, so the lock is always free.
#[derive(Clone, Debug, Default)]
pub(super) struct Together(Arc<Mutex<State>>);

impl Together {
    /// The state of these jobs at the start.
    pub fn new<'a>(jobs: impl Iterator<Item = &'a FioJob>) -> Together {
        let mut state = State::default();
        for flow in jobs.filter_map(|job| job.flow) {
            state.flows.entry(flow.id).or_default().weight += flow.weight;
        }
        Together(Arc::new(Mutex::new(state)))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(|it| it.into_inner())
    }

    /// True if another job has ended this one.
    pub fn has_ended(&self, job: &FioJob) -> bool {
        let state = self.state();
        state.has_ended_all || job.wave < state.ended_waves
    }

    /// The job has ended after `ios` I/Os.
    pub fn end(&self, job: &FioJob, ios: u64) {
        let mut state = self.state();
        match job.ends {
            Ends::Itself => {}
            Ends::Wave => state.ended_waves = state.ended_waves.max(job.wave + 1),
            Ends::All => state.has_ended_all = true,
        }
        if let Some(shared) = job.flow.and_then(|flow| state.flows.get_mut(&flow.id)) {
            shared.weight -= job.flow.map_or(0, |flow| flow.weight);
            shared.ios -= ios;
        }
    }

    /// The pause of a job that has done `ios` I/Os, if that is more than its share.
    pub fn pause(&self, flow: Flow, ios: u64) -> Option<Span> {
        let state = self.state();
        let shared = state.flows.get(&flow.id)?;
        // ios / all > weight / weights, as fio has it.
        let is_ahead = u128::from(ios) * u128::from(shared.weight) > u128::from(flow.weight) * u128::from(shared.ios);
        is_ahead.then_some(if flow.sleep > Span::ZERO { flow.sleep } else { ASK_AGAIN })
    }

    /// A job of the flow does so many I/Os more.
    pub fn count(&self, flow: Flow, ios: u64) {
        self.state().flows.entry(flow.id).or_default().ios += ios;
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Outside, read};
    use super::*;

    /// Which of three jobs are ended when the first ends; the last begins behind a stonewall.
    fn ended(options: &str) -> Vec<bool> {
        let text = format!("[global]\n{options}\n[a]\n[b]\n[c]\nstonewall\n");
        let jobs = read("t.fio", &text, &Outside::NOTHING).expect("three jobs");
        let together = Together::new(jobs.iter());
        together.end(&jobs[0], 0);
        jobs.iter().map(|job| together.has_ended(job)).collect()
    }

    #[test]
    fn exitall_ends_the_group_and_later_ones_only_by_request() {
        assert_eq!(ended(""), [false, false, false]);
        for options in ["exitall", "exitall\nexit_what=group", "exitall\nexit_what=stonewall"] {
            assert_eq!(ended(options), [true, true, false], "{options}");
        }
        assert_eq!(ended("exitall\nexit_what=all"), [true, true, true]);
    }
}
