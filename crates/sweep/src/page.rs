//! A summary as a self-contained HTML page: phase diagram, responses and main effects.

use crate::bins::rounded;
use crate::effects::{Factor, Level, Method};
use crate::phase::{Diagram, Place, levels};
use crate::space::number;
use crate::summary::{Response, Summary};
use goodness_report::change::{change, change_interval};
use goodness_report::chart::{Chart, Line, Point, escape};
use goodness_report::drawing::{Colour, Style};
use goodness_report::figure::cut;
use goodness_report::shell::{self, Cell, Mood, Shell};
use std::fmt::Write;

const LEFT: f64 = 90.0;
const TOP: f64 = 40.0;
const WIDTH: f64 = 600.0;
/// Largest height of a row.
const ROW: f64 = 32.0;

impl Summary {
    /// The page; `command` makes it again.
    #[must_use]
    pub fn page(&self, title: &str, command: &str) -> String {
        let mut page = Shell::new("sweep", title, command).headline(&self.conclusion(), self.mood());
        if let Some(phase) = &self.phase {
            let about = "A letter is the arm that is best there, beyond chance (95 %, Holm over all places; runs \
                         paired by seed). Hollow places are undecided: the best is not told from the next.";
            let map = shell::picture(&self.map(phase), "phase diagram") + &shell::paragraph(about);
            page.section("Which arm wins where", &(map + &self.places(phase)));
        }
        let (about, maps) = self.heat_maps();
        if !maps.is_empty() {
            page.section("Response surface", &(shell::paragraph(&about) + &maps));
        }
        let responses = self.responses();
        if !responses.is_empty() {
            page.section("Response of each arm", &responses);
        }
        for factor in &self.effects {
            page.section(&format!("Main effect: {}", factor.factor), &effects(factor, &self.metric));
        }
        page.finish()
    }

    /// Open where a phase diagram has no winner anywhere.
    fn mood(&self) -> Mood {
        let is_open = self.phase.as_ref().is_some_and(|phase| phase.places.iter().all(|it| it.winner.is_none()));
        if is_open { Mood::Open } else { Mood::Sure }
    }

    /// The phase diagram as SVG. Winners have letters, so that it is readable without colour.
    fn map(&self, phase: &Diagram) -> String {
        let (columns, rows) = phase.levels();
        let (wide, high) = (WIDTH / columns.len().max(1) as f64, (480.0 / rows.len().max(1) as f64).min(ROW));
        let bottom = TOP + high * rows.len() as f64;
        let mut svg = format!(
            "<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"phase diagram\">\n",
            LEFT + WIDTH + 20.0,
            bottom + 44.0 + 18.0 * self.arms.len() as f64
        );
        let y_name = phase.y.as_deref().unwrap_or_default();
        let _ =
            writeln!(svg, "<text x=\"{}\" y=\"{}\" class=\"end\">{}</text>", LEFT - 6.0, TOP - 10.0, escape(y_name));
        for (at, row) in rows.iter().enumerate().filter(|(at, _)| at % rows.len().div_ceil(24).max(1) == 0) {
            let y = TOP + (at as f64 + 0.5) * high + 4.0;
            let _ =
                writeln!(svg, "<text x=\"{}\" y=\"{y:.1}\" class=\"end\">{}</text>", LEFT - 6.0, escape(&rounded(row)));
        }
        for (at, column) in columns.iter().enumerate().filter(|(at, _)| at % columns.len().div_ceil(9).max(1) == 0) {
            let x = LEFT + (at as f64 + 0.5) * wide;
            let _ = writeln!(
                svg,
                "<text x=\"{x:.1}\" y=\"{:.1}\" class=\"middle\">{}</text>",
                bottom + 16.0,
                escape(&rounded(column))
            );
        }
        let _ = writeln!(
            svg,
            "<text x=\"{}\" y=\"{:.1}\" class=\"middle\">{}</text>",
            LEFT + WIDTH / 2.0,
            bottom + 32.0,
            escape(&phase.x)
        );
        for place in &phase.places {
            let column = columns.iter().position(|it| *it == place.x).unwrap_or_default();
            let row = rows.iter().position(|it| Some(it) == place.y.as_ref()).unwrap_or_default();
            let corner = (LEFT + column as f64 * wide, TOP + row as f64 * high);
            self.square(place, corner, (wide, high), &mut svg);
        }
        for (at, arm) in self.arms.iter().enumerate() {
            let y = bottom + 50.0 + 18.0 * at as f64;
            let _ =
                writeln!(svg, "<text x=\"{LEFT}\" y=\"{y:.1}\">{} {}</text>", self.letter(arm), escape(&cut(arm, 90)));
        }
        svg + "</svg>\n"
    }

    /// The name of an arm beside a chart: its letter, and as much of it as there is room for.
    fn brief(&self, arm: &str) -> String {
        if self.arms.len() > 1 { format!("{} {}", self.letter(arm), cut(arm, 22)) } else { cut(arm, 24) }
    }

    fn square(&self, place: &Place, (x, y): (f64, f64), (wide, high): (f64, f64), svg: &mut String) {
        // Drawn points are many columns and rows with few places in them.
        let (w, h) = (wide.max(14.0) - 1.0, high.max(14.0) - 1.0);
        let said = format!("{}, {}: {}", place.x, place.y.as_deref().unwrap_or_default(), words(place));
        let Some(winner) = &place.winner else {
            let _ = writeln!(
                svg,
                "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{w:.1}\" height=\"{h:.1}\" class=\"undecided\">\
                 <title>{}</title></rect>",
                escape(&said)
            );
            return;
        };
        let index = self.arms.iter().position(|arm| arm == winner).unwrap_or_default();
        let Colour(red, green, blue) = Style::of(index).colour;
        let is_light = 0.3 * f64::from(red) + 0.59 * f64::from(green) + 0.11 * f64::from(blue) > 120.0;
        let class = if is_light { "middle dark" } else { "middle in" };
        let _ = writeln!(
            svg,
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{w:.1}\" height=\"{h:.1}\" \
             fill=\"#{red:02x}{green:02x}{blue:02x}\">\
             <title>{}</title></rect><text x=\"{:.1}\" y=\"{:.1}\" class=\"{class}\">{}</text>",
            escape(&said),
            x + w / 2.0,
            y + h / 2.0 + 4.0,
            self.letter(winner)
        );
    }

    fn places(&self, phase: &Diagram) -> String {
        let arm = |arm: &Option<String>| arm.as_deref().map_or_else(String::new, |arm| self.brief(arm));
        let row = |place: &Place| {
            let y = place.y.iter().map(|y| Cell::text(y));
            let rest = [
                Cell::text(&arm(&place.best)),
                Cell::text(&arm(&place.next)),
                Cell::number(&place.ratio.map_or_else(String::new, change)),
                Cell::number(&place.interval.map_or_else(String::new, |ends| change_interval(ends, "runs"))),
                Cell::of_class(if place.winner.is_some() { "wins" } else { "undecided" }, "verdict"),
            ];
            [Cell::text(&place.x)].into_iter().chain(y).chain(rest).collect::<Vec<_>>()
        };
        let rows: Vec<Vec<Cell>> = phase.places.iter().map(row).collect();
        let axes = [Some(phase.x.as_str()), phase.y.as_deref()].into_iter().flatten();
        let heads: Vec<&str> = axes.chain(["best", "next", "best against next", "interval", "verdict"]).collect();
        let table = shell::table("The best arm and the next, place by place", &heads, &rows);
        shell::fold(&format!("All {} places", phase.places.len()), &table, false)
    }

    /// The response of each arm: a chart for each value of the second parameter, up to nine.
    fn responses(&self) -> String {
        let Some(x_name) = self.axes.first() else { return String::new() };
        let places = self.responses.iter().flat_map(|it| &it.points);
        let (columns, rows) = levels(places.map(|it| (it.x.as_str(), it.y.as_deref().unwrap_or_default())));
        if columns.iter().any(|it| number(it).is_none()) || rows.len() > 9 {
            return String::new();
        }
        let mut charts = String::new();
        // Times are in ns, and read in ms.
        let in_ms = |is_time: bool| if is_time { 1e-6 } else { 1.0 };
        let is_time = columns.iter().any(|it| it.parse::<f64>().is_err());
        let (x_scale, y_scale) = (in_ms(is_time), in_ms(self.unit == "ns"));
        for row in &rows {
            let line = |response: &Response| {
                let here = response.points.iter().filter(|it| it.y.as_deref().unwrap_or_default() == row);
                let mut points: Vec<Point> = here
                    .filter_map(|it| {
                        Some(Point {
                            x: number(&it.x)? * x_scale,
                            y: it.value? * y_scale,
                            ci95: it.ci95.map(|ends| ends.map(|end| end * y_scale)),
                        })
                    })
                    .collect();
                points.sort_by(|a, b| a.x.total_cmp(&b.x));
                Line { name: self.brief(&response.arm), published: false, points }
            };
            let numbers: Vec<f64> = columns.iter().filter_map(|it| number(it)).collect();
            let spans = numbers.first().zip(numbers.last());
            let chart = Chart {
                title: self
                    .axes
                    .get(1)
                    .map_or_else(|| self.metric.clone(), |y| format!("{} at {y} = {row}", self.metric)),
                x: if is_time { format!("{x_name} (ms)") } else { x_name.clone() },
                y: format!("{} ({})", self.metric, if self.unit == "ns" { "ms" } else { self.unit.as_str() }),
                doubling: spans.is_some_and(|(low, high)| *low > 0.0 && high / low >= 8.0),
                lines: self.responses.iter().map(line).filter(|line| !line.points.is_empty()).collect(),
            };
            charts.push_str(&shell::chart(&chart));
        }
        charts
    }
}

fn words(place: &Place) -> String {
    let (best, next) = (place.best.as_deref().unwrap_or_default(), place.next.as_deref().unwrap_or_default());
    match place.winner {
        Some(_) => format!("{best} wins over {next}"),
        None => format!("undecided between {best} and {next}"),
    }
}

fn effects(factor: &Factor, metric: &str) -> String {
    let (meaning, counted) = match factor.method {
        Method::Paired => ("all else equal", "combinations"),
        Method::Drawn => (
            "of drawn points in groups. The other parameters differ between the groups by chance, which the interval \
             contains; a level in bold differs beyond chance (95 %, Holm over all levels of drawn parameters)",
            "points",
        ),
    };
    let row = |level: &Level| {
        vec![
            Cell::of_class(&level.level, if level.differs == Some(true) { "strong" } else { "" }),
            Cell::number(&level.ratio.map_or_else(String::new, change)),
            Cell::number(&level.ci95.map_or_else(String::new, |ends| change_interval(ends, "runs"))),
            Cell::number(&level.contexts.to_string()),
        ]
    };
    let rows: Vec<Vec<Cell>> = factor.levels.iter().map(row).collect();
    let about = format!("Change of {metric} against that at {}, {meaning}.", factor.reference);
    let heads = ["level", "change", "95 % interval", counted];
    shell::paragraph(&about) + &shell::table(&format!("Effect of {}", factor.factor), &heads, &rows)
}
