//! Built-in workloads, with each setting at its least in turn; the examples; fio jobs with drawn options on each device
//! behind drawn elevators. Each is compared under its standard policy and a drawn one, and explained under both.

use super::{any_policy, compared, hold, line};
use goodness::{OpenOptions, open, unwatched};
use goodness_core::{Rng, Seed};
use goodness_device::DEVICES;
use goodness_work::models::{Model, WORKLOADS};
use std::fmt::Write as _;
use std::path::Path;

/// Duration of built-in workloads that have one.
const DURATION: &str = "duration=150ms";
/// Built-in workloads that take too long here.
const LONG: [&str; 2] = ["dbload", "yield-benchmark"];
/// Job files for each device.
const JOBS: u64 = 6;
/// Options of fio and their values.
const OPTIONS: [(&str, &[&str]); 26] = [
    ("rw", &["read", "write", "randread", "randwrite", "rw", "randrw", "read:8k", "randread:4"]),
    ("bs", &["4k", "512", "64k", "4k,16k", "1m"]),
    ("bsrange", &["4k-32k", "512-2k,4k-8k"]),
    ("bssplit", &["4k/50:8k/30:64k/", "1k/10:2k/90"]),
    ("blockalign", &["4k", "1m"]),
    ("iodepth", &["3", "4", "32", "300"]),
    ("iodepth_batch", &["2", "8"]),
    ("iodepth_low", &["1", "2"]),
    ("numjobs", &["1", "2", "3"]),
    ("nrfiles", &["1", "3"]),
    ("random_distribution", &["zipf:1.2", "zipf:0.6", "pareto:0.2", "normal:15", "zoned:60/10:30/20:8/30:2/40"]),
    ("percentage_random", &["0", "50", "80,20"]),
    ("rw_sequencer", &["identical"]),
    ("verify", &["crc32c"]),
    ("filesize", &["16m"]),
    ("random_generator", &["lfsr", "tausworthe64"]),
    ("norandommap", &["1"]),
    ("rwmixread", &["20", "90"]),
    ("rate", &["1m", "10m,5m"]),
    ("rate_iops", &["100", "2000,500"]),
    ("rate_process", &["poisson"]),
    ("thinktime", &["300", "2ms"]),
    ("thinktime_blocks", &["3"]),
    ("fsync", &["1", "7"]),
    ("offset", &["1m", "30%"]),
    ("io_size", &["300k", "20m"]),
];
const ELEVATORS: [&str; 6] = ["none", "mq-deadline", "bfq", "kyber", "cfq", "as"];

/// The work, compared with an arm and explained under both.
fn told(text: &str, options: &OpenOptions, arm: &str) -> String {
    let work = open(text, options, &unwatched);
    work.and_then(|work| compared(&work, arm)).unwrap_or_else(|refusal| refusal.to_string())
}

/// A model as it is, then with each setting at its least.
fn model(model: &Model) -> String {
    let tunables = (model.tunables)();
    let duration = tunables.iter().any(|it| it.name == "duration").then_some(DURATION);
    let least = tunables.iter().filter(|it| it.name != "duration");
    let least = least.filter_map(|it| Some(format!("{}={}", it.name, it.range.split_once(" ..= ")?.0)));
    let mut rng = Seed(1).stream(model.name, 0).rng();
    let texts = [None].into_iter().chain(least.map(Some)).map(|setting| {
        let settings = Vec::from_iter(setting.as_deref().into_iter().chain(duration)).join(",");
        let text = if settings.is_empty() { model.name.into() } else { format!("{}:{settings}", model.name) };
        told(&text, &OpenOptions::default(), &any_policy(&mut rng))
    });
    line("works", model.name, &Vec::from_iter(texts))
}

fn job(rng: &mut Rng) -> String {
    let mut text = String::from("[global]\nruntime=100ms\ntime_based\nsize=24m\n");
    for job in 0..=rng.below(2) {
        let _ = writeln!(
            text,
            "[job{job}]\nioengine={}\ndirect={}",
            ["libaio", "psync"][rng.below(2) as usize],
            rng.below(2)
        );
        for (name, values) in OPTIONS {
            if rng.below(4) == 0 {
                let _ = writeln!(text, "{name}={}", values[rng.below(values.len() as u64) as usize]);
            }
        }
    }
    text
}

/// Drawn jobs on a device.
fn device(name: &str, folder: &Path) -> String {
    let path = folder.join("job.fio");
    let path = path.to_str().expect("a plain path");
    let texts = (0..JOBS).map(|number| {
        let mut rng = Seed(number).stream(name, 0).rng();
        std::fs::write(path, job(&mut rng)).expect("the folder can be written to");
        let options = OpenOptions { device: Some(name.into()), ..OpenOptions::default() };
        let elevator = ELEVATORS[rng.below(ELEVATORS.len() as u64) as usize];
        let arm = format!("{}+{elevator}", any_policy(&mut rng));
        told(path, &options, &arm).replace(folder.to_str().expect("a plain path"), "")
    });
    line("works", &format!("on-{name}"), &Vec::from_iter(texts))
}

fn examples() -> String {
    let mut found = Vec::new();
    for folder in ["examples", "crates/work/tests/fixtures/rt-app"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder);
        let files = std::fs::read_dir(folder).expect("a folder").map(|it| it.expect("a file").path());
        found.extend(files.filter(|it| it.is_file()));
    }
    found.sort();
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../");
    let mut rng = Seed(1).stream("examples", 0).rng();
    let of = |path: &std::path::PathBuf| {
        let arm = any_policy(&mut rng);
        told(path.to_str().expect("a plain path"), &OpenOptions::default(), &arm).replace(root, "")
    };
    line("works", "examples", &Vec::from_iter(found.iter().map(of)))
}

#[test]
fn works_come_to_what_the_ledger_says() {
    let folder = tempfile::tempdir().expect("a folder");
    let models = WORKLOADS.iter().filter(|it| !LONG.contains(&it.name)).map(model);
    let devices = DEVICES.iter().map(|it| device(it.name, folder.path()));
    hold("works", &Vec::from_iter(models.chain(devices).chain([examples()])));
}
