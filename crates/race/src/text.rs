//! The results of a race, and what it would do, as text for a terminal.

use crate::config::{self, RaceFile};
use crate::engine::{self, Outcome, Stopped};
use crate::prediction::{POLICY, PredictedMeasure};
use crate::sweep::swept_name;
use crate::{arm, load, shipped};
use comfy_table::{ColumnConstraint, Table};
use goodness_report::change::{change, change_interval};
use goodness_report::model::Verdict;
use goodness_report::text::Extent;
use goodness_report::{figure, table};
use goodness_sys::cgroup::Hierarchies;
use std::fmt::Write;

/// Blocks whose order a dry run shows.
const SHOWN: u32 = 5;

/// The runs and changes of a race, without running it.
#[must_use]
pub fn plan(file: &RaceFile, width: u16) -> String {
    let mut out = String::new();
    let plan = &file.plan;
    let settings: Vec<String> = file.settings.iter().map(|(key, value)| format!(" {key}={value}")).collect();
    let _ = writeln!(out, "{}: {}{}", plan.name, file.load, settings.concat());
    let _ = writeln!(out, "seed {}, at most {} blocks after {} of warm-up", plan.seed.0, plan.blocks, plan.warmup);
    let _ =
        writeln!(out, "decided by {}; looked at after {:?} blocks", plan.measures.join(", "), engine::looks(plan).at());
    let _ = writeln!(out, "processes run in: {}", Hierarchies::find().describe());
    let mut rows = table::new(width);
    rows.set_header(["arm", "sets"]);
    plan.arms.iter().for_each(|arm| {
        rows.add_row([arm.name.clone(), arm.describe()]);
    });
    let _ = writeln!(out, "\n{rows}\n");
    for block in 0..SHOWN.min(plan.warmup + plan.blocks) {
        let names =
            engine::order(plan.seed, block, plan.arms.len()).into_iter().map(|arm| plan.arms[arm].name.as_str());
        let dropped = if block < plan.warmup { " (dropped)" } else { "" };
        let _ = writeln!(out, "block {block}: {}{dropped}", names.collect::<Vec<_>>().join(", "));
    }
    let _ = writeln!(
        out,
        "…\n\nAlso made and removed: a private folder below {}, cgroups called goodness-PID-server and",
        plan.below.display()
    );
    let _ = writeln!(
        out,
        "goodness-PID-client, and a journal in {}. Nothing was done.",
        goodness_restore::folder().display()
    );
    out
}

/// The shipped races as a table of `width` columns.
#[must_use]
pub fn shipped(width: u16) -> String {
    let mut rows = table::new(width);
    for (name, text) in shipped::RACES {
        rows.add_row([(*name).to_string(), shipped::summary(text)]);
    }
    rows.to_string()
}

/// An example of a race file, its keys, the settings of an arm, and the loads.
#[must_use]
pub fn guide() -> String {
    let line = |name: &str, what: &str| format!("  {name:<15} {what}\n");
    let mut out = String::from(
        "A race file:\n  name = \"nice\"\n  blocks = 20\n\n  [load]\n  use = \"apache-prefork\"\n  connections = 8\n\n\
         \x20 [[arm]]\n  name = \"as it is\"\n\n  [[arm]]\n  name = \"nice 10\"\n  nice = 10\n  to = \"server\"      # \
         or \"client\", \"all\"\n\nKeys at the top:\n",
    );
    config::KEYS.iter().for_each(|(key, what)| out.push_str(&line(key, what)));
    out.push_str("\nSettings of an arm:\n");
    for kind in arm::ALL {
        out.push_str(&line(kind.key, &format!("{} Example: {} = {}", kind.summary, kind.key, kind.example)));
    }
    out.push_str("\nLoads:\n");
    load::ALL.iter().for_each(|about| out.push_str(&line(about.name, about.summary)));
    out
}

/// The results: the answer with its tables, or the tables alone, or everything.
#[must_use]
pub fn outcome(found: &Outcome, extent: Extent, width: u16) -> String {
    let mut out = String::new();
    if extent != Extent::Ranking {
        let _ = writeln!(out, "{}", table::wrapped("", &found.conclusion(), width, ""));
    }
    for name in names(found, true) {
        let _ = writeln!(out, "\n{}", figure::titled(name));
        let _ = writeln!(out, "{}", measured(found, name, extent, width));
    }
    if extent == Extent::Ranking {
        return out;
    }
    let ended = match found.stopped {
        Stopped::Clear => "ended early, all is decided",
        Stopped::Blocks => "all blocks were run",
        Stopped::Duration => "ended because the time was over",
    };
    let (race, blocks, arms) = (&found.race, found.blocks, found.arms.len());
    let about = format!("{race}: {blocks} blocks of {arms} arms, seed {}; {ended}", found.seed);
    let hint = if extent == Extent::All { "" } else { ". All measures and notes: -v" };
    let _ = writeln!(out, "\n{}", table::wrapped("", &format!("{about}{hint}"), width, ""));
    match extent {
        Extent::All => notes(found, width, &mut out),
        _ if found.disturbed > 0 => {
            let _ = writeln!(out, "- {} runs count in spite of outside load.", found.disturbed);
        }
        _ => {}
    }
    out
}

/// The names, with those of a sweep joined: `time_to_finish_4…256`.
fn short(names: &[&str]) -> Vec<String> {
    let mut found: Vec<(&str, &str, &str)> = Vec::new();
    for name in names {
        let (base, number) = swept_name(name).unwrap_or((name, ""));
        match found.iter_mut().find(|(known, ..)| *known == base) {
            Some((_, _, last)) => *last = number,
            None => found.push((base, number, number)),
        }
    }
    let shown = |(base, first, last): (&str, &str, &str)| match (first, last) {
        ("", _) => base.to_string(),
        _ if first == last => format!("{base}_{first}"),
        _ => format!("{base}_{first}…{last}"),
    };
    found.into_iter().map(shown).collect()
}

fn names(found: &Outcome, decides: bool) -> Vec<&str> {
    let first = found.arms.first().map_or(&[][..], |arm| &arm.measures);
    first.iter().filter(|measure| measure.decides == decides).map(|measure| measure.name.as_str()).collect()
}

fn measured(found: &Outcome, name: &str, extent: Extent, width: u16) -> Table {
    let mut rows = table::new(width);
    let columns = if extent == Extent::All { 6 } else { 5 };
    rows.set_header(&["arm", "mean", "change", "interval", "verdict", "effect"][..columns]);
    for arm in &found.arms {
        let Some(measured) = arm.measures.iter().find(|measured| measured.name == name) else { continue };
        let versus = measured.vs_reference.as_ref();
        let [change, interval, verdict, effect] = match versus {
            None => [String::new(), String::new(), "reference".into(), String::new()],
            Some(versus) => [
                versus.ratio.map_or_else(|| figure::NOT_MEASURED.into(), change),
                versus.interval.map_or_else(|| figure::NOT_MEASURED.into(), |it| change_interval(it, "blocks")),
                versus.verdict.map_or("", Verdict::name).to_string(),
                versus.effect.map_or_else(|| figure::NOT_MEASURED.into(), |effect| format!("{effect:+.1}")),
            ],
        };
        let mean = figure::show(measured.mean, measured.shown_unit());
        rows.add_row(&[arm.name.clone(), mean, change, interval, verdict, effect][..columns]);
    }
    table::align_right(&mut rows, [1, 2]);
    rows
}

/// Other measures, the statistics, and what disturbed the race.
fn notes(found: &Outcome, width: u16, out: &mut String) {
    let mut say = |text: &str| {
        let _ = writeln!(out, "{}", table::wrapped("", text, width, "  "));
    };
    say(&format!("Linux {}; {}", found.kernel, found.cgroups));
    let others = names(found, false);
    if !others.is_empty() {
        say(&format!("Measured beside it, not judged: {}", short(&others).join(", ")));
    }
    say(&format!(
        "Differences below {} do not count. Intervals are corrected for {} looks and all comparisons (95 % for the \
         race as a whole). Effect: mean difference over its standard deviation.",
        figure::percent(Some(found.margin)),
        found.looks.len()
    ));
    if found.repeated > 0 || found.disturbed > 0 {
        say(&format!(
            "{} runs were repeated because others used more than {} of the machine; {} of those that count had that \
             outside load all the same.",
            found.repeated,
            figure::percent(Some(found.outside_bound)),
            found.disturbed
        ));
    }
    if found.runs.iter().any(|run| run.others.is_none()) {
        say("Outside load was not measured: it needs cgroup version 2.");
    }
}

/// The simulator's predictions, compared with what the race measured; empty where there are none.
#[must_use]
pub fn predictions(all: &[PredictedMeasure], width: u16) -> String {
    let mut out = String::new();
    if all.is_empty() {
        return out;
    }
    let mut rows = table::new(width);
    rows.set_header(["arm", "measure", "predicted", "measured", "ratio", "change, pred.", "meas."]);
    for row in all.iter().filter(|row| row.why_not.is_none()) {
        rows.add_row([
            row.arm.clone(),
            row.measure.clone(),
            figure::show(row.predicted, row.unit),
            figure::show(row.measured, row.unit),
            figure::ratio(row.ratio),
            row.predicted_vs_reference.map_or_else(String::new, change),
            row.measured_vs_reference.map_or_else(String::new, change),
        ]);
    }
    table::align_right(&mut rows, 2..7);
    // Names of measures have no place to break.
    if let Some(column) = rows.column_mut(1) {
        column.set_constraint(ColumnConstraint::ContentWidth);
    }
    let _ = writeln!(out, "\npredicted by the simulator ({POLICY}) beside what was measured");
    if !rows.is_empty() {
        let _ = writeln!(out, "{rows}");
    }
    for row in all {
        if let Some(why) = &row.why_not {
            let _ = writeln!(out, "{}: {why}", row.arm);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_measures_of_a_sweep_are_named_once() {
        let names = ["cpu_time", "time_to_finish_4", "scalability_16_to_32", "time_to_finish_256", "latency_p99"];
        assert_eq!(short(&names), ["cpu_time", "time_to_finish_4…256", "scalability_16_to_32", "latency_p99"]);
    }
}
