//! Coverage: 95 % intervals contain the true value in 95 % of repeated experiments. Seeds are fixed, so the counts are
//! reproducible.

use goodness_stats::Confidence;
use goodness_stats::compare::{Direction, Settings, Verdict, compare_family};
use goodness_stats::ratio::{Pairing, Ratio};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// Draws from the distributions of the experiments.
struct Nature(Xoshiro256PlusPlus);

impl Nature {
    fn with_seed(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// Uniform, above 0 and at most 1.
    fn uniform(&mut self) -> f64 {
        ((self.0.next_u64() >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }

    /// Standard normal, by Box and Muller.
    fn normal(&mut self) -> f64 {
        (-2.0 * self.uniform().ln()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// Latencies of `runs` seeds under one policy and under another that is `factor` as slow.
    fn latencies(&mut self, runs: usize, factor: f64) -> (Vec<f64>, Vec<f64>) {
        let pair = |nature: &mut Self| {
            let seed = 0.6 * nature.normal();
            let run = |nature: &mut Self| 100.0 * (seed + 0.1 * nature.normal()).exp();
            (run(nature), factor * run(nature))
        };
        (0..runs).map(|_| pair(self)).unzip()
    }
}

/// Fraction of `experiments` of ten runs per side whose 95 % interval contains the true factor 0.9. Independent runs
/// have separate seeds on each side.
fn coverage(experiments: u32, pairing: Pairing) -> f64 {
    let mut nature = Nature::with_seed(11);
    let covered = |nature: &mut Nature| {
        let (reference, candidate) = match pairing {
            Pairing::Paired => nature.latencies(10, 0.9),
            Pairing::Independent => (nature.latencies(10, 0.9).0, nature.latencies(10, 0.9).1),
        };
        let ratio = Ratio::of_samples(&reference, &candidate, pairing).unwrap();
        ratio.interval(Confidence::P95).unwrap().contains(0.9)
    };
    (0..experiments).filter(|_| covered(&mut nature)).count() as f64 / f64::from(experiments)
}

#[test]
fn the_t_interval_of_ten_runs_covers_as_promised() {
    for pairing in [Pairing::Paired, Pairing::Independent] {
        let share = coverage(4_000, pairing);
        println!("t interval, {pairing:?}: {share}");
        assert!(share > 0.94, "{pairing:?}: {share}");
    }
}

#[test]
fn thirty_equal_policies_yield_a_winner_in_at_most_one_family_of_twenty() {
    let mut nature = Nature::with_seed(8);
    let settings = Settings { margin: 0.0, ..Settings::new(Direction::LowerIsBetter) };
    let decided = |nature: &mut Nature| {
        let runs: Vec<Vec<Option<f64>>> =
            (0..31).map(|_| (0..10).map(|_| Some(nature.normal().exp())).collect()).collect();
        let candidates: Vec<&[Option<f64>]> = runs[1..].iter().map(Vec::as_slice).collect();
        let found = compare_family(&runs[0], &candidates, &settings);
        let lone = found.iter().filter(|found| found.p_value.unwrap() < 0.05).count();
        (found.iter().any(|found| found.verdict != Verdict::Inconclusive), lone > 0)
    };
    let families: Vec<(bool, bool)> = (0..1_000).map(|_| decided(&mut nature)).collect();
    let share =
        |pick: fn(&(bool, bool)) -> bool| families.iter().filter(|family| pick(family)).count() as f64 / 1_000.0;
    println!("families with a false finding: {} corrected, {} not", share(|f| f.0), share(|f| f.1));
    assert!(share(|family| family.0) < 0.065);
    assert!(share(|family| family.1) > 0.3, "without correction most families hold a false finding");
}
