//! Numbers that a document states, with unit, place and tolerance, read from `studies/NAME/published.toml`.
//!
//! ```toml
//! [[number]]
//! key = "fair.p20"                       # how the study names it
//! quantity = "share of 20 threads at p20, fair scheduler, load A"
//! unit = "%"
//! value = 6.223692                       # or says = "above" / "below" where only a direction is stated
//! where = "first table"
//! tolerance = { relative = 0.03 }        # or { absolute = 3.0 }, or { draws = 3326 } for a count of so many draws
//! against = { value = 1.0 }              # value from which a direction is judged
//! ```

use crate::measure::Measure;
use goodness_report::figure;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use toml::Spanned;

/// All that a document states.
#[derive(Clone, Debug)]
pub struct Published {
    /// Its numbers and statements.
    pub numbers: Vec<Number>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    number: Vec<Spanned<Number>>,
}

/// One published number or statement.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Number {
    /// Key used by the study.
    pub key: String,
    /// Description.
    pub quantity: String,
    /// Its unit; empty for plain numbers.
    #[serde(default)]
    pub unit: String,
    /// Value; `None` if only a direction is stated, or the number is lost.
    pub value: Option<f64>,
    /// The direction stated, relative to `against`.
    pub says: Option<Says>,
    /// Place in the publication.
    #[serde(rename = "where")]
    pub place: String,
    /// Tolerance of a reproduction.
    pub tolerance: Option<Tolerance>,
    /// Reference of a direction.
    pub against: Option<Against>,
    /// Its measure, in a custom study (see [`CustomStudy`](crate::CustomStudy)).
    pub measure: Option<Measure>,
}

/// A stated direction.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Says {
    /// The quantity is larger.
    Above,
    /// The quantity is smaller.
    Below,
}

/// Tolerance of a reproduction.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
pub enum Tolerance {
    /// A part of the published value.
    Relative(f64),
    /// In the quantity's unit.
    Absolute(f64),
    /// The value is a count out of so many independent draws: two standard errors of the difference of two such counts.
    Draws(f64),
}

/// Reference of a direction.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Against {
    /// In the quantity's unit.
    pub value: f64,
}

impl Published {
    /// Parses the file of the built-in study `name`.
    ///
    /// # Errors
    /// Invalid TOML, an unknown, missing or duplicate key, or a number without meaning; one sentence with file
    /// and line.
    pub fn read(name: &str, text: &str) -> Result<Published, String> {
        let file = format!("studies/{name}/published.toml");
        let File { number } = parse(&file, text)?;
        Ok(Published::checked(&file, text, number)?.0)
    }

    /// Numbers that were read from `file`, and the place of each in it.
    pub(crate) fn checked(
        file: &str,
        text: &str,
        read: Vec<Spanned<Number>>,
    ) -> Result<(Published, Vec<String>), String> {
        let (mut numbers, mut places): (Vec<Number>, Vec<String>) = (Vec::new(), Vec::new());
        for spanned in read {
            let place = place(file, text, spanned.span().start);
            let number = spanned.into_inner();
            if numbers.iter().any(|earlier| earlier.key == number.key) {
                return Err(format!("{place}: the key {} stands there twice", number.key));
            }
            let against = number.against.map(|it| it.value);
            if [number.value, against].iter().flatten().any(|v| !v.is_finite()) {
                return Err(format!("{place}: {}: the value must be a finite number", number.key));
            }
            if number.says.is_some() && number.against.is_none() {
                return Err(format!("{place}: {}: a direction needs against = {{ value = … }}", number.key));
            }
            numbers.push(number);
            places.push(place);
        }
        Ok((Published { numbers }, places))
    }

    /// The number of this key.
    ///
    /// # Errors
    /// The file has no such key: the study and its file disagree.
    pub fn get(&self, key: &str) -> Result<&Number, String> {
        let found = self.numbers.iter().find(|n| n.key == key);
        found.ok_or_else(|| format!("the study asks for the published number \"{key}\", which its file lacks"))
    }
}

/// Reads TOML; errors name file and line.
pub(crate) fn parse<T: DeserializeOwned>(file: &str, text: &str) -> Result<T, String> {
    let place = |e: &toml::de::Error| place(file, text, e.span().map_or(0, |span| span.start));
    toml::from_str(text).map_err(|e| format!("{}: {}", place(&e), e.message()))
}

/// `FILE, line N` of an offset in its text.
pub(crate) fn place(file: &str, text: &str, offset: usize) -> String {
    let before = &text.as_bytes()[..offset.min(text.len())];
    format!("{file}, line {}", before.iter().filter(|byte| **byte == b'\n').count() + 1)
}

impl Tolerance {
    /// Largest deviation from the published `value` that still counts as equal, in its unit.
    #[must_use]
    pub fn around(self, value: f64) -> f64 {
        match self {
            Tolerance::Relative(part) => value.abs() * part,
            Tolerance::Absolute(by) => by,
            Tolerance::Draws(draws) => {
                let share = (value / draws).clamp(0.0, 1.0);
                // A count of zero still has an error: that of a count of one.
                let variance = (draws * share * (1.0 - share)).max(1.0);
                2.0 * (2.0 * variance).sqrt()
            }
        }
    }

    /// As text: `± 3 %` of a value, `± 3 points` of a share, `± 2 µs`.
    #[must_use]
    pub fn show(self, value: Option<f64>, unit: &str) -> String {
        let around = |by: f64| match unit {
            "share" => format!("± {} points", round(by * 100.0)),
            _ => format!("± {}", figure::show(Some(by), unit)),
        };
        match (self, value) {
            (Tolerance::Relative(part), _) => format!("± {} %", round(part * 100.0)),
            (Tolerance::Absolute(by), _) => around(by),
            (Tolerance::Draws(_), Some(value)) => format!("{} (sampling)", around(self.around(value))),
            (Tolerance::Draws(draws), None) => format!("sampling of {draws}"),
        }
    }
}

/// Three significant digits without trailing noise.
fn round(value: f64) -> String {
    let digits = (2 - value.abs().log10().floor() as i32).clamp(0, 6);
    let text = format!("{value:.*}", digits as usize);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_string() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
[[number]]
key = "a"
quantity = "quanta at p20"
unit = "quanta"
value = 3201.0
where = "table 1"
tolerance = { draws = 3327.0 }

[[number]]
key = "b"
quantity = "maximum, staircase by O(1)"
says = "below"
where = "Latency"
against = { value = 1.0 }
"#;

    #[test]
    fn a_file_is_read_and_a_count_has_the_error_of_its_draws() {
        let published = Published::read("x", TEXT).unwrap();
        let a = published.get("a").unwrap();
        // p = 0.9621, sqrt(3327 p q) = 11.01; two of sqrt(2) times that.
        assert!((a.tolerance.unwrap().around(3201.0) - 31.1).abs() < 0.1);
        assert_eq!(published.get("b").unwrap().says, Some(Says::Below));
        assert!(published.get("c").is_err());
    }

    #[test]
    fn a_tolerance_is_shown_in_the_unit_of_its_quantity() {
        assert_eq!(Tolerance::Absolute(0.03).show(Some(0.181), "share"), "± 3 points");
        assert_eq!(Tolerance::Absolute(2e6).show(Some(1e7), "ns"), "± 2 ms");
        assert_eq!(Tolerance::Relative(0.025).show(None, "ns"), "± 2.5 %");
    }

    #[test]
    fn a_mistake_in_the_file_is_named() {
        for (from, to, expected) in [
            ("key = \"b\"", "key = \"a\"", "twice"),
            ("quantity = \"quanta at p20\"", "quantty = \"x\"", "line"),
            ("against = { value = 1.0 }", "", "against"),
            ("3201.0", "nan", "finite"),
        ] {
            let sentence = Published::read("x", &TEXT.replace(from, to)).unwrap_err();
            assert!(sentence.starts_with("studies/x/published.toml") && sentence.contains(expected), "{sentence}");
        }
    }
}
