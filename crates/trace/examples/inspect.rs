//! Reads each named trace into memory and prints a summary with the repairs.

use std::path::Path;
use std::time::Instant;

fn main() {
    for name in std::env::args().skip(1) {
        let begun = Instant::now();
        match goodness_trace::load(Path::new(&name)) {
            Ok(trace) => {
                println!(
                    "{name}: {} with {} records, {} tasks, {} CPUs, {} in {:?}",
                    trace.metadata.format,
                    trace.records.len(),
                    trace.tasks.len(),
                    trace.metadata.cpus,
                    trace.duration(),
                    begun.elapsed()
                );
                for (kind, count) in trace.repairs.iter() {
                    println!("  {}: {} (first at line {})", kind.meaning(), count.count, count.first_line);
                }
                for warning in &trace.warnings {
                    println!("  {warning}");
                }
            }
            Err(error) => println!("{error}"),
        }
    }
}
