//! Main effects: how much the metric depends on each factor.

use crate::combinations::{ByContext, Combinations, Context, Entry, means};
use goodness_stats::Confidence;
use goodness_stats::ratio::{Pairing, Ratio};
use serde::Serialize;
use std::collections::{BTreeMap, HashMap, HashSet};

/// A factor: arm, input, machine or a parameter.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Factor {
    /// Its name.
    pub factor: String,
    /// The way in which its levels are compared.
    pub method: Method,
    /// The level that the others are compared with: the first.
    pub reference: String,
    /// The other levels.
    pub levels: Vec<Level>,
}

/// The way in which the levels of a factor are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Method {
    /// Combinations that differ in nothing else, paired by seed and run.
    Paired,
    /// Drawn points in groups by their value. Other parameters differ between the groups by chance.
    Drawn,
}

impl Method {
    /// The word used in JSON and in tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Method::Paired => "paired",
            Method::Drawn => "drawn",
        }
    }
}

/// A level of a factor against the factor's first.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Level {
    /// The level.
    pub level: String,
    /// Ratio of the metric to that at the first level; `None` where nothing can be compared.
    pub ratio: Option<f64>,
    /// 95 % interval, over runs and seeds or over points; `None` for one of them.
    pub ci95: Option<[f64; 2]>,
    /// Combinations of the other factors that have both levels; of drawn points, those of this level.
    pub contexts: usize,
    /// Of drawn points: true if the level differs from the first beyond chance (95 %, Holm over all such levels).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub differs: Option<bool>,
}

/// A way to divide entries into levels.
#[derive(Clone, Copy)]
pub(crate) enum Division<'a> {
    Arm,
    Input,
    Machine,
    Parameter(&'a str),
}

impl<'a> Combinations<'a> {
    /// The effect of each factor with several levels.
    pub fn effects(&self) -> Vec<Factor> {
        let definition = self.definition;
        let texts = |templates: &[crate::definition::Template]| templates.iter().map(|it| it.text.clone()).collect();
        let mut factors: Vec<(String, Division, Vec<String>)> = vec![
            ("arm".into(), Division::Arm, texts(&definition.arms)),
            ("input".into(), Division::Input, texts(&definition.inputs)),
            ("machine".into(), Division::Machine, texts(&definition.machines)),
        ];
        for parameter in definition.parameters.iter().filter(|_| !definition.is_drawn) {
            let mut known = HashSet::new();
            let all = definition.points.iter().map(|point| point[&parameter.name].clone());
            let values = all.filter(|value| known.insert(value.clone())).collect();
            factors.push((parameter.name.clone(), Division::Parameter(&parameter.name), values));
        }
        let several = factors.into_iter().filter(|(_, _, levels)| levels.len() > 1);
        let paired = several.map(|(name, division, levels)| self.factor(name, division, &levels));
        paired.chain(self.drawn_effects()).collect()
    }

    /// The effects of one factor's levels.
    fn factor(&self, factor: String, division: Division, levels: &[String]) -> Factor {
        let places: HashMap<&str, usize> = levels.iter().enumerate().map(|(at, level)| (level.as_str(), at)).collect();
        let others = self.others(division);
        let mut by_level: Vec<ByContext> = vec![BTreeMap::new(); levels.len()];
        for entry in self.entries.iter().filter(|entry| self.concerns(entry, division)) {
            let at = entry.at;
            let machine = at.machine.unwrap_or_default();
            let (place, context) = match division {
                Division::Arm => (at.arm, (at.point, at.input, machine, 0)),
                Division::Input => (at.input, (at.point, 0, machine, at.arm)),
                Division::Machine => (machine, (at.point, at.input, 0, at.arm)),
                Division::Parameter(name) => {
                    let value = self.definition.points[at.point][name].as_str();
                    (places[value], (others[at.point], at.input, machine, at.arm))
                }
            };
            by_level[place].entry(context).or_default().extend(entry.measured());
        }
        let (first, rest) = by_level.split_first().expect("a factor has several levels");
        let level = |(level, of): (&String, &ByContext)| {
            let shared: Vec<Context> = first.keys().filter(|it| of.contains_key(it)).copied().collect();
            let [one, other] = means([first, of], &shared);
            let ratio = Ratio::of_samples(&one, &other, Pairing::Paired).or_else(|| Ratio::of_exact(&one, &other));
            let interval = ratio.as_ref().filter(|_| one.len() > 1).and_then(|it| it.interval(Confidence::P95));
            Level {
                level: level.clone(),
                ratio: ratio.and_then(|it| it.estimate),
                ci95: interval.map(|it| [it.low, it.high]),
                contexts: shared.len(),
                differs: None,
            }
        };
        let levels_of = levels[1..].iter().zip(rest).map(level).collect();
        Factor { factor, method: Method::Paired, reference: levels[0].clone(), levels: levels_of }
    }

    /// For each point a number that it shares with the points that differ in the divided parameter alone.
    fn others(&self, division: Division) -> Vec<usize> {
        let Division::Parameter(name) = division else { return Vec::new() };
        let mut known = HashMap::new();
        let rest = |point: &'a crate::space::Point| -> Vec<&'a str> {
            point.iter().filter(|(key, _)| *key != name).map(|(_, value)| value.as_str()).collect()
        };
        let points = self.definition.points.iter();
        points
            .map(|point| {
                let next = known.len();
                *known.entry(rest(point)).or_insert(next)
            })
            .collect()
    }

    /// True if the entry depends on what divides: a parameter concerns only what names it.
    pub fn concerns(&self, entry: &Entry, division: Division) -> bool {
        let Division::Parameter(name) = division else { return true };
        let (of, at) = (self.definition, entry.at);
        let machine = at.machine.is_some_and(|place| of.machines[place].names(name));
        machine || of.inputs[at.input].names(name) || of.arms[at.arm].names(name)
    }
}
