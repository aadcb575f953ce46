//! A study's results as text for a terminal.

use crate::html::published;
use crate::{Findings, Sensitivity, Study, Verdict};
use goodness_report::{figure, table};
use std::fmt::Write;

/// Width from which intervals and tolerances are shown; the page and the JSON always contain them.
const WIDE: u16 = 120;

/// Most changed verdicts shown; the page and the JSON contain all.
const FLIPS_SHOWN: usize = 8;

/// A study's results for a terminal of `width` columns.
#[must_use]
pub fn render(study: &Study, findings: &Findings, sensitivity: Option<&Sensitivity>, width: u16) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "{}: {}\n{}\n", study.name, study.question, study.source);
    let mut rows = table::new(width);
    let is_wide = width >= WIDE;
    let all = ["quantity", "published", "simulated", "verdict", "95 % interval", "tolerance"];
    let shown = if is_wide { all.len() } else { all.len() - 2 };
    rows.set_header(&all[..shown]);
    table::align_right(&mut rows, [1, 2]);
    for row in &findings.rows {
        let cells = [
            row.quantity.clone(),
            published(row),
            figure::show(row.simulated, &row.unit),
            row.verdict.words().to_string(),
            row.ci95.map_or_else(String::new, |ci| figure::interval(Some(ci), &row.unit)),
            row.tolerance.clone().unwrap_or_default(),
        ];
        rows.add_row(&cells[..shown]);
    }
    let _ = writeln!(out, "{rows}\n");
    for row in findings.rows.iter().filter(|row| row.verdict != Verdict::Reproduced && !row.note.is_empty()) {
        let _ = writeln!(out, "{}: {}", row.quantity, row.note);
    }
    let _ = writeln!(out, "\n{}", findings.conclusion);
    if let Some(found) = sensitivity {
        let _ = writeln!(
            out,
            "\n{} other points of the inferred parameters: {} verdicts held at all of them.",
            found.points, found.steady
        );
        for flip in found.flips.iter().take(FLIPS_SHOWN) {
            let _ =
                writeln!(out, "  {}: {} becomes {} at {}", flip.quantity, flip.from.words(), flip.to.words(), flip.at);
        }
        if found.flips.len() > FLIPS_SHOWN {
            let _ = writeln!(out, "  and {} more, on the page", found.flips.len() - FLIPS_SHOWN);
        }
    }
    out
}
