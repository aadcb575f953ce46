//! Command lines: a command, its file, and options as its help names them.

use super::files::{File, VALUES};
use crate::common::{folder, goodness, text};
use goodness_core::Rng;

/// Commands that take a file and only simulate.
const COMMANDS: [&str; 9] = ["run", "compare", "why", "verify", "summarise", "diff", "shrink", "tune", "run"];
/// Values for options, beside those of files.
const WORDS: [&str; 30] = [
    "eevdf",
    "rr:timeslice=1ns",
    "cfs:kernel=9.9",
    "lottery",
    "mlfq:boost=1ns",
    "sjf",
    "eevdf:base_slice=0",
    "bfq",
    "kyber:",
    "mq-deadline:read_expire=1ns",
    "sata-7200-4tb",
    "nvme-2023:x=1",
    "x.nice=-5",
    "*.class=rt",
    "cpus=0",
    "cpus=4096",
    "hogs=3",
    "hz=1",
    "hz=100000",
    "wakeup_latency_p99",
    "throughput",
    "request_latency_p999 > +5%",
    "jain_index >= -0.02",
    "base_slice=1ns..1h",
    "/dev/zero",
    "/dev/full",
    ".",
    "nowhere/out",
    "pinned",
    "base",
];

/// The options of each command.
pub struct Options {
    /// By command: name, and whether it takes a value.
    of: Vec<Vec<(String, bool)>>,
}

impl Options {
    /// The options that the program's help names.
    pub fn of_program() -> Options {
        let here = folder();
        let of = |command: &&str| {
            let help = text(&goodness(here.path(), &[command, "--help"]).stdout);
            let named = help.lines().filter_map(|line| {
                let option = line.trim_start().split(' ').find(|it| it.starts_with("--"))?;
                let is_head = line.len() - line.trim_start().len() <= 6;
                (is_head && option != "--help").then(|| (option.trim_end_matches(',').to_string(), line.contains('<')))
            });
            named.collect::<Vec<_>>()
        };
        let of: Vec<Vec<(String, bool)>> = COMMANDS.iter().map(of).collect();
        assert!(of.iter().all(|it| !it.is_empty()), "{of:?}");
        Options { of }
    }

    /// A command line for `file`, most of them without options.
    pub fn draw(&self, file: &File, rng: &mut Rng) -> Vec<String> {
        // Seven of eight fit the file.
        let unfit: &[&str] = if file.is_recording() { &["shrink"] } else { &["summarise", "verify"] };
        let fits = |it: &usize| rng.below(8) == 0 || !unfit.contains(&COMMANDS[*it]);
        let mut places: Vec<usize> = (0..COMMANDS.len()).filter(fits).collect();
        let place = places.swap_remove(rng.below(places.len() as u64) as usize);
        let mut words = vec![COMMANDS[place].to_string(), file.name.clone()];
        words.extend(usual(COMMANDS[place]).iter().map(ToString::to_string));
        for _ in 0..rng.below(6).saturating_sub(3) {
            let options = &self.of[place];
            let (name, takes) = &options[rng.below(options.len() as u64) as usize];
            words.push(name.clone());
            if *takes {
                let pools: [&[&str]; 2] = [&VALUES, &WORDS];
                let pool = pools[rng.below(2) as usize];
                words.push(pool[rng.below(pool.len() as u64) as usize].to_string());
            }
        }
        words
    }
}

/// Options without which a command asks for some, or takes too long for many draws.
fn usual(command: &str) -> &'static [&'static str] {
    match command {
        "compare" => &["-p", "eevdf", "-p", "o1", "--runs", "2"],
        "diff" => &["-p", "eevdf", "-p", "cfs", "--runs", "2"],
        "shrink" => &["-p", "eevdf", "-p", "rr"],
        "tune" => &["--over", "base_slice", "--candidates", "2", "--rounds", "1", "--runs", "2", "--search-runs", "2"],
        _ => &[],
    }
}
