//! Sensitivity of the verdicts to the inferred parameters: each at both ends of its range, the corners named by the
//! study, and random points of the whole box, with the study's own seeds and replications. Charts and rows without
//! published numbers are skipped, because they have no verdict.

use crate::{Findings, Lab, Parameter, Row, Study, Verdict};
use goodness_core::Seed;
use rayon::prelude::*;
use serde::Serialize;

/// Points of the random design.
const POINTS: u64 = 6;

/// A verdict that changed.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Flip {
    /// Quantity.
    pub quantity: String,
    /// Parameter values: `search = 0.8 us`.
    pub at: String,
    /// The verdict of the study.
    pub from: Verdict,
    /// The verdict there.
    pub to: Verdict,
}

/// Result of the analysis.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Sensitivity {
    /// Points tried in addition to the study's own.
    pub points: usize,
    /// Verdicts that changed, by point.
    pub flips: Vec<Flip>,
    /// Number of quantities whose verdict never changed.
    pub steady: usize,
}

/// Conducts `study` at other values of its parameters. `base` is the result at its own values.
///
/// # Errors
/// As the study itself.
pub fn search(study: &Study, lab: &Lab, base: &Findings) -> Result<Sensitivity, String> {
    let points = points(study.parameters, study.corners, lab.seed);
    let at = |point: &PointOf| {
        let mut there = lab.with(point);
        there.verdicts_only = true;
        Ok(flips(&base.rows, &(study.conduct)(&there)?.rows, &describe(point)))
    };
    let flips = points.par_iter().map(at).collect::<Result<Vec<_>, String>>()?.concat();
    let mut found = Sensitivity { points: points.len(), flips, steady: 0 };
    let flipped = |quantity: &str| found.flips.iter().any(|flip| flip.quantity == quantity);
    found.steady =
        base.rows.iter().filter(|row| row.verdict != Verdict::Unpublished && !flipped(&row.quantity)).count();
    Ok(found)
}

/// Rows of `before` with another verdict in `after`.
fn flips(before: &[Row], after: &[Row], at: &str) -> Vec<Flip> {
    let published = before.iter().filter(|row| row.verdict != Verdict::Unpublished);
    let changed = published.filter_map(|before| {
        let after = after.iter().find(|row| row.quantity == before.quantity)?;
        let flip =
            || Flip { quantity: before.quantity.clone(), at: at.into(), from: before.verdict, to: after.verdict };
        (before.verdict != after.verdict).then(flip)
    });
    changed.collect()
}

type PointOf<'a> = Vec<(&'a Parameter, f64)>;

/// Points to test: one parameter at a time, corners, then a Latin hypercube, in which each parameter's range is divided
/// into as many parts as there are points and each part is used once.
fn points<'a>(parameters: &'a [Parameter], corners: &[&str], seed: u64) -> Vec<PointOf<'a>> {
    let mut points = Vec::new();
    for it in parameters {
        for value in [it.low, it.high] {
            if value != it.value {
                points.push(vec![(it, value)]);
            }
        }
    }
    points.extend(combined(parameters, corners));
    if parameters.len() < 2 {
        return points;
    }
    let mut rng = Seed(seed).stream("sensitivity", 0).rng();
    let mut parts: Vec<Vec<u64>> = Vec::new();
    for _ in parameters {
        let mut order: Vec<u64> = (0..POINTS).collect();
        rng.shuffle(&mut order);
        parts.push(order);
    }
    for point in 0..POINTS as usize {
        let place = |(it, order): (&'_ Parameter, &Vec<u64>)| {
            let within = (order[point] as f64 + 0.5) / POINTS as f64;
            it.low + (it.high - it.low) * within
        };
        points.push(parameters.iter().zip(&parts).map(|(it, order)| (it, place((it, order)))).collect());
    }
    points
}

/// All combinations of two or more of `corners` at the end that is not their value, the upper one where neither is.
fn combined<'a>(parameters: &'a [Parameter], corners: &[&str]) -> Vec<PointOf<'a>> {
    let named: Vec<&Parameter> = parameters.iter().filter(|it| corners.contains(&it.name)).collect();
    let end = |it: &'a Parameter| (it, if it.value == it.high { it.low } else { it.high });
    let of = |bits: u32| named.iter().enumerate().filter(|(i, _)| bits & 1 << i != 0).map(|(_, it)| end(it)).collect();
    (0..1u32 << named.len()).filter(|bits| bits.count_ones() > 1).map(of).collect()
}

fn describe(point: &PointOf) -> String {
    let one = |(it, value): &(&Parameter, f64)| format!("{} = {value:.3} {}", it.name, it.unit).trim_end().to_string();
    point.iter().map(one).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARAMETERS: &[Parameter] = &[
        Parameter { name: "a", unit: "us", value: 1.0, low: 0.0, high: 2.0, because: "a test." },
        Parameter { name: "b", unit: "", value: 5.0, low: 5.0, high: 9.0, because: "a test." },
    ];

    #[test]
    fn corners_are_all_combinations_of_two_or_more_ends() {
        let at: Vec<String> = combined(PARAMETERS, &["a", "b"]).iter().map(describe).collect();
        assert_eq!(at, ["a = 2.000 us, b = 9.000"]);
        assert_eq!(combined(PARAMETERS, &["a"]).len(), 0, "one alone is no corner");
    }

    #[test]
    fn the_design_has_both_ends_and_uses_each_part_of_a_range_once() {
        let points = points(PARAMETERS, &[], 1);
        assert_eq!(points.len(), 3 + POINTS as usize, "b's low end is its value");
        let mut drawn: Vec<f64> = points[3..].iter().map(|p| p[0].1 * POINTS as f64 / 2.0 - 0.5).collect();
        drawn.sort_by(f64::total_cmp);
        let parts: Vec<i64> = drawn.iter().map(|v| v.round() as i64).collect();
        assert_eq!(parts, (0..POINTS as i64).collect::<Vec<_>>());
        assert_eq!(describe(&points[0]), "a = 0.000 us");
    }
}
