//! Line charts as SVG: figures from a publication, redrawn from runs. Published points are hollow.

use std::fmt::Write;

/// A chart.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Chart {
    /// Title.
    pub title: String,
    /// Meaning and unit of x.
    pub x: String,
    /// Meaning and unit of y.
    pub y: String,
    /// True if x doubles from one grid line to the next.
    pub doubling: bool,
    /// Lines of the chart.
    pub lines: Vec<Line>,
}

/// One line of a chart.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Line {
    /// Its name in the legend.
    pub name: String,
    /// True if the points are published values rather than simulated ones.
    pub published: bool,
    /// Its points by ascending x.
    pub points: Vec<Point>,
}

/// One point, with the confidence interval of y if it has one.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Point {
    /// x.
    pub x: f64,
    /// y.
    pub y: f64,
    /// 95 % confidence interval of y.
    pub ci95: Option<[f64; 2]>,
}

/// The style that a page with charts needs, light and dark.
pub const STYLE: &str = include_str!("chart.css");

/// Colours distinguishable with colour blindness (Okabe and Ito).
const COLOURS: [&str; 7] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#555555"];
const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 400.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 190.0;
const TOP: f64 = 34.0;
const BOTTOM: f64 = 52.0;

/// Maps values to positions.
struct Frame {
    low: f64,
    high: f64,
    top: f64,
    doubling: bool,
}

impl Frame {
    fn of(chart: &Chart) -> Frame {
        let points = || chart.lines.iter().flat_map(|line| &line.points);
        let xs = points().map(|p| if chart.doubling { p.x.max(f64::MIN_POSITIVE).log2() } else { p.x });
        let (low, high) = xs.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), x| (l.min(x), h.max(x)));
        let largest = points().map(|p| p.ci95.map_or(p.y, |ci| ci[1].max(p.y))).fold(0.0, f64::max);
        let (low, high) = match low.total_cmp(&high) {
            std::cmp::Ordering::Less => (low, high),
            std::cmp::Ordering::Equal => (low.min(0.0), low.max(0.0) + 1.0),
            std::cmp::Ordering::Greater => (0.0, 1.0),
        };
        Frame { low, high, top: ceiling(largest), doubling: chart.doubling }
    }

    fn x(&self, x: f64) -> f64 {
        let x = if self.doubling { x.max(f64::MIN_POSITIVE).log2() } else { x };
        LEFT + (x - self.low) / (self.high - self.low) * (WIDTH - LEFT - RIGHT)
    }

    fn y(&self, y: f64) -> f64 {
        HEIGHT - BOTTOM - y / self.top * (HEIGHT - TOP - BOTTOM)
    }

    /// Positions of the vertical grid lines.
    fn columns(&self) -> Vec<f64> {
        if self.doubling {
            return (self.low.ceil() as i32..=self.high.floor() as i32).map(|e| 2f64.powi(e)).collect();
        }
        let step = ceiling((self.high - self.low) / 5.0).max(f64::MIN_POSITIVE);
        let first = (self.low / step).ceil() as i64;
        (first..).map(|k| k as f64 * step).take_while(|x| *x <= self.high).collect()
    }
}

/// Rounds up to 1, 2, 2.5 or 5 times a power of ten.
pub(crate) fn ceiling(value: f64) -> f64 {
    if !(value.is_finite() && value > 0.0) {
        return 1.0;
    }
    let power = 10f64.powf(value.log10().floor());
    [1.0, 2.0, 2.5, 5.0, 10.0].into_iter().map(|m| m * power).find(|v| *v >= value * 0.999_999).unwrap_or(value)
}

impl Chart {
    /// The chart as an SVG element with a title. The numbers are in the tables of the page.
    #[must_use]
    pub fn svg(&self) -> String {
        let frame = Frame::of(self);
        let mut svg = format!(
            "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}\">\n<text x=\"{LEFT}\" y=\"18\" \
                class=\"title\">{0}</text>\n",
            escape(&self.title)
        );
        self.grid(&frame, &mut svg);
        for (index, line) in self.lines.iter().enumerate() {
            draw(line, COLOURS[index % COLOURS.len()], &frame, &mut svg);
            legend(line, index, COLOURS[index % COLOURS.len()], &mut svg);
        }
        svg + "</svg>\n"
    }

    fn grid(&self, frame: &Frame, svg: &mut String) {
        let (right, bottom) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
        for part in 0..=5 {
            let value = frame.top * f64::from(part) / 5.0;
            let y = frame.y(value);
            let _ = writeln!(
                svg,
                "<path d=\"M{LEFT} {y:.1}H{right}\" class=\"grid\"/><text x=\"{:.1}\" y=\"{:.1}\" \
                    class=\"end\">{}</text>",
                LEFT - 6.0,
                y + 4.0,
                short(value)
            );
        }
        for value in frame.columns() {
            let x = frame.x(value);
            let _ = writeln!(
                svg,
                "<path d=\"M{x:.1} {TOP}V{bottom}\" class=\"grid\"/><text x=\"{x:.1}\" y=\"{:.1}\" \
                    class=\"middle\">{}</text>",
                bottom + 16.0,
                short(value)
            );
        }
        let middle = f64::midpoint(LEFT, right);
        let _ = writeln!(
            svg,
            "<text x=\"{middle}\" y=\"{:.1}\" class=\"middle\">{}</text>",
            HEIGHT - 12.0,
            escape(&self.x)
        );
        let centre = f64::midpoint(TOP, bottom);
        let _ = writeln!(
            svg,
            "<text transform=\"translate(16 {centre}) rotate(-90)\" class=\"middle\">{}</text>",
            escape(&self.y)
        );
    }
}

fn draw(line: &Line, colour: &str, frame: &Frame, svg: &mut String) {
    let places: Vec<String> = line.points.iter().map(|p| format!("{:.1} {:.1}", frame.x(p.x), frame.y(p.y))).collect();
    let ascends = line.points.windows(2).all(|pair| pair[0].x < pair[1].x);
    let dash = if line.published { " stroke-dasharray=\"5 4\"" } else { "" };
    // Several points at one x are observations, not a curve: no line joins them.
    if ascends {
        let path = places.join("L");
        let _ = writeln!(svg, "<path d=\"M{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"{dash}/>");
    }
    for point in &line.points {
        let (x, y) = (frame.x(point.x), frame.y(point.y));
        if let Some([low, high]) = point.ci95 {
            let _ = writeln!(svg, "<path d=\"M{x:.1} {:.1}V{:.1}\" stroke=\"{colour}\"/>", frame.y(low), frame.y(high));
        }
        let fill = if line.published { "var(--paper)" } else { colour };
        let _ = writeln!(
            svg,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.5\" fill=\"{fill}\" stroke=\"{colour}\"><title>{}: {}, \
                {}</title></circle>",
            escape(&line.name),
            short(point.x),
            short(point.y)
        );
    }
}

fn legend(line: &Line, index: usize, colour: &str, svg: &mut String) {
    let (x, y) = (WIDTH - RIGHT + 14.0, TOP + 14.0 + 18.0 * index as f64);
    let fill = if line.published { "var(--paper)" } else { colour };
    let _ = writeln!(
        svg,
        "<circle cx=\"{x}\" cy=\"{y}\" r=\"4\" fill=\"{fill}\" stroke=\"{colour}\"/><text x=\"{}\" y=\"{}\">{}</text>",
        x + 10.0,
        y + 4.0,
        escape(&line.name)
    );
}

/// At most four significant digits.
pub(crate) fn short(value: f64) -> String {
    if value == 0.0 {
        return "0".into();
    }
    let digits = (3 - value.abs().log10().floor() as i32).clamp(0, 6);
    let text = format!("{value:.*}", digits as usize);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_string() } else { text }
}

/// Escapes text for SVG and HTML.
#[must_use]
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chart_shows_every_point_and_lets_no_markup_in() {
        let point = |x: f64, y: f64| Point { x, y, ci95: Some([y * 0.9, y * 1.1]) };
        let line =
            Line { name: "<b>o1</b>".into(), published: true, points: vec![point(4.0, 10.0), point(256.0, 40.0)] };
        let chart = Chart { title: "runtime".into(), doubling: true, lines: vec![line], ..Chart::default() };
        let svg = chart.svg();
        assert_eq!(svg.matches("<circle").count(), 3, "two points and the legend");
        assert!(!svg.contains("<b>") && svg.contains("&lt;b&gt;"));
        assert!(svg.contains(">128<"), "a grid line for each doubling");
    }

    #[test]
    fn an_empty_chart_and_one_of_a_single_point_have_numbers_only() {
        let single = Line { name: "x".into(), published: false, points: vec![Point { x: 3.0, y: 0.0, ci95: None }] };
        for lines in [vec![], vec![single]] {
            let svg = Chart { lines, ..Chart::default() }.svg();
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        }
    }

    #[test]
    fn round_numbers_bound_the_axis() {
        assert_eq!([0.3, 7.2, 12.0, 2.1].map(ceiling), [0.5, 10.0, 20.0, 2.5]);
    }
}
