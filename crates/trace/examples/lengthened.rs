//! Writes a recording of a given size to standard output: a real one over and over, each time later. Measures memory
//! and time of commands on long recordings, docs/robustness.md:
//!
//! ```text
//! cargo run --release -p goodness-trace --example lengthened -- recordings/apache-ab-c4-1cpu.ftrace.zst 600 > big.txt
//! ```

use goodness_trace::Input;
use std::error::Error;
use std::io::{self, BufWriter, Read, Write};
use std::path::Path;

/// Time from the last event of a lap to the first of the next.
const GAP_NS: u64 = 1_000_000;

/// A line in three parts: before its time, the time in ns, and behind it.
fn parts(line: &str) -> Option<(&str, u64, &str)> {
    let (front, event) = line.split_once(": ")?;
    let (front, time) = front.rsplit_once(' ')?;
    let (seconds, part) = time.split_once('.')?;
    let part: u64 = format!("{part:0<9}").get(..9)?.parse().ok()?;
    Some((front, seconds.parse::<u64>().ok()? * 1_000_000_000 + part, event))
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, megabytes] = &arguments[..] else { return Err("name a recording and a size in MB".into()) };
    let (mut text, mut left) = (String::new(), megabytes.parse::<u64>()?.saturating_mul(1_000_000));
    Input::open(Path::new(path))?.read_to_string(&mut text)?;
    let mut out = BufWriter::new(io::stdout().lock());
    for line in text.lines().filter(|line| line.starts_with('#')) {
        writeln!(out, "{line}")?;
    }
    let events: Vec<_> = text.lines().filter(|line| !line.starts_with('#')).filter_map(parts).collect();
    let (Some(first), Some(last)) = (events.first(), events.last()) else { return Err("it has no events".into()) };
    let lap = last.1.saturating_sub(first.1) + GAP_NS;
    for later in (0..).map(|lap_number| lap * lap_number) {
        for (front, time, event) in &events {
            let (seconds, part) = ((time + later) / 1_000_000_000, (time + later) % 1_000_000_000);
            let line = format!("{front} {seconds}.{part:09}: {event}\n");
            left = match left.checked_sub(line.len() as u64) {
                Some(left) => left,
                None => return Ok(out.flush()?),
            };
            out.write_all(line.as_bytes())?;
        }
    }
    Ok(())
}
