//! Numbers as people read them: three significant digits and a unit of fitting size. Ratios to a reference are in
//! [`change`](crate::change).

use crate::model::MetricSummary;
use goodness_observe::{METRICS, title};

/// Text for a value that was not measured.
pub const NOT_MEASURED: &str = "–";

/// Most characters of a task name in text output. Linux keeps 15; files and other systems may have more. JSON and HTML
/// contain the whole name.
pub const NAME_MAX: usize = 32;

/// Replaces characters of external text that could control a terminal or turn the direction of reading.
#[must_use]
pub fn printable(text: &str) -> String {
    let turns = |c: char| matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    text.chars().map(|c| if c.is_control() || turns(c) { '\u{fffd}' } else { c }).collect()
}

/// A task name for text output: printable characters only, cut with `…` after [`NAME_MAX`].
#[must_use]
pub fn name(text: &str) -> String {
    printable(&cut(text, NAME_MAX))
}

/// The first characters of a text that has more than `most`, with `…` as the last.
#[must_use]
pub fn cut(text: &str, most: usize) -> String {
    match text.chars().count() > most {
        true => text.chars().take(most - 1).chain(['…']).collect(),
        false => text.into(),
    }
}

/// A value with its unit (see [`MetricSummary::unit`](crate::model::MetricSummary::unit)).
#[must_use]
pub fn show(value: Option<f64>, unit: &str) -> String {
    let Some(value) = value.filter(|v| v.is_finite()) else {
        return NOT_MEASURED.into();
    };
    match unit {
        "ns" => scaled(value, &TIME),
        "share" => format!("{} %", digits(value * 100.0)),
        "bytes" => scaled(value, &BYTES),
        "bytes/s" => format!("{}/s", scaled(value, &BYTES)),
        "count" | "ratio" | "" => scaled(value, &PLAIN),
        "1/s" => format!("{}/s", scaled(value, &PLAIN)),
        _ => format!("{} {unit}", scaled(value, &PLAIN)),
    }
}

/// The value of a metric; of a percentile with too few observations their number.
#[must_use]
pub fn of(metric: &MetricSummary) -> String {
    let is_percentile = METRICS.iter().any(|it| it.name == metric.name && it.fewest() > 1);
    match (metric.value, metric.samples) {
        (None, samples @ 1..) if is_percentile => format!("n = {samples}"),
        (value, _) => show(value, &metric.unit),
    }
}

/// A metric's name for people with its identifier: `p99 request latency (request_latency_p99)`.
#[must_use]
pub fn titled(metric: &str) -> String {
    match title(metric) {
        same if same == metric => same,
        title => format!("{title} ({metric})"),
    }
}

/// Units of quantities that are never below 0.
const FROM_ZERO: [&str; 5] = ["ns", "count", "bytes", "bytes/s", "1/s"];

/// An interval; a unit common to both ends is written once: `1.2…3.4 ms`. Times and counts begin at 0 at the least.
#[must_use]
pub fn interval(ci: Option<[f64; 2]>, unit: &str) -> String {
    let Some([low, high]) = ci else {
        return NOT_MEASURED.into();
    };
    if FROM_ZERO.contains(&unit) && low <= 0.0 && high > 0.0 {
        return format!("0…{}", show(Some(high), unit));
    }
    let (low, high) = (show(Some(low), unit), show(Some(high), unit));
    match (low.split_once(' '), high.split_once(' ')) {
        (Some((number, low_unit)), Some((_, high_unit))) if low_unit == high_unit => format!("{number}…{high}"),
        (None, None) => format!("{low}…{high}"),
        _ => format!("{low} … {high}"),
    }
}

/// A time in ns.
#[must_use]
pub fn time(ns: Option<u64>) -> String {
    show(ns.map(|n| n as f64), "ns")
}

/// A ratio to the reference: `0.82×`.
#[must_use]
pub fn ratio(ratio: Option<f64>) -> String {
    ratio.filter(|r| r.is_finite()).map_or_else(|| NOT_MEASURED.into(), |r| format!("{}×", plain_ratio(r)))
}

/// The interval of a ratio: `0.78…0.86`.
#[must_use]
pub fn ratio_interval([low, high]: [f64; 2]) -> String {
    format!("{}…{}", plain_ratio(low), plain_ratio(high))
}

/// A ratio with two decimals, which is as precise as a comparison gets; large ratios get fewer, tiny ones more.
fn plain_ratio(ratio: f64) -> String {
    match ratio.abs() {
        size if (0.1..10.0).contains(&size) => format!("{ratio:.2}"),
        size if ratio == 0.0 || (1e-4..1e6).contains(&size) => digits(ratio),
        _ => format!("{ratio:.0e}"),
    }
}

/// A share as a percentage: `7.3 %`.
#[must_use]
pub fn percent(share: Option<f64>) -> String {
    show(share, "share")
}

/// Steps of a unit, largest first. The last one is used for all smaller values.
type Scale = [(f64, &'static str)];

const TIME: [(f64, &str); 4] = [(1e9, " s"), (1e6, " ms"), (1e3, " µs"), (1.0, " ns")];
const BYTES: [(f64, &str); 4] = [(1e9, " GB"), (1e6, " MB"), (1e3, " kB"), (1.0, " B")];
/// Plain numbers up to five digits.
const PLAIN: [(f64, &str); 3] = [(1e9, " G"), (1e6, " M"), (1.0, "")];

fn scaled(value: f64, scale: &Scale) -> String {
    // 999.7 µs would be shown as 1000 µs: what rounds up to the next unit belongs to it.
    let fits = |unit: &f64| (value.abs() / unit) >= 0.9995;
    let last = scale.len() - 1;
    let (unit, name) = scale[..last].iter().find(|(unit, _)| fits(unit)).unwrap_or(&scale[last]);
    format!("{}{name}", digits(value / unit))
}

/// Three significant digits, or the whole part if it has more digits. Round numbers have no decimal point.
fn digits(value: f64) -> String {
    // The exponent is that of the rounded number: 9.996 is 10.0, not 10.00.
    let rounded = format!("{value:.2e}");
    let exponent: i32 = rounded.rsplit('e').next().and_then(|e| e.parse().ok()).unwrap_or(0);
    let decimals = if value.fract() == 0.0 { 0 } else { (2 - exponent).clamp(0, 6) };
    format!("{value:.*}", decimals as usize)
}

/// Longest word printed in full. A choice: longer than any path or sensible setting.
const WORD_MAX: usize = 1000;
/// Characters kept of a longer word.
const WORD_KEPT: usize = 100;

/// Cuts overlong words of `sentence`, which may repeat the contents of a file.
#[must_use]
pub fn shortened(sentence: &str) -> String {
    let short = |word: &str| match word.chars().count() {
        0..=WORD_MAX => word.to_string(),
        letters => {
            let kept: String = word.chars().take(WORD_KEPT).collect();
            format!("{kept}… ({} letters more)", letters - WORD_KEPT)
        }
    };
    sentence.split(' ').map(short).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_percentile_of_too_few_shows_their_number() {
        let metric = |name: &str, value| MetricSummary {
            name: name.into(),
            unit: "ns".into(),
            value,
            samples: 11,
            ..MetricSummary::default()
        };
        assert_eq!(of(&metric("wakeup_latency_p99", None)), "n = 11");
        assert_eq!(of(&metric("wakeup_latency_p99", Some(2e6))), "2 ms");
        assert_eq!(of(&metric("completion_time", None)), NOT_MEASURED, "some did not end");
    }

    #[test]
    fn a_time_is_shown_in_the_unit_that_fits_with_three_digits() {
        let shown = |ns: f64| show(Some(ns), "ns");
        assert_eq!(shown(0.0), "0 ns");
        assert_eq!(shown(417.0), "417 ns");
        assert_eq!(shown(1_234.0), "1.23 µs");
        assert_eq!(shown(999_700.0), "1.00 ms");
        assert_eq!(shown(9_996_000.0), "10.0 ms");
        assert_eq!(shown(12_345_678_900.0), "12.3 s");
        assert_eq!(shown(5e12), "5000 s");
    }

    #[test]
    fn counts_shares_and_rates_have_their_own_shapes() {
        assert_eq!(show(Some(12_345.0), "count"), "12345");
        assert_eq!(show(Some(1.5e6), "count"), "1.50 M");
        assert_eq!(show(Some(0.0731), "share"), "7.31 %");
        assert_eq!(show(Some(1.0), "share"), "100 %");
        assert_eq!(show(Some(812.4), "1/s"), "812/s");
        assert_eq!(show(Some(3.0), "sectors"), "3 sectors");
        assert_eq!(ratio(Some(0.8234)), "0.82×");
        assert_eq!(interval(Some([1e6, 2.5e6]), "ns"), "1…2.50 ms");
        assert_eq!(interval(Some([9e5, 2.5e6]), "ns"), "900 µs … 2.50 ms");
    }

    #[test]
    fn what_was_not_measured_is_a_dash() {
        assert_eq!(show(None, "ns"), "–");
        assert_eq!(show(Some(f64::NAN), "ns"), "–");
        assert_eq!(ratio(None), "–");
        assert_eq!(interval(None, "ns"), "–");
        assert_eq!(interval(Some([-828e3, 3.8e6]), "ns"), "0…3.80 ms", "no time is negative");
        assert_eq!(interval(Some([-3.0, 5.0]), "count"), "0…5");
        assert_eq!(interval(Some([-0.5, 0.5]), "share"), "-50…50 %", "a share may be");
    }

    #[test]
    fn a_word_of_a_hundred_thousand_letters_is_not_repeated_as_a_whole() {
        let fine = format!("there is no device \"{}\"", "n".repeat(900));
        assert_eq!(shortened(&fine), fine);
        let cut = shortened(&format!("line 5: {} is no size", "9".repeat(100_000)));
        assert_eq!(cut, format!("line 5: {}… (99900 letters more) is no size", "9".repeat(100)));
    }
}
