//! Gregory Travis's benchmark: cost of a context switch by the number of yielding contexts, on Linux 2.0, on Linux 2.0
//! with a patch, and on NT.
//!
//! The costs come from a few cells of the published table (see the parameters); everything else is predicted.

use crate::{Chart, Estimate, Findings, Lab, Line, Parameter, Point, Row, Run, Study, Trial};
use goodness_core::{Machine, Span};
use goodness_work::machine::parse_machine;
use goodness_work::models::BuiltIn;

/// The study.
pub const STUDY: Study<'static> = Study {
    name: "travis-1998",
    question: "Why does a switch cost more the more contexts yield on Linux 2.0, and not on NT?",
    source: "G. Travis, 8 March 1998 (Linux Weekly News, 12 March 1998); Linux Journal 57, January 1999",
    published: include_str!("../../../studies/travis-1998/published.toml"),
    parameters: &[
        Parameter {
            name: "search",
            unit: "us",
            value: 0.53,
            low: 0.4,
            high: 0.6,
            because: "Cells patched Linux, 4 and 40 threads: (22 - 3) / 36 for each runnable task; other pairs of \
                      cells give 0.41 to 0.57.",
        },
        Parameter {
            name: "switch",
            unit: "us",
            value: 0.9,
            low: 0.5,
            high: 2.0,
            because: "The same two cells: what is left of 3 us without the search of 4 threads.",
        },
        Parameter {
            name: "recalculate",
            unit: "us",
            value: 0.53,
            low: 0.2,
            high: 1.0,
            because: "Nothing published: taken to cost as much as a searched task, since both touch one task \
                structure.",
        },
        Parameter {
            name: "others",
            unit: "",
            value: 40.0,
            low: 20.0,
            high: 80.0,
            because: "Nothing published: sleeping processes of a workstation of that time, which a recalculation \
                touches.",
        },
        Parameter {
            name: "nt_switch",
            unit: "us",
            value: 8.0,
            low: 5.0,
            high: 11.0,
            because: "Cell NT, 4 threads; the range is that of the row.",
        },
        Parameter {
            name: "nt_address_space",
            unit: "us",
            value: 7.0,
            low: 5.0,
            high: 8.0,
            because: "Cells NT, 4 processes and 4 threads: 15 - 8.",
        },
    ],
    corners: &[],
    runs: 2,
    conduct: &conduct,
};

/// Numbers of contexts.
const CONTEXTS: [u32; 6] = [2, 4, 8, 10, 20, 40];

/// A line of the table: key, policy, and whether it is NT.
const SYSTEMS: [(&str, &str, bool); 3] =
    [("std", "linux-2.0", false), ("patched", "linux-2.0:yield_mode=one-tick", false), ("nt", "nt4", true)];

fn conduct(lab: &Lab) -> Result<Findings, String> {
    let mut findings = Findings::default();
    let mut cells = Vec::new();
    for (key, policy, is_nt) in SYSTEMS {
        for kind in ["processes", "threads"] {
            for contexts in CONTEXTS {
                let times = switch_times(lab, policy, &machine(lab, is_nt)?, kind, contexts)?;
                findings.rows.push(lab.row(&format!("{key}.{kind}.{contexts}"), &times, cause(key, contexts))?);
                cells.push((key, kind, contexts, times));
            }
        }
    }
    findings.rows.extend(ratios(lab, &cells)?);
    findings.rows.push(creation(lab)?);
    findings.charts = charts(lab, &cells)?;
    findings.conclusion = "A switch of Linux 2.0 looks at every runnable task, which makes it grow with the number of \
        contexts; a yield forfeits the slice, so every N-th switch recalculates all tasks of the system, sleeping ones \
        included, which makes few contexts dear as well. A yield that costs one tick removes the second cost and \
        leaves the first. NT takes the head of the best queue and stays flat."
        .into();
    Ok(findings)
}

type Cell = (&'static str, &'static str, u32, Vec<f64>);

fn machine(lab: &Lab, is_nt: bool) -> Result<Machine, String> {
    let mut machine = parse_machine("pentium-200")?;
    let us = |name: &str| Span((lab.parameter(name) * 1000.0).round() as u64);
    if is_nt {
        machine.costs.switch = us("nt_switch");
        machine.costs.address_space = us("nt_address_space");
        machine.costs.effort = [Span::ZERO; 4];
    } else {
        machine.costs.switch = us("switch");
        machine.costs.effort[0] = us("search");
        machine.costs.effort[1] = us("recalculate");
    }
    Ok(machine)
}

/// Time of one switch in ns, for each replication.
fn switch_times(lab: &Lab, policy: &str, machine: &Machine, kind: &str, contexts: u32) -> Result<Vec<f64>, String> {
    let others = lab.parameter("others").round();
    let work =
        BuiltIn::parse(&format!("yield-benchmark:tasks={contexts},contexts={kind},others={others},duration=200ms"))?;
    // The benchmark counted its yields: each is a decision, whoever is elected.
    let time = |run: &Run| Ok(run.measured.window.length() / run.outcome.decisions as f64);
    lab.run(&Trial { policy, machine, work: &work })?.iter().map(time).collect()
}

fn cause(key: &str, contexts: u32) -> &'static str {
    match (key, contexts) {
        ("std", ..8) => "Every N-th switch recalculates all tasks of the system: dear when N is small.",
        ("patched", ..=10) => "Few tasks are searched; what the caches keep of them is not modelled.",
        ("nt", 2) => "The model has no caches: two contexts that fit into them switch faster than four on NT.",
        ("nt", 40) => {
            "The head of the best queue is taken, whatever the number; what forty threads push out of the caches is \
                not modelled."
        }
        ("nt", _) => "The head of the best queue is taken, whatever the number.",
        _ => "Each switch looks at every runnable task.",
    }
}

fn mean_of(cells: &[Cell], wanted: (&str, &str, u32)) -> Result<f64, String> {
    let found = cells.iter().find(|(key, kind, contexts, _)| (*key, *kind, *contexts) == wanted);
    let (.., times) = found.ok_or_else(|| format!("the study has no cell {wanted:?}"))?;
    Ok(times.iter().sum::<f64>() / times.len() as f64)
}

fn ratios(lab: &Lab, cells: &[Cell]) -> Result<Vec<Row>, String> {
    let ratio = |over: (&str, &str, u32), under: (&str, &str, u32)| -> Result<[f64; 1], String> {
        Ok([mean_of(cells, over)? / mean_of(cells, under)?])
    };
    let growth = ratio(("std", "threads", 40), ("std", "threads", 10))?;
    let flat = ratio(("nt", "threads", 40), ("nt", "threads", 10))?;
    let processes = ratio(("std", "processes", 40), ("nt", "processes", 40))?;
    let threads = ratio(("std", "threads", 40), ("nt", "threads", 40))?;
    let ahead = ratio(("patched", "threads", 10), ("nt", "threads", 10))?;
    Ok(vec![
        lab.row("growth.linux", &growth, "The search is linear in runnable tasks.")?,
        lab.row("growth.nt", &flat, "Thirty-two queues and a mask: constant time.")?,
        lab.row("ratio.processes", &processes, "Forty searched tasks against a constant switch with new page tables.")?,
        lab.row("ratio.threads", &threads, "Forty searched tasks against a constant switch.")?,
        lab.row("ahead.10", &ahead, "Without recalculations few contexts are cheap to search.")?,
    ])
}

/// Creation time with the scheduler's part. Its base cost is an input, so there is no verdict.
fn creation(lab: &Lab) -> Result<Row, String> {
    let machine = machine(lab, false)?;
    let work = BuiltIn::parse(
        "yield-benchmark:timed=create,tasks=200,contexts=processes,creation=1ms,others=40,duration=10s",
    )?;
    let runs = lab.run(&Trial { policy: "linux-2.0", machine: &machine, work: &work })?;
    let of_parent = |run: &Run| {
        let parent = run.names.iter().position(|name| name == "parent-0")?;
        let ended = run.measured.tasks.get(parent)?.ended?;
        Some(ended.0 as f64 / 200.0)
    };
    let times: Result<Vec<f64>, String> =
        runs.iter().map(|run| of_parent(run).ok_or_else(|| "the parent did not end".to_string())).collect();
    let note = "The published 1.0 ms is an input; what it grows by is switching to the child and back. Creation is the \
                memory manager's work, not the scheduler's.";
    Ok(Row::unpublished(
        "creation of a process on Linux 2.0, scheduling included",
        "ns",
        Estimate::of(&times?).as_ref(),
        note,
    ))
}

fn charts(lab: &Lab, cells: &[Cell]) -> Result<Vec<Chart>, String> {
    let mut charts = Vec::new();
    for kind in ["processes", "threads"] {
        let mut lines = Vec::new();
        for (key, name) in [("std", "Linux 2.0"), ("patched", "Linux 2.0 patched"), ("nt", "NT 4")] {
            let (mut simulated, mut published) = (Vec::new(), Vec::new());
            for contexts in CONTEXTS {
                let point = |y: f64| Point { x: f64::from(contexts), y: y / 1000.0, ci95: None };
                simulated.push(point(mean_of(cells, (key, kind, contexts))?));
                published.push(point(lab.value(&format!("{key}.{kind}.{contexts}"))?));
            }
            lines.push(Line { name: name.into(), published: false, points: simulated });
            lines.push(Line { name: format!("{name}, published"), published: true, points: published });
        }
        charts.push(Chart {
            title: format!("Time of a switch by number of {kind}"),
            x: format!("{kind} that yield"),
            y: "microseconds".into(),
            doubling: true,
            lines,
        });
    }
    Ok(charts)
}
