//! Ratios to a reference as people say them: `10 % lower`, `2.3× higher`, `about 700× lower`.

/// From this factor on, a change is said as a factor instead of a percentage.
const FACTOR: f64 = 2.0;
/// The same for intervals that contain both directions.
const MIXED: f64 = 10.0;
/// From this factor on, the nearer end of an interval is said as one, too.
const LEAST_FACTOR: f64 = 1.05;
/// From this factor on, only a bound is said.
const LARGEST: f64 = 1e4;

/// No change.
pub const UNCHANGED: &str = "unchanged";

/// A change as people say it: `10 % lower`, `2.3× higher`, `unchanged`.
#[must_use]
pub fn change(ratio: f64) -> String {
    if !ratio.is_finite() {
        return crate::figure::NOT_MEASURED.into();
    }
    match size(ratio) {
        None => UNCHANGED.into(),
        Some(size) => format!("{size} {}", direction(ratio)),
    }
}

/// The change with its interval in brackets: `10 % lower (−26…+9 %)`, `5.9× higher (5.4…6.4×)`.
#[must_use]
pub fn change_within(ratio: f64, interval: Option<[f64; 2]>, units: &str) -> String {
    let Some(interval) = interval else { return change(ratio) };
    let within = change_interval(interval, units);
    // The direction of all three is said once.
    let within = match interval.iter().all(|end| direction(*end) == direction(ratio)) {
        true => within.trim_end_matches(direction(ratio)).trim_end().replace("× … ", "…"),
        false => within,
    };
    format!("{} ({within})", change(ratio))
}

/// The change, and its 95 % interval in brackets: `10 % lower (95 %: 26 % lower to 9 % higher)`.
#[must_use]
pub fn change_in_words(ratio: f64, interval: Option<[f64; 2]>, units: &str) -> String {
    let within = interval.map_or_else(String::new, |it| format!(" (95 %: {})", interval_in_words(it, units)));
    format!("{}{within}", change(ratio))
}

/// The interval of a change in a sentence: `26 % lower to 9 % higher`, `38 to 43 % lower`, `too few runs`.
#[must_use]
pub fn interval_in_words(ends: [f64; 2], units: &str) -> String {
    let [low, high] = ends;
    if tells_nothing(ends) {
        return format!("too few {units}");
    }
    let [near, far] = if high <= 1.0 { [high, low] } else { [low, high] };
    match (size_beside(near, far), size(far)) {
        (None, None) => UNCHANGED.into(),
        (Some(near), Some(far)) if low > 1.0 || high < 1.0 => {
            let shared = [" %", "×"].into_iter().find(|unit| near.ends_with(unit) && far.ends_with(unit));
            let near = shared.map_or(near.as_str(), |unit| near.trim_end_matches(unit));
            format!("{near} to {far} {}", direction(low.min(high)))
        }
        _ => format!("{} to {}", change(near), change(far)),
    }
}

/// True if the interval leaves all open.
fn tells_nothing([low, high]: [f64; 2]) -> bool {
    low < 1.0 && high > 1.0 && (low <= 0.0 || high / low >= LARGEST)
}

/// The interval of a change: `−26…+9 %`, `2.1…4.4× higher`, `12× lower … 3× higher`. If it tells nothing, `too few`
/// of the `units` of sampling.
#[must_use]
pub fn change_interval([low, high]: [f64; 2], units: &str) -> String {
    let is_mixed = low < 1.0 && high > 1.0;
    if tells_nothing([low, high]) {
        return format!("too few {units}");
    }
    if low > 1.0 / FACTOR && high < FACTOR || is_mixed && low > 1.0 / MIXED && high < MIXED {
        let [low, high] = [low, high].map(|ratio| (ratio - 1.0) * 100.0);
        let decimals = usize::from(low.abs() < 9.95 && high.abs() < 9.95);
        return format!("{}…{} %", signed(low, decimals), signed(high, decimals));
    }
    let of = |size: Option<String>| size.unwrap_or_else(|| "1×".into());
    match (low >= 1.0, high <= 1.0) {
        (true, _) => format!("{} … {} higher", of(size_beside(low, high)), of(size(high))),
        (_, true) => format!("{} … {} lower", of(size_beside(high, low)), of(size(low))),
        _ => format!("{} … {}", change(low), change(high)),
    }
}

/// The size of the end of an interval that is nearer to 1: a factor beside a factor of the same direction.
fn size_beside(near: f64, far: f64) -> Option<String> {
    let [near_factor, far_factor] = [near, far].map(|it| it.max(1.0 / it));
    let is_factor = direction(near) == direction(far) && (FACTOR..LARGEST).contains(&far_factor);
    if is_factor && (LEAST_FACTOR..FACTOR).contains(&near_factor) {
        return Some(format!("{near_factor:.1}×"));
    }
    size(near)
}

/// How far a ratio is from 1, without direction; `None` if it rounds to nothing.
fn size(ratio: f64) -> Option<String> {
    let factor = if ratio < 1.0 { 1.0 / ratio.max(0.0) } else { ratio };
    let percent = (ratio - 1.0).abs() * 100.0;
    match factor {
        LARGEST.. => Some("over 10000×".into()),
        10.0.. => Some(format!("{:.0}×", two_digits(factor))),
        FACTOR.. => Some(format!("{factor:.1}×")),
        _ if percent >= 9.95 => Some(format!("{percent:.0} %")),
        _ if percent >= 0.05 => Some(format!("{percent:.1} %")),
        _ => None,
    }
}

const fn direction(ratio: f64) -> &'static str {
    if ratio < 1.0 { "lower" } else { "higher" }
}

/// Rounded to two significant digits.
fn two_digits(value: f64) -> f64 {
    let unit = 10f64.powf(value.log10().floor() - 1.0);
    (value / unit).round() * unit
}

fn signed(value: f64, decimals: usize) -> String {
    let text = format!("{:.decimals$}", value.abs());
    match text.bytes().all(|b| matches!(b, b'0' | b'.')) {
        true => "0".into(),
        false => format!("{}{text}", if value < 0.0 { '−' } else { '+' }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_changes_are_per_cent_and_large_ones_factors() {
        let said = [0.69, 0.31, 1.08, 40.0, 0.00142, 1.0003, 0.995, 0.0].map(change);
        let expected = ["31 % lower", "3.2× lower", "8.0 % higher", "40× higher", "700× lower", "unchanged"];
        assert_eq!(said[..6], expected);
        assert_eq!(said[6..], ["0.5 % lower", "over 10000× lower"]);
    }

    #[test]
    fn an_interval_is_said_in_the_units_of_its_ends() {
        let said = |low, high| change_interval([low, high], "runs");
        assert_eq!(said(0.74, 1.09), "−26…+9 %");
        assert_eq!(said(0.996, 1.0), "−0.4…0 %");
        assert_eq!(said(2.1, 4.44), "2.1× … 4.4× higher");
        assert_eq!(said(0.001_38, 0.001_46), "680× … 720× lower");
        assert_eq!([said(1.92, 2.4), said(1.02, 2.4)], ["1.9× … 2.4× higher", "2.0 % … 2.4× higher"]);
        assert_eq!(said(0.77, 2.4), "−23…+140 %");
        assert_eq!(said(0.08, 3.0), "13× lower … 3.0× higher");
        assert_eq!(change_within(0.9, Some([0.74, 1.09]), "runs"), "10 % lower (−26…+9 %)");
        assert_eq!(change_within(5.9, Some([5.4, 6.4]), "runs"), "5.9× higher (5.4…6.4×)");
        assert_eq!(change_within(0.2, Some([0.08, 3.0]), "runs"), "5.0× lower (13× lower … 3.0× higher)");
    }

    #[test]
    fn an_interval_in_a_sentence_names_its_directions() {
        let said = |low, high| interval_in_words([low, high], "runs");
        assert_eq!(said(0.74, 1.09), "26 % lower to 9.0 % higher");
        assert_eq!(said(0.57, 0.62), "38 to 43 % lower");
        assert_eq!(said(2.1, 4.44), "2.1 to 4.4× higher");
        assert_eq!(said(1.92, 2.4), "1.9 to 2.4× higher");
        assert_eq!(said(1.5, 4.44), "1.5 to 4.4× higher");
        assert_eq!(said(0.996, 1.0), "unchanged to 0.4 % lower");
        assert_eq!(said(1.0, 1.0), "unchanged");
        assert_eq!(said(3e-47, 3e46), "too few runs");
        assert_eq!(change_in_words(0.9, Some([0.74, 1.09]), "runs"), "10 % lower (95 %: 26 % lower to 9.0 % higher)");
    }

    #[test]
    fn an_interval_that_tells_nothing_says_what_is_lacking() {
        assert_eq!(change_interval([3e-47, 3e46], "blocks"), "too few blocks");
        assert_eq!(change_interval([0.0, f64::INFINITY], "runs"), "too few runs");
        assert_eq!(change_interval([1e-9, 1e-6], "runs"), "over 10000× … over 10000× lower", "it excludes 1");
        assert_eq!(change_interval([0.0, 0.2], "runs"), "5.0× … over 10000× lower", "so does this");
    }
}
