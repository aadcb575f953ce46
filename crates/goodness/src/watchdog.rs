//! The sched_ext watchdog: warns about a policy that the kernel would have unloaded.

use crate::contender::Contender;
use crate::run::RunResult;
use goodness_report::figure;

/// The task that would have triggered the watchdog and the time, if any did in `run`, the `number`th.
pub(crate) fn warning(contender: &Contender, number: u32, run: &RunResult) -> Option<String> {
    let (wait, limit) = (run.checked.overdue?, run.checked.watchdog?);
    let name = run.tasks.get(wait.task.index()).map_or_else(String::new, |task| figure::name(&task.name).to_string());
    Some(format!(
        "{contender}: the kernel would have thrown this policy out at {} (run {number}): task \"{name}\" was runnable \
         for {limit} and did not run; here the run went on",
        wait.since + limit,
    ))
}
