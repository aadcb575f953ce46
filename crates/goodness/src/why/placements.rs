//! The rules by which a policy placed tasks on CPUs, for the waits that begin with it.

use goodness_core::{CpuId, Placement, Span, TaskId, Time};
use goodness_observe::blame::{Cause, Segment};
use std::collections::{BTreeMap, VecDeque};

/// A placement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Placed {
    at: Time,
    cpu: CpuId,
    rule: Placement,
}

/// The placements of each task, as far back as an explanation reaches.
#[derive(Default)]
pub(super) struct Placements(BTreeMap<TaskId, VecDeque<Placed>>);

impl Placements {
    /// Notes that `task` was placed on `cpu`. Latencies before `explained` need none that is older by `keep`.
    pub fn note(&mut self, (at, task, cpu): (Time, TaskId, CpuId), rule: Placement, (explained, keep): (Time, Span)) {
        let of_task = self.0.entry(task).or_default();
        while of_task.front().is_some_and(|it| explained.since(it.at) > keep) {
            of_task.pop_front();
        }
        of_task.push_back(Placed { at, cpu, rule });
    }

    /// Puts the placement into the first part of each wait that began with it.
    pub fn attach(&self, segments: &mut [Segment]) {
        let mut wait: Option<(TaskId, Time)> = None;
        for segment in segments {
            let is_behind = matches!(segment.cause, Cause::Behind(_) | Cause::BesideIdle { .. });
            if !is_behind && !matches!(segment.cause, Cause::Host(_) | Cause::IdleCpu) {
                wait = None;
                continue;
            }
            let began = match wait {
                Some((task, began)) if task == segment.task => began,
                _ => segment.from,
            };
            if is_behind && began != Time::NEVER {
                segment.placed = self.of(segment.task, began, segment.cpu);
                wait = Some((segment.task, Time::NEVER));
            } else {
                wait = Some((segment.task, began));
            }
        }
    }

    fn of(&self, task: TaskId, at: Time, cpu: CpuId) -> Option<Placement> {
        let placed = self.0.get(&task)?.iter().rev().find(|it| it.at <= at)?;
        (placed.at == at && placed.cpu == cpu).then_some(placed.rule)
    }
}
