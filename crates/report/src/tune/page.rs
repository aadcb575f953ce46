//! A tuning as one self-contained HTML page: the answer, the finalists, a chart for each knob, every candidate.

use super::{Answer, Candidate, Finalist, Tuning};
use crate::change::{change, change_interval};
use crate::chart::{Chart, Line, Point};
use crate::figure;
use crate::shell::{self, Cell, Mood, Shell, escape};

/// The page; `command` makes it again.
#[must_use]
pub fn render(tuning: &Tuning, command: &str) -> String {
    let runs = &tuning.runs;
    let lead = format!(
        "{} runs: {} to search, {} held out, {} to measure the error of the replay. A grid of {} settings takes {} \
         runs.",
        runs.all(),
        runs.search,
        runs.held_out,
        runs.verified,
        runs.grid_settings,
        runs.grid
    );
    let mut page = Shell::new("tune", &format!("Tuning {}", tuning.searched.join(", ")), command)
        .headline(&tuning.worded(), mood(tuning))
        .lead(&lead);
    let commands = tuning.commands();
    if !commands.is_empty() {
        page.section("What to do", &format!("<pre class=\"commands\" tabindex=\"0\">{}</pre>", escape(&commands)));
    }
    if !tuning.finalists.is_empty() {
        page.section("Finalists, on held-out runs", &finalists(tuning));
    }
    knobs(tuning, &mut page);
    page.folded(&format!("All {} candidates of the search", tuning.candidates.len()), &candidates(tuning));
    page.finish()
}

fn mood(tuning: &Tuning) -> Mood {
    match tuning.answer {
        _ if tuning.is_untrusted() => Mood::Untrusted,
        Answer::Found | Answer::Nothing => Mood::Sure,
        Answer::Undecided | Answer::Stopped => Mood::Open,
    }
}

fn finalists(tuning: &Tuning) -> String {
    let unit = &tuning.objective.unit;
    let row = |it: &Finalist| {
        let class = match it.standing.name() {
            "better" => "verdict better",
            "worse" => "verdict worse",
            _ => "verdict",
        };
        let kept = it.guards.iter().map(|kept| Cell::text(Tuning::guard_word(*kept)));
        [
            Cell::text(&it.arm),
            Cell::of_class(it.standing.name(), class),
            Cell::number(&figure::show(it.score.value, unit)),
            Cell::number(&figure::interval(it.score.ci95, unit)),
            Cell::number(&it.ratio.map_or_else(String::new, change)),
            Cell::number(&it.ratio_ci95.map_or_else(String::new, |ends| change_interval(ends, "runs"))),
        ]
        .into_iter()
        .chain(kept)
        .collect::<Vec<_>>()
    };
    let reference = vec![
        Cell::text(&tuning.default_label()),
        Cell::of_class("reference", "verdict"),
        Cell::number(&figure::show(tuning.reference.value, unit)),
        Cell::number(&figure::interval(tuning.reference.ci95, unit)),
        Cell::default(),
        Cell::default(),
    ];
    let width = reference.len() + tuning.guards.len();
    let mut rows: Vec<Vec<Cell>> = tuning.finalists.iter().map(row).chain([reference]).collect();
    rows.iter_mut().for_each(|row| row.resize(width, Cell::default()));
    let fixed = ["setting", "result", "mean", "95 % interval", "change", "95 % interval"];
    let heads: Vec<&str> = fixed.into_iter().chain(tuning.guards.iter().map(String::as_str)).collect();
    shell::table(&figure::titled(&tuning.objective.metric), &heads, &rows)
}

fn knobs(tuning: &Tuning, page: &mut Shell) {
    for (place, knob) in tuning.knobs.iter().enumerate() {
        let row =
            |it: &super::Level| vec![Cell::text(&it.values), Cell::number(&it.ratio.map_or_else(String::new, change))];
        let rows: Vec<Vec<Cell>> = knob.levels.iter().map(row).collect();
        let effect = format!("The effect of its values: {}.", knob.worded(tuning.error));
        let drawn = chart_of(tuning, place).map(|chart| shell::chart(&chart)).unwrap_or_default();
        let table = shell::table(
            &format!("Values of {} against the default, in the search", knob.name),
            &["value", "change"],
            &rows,
        );
        page.section(&format!("Knob {}", knob.name), &(shell::paragraph(&effect) + &table + &drawn));
    }
}

/// The candidates' ratios to the default by the value of a knob; `None` if its values are no numbers.
fn chart_of(tuning: &Tuning, place: usize) -> Option<Chart> {
    let number = |text: &str| {
        let span = || goodness_core::Span::parse(text).ok().map(|span| (span.0 as f64 / 1e6, true));
        text.parse::<f64>().ok().map(|number| (number, false)).or_else(span)
    };
    let mut points = Vec::new();
    let mut is_time = false;
    for it in tuning.candidates.iter().skip(1) {
        let Some(text) = it.values.get(place)?.as_deref() else { continue };
        let (x, time) = number(text)?;
        is_time = time;
        points.extend(it.ratio.map(|y| Point { x, y, ci95: it.ratio_ci95 }));
    }
    points.sort_by(|a, b| a.x.total_cmp(&b.x));
    let (low, high) = (points.first()?.x, points.last()?.x);
    let name = &tuning.knobs[place].name;
    Some(Chart {
        title: format!("{} over the default's, by {name}", tuning.objective.metric),
        x: if is_time { format!("{name} (ms)") } else { name.clone() },
        y: "ratio".into(),
        doubling: low > 0.0 && high / low >= 8.0,
        lines: vec![Line { name: "candidates".into(), published: false, points }],
    })
}

fn candidates(tuning: &Tuning) -> String {
    let row = |it: &Candidate| {
        vec![
            Cell::text(&it.arm),
            Cell::number(&it.round.to_string()),
            Cell::number(&it.runs.to_string()),
            Cell::number(&it.ratio.map_or_else(String::new, change)),
            Cell::number(&it.ratio_ci95.map_or_else(String::new, |ends| change_interval(ends, "runs"))),
            Cell::text(it.dropped.map_or("", |why| why.name())),
        ]
    };
    let rows: Vec<Vec<Cell>> = tuning.candidates.iter().map(row).collect();
    let heads = ["setting", "round", "runs", "change", "95 % interval", "dropped"];
    shell::table("Candidates against the default, in the search", &heads, &rows)
}

#[cfg(test)]
mod tests {
    use super::super::tests::found;
    use super::*;

    #[test]
    fn the_page_has_a_chart_of_every_number_and_lets_no_markup_in() {
        let mut tuning = found();
        tuning.searched = vec!["<script>alert(1)</script>".into()];
        let page = render(&tuning, "goodness tune mixed --over base_slice=0.3ms..12ms");
        assert!(!page.contains("<script"), "{page}");
        assert_eq!(page.matches("<svg").count(), 2, "base_slice and redis.nice");
        assert!(
            page.contains("Apply:")
                && page.contains("conclusion sure")
                && page.contains("better")
                && !page.contains("NaN"),
            "{page}"
        );
        for forbidden in ["src=", "@import", "url(", "https://"] {
            assert!(!page.contains(forbidden), "the page holds {forbidden}");
        }
    }
}
