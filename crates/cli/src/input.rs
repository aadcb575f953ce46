//! Options for reading inputs.

use crate::failure::Failure;
use crate::words::quoted;
use goodness::{Arrivals, BlockEvents, Ends, OpenOptions, Others, ReplayOptions};
use goodness_core::Span;
#[cfg(feature = "live")]
use std::time::Duration;

/// Options for reading inputs.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct InputOptions {
    /// Machine to run on: a preset, a TOML file, or an inline table such as cpus=2,hz=250 (`goodness list machines`).
    #[arg(long)]
    pub machine: Option<String>,
    /// Accept rt-app keys that are not honoured, and name them in the report.
    #[arg(long)]
    pub lenient: bool,
    /// Times of wake-ups that came from outside the recorded tasks.
    #[arg(long, value_enum, default_value_t = ArrivalsChoice::Delays)]
    pub arrivals: ArrivalsChoice,
    /// Behaviour of the tasks of a recording after their recorded work.
    #[arg(long, value_enum, default_value_t = EndsChoice::Open)]
    pub ends: EndsChoice,
    /// Leave out tasks that do not belong to the recorded command.
    #[arg(long)]
    pub without_others: bool,
    /// Policy that made the recording, if its kernel version does not determine it.
    #[arg(long, value_name = "POLICY")]
    pub recorded_by: Option<String>,
    /// Disk of a trace of block I/O or of fio jobs, with settings (`goodness list devices`). Default: the trace's own
    /// service times, or sata-7200-4tb if it has none; nvme for fio.
    #[arg(long, value_name = "DEVICE[:KEY=VAL,…]")]
    pub device: Option<String>,
    /// Events of a block I/O trace to replay.
    #[arg(long, value_enum, value_name = "EVENTS")]
    pub block_events: Option<BlockEventsChoice>,
    /// Replay the block I/O of a recording that has scheduling too.
    #[arg(long)]
    pub block_only: bool,
    /// CPU time of each I/O of fio jobs: submitting it and taking its completion (2us).
    #[arg(long, value_name = "TIME")]
    pub io_cost: Option<String>,
}

/// Events of a block-I/O trace to replay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum BlockEventsChoice {
    /// Arrivals at the block layer.
    #[default]
    Queue,
    /// Requests that the recorded elevator issued to the device.
    Issue,
}

/// Replay of wake-ups from outside a recording.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum ArrivalsChoice {
    /// After the same delay since the wait began (closed loop).
    #[default]
    Delays,
    /// At the recorded time (open loop).
    Recorded,
}

/// Behaviour of tasks after their recorded work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum EndsChoice {
    /// Go on as recorded; every policy is measured in the recorded window.
    #[default]
    Open,
    /// Nothing: the recorded work is replayed until it is done.
    Recorded,
}

impl InputOptions {
    /// Converts to the library's options.
    ///
    /// # Errors
    /// An invalid time.
    pub fn read(&self) -> Result<OpenOptions, Failure> {
        Ok(OpenOptions {
            machine: self.machine.clone(),
            lenient: self.lenient,
            replay: ReplayOptions {
                arrivals: match self.arrivals {
                    ArrivalsChoice::Delays => Arrivals::Delays,
                    ArrivalsChoice::Recorded => Arrivals::Recorded,
                },
                others: if self.without_others { Others::LeftOut } else { Others::Compete },
                ends: if self.ends == EndsChoice::Recorded { Ends::Recorded } else { Ends::Open },
            },
            recorded_by: self.recorded_by.clone(),
            device: self.device.clone(),
            block_events: self.block_events.map(|choice| match choice {
                BlockEventsChoice::Queue => BlockEvents::Queue,
                BlockEventsChoice::Issue => BlockEvents::Issue,
            }),
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
        for (option, value) in named.into_iter().filter_map(|(option, value)| Some((option, value.as_ref()?))) {
            words.extend([option.to_string(), quoted(value)]);
        }
        let arrivals = (self.arrivals == ArrivalsChoice::Recorded).then_some("--arrivals recorded");
        let ends = (self.ends == EndsChoice::Recorded).then_some("--ends recorded");
        let lenient = self.lenient.then_some("--lenient");
        let without_others = self.without_others.then_some("--without-others");
        let block_only = self.block_only.then_some("--block-only");
        let events = (self.block_events == Some(BlockEventsChoice::Issue)).then_some("--block-events issue");
        let switches = [arrivals, ends, lenient, without_others, block_only, events];
        words.extend(switches.into_iter().flatten().map(String::from));
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
