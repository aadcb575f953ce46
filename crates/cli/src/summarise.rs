//! `goodness summarise`: summary of a trace, in constant memory.

use crate::failure::{Failure, exit};
use crate::output;
use crate::watching::Watching;
use clap::Args;
use goodness::{Progress, shipped};
use goodness_core::Span;
use goodness_trace::{Summary, TraceError, summarise};

/// Summarise a trace: events, tasks, length, losses and repairs. Memory does not grow with the file.
#[derive(Args)]
#[command(after_help = "\
Examples:
  goodness summarise my.ftrace.gz
  zstdcat big.ftrace.zst | goodness summarise -   from standard input
  goodness summarise apache-ab-c32-1cpu --json    a shipped recording

Exit codes: 0 summarised, 2 bad input.")]
pub struct Summarise {
    /// Trace; `-` for standard input.
    trace: String,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl Summarise {
    /// Reads and prints.
    ///
    /// # Errors
    /// A trace that cannot be used.
    pub fn run(&self) -> Result<u8, Failure> {
        let bad = |error: TraceError| Failure::usage(error.to_string());
        let watching = Watching::new();
        let watch = |progress: Progress| watching.tell(progress);
        let summary = shipped::open(&self.trace, &watch).and_then(summarise).map_err(bad)?;
        if self.json {
            say!("{}", serde_json::to_string_pretty(&summary).expect("plain values serialise"));
        } else {
            print(&summary);
        }
        Ok(exit::OK)
    }
}

fn print(summary: &Summary) {
    let mut table = output::table();
    let length = Span(summary.end_ns.saturating_sub(summary.start_ns));
    let rows: [(&str, String); 13] = [
        ("format", summary.metadata.format.into()),
        ("kernel", summary.metadata.kernel.clone().unwrap_or_else(|| "not told".into())),
        ("CPUs", summary.metadata.cpus.to_string()),
        ("length", length.to_string()),
        ("tasks", summary.tasks.to_string()),
        ("events", summary.events.to_string()),
        ("events per second", summary.events_per_s.map_or("-".into(), |n| n.to_string())),
        ("switches", summary.switches.to_string()),
        ("wakings", summary.wakings.to_string()),
        ("  from hard interrupts", summary.wakings_hard_irq.to_string()),
        ("  from soft interrupts", summary.wakings_soft_irq.to_string()),
        ("forks", summary.forks.to_string()),
        ("events lost", summary.lost_events.to_string()),
    ];
    for (what, value) in rows {
        table.add_row([what.to_string(), value]);
    }
    output::align_right(&mut table, [1]);
    say!("{}\n{table}", summary.name);
    for (kind, count) in summary.repairs.iter() {
        say!("  {:>8}  {}", count.count, kind.meaning());
    }
    for warning in &summary.warnings {
        say!("note: {warning}");
    }
}
