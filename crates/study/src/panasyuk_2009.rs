//! Panasyuk's measurements of November 2009: quanta by priority under Haiku's scheduler, his fair proposal and three
//! add-ons, and the cost of decisions with a thousand and with four thousand threads.
//!
//! The schedulers follow what is known of them (specs 7), without fitted values. Overhead is measured on this machine.

use crate::{Chart, Estimate, Findings, Lab, Line, Point, Row, Run, Study, Trial};
use goodness::PolicySpec;
use goodness_bench::quanta;
use goodness_core::{Seed, Span, Task, WorkloadSource};
use goodness_work::machine::parse_machine;
use goodness_work::models::BuiltIn;

/// The study.
pub const STUDY: Study<'static> = Study {
    name: "panasyuk-2009",
    question: "Who gets the CPU on Haiku when everybody wants it, and what does fairness cost?",
    source: "M. Panasyuk, haiku-development, 13 November 2009",
    published: include_str!("../../../studies/panasyuk-2009/published.toml"),
    parameters: &[],
    corners: &[],
    runs: 20,
    conduct: &conduct,
};

const QUANTUM: Span = Span::from_ms(3);
/// Levels of load A, the highest first.
const LEVELS: [&str; 6] = ["p20", "p15", "p12", "p10", "p5", "p1"];
/// Batches of timed quanta.
const BATCHES: u32 = 200;

fn conduct(lab: &Lab) -> Result<Findings, String> {
    let mut findings = Findings::default();
    let original = quanta_of(lab, "haiku-2009", "a")?;
    let fair = quanta_of(lab, "haiku-fair", "a")?;
    for level in LEVELS {
        let note =
            "Leaving a level of several threads takes two skips of 20.3 %, so each lower level gets a twenty-fourth.";
        findings.rows.push(lab.row(&format!("haiku.{level}"), &counts(&original, level), note)?);
    }
    for level in LEVELS {
        let note = match level {
            "p5" => {
                "Each occupied level halves a thread's share, which gives 9.7 here; the published 4 is 1.8 standard \
                    errors below."
            }
            _ => "A level is elected by its threads, halved for each occupied level above.",
        };
        findings.rows.push(lab.row(&format!("fair.{level}"), &counts(&fair, level), note)?);
    }
    for level in &LEVELS[..4] {
        let all: f64 = LEVELS.iter().map(|level| mean(&counts(&fair, level))).sum();
        let shares: Vec<f64> = counts(&fair, level).iter().map(|count| count / all).collect();
        findings.rows.push(lab.row(&format!("share.{level}"), &shares, "As the quanta above, as shares.")?);
    }
    findings.rows.extend(load_b(lab)?);
    if lab.timing {
        findings.rows.extend(overhead(lab)?);
    }
    findings.charts = vec![chart(lab, &original, &fair)?];
    findings.conclusion = "Haiku's rule lets the first and the last thread of a level run and rarely looks below it, \
        so 20 threads at p20 took 96 % of the CPU from 980 others. Electing a level by its threads, halved for each \
        level above, keeps the order of priorities and starves nobody; it costs a few steps for each occupied level, \
        however many threads there are."
        .into();
    Ok(findings)
}

fn quanta_of(lab: &Lab, policy: &str, load: &str) -> Result<Vec<Run>, String> {
    let machine = parse_machine("haiku-2009")?;
    let work = BuiltIn::parse(&format!("panasyuk-2009:load={load}"))?;
    lab.run(&Trial { policy, machine: &machine, work: &work })
}

/// Quanta that the threads of a level got, for each replication.
fn counts(runs: &[Run], level: &str) -> Vec<f64> {
    let prefix = format!("{level}-");
    let of_run = |run: &Run| {
        let threads = run.measured.tasks.iter().filter(|task| run.names[task.task.index()].starts_with(&prefix));
        threads.map(|task| task.cpu_time.0).sum::<u64>() as f64 / QUANTUM.0 as f64
    };
    runs.iter().map(of_run).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

fn load_b(lab: &Lab) -> Result<Vec<Row>, String> {
    let systems = [
        ("b.beos", "beos", "A priority of 98 more is 2^98 times likelier to be elected."),
        ("b.haiku2", "haiku-2009", "One skip of the level of 4093 threads needs two draws below 20.3 %."),
        ("b.beosrt", "beosrt", "Two threads of a level with half the weight: 0.8 quanta are expected."),
    ];
    systems
        .into_iter()
        .map(|(key, policy, note)| lab.row(key, &counts(&quanta_of(lab, policy, "b")?, "p1"), note))
        .collect()
}

/// Cost of decisions in wall-clock time on this machine; differs from run to run.
fn overhead(lab: &Lab) -> Result<Vec<Row>, String> {
    let cost = |policy: &str, load: &str| -> Result<f64, String> {
        let work = BuiltIn::parse(&format!("panasyuk-2009:load={load}"))?.build(Seed(lab.seed), 0);
        let tasks: Vec<Task> = work.tasks.into_iter().map(|spec| spec.task).collect();
        quanta::cost(&PolicySpec::parse(policy)?, &tasks, QUANTUM, BATCHES)
    };
    let share = |ns: f64| ns / QUANTUM.0 as f64;
    let (small, large, original) = (cost("haiku-fair", "a")?, cost("haiku-fair", "b")?, cost("haiku-2009", "b")?);
    let note = "Measured on the machine at hand, which differs from run to run and is faster than one of 2009; the \
        number of threads does not matter.";
    let cheap = "Measured on the machine at hand. Haiku's ordered list is walked at every insertion, past all threads \
        of the same priority; the fair scheduler appends to its level.";
    Ok(vec![
        lab.row("overhead.1000", &[share(small)], note)?,
        lab.row("overhead.4095", &[share(large)], note)?,
        lab.row("overhead.ratio", &[large / original], cheap)?,
        Row::unpublished("our haiku-fair, load B: time of a decision", "ns", Some(&Estimate::exact(large)), note),
        Row::unpublished("our haiku-2009, load B: time of a decision", "ns", Some(&Estimate::exact(original)), cheap),
    ])
}

fn chart(lab: &Lab, original: &[Run], fair: &[Run]) -> Result<Chart, String> {
    let mut lines = Vec::new();
    for (name, key, runs) in [("haiku-2009", "haiku", original), ("haiku-fair", "fair", fair)] {
        let (mut simulated, mut published) = (Vec::new(), Vec::new());
        for level in LEVELS.iter().rev() {
            let x = level.trim_start_matches('p').parse().unwrap_or(0.0);
            simulated.push(Point {
                x,
                y: mean(&counts(runs, level)),
                ci95: Estimate::of(&counts(runs, level)).and_then(|e| e.ci95),
            });
            published.push(Point { x, y: lab.value(&format!("{key}.{level}"))?, ci95: None });
        }
        lines.push(Line { name: name.into(), published: false, points: simulated });
        lines.push(Line { name: format!("{name}, published"), published: true, points: published });
    }
    Ok(Chart {
        title: "Quanta by priority, load A".into(),
        x: "priority".into(),
        y: "quanta of 3 ms in 10 s".into(),
        doubling: false,
        lines,
    })
}
