//! `goodness doctor`: checks what works on this machine, with remedies.

use crate::failure::{Failure, exit};
use crate::output;
use clap::Args;
use comfy_table::{ColumnConstraint, Table};
use goodness_race::doctor::{Finding, findings};
use goodness_restore::Owner;
use serde_json::json;

/// Check what works on this machine, what to install, and what killed commands have left behind.
///
/// One line per requirement of a command. Changes nothing, except with --restore.
#[derive(Args)]
#[command(after_help = "\
Examples:
  goodness doctor                   one line for each thing, with the remedy where it does not work
  sudo goodness doctor --restore    undo what killed commands have left

Exit codes: 0 nothing is left behind, 1 something could not be undone, or is left and --restore was not given.")]
pub struct Doctor {
    /// Undo leftovers of killed commands of this user, also from before a reboot.
    #[arg(long)]
    restore: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl Doctor {
    /// Checks, and undoes leftovers on request.
    ///
    /// # Errors
    /// Something could not be undone.
    pub fn run(&self) -> Result<u8, Failure> {
        let findings = findings();
        let owners: Vec<Owner> =
            goodness_restore::owners().into_iter().filter(|owner| !owner.resources.is_empty()).collect();
        let stale = goodness_restore::find();
        let told: Vec<(String, Vec<String>)> =
            stale.iter().map(|journal| (journal.path().display().to_string(), journal.describe())).collect();
        let stuck: Option<Vec<String>> =
            self.restore.then(|| stale.into_iter().flat_map(goodness_restore::StaleJournal::undo).collect::<Vec<_>>());
        if self.json {
            print_json(&findings, &told, stuck.as_deref(), &owners);
        } else {
            say!("{}", table(&findings));
            print_owners(&owners);
            print_left(&told, stuck.as_deref());
        }
        let clean = stuck.map_or(told.is_empty(), |stuck| stuck.is_empty());
        Ok(if clean { exit::OK } else { exit::FAILURE })
    }
}

/// One row per finding. The commands that need a missing item are named in the same cell, because a column of their own
/// would not fit.
fn table(findings: &[Finding]) -> Table {
    let mut table = output::table();
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

fn print_owners(owners: &[Owner]) {
    for owner in owners {
        say!("\nchanged just now by {owner}, which restores it when it ends:");
        owner.resources.iter().for_each(|resource| say!("  {}", resource.display()));
    }
}

fn print_left(told: &[(String, Vec<String>)], stuck: Option<&[String]>) {
    if told.is_empty() {
        return say!("\nNo killed command has left anything behind.");
    }
    for (path, what) in told {
        say!("\nleft by a killed command ({path}):");
        what.iter().for_each(|what| say!("  {what}"));
        if what.is_empty() {
            say!("  nothing but the journal");
        }
    }
    match stuck {
        None => say!("\nUndo it: goodness doctor --restore"),
        Some([]) => say!("\nAll of it is undone."),
        Some(stuck) => {
            say!("\nNot undone:");
            stuck.iter().for_each(|what| say!("  {what}"));
            say!("Something holds it open, or it is another user's: see `lsof`, then run this again (as root).");
        }
    }
}

fn print_json(findings: &[Finding], told: &[(String, Vec<String>)], stuck: Option<&[String]>, owners: &[Owner]) {
    let entry = |finding: &Finding| {
        let (works, what) = match &finding.found {
            Ok(what) => (true, what),
            Err(remedy) => (false, remedy),
        };
        let key = if works { "found" } else { "remedy" };
        json!({"name": finding.name, "works": works, key: what, "needed_for": finding.needed_for})
    };
    let left = told.iter().map(|(path, what)| json!({"journal": path, "to_undo": what}));
    let owners = owners.iter().map(|owner| {
        let resources: Vec<_> = owner.resources.iter().map(|resource| resource.display().to_string()).collect();
        json!({"command": owner.command, "process": owner.process, "resources": resources})
    });
    let whole = json!({
        "schema": "goodness.doctor/1",
        "findings": findings.iter().map(entry).collect::<Vec<_>>(),
        "owners": owners.collect::<Vec<_>>(),
        "left": left.collect::<Vec<_>>(),
        "not_undone": stuck,
    });
    say!("{}", serde_json::to_string_pretty(&whole).expect("plain values serialise"));
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
        let mut table = table(&[works, fails]);
        let text = table.set_width(80).to_string();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 3, "{text}");
        assert!(lines[0].contains(&"o".repeat(45)) && lines[2].contains("[for elevate]"), "{text}");
        assert!(lines.iter().all(|line| line.len() <= 80), "{text}");
    }
}
