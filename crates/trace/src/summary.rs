//! Summary of a trace, in constant memory.

use crate::compress::Input;
use crate::error::TraceError;
use crate::event::{Context, Marker, Origin, Record, SchedEvent};
use crate::metadata::Metadata;
use crate::read::read;
use crate::record_consumer::RecordConsumer;
use crate::repairs::Repairs;
use crate::tasks::Tasks;
use goodness_core::Time;
use serde::Serialize;

/// Counts of a trace.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Summary {
    /// Always `goodness.summary/1`.
    pub schema: &'static str,
    /// The file's name.
    pub name: String,
    /// Metadata.
    pub metadata: Metadata,
    /// Text read, in bytes after decompression.
    pub bytes: u64,
    /// Lines read.
    pub lines: u64,
    /// Time of the first event, ns.
    pub start_ns: u64,
    /// Time of the last event, ns.
    pub end_ns: u64,
    /// Scheduling events.
    pub events: u64,
    /// Scheduling events per second of recorded time; absent when the trace has no length.
    pub events_per_s: Option<u64>,
    /// `sched_switch`, without those put in by repair.
    pub switches: u64,
    /// `sched_waking`.
    pub wakings: u64,
    /// Number of these from hard interrupts.
    pub wakings_hard_irq: u64,
    /// Number of these from soft interrupts.
    pub wakings_soft_irq: u64,
    /// `sched_wakeup` and `sched_wakeup_new`.
    pub wakeups: u64,
    /// `sched_migrate_task`.
    pub migrations: u64,
    /// Forks.
    pub forks: u64,
    /// Execs.
    pub execs: u64,
    /// Exits.
    pub exits: u64,
    /// Markers.
    pub markers: u64,
    /// Tasks that took part.
    pub tasks: u64,
    /// Events lost by the kernel; a lower bound.
    pub lost_events: u64,
    /// Repairs.
    #[cfg_attr(feature = "schema", schemars(with = "Vec<crate::repairs::Repaired>"))]
    pub repairs: Repairs,
    /// Warnings about missing information, as sentences.
    pub warnings: Vec<String>,
    #[serde(skip)]
    seen: Option<(Time, Time)>,
}

impl RecordConsumer for Summary {
    fn record(&mut self, record: &Record, _: &Tasks) {
        self.seen = Some(self.seen.map_or((record.at, record.at), |(from, to)| (from, to.max(record.at))));
        if record.origin == Origin::Repaired {
            return;
        }
        self.events += 1;
        match record.event {
            SchedEvent::Switch { .. } => self.switches += 1,
            SchedEvent::Waking(wake) => {
                self.wakings += 1;
                self.wakings_hard_irq += u64::from(wake.context == Context::HardIrq);
                self.wakings_soft_irq += u64::from(wake.context == Context::SoftIrq);
            }
            SchedEvent::Wakeup(_) | SchedEvent::WakeupNew(_) => self.wakeups += 1,
            SchedEvent::Fork { .. } => self.forks += 1,
            SchedEvent::Exec { .. } => self.execs += 1,
            SchedEvent::Exit { .. } => self.exits += 1,
            SchedEvent::Call { .. } => {}
            SchedEvent::Migrate { .. } => self.migrations += 1,
            SchedEvent::Lost { count } => {
                self.events -= 1;
                self.lost_events += u64::from(count.max(1));
            }
        }
    }

    fn marker(&mut self, _: Marker) {
        self.markers += 1;
    }
}

/// Counts the contents of a trace.
///
/// # Errors
/// As [`read`].
pub fn summarise(input: Input) -> Result<Summary, TraceError> {
    let mut summary = Summary { schema: "goodness.summary/1", name: input.name.clone(), ..Summary::default() };
    let outcome = read(input, &mut summary)?;
    let (start, end) = summary.seen.unwrap_or_default();
    let length = u128::from(end.since(start).ns());
    (summary.start_ns, summary.end_ns) = (start.ns(), end.ns());
    summary.events_per_s =
        (u128::from(summary.events) * 1_000_000_000).checked_div(length).and_then(|rate| u64::try_from(rate).ok());
    summary.metadata = outcome.metadata;
    summary.tasks = outcome.tasks.len() as u64;
    summary.bytes = outcome.bytes;
    summary.lines = outcome.lines;
    summary.repairs = outcome.repairs;
    summary.warnings = outcome.warnings;
    Ok(summary)
}
