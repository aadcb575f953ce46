//! The findings of `goodness doctor`: commands that work here, commands that change the machine now, and leftovers of
//! killed commands.

use crate::doctor::{Finding, findings};
use comfy_table::{ColumnConstraint, Table};
use goodness_report::table;
use goodness_restore::Owner;
use serde::Serialize;
use std::fmt::Write;

/// Findings, and leftovers that were undone if asked for.
pub struct Examination {
    findings: Vec<Finding>,
    owners: Vec<Owner>,
    /// Stale journals, and what each says is to undo.
    stale: Vec<(String, Vec<String>)>,
    /// Leftovers that could not be undone, if undoing was tried.
    stuck: Option<Vec<String>>,
}

impl Examination {
    /// Examines this machine; with `restores`, undoes what killed commands have left.
    #[must_use]
    pub fn new(restores: bool) -> Examination {
        let stale = goodness_restore::find();
        Examination {
            findings: findings(),
            owners: goodness_restore::owners().into_iter().filter(|owner| !owner.resources.is_empty()).collect(),
            stale: stale.iter().map(|journal| (journal.path().display().to_string(), journal.describe())).collect(),
            stuck: restores.then(|| stale.into_iter().flat_map(goodness_restore::StaleJournal::undo).collect()),
        }
    }

    /// True if nothing is left behind.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.stuck.as_ref().map_or(self.stale.is_empty(), Vec::is_empty)
    }

    /// As text for a terminal.
    #[must_use]
    pub fn text(&self, width: u16) -> String {
        let mut out = format!("{}\n", table_of(&self.findings, width));
        tell_owners(&self.owners, &mut out);
        tell_left(&self.stale, self.stuck.as_deref(), &mut out);
        out
    }

    /// As JSON.
    #[must_use]
    pub fn document(&self) -> Document<'_> {
        let finding = |it: &'_ Finding| {
            let (name, needed_for, works) = (it.name.clone(), it.needed_for, it.found.is_ok());
            Found { name, works, found: it.found.clone().ok(), remedy: it.found.clone().err(), needed_for }
        };
        let left = self.stale.iter().map(|(journal, to_undo)| Left { journal, to_undo });
        let owners = self.owners.iter().map(|owner| {
            let resources = owner.resources.iter().map(|resource| resource.display().to_string()).collect();
            OwnerOf { command: owner.command.clone(), process: owner.process, resources }
        });
        Document {
            schema: "goodness.doctor/1",
            findings: self.findings.iter().map(finding).collect(),
            owners: owners.collect(),
            left: left.collect(),
            not_undone: self.stuck.as_deref(),
        }
    }
}

/// The findings: schema `goodness.doctor/1`.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Document<'a> {
    /// Always `goodness.doctor/1`.
    schema: &'static str,
    /// One for each requirement of a command.
    findings: Vec<Found>,
    /// Commands that change the machine now.
    owners: Vec<OwnerOf>,
    /// Leftovers of killed commands.
    left: Vec<Left<'a>>,
    /// Leftovers that could not be undone; `null` unless undoing was asked for.
    not_undone: Option<&'a [String]>,
}

/// One requirement.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Found {
    /// Its name.
    name: String,
    /// True if it is met.
    works: bool,
    /// What was found, if it is met.
    #[serde(skip_serializing_if = "Option::is_none")]
    found: Option<String>,
    /// What to do, if it is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    remedy: Option<String>,
    /// Commands that need it.
    needed_for: &'static str,
}

/// A command that changes the machine now.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct OwnerOf {
    /// Its name.
    command: String,
    /// Process id.
    process: u32,
    /// What it has changed.
    resources: Vec<String>,
}

/// Leftovers of a killed command.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Left<'a> {
    /// Its journal.
    journal: &'a str,
    /// What is to undo.
    to_undo: &'a [String],
}

/// One row per finding. The commands that need a missing item are named in the same cell, because a column of their own
/// would not fit.
fn table_of(findings: &[Finding], width: u16) -> Table {
    let mut table = table::new(width);
    for finding in findings {
        let (mark, what) = match &finding.found {
            Ok(what) => ("ok", what.clone()),
            Err(remedy) => ("--", format!("{remedy} [for {}]", finding.needed_for)),
        };
        table.add_row([mark, finding.name.as_str(), &what]);
    }
    for narrow in [0, 1] {
        if let Some(column) = table.column_mut(narrow) {
            column.set_constraint(ColumnConstraint::ContentWidth);
        }
    }
    table
}

fn tell_owners(owners: &[Owner], out: &mut String) {
    for owner in owners {
        let _ = writeln!(out, "\nchanged just now by {owner}, which restores it when it ends:");
        owner.resources.iter().for_each(|resource| {
            let _ = writeln!(out, "  {}", resource.display());
        });
    }
}

fn tell_left(told: &[(String, Vec<String>)], stuck: Option<&[String]>, out: &mut String) {
    if told.is_empty() {
        out.push_str("\nNo killed command has left anything behind.\n");
        return;
    }
    for (path, what) in told {
        let _ = writeln!(out, "\nleft by a killed command ({path}):");
        what.iter().for_each(|what| {
            let _ = writeln!(out, "  {what}");
        });
        if what.is_empty() {
            let _ = writeln!(out, "  nothing but the journal");
        }
    }
    match stuck {
        None => out.push_str("\nUndo it: goodness doctor --restore\n"),
        Some([]) => out.push_str("\nAll of it is undone.\n"),
        Some(stuck) => {
            let _ = writeln!(out, "\nNot undone:");
            stuck.iter().for_each(|what| {
                let _ = writeln!(out, "  {what}");
            });
            let _ = writeln!(
                out,
                "Something holds it open, or it is another user's: see `lsof`, then run this again (as root)."
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_takes_as_few_lines_of_a_terminal_as_its_text_needs() {
        let finding = |name: &str, needed_for, found| Finding { name: name.into(), needed_for, found };
        let works = finding("loop devices and elevators", "race dbload, study fio-mixed", Ok("o".repeat(45)));
        let remedy = "r ".repeat(30);
        let fails = finding("ublk", "elevate", Err(remedy.trim().to_string()));
        let text = table_of(&[works, fails], 80).to_string();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 3, "{text}");
        assert!(lines[0].contains(&"o".repeat(45)) && lines[2].contains("[for elevate]"), "{text}");
        assert!(lines.iter().all(|line| line.len() <= 80), "{text}");
    }
}
