//! A model of the objective over all settings, from the candidates so far: a Gaussian process (Rasmussen and Williams,
//! "Gaussian Processes for Machine Learning", MIT Press 2006, chapters 2 and 5) with a length scale for each knob,
//! chosen by its marginal likelihood, so that a knob without an effect is left out of account. New candidates are those
//! with the largest expected improvement (Jones, Schonlau and Welch, Journal of Global Optimization 13, 1998).

use goodness_stats::distribution::{normal_cdf, normal_density};

/// Length scales that are tried, as shares of a knob's range. With the longest a knob hardly matters.
const SCALES: [f64; 7] = [0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 6.4];
/// Shares of noise in the variance that are tried.
const NOISES: [f64; 4] = [1e-4, 1e-3, 1e-2, 1e-1];
/// Sweeps of the search for scales and noise. Most settle in two.
const SWEEPS: usize = 3;

/// Place of a setting along one knob.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Place {
    /// In the range of the knob, 0 to 1.
    At(f64),
    /// A value of a list, by number.
    Value(usize),
    /// As it is.
    AsItIs,
}

impl Place {
    /// The squared distance of two places: values of a list, and a knob as it is, are as far as the ends of a range.
    fn apart(self, other: Place) -> f64 {
        match (self, other) {
            (Place::At(one), Place::At(other)) => (one - other) * (one - other),
            (one, other) if one == other => 0.0,
            _ => 1.0,
        }
    }
}

/// A setting: a place for each knob.
pub(crate) type Point = Vec<Place>;

/// The model: expected value and deviation at any setting.
pub(crate) struct Surrogate {
    points: Vec<Point>,
    values: Vec<f64>,
    shape: Shape,
    fit: Fit,
}

/// What is chosen by likelihood.
#[derive(Clone, Debug, PartialEq)]
struct Shape {
    /// Length scale of each knob, as a share of its range.
    scales: Vec<f64>,
    /// Variance of the noise, as a share of that of the values.
    noise: f64,
}

/// The solved equations of a shape.
struct Fit {
    /// Lower triangle, by row.
    factor: Vec<Vec<f64>>,
    weights: Vec<f64>,
    level: f64,
    variance: f64,
    likelihood: f64,
}

impl Surrogate {
    /// The model of `values` at `points`; `None` with fewer than two different values, which no model can order.
    pub fn of(points: Vec<Point>, values: Vec<f64>) -> Option<Surrogate> {
        let varies = values.iter().any(|it| *it != values[0]);
        let knobs = points.first().filter(|_| varies)?.len();
        let mut shape = Shape { scales: vec![0.4; knobs], noise: 1e-2 };
        let mut fit = shape.fit(&points, &values)?;
        for _ in 0..SWEEPS {
            for knob in 0..=knobs {
                let tried: &[f64] = if knob < knobs { &SCALES } else { &NOISES };
                for value in tried {
                    let mut other = shape.clone();
                    *other.scales.get_mut(knob).unwrap_or(&mut other.noise) = *value;
                    let Some(better) = other.fit(&points, &values).filter(|it| it.likelihood > fit.likelihood) else {
                        continue;
                    };
                    (shape, fit) = (other, better);
                }
            }
        }
        Some(Surrogate { points, values, shape, fit })
    }

    /// The expected value at a setting, and its standard deviation.
    pub fn expected(&self, point: &Point) -> (f64, f64) {
        let near: Vec<f64> = self.points.iter().map(|it| self.shape.similar(it, point)).collect();
        let mean = self.fit.level + dot(&near, &self.fit.weights);
        let known = forward(&self.fit.factor, &near);
        (mean, (self.fit.variance * (1.0 - dot(&known, &known)).max(0.0)).sqrt())
    }

    /// The expected gain over the least value that is expected at any known setting.
    fn improvement(&self, point: &Point, least: f64) -> f64 {
        let (mean, deviation) = self.expected(point);
        let gain = least - mean;
        if deviation <= 0.0 {
            return gain.max(0.0);
        }
        gain * normal_cdf(gain / deviation) + deviation * normal_density(gain / deviation)
    }

    /// The numbers of `count` settings of `pool`, those with the largest expected improvement; each is believed to be
    /// as expected before the next one is chosen, so that they are not all in one place.
    pub fn choose(mut self, pool: &[Point], count: usize) -> Vec<usize> {
        let mut chosen = Vec::new();
        while chosen.len() < count.min(pool.len()) {
            let least = self.points.iter().map(|it| self.expected(it).0).fold(f64::INFINITY, f64::min);
            let rest = (0..pool.len()).filter(|it| !chosen.contains(it));
            let gains = rest.map(|it| (it, self.improvement(&pool[it], least)));
            let Some((best, _)) = gains.reduce(|best, it| if it.1 > best.1 { it } else { best }) else { break };
            chosen.push(best);
            self.values.push(self.expected(&pool[best]).0);
            self.points.push(pool[best].clone());
            let Some(fit) = self.shape.fit(&self.points, &self.values) else { break };
            self.fit = fit;
        }
        chosen
    }
}

impl Shape {
    /// Correlation of two settings, 0 to 1.
    fn similar(&self, one: &Point, other: &Point) -> f64 {
        let apart = |((one, other), scale): ((&Place, &Place), &f64)| one.apart(*other) / (scale * scale);
        (-0.5 * one.iter().zip(other).zip(&self.scales).map(apart).sum::<f64>()).exp()
    }

    /// Solves for the values; `None` if the equations are singular.
    fn fit(&self, points: &[Point], values: &[f64]) -> Option<Fit> {
        let rows = points.iter().enumerate().map(|(row, point)| {
            let noise = |column: usize| if column == row { self.noise } else { 0.0 };
            points[..=row].iter().enumerate().map(|(at, other)| self.similar(point, other) + noise(at)).collect()
        });
        let factor = cholesky(rows.collect())?;
        let count = values.len() as f64;
        let level = values.iter().sum::<f64>() / count;
        let centred: Vec<f64> = values.iter().map(|it| it - level).collect();
        let half = forward(&factor, &centred);
        let variance = dot(&half, &half) / count;
        let logs: f64 = factor.iter().enumerate().map(|(row, it)| it[row].ln()).sum();
        let likelihood = -0.5 * count * variance.ln() - logs;
        Some(Fit { weights: backward(&factor, half), factor, level, variance, likelihood })
    }
}

/// The Cholesky factor of a matrix given by the rows of its lower triangle; `None` if it is not positive definite.
fn cholesky(mut rows: Vec<Vec<f64>>) -> Option<Vec<Vec<f64>>> {
    for row in 0..rows.len() {
        for column in 0..=row {
            let rest = rows[row][column] - dot(&rows[row][..column], &rows[column][..column]);
            rows[row][column] = match column == row {
                true if rest > 0.0 => rest.sqrt(),
                true => return None,
                false => rest / rows[column][column],
            };
        }
    }
    Some(rows)
}

/// Solves with a lower triangle.
fn forward(factor: &[Vec<f64>], values: &[f64]) -> Vec<f64> {
    let mut solved: Vec<f64> = Vec::with_capacity(values.len());
    for (row, value) in values.iter().enumerate() {
        let rest = value - dot(&factor[row][..row], &solved);
        solved.push(rest / factor[row][row]);
    }
    solved
}

/// Solves with a lower triangle transposed.
fn backward(factor: &[Vec<f64>], mut values: Vec<f64>) -> Vec<f64> {
    for row in (0..values.len()).rev() {
        values[row] /= factor[row][row];
        let known = values[row];
        for (value, part) in values[..row].iter_mut().zip(&factor[row]) {
            *value -= part * known;
        }
    }
    values
}

fn dot(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(one, other)| one * other).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::space::strata;

    /// Points that fill two ranges, and their values under `truth`.
    fn sample(truth: impl Fn(f64, f64) -> f64) -> (Vec<Point>, Vec<f64>) {
        let [one, other] = [0, 1].map(|knob| strata(16, 7, knob));
        let points = one.iter().zip(&other).map(|(a, b)| vec![Place::At(*a), Place::At(*b)]).collect();
        (points, one.iter().zip(&other).map(|(a, b)| truth(*a, *b)).collect())
    }

    fn grid() -> Vec<Point> {
        let at = |step: usize| Place::At(step as f64 / 20.0);
        (0..21).flat_map(|a| (0..21).map(move |b| vec![at(a), at(b)])).collect()
    }

    #[test]
    fn the_least_of_a_smooth_valley_is_found_between_the_known_settings() {
        let truth = |a: f64, b: f64| (a - 0.3).powi(2) + 0.5 * (b - 0.8).powi(2);
        let (points, values) = sample(truth);
        let known = values.iter().copied().fold(f64::INFINITY, f64::min);
        let grid = grid();
        let chosen = Surrogate::of(points, values).unwrap().choose(&grid, 4);
        let of = |it: &usize| match grid[*it][..] {
            [Place::At(a), Place::At(b)] => truth(a, b),
            _ => unreachable!("the grid is of ranges"),
        };
        let best = chosen.iter().map(of).fold(f64::INFINITY, f64::min);
        assert!(best < 0.3 * known, "{best} is hardly below {known}");
        let mut distinct = chosen.clone();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), 4);
    }

    #[test]
    fn a_knob_without_an_effect_gets_a_long_scale_and_one_with_an_effect_does_not() {
        let (points, values) = sample(|a, _| (6.0 * a).sin());
        let shape = Surrogate::of(points, values).unwrap().shape;
        assert!(shape.scales[0] < 0.9 && shape.scales[1] > 4.0 * shape.scales[0], "{shape:?}");
    }

    #[test]
    fn known_values_come_back_and_far_ones_are_unsure() {
        let points = [0.0, 0.1, 0.2, 0.3].map(|at| vec![Place::At(at), Place::Value(0)]).to_vec();
        let values = vec![1.0, 0.4, 0.3, 0.8];
        let model = Surrogate::of(points.clone(), values.clone()).unwrap();
        for (point, value) in points.iter().zip(&values) {
            let (mean, deviation) = model.expected(point);
            assert!((mean - value).abs() < 0.2 && deviation < 0.2, "{mean} ± {deviation} for {value}");
        }
        let near = model.expected(&points[1]).1;
        assert!(model.expected(&vec![Place::At(1.0), Place::Value(0)]).1 > 2.0 * near);
        assert!(Surrogate::of(points, vec![1.0; 4]).is_none(), "equal values order nothing");
    }

    #[test]
    fn a_factor_solves_its_equations_and_a_singular_matrix_has_none() {
        let factor = cholesky(vec![vec![4.0], vec![2.0, 5.0], vec![0.5, 1.0, 3.0]]).unwrap();
        let solved = backward(&factor, forward(&factor, &[1.0, 2.0, 3.0]));
        let rows = [[4.0, 2.0, 0.5], [2.0, 5.0, 1.0], [0.5, 1.0, 3.0]];
        for (row, wanted) in rows.iter().zip([1.0, 2.0, 3.0]) {
            assert!((dot(row, &solved) - wanted).abs() < 1e-12);
        }
        assert!(cholesky(vec![vec![1.0], vec![1.0, 1.0]]).is_none());
    }
}
