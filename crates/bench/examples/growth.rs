//! What a decision of each policy costs by itself, from 10 to 1 000 000 tasks on one CPU, as the JSON rows that
//! `goodness bench --json` prints, less the end-to-end figures, which take longer:
//! `cargo run --release -p goodness-bench --example growth`.

use goodness_bench::{Size, verbs};
use goodness_core::{Registered, Visitor};
use serde_json::{Value, json};
use std::time::Duration;

struct Measure(Size);

impl Visitor for Measure {
    type Output = Result<Value, String>;

    fn visit<P: Registered + 'static>(self) -> Self::Output {
        let Size { tasks, cpus } = self.0;
        let cost = verbs::cost::<P>(P::Settings::default(), self.0, Duration::from_millis(60))?;
        let (policy, ns) = (P::ABOUT.name, (cost.decision_ns * 10.0).round() / 10.0);
        Ok(json!({"policy": policy, "tasks": tasks, "cpus": cpus, "decision_ns": ns, "effort": cost.effort}))
    }
}

fn main() -> Result<(), String> {
    let mut rows = Vec::new();
    for about in goodness_cpu::ALL {
        for tasks in [10, 100, 1_000, 10_000, 100_000, 1_000_000] {
            let measured = goodness_cpu::with_policy(about.name, Measure(Size { tasks, cpus: 1 }));
            rows.push(measured.expect("a listed policy is found")?);
        }
    }
    println!("{:#}", Value::from(rows));
    Ok(())
}
