//! Cost of a decision of each policy alone, from 10 to 1 000 000 tasks on one CPU, as the JSON rows of `goodness bench
//! --json` without the slower end-to-end figures: `cargo run --release -p goodness-bench --example growth`.

use goodness::PolicySpec;
use goodness_bench::{Size, verbs};
use serde_json::{Value, json};
use std::time::Duration;

fn row(policy: &PolicySpec, tasks: usize) -> Result<Value, String> {
    let cost = verbs::cost(policy, Size { tasks, cpus: 1 }, Duration::from_millis(60))?;
    let ns = (cost.decision_ns * 10.0).round() / 10.0;
    Ok(json!({"policy": policy.name, "tasks": tasks, "cpus": 1, "decision_ns": ns, "effort": cost.effort}))
}

fn main() -> Result<(), String> {
    let mut rows = Vec::new();
    for about in goodness_policies::ALL {
        for tasks in [10, 100, 1_000, 10_000, 100_000, 1_000_000] {
            rows.push(row(&PolicySpec::parse(about.name)?, tasks)?);
        }
    }
    println!("{:#}", Value::from(rows));
    Ok(())
}
