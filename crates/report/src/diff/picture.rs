//! Both schedules around the first difference, on one time axis, as SVG.

use super::{Diff, FirstDifference, Slice};
use crate::colour;
use crate::figure;
use crate::legend::legend;
use crate::shell::escape;
use std::fmt::Write;

/// Width of the time axis, height of a row, and room before it, in px.
const WIDTH: f64 = 900.0;
const ROW: f64 = 26.0;
const MARGIN: f64 = 70.0;
/// Room above the first schedule, for the mark.
const TOP: f64 = 20.0;
/// Tasks that the legend names.
const NAMED: usize = 30;

/// The picture; `None` without a first difference, or if nothing ran there.
pub(super) fn svg(diff: &Diff) -> Option<String> {
    let first = diff.first_difference.as_ref()?;
    let sides = [&first.a.schedule, &first.b.schedule];
    let from = sides.iter().filter_map(|it| it.iter().map(|slice| slice.start_ns).min()).min()?;
    let to = sides.iter().filter_map(|it| it.iter().map(|slice| slice.end_ns).max()).min()?.max(first.at_ns + 1);
    let picture = Picture { first, from, to, cpus: 1 + sides.iter().flat_map(|it| it.iter()).map(|it| it.cpu).max()? };
    Some(picture.draw([(&diff.a.label, sides[0]), (&diff.b.label, sides[1])]))
}

struct Picture<'a> {
    first: &'a FirstDifference,
    from: u64,
    to: u64,
    cpus: u32,
}

impl Picture<'_> {
    fn draw(&self, sides: [(&String, &Vec<Slice>); 2]) -> String {
        let colours = colours(sides.map(|(_, slices)| slices));
        let block = ROW * f64::from(self.cpus) + 30.0;
        let bottom = TOP + 2.0 * block + 12.0;
        let (legend, height) = names(&colours, bottom + 10.0);
        let mut svg = format!(
            "<svg viewBox=\"0 0 {} {height}\" role=\"img\" aria-label=\"Both schedules around the first \
             difference\">\n",
            MARGIN + WIDTH + 10.0
        );
        for (index, (label, slices)) in sides.into_iter().enumerate() {
            let top = TOP + block * index as f64;
            let _ = writeln!(svg, "<text x=\"0\" y=\"{}\">{}: {}</text>", top + 16.0, ["A", "B"][index], escape(label));
            for cpu in 0..self.cpus {
                let middle = top + 24.0 + ROW * (f64::from(cpu) + 0.7);
                let _ = writeln!(svg, "<text x=\"0\" y=\"{middle}\">CPU {cpu}</text>");
            }
            slices.iter().for_each(|slice| svg.push_str(&self.slice(slice, top + 24.0, &colours)));
        }
        svg.push_str(&self.axis(bottom));
        svg + &legend + "</svg>\n"
    }

    fn x(&self, at: u64) -> f64 {
        let share = (at.clamp(self.from, self.to) - self.from) as f64 / (self.to - self.from).max(1) as f64;
        MARGIN + WIDTH * share
    }

    fn slice(&self, slice: &Slice, top: f64, colours: &[(String, String)]) -> String {
        let (left, right) = (self.x(slice.start_ns), self.x(slice.end_ns));
        if right - left <= 0.0 {
            return String::new();
        }
        let name = super::sentence::task(&slice.task);
        let colour = colours.iter().find(|(it, _)| *it == name).map_or("", |(_, colour)| colour);
        let y = top + ROW * f64::from(slice.cpu);
        let (width, height) = (right - left, ROW - 4.0);
        let span = figure::time(Some(slice.end_ns - slice.start_ns));
        let title = escape(&format!("{name}: {span} from {}", figure::time(Some(slice.start_ns))));
        let fits = width > 7.5 * name.chars().count() as f64;
        let text = if fits {
            format!("<text x=\"{:.1}\" y=\"{:.1}\" class=\"dark\">{}</text>", left + 3.0, y + 16.0, escape(&name))
        } else {
            String::new()
        };
        format!(
            "<g><title>{title}</title><rect x=\"{left:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height}\" \
             fill=\"{colour}\"/>{text}</g>\n"
        )
    }

    /// The two ends of the axis, and the decision.
    fn axis(&self, bottom: f64) -> String {
        let at = self.x(self.first.at_ns);
        let ends = [(MARGIN, self.from, "start"), (MARGIN + WIDTH, self.to, "end")].map(|(x, at, anchor)| {
            let time = escape(&figure::time(Some(at)));
            format!("<text x=\"{x}\" y=\"{bottom}\" text-anchor=\"{anchor}\">{time}</text>\n")
        });
        let time = escape(&figure::time(Some(self.first.at_ns)));
        format!(
            "<line x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"0\" y2=\"{}\" class=\"mark\"/>\n<text x=\"{:.1}\" y=\"12\">first \
             difference, {time}</text>\n{}",
            bottom - 14.0,
            at + 4.0,
            ends.concat()
        )
    }
}

/// A colour for each task, in order of appearance.
fn colours(sides: [&Vec<Slice>; 2]) -> Vec<(String, String)> {
    let mut colours: Vec<(String, String)> = Vec::new();
    for slice in sides.into_iter().flatten() {
        let name = super::sentence::task(&slice.task);
        if !colours.iter().any(|(it, _)| *it == name) {
            colours.push((name, colour::of(colours.len())));
        }
    }
    colours
}

/// The tasks with their colours, from `top` on, and the height of the drawing with them.
fn names(colours: &[(String, String)], top: f64) -> (String, f64) {
    let more = colours.len().saturating_sub(NAMED);
    let more = (more > 0).then(|| format!("and {more} more"));
    let names: Vec<String> = colours.iter().take(NAMED).map(|(name, _)| name.clone()).chain(more).collect();
    let swatch = |index: usize, x, y| {
        let fill = colours.get(index).filter(|_| index < NAMED).map_or("none", |(_, colour)| colour);
        format!("<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"16\" height=\"13\" fill=\"{fill}\"/>")
    };
    legend(&names, swatch, (MARGIN + WIDTH, top))
}
