//! A summary for a terminal: the answer, main effects, and the phase diagram in letters.

use crate::phase::{Diagram, Place};
use crate::summary::{Factor, Level, Summary};
use goodness_report::change::{change, change_interval};
use goodness_report::figure;
use goodness_report::table::{align_right, new, wrapped};
use std::collections::HashMap;
use std::fmt::Write;

/// Most rows and columns of a diagram in letters; pages have larger ones.
const LETTERS_MAX: (usize, usize) = (10, 40);
/// Mark of an undecided place.
const UNDECIDED: char = '?';

impl Summary {
    /// The answer in one sentence.
    #[must_use]
    pub fn conclusion(&self) -> String {
        if self.computed < self.cells {
            let missing = self.cells - self.computed;
            return format!("{missing} of {} cells are missing; {}", self.cells, self.answer());
        }
        let answer = self.answer();
        let mut letters = answer.chars();
        letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
    }

    fn answer(&self) -> String {
        let Some(phase) = &self.phase else {
            return format!("{} has no places to compare arms at.", self.metric);
        };
        let (wins, undecided) = phase.counts(&self.arms);
        let mut ranked: Vec<(usize, &String)> =
            wins.into_iter().zip(&self.arms).filter(|(wins, _)| *wins > 0).collect();
        ranked.sort_by_key(|(wins, _)| std::cmp::Reverse(*wins));
        let places = phase.places.len();
        let of = |(wins, arm): &(usize, &String)| format!("{} wins at {wins}", figure::printable(arm));
        let parts: Vec<String> = ranked.iter().map(of).chain([format!("{undecided} undecided")]).collect();
        format!("of {places} places, {} ({}, {} is better).", parts.join(", "), self.metric, self.better)
    }

    /// The summary as text, `width` columns wide.
    #[must_use]
    pub fn text(&self, width: u16) -> String {
        let mut text = wrapped("", &self.conclusion(), width, "") + "\n";
        if self.unmeasured > 0 {
            let _ = writeln!(text, "{} cells have no {}: too few observations.", self.unmeasured, self.metric);
        }
        if !self.effects.is_empty() {
            let mut table = new(width);
            table.set_header(["factor", "largest effect", "against", "change", "95 % interval"]);
            for factor in &self.effects {
                let Some(level) = largest(factor) else { continue };
                let interval = level.ci95.map_or_else(String::new, |it| change_interval(it, "runs"));
                table.add_row([
                    figure::name(&factor.factor),
                    figure::name(&level.level),
                    figure::name(&factor.reference),
                    level.ratio.map_or_else(String::new, change),
                    interval,
                ]);
            }
            align_right(&mut table, [3, 4]);
            let _ = writeln!(text, "\n{table}");
        }
        if let Some(phase) = &self.phase {
            text.push_str(&self.letters(phase, width));
        }
        text
    }

    fn letters(&self, phase: &Diagram, width: u16) -> String {
        let (columns, rows) = phase.levels();
        if rows.len() > LETTERS_MAX.0 || columns.len() > LETTERS_MAX.1 {
            return "\nThe phase diagram is too large for a terminal; write a page.\n".into();
        }
        let places: HashMap<(&str, &str), &Place> =
            phase.places.iter().map(|it| ((it.x.as_str(), it.y.as_deref().unwrap_or_default()), it)).collect();
        let head = phase.y.as_deref().unwrap_or_default();
        let margin = rows.iter().map(String::len).chain([head.len()]).max().unwrap_or_default();
        let ends = [columns.first(), columns.last()].map(|it| it.map_or("", String::as_str));
        let mut text = format!("\n{head:margin$} | {}: {} to {}\n", phase.x, ends[0], ends[1]);
        for row in &rows {
            let letter = |column: &String| match places.get(&(column.as_str(), row.as_str())) {
                None => ' ',
                Some(place) => place.winner.as_ref().map_or(UNDECIDED, |winner| self.letter(winner)),
            };
            let letters: Vec<String> = columns.iter().map(|column| letter(column).to_string()).collect();
            let _ = writeln!(text, "{row:margin$} | {}", letters.join(" "));
        }
        let won = |arm: &&String| phase.places.iter().any(|place| place.winner.as_ref() == Some(arm));
        let named = self.arms.iter().filter(won).map(|arm| format!("{} {}", self.letter(arm), figure::printable(arm)));
        let legend: Vec<String> = named.chain([format!("{UNDECIDED} undecided (95 %, Holm)")]).collect();
        text + &wrapped("", &legend.join(", "), width, "") + "\n"
    }

    /// The letter of an arm.
    pub(crate) fn letter(&self, arm: &str) -> char {
        let place = self.arms.iter().position(|it| it == arm).unwrap_or(26);
        if place < 26 { (b'A' + place as u8) as char } else { '*' }
    }
}

/// The level that differs most from the first.
fn largest(factor: &Factor) -> Option<&Level> {
    let size = |level: &Level| level.ratio.filter(|it| *it > 0.0).map_or(0.0, |ratio| ratio.ln().abs());
    factor.levels.iter().filter(|it| it.ratio.is_some()).max_by(|a, b| size(a).total_cmp(&size(b)))
}
