//! Notes when runnable tasks are out of quota, in runs whose schedule is kept. No event tells it: the policy is asked
//! after its decisions.

use goodness_core::{CpuId, GroupId, Groups, MadePolicy, TaskId, Time};
use goodness_observe::asked::{Asked, Asker, Decided};
use goodness_report::throttled::Throttled;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// The times noted so far.
#[derive(Default)]
struct Noted {
    /// Throttled tasks, on the CPU that has them, and since when.
    since: BTreeMap<TaskId, (CpuId, Time)>,
    over: Vec<Throttled>,
}

impl Noted {
    fn end(&mut self, task: TaskId, now: Time) {
        if let Some((_, from)) = self.since.remove(&task) {
            self.over.push(Throttled { task, from: from.ns(), to: now.ns() });
        }
    }
}

/// The times in which tasks are out of quota.
#[derive(Clone, Default)]
pub(crate) struct Throttles(Rc<RefCell<Noted>>);

impl Throttles {
    /// `Some` for groups of which one has a quota.
    pub fn of(groups: &Groups) -> Option<Throttles> {
        groups.iter().any(|(_, group)| group.quota.is_some()).then(Throttles::default)
    }

    /// `made`, which is asked whom it throttles. It decides as it would.
    pub fn around(&self, made: MadePolicy, cpus: usize) -> MadePolicy {
        Asked::around(made, cpus, self.clone())
    }

    /// All times of a run that ended at `end`.
    pub fn finish(self, end: Time) -> Vec<Throttled> {
        let mut noted = self.0.take();
        let open: Vec<TaskId> = noted.since.keys().copied().collect();
        open.into_iter().for_each(|task| noted.end(task, end));
        noted.over
    }
}

/// True if `group` or one around it has a quota.
fn has_quota(groups: &Groups, group: GroupId) -> bool {
    let it = &groups[group];
    it.quota.is_some() || group != GroupId::ROOT && has_quota(groups, it.parent)
}

impl Asker for Throttles {
    fn ask(&mut self, decided: &Decided) {
        let (now, mut noted) = (decided.cx.now, self.0.borrow_mut());
        let is_throttled = |task: TaskId| decided.waiting.contains(&task) && decided.is_throttled(task);
        let here = noted.since.iter().filter(|(_, (cpu, _))| *cpu == decided.cpu).map(|(task, _)| *task);
        let over: Vec<TaskId> = here.filter(|task| !is_throttled(*task)).collect();
        over.into_iter().for_each(|task| noted.end(task, now));
        // A task of a class with a budget of its own may be out of that.
        let has_quota = |task: &&TaskId| has_quota(&decided.cx.groups, decided.cx.tasks[**task].group);
        for task in decided.waiting.iter().filter(has_quota).filter(|task| decided.is_throttled(**task)) {
            noted.since.entry(*task).or_insert((decided.cpu, now)).0 = decided.cpu;
        }
    }
}

#[test]
fn a_quota_is_that_of_the_group_or_of_one_around_it() {
    use goodness_core::{Group, Quota, Span};
    let mut groups = Groups::default();
    let quota = Quota::new(Span::from_ms(10), Span::from_ms(100)).ok();
    let outer = groups.add(Group { quota, ..Group::new("outer", GroupId::ROOT) });
    let inner = groups.add(Group::new("inner", outer));
    let other = groups.add(Group::new("other", GroupId::ROOT));
    assert_eq!([outer, inner, other, GroupId::ROOT].map(|it| has_quota(&groups, it)), [true, true, false, false]);
}
