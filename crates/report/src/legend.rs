//! Legends of drawings: swatches with names, in as many rows as they need.

use crate::chart::escape;
use std::fmt::Write;

/// Width of a letter, rounded up, in px.
pub(crate) const LETTER: f64 = 6.5;

/// A legend `width` px wide from `top` on, and the height of the drawing with it. `swatch` draws that of an entry at a
/// place, 16 px wide and 13 px high.
pub(crate) fn legend(
    names: &[String],
    swatch: impl Fn(usize, f64, f64) -> String,
    (width, top): (f64, f64),
) -> (String, f64) {
    let (mut x, mut y, mut svg) = (0.0, top, String::new());
    for (index, name) in names.iter().enumerate() {
        let own = 36.0 + LETTER * name.chars().count() as f64;
        if x > 0.0 && x + own > width {
            (x, y) = (0.0, y + 20.0);
        }
        let swatch = swatch(index, x + 1.0, y);
        let _ = writeln!(svg, "{swatch}<text x=\"{:.1}\" y=\"{:.1}\">{}</text>", x + 23.0, y + 11.0, escape(name));
        x += own;
    }
    (svg, y + 20.0)
}

#[test]
fn a_legend_that_is_too_wide_has_more_rows() {
    let names = vec!["<i>".to_string(); 30];
    let (svg, height) = legend(&names, |_, _, _| String::new(), (200.0, 10.0));
    assert!(svg.contains("&lt;i&gt;") && !svg.contains("<i>"));
    assert_eq!(height, 10.0 + 20.0 * 10.0, "three in a row");
}
