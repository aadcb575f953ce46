//! The sched_ext watchdog: warns about a policy that the kernel would have unloaded.

use crate::contender::Contender;
use crate::run::RunResult;
use goodness_report::figure;

/// The task that would have triggered the watchdog and the time, if any did in `run`, the `number`th.
pub(crate) fn warning(contender: &Contender, number: u32, run: &RunResult) -> Option<String> {
    let (wait, limit) = (run.checked.overdue?, run.checked.watchdog?);
    let name = run.tasks.get(wait.task.index()).map_or_else(String::new, |task| figure::name(&task.name).to_string());
    Some(format!(
        "{contender}: sched_ext's watchdog would have unloaded this policy at {} (run {number}): task \"{name}\" \
         waited {limit} for a CPU; the simulation went on",
        wait.since + limit,
    ))
}
