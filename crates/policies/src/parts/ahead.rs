//! Data of tasks that run next, loaded into the CPU's caches.

use goodness_core::TaskId;

/// Writes the first `waiting` tasks to `next`, and loads their data: the CPU waits for all of it at once instead of one
/// by one. Returns how many there are.
pub(crate) fn load<T>(data: impl Fn(TaskId) -> T, waiting: impl Iterator<Item = TaskId>, next: &mut [TaskId]) -> usize {
    let found = next.iter_mut().zip(waiting).map(|(next, task)| *next = task).count();
    for task in &next[..found] {
        std::hint::black_box(data(*task));
    }
    found
}
