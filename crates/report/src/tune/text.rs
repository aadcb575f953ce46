//! A tuning for the terminal: the answer, the finalists, the knobs, what it cost, and the commands.

use super::{Answer, Candidate, Finalist, Kept, Knob, Score, Tuning};
use crate::figure::{self, printable};
use crate::table::{add_settings, align_right, keep_whole_with_heads, new, trimmed, wrapped};
use goodness_observe::title;
use std::fmt::Write;

/// Knobs shown; pages and JSON have all.
const KNOBS_SHOWN: usize = 4;
/// Remarks shown where no detail is asked for.
const NOTES_SHOWN: usize = 1;
/// Candidates shown in detail.
const CANDIDATES_SHOWN: usize = 40;

/// The result as text, `width` columns wide; with every candidate if `is_detailed`.
#[must_use]
pub fn render(tuning: &Tuning, width: u16, is_detailed: bool) -> String {
    let parts = [
        wrapped("", &tuning.worded(), width, ""),
        finalists(tuning, width),
        knobs(tuning, width),
        wrapped("", &cost(tuning), width, ""),
        if is_detailed { candidates(tuning, width) } else { String::new() },
        notes(tuning, width, is_detailed),
        tuning.commands(),
    ];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n") + "\n"
}

impl Tuning {
    /// The commands that apply the best setting and take it back, a line each. Not to be wrapped.
    #[must_use]
    pub fn commands(&self) -> String {
        let Some(application) = self.application.as_ref().filter(|_| self.answer == Answer::Found) else {
            return String::new();
        };
        let lines = |head: &'static str, all: &[String]| -> Vec<String> {
            all.iter().map(|command| format!("{head}{}", printable(command))).collect()
        };
        [lines("Apply:  ", &application.apply), lines("Undo:   ", &application.undo)].concat().join("\n")
    }

    /// The way to confirm the answer: the command, if `file` has the race, or the reason that there is none.
    #[must_use]
    pub fn confirmation(&self, file: Option<&str>, width: u16) -> Option<String> {
        let race = self.race.as_ref()?;
        Some(match (&race.why_not, file) {
            (Some(why), _) => wrapped("Confirm: ", &format!("by hand; {why}"), width, "  "),
            (None, Some(file)) => format!("Confirm: sudo goodness race {file}"),
            (None, None) => "Confirm: add --race FILE.toml, then goodness race FILE.toml".into(),
        })
    }

    /// The default in tables: `default (eevdf:kernel=6.18)`.
    #[must_use]
    pub fn default_label(&self) -> String {
        format!("default ({})", printable(&self.default))
    }

    /// The ratio and the verdict of each guard of a finalist: `kept`, `kept*`, `open`, `broken`.
    #[must_use]
    pub fn guard_word(kept: Kept) -> &'static str {
        match kept {
            Kept::Yes => "kept",
            Kept::InSimulation => "kept*",
            Kept::Open => "open",
            Kept::No => "broken",
        }
    }
}

fn finalists(tuning: &Tuning, width: u16) -> String {
    if tuning.finalists.is_empty() {
        return String::new();
    }
    let mut table = new(width);
    let metric = title(&tuning.objective.metric);
    let heads = ["setting", metric.as_str(), "ratio, 95 % interval", "result"].map(String::from);
    table.set_header(heads.into_iter().chain(tuning.guards.iter().map(|guard| printable(guard))));
    let value = |score: &Score| figure::show(score.value, &tuning.objective.unit);
    let row = |it: &Finalist| {
        let ratio = it.ratio_ci95.map_or_else(String::new, |ends| format!(" {}", figure::ratio_interval(ends)));
        let row = [printable(&it.arm), value(&it.score), figure::ratio(it.ratio) + &ratio, it.standing.name().into()];
        let guards = it.guards.iter().map(|kept| Tuning::guard_word(*kept).to_string());
        row.into_iter().chain(guards).collect()
    };
    let reference = vec!["default".to_string(), value(&tuning.reference), String::new(), "reference".into()];
    add_settings(&mut table, tuning.finalists.iter().map(row).chain([reference]).collect(), width);
    align_right(&mut table, [1]);
    keep_whole_with_heads(&mut table, &[1, 2, 3], width / 3);
    let mut text = trimmed(&table);
    let files: Vec<&str> = tuning.held_out.iter().map(|path| path.rsplit('/').next().unwrap_or(path)).collect();
    let on = format!("{}, on {}", printable(&tuning.default), printable(&files.join(", ")));
    text += &format!("\n{}", wrapped("default: ", &on, width, "  "));
    if tuning.finalists.iter().any(|it| it.guards.contains(&Kept::InSimulation)) {
        text += "\n* kept in simulation; the replay's error exceeds the bound, or is not known";
    }
    text
}

fn knobs(tuning: &Tuning, width: u16) -> String {
    let mut lines: Vec<String> =
        tuning.knobs.iter().take(KNOBS_SHOWN).map(|it| line(it, tuning.error, width)).collect();
    if let Some(more) = tuning.knobs.len().checked_sub(KNOBS_SHOWN).filter(|more| *more > 0) {
        lines.push(format!("{more} more knobs in the JSON and the page"));
    }
    lines.join("\n")
}

/// `base_slice: 2.7× between the best and the worst values; 0.98× at 300us..1ms, 1.4× at 1ms..3.5ms`.
fn line(knob: &Knob, error: Option<f64>, width: u16) -> String {
    let at = knob.levels.iter().filter(|it| it.ratio.is_some());
    let levels: Vec<String> =
        at.map(|it| format!("{} at {}", figure::ratio(it.ratio), printable(&it.values))).collect();
    let levels = if levels.len() > 1 { format!("; {}", levels.join(", ")) } else { String::new() };
    wrapped("", &format!("{}: {}{levels}", printable(&knob.name), knob.worded(error)), width, "  ")
}

/// Runs spent, and those of a grid.
fn cost(tuning: &Tuning) -> String {
    let runs = &tuning.runs;
    let (settings, grid) = (runs.grid_settings, runs.grid);
    let verified = match runs.verified {
        0 => String::new(),
        some => format!(", {some} to measure the replay's error"),
    };
    format!(
        "{} runs: {} to search (a grid of {settings} settings takes {grid}), {} held out{verified}.",
        runs.all(),
        runs.search,
        runs.held_out
    )
}

fn candidates(tuning: &Tuning, width: u16) -> String {
    let mut table = new(width);
    table.set_header(["setting", "round", "runs", "ratio, 95 %", "dropped"]);
    let row = |it: &Candidate| {
        let ratio = it.ratio_ci95.map_or_else(String::new, |ends| format!(" {}", figure::ratio_interval(ends)));
        let ratio = figure::ratio(it.ratio) + &ratio;
        let why = it.dropped.map_or("", |why| why.name());
        vec![printable(&it.arm), it.round.to_string(), it.runs.to_string(), ratio, why.into()]
    };
    add_settings(&mut table, tuning.candidates.iter().take(CANDIDATES_SHOWN).map(row).collect(), width);
    align_right(&mut table, [1, 2]);
    let mut text = format!("Candidates of the search\n{}", trimmed(&table));
    if let Some(more) = tuning.candidates.len().checked_sub(CANDIDATES_SHOWN).filter(|more| *more > 0) {
        let _ = write!(text, "\n{more} more candidates in the JSON");
    }
    text
}

/// Remarks of the runs: all in detail, else the first ones.
fn notes(tuning: &Tuning, width: u16, is_detailed: bool) -> String {
    let shown = if is_detailed { tuning.notes.len() } else { NOTES_SHOWN };
    let lines = tuning.notes.iter().take(shown).map(|note| wrapped("Note: ", &printable(note), width, "  "));
    let more = tuning.notes.len().checked_sub(shown).filter(|more| *more > 0);
    lines.chain(more.map(|more| format!("{more} more notes with -v"))).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::super::tests::{found, nothing};
    use super::*;

    #[test]
    fn the_answer_comes_first_and_all_of_it_fits_a_terminal() {
        for tuning in [found(), nothing()] {
            let text = render(&tuning, 80, false);
            assert!(text.lines().count() <= 22, "{text}");
            let is_command = |line: &&str| line.starts_with("Apply:") || line.starts_with("Undo:");
            let wide = text.lines().filter(|line| !is_command(line)).find(|line| line.chars().count() > 80);
            assert_eq!(wide, None, "{text}");
        }
        let text = render(&found(), 80, false);
        let first = text.lines().next().unwrap();
        assert!(
            first.starts_with("base_slice=700us cuts p99 wake-up latency from 14 ms (eevdf:base_slice=3ms) to"),
            "{text}"
        );
        assert!(text.contains("Apply:  echo") && text.contains("redis.nice: no difference"), "{text}");
    }

    #[test]
    fn what_is_0_by_default_cannot_be_lowered() {
        let mut tuning = nothing();
        tuning.reference.value = Some(0.0);
        let why = "p99 wake-up latency is 0 ns with it, which nothing can lower; name another metric";
        assert!(tuning.worded().contains(why), "{}", tuning.worded());
        assert!(!nothing().worded().contains("nothing can lower"));
    }

    #[test]
    fn where_nothing_is_better_no_command_is_shown() {
        let text = render(&nothing(), 80, false);
        assert!(text.starts_with("Keep the default, "), "{text}");
        assert!(!text.contains("Apply:"), "{text}");
        assert!(
            text.contains("base_slice: not told apart, within the error of the prediction (12 %); 0.60× at"),
            "{text}"
        );
    }

    #[test]
    fn in_detail_every_candidate_has_its_reason() {
        let text = render(&found(), 80, true);
        assert!(text.contains("Candidates of the search") && text.contains("gain too small"), "{text}");
    }
}
