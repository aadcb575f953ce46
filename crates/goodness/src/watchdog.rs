//! What the kernel's watchdog would have said of a policy.

use crate::contender::Contender;
use crate::run::RunResult;
use goodness_report::figure;

/// Which task would have had `contender` thrown out and when, where that happened in `run`, the `number`th.
pub(crate) fn warning(contender: &Contender, number: u32, run: &RunResult) -> Option<String> {
    let (wait, limit) = (run.checked.overdue?, run.checked.watchdog?);
    let name = run.tasks.get(wait.task.index()).map_or_else(String::new, |task| figure::name(&task.name).to_string());
    Some(format!(
        "{contender}: the kernel would have thrown this policy out at {} (run {number}): task \"{name}\" was runnable for {limit} \
         and did not run; here the run went on",
        wait.since + limit,
    ))
}
