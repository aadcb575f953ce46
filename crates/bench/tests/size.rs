//! Large simulations fit into memory, and many run side by side.

use goodness::{PolicySpec, Trial};
use goodness_bench::{Size, end_to_end, machine_of, pattern};
use goodness_core::{Seed, Time};
use std::process::Command;

/// Set for the child process that runs the large simulation.
const CHILD: &str = "GOODNESS_TEST_LARGE";
const LARGE: Size = Size { tasks: 1_000_000, cpus: 4_096 };
const LIMIT_KIB: u64 = 2_000_000_000 / 1024;

/// The largest resident memory this process ever had, in KiB.
fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux tells a process its memory");
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).expect("the peak is among it");
    line.split_whitespace().nth(1).and_then(|word| word.parse().ok()).expect("a number of kB")
}

/// Simulates the large machine until every CPU has made a few decisions, in a separate process so that memory of other
/// tests does not count.
#[test]
fn a_million_tasks_on_4096_cpus_stay_below_two_gigabytes() {
    if std::env::var_os(CHILD).is_some() {
        let speed = end_to_end::once(&PolicySpec::parse("rr").unwrap(), LARGE, 1_100_000).expect("the run is sound");
        println!("decisions={} peak_kib={}", speed.decisions, peak_kib());
        return;
    }
    let this = std::env::current_exe().expect("a test knows its own file");
    let name = "a_million_tasks_on_4096_cpus_stay_below_two_gigabytes";
    let output = Command::new(this).args([name, "--exact", "--nocapture"]).env(CHILD, "1").output().expect("it runs");
    let text = String::from_utf8_lossy(&output.stdout);
    let number = |key: &str| -> u64 {
        let at = text.find(key).unwrap_or_else(|| panic!("no {key} in: {text}")) + key.len();
        text[at..].chars().take_while(char::is_ascii_digit).collect::<String>().parse().expect("a number")
    };
    let (decisions, peak) = (number("decisions="), number("peak_kib="));
    assert!(decisions >= 1_000_000, "{decisions} decisions");
    assert!(peak < LIMIT_KIB, "{peak} KiB resident");
}

/// Result of one run as text, to compare runs.
fn story(seed: u64, policy: &str) -> String {
    let machine = machine_of(4).unwrap();
    let work = pattern::workload(64, 4, Time(5_000_000));
    let policy = PolicySpec::parse(policy).unwrap();
    let run = goodness::run(Trial::of(&policy, &machine, work, Seed(seed)));
    let run = run.expect("the run is sound");
    format!("{:?} {:?} {:?}", run.measured.values, run.outcome, run.checked.count)
}

#[test]
fn ten_simulations_side_by_side_give_what_they_give_alone() {
    let names: Vec<&str> = goodness_policies::ALL.iter().map(|about| about.name).cycle().take(10).collect();
    let run = |(seed, name): (u64, &str)| story(seed, name);
    let alone: Vec<String> = (0..).zip(names.iter().copied()).map(run).collect();
    let together: Vec<String> = std::thread::scope(|scope| {
        let handles: Vec<_> =
            (0..).zip(names.iter().copied()).map(|numbered| scope.spawn(move || run(numbered))).collect();
        handles.into_iter().map(|handle| handle.join().expect("no run panics")).collect()
    });
    assert_eq!(alone, together);
}
