//! Words for rows that text and page share.

use crate::{Row, Verdict};
use goodness_report::figure;

/// The published number, or the direction stated.
#[must_use]
pub fn published(row: &Row) -> String {
    match (&row.says, row.published) {
        (_, Some(value)) => figure::show(Some(value), &row.unit),
        (Some(says), None) => says.clone(),
        (None, None) => figure::NOT_MEASURED.into(),
    }
}

/// The number of rows by verdict: `41 of 44 reproduced, 2 direction, 1 not reproduced`.
pub(crate) fn counts(rows: &[Row]) -> String {
    let count = |verdict| rows.iter().filter(|row| row.verdict == verdict).count();
    let compared = rows.len() - count(Verdict::Unpublished);
    let others = [Verdict::Direction, Verdict::NotReproduced, Verdict::Unpublished];
    let others = others.into_iter().filter(|it| count(*it) > 0).map(|it| format!("{} {}", count(it), it.words()));
    let first = format!("{} of {compared} numbers reproduced", count(Verdict::Reproduced));
    std::iter::once(first).chain(others).collect::<Vec<_>>().join(", ")
}
