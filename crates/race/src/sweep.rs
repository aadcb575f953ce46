//! Sweeps: a load at several numbers of connections in turn, and its scalability (M. Santosa, 2005).

use crate::load_error::LoadError;
use crate::measure::{Better, Measure};
use crate::parameter::Counts;

/// Reference number of the scalability, as in the article: from there on its runtimes grow.
const BASE: u64 = 16;

/// Measures of `run` at each of `counts`, with the number appended to each name, and the scalability from 16 to each
/// larger number. Without a sweep, measures at `alone` without suffix.
pub(crate) fn swept(
    counts: &Counts,
    alone: u64,
    mut run: impl FnMut(u64) -> Result<Vec<Measure>, LoadError>,
) -> Result<Vec<Measure>, LoadError> {
    if counts.0.is_empty() {
        return run(alone);
    }
    let mut all = Vec::new();
    for &count in &counts.0 {
        let measures = run(count).map_err(|why| LoadError(format!("with {count} connections: {why}")))?;
        all.extend(measures.into_iter().map(|m| Measure { name: format!("{}_{count}", m.name), ..m }));
    }
    all.extend(scalabilities(counts, &all));
    Ok(all)
}

/// Name and number of a swept measure: `throughput_16` is `throughput` with 16 connections, threads or contexts.
#[must_use]
pub fn swept_name(name: &str) -> Option<(&str, &str)> {
    name.rsplit_once('_').filter(|(_, end)| !end.is_empty() && end.bytes().all(|byte| byte.is_ascii_digit()))
}

fn scalabilities(counts: &Counts, all: &[Measure]) -> Vec<Measure> {
    let time = |count: u64| {
        let name = format!("time_to_finish_{count}");
        all.iter().find(|measure| measure.name == name).map(|measure| measure.value)
    };
    let above = counts.0.iter().filter(|count| **count > BASE);
    let scaled = above.filter_map(|&count| {
        let value = scalability((BASE, time(BASE)?), (count, time(count)?));
        Some(Measure::new(&format!("scalability_{BASE}_to_{count}"), "1", Better::Lower, value))
    });
    scaled.collect()
}

/// Scalability: ratio of the runtimes at two numbers of threads, divided by the ratio of the numbers. Less is better.
fn scalability((a, time_a): (u64, f64), (b, time_b): (u64, f64)) -> f64 {
    (time_b / time_a) / (b as f64 / a as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scalability_is_the_ratio_of_runtimes_over_that_of_threads() {
        let time = |count: u64| Ok(vec![Measure::new("time_to_finish", "ns", Better::Lower, 100.0 + count as f64)]);
        let all = swept(&Counts(vec![4, 16, 64]), 1, time).unwrap();
        let names: Vec<&str> = all.iter().map(|m| m.name.as_str()).collect();
        assert_eq!(names, ["time_to_finish_4", "time_to_finish_16", "time_to_finish_64", "scalability_16_to_64"]);
        assert!((all[3].value - (164.0 / 116.0) / 4.0).abs() < 1e-12);
        assert_eq!(swept(&Counts::default(), 7, time).unwrap()[0].name, "time_to_finish");
        let failing = swept(&Counts(vec![4]), 1, |_| Err(LoadError("no".into()))).unwrap_err();
        assert_eq!(failing.0, "with 4 connections: no");
    }
}
