//! Figures for papers: the ranking, the distribution behind it, and every run, as drawings that are readable in grey.

use crate::drawing::{Anchor, BLACK, Drawing, GRID, Part, Style};
use crate::figure;
use crate::model::{Distribution, Report};
use goodness_observe::title;
use std::path::{Path, PathBuf};

/// Names of the figures and what they show.
pub const FIGURES: [(&str, &str); 3] = [
    ("ranking", "The metric that ranks: each arm's mean with its 95 % interval, best first."),
    ("distribution", "The distribution behind it: the value that a share of the observations does not exceed."),
    ("runs", "The metric that ranks: the value of every run; of many, 500 at even distances."),
];

const WIDTH: f32 = 504.0;
const LEFT: f32 = 180.0;
const RIGHT: f32 = 24.0;
const TOP: f32 = 12.0;
const BOTTOM: f32 = 40.0;
const ROW: f32 = 22.0;
/// Room for the legend of the distribution.
const LEGEND: f32 = 190.0;
/// Most marks of a row.
const MOST_MARKS: usize = 500;
/// Most characters of a label beside an axis.
const LABEL: usize = 34;

/// Draws all figures of `report` into a folder, which is made if there is none. Returns the files.
///
/// # Errors
/// One cannot be written.
pub fn write(report: &Report, folder: &Path) -> Result<Vec<PathBuf>, String> {
    std::fs::create_dir_all(folder).map_err(|why| format!("{}: the folder cannot be made: {why}", folder.display()))?;
    let mut written = Vec::new();
    for (name, _) in FIGURES {
        let Some(drawing) = draw(report, name) else { continue };
        for (end, bytes) in [("svg", drawing.svg().into_bytes()), ("pdf", drawing.pdf())] {
            let path = folder.join(format!("{name}.{end}"));
            goodness_output::write(&path, &bytes)?;
            written.push(path);
        }
    }
    Ok(written)
}

/// Draws the figure of that name. `None` if there is none, or nothing of it was measured.
#[must_use]
pub fn draw(report: &Report, name: &str) -> Option<Drawing> {
    match name {
        "ranking" => ranking(report),
        "distribution" => distribution(report),
        "runs" => runs(report),
        _ => None,
    }
}

/// An axis: values from `low` to `high` at positions `from` to `to`.
struct Axis {
    low: f64,
    high: f64,
    is_log: bool,
    from: f32,
    to: f32,
}

impl Axis {
    /// The axis of `values`, with a margin: logarithmic if they are positive and span a factor of ten.
    fn of(values: impl Iterator<Item = f64>, from: f32, to: f32) -> Axis {
        let ends = |(low, high): (f64, f64), value: f64| (low.min(value), high.max(value));
        let (low, high) = values.filter(|it| it.is_finite()).fold((f64::INFINITY, f64::NEG_INFINITY), ends);
        if low > high {
            return Axis { low: 0.0, high: 1.0, is_log: false, from, to };
        }
        if low > 0.0 && high / low >= 10.0 {
            return Axis { low: low / 1.1, high: high * 1.1, is_log: true, from, to };
        }
        let margin = if high > low { (high - low) * 0.06 } else { high.abs().max(1.0) * 0.1 };
        let floor = if low >= 0.0 { 0.0 } else { f64::NEG_INFINITY };
        Axis { low: (low - margin).max(floor), high: high + margin, is_log: false, from, to }
    }

    fn place(&self, value: f64) -> f32 {
        let scale = |value: f64| if self.is_log { value.max(f64::MIN_POSITIVE).ln() } else { value };
        let share = (scale(value) - scale(self.low)) / (scale(self.high) - scale(self.low));
        self.from + share as f32 * (self.to - self.from)
    }

    /// Round values on the axis.
    fn ticks(&self) -> Vec<f64> {
        if !self.is_log {
            let rough = (self.high - self.low) / 5.0;
            let power = 10f64.powf(rough.log10().floor());
            let step = [1.0, 2.0, 2.5, 5.0, 10.0].map(|it| it * power).into_iter().find(|it| *it >= rough);
            let step = step.unwrap_or(rough);
            let first = (self.low / step).ceil() as i64;
            return (first..).map(|it| it as f64 * step).take_while(|it| *it <= self.high).collect();
        }
        let decades = self.low.log10().floor() as i32..=self.high.log10().ceil() as i32;
        let between: &[f64] = if decades.clone().count() > 4 { &[1.0] } else { &[1.0, 2.0, 5.0] };
        let all = decades.flat_map(|power| between.iter().map(move |it| it * 10f64.powi(power)));
        all.filter(|it| (self.low..=self.high).contains(it)).collect()
    }

    /// Draws vertical grid lines with their values, and the name of what they measure.
    fn draw_below(&self, drawing: &mut Drawing, unit: &str, name: &str) {
        let bottom = drawing.height - BOTTOM;
        for tick in self.ticks() {
            let x = self.place(tick);
            drawing.line(vec![[x, TOP], [x, bottom]], GRID, 0.5);
            drawing.text([x, bottom + 12.0], figure::show(Some(tick), unit), Anchor::Middle);
        }
        drawing.line(vec![[self.from, bottom], [self.to, bottom]], BLACK, 0.8);
        drawing.text([f32::midpoint(self.from, self.to), bottom + 28.0], name, Anchor::Middle);
    }
}

/// An empty drawing for so many rows.
fn of_rows(title: String, rows: usize) -> Drawing {
    let height = TOP + BOTTOM + ROW * rows as f32;
    Drawing { title, width: WIDTH, height, parts: Vec::new() }
}

fn short(label: &str) -> String {
    match label.chars().count() > LABEL {
        true => label.chars().take(LABEL - 1).chain(['…']).collect(),
        false => label.to_string(),
    }
}

fn ranking(report: &Report) -> Option<Drawing> {
    let (metric, labels) = (report.ranked_by()?, report.labels());
    let has_value = |place: &usize| report.policies[*place].metric(metric).is_some_and(|it| it.value.is_some());
    let order: Vec<usize> = report.ranking(metric).into_iter().filter(has_value).collect();
    let summary = |place: usize| report.policies[place].metric(metric).expect("filtered");
    let ends = |place: &usize| {
        let it = summary(*place);
        it.value.into_iter().chain(it.ci95.into_iter().flatten()).collect::<Vec<_>>()
    };
    let axis = Axis::of(order.iter().flat_map(ends), LEFT, WIDTH - RIGHT);
    let mut drawing = of_rows(format!("{} of {}", title(metric), report.input.name), order.len());
    axis.draw_below(&mut drawing, &summary(*order.first()?).unit, &title(metric));
    if let Some(value) = report.reference().and_then(|it| it.metric(metric)?.value) {
        let x = axis.place(value);
        let points = vec![[x, TOP], [x, drawing.height - BOTTOM]];
        drawing.parts.push(Part::Line { points, colour: BLACK, width: 0.8, dashes: &[3.0, 2.0] });
    }
    for (row, place) in order.iter().enumerate() {
        let (y, it) = (TOP + ROW * (row as f32 + 0.5), summary(*place));
        drawing.text([LEFT - 8.0, y + 3.0], short(&labels[*place]), Anchor::End);
        if let Some([low, high]) = it.ci95 {
            let (low, high) = (axis.place(low), axis.place(high));
            drawing.line(vec![[low, y], [high, y]], BLACK, 1.2);
            for x in [low, high] {
                drawing.line(vec![[x, y - 3.0], [x, y + 3.0]], BLACK, 1.2);
            }
        }
        drawing.mark([axis.place(it.value.unwrap_or_default()), y], Style::of(0), 3.5);
    }
    Some(drawing)
}

/// Shares of observations on the axis of distributions.
const SHARES: [(f64, &str); 6] =
    [(0.0, "0 %"), (0.5, "50 %"), (0.9, "90 %"), (0.99, "99 %"), (0.999, "99.9 %"), (0.9999, "99.99 %")];

/// The share at the upper end of the axis.
const LAST_SHARE: f64 = 0.9999;

fn distribution(report: &Report) -> Option<Drawing> {
    let metric = report.ranked_by()?;
    let families = || report.policies.iter().flat_map(|it| &it.distributions);
    let family = families().find(|it| metric.starts_with(&it.metric)).or_else(|| families().next())?.metric.clone();
    let of = |place: usize| report.policies[place].distributions.iter().find(|it| it.metric == family);
    let series: Vec<(usize, &Distribution)> =
        report.ranking(metric).into_iter().filter_map(|place| Some((place, of(place)?))).collect();
    let mut drawing = Drawing {
        title: format!("{} of {}", title(&family), report.input.name),
        width: WIDTH,
        height: 300.0,
        parts: vec![],
    };
    let shown: Vec<Vec<[f64; 2]>> = series.iter().map(|(_, it)| to_the_end(it)).collect();
    let values = shown.iter().flatten().map(|[_, value]| *value);
    let x = Axis::of(values, 64.0, WIDTH - LEGEND);
    x.draw_below(&mut drawing, &series.first()?.1.unit, &title(&family));
    // A share q is drawn at -log(1 - q), which gives each nine the same room.
    let nines = |share: f64| -(1.0 - share).log10();
    let height = drawing.height - BOTTOM;
    let y = |share: f64| height - (nines(share) / nines(LAST_SHARE)) as f32 * (height - TOP);
    for (share, name) in SHARES {
        drawing.line(vec![[x.from, y(share)], [x.to, y(share)]], GRID, 0.5);
        drawing.text([x.from - 6.0, y(share) + 3.0], name, Anchor::End);
    }
    let (at, text) = ([14.0, f32::midpoint(TOP, height)], "share of observations".to_string());
    drawing.parts.push(Part::Text { at, text, size: 9.0, anchor: Anchor::Middle, is_upright: true });
    for (row, (place, _)) in series.iter().enumerate() {
        let (style, label) = (Style::of(row), short(&report.labels()[*place]));
        let points: Vec<[f32; 2]> = shown[row].iter().map(|[share, value]| [x.place(*value), y(*share)]).collect();
        points.iter().skip(3 * row % 5).step_by(6).for_each(|at| drawing.mark(*at, style, 2.5));
        drawing.parts.push(Part::Line { points, colour: style.colour, width: 1.2, dashes: style.dashes });
        let at = [WIDTH - LEGEND + 16.0, TOP + 8.0 + 14.0 * row as f32];
        let points = vec![[at[0], at[1]], [at[0] + 24.0, at[1]]];
        drawing.parts.push(Part::Line { points, colour: style.colour, width: 1.2, dashes: style.dashes });
        drawing.mark([at[0] + 12.0, at[1]], style, 2.5);
        drawing.text([at[0] + 30.0, at[1] + 3.0], label, Anchor::Start);
    }
    Some(drawing)
}

/// Points of a distribution up to its largest observation, which is one of all; what lies beyond the axis is at its
/// end.
fn to_the_end(it: &Distribution) -> Vec<[f64; 2]> {
    let last = (1.0 - 1.0 / it.samples.max(2) as f64).min(LAST_SHARE);
    let before = it.quantiles.iter().filter(|[share, value]| *share < last && *value > 0.0).copied();
    before.chain(it.quantiles.last().map(|[_, largest]| [last, *largest]).filter(|[_, it]| *it > 0.0)).collect()
}

fn runs(report: &Report) -> Option<Drawing> {
    let (metric, labels) = (report.ranked_by()?, report.labels());
    let of = |place: usize| {
        let own = report.runs.iter().filter(|it| it.policy == labels[place]).flat_map(|it| &it.values);
        own.filter(|it| it.name == metric).flat_map(|it| it.values.iter().flatten().copied()).collect::<Vec<f64>>()
    };
    let rows: Vec<(usize, Vec<f64>)> = report.ranking(metric).into_iter().map(|place| (place, of(place))).collect();
    let rows: Vec<&(usize, Vec<f64>)> = rows.iter().filter(|(_, values)| !values.is_empty()).collect();
    let unit = &report.policies[rows.first()?.0].metric(metric)?.unit;
    let axis = Axis::of(rows.iter().flat_map(|(_, values)| values).copied(), LEFT, WIDTH - RIGHT);
    let mut drawing = of_rows(format!("{} of {}, every run", title(metric), report.input.name), rows.len());
    axis.draw_below(&mut drawing, unit, &title(metric));
    for (row, (place, values)) in rows.iter().enumerate() {
        let top = TOP + ROW * row as f32;
        drawing.text([LEFT - 8.0, top + ROW / 2.0 + 3.0], short(&labels[*place]), Anchor::End);
        // Runs go from the top of the row to its bottom, so that equal values stay visible.
        for (run, value) in values.iter().enumerate().step_by(values.len().div_ceil(MOST_MARKS)) {
            let down = (run as f32 + 0.5) / values.len() as f32;
            drawing.mark([axis.place(*value), top + 3.0 + down * (ROW - 6.0)], Style::of(0), 1.6);
        }
    }
    Some(drawing)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_have_round_values_and_a_place_for_each() {
        let linear = Axis::of([0.0, 7.0].into_iter(), 0.0, 100.0);
        assert_eq!(linear.ticks(), [0.0, 2.0, 4.0, 6.0]);
        let log = Axis::of([3.0, 4_000.0].into_iter(), 0.0, 100.0);
        assert_eq!(log.ticks(), [10.0, 100.0, 1_000.0]);
        assert!(log.place(4_000.0) < 100.0 && log.place(3.0) > 0.0);
        let constant = Axis::of([5.0].into_iter(), 0.0, 100.0);
        assert!((40.0..60.0).contains(&constant.place(5.0)));
        assert!(Axis::of([].into_iter(), 0.0, 1.0).ticks().len() > 1);
    }

    #[test]
    fn what_was_not_measured_is_not_drawn() {
        assert!(FIGURES.iter().all(|(name, _)| draw(&Report::default(), name).is_none()));
        assert_eq!(draw(&Report::default(), "no such figure"), None);
    }
}
