//! Combinations of a definition with their values, arranged to be compared.

use crate::cell::Coordinates;
use crate::definition::Definition;
use std::collections::{BTreeMap, HashMap};

/// A combination with its values.
pub(crate) struct Entry<'a> {
    pub at: Coordinates,
    pub values: &'a [Option<f64>],
}

impl Entry<'_> {
    /// The values that were measured, by seed and run.
    pub fn measured(&self) -> impl Iterator<Item = (Replicate, f64)> {
        let values = self.values.iter().enumerate();
        values.filter_map(|(run, value)| Some(((self.at.seed, run), (*value)?)))
    }
}

/// Seed and run, which are paired across arms and levels.
pub(crate) type Replicate = (usize, usize);
/// Everything else.
pub(crate) type Context = (usize, usize, usize, usize);

/// Values by context, then seed and run.
pub(crate) type ByContext = BTreeMap<Context, BTreeMap<Replicate, f64>>;
/// Values across and down, with what each arm has there.
pub(crate) type AtPlace = ((String, Option<String>), Vec<ByContext>);

/// All entries of a definition with what is needed to compare them.
pub(crate) struct Combinations<'a> {
    pub definition: &'a Definition,
    pub entries: Vec<Entry<'a>>,
}

impl Combinations<'_> {
    /// Values of the entries at each place of the axes: by arm, context and replicate.
    pub(crate) fn by_place(&self, (x, y): (&str, Option<&str>)) -> Vec<AtPlace> {
        let arms = self.definition.arms.len();
        let (mut places, mut all) = (HashMap::new(), Vec::new());
        let place_of = |point: usize| {
            let point = &self.definition.points[point];
            (point[x].clone(), y.map(|y| point[y].clone()))
        };
        for point in 0..self.definition.points.len() {
            let place = place_of(point);
            places.entry(place.clone()).or_insert_with(|| {
                all.push((place, vec![ByContext::new(); arms]));
                all.len() - 1
            });
        }
        for entry in &self.entries {
            let at = entry.at;
            let context = (at.point, at.input, at.machine.unwrap_or_default(), 0);
            all[places[&place_of(at.point)]].1[at.arm].entry(context).or_default().extend(entry.measured());
        }
        all
    }
}

/// For each of `sides` its mean over `contexts` by replicate, of the replicates that all sides have in a context;
/// geometric where all values are above 0.
pub(crate) fn means<const N: usize>(sides: [&ByContext; N], contexts: &[Context]) -> [Vec<f64>; N] {
    let mut rows: BTreeMap<Replicate, Vec<[f64; N]>> = BTreeMap::new();
    for context in contexts {
        let of = sides.map(|side| &side[context]);
        for replicate in of[0].keys() {
            let row = of.map(|side| side.get(replicate).copied());
            if row.iter().all(Option::is_some) {
                rows.entry(*replicate).or_default().push(row.map(Option::unwrap_or_default));
            }
        }
    }
    let is_positive = rows.values().flatten().flatten().all(|value| *value > 0.0);
    let mean = |values: &[[f64; N]], side: usize| {
        let scaled = values.iter().map(|row| if is_positive { row[side].ln() } else { row[side] });
        let mean = scaled.sum::<f64>() / values.len() as f64;
        if is_positive { mean.exp() } else { mean }
    };
    std::array::from_fn(|side| rows.values().map(|values| mean(values, side)).collect())
}
