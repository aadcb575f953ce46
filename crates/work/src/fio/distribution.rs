//! Random offsets that favour some blocks: zipf, pareto, normal, zones.
//!
//! Source: the manual of fio 3, `random_distribution`, and for `normal` what fio 3.33 does, counted on its null engine.
//! As in fio, the ranks of zipf, pareto and normal are scattered over the file, and the map of used places does not
//! count.

use super::units::{self, Amount, Kilo};
use goodness_core::Rng;

/// Unit of the numbers below.
const MILLIONTHS: u64 = 1_000_000;
/// Factor that scatters ranks: the golden section in 64 bits, with its sign changed. fio's most frequent places on its
/// null engine are its multiples.
const SCATTER: u64 = 0x9e37_79b9_7f4a_7c15_u64.wrapping_neg();
/// Uniform draws whose mean is a normal draw: its standard deviation is a twelfth of the file.
const UNIFORMS: u64 = 12;
/// Zones of a job: fio's.
const ZONES_MAX: usize = 256;

/// Part of the file, and its share of the accesses in hundredths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Zone {
    accesses: u64,
    size: Amount,
}

/// Place of the most frequent block, in millionths of the file; `None` where it is not given.
pub type Center = Option<u64>;

/// How random offsets are distributed over a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Distribution {
    /// Evenly.
    Uniform,
    /// By Zipf's law: the exponent in millionths, and the place of the most frequent.
    Zipf(u64, Center),
    /// By a power law: fio's `h` in millionths, and the place of the most frequent.
    Pareto(u64, Center),
    /// The mean of twelve even draws, and an even draw of so many millionths of the file, half at most, around it. fio
    /// calls that a deviation.
    Normal(u64),
    /// By zones.
    Zoned(Vec<Zone>),
}

impl Distribution {
    /// Reads the value of `random_distribution`.
    ///
    /// # Errors
    /// The fault of the text.
    pub fn parse(text: &str, kilo: Kilo) -> Result<Distribution, String> {
        if text.contains(',') {
            return Err("one distribution for reads, writes and trims is honoured, not several".into());
        }
        let (name, rest) = text.split_once(':').unwrap_or((text, ""));
        let (number, center) = rest.split_once(':').map_or((rest, None), |(number, center)| (number, Some(center)));
        let number = |usual: u64| if number.is_empty() { Ok(usual) } else { decimal(number) };
        let center = || match center.map(decimal).transpose()? {
            Some(center) if center > MILLIONTHS => Err("a center is a number from 0 to 1".to_string()),
            center => Ok(center),
        };
        match name {
            "random" => Ok(Distribution::Uniform),
            "zipf" => match number(1_100_000)? {
                0 => Err("the exponent of zipf must be more than 0".into()),
                theta => Ok(Distribution::Zipf(theta, center()?)),
            },
            "pareto" => match number(200_000)? {
                h if h == 0 || h >= MILLIONTHS => Err("pareto needs a number between 0 and 1".into()),
                h => Ok(Distribution::Pareto(h, center()?)),
            },
            "normal" | "gauss" => match number(0)? {
                percent if percent > 100 * MILLIONTHS => Err("a deviation of more than 100 %".into()),
                // The center is scattered like the rest.
                percent => center().map(|_| Distribution::Normal(percent / 100)),
            },
            "zoned" => zones(rest, |size| units::amount(&format!("{}%", size.trim_end_matches('%')), kilo)),
            "zoned_abs" => zones(rest, |size| units::size(size, kilo).map(Amount::Bytes)),
            _ => Err(format!("{name:?} is none of random, zipf, pareto, normal, zoned, zoned_abs")),
        }
    }

    /// A block below `blocks`, each of `block` bytes.
    pub fn draw(&self, blocks: u64, block: u64, rng: &mut Rng) -> u64 {
        match self {
            Distribution::Uniform => rng.below(blocks),
            Distribution::Zipf(theta, center) => {
                scattered(zipf(*theta as f64 / MILLIONTHS as f64, blocks, rng), *center, blocks)
            }
            Distribution::Pareto(h, center) => {
                let h = *h as f64 / MILLIONTHS as f64;
                let power = libm::log(h) / libm::log(1.0 - h);
                scattered((libm::pow(fraction(rng), power) * (blocks - 1) as f64) as u64, *center, blocks)
            }
            Distribution::Normal(width) => scattered(normal(*width, blocks, rng), None, blocks),
            Distribution::Zoned(zones) => zoned(zones, blocks, block, rng),
        }
    }
}

/// A decimal number, such as `1.2`, in millionths.
fn decimal(text: &str) -> Result<u64, String> {
    let wrong = || format!("{text:?} is no number such as 1.2");
    let (whole, rest) = text.split_once('.').unwrap_or((text, ""));
    let is_short = rest.len() <= 6 && whole.len() <= 9 && rest.bytes().all(|b| b.is_ascii_digit());
    let padded = format!("{rest:0<6}");
    let parts = (whole.parse::<u64>().ok(), padded.parse::<u64>().ok());
    match parts {
        (Some(whole), Some(rest)) if is_short => Ok(whole * MILLIONTHS + rest),
        _ => Err(wrong()),
    }
}

/// `50/5:30/15:20/`: accesses in hundredths, and the size; the last may leave out its size and takes the rest.
fn zones(text: &str, size: impl Fn(&str) -> Result<Amount, String>) -> Result<Distribution, String> {
    let mut zones = Vec::new();
    for part in text.split(':').filter(|part| !part.is_empty()) {
        let (accesses, of) = part.split_once('/').unwrap_or((part, ""));
        let accesses = accesses.trim_end_matches('%').parse().map_err(|_| format!("{accesses:?} is no share"))?;
        let size = if of.is_empty() { Amount::Percent(100) } else { size(of)? };
        zones.push(Zone { accesses, size });
    }
    let sum: u64 = zones.iter().map(|zone| zone.accesses.min(101)).sum();
    if zones.len() > ZONES_MAX || sum != 100 {
        return Err(format!("the shares of the accesses add up to {sum}, not to 100"));
    }
    Ok(Distribution::Zoned(zones))
}

/// A number from 0 up to, and without, 1.
fn fraction(rng: &mut Rng) -> f64 {
    (rng.bits() >> 11) as f64 / (1u64 << 53) as f64
}

/// The place of a rank, as in fio: the first is at the center, and neighbours are apart. Where `blocks` is no power of
/// two, ranks may share a place.
fn scattered(rank: u64, center: Center, blocks: u64) -> u64 {
    let first =
        center.map_or(blocks / 2, |part| (u128::from(blocks) * u128::from(part) / u128::from(MILLIONTHS)) as u64);
    (first + rank.wrapping_mul(SCATTER) % blocks) % blocks
}

/// A rank below `count` by Zipf's law with exponent `theta`: rejection from the integral of the hat (Hörmann and
/// Derflinger 1996).
fn zipf(theta: f64, count: u64, rng: &mut Rng) -> u64 {
    let hat = |x: f64| libm::pow(x, -theta);
    let power = 1.0 - theta;
    let is_log = power.abs() < 1e-9;
    let integral = |x: f64| if is_log { libm::log(x) } else { (libm::pow(x, power) - 1.0) / power };
    let inverse = |u: f64| if is_log { libm::exp(u) } else { libm::pow((1.0 + u * power).max(0.0), 1.0 / power) };
    let (low, high) = (integral(1.5) - 1.0, integral(count as f64 + 0.5));
    let sure = 2.0 - inverse(integral(2.5) - hat(2.0));
    loop {
        let u = high + fraction(rng) * (low - high);
        let x = inverse(u);
        let rank = (x + 0.5).clamp(1.0, count as f64).floor();
        if rank - x <= sure || u >= integral(rank + 0.5) - hat(rank) {
            return rank as u64 - 1;
        }
    }
}

/// A rank around the middle: the mean of twelve even draws, moved within `width` millionths; it wraps around.
fn normal(width: u64, blocks: u64, rng: &mut Rng) -> u64 {
    let sum: u128 = (0..UNIFORMS).map(|_| u128::from(rng.below(blocks + 1))).sum();
    let mean = sum.div_ceil(u128::from(UNIFORMS)) as u64;
    let wide = (u128::from(blocks) * u128::from(width)).div_ceil(u128::from(MILLIONTHS)) as u64;
    let wide = wide.min(blocks / 2);
    let moved = if wide == 0 { 0 } else { rng.below(wide) };
    (blocks + mean + moved - wide / 2) % blocks
}

/// A block of a zone drawn by its share of the accesses.
fn zoned(zones: &[Zone], blocks: u64, block: u64, rng: &mut Rng) -> u64 {
    let mut drawn = rng.below(100);
    let mut start = 0;
    for zone in zones {
        let size = match zone.size {
            Amount::Percent(_) => zone.size.of(blocks),
            Amount::Bytes(bytes) => bytes / block,
        };
        let (first, end) = (start.min(blocks - 1), start.saturating_add(size.max(1)).min(blocks));
        if drawn < zone.accesses {
            return first + rng.below(end.saturating_sub(first).max(1));
        }
        drawn -= zone.accesses;
        start = end;
    }
    blocks - 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use goodness_core::Seed;
    use std::collections::{BTreeMap, BTreeSet};

    /// Blocks of a file: of a power of two each rank has a place of its own.
    const BLOCKS: u64 = 1024;
    const DRAWS: usize = 50_000;

    fn counts(text: &str) -> Vec<usize> {
        counts_of(text, BLOCKS)
    }

    fn counts_of(text: &str, blocks: u64) -> Vec<usize> {
        let distribution = Distribution::parse(text, Kilo::Binary).expect(text);
        let mut rng = Seed(3).rng();
        let mut counts = vec![0; blocks as usize];
        (0..DRAWS).for_each(|_| counts[distribution.draw(blocks, 4096, &mut rng) as usize] += 1);
        counts
    }

    /// Share of the accesses that the most frequent blocks get, so many of them.
    fn top(text: &str, most: usize) -> f64 {
        let mut counts = counts(text);
        counts.sort_unstable_by(|a, b| b.cmp(a));
        counts[..most].iter().sum::<usize>() as f64 / DRAWS as f64
    }

    #[test]
    fn ranks_of_zipf_are_as_frequent_as_the_law_says() {
        for theta in [0.5, 1.0, 1.2] {
            let mut rng = Seed(3).rng();
            let mut ranks: BTreeMap<u64, usize> = BTreeMap::new();
            (0..DRAWS).for_each(|_| *ranks.entry(zipf(theta, BLOCKS, &mut rng)).or_default() += 1);
            let all: f64 = (1..=BLOCKS).map(|rank| (rank as f64).powf(-theta)).sum();
            for rank in [1u64, 2, 10] {
                let expected = (rank as f64).powf(-theta) / all;
                let got = ranks.get(&(rank - 1)).copied().unwrap_or(0) as f64 / DRAWS as f64;
                assert!((got - expected).abs() < 0.1 * expected + 0.002, "{theta} {rank}: {got} {expected}");
            }
        }
    }

    #[test]
    fn zipf_and_pareto_favour_few_blocks_and_scatter_them() {
        assert!(top("zipf:1.2", 10) > 0.5 && top("random", 10) < 0.02);
        // The definition of h: with 0.2, a fifth of the blocks gets four fifths of the accesses.
        assert!((top("pareto:0.2", 205) - 0.8).abs() < 0.04, "{}", top("pareto:0.2", 205));
        let hot = counts("zipf:1.2").iter().enumerate().max_by_key(|(_, count)| **count).expect("one").0;
        assert!(hot > 0);
    }

    /// Accesses to blocks by rank, as shares: how many blocks of equal frequency would repeat as often.
    fn effective(text: &str) -> f64 {
        let squares: f64 = counts(text).iter().map(|n| (*n as f64 / DRAWS as f64).powi(2)).sum();
        1.0 / squares
    }

    #[test]
    fn the_most_frequent_places_are_those_of_fio() {
        // fio 3.33: random_distribution=zipf:1.2:0.25 on 1024 blocks, from the most frequent on.
        let places = [256, 235, 214, 193, 172, 151];
        assert_eq!((0..6).map(|rank| scattered(rank, Some(250_000), 1024)).collect::<Vec<_>>(), places);
        let of = |blocks: u64| (0..blocks).map(|rank| scattered(rank, None, blocks)).collect::<BTreeSet<_>>().len();
        assert_eq!((of(1024), of(750)), (1024, 238));
    }

    #[test]
    fn a_normal_draw_is_as_wide_as_that_of_fio() {
        // By fio 3.33 on 1024 blocks, 102 400 reads each: random_distribution=normal:N.
        for (percent, blocks) in
            [(0, 303.0), (5, 308.0), (10, 321.0), (20, 370.0), (30, 444.0), (50, 626.0), (80, 626.0)]
        {
            let here = effective(&format!("normal:{percent}"));
            assert!((here / blocks - 1.0).abs() < 0.03, "{percent}: {here}, fio {blocks}");
        }
        assert!(effective("random") > 900.0);
    }

    #[test]
    fn the_most_frequent_block_is_at_the_center() {
        for text in ["zipf:1.2:0.25", "pareto:0.2:0.25", "pareto::0.25"] {
            let hot = counts(text).iter().enumerate().max_by_key(|(_, count)| **count).expect("one").0;
            assert_eq!(hot, 256, "{text}");
        }
    }

    #[test]
    fn zones_get_their_shares_and_the_last_takes_the_rest() {
        for text in ["zoned:50/5:30/15:20/", "zoned:50/5:30/15:20/80", "zoned_abs:50/200k:30/600k:20/"] {
            let counts = counts_of(text, 1000);
            let share = |from: usize, to: usize| counts[from..to].iter().sum::<usize>() as f64 / DRAWS as f64;
            let shares = [share(0, 50), share(50, 200), share(200, 1000)];
            let expected = [0.5, 0.3, 0.2];
            assert!(shares.iter().zip(expected).all(|(a, b)| (a - b).abs() < 0.01), "{text}: {shares:?}");
        }
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let refused = |text: &str| Distribution::parse(text, Kilo::Binary).expect_err(text);
        assert!(refused("zipfian").contains("none of random, zipf"));
        assert!(refused("zipf:x").contains("no number"));
        assert!(refused("zipf:1.2:2").contains("from 0 to 1"));
        assert!(refused("pareto:1").contains("between 0 and 1"));
        assert!(refused("zoned:50/5").contains("add up to 50"));
        assert!(refused("zipf:1.2,random").contains("not several"));
    }
}
