//! What the kernel's watchdog would have said of a policy.

use crate::lab::Arm;
use goodness_report::figure;

/// Which task would have had the policy thrown out and when, in the first run where that happened.
pub fn warning(arm: &Arm) -> Option<String> {
    let (index, run) = arm.runs.iter().enumerate().find(|(_, run)| run.checked.overdue.is_some())?;
    let (wait, limit) = (run.checked.overdue?, run.checked.watchdog?);
    let name = run.tasks.get(wait.task.index()).map_or_else(String::new, |task| figure::name(&task.name).to_string());
    Some(format!(
        "{}: the kernel would have thrown this policy out at {} (run {}): task \"{name}\" was runnable for {limit} and did not run; \
         here the run went on",
        arm.contender,
        wait.since + limit,
        index + 1,
    ))
}
