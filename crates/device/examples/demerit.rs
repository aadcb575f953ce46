//! Accuracy of two drive models against the real drives, with and without each mechanism.
//!
//! `cargo run --release -p goodness-device --example demerit`

#[path = "../tests/common/mod.rs"]
mod common;

use common::{demerit, measured, replay};
use goodness_core::{Operation, Seed};

const DRIVES: [(&str, &str); 2] = [("atlas10k", "atlas-10k"), ("cheetah4LP", "cheetah-4lp")];
const VARIANTS: [&str; 11] = [
    "",
    "cache=off",
    "read_ahead=off",
    "free_blocks=off",
    "zero_latency=off",
    "write_cache=off",
    "write_settle=0",
    "bus=0",
    "seek=smooth",
    "seek=ruemmler-wilkes",
    "seek=lee",
];

fn main() {
    for (file, device) in DRIVES {
        let Some(sent) = measured(file) else { return };
        let real: Vec<u64> = sent.iter().map(|m| m.response).collect();
        println!("{device}: {} requests, mean response {:.3} ms", sent.len(), mean(&real));
        for settings in VARIANTS {
            let text = if settings.is_empty() { device.to_string() } else { format!("{device}:{settings}") };
            let mut drive = goodness_device::by_name(&text, Seed(1)).expect("a drive");
            let simulated = replay(&mut *drive, &sent);
            let of = |op: Operation| {
                let pick = |values: &[u64]| -> Vec<u64> {
                    values.iter().zip(&sent).filter(|(_, m)| m.op == op).map(|(v, _)| *v).collect()
                };
                demerit(&pick(&real), &pick(&simulated))
            };
            println!(
                "  {settings:22} demerit {:.3} ms (reads {:.3}, writes {:.3}), mean {:.3} ms",
                demerit(&real, &simulated),
                of(Operation::Read),
                of(Operation::Write),
                mean(&simulated)
            );
        }
    }
}

fn mean(values: &[u64]) -> f64 {
    values.iter().sum::<u64>() as f64 / values.len() as f64 / 1e6
}
