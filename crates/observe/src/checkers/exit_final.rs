//! An exit is final: the task leaves its CPU as exited at that instant and never appears again.

use super::Invariant;
use crate::tracker::TaskTrack;
use goodness_core::{Off, State, TaskId, Time};

pub(super) const INVARIANT: Invariant = Invariant {
    name: "exit_final",
    summary: "A task that exits leaves its CPU at that instant and never appears again.",
};

/// Exits whose switch is still to come: at most one per CPU, and nearly always none or one.
#[derive(Clone, Debug, Default)]
pub(super) struct ExitFinal {
    leaving: Vec<(TaskId, Time)>,
}

/// A violation if the task has ended; `deed` names what it does.
pub(super) fn acts<T>(task: TaskId, track: &TaskTrack<T>, deed: &str) -> Option<String> {
    track.has_ended().then(|| format!("{task} {deed} after it had ended"))
}

impl ExitFinal {
    /// The task ended; `track` is from before.
    pub fn exited<T>(&mut self, at: Time, task: TaskId, track: &TaskTrack<T>) {
        if track.state == State::Running && !track.has_ended() {
            self.leaving.push((task, at));
        }
    }

    /// True if a switch-out for reason `off` must be checked: it is an exit, or an exit awaits its switch.
    #[inline]
    pub fn concerns(&self, off: Off) -> bool {
        off == Off::Exited || !self.leaving.is_empty()
    }

    /// The task left its CPU for reason `off`.
    pub fn left(&mut self, at: Time, task: TaskId, off: Off) -> Option<String> {
        let found = self.leaving.iter().position(|(leaving, _)| *leaving == task);
        match found.map(|index| self.leaving.swap_remove(index)) {
            None if off == Off::Exited => Some(format!("{task} left its CPU as exited without an exit")),
            None => None,
            Some(_) if off != Off::Exited => Some(format!("{task} ended but left its CPU as {off:?}")),
            Some((_, since)) if since != at => Some(format!("{task} ended at {since} but kept its CPU until {at}")),
            Some(_) => None,
        }
    }

    /// A violation if an exit had no switch by the end.
    pub fn at_end(&self) -> Option<String> {
        let (task, since) = self.leaving.first()?;
        Some(format!("{task} ended at {since} but never left its CPU"))
    }
}
