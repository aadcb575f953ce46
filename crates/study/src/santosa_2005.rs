//! Common parts of the two studies of Santosa's article: schedulers, latency as defined there, and the scalability
//! formula.

use crate::{Chart, Estimate, Lab, Line, Parameter, Point, Row, Run, Trial};
use goodness_core::{Machine, Span};
use goodness_work::machine::parse_machine;
use goodness_work::models::BuiltIn;

/// Cache-refill cost of a switch in both studies.
pub const CACHE_REFILL: Parameter = Parameter {
    name: "cache_refill",
    unit: "us",
    value: 8.0,
    low: 0.0,
    high: 30.0,
    because: "What lmbench adds to a Pentium 4's switch for processes of 16 kB (about 8 us) and 64 kB (about 30 us); \
              general knowledge.",
};

/// The document.
pub const SOURCE: &str =
    "M. Santosa, Using the Staircase Scheduler for Linux Kernel 2.6, Sys Admin 14(9), September 2005";

/// The rival: vanilla 2.6.8 to 2.6.11.
pub const O1: &str = "o1";
/// Staircase 10.5, the version named in the article's last note, by (interactive, compute).
pub const ON_OFF: &str = "staircase:version=10.5,interactive=on";
/// Both modes off.
pub const OFF_OFF: &str = "staircase:version=10.5,interactive=off";
/// Compute mode on; interactive mode is without effect then.
pub const OFF_ON: &str = "staircase:version=10.5,interactive=off,compute=on";

/// The thread counts of the scalability tests, and the one from which it counts.
pub const THREADS: [u32; 8] = [2, 4, 8, 16, 32, 64, 128, 256];
/// See [`THREADS`].
pub const BASE: u32 = 16;
/// Replications of a point of the scalability tests, as in the article.
const SCALING_RUNS: u32 = 5;

/// The article's scalability from `b` to `a` threads. Lower is better; 1 means that an additional thread costs as much
/// as it gains.
pub fn scalability(time_b: f64, time_a: f64, b: u32, a: u32) -> f64 {
    (time_b / time_a) / (f64::from(b) / f64::from(a))
}

/// The Pentium 4 with the study's own cost of a cold cache.
pub fn machine(lab: &Lab) -> Result<Machine, String> {
    let mut machine = parse_machine("p4-2005")?;
    machine.costs.cache_refill = Span((lab.parameter("cache_refill") * 1000.0).round() as u64);
    Ok(machine)
}

/// Replications of `work` under `policy`, each of which must have come to its end.
pub fn run(lab: &Lab, machine: &Machine, policy: &str, work: &BuiltIn) -> Result<Vec<Run>, String> {
    let runs = lab.run(&Trial { policy, machine, work })?;
    match runs.iter().find(|run| run.outcome.reason == goodness_sim::End::Horizon) {
        Some(_) => Err(format!("{policy}: the requests were not all served within the workload's duration")),
        None => Ok(runs),
    }
}

/// All runs of a main test.
pub struct Schedulers {
    /// O(1).
    pub o1: Vec<Run>,
    /// Staircase (on, off).
    pub on: Vec<Run>,
    /// Staircase (off, off).
    pub off: Vec<Run>,
    /// Staircase (off, on).
    pub compute: Vec<Run>,
}

impl Schedulers {
    /// Runs `work` under each.
    pub fn run(lab: &Lab, machine: &Machine, work: &BuiltIn) -> Result<Schedulers, String> {
        let under = |policy| run(lab, machine, policy, work);
        Ok(Schedulers { o1: under(O1)?, on: under(ON_OFF)?, off: under(OFF_OFF)?, compute: under(OFF_ON)? })
    }
}

/// Seconds from the first request until the client has read the last reply and exited, as printed by `ab` and sysbench.
pub fn total(run: &Run) -> f64 {
    let is_client = |name: &str| name.starts_with("ab-") || name.starts_with("sysbench-");
    let clients = run.measured.tasks.iter().filter(|task| is_client(&run.names[task.task.index()]));
    let last = clients.filter_map(|client| client.ended).max();
    last.map_or(f64::NAN, |last| last.since(run.measured.window.from).0 as f64 / 1e9)
}

/// Mean time of a request in milliseconds.
pub fn average(run: &Run) -> f64 {
    run.measured.distributions.request_latency.mean().unwrap_or(f64::NAN) / 1e6
}

/// The article's `max - min`: longest minus shortest request, in milliseconds.
pub fn worst(run: &Run) -> f64 {
    spread(run, 10_000)
}

/// The article's `major - min`: 95th percentile minus shortest request, in milliseconds.
pub fn major(run: &Run) -> f64 {
    spread(run, 9_500)
}

fn spread(run: &Run, per_10k: u32) -> f64 {
    let requests = &run.measured.distributions.request_latency;
    let shortest = requests.buckets().next().map_or(f64::NAN, |bucket| bucket.low as f64);
    (requests.quantile(per_10k).map_or(f64::NAN, |longest| longest as f64) - shortest) / 1e6
}

/// One value per run.
pub fn each(runs: &[Run], of: impl Fn(&Run) -> f64) -> Vec<f64> {
    runs.iter().map(of).collect()
}

/// One quotient per pair of runs with equal seeds.
pub fn by(runs: &[Run], others: &[Run], of: impl Fn(&Run) -> f64) -> Vec<f64> {
    runs.iter().zip(others).map(|(a, b)| of(a) / of(b)).collect()
}

/// The quotient of `of` under other versions of staircase, which bracket the inferred 10.5.
pub fn brackets(lab: &Lab, machine: &Machine, work: &BuiltIn, o1: &[Run]) -> Result<Vec<Row>, String> {
    let mut rows = Vec::new();
    if lab.verdicts_only {
        return Ok(rows);
    }
    for version in ["7.G", "13"] {
        let runs = run(lab, machine, &format!("staircase:version={version},interactive=off"), work)?;
        rows.push(Row::unpublished(
            &format!("maximum - minimum, staircase {version} (off, off) by O(1)"),
            "ratio",
            Estimate::of(&by(&runs, o1, worst)).as_ref(),
            "Version 10.5 is inferred from 7.G and 13, so these bracket it.",
        ));
    }
    Ok(rows)
}

/// Total times by scheduler and number of threads, in seconds, one per replication.
pub struct Scaling {
    times: Vec<(&'static str, u32, Vec<f64>)>,
}

impl Scaling {
    /// Runs the scalability test with five replications, as in the article, or fewer if the lab has fewer. For a
    /// verdict only the points in `judged` are needed.
    pub fn measure(
        lab: &Lab,
        machine: &Machine,
        judged: &[(&'static str, &[u32])],
        work: impl Fn(u32) -> Result<BuiltIn, String>,
    ) -> Result<Scaling, String> {
        let mut few = lab.with(&[]);
        few.runs = lab.runs.min(SCALING_RUNS);
        let all = [O1, ON_OFF, OFF_OFF].map(|policy| (policy, &THREADS[..]));
        let mut times = Vec::new();
        for (policy, counts) in if lab.verdicts_only { judged } else { &all } {
            for threads in *counts {
                times.push((*policy, *threads, each(&run(&few, machine, policy, &work(*threads)?)?, total)));
            }
        }
        Ok(Scaling { times })
    }

    fn at(&self, policy: &str, threads: u32) -> &[f64] {
        let found = self.times.iter().find(|(name, count, _)| *name == policy && *count == threads);
        found.map_or(&[], |(_, _, times)| times)
    }

    /// The first time divided by the second, each that of a scheduler at a number of threads.
    pub fn ratio(&self, first: (&str, u32), second: (&str, u32)) -> Vec<f64> {
        let times = self.at(first.0, first.1).iter().zip(self.at(second.0, second.1));
        times.map(|(a, b)| a / b).collect()
    }

    /// The first scheduler's scalability from the base to `threads`, divided by the second's.
    pub fn scalability_ratio(&self, threads: u32, first: &str, second: &str) -> Vec<f64> {
        let of = |policy: &str| -> Vec<f64> {
            let times = self.at(policy, threads).iter().zip(self.at(policy, BASE));
            times.map(|(b, a)| scalability(*b, *a, threads, BASE)).collect()
        };
        of(first).iter().zip(of(second)).map(|(a, b)| a / b).collect()
    }

    /// The article's figure: runtime by threads.
    pub fn chart(&self, title: &str) -> Chart {
        let line = |policy: &'static str, name: &str| {
            let point = |threads| {
                let estimate = Estimate::of(self.at(policy, threads))?;
                Some(Point { x: f64::from(threads), y: estimate.value, ci95: estimate.ci95 })
            };
            Line { name: name.into(), published: false, points: THREADS.into_iter().filter_map(point).collect() }
        };
        Chart {
            title: title.into(),
            x: "threads".into(),
            y: "seconds for all requests".into(),
            doubling: true,
            lines: vec![line(O1, "O(1)"), line(ON_OFF, "staircase (on, off)"), line(OFF_OFF, "staircase (off, off)")],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scalability_is_growth_of_time_by_growth_of_threads() {
        assert!((scalability(20.0, 16.0, 128, 16) - 0.15625).abs() < 1e-12);
        assert!((scalability(16.0, 16.0, 256, 16) - 0.0625).abs() < 1e-12, "equal times: the inverse of the threads");
    }

    #[test]
    fn largest_and_major_latency_are_counted_from_the_smallest() {
        let work = BuiltIn::parse("server:clients=2,workers=2,duration=200ms").unwrap();
        let machine = Machine::flat(1, 1000).unwrap();
        let published = crate::Published { numbers: Vec::new() };
        let mut lab = Lab::new(&crate::STUDIES[0], &published, 1, &crate::untold);
        lab.runs = 1;
        let runs = lab.run(&Trial { policy: O1, machine: &machine, work: &work }).unwrap();
        let requests = &runs[0].measured.distributions.request_latency;
        let shortest = requests.buckets().next().unwrap().low as f64 / 1e6;
        assert!((worst(&runs[0]) - (requests.max().unwrap() as f64 / 1e6 - shortest)).abs() < 1e-9);
        assert!(shortest > 0.0 && major(&runs[0]) <= worst(&runs[0]));
    }
}
