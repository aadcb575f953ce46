//! Simulates the benchmark's pattern under one policy, for profilers: `cargo run --release -p goodness-bench --example
//! end_to_end -- POLICY TASKS DECISIONS [CPUS] [turns]`. With `turns`, tasks yield instead of sleeping.

use goodness::PolicySpec;
use goodness_bench::{Size, end_to_end, pattern};
use goodness_core::Time;

fn main() -> Result<(), String> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, otherwise: usize| match words.get(at) {
        Some(word) => word.parse().map_err(|_| format!("\"{word}\" is not a number")),
        None => Ok(otherwise),
    };
    let size = Size { tasks: number(1, 1000)?, cpus: number(3, 1)? };
    let policy = PolicySpec::parse(words.first().map_or("rr", String::as_str))?;
    let horizon = Time(number(2, 1_000_000)? as u64 * pattern::BURST.0 / size.cpus.max(1) as u64);
    let work = match words.get(4).is_some_and(|word| word == "turns") {
        true => pattern::turns(size.tasks, size.cpus, horizon),
        false => pattern::workload(size.tasks, size.cpus, horizon),
    };
    let (took, decisions) = end_to_end::timed(&policy, size, work)?;
    println!("{decisions} decisions, {:.1} ns for each", took.as_nanos() as f64 / decisions as f64);
    Ok(())
}
