//! Prints a summary of each named trace (`-`: standard input), in constant memory.

use goodness_trace::{Input, TraceError, summarise};
use std::path::Path;

fn main() -> Result<(), TraceError> {
    for name in std::env::args().skip(1) {
        let summary = summarise(Input::open(Path::new(&name))?)?;
        println!(
            "{name}: {} MB of {}, {} switches, {} wakings, {} tasks, {} events/s, {} lost",
            summary.bytes / 1_000_000,
            summary.metadata.format,
            summary.switches,
            summary.wakings,
            summary.tasks,
            summary.events_per_s.unwrap_or(0),
            summary.lost_events
        );
        for (kind, count) in summary.repairs.iter() {
            println!("  {}: {} (first at line {})", kind.meaning(), count.count, count.first_line);
        }
    }
    Ok(())
}
