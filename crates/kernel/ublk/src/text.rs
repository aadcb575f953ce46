//! Devices and messages of their servers, as text for a terminal.

use super::commands::{Listed, Standing};
use super::server::Told;
use goodness_report::table;
use std::fmt;

/// The devices as a table of `width` columns.
#[must_use]
pub fn table(devices: &[Listed], width: u16) -> String {
    if devices.is_empty() {
        return "no device has an elevator; make one: goodness elevate ELEVATOR FILE".into();
    }
    let mut table = table::new(width);
    table.set_header(["device", "elevator", "backing", "state", "remedy"]);
    for it in devices {
        let state = match it.standing {
            Standing::Served => format!("served by process {}", it.server),
            Standing::ServerGone => "server gone, requests wait".into(),
            Standing::NoDisk => "without a disk".into(),
            Standing::NotOurs => "another program's".into(),
        };
        let known = |word: &Option<String>| word.clone().unwrap_or_else(|| "unknown".into());
        let remedy = it.remedy.clone().unwrap_or_default();
        table.add_row([format!("/dev/ublkb{}", it.number), known(&it.elevator), known(&it.backing), state, remedy]);
    }
    table.to_string()
}

impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Told::Recovering { device } => {
                write!(f, "/dev/ublkb{device} lost its server; taking it over, requests that waited go on")
            }
            Told::Ready { device, number, is_direct, probe } => {
                let how = if *is_direct { "" } else { ", through the page cache: its file system has no direct I/O" };
                let device = device.display();
                write!(f, "{device} is ready{how}; Ctrl-C or `goodness elevate stop {number}` ends it")?;
                let Some(probe) = probe else { return Ok(()) };
                let [direct, through, added] =
                    [probe.direct_ns, probe.through_ns, probe.added_ns()].map(|ns| ns as f64 / 1e3);
                write!(f, "\na single read: backing {direct:.1} us, device {through:.1} us, so {added:.1} us more")
            }
            Told::InUse { why } => write!(f, "not stopped: {why} A second signal stops it anyway."),
        }
    }
}
