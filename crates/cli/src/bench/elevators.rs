//! `goodness bench --elevator`: cost of requests by number of waiting requests.

use super::Bench;
use crate::failure::{Failure, exit};
use crate::output;
use crate::progress;
use goodness::ElevatorSpec;
use goodness_bench::table::{RequestRow, request_row};

/// Measures and prints.
///
/// # Errors
/// Unknown elevators or tunables, sizes out of range, faults.
pub(super) fn run(bench: &Bench) -> Result<u8, Failure> {
    if let Some(waiting) = bench.waiting.iter().find(|waiting| !(1..=1_000_000).contains(*waiting)) {
        return Err(Failure::usage(format!("--waiting {waiting} is outside 1 ..= 1000000")));
    }
    if bench.decisions == 0 {
        return Err(Failure::usage("--decisions 0 is outside 1 ..; requests are what is timed"));
    }
    let (elevators, budget) = (named(&bench.elevator)?, bench.time()?);
    let bar = progress::bar((bench.waiting.len() * elevators.len()) as u64, "timing");
    let mut rows = Vec::new();
    for elevator in &elevators {
        for waiting in &bench.waiting {
            let made = request_row(elevator, *waiting, budget, bench.decisions);
            rows.push(made.map_err(|sentence| Failure::other(format!("{elevator}: {sentence}")))?);
            bar.inc(1);
        }
    }
    bar.finish_and_clear();
    if bench.json {
        say!("{}", serde_json::to_string_pretty(&rows).expect("plain values serialise"));
    } else {
        print(&rows);
    }
    Ok(exit::OK)
}

/// The elevators as typed; `all` stands for all registered ones.
fn named(typed: &[String]) -> Result<Vec<ElevatorSpec>, Failure> {
    let names = typed.iter().flat_map(|text| match text.as_str() {
        "all" => goodness_elevators::ALL.iter().map(|about| about.name).collect(),
        one => vec![one],
    });
    names.map(|text| Ok(ElevatorSpec::parse(text)?)).collect()
}

fn print(rows: &[RequestRow]) {
    let mut table = output::table();
    table.set_header(["elevator", "waiting", "decision ns", "end to end ns", "requests/s", "with events"]);
    for row in rows {
        table.add_row([
            row.elevator.clone(),
            row.waiting.to_string(),
            format!("{:.1}", row.decision_ns),
            format!("{:.1}", row.end_to_end_ns),
            format!("{:.0}", row.requests_per_s),
            format!("{:.0}", row.watched_per_s),
        ]);
    }
    output::align_right(&mut table, 1..6);
    say!("{table}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_stands_for_every_elevator_and_an_unknown_one_is_refused() {
        let typed = ["all", "bfq:low_latency=off"].map(String::from);
        let names = named(&typed).map(|specs| specs.len()).ok();
        assert_eq!(names, Some(goodness_elevators::ALL.len() + 1));
        assert!(named(&["nop".into()]).is_err());
    }
}
