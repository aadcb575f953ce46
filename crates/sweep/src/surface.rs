//! Response surfaces: the metric of each arm over the two parameters of the diagram, as numbers and as a heat map.

use crate::bins::{Bins, rounded};
use crate::drawn_effects::center;
use crate::summary::{Response, Summary};
use goodness_report::chart::escape;
use goodness_report::figure;
use goodness_report::shell;
use std::fmt::Write;

/// Most values that are columns or rows of their own, and the number of groups of more.
const LEVELS: (usize, usize) = (12, 5);
/// Columns of text for a value.
const CELL: usize = 9;
const LEFT: f64 = 110.0;
const TOP: f64 = 24.0;
const WIDTH: f64 = 580.0;
const ROW: f64 = 26.0;
/// The colours of the least and of the largest value: from light to dark, which stays in grey.
const ENDS: [[f64; 3]; 2] = [[254.0, 240.0, 217.0], [127.0, 24.0, 24.0]];

/// One arm over two parameters.
pub(crate) struct Surface<'a> {
    pub arm: &'a str,
    columns: Vec<String>,
    rows: Vec<String>,
    /// The mean of each place, by row; `None` where nothing was measured.
    cells: Vec<Vec<Option<f64>>>,
}

impl<'a> Surface<'a> {
    fn of(response: &'a Response) -> Surface<'a> {
        let points = || response.points.iter();
        let row_of = |y: &'a Option<String>| y.as_deref().unwrap_or_default();
        let columns = Bins::of(points().map(|it| it.x.as_str()), LEVELS.0, LEVELS.1);
        let rows = Bins::of(points().map(|it| row_of(&it.y)), LEVELS.0, LEVELS.1);
        let mut values = vec![vec![Vec::new(); columns.names.len()]; rows.names.len()];
        for point in points() {
            values[rows.place(row_of(&point.y))][columns.place(&point.x)].extend(point.value);
        }
        let cells = values.iter().map(|row| row.iter().map(|values| center(values)).collect()).collect();
        let [columns, rows] = [columns, rows].map(|it| it.names.iter().map(|name| rounded(name)).collect());
        Surface { arm: &response.arm, columns, rows, cells }
    }

    fn values(&self) -> impl Iterator<Item = f64> {
        self.cells.iter().flatten().flatten().copied()
    }
}

/// The range of all values, and where a value is in it: 0 to 1, by factors if all are above 0.
struct Range(f64, f64);

impl Range {
    fn of(surfaces: &[Surface]) -> Option<Range> {
        let values = || surfaces.iter().flat_map(Surface::values);
        Some(Range(values().min_by(f64::total_cmp)?, values().max_by(f64::total_cmp)?))
    }

    fn share(&self, value: f64) -> f64 {
        let scaled = |value: f64| if self.0 > 0.0 { value.ln() } else { value };
        let length = scaled(self.1) - scaled(self.0);
        if length > 0.0 { (scaled(value) - scaled(self.0)) / length } else { 0.0 }
    }

    /// The colour of a value, and true if it is dark.
    fn colour(&self, value: f64) -> (String, bool) {
        let share = self.share(value);
        let [red, green, blue] = std::array::from_fn(|it| (ENDS[0][it] + share * (ENDS[1][it] - ENDS[0][it])) as u8);
        (format!("#{red:02x}{green:02x}{blue:02x}"), share > 0.5)
    }
}

impl Summary {
    /// The surface of each arm; none with fewer than two parameters.
    fn surfaces(&self) -> Vec<Surface<'_>> {
        let responses = self.responses.iter().filter(|_| self.axes.len() == 2);
        responses.map(Surface::of).filter(|it| it.values().next().is_some()).collect()
    }

    fn shown(&self, value: Option<f64>) -> String {
        value.map_or_else(String::new, |value| figure::show(Some(value), &self.unit))
    }

    /// The surfaces as text, `width` columns wide: numbers, or digits from 0 for the least to 9 for the largest value
    /// where numbers have no room. Empty with fewer than two parameters.
    #[must_use]
    pub fn surfaces_text(&self, width: u16) -> String {
        let surfaces = self.surfaces();
        let Some(range) = Range::of(&surfaces) else { return String::new() };
        let mut text = String::new();
        for surface in &surfaces {
            let _ = writeln!(text, "\n{} of {}, {} across", self.metric, figure::printable(surface.arm), self.axes[0]);
            let head = &self.axes[1];
            let margin = surface.rows.iter().chain([head]).map(|it| it.chars().count()).max().unwrap_or_default();
            let heads: Vec<String> = surface.columns.iter().map(|name| least(name)).collect();
            let wide = heads.iter().map(|it| it.chars().count() + 2).fold(CELL, usize::max);
            let has_room = margin + 3 + heads.len() * wide <= usize::from(width);
            let cell = |value: &Option<f64>| match (has_room, value) {
                (true, _) => format!("{:>wide$}", self.shown(*value)),
                (false, None) => "  ".into(),
                (false, Some(value)) => format!(" {}", (range.share(*value) * 9.0).round()),
            };
            let names: String = match has_room {
                true => heads.iter().map(|name| format!("{name:>wide$}")).collect(),
                false => format!(" {} to {}", ends(&surface.columns, true), ends(&surface.columns, false)),
            };
            let _ = writeln!(text, "{head:margin$} |{names}");
            for (row, values) in surface.rows.iter().zip(&surface.cells) {
                let _ = writeln!(text, "{row:margin$} |{}", values.iter().map(cell).collect::<String>());
            }
            if !has_room {
                let [low, high] = [range.0, range.1].map(|it| self.shown(Some(it)));
                let _ = writeln!(text, "0 {low} … 9 {high}");
            }
        }
        text
    }

    /// How to read the heat maps of the surfaces, and the maps as HTML; empty with fewer than two parameters.
    pub(crate) fn heat_maps(&self) -> (String, String) {
        let surfaces = self.surfaces();
        let Some(range) = Range::of(&surfaces) else { return Default::default() };
        let about = format!(
            "{} of each arm over {} (across) and {} (down): the mean over all else. Light is {}, dark is {}, the same \
             in all maps; {} is better.",
            self.metric,
            self.axes[0],
            self.axes[1],
            self.shown(Some(range.0)),
            self.shown(Some(range.1)),
            self.better
        );
        let map = |it: &Surface| {
            let drawn = shell::picture(&self.heat_map(it, &range), &format!("surface {}", it.arm));
            format!("<h3>{}</h3>\n{drawn}", escape(it.arm))
        };
        (about, surfaces.iter().map(map).collect())
    }

    fn heat_map(&self, surface: &Surface, range: &Range) -> String {
        let wide = WIDTH / surface.columns.len() as f64;
        let bottom = TOP + ROW * surface.rows.len() as f64;
        let mut svg = format!(
            "<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"response surface of {}\">\n",
            LEFT + WIDTH + 10.0,
            bottom + 8.0,
            escape(surface.arm)
        );
        let _ = writeln!(
            svg,
            "<text x=\"{}\" y=\"{}\" class=\"end\">{} | {}</text>",
            LEFT - 6.0,
            TOP - 8.0,
            escape(&self.axes[1]),
            escape(&self.axes[0])
        );
        for (column, name) in surface.columns.iter().enumerate() {
            let x = LEFT + (column as f64 + 0.5) * wide;
            let _ = writeln!(svg, "<text x=\"{x:.1}\" y=\"{}\" class=\"middle\">{}</text>", TOP - 8.0, escape(name));
        }
        for (row, (name, values)) in surface.rows.iter().zip(&surface.cells).enumerate() {
            let y = TOP + row as f64 * ROW;
            let base = y + ROW / 2.0 + 4.0;
            let _ = writeln!(svg, "<text x=\"{}\" y=\"{base:.1}\" class=\"end\">{}</text>", LEFT - 6.0, escape(name));
            for (column, value) in values.iter().enumerate() {
                let x = LEFT + column as f64 * wide;
                let (fill, is_dark) = value.map_or(("none".into(), false), |value| range.colour(value));
                let class = if is_dark { "middle in" } else { "middle dark" };
                let _ = writeln!(
                    svg,
                    "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{}\" fill=\"{fill}\" class=\"edge\"/>\
                     <text x=\"{:.1}\" y=\"{base:.1}\" class=\"{class}\">{}</text>",
                    wide - 1.0,
                    ROW - 1.0,
                    x + wide / 2.0,
                    self.shown(*value)
                );
            }
        }
        svg + "</svg>\n"
    }
}

/// The first or the last of the values in the names of groups.
fn ends(names: &[String], is_first: bool) -> &str {
    let found = match is_first {
        true => names.first().and_then(|name| name.split(" to ").next()),
        false => names.last().and_then(|name| name.rsplit(" to ").next()),
    };
    found.unwrap_or_default()
}

/// The name of a column of text: a value, or the least of a group.
fn least(name: &str) -> String {
    name.split_once(" to ").map_or_else(|| name.to_string(), |(first, _)| format!("≥{first}"))
}
