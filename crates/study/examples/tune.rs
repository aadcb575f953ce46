//! Three knobs, three recordings: the runs of a tuning against those of a grid, and what each finds.
//!
//! `cargo run --release -p goodness-study --example tune [-- SEEDS [LOAD]]` searches with both on two recordings of a
//! load and scores both answers on the third, with seeds that neither saw.

use goodness::tune::{Effort, Objective, Space, Tuning};
use goodness::{Contender, OpenOptions, Plan, Refusal, Work, open, unwatched};
use goodness_stats::summary::mean;
use std::path::Path;

/// The load if none is named: endless loops, periodic sleepers and short-lived shells.
const LOAD: &str = "mixed-1cpu";
const KNOBS: [&str; 3] = ["base_slice=0.3ms..12ms", "python3.nice=-10..10", "other-*.nice=-10..10"];
const METRIC: &str = "wakeup_latency_p99";
/// Values of each knob in the grid.
const VALUES: u32 = 8;
/// Runs of each setting of the grid on each recording. More would choose better, and take longer.
const RUNS: u32 = 6;
/// Runs of each final score.
const FINAL: u32 = 20;

fn main() -> Result<(), Refusal> {
    let seeds: u64 = std::env::args().nth(1).and_then(|it| it.parse().ok()).unwrap_or(3);
    let load = std::env::args().nth(2).unwrap_or_else(|| LOAD.into());
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../recordings/repeats");
    let names = [1, 2, 3].map(|it| folder.join(format!("{load}.{it}.ftrace.zst")).to_string_lossy().into_owned());
    let works: Vec<Work> =
        names.iter().map(|name| open(name, &OpenOptions::default(), &unwatched)).collect::<Result<_, _>>()?;
    println!("{load}, {METRIC}, knobs {}", KNOBS.join(", "));
    for seed in 1..=seeds {
        let space = Space::of(&KNOBS.map(String::from), works[0].default_contender(None, None)?)?;
        let tuning = Tuning {
            inputs: names.iter().cloned().zip(&works).collect(),
            space: space.clone(),
            objective: Objective::minimise(METRIC)?,
            guards: Vec::new(),
            seed,
            effort: Effort { held_out: FINAL, ..Effort::default() },
        };
        let tuned = tuning.run(&unwatched)?;
        let best = tuned.finalists.first().map_or("base", |it| it.arm.as_str());
        let found = Contender::arm(best, &space.default.policy)?;
        let (of_grid, runs) = grid(&space, &works[..2], seed)?;
        let scores = score(&works[2], &[space.default.clone(), found.clone(), of_grid.clone()], seed + 5_000)?;
        let [of_default, of_tuning, of_grid_score] = [0, 1, 2].map(|it| scores[it] / 1e6);
        println!("seed {seed}: default {of_default:.2} ms on the held-out recording");
        let (searched, all) = (tuned.runs.search, tuned.runs.all());
        println!("  tuning {searched:5} runs, {all} with the final score: {of_tuning:.2} ms  {best}");
        println!("  grid   {runs:5} runs: {of_grid_score:.2} ms  {}", of_grid.beside(&space.default));
        println!("  {:.1} times fewer runs to search", runs as f64 / searched as f64);
    }
    Ok(())
}

/// The best setting of a grid by the mean of logarithms over recordings and runs, and the runs that it took.
fn grid(space: &Space, works: &[Work], seed: u64) -> Result<(Contender, u64), Refusal> {
    let mut settings: Vec<Vec<Option<String>>> = vec![Vec::new()];
    for knob in &space.knobs {
        let values: Vec<String> = (0..VALUES).map(|at| knob.value(f64::from(at) / f64::from(VALUES - 1))).collect();
        let with =
            |setting: &Vec<Option<String>>, value: &String| [setting.as_slice(), &[Some(value.clone())]].concat();
        settings = settings.iter().flat_map(|setting| values.iter().map(move |value| with(setting, value))).collect();
    }
    let contenders: Vec<Contender> = settings.iter().map(|it| space.contender(it)).collect::<Result<_, _>>()?;
    let mut logs = vec![0.0; contenders.len()];
    for work in works {
        let plan = Plan { seed, first: 1, runs: RUNS, recorded: None, ..Plan::of(work, contenders.clone()) };
        for (log, values) in logs.iter_mut().zip(values_of(&plan)?) {
            *log += values.iter().map(|value| value.ln()).sum::<f64>();
        }
    }
    let best = (0..logs.len()).min_by(|a, b| logs[*a].total_cmp(&logs[*b])).unwrap_or_default();
    Ok((contenders[best].clone(), contenders.len() as u64 * u64::from(RUNS) * works.len() as u64))
}

/// The geometric mean of the metric over held-out runs, in ns, of each contender.
fn score(work: &Work, contenders: &[Contender], seed: u64) -> Result<Vec<f64>, Refusal> {
    let plan = Plan { seed, runs: FINAL, recorded: None, ..Plan::of(work, contenders.to_vec()) };
    let logs =
        |values: &Vec<f64>| mean(&values.iter().map(|it| it.ln()).collect::<Vec<_>>()).map_or(f64::NAN, f64::exp);
    Ok(values_of(&plan)?.iter().map(logs).collect())
}

fn values_of(plan: &Plan) -> Result<Vec<Vec<f64>>, Refusal> {
    plan.run_each(&unwatched, |run| Ok(run.measured.get(METRIC).value.unwrap_or(f64::INFINITY)))
}
