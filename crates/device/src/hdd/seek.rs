//! Seek curves: seek time by distance in cylinders.

use goodness_core::Span;

/// A seek curve as published.
#[derive(Clone, Debug, PartialEq)]
pub enum Curve {
    /// Measured points: cylinders, microseconds. Linear between points, constant beyond the last.
    Table(Vec<(u32, u32)>),
    /// Ruemmler and Wilkes 1994: a + b √d below `knee` cylinders, c + e d above; milliseconds.
    RuemmlerWilkes {
        /// Start of the second formula, in cylinders.
        knee: u32,
        /// Constant of the first formula.
        a: f64,
        /// Factor of the root.
        b: f64,
        /// Constant of the second formula.
        c: f64,
        /// Factor of the distance.
        e: f64,
    },
    /// Lee's three points, as in data sheets; milliseconds.
    ThreePoint {
        /// Seek over one cylinder.
        min: f64,
        /// Mean over all pairs of cylinders.
        avg: f64,
        /// From the first to the last.
        max: f64,
    },
}

/// Nanoseconds by distance in cylinders; distance 0 costs nothing.
#[derive(Clone, Debug)]
pub struct SeekTimes(Vec<u32>);

impl SeekTimes {
    /// The curve for a disk of `cylinders` cylinders.
    #[must_use]
    pub fn new(curve: &Curve, cylinders: u32) -> SeekTimes {
        let time = |d: u32| match curve {
            Curve::Table(points) => interpolate(points, d),
            Curve::RuemmlerWilkes { knee, a, b, c, e } => {
                let d_f = f64::from(d);
                nanoseconds(if d < *knee { a + b * d_f.sqrt() } else { c + e * d_f })
            }
            Curve::ThreePoint { min, avg, max } => {
                let n = f64::from(cylinders.max(2));
                let a = (-10.0 * min + 15.0 * avg - 5.0 * max) / (3.0 * n.sqrt());
                let b = (7.0 * min - 15.0 * avg + 8.0 * max) / (3.0 * n);
                let x = f64::from(d - 1);
                nanoseconds(a * x.sqrt() + b * x + min)
            }
        };
        SeekTimes((0..cylinders.max(2)).map(|d| if d == 0 { 0 } else { time(d) }).collect())
    }

    /// Nanoseconds for `distance` cylinders.
    #[inline]
    #[must_use]
    pub fn ns(&self, distance: u32) -> u64 {
        u64::from(self.0[(distance as usize).min(self.0.len() - 1)])
    }

    /// The mean over all pairs of different cylinders.
    #[must_use]
    pub fn mean(&self) -> Span {
        let cylinders = self.0.len() as u128;
        let (mut sum, mut weight) = (0u128, 0u128);
        for (distance, ns) in self.0.iter().enumerate().skip(1) {
            let pairs = cylinders - distance as u128;
            sum += pairs * u128::from(*ns);
            weight += pairs;
        }
        Span((sum / weight.max(1)) as u64)
    }
}

fn nanoseconds(ms: f64) -> u32 {
    (ms * 1e6).round().clamp(0.0, f64::from(u32::MAX)) as u32
}

/// Interpolates linearly between points in microseconds; result in nanoseconds.
fn interpolate(points: &[(u32, u32)], d: u32) -> u32 {
    let after = points.partition_point(|point| point.0 < d);
    let Some(&(x1, y1)) = points.get(after) else {
        return points.last().map_or(0, |point| point.1 * 1000);
    };
    if after == 0 || x1 == d {
        return y1 * 1000;
    }
    let (x0, y0) = points[after - 1];
    let rise = (i64::from(y1) - i64::from(y0)) * 1000;
    (i64::from(y0) * 1000 + rise * i64::from(d - x0) / i64::from(x1 - x0)) as u32
}

/// `points` without outliers: the closest non-decreasing curve by least squares (pool adjacent violators).
#[must_use]
pub fn smooth(points: &[(u32, u32)]) -> Vec<(u32, u32)> {
    let mut pools: Vec<(u64, u64)> = Vec::with_capacity(points.len());
    for point in points {
        pools.push((u64::from(point.1), 1));
        while let [.., before, last] = pools[..]
            && before.0 * last.1 > last.0 * before.1
        {
            pools.pop();
            *pools.last_mut().expect("a pool is before the last") = (before.0 + last.0, before.1 + last.1);
        }
    }
    let times = pools.iter().flat_map(|(sum, count)| (0..*count).map(move |_| (sum / count) as u32));
    points.iter().zip(times).map(|(point, time)| (point.0, time)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_exact_at_its_points_and_linear_between() {
        let times = SeekTimes::new(&Curve::Table(vec![(1, 1000), (3, 1400), (10, 700)]), 20);
        assert_eq!([0, 1, 2, 3, 10, 19].map(|d| times.ns(d)), [0, 1_000_000, 1_200_000, 1_400_000, 700_000, 700_000]);
        assert_eq!(times.ns(4), 1_300_000);
    }

    /// Section 11.3: min 0.4, avg 3.6, max 7.4 ms over 20 000 cylinders give a = 0.03064, b = 0.0001333.
    #[test]
    fn three_points_give_the_coefficients_of_the_example() {
        let times = SeekTimes::new(&Curve::ThreePoint { min: 0.4, avg: 3.6, max: 7.4 }, 20_000);
        assert_eq!(times.ns(1), 400_000);
        let by_hand = 0.03064 * 99f64.sqrt() + 0.000_133_3 * 99.0 + 0.4;
        assert!((times.ns(100) as f64 / 1e6 - by_hand).abs() < 0.0005, "{}", times.ns(100));
        assert!((times.ns(19_999) as f64 / 1e6 - 7.4).abs() < 0.001);
        assert!((times.mean().ns() as f64 / 1e6 - 3.6).abs() < 0.02, "{}", times.mean());
    }

    #[test]
    fn two_formulas_meet_at_the_knee() {
        let curve = Curve::RuemmlerWilkes { knee: 2600, a: 1.338, b: 0.0778, c: 3.146, e: 0.000_743 };
        let times = SeekTimes::new(&curve, 10_042);
        assert_eq!(times.ns(100), 2_116_000);
        assert_eq!(times.ns(2600), 5_077_800);
        assert_eq!(times.ns(10_000), 10_576_000);
    }

    #[test]
    fn smoothing_removes_an_outlier_and_never_falls() {
        let smoothed = smooth(&[(1, 10), (2, 30), (3, 20), (4, 90), (5, 30), (6, 40)]);
        assert_eq!(smoothed, [(1, 10), (2, 25), (3, 25), (4, 53), (5, 53), (6, 53)]);
    }
}
