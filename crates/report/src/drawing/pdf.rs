//! Drawings as PDF files.

use super::{Anchor, Colour, Drawing, Part, Shape, corners, helvetica};
use flate2::Compression;
use flate2::write::ZlibEncoder;
use pdf_writer::types::LineCapStyle;
use pdf_writer::{Content, Filter, Finish, Name, Pdf, Rect, Ref, Str, TextStr};
use std::io::Write;

const CATALOG: Ref = Ref::new(1);
const PAGES: Ref = Ref::new(2);
const PAGE: Ref = Ref::new(3);
const FONT: Ref = Ref::new(4);
const CONTENT: Ref = Ref::new(5);
const INFO: Ref = Ref::new(6);
const FONT_NAME: Name = Name(b"F");

/// Distance of a circle's control points from its corners, as a share of the radius.
const ROUND: f32 = 0.5523;

pub(super) fn render(drawing: &Drawing) -> Vec<u8> {
    let mut pdf = Pdf::new();
    pdf.catalog(CATALOG).pages(PAGES);
    pdf.pages(PAGES).kids([PAGE]).count(1);
    let mut page = pdf.page(PAGE);
    page.media_box(Rect::new(0.0, 0.0, drawing.width, drawing.height)).parent(PAGES).contents(CONTENT);
    page.resources().fonts().pair(FONT_NAME, FONT);
    page.finish();
    pdf.type1_font(FONT).base_font(Name(b"Helvetica")).encoding_predefined(Name(b"WinAnsiEncoding"));
    let mut content = Content::new();
    drawing.parts.iter().for_each(|part| add(part, drawing.height, &mut content));
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::best());
    packed.write_all(&content.finish()).expect("memory takes everything");
    pdf.stream(CONTENT, &packed.finish().expect("memory takes everything")).filter(Filter::FlateDecode);
    pdf.document_info(INFO).title(TextStr(&drawing.title)).creator(TextStr("goodness"));
    pdf.finish()
}

/// Adds a part. PDF counts y from the bottom of a page that is `height` high.
fn add(part: &Part, height: f32, content: &mut Content) {
    match part {
        Part::Line { points, colour, width, dashes } => {
            stroke(*colour, content);
            content.set_line_width(*width).set_line_cap(LineCapStyle::ButtCap);
            content.set_dash_pattern(dashes.iter().copied(), 0.0);
            path(points, height, content);
            content.stroke();
        }
        Part::Mark { at, shape, colour, radius } => mark(*at, *shape, *colour, *radius, height, content),
        Part::Text { at: [x, y], text, size, anchor, is_upright } => {
            let letters = helvetica::encoded(text);
            let back = match anchor {
                Anchor::Start => 0.0,
                Anchor::Middle => helvetica::width(&letters) * size / 2.0,
                Anchor::End => helvetica::width(&letters) * size,
            };
            fill(super::BLACK, content);
            content.begin_text().set_font(FONT_NAME, *size);
            match is_upright {
                false => content.set_text_matrix([1.0, 0.0, 0.0, 1.0, x - back, height - y]),
                true => content.set_text_matrix([0.0, 1.0, -1.0, 0.0, *x, height - y - back]),
            };
            content.show(Str(&letters)).end_text();
        }
    }
}

fn mark(at: [f32; 2], shape: Shape, colour: Colour, r: f32, height: f32, content: &mut Content) {
    stroke(colour, content);
    fill(colour, content);
    match (corners(shape, at, r), shape) {
        (Some(corners), Shape::Cross) => {
            content.set_line_width(1.5).set_dash_pattern([], 0.0);
            path(&corners[..2], height, content);
            path(&corners[2..], height, content);
            content.stroke();
        }
        (Some(corners), _) => {
            path(&corners, height, content);
            content.close_path().fill_nonzero();
        }
        (None, _) => {
            let ([x, y], k) = ([at[0], height - at[1]], r * ROUND);
            content.move_to(x + r, y);
            content.cubic_to(x + r, y + k, x + k, y + r, x, y + r).cubic_to(x - k, y + r, x - r, y + k, x - r, y);
            content.cubic_to(x - r, y - k, x - k, y - r, x, y - r).cubic_to(x + k, y - r, x + r, y - k, x + r, y);
            content.close_path().fill_nonzero();
        }
    }
}

fn path(points: &[[f32; 2]], height: f32, content: &mut Content) {
    for (place, [x, y]) in points.iter().enumerate() {
        match place {
            0 => content.move_to(*x, height - y),
            _ => content.line_to(*x, height - y),
        };
    }
}

fn stroke(Colour(red, green, blue): Colour, content: &mut Content) {
    let [red, green, blue] = [red, green, blue].map(|it| f32::from(it) / 255.0);
    content.set_stroke_rgb(red, green, blue);
}

fn fill(Colour(red, green, blue): Colour, content: &mut Content) {
    let [red, green, blue] = [red, green, blue].map(|it| f32::from(it) / 255.0);
    content.set_fill_rgb(red, green, blue);
}
