//! Writes the measurements as the expected numbers of a study.

use std::fmt::Write as _;

use super::{ELEVATORS, JOBS, Seen};

/// Fewest rounds for an order to count as measured; all must agree. By chance, one pair in 32 would.
const ROUNDS: usize = 6;

/// Tolerance of a value, as a part of it, where its rounds do not differ by more.
const LEAST: f64 = 0.1;

/// The numbers of `place` from a TOML text.
pub fn published(place: &str, about: &str, seen: &[Seen; 4], rounds: u64, seconds: u64) -> String {
    let kernel = goodness_sys::kernel_release().unwrap_or_default();
    let kernel = kernel.split(['-', '+']).next().unwrap_or_default();
    let mut text = format!(
        "# Measured by scripts/measure-fio-mixed: Linux {kernel}, 2 CPUs, {about}.\n\
         # Four jobs at random places: reads of 4 KiB at depth 1 and at depth 16, writes of 64 KiB at depth 8, writes \
         of 4 KiB at\n\
         # depth 4. {rounds} rounds of {seconds} s under each elevator in turns; medians. The total under none is what \
         the model is\n\
         # fitted to.\n"
    );
    for (elevator, seen) in ELEVATORS.iter().zip(seen) {
        values(&mut text, place, elevator, seen);
    }
    if seen[0].total.len() >= ROUNDS {
        orders(&mut text, place, seen);
    }
    text
}

fn values(text: &mut String, place: &str, elevator: &str, seen: &Seen) {
    let rounds = seen.total.len();
    let mut entry = |key: &str, quantity: &str, unit: &str, values: &[f64]| {
        let ((low, high), middle) = (range(values), median(values));
        let spread = (low / middle - 1.0).abs().max((high / middle - 1.0).abs());
        let tolerance = if spread.is_finite() { LEAST.max((spread * 1000.0).ceil() / 1000.0) } else { LEAST };
        let _ = write!(
            text,
            "\n[[number]]\nkey = \"{place}.{key}.{elevator}\"\nquantity = \"{place}: {quantity} under {elevator}\"\n\
             unit = \"{unit}\"\nvalue = {:.3}\nwhere = \"median of {rounds} rounds, {low:.3} to {high:.3}\"\n\
             tolerance = {{ relative = {tolerance:.3} }}\n",
            middle
        );
    };
    entry("iops", "I/Os a second, all jobs,", "per second", &seen.total);
    entry("p99", "p99 of the reads at depth 1", "ns", &seen.p99);
    for (job, (name, ..)) in JOBS.iter().enumerate() {
        let shares: Vec<f64> = seen.jobs[job].iter().zip(&seen.total).map(|(one, all)| one / all).collect();
        entry(&format!("share-{name}"), &format!("share of {name} in all I/Os"), "ratio", &shares);
    }
}

/// Writes the measured order of each pair of predicted elevators, if it was the same in every round.
fn orders(text: &mut String, place: &str, seen: &[Seen; 4]) {
    for (one, other) in [(1, 2), (1, 3), (2, 3)] {
        let mut entry = |key: &str, quantity: &str, of: fn(&Seen) -> &[f64]| {
            let ratios: Vec<f64> =
                of(&seen[one]).iter().zip(of(&seen[other])).map(|(one, other)| one / other).collect();
            let (low, high) = range(&ratios);
            let says = match () {
                () if low > 1.0 => "says = \"above\"\nagainst = { value = 1.0 }\n",
                () if high < 1.0 => "says = \"below\"\nagainst = { value = 1.0 }\n",
                () => "",
            };
            let (first, second) = (ELEVATORS[one], ELEVATORS[other]);
            let _ = write!(
                text,
                "\n[[number]]\nkey = \"{place}.{key}-order.{first}.{second}\"\n\
                 quantity = \"{place}: {quantity}, {first} over {second}\"\nunit = \"ratio\"\n{says}\
                 where = \"{} rounds, {low:.2} to {high:.2}, median {:.2}\"\n",
                ratios.len(),
                median(&ratios)
            );
        };
        entry("iops", "I/Os a second, all jobs", |seen| &seen.total);
        entry("p99", "p99 of the reads at depth 1", |seen| &seen.p99);
    }
}

fn range(values: &[f64]) -> (f64, f64) {
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    (low, values.iter().copied().fold(0.0, f64::max))
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let half = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[half] } else { f64::midpoint(sorted[half - 1], sorted[half]) }
}
