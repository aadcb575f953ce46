//! fio's own examples: of those for ordinary engines, four fifths run. They are those of an installed fio (package
//! `fio-examples` of Debian); without it the test says SKIPPED.

use goodness_block::{Disk, QueueOptions, Storage, by_name};
use goodness_core::{Machine, MadePolicy, Seed, Span, Time, WorkloadSource};
use goodness_observe::{Ending, MetricsAndCheckers, Subject};
use goodness_policies::rr::RoundRobin;
use goodness_sim::{Options, simulate_with};
use goodness_work::fio::{self, FioWork, Outside};
use std::path::Path;

const FOLDER: &str = "/usr/share/doc/fio/examples";
/// Engines that read and write files of this machine, and need nothing more.
const ORDINARY: [&str; 8] = ["libaio", "io_uring", "sync", "psync", "vsync", "pvsync", "posixaio", "mmap"];
/// Large enough for all examples but one.
const DEVICE: &str = "sata-7200-4tb";

/// The engines that a job file names.
fn engines(text: &str) -> Vec<String> {
    let without_comment = |line: &str| line.split([';', '#']).next().unwrap_or_default().trim().to_string();
    let value = |line: String| line.strip_prefix("ioengine=").map(|engine| engine.trim().to_string());
    text.lines().map(without_comment).filter_map(value).collect()
}

/// The variables that examples use.
fn variable(name: &str) -> Option<String> {
    let all = [("FIO_RW", "randread"), ("FIO_IODEPTH", "4"), ("FIO_BS", "4k")];
    all.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).into())
}

/// Reads the job file and simulates its first tenth of a second. Returns the number of I/Os done.
fn run(name: &str, text: &str) -> Result<f64, String> {
    let options = fio::Options { device: DEVICE.into(), ..fio::Options::default() };
    let file = |name: &str| std::fs::read_to_string(Path::new(FOLDER).join(name)).map_err(|why| why.to_string());
    let work = FioWork::read(name, text, &options, &Outside { variable: &variable, file: &file })?;
    let mut work = work.build(Seed(1), 0);
    (work.horizon, work.warmup) = (Some(Time(100_000_000)), Span::ZERO);
    let machine = Machine::flat(1, 250).expect("a machine");
    let device = goodness_device::by_name(DEVICE, Seed(1))?;
    let disk: Box<dyn Disk> = by_name("mq-deadline", &QueueOptions::default(), device)?;
    let storage = Storage::new(vec![disk], &work.storage.volumes)?;
    let mut watch = MetricsAndCheckers::new(1, Time::ZERO, &Subject::all(&work));
    let policy = MadePolicy::of::<RoundRobin>(&machine, Default::default(), Seed(1));
    let outcome = simulate_with(&machine, policy, work, Some(storage), &mut watch, Options::default());
    let end = outcome.map_err(|fault| fault.to_string())?.end;
    let (measured, checked) = watch.finish(end, Ending::Horizon);
    assert_eq!(checked.violations, [], "{name}");
    Ok(measured.get("iops").value.unwrap_or(0.0))
}

#[test]
fn four_fifths_of_fios_examples_for_ordinary_engines_run() {
    let Ok(folder) = std::fs::read_dir(FOLDER) else {
        println!("SKIPPED: {FOLDER} is not there (apt-get install fio-examples), so none of fio's examples was run");
        return;
    };
    let mut names: Vec<_> = folder.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
    names.retain(|name| name.ends_with(".fio"));
    names.sort();
    let (mut of, mut refused) = (0, Vec::new());
    for name in &names {
        let text = std::fs::read_to_string(Path::new(FOLDER).join(name)).expect("an example");
        if !engines(&text).iter().all(|engine| ORDINARY.contains(&engine.as_str())) {
            continue;
        }
        of += 1;
        match run(name, &text) {
            Ok(done) => assert!(done > 0.0, "{name} does nothing"),
            Err(why) => refused.push(why),
        }
    }
    println!("of {of} examples for ordinary engines, {} run; refused:\n{}", of - refused.len(), refused.join("\n"));
    assert!(of > 30 && 5 * refused.len() <= of, "{} of {of} are refused:\n{}", refused.len(), refused.join("\n"));
}
