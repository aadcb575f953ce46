//! Values of a parameter in groups: one for each value where there are few, else ranges with equally many values.

use crate::space::number;
use goodness_core::Span;
use std::collections::{BTreeSet, HashMap};

/// Groups of the values of one parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Bins {
    /// Names in order: the value, or the first and the last one of the group.
    pub names: Vec<String>,
    places: HashMap<String, usize>,
}

impl Bins {
    /// Groups of `values`, in the order of their size, or as they come if they are no numbers. More than `most`
    /// different numbers are divided into `groups`.
    pub fn of<'a>(values: impl Iterator<Item = &'a str>, most: usize, groups: usize) -> Bins {
        let values: Vec<&str> = values.collect();
        let mut known = BTreeSet::new();
        let mut different: Vec<&str> = values.iter().copied().filter(|value| known.insert(*value)).collect();
        let is_of_numbers = different.iter().all(|value| number(value).is_some());
        let size = |value: &&str| number(value).unwrap_or_default();
        if is_of_numbers {
            different.sort_by(|a, b| size(a).total_cmp(&size(b)));
        }
        if !is_of_numbers || different.len() <= most {
            let places = different.iter().enumerate().map(|(place, value)| (value.to_string(), place)).collect();
            return Bins { names: different.iter().map(ToString::to_string).collect(), places };
        }
        // Equal values are together, whatever their number.
        let mut sorted = values;
        sorted.sort_by(|a, b| size(a).total_cmp(&size(b)));
        let mut places = HashMap::new();
        let mut ends: Vec<[&str; 2]> = Vec::new();
        for (rank, value) in sorted.iter().enumerate() {
            let group = rank * groups / sorted.len();
            if places.contains_key(*value) {
                continue;
            }
            if group >= ends.len() {
                ends.push([value, value]);
            }
            let place = ends.len() - 1;
            ends[place][1] = value;
            places.insert(value.to_string(), place);
        }
        let name = |[first, last]: &[&str; 2]| match first == last {
            true => first.to_string(),
            false => format!("{} to {}", rounded(first), rounded(last)),
        };
        Bins { names: ends.iter().map(name).collect(), places }
    }

    /// The group of a value.
    pub fn place(&self, value: &str) -> usize {
        self.places[value]
    }
}

/// A number or a time with three digits; other values as they are.
pub(crate) fn rounded(value: &str) -> String {
    let three = |number: f64| {
        let unit = 10f64.powf(number.abs().max(f64::MIN_POSITIVE).log10().floor() - 2.0);
        (number / unit).round() * unit
    };
    match (value.parse::<f64>(), Span::parse(value)) {
        // What follows the third digit is rounding of the product.
        (Ok(number), _) => format!("{:.6}", three(number)).trim_end_matches('0').trim_end_matches('.').into(),
        (Err(_), Ok(span)) => Span(three(span.0 as f64).round() as u64).to_string(),
        _ => value.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_values_are_groups_of_their_own_and_many_numbers_are_divided() {
        let few = Bins::of(["2ms", "500us", "2ms"].into_iter(), 6, 4);
        assert_eq!((few.names.join(" "), few.place("2ms")), ("500us 2ms".into(), 1));
        let words = Bins::of(["b", "a", "b"].into_iter(), 1, 1);
        assert_eq!(words.names, ["b", "a"]);
        assert_eq!(["6890741ns", "0.123456", "64", "1234567"].map(rounded), ["6.89ms", "0.123", "64", "1230000"]);
        let many: Vec<String> = (1..=10).map(|it| it.to_string()).collect();
        let bins = Bins::of(many.iter().map(String::as_str), 6, 4);
        assert_eq!(bins.names, ["1 to 3", "4 to 5", "6 to 8", "9 to 10"]);
        assert_eq!(many.iter().map(|it| bins.place(it)).collect::<Vec<_>>(), [0, 0, 0, 1, 1, 2, 2, 2, 3, 3]);
    }
}
