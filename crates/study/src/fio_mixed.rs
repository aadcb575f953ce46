//! Predicts four mixed fio jobs under the kernel's elevators on a real loop device, from measurements under `none`.
//!
//! The device model has the service times measured under `none`, from issue to completion, by operation and size, and
//! the measured pace ([`goodness_device::pace`]). One factor on all times is fitted so that four busy tags give the
//! total throughput measured under `none`, with the measured shares of the jobs. Everything under the other elevators
//! is predicted, at the kernel's defaults.

mod jobs;
mod model;

use crate::{Estimate, Findings, Lab, Parameter, Row, Study};
use goodness::Replication;
use goodness_block::{Drive, QueueOptions, Storage, by_name};
use goodness_core::{DeviceFacts, Seed, Span, Time};
use jobs::{CPUS, JOBS, Load};
use model::Model;
use rayon::prelude::*;

/// The study.
pub const STUDY: Study<'static> = Study {
    name: "fio-mixed",
    question: "Fitted to a real device without an elevator, does the simulator predict the effect of Linux's \
        elevators?",
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
/// Length of a run: that of a measured round, because bfq needs a while to classify processes.
const LENGTH: Time = Time(4_000_000_000);
/// Queue depth of the measured device (TAGS of the example `fio_mixed` of crates/kernel/ublk).
const TAGS: u32 = 4;
/// Most requests in the elevator: the kernel's default for a device of depth 128.
const REQUESTS: u32 = 256;
/// Devices: prefix of their numbers, and their service times.
const DEVICES: [(&str, &str); 2] = [
    // It is told to take half a millisecond for everything.
    ("guest", "[[kind]]\nreads = true\nsectors = 8\nns = [500000]\n"),
    ("loop", include_str!("../../../studies/fio-mixed/service.toml")),
];
/// Measured elevators; all but the first are predicted.
const ELEVATORS: [&str; 4] = ["none", "mq-deadline", "kyber", "bfq"];

/// Results of one elevator, one number per replication.
struct Seen {
    total: Vec<f64>,
    p99: Vec<f64>,
    /// Each job's part of the total.
    shares: [Vec<f64>; JOBS.len()],
}

fn conduct(lab: &Lab) -> Result<Findings, String> {
    let mut findings = Findings { conclusion: CONCLUSION.into(), ..Findings::default() };
    for (place, service) in DEVICES {
        let model = fit(lab, place, service)?;
        let seen =
            ELEVATORS.iter().map(|elevator| run(lab, elevator, &model)).collect::<Result<Vec<Seen>, String>>()?;
        for (elevator, seen) in ELEVATORS.iter().zip(&seen) {
            rows(lab, place, elevator, seen, &mut findings.rows)?;
        }
        if place == "loop" {
            orders(lab, place, &seen, &mut findings.rows)?;
        }
        findings.rows.push(Row::unpublished(
            &format!("{place}: times of the device, by those that were seen"),
            "ratio",
            Some(&Estimate::exact(model.factor)),
            "What makes four busy tags give the total and the shares under none: what sleeping for a free tag costs is \
                in it.",
        ));
    }
    Ok(findings)
}

/// Rows of `elevator`.
fn rows(lab: &Lab, place: &str, elevator: &str, seen: &Seen, rows: &mut Vec<Row>) -> Result<(), String> {
    let row = |key: &str, values: &[f64]| lab.row(&format!("{place}.{key}.{elevator}"), values, note(place, elevator));
    let total = row("iops", &seen.total)?;
    rows.push(if elevator == "none" { as_input(total) } else { total });
    rows.push(row("p99", &seen.p99)?);
    for (job, about) in JOBS.iter().enumerate() {
        rows.push(row(&format!("share-{}", about.name), &seen.shares[job])?);
    }
    Ok(())
}

/// Order of two predicted elevators, replication by replication. It counts as published if it was the same in all
/// measured rounds.
fn orders(lab: &Lab, place: &str, seen: &[Seen], rows: &mut Vec<Row>) -> Result<(), String> {
    for (one, other) in [(1, 2), (1, 3), (2, 3)] {
        let mut row = |key: &str, of: fn(&Seen) -> &[f64]| -> Result<(), String> {
            let key = format!("{place}.{key}-order.{}.{}", ELEVATORS[one], ELEVATORS[other]);
            let ratios: Vec<f64> =
                of(&seen[one]).iter().zip(of(&seen[other])).map(|(one, other)| one / other).collect();
            rows.push(lab.row(&key, &ratios, "An order counts as measured where every round had it.")?);
            Ok(())
        };
        row("iops", |seen| &seen.total)?;
        row("p99", |seen| &seen.p99)?;
    }
    Ok(())
}

const CONCLUSION: &str = "Where requests wait for one of four tags, the elevators differ by up to three times in the \
    slowest reads, and a simulation fitted only to the run under none predicts totals, shares and p99 \
    of mq-deadline, kyber and bfq on both devices, and every order that all rounds agreed on. On the loop device p99 \
    depends on how much of the slow times the model contains: a model of percentiles has no stalls and underestimates \
    it by up to a half.";

fn note(place: &str, elevator: &str) -> &'static str {
    match (place, elevator) {
        (_, "none") => {
            "Total and shares are inputs. On the kernel a thread that comes just then takes a tag before who sleeps \
                for it."
        }
        (_, "mq-deadline") => "Reads go first, two batches of them for each of writes.",
        (_, "kyber") => "Turns of 16 reads and 8 writes, while its tokens do not limit.",
        _ => "The jobs begin together and share a queue: each gets as much as it keeps waiting.",
    }
}

/// A row without verdict, because its number is an input.
fn as_input(row: Row) -> Row {
    Row { verdict: crate::Verdict::Unpublished, ..row }
}

/// The model fitted to the total measured under none, with the measured shares of the jobs.
fn fit(lab: &Lab, place: &str, service: &str) -> Result<Model, String> {
    let mut model = Model::read(service).map_err(|why| format!("fio-mixed, {place}: {why}"))?;
    let mut mix = Vec::new();
    for job in &JOBS {
        mix.push((job, lab.value(&format!("{place}.share-{}.none", job.name))?));
    }
    model.fit(TAGS, lab.value(&format!("{place}.iops.none"))?, &mix);
    Ok(model)
}

/// All replications under `elevator`.
fn run(lab: &Lab, elevator: &str, model: &Model) -> Result<Seen, String> {
    let of = |replication: u32| one(lab, elevator, model, Replication::of(lab.seed, replication).seed);
    let loads = (0..lab.runs).into_par_iter().map(of).collect::<Result<Vec<Load>, String>>()?;
    let rate = |load: &Load, job: usize| load.latencies[job].len() as f64 * 1e9 / LENGTH.0 as f64;
    let total = |load: &Load| (0..JOBS.len()).map(|job| rate(load, job)).sum::<f64>();
    Ok(Seen {
        total: loads.iter().map(total).collect(),
        p99: loads.iter().map(|load| p99(&load.latencies[0])).collect(),
        shares: std::array::from_fn(|job| loads.iter().map(|load| rate(load, job) / total(load)).collect()),
    })
}

fn one(lab: &Lab, elevator: &str, model: &Model, seed: Seed) -> Result<Load, String> {
    let span = |name: &str| Span((lab.parameter(name) * 1000.0) as u64);
    let facts = DeviceFacts {
        sectors: SECTORS,
        depth: TAGS,
        queues: 1,
        rotational: model.rotational,
        sectors_max: 2560,
        volatile_cache: false,
        age_limit: None,
    };
    let device = model.device(facts, seed.stream("device", 0))?;
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
