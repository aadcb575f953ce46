//! Drives a device without a block layer, and reads the measurements of real drives.
#![allow(dead_code, reason = "each test binary uses its part")]

use goodness_core::{Device, Io, Operation, Request, RequestId, Submitter, Time};
use std::io::Read as _;
use std::path::PathBuf;

/// A request to a device.
#[must_use]
pub fn request(op: Operation, sector: u64, sectors: u32) -> Request {
    Request::of(&Io { op, ..Io::read(Submitter(0), sector, sectors) }, Time::ZERO)
}

/// Advances the device to `until`. Completions are appended to `done` with their times.
pub fn run_until(device: &mut dyn Device, until: Time, done: &mut Vec<(Time, RequestId)>) {
    let mut batch = Vec::new();
    while device.next_event() <= until && device.next_event() != Time::NEVER {
        let at = device.next_event();
        device.advance(at, &mut batch);
        done.extend(batch.drain(..).map(|id| (at, id)));
    }
}

/// Starts `request` at `at` on an idle device. Returns its completion time.
pub fn one(device: &mut dyn Device, at: Time, request: &Request) -> Time {
    let mut done = Vec::new();
    run_until(device, at, &mut done);
    assert!(done.is_empty(), "the device was not idle");
    device.start(at, RequestId(0), request);
    while done.is_empty() {
        assert_ne!(device.next_event(), Time::NEVER, "the request never completes: {request:?}");
        let next = device.next_event();
        run_until(device, next, &mut done);
    }
    done[0].0
}

/// The folder of published drive files and measurements beside the repository; `None`, with a message, if missing.
pub fn disks() -> Option<PathBuf> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/disks");
    if folder.is_dir() {
        return Some(folder);
    }
    println!("SKIPPED: {} is not there, so nothing was compared with the published drives", folder.display());
    None
}

/// One measured request of a real drive.
#[derive(Clone, Copy, Debug)]
pub struct Measured {
    /// Read or write.
    pub op: Operation,
    /// First sector.
    pub sector: u64,
    /// Sectors.
    pub sectors: u32,
    /// Response time in nanoseconds.
    pub response: u64,
    /// Nanoseconds from its completion to the next request.
    pub gap: u64,
}

/// The requests sent to the drive `name`.
pub fn measured(name: &str) -> Option<Vec<Measured>> {
    let packed = std::fs::File::open(disks()?.join(format!("{name}.measured.xz"))).expect("the measured answers open");
    let mut text = String::new();
    lzma_rust2::XzReader::new(std::io::BufReader::new(packed), false)
        .read_to_string(&mut text)
        .expect("the measured answers unpack");
    let line = |line: &str| {
        let word: Vec<&str> = line.split_whitespace().collect();
        let ns = |text: &str| (text.parse::<f64>().expect("a time") * 1000.0) as u64;
        Measured {
            op: if word[0] == "R" { Operation::Read } else { Operation::Write },
            sector: word[2].parse().expect("an address"),
            sectors: word[3].parse().expect("a size"),
            response: ns(word[4]),
            gap: ns(word[5]),
        }
    };
    Some(text.lines().filter(|text| !text.trim().is_empty()).map(line).collect())
}

/// Replays measured requests, each after its gap from the previous completion. Returns response times in ns.
pub fn replay(device: &mut dyn Device, sent: &[Measured]) -> Vec<u64> {
    let mut at = Time(1_000_000);
    let mut responses = Vec::with_capacity(sent.len());
    for measured in sent {
        let done = one(device, at, &request(measured.op, measured.sector, measured.sectors));
        responses.push((done - at).ns());
        at = Time(done.ns() + measured.gap);
    }
    responses
}

/// Demerit figure in ms (Ruemmler and Wilkes 1994): root mean square of the horizontal distance between two
/// distributions of equally many response times, comparing the n-th shortest with the n-th shortest.
#[must_use]
pub fn demerit(real: &[u64], simulated: &[u64]) -> f64 {
    let sorted = |values: &[u64]| {
        let mut values = values.to_vec();
        values.sort_unstable();
        values
    };
    let (real, simulated) = (sorted(real), sorted(simulated));
    let square = |(a, b): (&u64, &u64)| (*a as f64 - *b as f64).powi(2);
    let sum: f64 = real.iter().zip(&simulated).map(square).sum();
    (sum / real.len() as f64).sqrt() / 1e6
}
