//! Commands on running elevated devices: list, status and stop.

use super::abi;
use super::backing::built_upon;
use super::control::Control;
use super::error::ElevateError;
use super::record::{self, MARK, Record};
use super::report::Report;
use goodness_sys as sys;
use serde::Serialize;
use std::fs;
use std::io::Read;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

/// Time limit for a server to stop. A choice: it flushes pending writes and waits for the disk.
const STOPPING: Duration = Duration::from_secs(60);

/// State of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// It has a server.
    Served,
    /// The server has died; requests wait for a new one.
    ServerGone,
    /// It has no disk: never started, or stopped and not removed.
    NoDisk,
    /// Made by another program.
    NotOurs,
}

/// A ublk device of this machine.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Listed {
    /// Its number.
    pub number: u32,
    /// State.
    pub standing: Standing,
    /// Process id of its server, from the kernel.
    pub server: i32,
    /// The elevator as typed; `None` if it is not recorded.
    pub elevator: Option<String>,
    /// Path of its backing.
    pub backing: Option<String>,
    /// Remedy.
    pub remedy: Option<String>,
}

/// All ublk devices, by number.
///
/// # Errors
/// No root, or no ublk driver.
pub fn list() -> Result<Vec<Listed>, ElevateError> {
    let mut control = Control::open()?;
    let nodes = fs::read_dir("/dev").into_iter().flatten().flatten();
    let number = |name: String| name.strip_prefix("ublkc")?.parse::<u32>().ok();
    let mut numbers: Vec<u32> = nodes.filter_map(|node| number(node.file_name().into_string().ok()?)).collect();
    numbers.sort_unstable();
    let mut devices = Vec::new();
    for number in numbers {
        let info = control.state(number).map_err(|why| ElevateError::kernel("asking for a device", why))?;
        let Some(info) = info else { continue };
        let record = record::of(number).filter(|_| info.mark == MARK);
        let standing = match info.state {
            _ if info.mark != MARK => Standing::NotOurs,
            abi::S_DEAD => Standing::NoDisk,
            abi::S_LIVE if record.as_ref().is_some_and(Record::server_lives) => Standing::Served,
            _ => Standing::ServerGone,
        };
        devices.push(Listed {
            number,
            standing,
            server: info.server,
            elevator: record.as_ref().map(|it| it.elevator.clone()),
            backing: record.as_ref().map(|it| it.backing.display().to_string()),
            remedy: remedy(number, standing, record.is_some()),
        });
    }
    Ok(devices)
}

fn remedy(number: u32, standing: Standing, is_written: bool) -> Option<String> {
    let stop = format!("goodness elevate stop {number}");
    match standing {
        Standing::ServerGone if is_written => {
            Some(format!("go on: goodness elevate --recover {number}; or remove: {stop}"))
        }
        Standing::ServerGone | Standing::NoDisk => Some(format!("remove: {stop}")),
        Standing::Served | Standing::NotOurs => None,
    }
}

/// Stops device `number` by ending its server. Without a server, the device is removed and waiting requests fail.
///
/// # Errors
/// The device is not ours, is in use, or did not stop in time.
pub fn stop(number: u32) -> Result<(), ElevateError> {
    let listed = list()?.into_iter().find(|it| it.number == number);
    let Some(device) = listed.filter(|it| it.standing != Standing::NotOurs) else {
        return Err(ElevateError::no_device(number));
    };
    // The disk is not opened: without a server, opening could block forever.
    if let Some(why) = built_upon(number) {
        return Err(ElevateError::Device(why));
    }
    match record::of(number).filter(|_| device.standing == Standing::Served) {
        Some(record) => end_server(&record),
        None => remove(number),
    }
}

fn end_server(record: &Record) -> Result<(), ElevateError> {
    sys::send_signal(record.server, libc::SIGTERM);
    let until = Instant::now() + STOPPING;
    while record.server_lives() && record::file(record.device, "json").exists() {
        if Instant::now() >= until {
            return Err(ElevateError::Device(format!(
                "the server of /dev/ublkb{} (process {}) does not stop: its backing may be stuck, see `dmesg`.",
                record.device, record.server
            )));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

fn remove(number: u32) -> Result<(), ElevateError> {
    let mut control = Control::open()?;
    let step = |why| ElevateError::kernel(format!("removing /dev/ublkb{number}"), why);
    control.stop(number).map_err(step)?;
    control.delete(number).map_err(step)?;
    record::forget(number);
    Ok(())
}

/// Status of device `number`, or of the only device. Asks its server.
///
/// # Errors
/// There is no such device, or it has no server.
pub fn status(number: Option<u32>) -> Result<Report, ElevateError> {
    let served: Vec<u32> = record::all().into_iter().filter(Record::server_lives).map(|it| it.device).collect();
    let number = match (number, served.as_slice()) {
        (Some(number), _) => number,
        (None, [only]) => *only,
        (None, []) => return Err(ElevateError::Device("no device is served. See `goodness elevate list`.".into())),
        (None, several) => {
            return Err(ElevateError::Device(format!("there are several devices, {several:?}; say which one.")));
        }
    };
    ask(&record::file(number, "sock"))
        .ok_or_else(|| ElevateError::Device(format!("device {number} has no server. See `goodness elevate list`.")))
}

fn ask(socket: &Path) -> Option<Report> {
    let mut server = UnixStream::connect(socket).ok()?;
    server.set_read_timeout(Some(Duration::from_secs(5))).ok()?;
    let mut text = Vec::new();
    server.read_to_end(&mut text).ok()?;
    serde_json::from_slice(&text).ok()
}
