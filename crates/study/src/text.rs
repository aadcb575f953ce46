//! A study's results as text for a terminal.

use crate::words::{counts, published};
use crate::{Findings, Row, Sensitivity, Study, Verdict};
use goodness_report::text::Extent;
use goodness_report::{figure, table};
use std::fmt::Write;

/// Width from which intervals and tolerances are shown; the page and the JSON always contain them.
const WIDE: u16 = 120;

/// Most changed verdicts shown; the page and the JSON contain all.
const FLIPS_SHOWN: usize = 8;

/// Lines of a screen for the answer and its rows, without those for files, the hint and the next command.
const LINES: usize = 19;

/// A study's results for a terminal of `width` columns: the answer and the rows that fit on a screen, on request
/// everything.
#[must_use]
pub fn render(
    study: &Study,
    findings: &Findings,
    sensitivity: Option<&Sensitivity>,
    extent: Extent,
    width: u16,
) -> String {
    let wrapped = |text: &str| table::wrapped("", text, width, "") + "\n";
    let answer = format!("{}: {}. {}", study.name, counts(&findings.rows), findings.conclusion);
    if extent == Extent::Ranking {
        return wrapped(&format!("{}: {}.", study.name, counts(&findings.rows)));
    }
    let mut out = wrapped(&answer);
    if extent == Extent::All {
        out += &format!("\n{}{}", wrapped(study.question), wrapped(study.source));
    }
    if extent == Extent::All {
        let all: Vec<&Row> = findings.rows.iter().collect();
        let _ = writeln!(out, "\n{}", rows(&all, width));
        notes(findings, sensitivity, width, &mut out);
        return out;
    }
    let sorted = worst_first(&findings.rows);
    let room = LINES.saturating_sub(out.lines().count());
    let fits = |count: &usize| rows(&sorted[..*count], width).lines().count() <= room;
    let count = (1..=sorted.len()).rev().find(fits).unwrap_or(0);
    let shown = if count == sorted.len() { findings.rows.iter().collect() } else { sorted[..count].to_vec() };
    let _ = writeln!(out, "\n{}", rows(&shown, width));
    let _ = match count == sorted.len() {
        true => writeln!(out, "Reasons, and what the verdicts depend on: -v"),
        false => writeln!(out, "{count} of {} rows, the farthest off first. All, with reasons: -v", sorted.len()),
    };
    out
}

/// The rows, those that were not reproduced first.
fn worst_first(rows: &[Row]) -> Vec<&Row> {
    let order = [Verdict::NotReproduced, Verdict::Direction, Verdict::Reproduced, Verdict::Unpublished];
    let mut sorted: Vec<&Row> = rows.iter().collect();
    sorted.sort_by_key(|row| order.iter().position(|it| *it == row.verdict));
    sorted
}

fn rows(shown: &[&Row], width: u16) -> String {
    let mut rows = table::new(width);
    let all = ["quantity", "published", "simulated", "verdict", "95 % interval", "tolerance"];
    let columns = if width >= WIDE { all.len() } else { all.len() - 2 };
    rows.set_header(&all[..columns]);
    table::align_right(&mut rows, [1, 2]);
    for row in shown {
        let cells = [
            row.quantity.clone(),
            published(row),
            figure::show(row.simulated, &row.unit),
            row.verdict.words().to_string(),
            row.ci95.map_or_else(String::new, |ci| figure::interval(Some(ci), &row.unit)),
            row.tolerance.clone().unwrap_or_default(),
        ];
        rows.add_row(&cells[..columns]);
    }
    rows.to_string()
}

/// Reasons of the rows, and the sensitivity.
fn notes(findings: &Findings, sensitivity: Option<&Sensitivity>, width: u16, out: &mut String) {
    for row in findings.rows.iter().filter(|row| row.verdict != Verdict::Reproduced && !row.note.is_empty()) {
        let _ = writeln!(out, "{}", table::wrapped("", &format!("{}: {}", row.quantity, row.note), width, "  "));
    }
    let Some(found) = sensitivity else { return };
    let _ = writeln!(
        out,
        "\n{} other points of the inferred parameters: {} verdicts held at all of them.",
        found.points, found.steady
    );
    for flip in found.flips.iter().take(FLIPS_SHOWN) {
        let _ = writeln!(out, "  {}: {} becomes {} at {}", flip.quantity, flip.from.words(), flip.to.words(), flip.at);
    }
    if found.flips.len() > FLIPS_SHOWN {
        let _ = writeln!(out, "  and {} more, on the page", found.flips.len() - FLIPS_SHOWN);
    }
}
