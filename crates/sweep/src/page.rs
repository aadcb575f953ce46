//! A summary as a self-contained HTML page: phase diagram, responses and main effects.

use crate::phase::{Diagram, Place, number};
use crate::summary::{Factor, Level, Response, Summary};
use goodness_observe::title;
use goodness_report::change::{change, change_interval};
use goodness_report::chart::{Chart, Line, Point, escape};
use goodness_report::drawing::{Colour, Style};
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
        let mut page = Shell::new("sweep", title, command).headline(&self.conclusion(), Mood::Sure);
        if let Some(phase) = &self.phase {
            let note = "A letter is the arm that is best there, beyond chance (95 %, Holm over all places; runs paired \
                        by seed). Hollow places are undecided: the best is not told from the next.";
            let map = shell::figure(&self.map(phase), "winners") + &shell::paragraph(note);
            page.section("Which arm wins where", &map);
            page.folded("Every place", &places(phase));
        }
        self.responses(&mut page);
        for factor in &self.effects {
            page.section(&format!("Main effect: {}", factor.factor), &effects(factor, &self.metric));
        }
        page.finish()
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
            let _ = writeln!(svg, "<text x=\"{}\" y=\"{y:.1}\" class=\"end\">{}</text>", LEFT - 6.0, escape(row));
        }
        for (at, column) in columns.iter().enumerate().filter(|(at, _)| at % columns.len().div_ceil(9).max(1) == 0) {
            let x = LEFT + (at as f64 + 0.5) * wide;
            let _ = writeln!(
                svg,
                "<text x=\"{x:.1}\" y=\"{:.1}\" class=\"middle\">{}</text>",
                bottom + 16.0,
                escape(column)
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
            let _ = writeln!(svg, "<text x=\"{LEFT}\" y=\"{y:.1}\">{} {}</text>", self.letter(arm), escape(arm));
        }
        svg + "</svg>\n"
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

    /// The response of each arm: a chart for each value of the second parameter, up to nine.
    fn responses(&self, page: &mut Shell) {
        let Some(phase) = self.phase.as_ref() else { return };
        let (columns, rows) = phase.levels();
        if columns.iter().any(|it| number(it).is_none()) || rows.len() > 9 {
            return;
        }
        let mut figures = String::new();
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
                Line { name: response.arm.clone(), published: false, points }
            };
            let numbers: Vec<f64> = columns.iter().filter_map(|it| number(it)).collect();
            let spans = numbers.first().zip(numbers.last());
            let chart = Chart {
                title: phase
                    .y
                    .as_ref()
                    .map_or_else(|| self.metric.clone(), |y| format!("{} at {y} = {row}", self.metric)),
                x: if is_time { format!("{} (ms)", phase.x) } else { phase.x.clone() },
                y: format!("{} ({})", self.metric, if self.unit == "ns" { "ms" } else { self.unit.as_str() }),
                doubling: spans.is_some_and(|(low, high)| *low > 0.0 && high / low >= 8.0),
                lines: self.responses.iter().map(line).filter(|line| !line.points.is_empty()).collect(),
            };
            figures.push_str(&shell::chart(&chart));
        }
        page.section("Response of each arm", &figures);
    }
}

fn words(place: &Place) -> String {
    let (best, next) = (place.best.as_deref().unwrap_or_default(), place.next.as_deref().unwrap_or_default());
    match place.winner {
        Some(_) => format!("{best} wins over {next}"),
        None => format!("undecided between {best} and {next}"),
    }
}

fn places(phase: &Diagram) -> String {
    let row = |place: &Place| {
        let arm = |arm: &Option<String>| Cell::text(arm.as_deref().unwrap_or_default());
        let mut cells = vec![Cell::text(&place.x)];
        cells.extend(place.y.as_ref().map(|y| Cell::text(y)));
        cells.extend([
            arm(&place.best),
            arm(&place.next),
            Cell::number(&place.ratio.map_or_else(String::new, change)),
            Cell::number(&place.interval.map_or_else(String::new, |it| change_interval(it, "runs"))),
            Cell::text(if place.winner.is_some() { "wins" } else { "undecided" }),
        ]);
        cells
    };
    let heads = std::iter::once(phase.x.as_str()).chain(phase.y.as_deref());
    let heads: Vec<&str> = heads.chain(["best", "next", "the best is", "95 % interval", "verdict"]).collect();
    shell::table("Best and next arm of each place", &heads, &phase.places.iter().map(row).collect::<Vec<_>>())
}

fn effects(factor: &Factor, metric: &str) -> String {
    let about = format!("Change of the {} from that at {}, all else equal.", title(metric), factor.reference);
    let row = |level: &Level| {
        vec![
            Cell::text(&level.level),
            Cell::number(&level.ratio.map_or_else(String::new, change)),
            Cell::number(&level.ci95.map_or_else(String::new, |it| change_interval(it, "runs"))),
            Cell::number(&level.contexts.to_string()),
        ]
    };
    let rows: Vec<Vec<Cell>> = factor.levels.iter().map(row).collect();
    shell::table(&about, &["level", "change", "95 % interval", "combinations"], &rows)
}
