//! Main effects of drawn parameters: hardly two drawn points differ in one parameter alone, so that points with small
//! values are compared with those of larger ones. What else differs between them is drawn independently, and so is part
//! of the chance that the interval states.

use crate::bins::Bins;
use crate::combinations::{ByContext, Combinations, Context, means};
use crate::effects::{Division, Factor, Level, Method};
use goodness_stats::holm::holm;
use goodness_stats::ratio::{Pairing, Ratio};
use goodness_stats::{Confidence, summary::mean};
use std::collections::BTreeMap;

/// Most values that are levels of their own, and the number of groups of more. Choices: a group of a few dozen points
/// shows an effect of a third.
const LEVELS: (usize, usize) = (6, 4);

impl Combinations<'_> {
    /// The effects of the parameters of a drawn space.
    pub fn drawn_effects(&self) -> Vec<Factor> {
        let parameters = self.definition.parameters.iter().filter(|_| self.definition.is_drawn);
        let found: Vec<(Factor, Vec<Option<f64>>)> =
            parameters.filter_map(|parameter| self.drawn_effect(&parameter.name)).collect();
        let p_values: Vec<Option<f64>> = found.iter().flat_map(|(_, p_values)| p_values.iter().copied()).collect();
        let mut corrected = holm(&p_values, Confidence::P95).into_iter();
        let mut factors: Vec<Factor> = found.into_iter().map(|(factor, _)| factor).collect();
        for level in factors.iter_mut().flat_map(|factor| &mut factor.levels) {
            let corrected = corrected.next().flatten();
            level.differs = Some(corrected.is_some_and(|it| it.p_value <= Confidence::P95.alpha()));
        }
        factors
    }

    /// The effect of `parameter`, with the p-value of each level; `None` with fewer than two levels.
    fn drawn_effect(&self, parameter: &str) -> Option<(Factor, Vec<Option<f64>>)> {
        let values = self.by_point(parameter);
        let value_of = |point: &usize| self.definition.points[*point][parameter].as_str();
        let bins = Bins::of(values.keys().map(value_of), LEVELS.0, LEVELS.1);
        let mut groups = vec![Vec::new(); bins.names.len()];
        values.iter().for_each(|(point, value)| groups[bins.place(value_of(point))].push(*value));
        let (first, rest) = groups.split_first().filter(|(_, rest)| !rest.is_empty())?;
        let ratios: Vec<Option<Ratio>> =
            rest.iter().map(|group| Ratio::of_samples(first, group, Pairing::Independent)).collect();
        let level = |((name, group), ratio): ((&String, &Vec<f64>), &Option<Ratio>)| Level {
            level: name.clone(),
            ratio: ratio.as_ref().and_then(|it| it.estimate),
            ci95: ratio.as_ref().and_then(|it| it.interval(Confidence::P95)).map(|it| [it.low, it.high]),
            contexts: group.len(),
            differs: None,
        };
        let levels = bins.names[1..].iter().zip(rest).zip(&ratios).map(level).collect();
        let factor =
            Factor { factor: parameter.into(), method: Method::Drawn, reference: bins.names[0].clone(), levels };
        Some((factor, ratios.iter().map(|it| it.as_ref().map(Ratio::p_value)).collect()))
    }

    /// The mean of each point over inputs, machines, arms, seeds and runs, of what the parameter concerns. Points that
    /// lack one of these are left out: they would differ by more than their values.
    fn by_point(&self, parameter: &str) -> BTreeMap<usize, f64> {
        let mut points: BTreeMap<usize, ByContext> = BTreeMap::new();
        for entry in self.entries.iter().filter(|entry| self.concerns(entry, Division::Parameter(parameter))) {
            let at = entry.at;
            let context = (0, at.input, at.machine.unwrap_or_default(), at.arm);
            points.entry(at.point).or_default().entry(context).or_default().extend(entry.measured());
        }
        let size = |contexts: &ByContext| -> usize { contexts.values().map(BTreeMap::len).sum() };
        let whole = points.values().map(size).max().unwrap_or_default();
        let of_point = |(point, contexts): (usize, ByContext)| {
            let all: Vec<Context> = contexts.keys().copied().collect();
            let [of_replicates] = means([&contexts], &all);
            Some((point, center(&of_replicates)?)).filter(|_| size(&contexts) == whole)
        };
        points.into_iter().filter_map(of_point).collect()
    }
}

/// The mean; geometric where all values are above 0.
pub(crate) fn center(values: &[f64]) -> Option<f64> {
    if values.iter().any(|value| *value <= 0.0) {
        return mean(values);
    }
    let logs: Vec<f64> = values.iter().map(|value| value.ln()).collect();
    Some(mean(&logs)?.exp())
}
