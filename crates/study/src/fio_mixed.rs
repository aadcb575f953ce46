//! Four mixed jobs of fio's kind on a real loop device under the kernel's elevators: does the simulator, fitted to `none`,
//! foretell what the others do?
//!
//! The device is a sample of what the real one was seen to take under `none`, from issue to completion, for each operation and
//! size; one factor for all of them is fitted so that the simulated total under `none` is the measured one. Everything under
//! the other elevators is predicted, at the kernel's defaults.

mod jobs;

use crate::{Estimate, Findings, Lab, Parameter, Row, Study};
use goodness_block::{Drive, QueueOptions, Storage, by_name};
use goodness_core::{DeviceFacts, Operation, Seed, Service, Span, Time};
use goodness_device::recorded::Recorded;
use jobs::{CPUS, JOBS, Load};
use rayon::prelude::*;

/// The study.
pub const STUDY: Study<'static> = Study {
    name: "fio-mixed",
    question: "Fitted to a real device without an elevator, does the simulator foretell what the elevators of Linux do to it?",
    source: "measured by scripts/measure-fio-mixed: Linux 6.18, November 2026",
    published: concat!(
        include_str!("../../../studies/fio-mixed/guest.toml"),
        include_str!("../../../studies/fio-mixed/loop.toml")
    ),
    corners: &[],
    parameters: &[Parameter {
        name: "pause",
        unit: "us",
        value: 10.0,
        low: 2.0,
        high: 50.0,
        because: "What a job takes from a completion to its next request: two system calls.",
    }],
    runs: 6,
    conduct: &conduct,
};

/// Size of the disk: 1 GiB.
const SECTORS: u64 = 1 << 21;
/// Length of a run.
const LENGTH: Time = Time(10_000_000_000);
/// Requests that the measured device takes at a time (TAGS of the example `fio_mixed` of crates/live).
const TAGS: u32 = 4;
/// Requests that may wait with an elevator: what the kernel gives a device that says 128.
const REQUESTS: u32 = 256;
/// The devices: what the numbers begin with, and what the device was seen to take.
const DEVICES: [(&str, &str); 2] = [
    // It is told to take half a millisecond for everything.
    ("guest", "[[kind]]\nreads = true\nsectors = 8\nns = [500000]\n"),
    ("loop", include_str!("../../../studies/fio-mixed/service.toml")),
];
/// Rounds of fitting; the third changes nothing.
const FITTINGS: usize = 3;
/// What was measured; all but the first are predicted.
const ELEVATORS: [&str; 4] = ["none", "mq-deadline", "kyber", "bfq"];

/// A kind of request, and what it was seen to take.
#[derive(serde::Deserialize)]
struct Kind {
    reads: bool,
    sectors: u32,
    /// Percentiles 0.5, 1.5, … 99.5.
    ns: Vec<u64>,
}

/// All kinds.
#[derive(serde::Deserialize)]
struct Kinds {
    kind: Vec<Kind>,
}

/// What came out of one elevator, a number for each replication.
struct Seen {
    total: Vec<f64>,
    p99: Vec<f64>,
    /// Each job's part of the total.
    shares: [Vec<f64>; JOBS.len()],
}

fn conduct(lab: &Lab) -> Result<Findings, String> {
    let mut findings = Findings { conclusion: CONCLUSION.into(), ..Findings::default() };
    for (place, service) in DEVICES {
        let fit = fit(lab, place, service)?;
        for elevator in ELEVATORS {
            let seen = run(lab, elevator, &fit)?;
            let row = |key: &str, values: &[f64]| {
                lab.row(&format!("{place}.{key}.{elevator}"), values, note(place, elevator))
            };
            let total = row("iops", &seen.total)?;
            findings.rows.push(if elevator == "none" { as_input(total) } else { total });
            findings.rows.push(row("p99", &seen.p99)?);
            for (job, about) in JOBS.iter().enumerate() {
                findings.rows.push(row(&format!("share-{}", about.name), &seen.shares[job])?);
            }
        }
        findings.rows.push(Row::unpublished(
            &format!("{place}: times of the device, by those that were seen"),
            "ratio",
            Some(&Estimate::exact(fit.factor)),
            "Fitted to the total under none: what sleeping for a free tag costs is in it.",
        ));
    }
    Ok(findings)
}

const CONCLUSION: &str = "Where requests wait for one of four tags, the elevators differ by up to three times in the slowest reads, and a simulation that \
    was told nothing but the total under none foretells it: on the device that takes the same time for everything, totals, shares and \
    p99 of all three elevators are within a tenth. On the loop device, whose times hang together (a slow one is followed by slow ones, and \
    its CPUs are those of the jobs), totals and shares come out and the p99 is underestimated.";

fn note(place: &str, elevator: &str) -> &'static str {
    match (place, elevator) {
        (_, "none") => {
            "The total is an input. On the kernel a thread that comes just then takes a tag before who sleeps for it."
        }
        (_, "mq-deadline") => "Reads go first, two batches of them for each of writes.",
        (_, "kyber") => "Turns of 16 reads and 8 writes, while its tokens do not limit.",
        _ => "The jobs begin together and share a queue: each gets as much as it keeps waiting.",
    }
}

/// A row that has no verdict, because what it says was used.
fn as_input(row: Row) -> Row {
    Row { verdict: crate::Verdict::Unpublished, ..row }
}

/// The fitted device.
struct Fit {
    services: Vec<Service>,
    factor: f64,
}

/// The times seen, all multiplied by what makes the total under none the measured one.
fn fit(lab: &Lab, place: &str, service: &str) -> Result<Fit, String> {
    let seen: Kinds = toml::from_str(service).map_err(|why| format!("fio-mixed, {place}: {why}"))?;
    let wanted = lab.value(&format!("{place}.iops.none"))?;
    let mut fit = Fit { services: services(&seen, 1.0), factor: 1.0 };
    for _ in 0..FITTINGS {
        let total = run(lab, "none", &fit)?.total;
        fit.factor *= total.iter().sum::<f64>() / total.len() as f64 / wanted;
        fit.services = services(&seen, fit.factor);
    }
    Ok(fit)
}

fn services(seen: &Kinds, factor: f64) -> Vec<Service> {
    let of = |kind: &Kind| {
        let op = if kind.reads { Operation::Read } else { Operation::Write };
        let sectors = kind.sectors;
        let one = |ns: &u64| Service { op, sectors, is_sequential: false, span: Span((*ns as f64 * factor) as u64) };
        kind.ns.iter().map(one).collect::<Vec<Service>>()
    };
    seen.kind.iter().flat_map(of).collect()
}

/// All replications under `elevator`.
fn run(lab: &Lab, elevator: &str, fit: &Fit) -> Result<Seen, String> {
    let of = |replication: u32| one(lab, elevator, fit, Seed(lab.seed).stream("replication", u64::from(replication)));
    let loads = (0..lab.runs).into_par_iter().map(of).collect::<Result<Vec<Load>, String>>()?;
    let rate = |load: &Load, job: usize| load.latencies[job].len() as f64 * 1e9 / LENGTH.0 as f64;
    let total = |load: &Load| (0..JOBS.len()).map(|job| rate(load, job)).sum::<f64>();
    Ok(Seen {
        total: loads.iter().map(total).collect(),
        p99: loads.iter().map(|load| p99(&load.latencies[0])).collect(),
        shares: std::array::from_fn(|job| loads.iter().map(|load| rate(load, job) / total(load)).collect()),
    })
}

fn one(lab: &Lab, elevator: &str, fit: &Fit, seed: Seed) -> Result<Load, String> {
    let span = |name: &str| Span((lab.parameter(name) * 1000.0) as u64);
    let facts = DeviceFacts {
        sectors: SECTORS,
        depth: TAGS,
        queues: 1,
        rotational: false,
        sectors_max: 2560,
        volatile_cache: false,
    };
    let device = Recorded::new(facts, TAGS, &fit.services, seed.stream("device", 0))?;
    let requests = Some(if elevator == "none" { TAGS } else { REQUESTS });
    let options = QueueOptions { hz: 250, seed, requests, cpus: CPUS, ..QueueOptions::default() };
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
