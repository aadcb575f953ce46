//! The summary of a sweep: main effects, the response of each arm, and the winning arm of each place.

use crate::cell::Namer;
use crate::combinations::{AtPlace, ByContext, Combinations, Context, Entry, means};
use crate::compute::ByCell;
use crate::definition::Definition;
use crate::phase::{Diagram, diagram};
use goodness::Refusal;
use goodness_observe::{Better, METRICS};
use goodness_stats::Confidence;
use goodness_stats::ratio::{Pairing, Ratio};
use goodness_stats::summary::summarise;
use serde::Serialize;
use std::collections::{BTreeMap, HashMap, HashSet};

/// Results of a sweep: schema `goodness.sweep/1`.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Summary {
    /// Name of the schema.
    pub schema: &'static str,
    /// The metric that is judged.
    pub metric: String,
    /// Its unit.
    pub unit: String,
    /// Its good direction: lower or higher.
    pub better: &'static str,
    /// Cells of the definition.
    pub cells: usize,
    /// Cells that are there.
    pub computed: usize,
    /// Cells in which no run measured the metric.
    pub unmeasured: usize,
    /// Arms, as typed.
    pub arms: Vec<String>,
    /// Main effects: of each factor with several levels.
    pub effects: Vec<Factor>,
    /// Values of each arm over the axes of the diagram.
    pub responses: Vec<Response>,
    /// Which arm wins where; `None` with one arm or without a parameter to look along.
    pub phase: Option<Diagram>,
}

/// A factor: arm, input, machine or a parameter.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Factor {
    /// Its name.
    pub factor: String,
    /// The level that the others are compared with: the first.
    pub reference: String,
    /// The other levels.
    pub levels: Vec<Level>,
}

/// A level of a factor against the factor's first.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Level {
    /// The level.
    pub level: String,
    /// Ratio of the metric to that at the first level, all else equal; `None` where nothing else is equal.
    pub ratio: Option<f64>,
    /// 95 % interval over runs and seeds; `None` for one run of one seed.
    pub ci95: Option<[f64; 2]>,
    /// Combinations of the other factors that have both levels.
    pub contexts: usize,
}

/// Values of one arm along the axes.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Response {
    /// The arm.
    pub arm: String,
    /// Values.
    pub points: Vec<ResponsePoint>,
}

/// The mean of an arm at one place, over all else.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ResponsePoint {
    /// Value of the parameter across.
    pub x: String,
    /// Value of the parameter down, if there is one.
    pub y: Option<String>,
    /// Mean over contexts, seeds and runs; geometric where all values are above 0.
    pub value: Option<f64>,
    /// Its 95 % interval over seeds and runs.
    pub ci95: Option<[f64; 2]>,
}

/// A way to divide entries into levels.
#[derive(Clone, Copy)]
enum Division<'a> {
    Arm,
    Input,
    Machine,
    Parameter(&'a str),
}

impl Summary {
    /// Sums up `values`, which are those of the definition's metric.
    ///
    /// # Errors
    /// A file among the inputs or machines cannot be read.
    pub fn of(definition: &Definition, values: &ByCell) -> Result<Summary, Refusal> {
        let mut namer = Namer::default();
        let (mut entries, mut names, mut computed, mut unmeasured) = (Vec::new(), HashSet::new(), 0, 0);
        for at in definition.coordinates() {
            let cell = namer.cell(definition, at)?.name;
            let found = values.get(&cell);
            let of_metric = found.and_then(|all| all.iter().find(|(name, _)| *name == definition.metric));
            if names.insert(cell) {
                computed += usize::from(found.is_some());
                unmeasured += usize::from(found.is_some() && of_metric.is_none());
            }
            entries.extend(of_metric.map(|(_, values)| Entry { at, values }));
        }
        let data = Combinations { definition, entries };
        let about = METRICS.iter().find(|it| it.name == definition.metric).expect("the metric was checked");
        let is_lower = about.better == Better::Lower;
        let axes = definition.axes();
        Ok(Summary {
            schema: "goodness.sweep/1",
            metric: definition.metric.clone(),
            unit: goodness::unit_of(about).to_string(),
            better: if is_lower { "lower" } else { "higher" },
            cells: names.len(),
            computed,
            unmeasured,
            arms: definition.arms.iter().map(|it| it.text.clone()).collect(),
            effects: data.effects(),
            responses: axes.map(|axes| data.responses(axes)).unwrap_or_default(),
            phase: axes.filter(|_| definition.arms.len() > 1).map(|axes| diagram(&data, axes, is_lower)),
        })
    }
}

impl Definition {
    /// The parameters of diagrams: those asked for, else the first two with several values.
    pub(crate) fn axes(&self) -> Option<(&str, Option<&str>)> {
        if let Some(phase) = &self.phase {
            return Some((&phase.x, Some(phase.y.as_str()).filter(|y| *y != phase.x)));
        }
        let mut several = self.parameters.iter().map(|it| it.name.as_str()).filter(|name| {
            let first = self.points.first().map(|point| &point[*name]);
            self.points.iter().any(|point| Some(&point[*name]) != first)
        });
        Some((several.next()?, several.next()))
    }
}

impl<'a> Combinations<'a> {
    fn effects(&self) -> Vec<Factor> {
        let definition = self.definition;
        let texts = |templates: &[crate::definition::Template]| templates.iter().map(|it| it.text.clone()).collect();
        let mut factors: Vec<(String, Division, Vec<String>)> = vec![
            ("arm".into(), Division::Arm, texts(&definition.arms)),
            ("input".into(), Division::Input, texts(&definition.inputs)),
            ("machine".into(), Division::Machine, texts(&definition.machines)),
        ];
        for parameter in &definition.parameters {
            let mut known = HashSet::new();
            let all = definition.points.iter().map(|point| point[&parameter.name].clone());
            let values = all.filter(|value| known.insert(value.clone())).collect();
            factors.push((parameter.name.clone(), Division::Parameter(&parameter.name), values));
        }
        let several = factors.into_iter().filter(|(_, _, levels)| levels.len() > 1);
        several.map(|(name, division, levels)| self.factor(name, division, &levels)).collect()
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
            let measured = entry.values.iter().enumerate().filter_map(|(run, value)| Some(((at.seed, run), (*value)?)));
            by_level[place].entry(context).or_default().extend(measured);
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
            }
        };
        Factor { factor, reference: levels[0].clone(), levels: levels[1..].iter().zip(rest).map(level).collect() }
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
    fn concerns(&self, entry: &Entry, division: Division) -> bool {
        let Division::Parameter(name) = division else { return true };
        let (of, at) = (self.definition, entry.at);
        let machine = at.machine.is_some_and(|place| of.machines[place].names(name));
        machine || of.inputs[at.input].names(name) || of.arms[at.arm].names(name)
    }

    fn responses(&self, axes: (&str, Option<&str>)) -> Vec<Response> {
        let places = self.by_place(axes);
        let of_arm = |(arm, template): (usize, &crate::definition::Template)| {
            let point = |((x, y), arms): &AtPlace| {
                let contexts: Vec<Context> = arms[arm].keys().copied().collect();
                let [values] = means([&arms[arm]], &contexts);
                let is_positive = values.iter().all(|value| *value > 0.0);
                let scaled: Vec<f64> = values.iter().map(|it| if is_positive { it.ln() } else { *it }).collect();
                let back = |value: f64| if is_positive { value.exp() } else { value };
                let summary = summarise(&scaled, Confidence::P95);
                ResponsePoint {
                    x: x.clone(),
                    y: y.clone(),
                    value: summary.as_ref().map(|it| back(it.mean)),
                    ci95: summary.and_then(|it| it.interval).map(|it| [back(it.low), back(it.high)]),
                }
            };
            Response { arm: template.text.clone(), points: places.iter().map(point).collect() }
        };
        self.definition.arms.iter().enumerate().map(of_arm).collect()
    }
}
