//! Drawings as SVG files.

use super::{Anchor, Colour, Drawing, Part, Shape, corners};
use crate::chart::escape;
use std::fmt::Write;

pub(super) fn render(drawing: &Drawing) -> String {
    let Drawing { title, width, height, parts } = drawing;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}pt\" height=\"{height}pt\" viewBox=\"0 0 {width} \
         {height}\" font-family=\"Helvetica, Arial, sans-serif\">\n<title>{}</title>\n<rect width=\"{width}\" \
         height=\"{height}\" fill=\"#fff\"/>\n",
        escape(title)
    );
    parts.iter().for_each(|part| add(part, &mut svg));
    svg + "</svg>\n"
}

fn add(part: &Part, svg: &mut String) {
    let _ = match part {
        Part::Line { points, colour, width, dashes } => {
            let dashes: Vec<String> = dashes.iter().map(ToString::to_string).collect();
            let dashes =
                if dashes.is_empty() { String::new() } else { format!(" stroke-dasharray=\"{}\"", dashes.join(" ")) };
            let (path, colour) = (path(points), hex(*colour));
            writeln!(svg, "<path d=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"{width}\"{dashes}/>")
        }
        Part::Mark { at, shape, colour, radius } => mark(*at, *shape, &hex(*colour), *radius, svg),
        Part::Text { at: [x, y], text, size, anchor, is_upright } => {
            let anchor = match anchor {
                Anchor::Start => "start",
                Anchor::Middle => "middle",
                Anchor::End => "end",
            };
            let turn = if *is_upright { format!(" transform=\"rotate(-90 {x:.2} {y:.2})\"") } else { String::new() };
            let text = escape(text);
            writeln!(
                svg,
                "<text x=\"{x:.2}\" y=\"{y:.2}\" font-size=\"{size}\" text-anchor=\"{anchor}\"{turn}>{text}</text>"
            )
        }
    };
}

fn mark(at: [f32; 2], shape: Shape, colour: &str, radius: f32, svg: &mut String) -> std::fmt::Result {
    match (corners(shape, at, radius), shape) {
        (Some(corners), Shape::Cross) => {
            let (one, other) = (path(&corners[..2]), path(&corners[2..]));
            writeln!(svg, "<path d=\"{one}{other}\" stroke=\"{colour}\" stroke-width=\"1.5\"/>")
        }
        (Some(corners), _) => writeln!(svg, "<path d=\"{}Z\" fill=\"{colour}\"/>", path(&corners)),
        (None, _) => {
            writeln!(svg, "<circle cx=\"{:.2}\" cy=\"{:.2}\" r=\"{radius}\" fill=\"{colour}\"/>", at[0], at[1])
        }
    }
}

fn path(points: &[[f32; 2]]) -> String {
    let places: Vec<String> = points.iter().map(|[x, y]| format!("{x:.2} {y:.2}")).collect();
    format!("M{}", places.join("L"))
}

fn hex(Colour(red, green, blue): Colour) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}
