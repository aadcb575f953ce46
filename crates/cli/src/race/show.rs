//! Prints the plan and the results of a race on a terminal.

use crate::failure::{Failure, exit};
use crate::output;
use goodness_race::cgroup::Hierarchies;
use goodness_race::config::RaceFile;
use goodness_race::engine::{self, Outcome, Stopped};
use goodness_race::sweep::swept_name;
use goodness_report::figure;
use goodness_report::model::Verdict;

/// Blocks whose order a dry run shows.
const SHOWN: u32 = 5;

/// Prints the runs and changes of a race without running it. Returns exit code 2 if the machine lacks an arm.
pub fn plan(file: &RaceFile) -> Result<u8, Failure> {
    let plan = &file.plan;
    let settings: Vec<String> = file.settings.iter().map(|(key, value)| format!(" {key}={value}")).collect();
    say!("{}: {}{}", plan.name, file.load, settings.concat());
    say!("seed {}, at most {} blocks after {} of warm-up", plan.seed.0, plan.blocks, plan.warmup);
    say!("decided by {}; looked at after {:?} blocks", plan.measures.join(", "), engine::looks(plan).at());
    say!("processes run in: {}", Hierarchies::find().describe());
    let mut table = output::table();
    table.set_header(["arm", "sets"]);
    plan.arms.iter().for_each(|arm| {
        table.add_row([arm.name.clone(), arm.describe()]);
    });
    say!("\n{table}\n");
    for block in 0..SHOWN.min(plan.warmup + plan.blocks) {
        let names =
            engine::order(plan.seed, block, plan.arms.len()).into_iter().map(|arm| plan.arms[arm].name.as_str());
        let dropped = if block < plan.warmup { " (dropped)" } else { "" };
        say!("block {block}: {}{dropped}", names.collect::<Vec<_>>().join(", "));
    }
    say!(
        "…\n\nAlso made and removed: a private folder below {}, cgroups called goodness-PID-server and",
        plan.below.display()
    );
    say!("goodness-PID-client, and a journal in {}. Nothing was done.", goodness_restore::folder().display());
    match engine::check(plan) {
        Ok(()) => Ok(exit::OK),
        Err(why) => Err(Failure::usage(why.to_string())),
    }
}

/// Prints the results.
pub fn outcome(found: &Outcome) {
    let ended = match found.stopped {
        Stopped::Clear => "ended early: all is decided",
        Stopped::Blocks => "all blocks were run",
        Stopped::Duration => "ended because the time was over",
    };
    say!("{}: {} blocks of {} arms, seed {}; {ended}", found.race, found.blocks, found.arms.len(), found.seed);
    say!("Linux {}; {}", found.kernel, found.cgroups);
    for name in names(found, true) {
        say!("\n{name}");
        say!("{}", table(found, name));
    }
    let others: Vec<&str> = names(found, false);
    if !others.is_empty() {
        say!("\nmeasured beside it, not judged: {}", short(&others).join(", "));
    }
    say!("");
    conclude(found);
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

fn table(found: &Outcome, name: &str) -> comfy_table::Table {
    let mut table = output::table();
    table.set_header(["arm", "mean", "against", "interval", "effect", "verdict"]);
    for arm in &found.arms {
        let Some(measured) = arm.measures.iter().find(|measured| measured.name == name) else { continue };
        let mut row = vec![arm.name.clone(), figure::show(measured.mean, measured.shown_unit())];
        row.extend(match &measured.vs_reference {
            None => ["reference".to_string(), String::new(), String::new(), String::new()],
            Some(versus) => [
                figure::ratio(versus.ratio),
                versus.interval.map_or_else(|| figure::NOT_MEASURED.into(), figure::ratio_interval),
                versus.effect.map_or_else(|| figure::NOT_MEASURED.into(), |effect| format!("{effect:+.1}")),
                versus.verdict.map_or("", Verdict::name).to_string(),
            ],
        });
        table.add_row(row);
    }
    output::align_right(&mut table, 1..5);
    table
}

fn conclude(found: &Outcome) {
    let open = found.verdicts().filter(|(_, _, verdict)| *verdict == Verdict::Inconclusive).count();
    match (found.verdicts().count(), open) {
        (0, _) => say!("Nothing that decides was measured: name other measures in the race file."),
        (_, 0) => {}
        (all, open) => {
            say!("{open} of {all} comparisons are inconclusive: the blocks run do not tell. More blocks may.")
        }
    }
    say!(
        "Differences below {} do not count. Intervals are corrected for {} looks and all comparisons",
        figure::percent(Some(found.margin)),
        found.looks.len()
    );
    say!("(95 % for the race as a whole). Effect: mean difference over its standard deviation.");
    if found.repeated > 0 || found.disturbed > 0 {
        let bound = figure::percent(Some(found.outside_bound));
        say!("{} runs were repeated because others used more than {bound} of the machine;", found.repeated);
        say!("{} of those that count had that outside load all the same.", found.disturbed);
    }
    if found.runs.iter().any(|run| run.others.is_none()) {
        say!("What others used could not be told: it needs cgroup version 2.");
    }
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
