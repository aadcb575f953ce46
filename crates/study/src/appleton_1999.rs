//! The busy web site of Linux Journal 57: length of its run queue, and frequency of tick recalculation.
//!
//! Two figures calibrate the model (mean queue, switches per second); the others are predicted.

use crate::{Chart, Findings, Lab, Line, Parameter, Point, Run, Study, Trial};
use goodness_core::{Overhead, Span};
use goodness_work::machine::parse_machine;
use goodness_work::models::BuiltIn;

/// The study.
pub const STUDY: Study<'static> = Study {
    name: "appleton-1999",
    question: "Why did a scheduler that is slow with forty runnable tasks not slow a busy web site down?",
    source: "R. Appleton, Linux Journal 57, January 1999",
    published: include_str!("../../../studies/appleton-1999/published.toml"),
    parameters: &[
        Parameter {
            name: "utilisation",
            unit: "",
            value: 0.714,
            low: 0.65,
            high: 0.78,
            because: "From the mean queue of 2.5: with random arrivals and bursts it is u / (1 - u).",
        },
        Parameter {
            name: "burst",
            unit: "ms",
            value: 2.0,
            low: 1.8,
            high: 2.2,
            because: "From 395.8 switches a second: each burst ends with one, an eighth more preempt, and 0.714 s of \
                      bursts fit into a second.",
        },
        Parameter {
            name: "programmes",
            unit: "",
            value: 0.0,
            low: 0.0,
            high: 0.6,
            because: "Nothing published: share of the CPU used by programmes of a second or so, such as searches \
                behind the pages.",
        },
        Parameter {
            name: "network",
            unit: "ms",
            value: 50.0,
            low: 10.0,
            high: 300.0,
            because: "Nothing published: a wait for a client behind a modem or a long line.",
        },
        Parameter {
            name: "search",
            unit: "us",
            value: 0.32,
            low: 0.2,
            high: 0.6,
            because: "The 0.53 us of the Pentium at 200 MHz (travis-1998), scaled to 333 MHz.",
        },
    ],
    corners: &[],
    runs: 6,
    conduct: &conduct,
};

/// Processes of the site: 200 httpd and 220 others.
const PROCESSES: f64 = 420.0;
const RECALCULATE: Span = Span(320);

fn conduct(lab: &Lab) -> Result<Findings, String> {
    let runs = serve(lab)?;
    let all = |of: &dyn Fn(&Run) -> Result<f64, String>| runs.iter().map(of).collect::<Result<Vec<f64>, String>>();
    let longest = runs.iter().filter_map(|run| run.measured.get("runqueue_length_max").value).fold(0.0, f64::max);
    let check = "An input of the model, as a check of it.";
    let rows = vec![
        lab.row("mean", &all(&|run| run.get("runqueue_length_mean"))?, check)?,
        lab.row("switches", &all(&|run| Ok(run.get("context_switches")? / run.seconds()))?, check)?,
        lab.row(
            "over10",
            &all(&|run| Ok(at_least(run, 11)))?,
            "Random arrivals make long queues rare; the real ones came in somewhat larger crowds.",
        )?,
        lab.row(
            "over20",
            &all(&|run| Ok(at_least(run, 20)))?,
            "Each further task of a queue is rarer by the utilisation.",
        )?,
        lab.row("longest", &[longest], "The longer one looks, the longer the longest queue.")?,
        lab.row("recalculations", &all(&switches_per_recalculation)?, RECALCULATIONS)?,
        crate::Row::unpublished(
            "CPU time spent searching and recalculating",
            "share",
            crate::Estimate::of(&all(&|run| Ok(run.deciding()))?).as_ref(),
            "What the benchmark measures hardly matters here: two or three tasks are searched, four hundred times a \
                second.",
        ),
    ];
    let conclusion = "The benchmark keeps forty tasks runnable at every switch; the site had two or three. A search \
        that is linear in runnable tasks costs little where few are runnable, however many there are.";
    Ok(Findings { rows, charts: vec![chart(&runs)], conclusion: conclusion.into() })
}

const RECALCULATIONS: &str = "Ticks are recalculated when all who are runnable have spent theirs. Short requests \
    hardly ever do; with long programmes on half of the CPU it is one in a few hundred (see the parameter), so the \
    site seems to have run some.";

/// The site as the parameters describe it.
fn serve(lab: &Lab) -> Result<Vec<Run>, String> {
    let mut machine = parse_machine("pentium-200")?;
    machine.costs.effort[0] = Span((lab.parameter("search") * 1000.0).round() as u64);
    machine.costs.effort[1] = RECALCULATE;
    let burst = lab.parameter("burst") * 1e6;
    let (busy, long) = (lab.parameter("utilisation"), lab.parameter("programmes"));
    // Each request has two bursts; a long programme computes for a second.
    let arrivals = (2.0 * burst / (busy * (1.0 - long))).round();
    let programmes = if long > 0.0 { (1e9 / (busy * long)).round() } else { 0.0 };
    let network = (lab.parameter("network") * 1e6).round();
    let work = BuiltIn::parse(&format!(
        "light-server:arrivals={arrivals}ns,burst={}ns,network={network}ns,programmes={programmes}ns,duration=100s",
        burst.round()
    ))?;
    lab.run(&Trial { policy: "linux-2.0", machine: &machine, work: &work })
}

/// Share of the time with at least `length` tasks runnable.
fn at_least(run: &Run, length: u64) -> f64 {
    let lengths = &run.measured.distributions.runqueue_length;
    let (mut all, mut those) = (0.0, 0.0);
    for bucket in lengths.buckets() {
        all += bucket.count as f64;
        those += if bucket.low >= length { bucket.count as f64 } else { 0.0 };
    }
    if all > 0.0 { those / all } else { 0.0 }
}

fn switches_per_recalculation(run: &Run) -> Result<f64, String> {
    let spent = run.measured.overhead[Overhead::Recalculate as usize].0 as f64;
    let recalculations = spent / (PROCESSES * RECALCULATE.0 as f64);
    Ok(run.get("context_switches")? / recalculations.max(1.0))
}

fn chart(runs: &[Run]) -> Chart {
    let mean = |length: u64| runs.iter().map(|run| at_least(run, length)).sum::<f64>() / runs.len() as f64;
    let point = |length: u64, y: f64| Point { x: length as f64, y, ci95: None };
    let simulated = (1..=36).map(|length| point(length, mean(length))).collect();
    let published = vec![point(11, 0.04), point(20, 0.001)];
    Chart {
        title: "How long the run queue is".into(),
        x: "tasks runnable".into(),
        y: "share of time with at least so many".into(),
        doubling: false,
        lines: vec![
            Line { name: "simulated".into(), published: false, points: simulated },
            Line { name: "published".into(), published: true, points: published },
        ],
    }
}
