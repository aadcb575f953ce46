//! The summary of a sweep: main effects, the response of each arm, and the winning arm of each place.

use crate::cell::Namer;
use crate::combinations::{AtPlace, Combinations, Context, Entry, means};
use crate::compute::ByCell;
use crate::definition::Definition;
use crate::effects::Factor;
use crate::phase::{Diagram, diagram};
use goodness::Refusal;
use goodness_observe::{Better, METRICS};
use goodness_stats::Confidence;
use goodness_stats::summary::summarise;
use serde::Serialize;
use std::collections::HashSet;

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
    /// Parameters along which responses and the diagram are: across, and down if there are two.
    pub axes: Vec<String>,
    /// Main effects: of each factor with several levels.
    pub effects: Vec<Factor>,
    /// Values of each arm over the axes of the diagram.
    pub responses: Vec<Response>,
    /// Which arm wins where; `None` with one arm or without a parameter to look along.
    pub phase: Option<Diagram>,
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
            axes: axes.iter().flat_map(|(x, y)| [Some(*x), *y]).flatten().map(str::to_string).collect(),
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

impl Combinations<'_> {
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
