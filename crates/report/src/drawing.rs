//! Line drawings for print: lines, marks and text on a page, as SVG and PDF with the same coordinates.

#[cfg(test)]
mod grey;
mod helvetica;
mod pdf;
mod svg;

/// A colour: red, green and blue, 0 to 255.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Colour(pub u8, pub u8, pub u8);

/// Black.
pub const BLACK: Colour = Colour(0, 0, 0);
/// Grid lines.
pub const GRID: Colour = Colour(205, 205, 205);

/// A way to draw a series that stays distinct without colour: colour, dashes and mark.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Style {
    /// Colour of line and marks.
    pub colour: Colour,
    /// Lengths of dashes and gaps in points; empty for an unbroken line.
    pub dashes: &'static [f32],
    /// Shape of the marks.
    pub mark: Shape,
}

/// Shape of a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Filled circle.
    Circle,
    /// Filled square.
    Square,
    /// Filled triangle, point up.
    Triangle,
    /// Filled diamond.
    Diamond,
    /// Two crossed lines.
    Cross,
}

impl Style {
    /// The style of series `index`: colours of Okabe and Ito, which differ with colour blindness and in lightness. Two
    /// series have one style only from the 36th on.
    #[must_use]
    pub fn of(index: usize) -> Style {
        const COLOURS: [Colour; 7] = [
            Colour(0, 114, 178),
            Colour(213, 94, 0),
            Colour(0, 158, 115),
            BLACK,
            Colour(230, 159, 0),
            Colour(86, 180, 233),
            Colour(204, 121, 167),
        ];
        const DASHES: [&[f32]; 4] = [&[], &[6.0, 3.0], &[2.0, 2.0], &[8.0, 3.0, 2.0, 3.0]];
        const SHAPES: [Shape; 5] = [Shape::Circle, Shape::Square, Shape::Triangle, Shape::Diamond, Shape::Cross];
        Style { colour: COLOURS[index % 7], dashes: DASHES[index % 4], mark: SHAPES[index % 5] }
    }
}

/// The side of a text at which its place is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    /// The text begins there.
    Start,
    /// Its middle is there.
    Middle,
    /// It ends there.
    End,
}

/// One part of a drawing. Coordinates in points from the upper left corner.
#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    /// Connected lines.
    Line {
        /// Corners.
        points: Vec<[f32; 2]>,
        /// Colour.
        colour: Colour,
        /// Width.
        width: f32,
        /// As in [`Style::dashes`].
        dashes: &'static [f32],
    },
    /// A mark.
    Mark {
        /// Centre.
        at: [f32; 2],
        /// Shape.
        shape: Shape,
        /// Colour.
        colour: Colour,
        /// Half its width.
        radius: f32,
    },
    /// A line of text in Helvetica.
    Text {
        /// Place of its base line.
        at: [f32; 2],
        /// Text.
        text: String,
        /// Size of the letters.
        size: f32,
        /// Side that is at the place.
        anchor: Anchor,
        /// True if it runs upwards.
        is_upright: bool,
    },
}

/// A drawing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Drawing {
    /// Title, for programs that show one.
    pub title: String,
    /// Width in points of 1/72 inch.
    pub width: f32,
    /// Height in points.
    pub height: f32,
    /// Parts, the last on top.
    pub parts: Vec<Part>,
}

impl Drawing {
    /// The drawing as an SVG file: black on white, no scripts, no addresses to load from.
    #[must_use]
    pub fn svg(&self) -> String {
        svg::render(self)
    }

    /// The drawing as a PDF file of one page, with the standard font Helvetica. Equal drawings give equal bytes.
    #[must_use]
    pub fn pdf(&self) -> Vec<u8> {
        pdf::render(self)
    }

    /// Adds a line of one width and colour.
    pub fn line(&mut self, points: Vec<[f32; 2]>, colour: Colour, width: f32) {
        self.parts.push(Part::Line { points, colour, width, dashes: &[] });
    }

    /// Adds text of the ordinary size.
    pub fn text(&mut self, at: [f32; 2], text: impl Into<String>, anchor: Anchor) {
        self.parts.push(Part::Text { at, text: text.into(), size: 9.0, anchor, is_upright: false });
    }

    /// Adds a mark.
    pub fn mark(&mut self, at: [f32; 2], style: Style, radius: f32) {
        self.parts.push(Part::Mark { at, shape: style.mark, colour: style.colour, radius });
    }
}

/// The corners of a mark that is a polygon; `None` for a circle. A cross is two lines: the first two corners, and the
/// last two.
fn corners(shape: Shape, [x, y]: [f32; 2], r: f32) -> Option<Vec<[f32; 2]>> {
    match shape {
        Shape::Circle => None,
        Shape::Square => Some(vec![[x - r, y - r], [x + r, y - r], [x + r, y + r], [x - r, y + r]]),
        Shape::Triangle => Some(vec![[x, y - r], [x + r, y + r], [x - r, y + r]]),
        Shape::Diamond => Some(vec![[x, y - r], [x + r, y], [x, y + r], [x - r, y]]),
        Shape::Cross => Some(vec![[x - r, y - r], [x + r, y + r], [x - r, y + r], [x + r, y - r]]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    fn sample() -> Drawing {
        let mut drawing = Drawing { title: "a <b>".into(), width: 200.0, height: 100.0, ..Drawing::default() };
        drawing.line(vec![[0.0, 0.0], [200.0, 100.0]], BLACK, 1.0);
        drawing.text([100.0, 50.0], "12 µs – (x)", Anchor::End);
        for index in 0..5 {
            drawing.mark([10.0 * index as f32, 10.0], Style::of(index), 3.0);
        }
        drawing
    }

    #[test]
    fn an_svg_file_lets_no_markup_in_and_loads_nothing() {
        let svg = sample().svg();
        assert!(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""), "{svg}");
        assert!(svg.contains("a &lt;b&gt;") && !svg.contains("<b>"));
        assert_eq!(svg.matches("http").count(), 1, "the name space alone");
    }

    #[test]
    fn a_pdf_file_has_one_page_and_text_in_the_encoding_of_its_font() {
        let pdf = sample().pdf();
        let has = |bytes: &[u8]| pdf.windows(bytes.len()).any(|window| window == bytes);
        assert!(pdf.starts_with(b"%PDF-1.") && pdf.trim_ascii_end().ends_with(b"%%EOF"));
        assert!(has(b"/Count 1") && has(b"/Helvetica") && has(b"/WinAnsiEncoding"));
        let stream = pdf.windows(6).position(|window| window == b"stream").expect("a content stream") + 7;
        let mut content = Vec::new();
        flate2::read::ZlibDecoder::new(&pdf[stream..]).read_to_end(&mut content).unwrap();
        // Hexadecimal digits of "12 µs – (x)": one byte a letter.
        let shows = b"<313220B5732096202878 29>".iter().copied().filter(|it| *it != b' ').collect::<Vec<u8>>();
        assert!(content.windows(shows.len()).any(|it| it == shows), "{}", String::from_utf8_lossy(&content));
        assert_eq!(pdf, sample().pdf());
    }

    #[test]
    fn styles_differ_in_more_than_colour() {
        for a in 0..20 {
            for b in 0..a {
                let (a, b) = (Style::of(a), Style::of(b));
                assert!(a.mark != b.mark || a.dashes != b.dashes, "{a:?} {b:?}");
            }
        }
    }
}
