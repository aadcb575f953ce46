//! Four mixed jobs of fio's kind on a real loop device under the kernel's elevators: does the simulator, fitted to `none`,
//! foretell what the others do?
//!
//! The device is fitted to three numbers measured under `none`: reads a second, writes a second, and the p99 of the reads at
//! depth 1, which sets the length of the window in which the device grants its allowance (the value of [`WINDOWS`] whose
//! simulated p99 is nearest). Everything under the other elevators is predicted, at the kernel's defaults.

mod gate;
mod jobs;

use crate::{Estimate, Findings, Lab, Parameter, Row, Study};
use gate::Gate;
use goodness_block::{Drive, QueueOptions, Storage, by_name};
use goodness_core::{Seed, Span, Time};
use jobs::{JOBS, Load};
use rayon::prelude::*;

/// The study.
pub const STUDY: Study<'static> = Study {
    name: "fio-mixed",
    question: "Fitted to a real device without an elevator, does the simulator foretell what the elevators of Linux do to it?",
    source: "measured by scripts/measure-fio-mixed: Linux 6.18, November 2026",
    published: include_str!("../../../studies/fio-mixed/published.toml"),
    corners: &[],
    parameters: &[
        Parameter {
            name: "service",
            unit: "us",
            value: 50.0,
            low: 20.0,
            high: 200.0,
            because: "What an I/O takes in a loop device that nothing limits, on the busy machine of the measurement.",
        },
        Parameter {
            name: "pause",
            unit: "us",
            value: 50.0,
            low: 10.0,
            high: 500.0,
            because: "What a job takes from a completion to its next request, on the same machine.",
        },
    ],
    runs: 6,
    conduct: &conduct,
};

/// Size of the disk: 1 GiB.
const SECTORS: u64 = 1 << 21;
/// Length of a run.
const LENGTH: Time = Time(10_000_000_000);
/// Windows tried, in ms.
const WINDOWS: [u64; 10] = [5, 10, 20, 40, 60, 80, 100, 120, 150, 200];
/// What is predicted.
const PREDICTED: [&str; 3] = ["mq-deadline", "kyber", "bfq"];

/// The fitted device.
#[derive(Clone, Copy)]
struct Fit {
    window: Span,
    rates: [u64; 2],
}

/// What came out of one elevator, a number for each replication.
struct Seen {
    total: Vec<f64>,
    p99: Vec<f64>,
    jobs: [Vec<f64>; JOBS.len()],
}

fn conduct(lab: &Lab) -> Result<Findings, String> {
    let fit = fit(lab)?;
    let none = run(lab, "none", fit)?;
    let mut findings = Findings::default();
    let input = "An input: the device is fitted to it.";
    findings.rows.push(as_input(lab.row("iops.none", &none.total, input)?));
    findings.rows.push(as_input(lab.row("p99.none", &none.p99, input)?));
    for (job, about) in JOBS.iter().enumerate() {
        let note = "Fitted as the sum of its direction; how the jobs share it follows from turns by order of arrival.";
        findings.rows.push(as_input(lab.row(&format!("{}.none", about.name), &none.jobs[job], note)?));
    }
    for elevator in PREDICTED {
        let seen = run(lab, elevator, fit)?;
        let note = note(elevator);
        findings.rows.push(lab.row(&format!("iops.{elevator}"), &seen.total, note)?);
        findings.rows.push(lab.row(&format!("p99.{elevator}"), &seen.p99, note)?);
        for (job, about) in JOBS.iter().enumerate() {
            findings.rows.push(lab.row(&format!("{}.{elevator}", about.name), &seen.jobs[job], note)?);
        }
        let ratios: Vec<f64> = seen.jobs[0].iter().zip(&none.jobs[0]).map(|(one, none)| one / none).collect();
        findings.rows.push(lab.row(&format!("ratio.{elevator}"), &ratios, note)?);
    }
    findings.rows.push(Row::unpublished(
        "window in which the device grants its allowance",
        "ns",
        Some(&Estimate::exact(fit.window.0 as f64)),
        "Fitted to the p99 under none; blk-throttle's slice is a tenth of a second.",
    ));
    findings.conclusion = "The total and the slowest reads come out, but they tell little: a device that grants so many I/Os a second and has more \
        tags than requests leaves the elevators nothing to decide, and under all four the kernel's figures are alike. The reader at depth 1 gets a \
        third more from the kernel than the model gives it, under none too."
        .into();
    Ok(findings)
}

fn note(elevator: &str) -> &'static str {
    match elevator {
        "mq-deadline" => "29 requests fit into 128 tags: nothing waits where it could be sorted.",
        "kyber" => "29 requests fit into 128 tags and into the tokens of their domains.",
        _ => {
            "In the simulation the turns of bfq leave part of the writes' allowance unused, on the kernel they do not."
        }
    }
}

/// A row that has no verdict, because what it says was used.
fn as_input(row: Row) -> Row {
    Row { verdict: crate::Verdict::Unpublished, ..row }
}

/// The rates of both directions under none, and the window that comes nearest to the p99 of the reads at depth 1.
fn fit(lab: &Lab) -> Result<Fit, String> {
    let mut rates = [0.0; 2];
    for job in JOBS {
        rates[usize::from(!job.reads)] += lab.value(&format!("{}.none", job.name))?;
    }
    let rates = rates.map(|rate| rate.round() as u64);
    let wanted = lab.value("p99.none")?;
    let mut best = (f64::INFINITY, Fit { window: Span::ZERO, rates });
    for window in WINDOWS {
        let fit = Fit { window: Span::from_ms(window), rates };
        let p99 = Estimate::of(&run(lab, "none", fit)?.p99).map_or(f64::INFINITY, |estimate| estimate.value);
        if (p99 - wanted).abs() < best.0 {
            best = ((p99 - wanted).abs(), fit);
        }
    }
    Ok(best.1)
}

/// All replications under `elevator`.
fn run(lab: &Lab, elevator: &str, fit: Fit) -> Result<Seen, String> {
    let of = |replication: u32| one(lab, elevator, fit, Seed(lab.seed).stream("replication", u64::from(replication)));
    let loads = (0..lab.runs).into_par_iter().map(of).collect::<Result<Vec<Load>, String>>()?;
    let rate = |load: &Load, job: usize| load.latencies[job].len() as f64 * 1e9 / LENGTH.0 as f64;
    let total = |load: &Load| (0..JOBS.len()).map(|job| rate(load, job)).sum();
    Ok(Seen {
        total: loads.iter().map(total).collect(),
        p99: loads.iter().map(|load| p99(&load.latencies[0])).collect(),
        jobs: std::array::from_fn(|job| loads.iter().map(|load| rate(load, job)).collect()),
    })
}

fn one(lab: &Lab, elevator: &str, fit: Fit, seed: Seed) -> Result<Load, String> {
    let span = |name: &str| Span((lab.parameter(name) * 1000.0) as u64);
    let device = Gate::new(SECTORS, fit.window, fit.rates, span("service"));
    let options = QueueOptions { hz: 250, seed, ..QueueOptions::default() };
    let mut storage = Storage::single(by_name(elevator, &options, Box::new(device))?);
    let mut load = Load::new(SECTORS, span("pause"), LENGTH, seed.stream("load", 0).rng());
    Drive::new(&mut storage).run(&mut load, LENGTH).map_err(|fault| format!("{elevator}: {fault}"))?;
    Ok(load)
}

/// The time that 99 of a hundred do not exceed.
fn p99(latencies: &[u64]) -> f64 {
    let mut sorted = latencies.to_vec();
    sorted.sort_unstable();
    sorted.get(sorted.len() * 99 / 100).map_or(f64::NAN, |ns| *ns as f64)
}
