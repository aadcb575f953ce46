//! `goodness bench --elevator`: what a request costs, and how it grows with those that wait.

use super::{Bench, round};
use crate::failure::{Failure, exit};
use crate::output;
use crate::progress;
use goodness_bench::{dispatch, requests};
use goodness_lab::ElevatorSpec;
use serde::Serialize;

/// One row, as printed with `--json`.
#[derive(Serialize)]
struct Row {
    elevator: String,
    waiting: u32,
    decision_ns: f64,
    end_to_end_ns: f64,
    requests_per_s: f64,
    /// Requests per second where an observer gets every event.
    watched_per_s: f64,
}

/// Measures and prints.
///
/// # Errors
/// Unknown elevators or tunables, sizes out of range, faults found on the way.
pub(super) fn run(bench: &Bench) -> Result<u8, Failure> {
    if let Some(waiting) = bench.waiting.iter().find(|waiting| !(1..=1_000_000).contains(*waiting)) {
        return Err(Failure::usage(format!("--waiting {waiting} is outside 1 ..= 1000000")));
    }
    if bench.decisions == 0 {
        return Err(Failure::usage("--decisions 0 is outside 1 ..; requests are what is timed"));
    }
    let elevators = named(&bench.elevator)?;
    let bar = progress::bar((bench.waiting.len() * elevators.len()) as u64, "timing");
    let mut rows = Vec::new();
    for elevator in &elevators {
        for waiting in &bench.waiting {
            let made = row(elevator, *waiting, bench);
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

/// The elevators as typed; `all` stands for every one.
fn named(typed: &[String]) -> Result<Vec<ElevatorSpec>, Failure> {
    let names = typed.iter().flat_map(|text| match text.as_str() {
        "all" => goodness_io::ALL.iter().map(|about| about.name).collect(),
        one => vec![one],
    });
    names.map(crate::lab::elevator).collect()
}

fn row(elevator: &ElevatorSpec, waiting: u32, bench: &Bench) -> Result<Row, String> {
    let decision_ns = dispatch::cost(elevator, waiting, bench.time())?;
    let speed = requests::speed(elevator, waiting, bench.decisions)?;
    let per_s = |ns: f64| (1e9 / ns.max(f64::MIN_POSITIVE)).round();
    Ok(Row {
        elevator: elevator.to_string(),
        waiting,
        decision_ns: round(decision_ns),
        end_to_end_ns: round(speed.request_ns),
        requests_per_s: per_s(speed.request_ns),
        watched_per_s: per_s(speed.watched_ns),
    })
}

fn print(rows: &[Row]) {
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
        assert_eq!(names, Some(goodness_io::ALL.len() + 1));
        assert!(named(&["nop".into()]).is_err());
    }
}
