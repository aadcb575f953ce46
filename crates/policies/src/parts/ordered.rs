//! Runnable tasks ordered by a key (deadline, period or pass), least first, FIFO on ties. Several orders may share the
//! nodes.

use goodness_core::{Context, CpuId, Effort, TaskId};
use goodness_queues::{Nodes, Tree};

/// Nodes that all orders of a policy share.
pub(crate) type Places = Nodes<0>;

/// The waiting tasks of a machine or of a CPU.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ordered(Tree);

impl Ordered {
    /// Queues `task` behind those of equal key; each level of the tree counts as an insertion step.
    #[inline]
    pub fn insert(&mut self, places: &mut Places, cx: &Context, task: TaskId, key: i64) {
        let levels = self.0.insert(places, task.0, key, []);
        cx.examined(Effort::Insert, levels);
    }

    /// Like [`Ordered::insert`]; with `first`, before tasks of equal key.
    #[inline]
    pub fn insert_at(&mut self, places: &mut Places, cx: &Context, task: TaskId, key: i64, first: bool) {
        // Front ranks fall with time, so that later tasks are nearer to the front.
        let rank = if first { -1 - cx.now.0 as i64 } else { 0 };
        let levels = self.0.insert_ranked(places, task.0, key, rank, []);
        cx.examined(Effort::Insert, levels);
    }

    /// Removes a queued task.
    #[inline]
    pub fn remove(&mut self, places: &mut Places, cx: &Context, task: TaskId) {
        let levels = self.0.remove(places, task.0);
        cx.examined(Effort::Insert, levels);
    }

    /// The first task that may run on `cpu`, and its key. The tasks looked at count as searched.
    #[inline]
    pub fn first_allowed(&self, places: &Places, cx: &Context, cpu: CpuId) -> Option<(TaskId, i64)> {
        cx.examined(Effort::Search, u32::from(!self.0.is_empty()));
        self.first_allowed_uncounted(places, cx, cpu)
    }

    /// Like [`Ordered::first_allowed`], but only skipped tasks count as searched.
    pub fn first_allowed_uncounted(&self, places: &Places, cx: &Context, cpu: CpuId) -> Option<(TaskId, i64)> {
        let mut next = self.0.first();
        while let Some(task) = next.map(TaskId)
            && !cx.tasks.may_run(task, cpu)
        {
            cx.examined(Effort::Search, 1);
            next = self.0.next(places, task.0);
        }
        next.map(|task| (TaskId(task), places.key(task)))
    }

    /// All waiting tasks in order.
    pub fn iter<'a>(&'a self, places: &'a Places) -> impl Iterator<Item = TaskId> + 'a {
        self.0.iter(places).map(TaskId)
    }

    /// Like [`Ordered::first_allowed`]; also removes the task.
    #[inline]
    pub fn take_first_allowed(&mut self, places: &mut Places, cx: &Context, cpu: CpuId) -> Option<(TaskId, i64)> {
        let (task, key) = self.first_allowed(places, cx, cpu)?;
        self.remove(places, cx, task);
        Some((task, key))
    }

    /// The first task whatever its affinity, and its key.
    #[inline]
    pub fn first(&self, places: &Places) -> Option<(TaskId, i64)> {
        self.0.first().map(|task| (TaskId(task), places.key(task)))
    }
}
