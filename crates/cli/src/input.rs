//! Options for reading inputs.

use crate::failure::Failure;
use crate::words::quoted;
use goodness::{Arrivals, BlockEvents, Ends, Excerpt, OpenOptions, Others, ReplayOptions};
use goodness_core::Span;
#[cfg(feature = "live")]
use std::time::Duration;

/// Options for reading inputs.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct InputOptions {
    /// Machine to run on: a preset, a TOML file, or an inline table such as cpus=2,hz=250 (`goodness list machines`).
    #[arg(long)]
    pub machine: Option<String>,
    /// Accept rt-app keys that have no effect here, and name them in the report.
    #[arg(long)]
    pub lenient: bool,
    /// Whose latency and work is judged: a task or process by name (worker*) or id (1234), or a cgroup
    /// (/system.slice/*). May be repeated. Default: what `goodness record` was told to record, else all user tasks.
    #[arg(long, value_name = "NAME|PID|CGROUP")]
    pub judge: Vec<String>,
    /// Attributes of tasks that the trace does not state, as in --arm: worker*.affinity=0-1, x.class=batch. May
    /// be repeated.
    #[arg(long, value_name = "FACT…")]
    pub fact: Vec<String>,
    /// Only this part of a recording of scheduling: 10s..20s, 10s.. or 10s, counted from its first event.
    #[arg(long, value_name = "FROM..TO", value_parser = Excerpt::parse)]
    pub window: Option<Excerpt>,
    /// When wake-ups from outside the recorded tasks come: as long after the wait began as recorded (delays: a closed
    /// loop; periodic timers when they expire), or at the recorded time (recorded: an open loop).
    #[arg(long, default_value = "delays", value_parser = ["delays", "recorded"])]
    pub arrivals: String,
    /// What tasks do after their recorded work: start over, measured in the recorded window (open), or end, measured
    /// until all work is done (recorded).
    #[arg(long, default_value = "open", value_parser = ["open", "recorded"])]
    pub ends: String,
    /// Leave out tasks that are not judged.
    #[arg(long)]
    pub without_others: bool,
    /// Policy that made the recording, if its kernel version does not determine it; elevator of a block trace.
    #[arg(long, value_name = "POLICY")]
    pub recorded_by: Option<String>,
    /// Disk of a trace of block I/O or of fio jobs, with settings (`goodness list devices`), or a file of `calibrate
    /// --device`. Default: the trace's own service times, or sata-7200-4tb if it has none; nvme for fio.
    #[arg(long, value_name = "DEVICE[:KEY=VAL,…]|FILE.toml")]
    pub device: Option<String>,
    /// Events of a block I/O trace to replay: queue, arrivals at the block layer (default), or issue, requests that the
    /// recorded elevator issued to the device.
    #[arg(long, value_name = "EVENTS", value_parser = ["queue", "issue"])]
    pub block_events: Option<String>,
    /// Replay only the block I/O of a recording that also has scheduling.
    #[arg(long)]
    pub block_only: bool,
    /// CPU time of each I/O of fio jobs, for submission and completion (2us).
    #[arg(long, value_name = "TIME")]
    pub io_cost: Option<String>,
}

impl InputOptions {
    /// Converts to the library's options.
    ///
    /// # Errors
    /// An invalid time.
    pub fn read(&self) -> Result<OpenOptions, Failure> {
        let events = |text: &str| if text == "issue" { BlockEvents::Issue } else { BlockEvents::Queue };
        Ok(OpenOptions {
            machine: self.machine.clone(),
            lenient: self.lenient,
            replay: ReplayOptions {
                arrivals: if self.arrivals == "recorded" { Arrivals::Recorded } else { Arrivals::Delays },
                others: if self.without_others { Others::LeftOut } else { Others::Compete },
                ends: if self.ends == "recorded" { Ends::Recorded } else { Ends::Open },
            },
            judge: self.judge.clone(),
            fact: self.fact.clone(),
            window: self.window.unwrap_or_default(),
            recorded_by: self.recorded_by.clone(),
            device: self.device.clone(),
            block_events: self.block_events.as_deref().map(events),
            block_only: self.block_only,
            io_cost: self.io_cost.as_deref().map(|text| span("--io-cost", text)).transpose()?,
        })
    }

    /// Command-line words that read `input` with these options.
    pub fn words(&self, input: &str) -> String {
        let mut words = vec![quoted(input)];
        let named = [
            ("--machine", &self.machine),
            ("--recorded-by", &self.recorded_by),
            ("--device", &self.device),
            ("--io-cost", &self.io_cost),
        ];
        let named = named.into_iter().filter_map(|(option, value)| Some((option, value.as_ref()?)));
        let judge = self.judge.iter().map(|value| ("--judge", value));
        let fact = self.fact.iter().map(|value| ("--fact", value));
        for (option, value) in named.chain(judge).chain(fact) {
            words.extend([option.to_string(), quoted(value)]);
        }
        words.extend(self.window.map(|window| format!("--window {window}")));
        let switches = [
            (self.arrivals == "recorded", "--arrivals recorded"),
            (self.ends == "recorded", "--ends recorded"),
            (self.lenient, "--lenient"),
            (self.without_others, "--without-others"),
            (self.block_only, "--block-only"),
            (self.block_events.as_deref() == Some("issue"), "--block-events issue"),
        ];
        words.extend(switches.into_iter().filter(|(is_given, _)| *is_given).map(|(_, option)| option.to_string()));
        words.join(" ")
    }
}

/// The value of an option that takes a time.
///
/// # Errors
/// No time.
pub fn span(option: &str, text: &str) -> Result<Span, Failure> {
    Span::parse(text).map_err(|why| Failure::usage(format!("{option}: {why}")))
}

/// The same, for the operating system.
///
/// # Errors
/// No time.
#[cfg(feature = "live")]
pub fn length(option: &str, text: &str) -> Result<Duration, Failure> {
    Ok(Duration::from_nanos(span(option, text)?.0))
}

#[test]
fn the_command_that_reproduces_names_who_is_judged_and_what_was_true() {
    let (judge, fact) = (vec!["redis*".into(), "12".into()], vec!["ab.affinity=0-1".into()]);
    let window = Excerpt::parse("1s..2s").ok();
    let options = InputOptions { judge, fact, window, ..InputOptions::default() };
    assert_eq!(options.words("x.txt"), "x.txt --judge 'redis*' --judge 12 --fact ab.affinity=0-1 --window 1s..2s");
}
