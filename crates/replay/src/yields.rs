//! Infers the yields of a recording. No event shows them: a task that leaves its CPU runnable was preempted or called
//! `sched_yield`.
//!
//! The kernel writes `R+` for preemptions of its own code, but `R` both for a yield and for a preemption on the way
//! back to user mode. So a switch is a yield if its state is `R` and nothing else explains it:
//!
//! 1. The next task was not woken while the task ran, nor any task for that CPU shortly before; none moved there
//!    or away.
//! 2. The next task is not of a more urgent class: the stopper, real time.
//! 3. The task was not woken while it ran; such a task was about to sleep.
//! 4. None of its own attributes changed while it ran.
//! 5. It is not shortly after a tick, where slices end. The phase of the tick is that of most preemptions, or, where
//!    yields outnumber them, the one that stands out among the program's own switches.
//! 6. The task's program does so regularly: at least `MIN` times, and `SHARE` times as often as it leaves after a
//!    tick. A few stragglers beside many ticks are ticks that came late.

use super::clock::TickGrid;
use super::history::History;
use goodness_core::{CpuId, Span, TaskId, Time};
use goodness_trace::{Origin, PrevState, SchedEvent, Wake};
use std::collections::BTreeMap;

/// A wake-up for a CPU explains a later switch there within this time. A choice, as in [`TickGrid`].
const PROVOKED: Span = Span::from_us(200);
/// A wake-up of the next task explains the switch within this time: a kernel with lazy preemption waits for a tick. The
/// longest period of a tick.
const PROVOKED_LATE: Span = Span::from_ms(10);
/// Fewest yields of a program. A choice.
const MIN: usize = 8;
/// Least ratio of yields to switches after ticks, by program. An even distribution over the period has 15. A choice.
const SHARE: usize = 3;
/// First priority that is not real time.
const FIRST_ORDINARY: i16 = 100;

/// The switches of a recording that are yields: numbers of records, ascending.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Yields(Vec<u32>);

impl Yields {
    /// Finds the yields.
    #[must_use]
    pub fn find(history: &History, grid: Option<TickGrid>) -> Yields {
        let mut programs = BTreeMap::<u32, Vec<Unexplained>>::new();
        for it in Unexplained::of(history) {
            programs.entry(it.program).or_default().push(it);
        }
        let mut found = Vec::new();
        for switches in programs.values().filter(|switches| switches.len() >= MIN) {
            // Without a grid, a phase that does not stand out shows that no ticks are among the switches.
            let times: Vec<(CpuId, Time)> = switches.iter().map(|it| (it.cpu, it.at)).collect();
            let ticks = grid.or_else(|| TickGrid::outstanding(history, &times));
            let is_yield = |it: &&Unexplained| !ticks.is_some_and(|grid| grid.is_first_part(it.at));
            let yields = switches.iter().filter(is_yield).count();
            if yields >= MIN && yields >= SHARE * (switches.len() - yields) {
                found.extend(switches.iter().filter(is_yield).map(|it| it.record));
            }
        }
        found.sort_unstable();
        Yields(found)
    }

    /// True if the switch of this record is a yield.
    #[must_use]
    pub fn contains(&self, record: u32) -> bool {
        self.0.binary_search(&record).is_ok()
    }

    /// Number of yields.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }
}

/// A switch of a runnable task that no wake-up, move or change explains.
struct Unexplained {
    record: u32,
    cpu: CpuId,
    at: Time,
    program: u32,
}

impl Unexplained {
    /// All of a recording, in its order.
    fn of(history: &History) -> Vec<Unexplained> {
        let mut cpus = vec![OnCpu::default(); history.cpus.max(1)];
        let mut woken = vec![Time::ZERO; history.participants.len()];
        let mut found = Vec::new();
        for (record, number) in history.records.iter().zip(0..) {
            let (at, here) = (record.at, record.cpu.index());
            match record.event {
                SchedEvent::Waking(wake) | SchedEvent::Wakeup(wake) | SchedEvent::WakeupNew(wake) => {
                    let Wake { task, target, .. } = wake;
                    woken[task.index()] = at;
                    cpus[here].provoked = at;
                    cpus[target.index()].provoked = at;
                }
                SchedEvent::Migrate { from, to, .. } => {
                    cpus[from.index()].provoked = at;
                    cpus[to.index()].provoked = at;
                }
                SchedEvent::Lost { .. } => cpus[here].is_known = false,
                SchedEvent::Switch { prev, next, prev_prio, next_prio, prev_state } => {
                    let cpu = &mut cpus[here];
                    if let (Some(prev), Some(next)) = (prev, next) {
                        let is_plain = prev_state == PrevState::RUNNABLE && record.origin == Origin::Recorded;
                        let is_outranked = next_prio < FIRST_ORDINARY && next_prio < prev_prio;
                        let is_changed =
                            cpu.prio.is_some_and(|prio| prio != prev_prio) || is_changed(history, prev, cpu.since, at);
                        let is_woken = woken[prev.index()] >= cpu.since || cpu.explains(woken[next.index()], at);
                        let is_user = history.participant(prev).task.address_space.is_some();
                        if is_plain && is_user && cpu.is_known && !is_outranked && !is_changed && !is_woken {
                            let program = history.participant(prev).program;
                            found.push(Unexplained { record: number, cpu: record.cpu, at, program });
                        }
                    }
                    *cpu = OnCpu { since: at, provoked: cpu.provoked, prio: Some(next_prio), is_known: true };
                }
                _ => {}
            }
        }
        found
    }
}

fn is_changed(history: &History, task: TaskId, since: Time, at: Time) -> bool {
    history.participant(task).changes.iter().any(|change| (since..=at).contains(&change.at))
}

/// Facts about the running task of a CPU.
#[derive(Clone, Copy, Default)]
struct OnCpu {
    /// Time of its switch-in.
    since: Time,
    /// Last wake-up on this CPU or for it, or move to it or away.
    provoked: Time,
    /// Its priority then.
    prio: Option<i16>,
    /// False before the first switch, and after a loss.
    is_known: bool,
}

impl OnCpu {
    /// True if a wake-up explains a switch at `at` to a task that was last woken at `woken`.
    fn explains(&self, woken: Time, at: Time) -> bool {
        let shortly = at.since(self.provoked) <= PROVOKED && self.provoked >= self.since;
        shortly || (woken >= self.since && at.since(woken) <= PROVOKED_LATE)
    }
}
