//! Asks a policy about its decisions in a lesson, in a second run.

use super::MOST_SLICES;
use crate::parallel::Told;
use crate::plan::Plan;
use crate::refusal::Refusal;
use crate::simulation::Beside;
use goodness_core::{MadePolicy, Reason, Standing, State, Stop, TaskId, Time};
use goodness_observe::asked::{Asked, Asker, Decided, Did};
use goodness_report::rule::Rule;
use goodness_report::teach::{Ahead, Job, Piece, Place};
use std::cell::RefCell;
use std::rc::Rc;

/// The answer at one pick.
struct Said {
    at: Time,
    cpu: u32,
    picked: TaskId,
    /// The task whose slice ended.
    slice_of: Option<TaskId>,
    rules: Vec<(TaskId, Reason)>,
    standings: Vec<(TaskId, Standing)>,
}

/// Asks at each pick.
struct Listener {
    said: Rc<RefCell<Vec<Said>>>,
    /// True if one queue serves all CPUs.
    is_shared: bool,
}

impl Listener {
    /// The tasks that wait for the CPU; the host still counts the picked one among them.
    fn waiting(&self, decided: &Decided) -> Vec<TaskId> {
        let tasks = &decided.cx.tasks;
        let queued = tasks.states().enumerate().filter(|(_, state)| *state == State::Queued);
        let queued = queued.map(|(task, _)| TaskId(task as u32)).filter(|task| decided.running != Some(*task));
        queued.filter(|task| self.is_shared || decided.waiting.contains(task)).collect()
    }
}

impl Asker for Listener {
    fn ask(&mut self, decided: &Decided) {
        let (Did::Picked(left), Some(picked)) = (decided.did, decided.running) else { return };
        let mut said = self.said.borrow_mut();
        if said.len() == MOST_SLICES {
            return;
        }
        let waiting = self.waiting(decided);
        let rules = waiting.iter().filter_map(|task| Some((*task, decided.why(*task)?))).collect();
        let runnable = waiting.iter().chain([&picked]);
        said.push(Said {
            at: decided.cx.now,
            cpu: decided.cpu.0,
            picked,
            slice_of: left.filter(|(_, stop)| *stop == Stop::SliceEnd).map(|(task, _)| task),
            standings: runnable.filter_map(|task| Some((*task, decided.standing(*task)?))).collect(),
            rules,
        });
    }
}

/// Adds to `slices` of contender `index` what the policy says, and returns the places of jobs in its queue; `told` is
/// told how far the run is.
///
/// # Errors
/// As [`Plan::run`].
pub(super) fn tell(
    (plan, index): (&Plan, usize),
    jobs: &[Job],
    slices: &mut [Piece],
    told: Told,
) -> Result<Vec<Place>, Refusal> {
    let said = Rc::new(RefCell::new(Vec::new()));
    let listener = Rc::clone(&said);
    let cpus = plan.machine.cpu_count();
    let around = Box::new(move |made: MadePolicy| {
        let is_shared = made.about.needs.global_lock;
        Asked::around(made, cpus, Listener { said: listener, is_shared })
    });
    plan.watch_one(index, plan.first, Beside { around: Some(around), ..Beside::default() }, told)?;
    let said = said.take();
    for slice in slices {
        let over = |(task, reason): &(TaskId, Reason)| Ahead {
            job: task.index(),
            rule: Rule::over(*reason, &jobs[task.index()].name),
        };
        let own = |it: &&Said| it.cpu == slice.cpu && it.picked.index() == slice.job;
        let own = at(&said, slice.start_ns).iter().find(own);
        slice.ahead_of = own.map(|it| it.rules.iter().map(over).collect()).unwrap_or_default();
        let is_over = |it: &Said| it.slice_of.is_some_and(|task| task.index() == slice.job);
        if at(&said, slice.end_ns).iter().any(is_over) {
            slice.then = "slice_over".into();
        }
    }
    Ok(places(&said))
}

/// Finds the answer at a time; `said` is in order of time.
fn at(said: &[Said], ns: u64) -> &[Said] {
    let from = &said[said.partition_point(|it| it.at.0 < ns)..];
    &from[..from.partition_point(|it| it.at.0 == ns)]
}

/// The places, with virtual times from the first one on.
fn places(said: &[Said]) -> Vec<Place> {
    let all = said.iter().flat_map(|it| it.standings.iter().map(|(task, standing)| (it.at, *task, *standing)));
    let origin = all.clone().next().map_or(0, |(_, _, standing)| standing.virtual_time);
    let place = |(at, task, standing): (Time, TaskId, Standing)| Place {
        at_ns: at.0,
        job: task.index(),
        lag_ns: standing.lag,
        deadline_ns: standing.deadline - origin,
        virtual_time_ns: standing.virtual_time - origin,
    };
    all.map(place).collect()
}
