//! Parameters of a sweep and the points of their space: all combinations, or drawn ones.

use goodness::Refusal;
use goodness::space::{Range, Scale, strata};
use goodness_core::Span;
use serde::Deserialize;
use std::collections::BTreeMap;

/// A parameter and its values, as typed in the places that name it.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// Its values, in order.
    pub values: Vec<String>,
    /// The range that the values came from, in which a draw may take any.
    range: Option<Range>,
}

/// A range as typed.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct RangeText {
    /// First value: a number or a time.
    from: toml_text::Text,
    /// Last value.
    to: toml_text::Text,
    /// Number of values in a grid.
    #[serde(default = "five")]
    points: u32,
    /// `linear` or `log`.
    #[serde(default)]
    scale: Scale,
}

fn five() -> u32 {
    5
}

/// Values of a parameter as typed: a list, or a range.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum ValuesText {
    /// A list of numbers and texts.
    List(Vec<toml_text::Text>),
    /// A range.
    Range(RangeText),
}

/// Numbers and texts of TOML alike.
mod toml_text {
    use serde::{Deserialize, Deserializer, de::Error};

    /// A value as it would be typed.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Text(pub String);

    impl<'de> Deserialize<'de> for Text {
        fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Text, D::Error> {
            match toml::Value::deserialize(from)? {
                toml::Value::String(text) => Ok(Text(text)),
                toml::Value::Integer(number) => Ok(Text(number.to_string())),
                toml::Value::Float(number) => Ok(Text(number.to_string())),
                other => Err(D::Error::custom(format!("{other} is neither a number nor a text"))),
            }
        }
    }
}

/// The way in which the points of the space are chosen.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// All combinations.
    #[default]
    Grid,
    /// One value of each stratum of each parameter, in random order.
    LatinHypercube,
    /// A scrambled Sobol sequence.
    Sobol,
}

/// Drawn points instead of all combinations.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Draw {
    /// Method.
    pub method: Method,
    /// Number of points; not used by a grid.
    #[serde(default = "sixty_four")]
    pub points: u32,
    /// Random seed of the draw.
    #[serde(default)]
    pub seed: u64,
}

fn sixty_four() -> u32 {
    64
}

/// One point: the value of each parameter by name.
pub type Point = BTreeMap<String, String>;

impl Parameter {
    /// A parameter with its values.
    ///
    /// # Errors
    /// No values, or a range whose ends are no numbers or times, or out of order.
    pub fn of(name: &str, values: ValuesText) -> Result<Parameter, Refusal> {
        let wrong = |what: String| Refusal::usage(what).at(format!("parameter {name}"));
        let (values, range) = match values {
            ValuesText::List(values) => (values.into_iter().map(|it| it.0).collect(), None),
            ValuesText::Range(text) => {
                let range = Range::of(&text.from.0, &text.to.0, text.scale).map_err(wrong)?;
                if text.points < 2 {
                    return Err(wrong("a range has two points or more".into()));
                }
                (range.grid(text.points), Some(range))
            }
        };
        if values.is_empty() {
            return Err(wrong("it has no values".into()).remedy("list one or more"));
        }
        Ok(Parameter { name: name.into(), values, range })
    }

    /// The value at `share`, 0 to 1, of the parameter's range or list.
    fn at(&self, share: f64) -> String {
        match &self.range {
            Some(range) => range.at(share),
            None => self.values[((share * self.values.len() as f64) as usize).min(self.values.len() - 1)].clone(),
        }
    }
}

/// The number that a value stands for: itself, or nanoseconds.
#[must_use]
pub fn number(value: &str) -> Option<f64> {
    let number = value.parse().ok().filter(|it: &f64| it.is_finite());
    number.or_else(|| Span::parse(value).ok().map(|span| span.0 as f64))
}

/// The points of the space of `parameters`; one empty point without any.
#[must_use]
pub fn points(parameters: &[Parameter], draw: Option<Draw>) -> Vec<Point> {
    let point = |values: Vec<String>| parameters.iter().map(|it| it.name.clone()).zip(values).collect::<Point>();
    match draw {
        None | Some(Draw { method: Method::Grid, .. }) => grid(parameters).into_iter().map(point).collect(),
        Some(Draw { method: Method::Sobol, points, seed }) => {
            let seed = seed as u32 ^ (seed >> 32) as u32;
            let share = |index: u32, place: usize| f64::from(sobol_burley::sample(index, place as u32, seed));
            let drawn = |index| parameters.iter().enumerate().map(|(place, it)| it.at(share(index, place))).collect();
            (0..points).map(|index| point(drawn(index))).collect()
        }
        Some(Draw { method: Method::LatinHypercube, points, seed }) => {
            let columns: Vec<Vec<f64>> = (0..parameters.len()).map(|it| strata(points, seed, it as u64)).collect();
            let drawn = |index: usize| parameters.iter().zip(&columns).map(|(it, all)| it.at(all[index])).collect();
            (0..points as usize).map(|index| point(drawn(index))).collect()
        }
    }
}

/// All combinations; the last parameter changes fastest.
fn grid(parameters: &[Parameter]) -> Vec<Vec<String>> {
    parameters.iter().fold(vec![Vec::new()], |points, parameter| {
        let with = |point: &Vec<String>, value: &String| [point.as_slice(), std::slice::from_ref(value)].concat();
        points.iter().flat_map(|point| parameter.values.iter().map(move |value| with(point, value))).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parameter(name: &str, text: &str) -> Result<Parameter, String> {
        let table: toml::Table = toml::from_str(&format!("x = {text}")).expect("TOML");
        let values = ValuesText::deserialize(table["x"].clone()).map_err(|it| it.to_string())?;
        Parameter::of(name, values).map_err(|it| it.to_string())
    }

    #[test]
    fn ranges_have_their_ends_and_equal_differences_or_ratios() {
        let values = |text| parameter("x", text).unwrap().values;
        assert_eq!(values("[1, 2.5, \"on\"]"), ["1", "2.5", "on"]);
        assert_eq!(values("{ from = 0, to = 8, points = 5 }"), ["0", "2", "4", "6", "8"]);
        assert_eq!(values("{ from = 1, to = 16, points = 5, scale = \"log\" }"), ["1", "2", "4", "8", "16"]);
        let times = values("{ from = \"100us\", to = \"10ms\", points = 3, scale = \"log\" }");
        assert_eq!(times, ["100us", "1ms", "10ms"]);
        assert_eq!(values("{ from = 1, to = 2, points = 5 }"), ["1", "2"], "whole numbers, each once");
    }

    #[test]
    fn ranges_that_cannot_be_are_refused_with_the_parameter() {
        let why = |text| parameter("slice", text).unwrap_err();
        assert!(why("{ from = 5, to = 1 }").starts_with("parameter slice: 5 is not below 1"));
        assert!(why("{ from = 0, to = 1, scale = \"log\" }").contains("begin above 0"));
        assert!(why("{ from = 1, to = \"2ms\" }").contains("not of one kind"));
        assert!(why("[]").contains("no values"));
    }

    #[test]
    fn drawn_points_fill_every_stratum() {
        let parameters = ["a", "b"].map(|name| parameter(name, "{ from = 0, to = 63, points = 2 }").unwrap());
        for method in [Method::LatinHypercube, Method::Sobol] {
            let drawn = points(&parameters, Some(Draw { method, points: 64, seed: 3 }));
            for name in ["a", "b"] {
                let mut octiles: Vec<u32> = drawn.iter().map(|it| it[name].parse::<u32>().unwrap() / 8).collect();
                octiles.sort_unstable();
                let most = octiles.chunk_by(|a, b| a == b).map(<[u32]>::len).max().unwrap();
                assert!(most <= 10, "{method:?} {name}: {most} of 64 points in one of eight strata");
            }
            assert_eq!(drawn, points(&parameters, Some(Draw { method, points: 64, seed: 3 })));
            assert_ne!(drawn, points(&parameters, Some(Draw { method, points: 64, seed: 4 })));
        }
    }
}
