//! Memory: what is free, and what simulations need.

use crate::refusal::Refusal;
use std::fs;

/// Memory that a task needs at most in one simulation with its results, in bytes. Measured with sleepers that compute
/// for a moment: 1.5 kB.
const A_TASK: u64 = 1_500;
/// Fewer tasks are not estimated. A choice: 150 MB a simulation.
const FEW: u64 = 100_000;

/// Refuses `at_once` simulations of `tasks` tasks if they need more than the `free` bytes, where those are known.
///
/// # Errors
/// They need more.
pub(crate) fn check_tasks(tasks: usize, at_once: usize, free: Option<u64>) -> Result<(), Refusal> {
    let (tasks, at_once) = (tasks as u64, at_once as u64);
    let needed = tasks.saturating_mul(A_TASK).saturating_mul(at_once);
    let Some(free) = free.filter(|free| tasks >= FEW && needed > *free) else { return Ok(()) };
    let simulations = if at_once == 1 { "one simulation".into() } else { format!("{at_once} simulations at a time") };
    let what = format!(
        "{simulations} of {tasks} tasks need about {} of memory, and {} are free",
        gigabytes(needed),
        gigabytes(free)
    );
    let fits = free / tasks.saturating_mul(A_TASK).max(1);
    let remedy = match fits {
        0 => "take fewer tasks".to_string(),
        fits => format!("take fewer tasks, or set RAYON_NUM_THREADS={fits}"),
    };
    Err(Refusal::usage(what).remedy(remedy))
}

/// An amount of memory, for people.
pub(crate) fn gigabytes(bytes: u64) -> String {
    format!("{}.{} GB", bytes / 1_000_000_000, bytes / 100_000_000 % 10)
}

/// Memory that can be had without swapping, in bytes: of the machine, or of the container if that has less. `None`
/// where the system does not tell.
pub(crate) fn free() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let machine = line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.saturating_mul(1024);
    let of_container = |file: &str| fs::read_to_string(format!("/sys/fs/cgroup/{file}")).ok();
    Some(machine.min(left(of_container).unwrap_or(u64::MAX)))
}

/// Rest of the container's limit, by its files. Its cached files that nobody used of late can be had, too.
fn left(file: impl Fn(&str) -> Option<String>) -> Option<u64> {
    let number = |name| file(name)?.trim().parse::<u64>().ok();
    let stat = file("memory.stat").unwrap_or_default();
    let cached = stat.lines().find_map(|line| line.strip_prefix("inactive_file ")?.trim().parse::<u64>().ok());
    let used = number("memory.current").unwrap_or(0).saturating_sub(cached.unwrap_or(0));
    Some(number("memory.max")?.saturating_sub(used))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_container_has_left_what_it_does_not_use() {
        let has = |max: &'static str| {
            move |file: &str| match file {
                "memory.max" => Some(max.to_string()),
                "memory.current" => Some("700\n".into()),
                "memory.stat" => Some("anon 500\ninactive_file 150\n".into()),
                _ => None,
            }
        };
        assert_eq!([left(has("1000\n")), left(has("max\n")), left(|_| None)], [Some(450), None, None]);
        assert_eq!(left(has("400\n")), Some(0));
    }

    #[test]
    fn tasks_that_need_more_than_is_free_are_refused_before_they_are_simulated() {
        let refused = |tasks, at_once, free| check_tasks(tasks, at_once, free).err().map(|it| it.to_string());
        assert_eq!(refused(1_000_000, 2, Some(3_000_000_000)), None);
        assert_eq!(refused(1_000_000, 64, None), None, "unknown");
        assert_eq!(refused(99_999, 1_000, Some(0)), None, "few");
        let why = refused(1_000_000, 64, Some(23_000_000_000)).expect("too many");
        assert!(why.contains("64 simulations at a time of 1000000 tasks need about 96.0 GB of memory"), "{why}");
        assert!(why.contains("23.0 GB are free") && why.contains("RAYON_NUM_THREADS=15"), "{why}");
        let why = refused(1_000_000, 1, Some(1_000_000_000)).expect("too many");
        assert!(why.contains("one simulation of 1000000 tasks") && why.ends_with("take fewer tasks"), "{why}");
    }
}
