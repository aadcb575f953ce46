//! A summary as tables, for data frames.

use crate::summary::Summary;
use goodness_table::Kind::{Float, Text, Whole};
use goodness_table::{Cell, Column, Table, column};

const LOW: Column = column("low", Float, "Lower end of its interval.");
const HIGH: Column = column("high", Float, "Upper end of its interval.");
const X: Column = column("x", Text, "Value of the parameter across.");
const Y: Column = column("y", Text, "Value of the parameter down; missing with one parameter.");

/// Columns of [`Summary::effects_table`]: schema `goodness.sweep-effects/1`.
pub const EFFECTS: &[Column] = &[
    column("factor", Text, "Arm, input, machine or the name of a parameter."),
    column("method", Text, "paired: all else equal; drawn: groups of points, which differ in the rest by chance."),
    column("reference", Text, "Level that this one is compared with."),
    column("level", Text, "The level."),
    column("ratio", Float, "Metric at the level over that at the reference; missing where nothing can be compared."),
    LOW,
    HIGH,
    column("contexts", Whole, "Combinations of the other factors that have both levels, or drawn points of the level."),
];

/// Columns of [`Summary::responses_table`]: schema `goodness.sweep-responses/1`.
pub const RESPONSES: &[Column] = &[
    column("arm", Text, "The arm as typed."),
    X,
    Y,
    column("value", Float, "Mean of the metric over all else; geometric where all values are above 0."),
    LOW,
    HIGH,
];

/// Columns of [`Summary::places_table`]: schema `goodness.sweep-places/1`.
pub const PLACES: &[Column] = &[
    X,
    Y,
    column("winner", Text, "Arm that wins; missing where the best is not told from the next."),
    column("best", Text, "Arm with the best mean."),
    column("next", Text, "Arm with the second-best mean."),
    column("ratio", Float, "The best arm's value over the next one's."),
    LOW,
    HIGH,
];

fn end(interval: Option<[f64; 2]>, place: usize) -> Cell<'static> {
    interval.map(|ends| ends[place]).into()
}

impl Summary {
    /// The main effects.
    #[must_use]
    pub fn effects_table(&self) -> Table {
        let mut table = Table::new("goodness.sweep-effects/1", EFFECTS);
        for factor in &self.effects {
            for level in &factor.levels {
                table.push(&[
                    Cell::Text(&factor.factor),
                    Cell::Text(factor.method.name()),
                    Cell::Text(&factor.reference),
                    Cell::Text(&level.level),
                    level.ratio.into(),
                    end(level.ci95, 0),
                    end(level.ci95, 1),
                    Cell::Whole(level.contexts as u64),
                ]);
            }
        }
        table
    }

    /// The metric of each arm along the axes.
    #[must_use]
    pub fn responses_table(&self) -> Table {
        let mut table = Table::new("goodness.sweep-responses/1", RESPONSES);
        for response in &self.responses {
            for point in &response.points {
                table.push(&[
                    Cell::Text(&response.arm),
                    Cell::Text(&point.x),
                    point.y.as_deref().into(),
                    point.value.into(),
                    end(point.ci95, 0),
                    end(point.ci95, 1),
                ]);
            }
        }
        table
    }

    /// The places of the phase diagram; none without one.
    #[must_use]
    pub fn places_table(&self) -> Table {
        let mut table = Table::new("goodness.sweep-places/1", PLACES);
        for place in self.phase.iter().flat_map(|phase| &phase.places) {
            let texts = [&place.y, &place.winner, &place.best, &place.next].map(|it| Cell::from(it.as_deref()));
            let numbers = [place.ratio.into(), end(place.interval, 0), end(place.interval, 1)];
            table.push(&[&[Cell::Text(&place.x)], &texts[..], &numbers].concat());
        }
        table
    }
}
