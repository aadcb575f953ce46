//! Simulates the benchmark's pattern under one policy, for profilers:
//! `cargo run --release -p goodness-bench --example end_to_end -- POLICY TASKS DECISIONS [CPUS] [bare|turns]`.
//! With `bare`, nobody observes the run; with `turns`, tasks yield instead of sleeping.

use goodness_bench::{Size, end_to_end, machine_of, pattern};
use goodness_core::{Registered, Time, Visitor};
use goodness_sim::{Options, simulate};

struct Run {
    size: Size,
    decisions: u64,
    bare: bool,
    turns: bool,
}

impl Visitor for Run {
    type Output = Result<u64, String>;

    fn visit<P: Registered + 'static>(self) -> Self::Output {
        if self.turns {
            let horizon = Time(self.decisions * pattern::BURST.0 / self.size.cpus as u64);
            let work = pattern::turns(self.size.tasks, self.size.cpus, horizon);
            let (took, decisions) = end_to_end::timed::<P>(P::Settings::default(), self.size, work)?;
            println!("{:.1} ns for each decision", took.as_nanos() as f64 / decisions as f64);
            return Ok(decisions);
        }
        if !self.bare {
            let speed = end_to_end::once::<P>(P::Settings::default(), self.size, self.decisions)?;
            println!("{:.1} ns for each decision", speed.end_to_end_ns);
            return Ok(speed.decisions);
        }
        let machine = machine_of(self.size.cpus)?;
        let horizon = Time(self.decisions * pattern::BURST.0 / self.size.cpus as u64);
        let work = pattern::workload(self.size.tasks, self.size.cpus, horizon);
        let outcome = simulate::<P, _>(&machine, P::Settings::default(), work, &mut (), Options::default());
        outcome.map(|o| o.decisions).map_err(|fault| fault.to_string())
    }
}

fn main() -> Result<(), String> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, otherwise: usize| match words.get(at) {
        Some(word) => word.parse().map_err(|_| format!("\"{word}\" is not a number")),
        None => Ok(otherwise),
    };
    let size = Size { tasks: number(1, 1000)?, cpus: number(3, 1)? };
    let (bare, turns) = (words.get(4).is_some_and(|w| w == "bare"), words.get(4).is_some_and(|w| w == "turns"));
    let run = Run { size, decisions: number(2, 1_000_000)? as u64, bare, turns };
    let name = words.first().map_or("rr", String::as_str);
    let decisions = goodness_cpu::with_policy(name, run).ok_or_else(|| format!("no policy is called \"{name}\""))??;
    println!("{decisions} decisions");
    Ok(())
}
