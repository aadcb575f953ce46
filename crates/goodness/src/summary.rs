//! The summary of a trace, as text for a terminal.

use goodness_core::Span;
use goodness_report::table;
use goodness_trace::Summary;
use std::fmt::Write as _;

/// The summary as a table of `width` columns, repairs and notes.
#[must_use]
pub fn text(summary: &Summary, width: u16) -> String {
    let mut table = table::new(width);
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
    table::align_right(&mut table, [1]);
    let mut out = format!("{}\n{table}", summary.name);
    for (kind, count) in summary.repairs.iter() {
        let _ = write!(out, "\n  {:>8}  {}", count.count, kind.meaning());
    }
    for warning in &summary.warnings {
        let _ = write!(out, "\nnote: {warning}");
    }
    out
}
