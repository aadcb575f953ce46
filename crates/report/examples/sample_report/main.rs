//! Writes a report on a made-up schedule, to view and to test the renderers. Nothing in it was measured.
//!
//! `cargo run -p goodness-report --example sample_report -- DIRECTORY [SLICES]` writes `report.json`, `report.html`,
//! `report.pftrace` (of the first policy) and `bare.html` (a report without measurements), and prints the text form.

mod measure;
mod schedule;

use goodness_report::{atomic, html, json, perfetto, text};
use std::path::Path;

fn main() -> Result<(), String> {
    let mut arguments = std::env::args().skip(1);
    let directory = arguments.next().ok_or("name a directory: sample_report DIRECTORY [SLICES]")?;
    let slices = arguments.next().map_or(Ok(1_000_000), |n| n.parse()).map_err(|e| format!("SLICES: {e}"))?;
    let (report, timelines) = measure::sample(slices);
    let directory = Path::new(&directory);
    atomic::write(&directory.join("report.json"), json::render(&report).as_bytes())?;
    atomic::write(&directory.join("report.html"), html::render(&report, &timelines).as_bytes())?;
    atomic::write_with(&directory.join("report.pftrace"), |out| {
        perfetto::write(&[(&timelines[0], &report.labels()[0])], out)
    })?;
    let (bare, empty) = measure::bare();
    atomic::write(&directory.join("bare.html"), html::render(&bare, &[empty]).as_bytes())?;
    print!("{}", text::render(&report, text::Extent::All, 80, std::env::var_os("NO_COLOR").is_none()));
    Ok(())
}
