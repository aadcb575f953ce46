//! Draws how the cost of a decision grows with the number of tasks, log-log, from what `goodness bench --json` prints:
//!
//! ```text
//! goodness bench --tasks 10,100,1000,10000,100000,1000000 --json \
//!     | cargo run --release -p goodness-bench --example growth_plot > docs/growth.svg
//! ```

use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write;

const WIDTH: f64 = 900.0;
const HEIGHT: f64 = 560.0;
const LEFT: f64 = 80.0;
const RIGHT: f64 = 130.0;
const TOP: f64 = 50.0;
const BOTTOM: f64 = 60.0;
/// Colours distinguishable with colour blindness (Okabe and Ito), then the same dashed.
const COLOURS: [&str; 7] = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000", "#E69F00", "#56B4E9"];

/// For each policy, tasks and nanoseconds.
type Lines = BTreeMap<String, Vec<(f64, f64)>>;

fn main() -> Result<(), String> {
    let text = std::io::read_to_string(std::io::stdin()).map_err(|e| format!("standard input: {e}"))?;
    let rows: Vec<Value> = serde_json::from_str(&text).map_err(|e| format!("not what bench --json prints: {e}"))?;
    let mut lines = Lines::new();
    for row in rows.iter().filter(|row| row["cpus"] == 1) {
        let number = |key: &str| row[key].as_f64().ok_or_else(|| format!("a row has no number \"{key}\": {row}"));
        let policy = row["policy"].as_str().ok_or_else(|| format!("a row has no \"policy\": {row}"))?;
        // Half a nanosecond is as good as nothing, and a logarithm needs something.
        let point = (number("tasks")?, number("decision_ns")?.max(0.5));
        lines.entry(policy.to_string()).or_default().push(point);
    }
    print!("{}", draw(&lines)?);
    Ok(())
}

fn draw(lines: &Lines) -> Result<String, String> {
    let points = || lines.values().flatten();
    let (first, last) = bounds(points().map(|p| p.0)).ok_or("no row is about one CPU")?;
    let (least, most) = bounds(points().map(|p| p.1)).ok_or("no row is about one CPU")?;
    let x = |tasks: f64| LEFT + (tasks.log10() - first) / (last - first).max(1.0) * (WIDTH - LEFT - RIGHT);
    let y = |ns: f64| HEIGHT - BOTTOM - (ns.log10() - least) / (most - least).max(1.0) * (HEIGHT - TOP - BOTTOM);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" \
         font-size=\"13\" role=\"img\" aria-label=\"Cost of a decision over the number of tasks, for each policy\">\n\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"white\"/>\n\
         <text x=\"{LEFT}\" y=\"28\" font-size=\"17\">Cost of a decision (pick, charge, wake-up), ns</text>\n\
         <text x=\"{}\" y=\"{}\" text-anchor=\"middle\">tasks, seven in eight runnable, one CPU</text>\n",
        (LEFT + WIDTH - RIGHT) / 2.0,
        HEIGHT - 15.0,
    );
    for decade in (first as i32)..=(last as i32) {
        let (at, label) = (x(10f64.powi(decade)), power(decade));
        let (top, bottom) = (TOP, HEIGHT - BOTTOM);
        let _ = writeln!(svg, "<path d=\"M{at:.1} {top}V{bottom}\" stroke=\"#ddd\"/>");
        let _ = writeln!(svg, "<text x=\"{at:.1}\" y=\"{}\" text-anchor=\"middle\">{label}</text>", bottom + 18.0);
    }
    for decade in (least as i32)..=(most as i32) {
        let (at, label) = (y(10f64.powi(decade)), power(decade));
        let _ = writeln!(svg, "<path d=\"M{LEFT} {at:.1}H{}\" stroke=\"#ddd\"/>", WIDTH - RIGHT);
        let _ = writeln!(svg, "<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{label}</text>", LEFT - 8.0, at + 4.0);
    }
    curves(&mut svg, lines, x, y);
    svg.push_str("</svg>\n");
    Ok(svg)
}

/// Whole decades that contain all values, as exponents.
fn bounds(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    let range = |range: Option<(f64, f64)>, value: f64| {
        Some(range.map_or((value, value), |(a, b)| (a.min(value), b.max(value))))
    };
    values.fold(None, range).map(|(low, high)| (low.log10().floor(), high.log10().ceil()))
}

fn power(decade: i32) -> String {
    match u32::try_from(decade) {
        Ok(decade) => 10u64.pow(decade).to_string(),
        Err(_) => format!("{}", 10f64.powi(decade)),
    }
}

fn curves(svg: &mut String, lines: &Lines, x: impl Fn(f64) -> f64, y: impl Fn(f64) -> f64) {
    let mut labels: Vec<(f64, f64, &str, &str)> = Vec::new();
    for (index, (policy, points)) in lines.iter().enumerate() {
        let mut points = points.clone();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        let colour = COLOURS[index % COLOURS.len()];
        let dash = if index >= COLOURS.len() { " stroke-dasharray=\"7 4\"" } else { "" };
        let path: Vec<String> = points.iter().map(|p| format!("{:.1} {:.1}", x(p.0), y(p.1))).collect();
        let path = path.join("L");
        let _ = writeln!(svg, "<path d=\"M{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"{dash}/>");
        for (tasks, ns) in &points {
            let (cx, cy) = (x(*tasks), y(*ns));
            let _ = writeln!(
                svg,
                "<circle cx=\"{cx:.1}\" cy=\"{cy:.1}\" r=\"3.5\" fill=\"{colour}\"><title>{policy}: {ns} ns with \
                    {tasks} tasks</title></circle>"
            );
        }
        if let Some((tasks, ns)) = points.last() {
            labels.push((y(*ns), x(*tasks), policy, colour));
        }
    }
    labels.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut free = 0.0f64;
    for (wanted, at, policy, colour) in labels {
        let place = wanted.max(free);
        free = place + 15.0;
        let _ =
            writeln!(svg, "<text x=\"{:.1}\" y=\"{:.1}\" fill=\"{colour}\">{policy}</text>", at + 10.0, place + 4.0);
    }
}
