//! `goodness elevate`: runs an elevator for a real disk.

use crate::failure::{Failure, exit};
use crate::json_option::Json;
use crate::output;
use crate::tables::Tables;
use clap::{Args, Subcommand, ValueEnum};
use goodness_sys::cpu_list::CpuList;
use goodness_ublk::{ElevateError, Options, Report, Told, table};
use std::path::PathBuf;

/// Run an elevator for a real disk (root; ublk; Linux).
///
/// Creates a block device on top of a file or a block device. The simulator's elevator orders the requests of real
/// programs: file systems, databases, fio. Flushes and durable writes (FUA) are honoured. If the server is killed,
/// --recover continues without data loss. Runs until Ctrl-C or `goodness elevate stop`, then prints statistics and
/// overhead.
#[derive(Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
Examples:
  truncate -s 1G disk.img
  sudo goodness elevate look disk.img                 prints the device, such as /dev/ublkb0
  sudo goodness elevate mq-deadline:read_expire=100ms /dev/sdb --depth 8
  sudo goodness elevate status                        requests, distance, latency, overhead so far
  sudo goodness elevate list                          all devices, with remedies
  sudo goodness elevate --recover 0                   take over from a killed server
  sudo goodness elevate stop 0

An elevator reorders only what waits: requests beyond --depth wait in it. `goodness list elevators` names them all.
Exit codes: 0 stopped on request, 1 the kernel refused a step, 2 it cannot be done here (the error names the remedy), \
4 the server failed; requests wait for another one."
)]
pub struct Elevate {
    #[command(subcommand)]
    command: Option<Command>,
    /// Elevator with settings: NAME or NAME:KEY=VALUE,KEY=VALUE.
    #[arg(required_unless_present = "recover")]
    elevator: Option<String>,
    /// Backing of the device: a file, or an unused block device. Its contents stay until you write.
    #[arg(value_name = "DEVICE-OR-FILE", required_unless_present = "recover", conflicts_with = "recover")]
    backing: Option<PathBuf>,
    /// Requests in the backing at a time; further ones wait in the elevator.
    #[arg(long, default_value_t = 16, value_name = "N", conflicts_with = "recover")]
    depth: u32,
    /// Requests in the device at a time.
    #[arg(long, default_value_t = 128, value_name = "N", conflicts_with = "recover")]
    tags: u16,
    /// Confine the server to these CPUs.
    #[arg(long, value_name = "CPUS", conflicts_with = "recover")]
    cpus: Option<CpuList>,
    /// Tell the elevator if the disk rotates. Default: as the kernel reports for the backing, else yes.
    #[arg(long, value_enum, conflicts_with = "recover")]
    rotational: Option<YesOrNo>,
    /// Reads that measure the overhead at the start; 0 for no measurement.
    #[arg(long, default_value_t = 32, value_name = "N", conflicts_with = "recover")]
    probes: u32,
    /// Take over device N, whose server was killed, with the same elevator unless one is given.
    #[arg(long, value_name = "N")]
    recover: Option<u32>,
    /// Show the state of device 0, or the only one: the same as `goodness elevate status`.
    #[arg(long, exclusive = true)]
    status: bool,
    #[command(flatten)]
    json: Json,
    #[command(flatten)]
    tables: Tables,
}

#[derive(Clone, Copy, ValueEnum)]
enum YesOrNo {
    Yes,
    No,
}

#[derive(Subcommand)]
enum Command {
    /// List all ublk devices of this machine, and the remedy for those that lost their server.
    List {
        #[command(flatten)]
        json: Json,
    },
    /// Show a device's requests, merges, seek distance, latency and overhead.
    Status {
        /// The number in /dev/ublkbN; not needed if there is only one.
        device: Option<u32>,
        #[command(flatten)]
        json: Json,
        #[command(flatten)]
        tables: Tables,
    },
    /// Stop a device and remove it; refused while it is mounted.
    Stop {
        /// The number in /dev/ublkbN.
        device: u32,
    },
}

impl Elevate {
    /// Serves a device, or sends a command to its server.
    ///
    /// # Errors
    /// No root, no ublk, an unknown elevator, a backing in use, …: a sentence with the remedy.
    pub fn run(&self) -> Result<u8, Failure> {
        match &self.command {
            Some(Command::List { json }) => list(json),
            Some(Command::Status { device, json, tables }) => show_status(*device, json, tables),
            Some(Command::Stop { device }) => {
                goodness_ublk::stop(*device).map_err(failure)?;
                say!("/dev/ublkb{device} is stopped and removed");
                Ok(exit::OK)
            }
            None if self.status => show_status(None, &self.json, &self.tables),
            None => self.serve(),
        }
    }

    fn serve(&self) -> Result<u8, Failure> {
        let backing = self.backing.as_ref().map(|path| path.to_string_lossy().into_owned());
        output::check_tables(backing.as_slice(), &self.tables)?;
        let elevator = self.elevator.as_deref();
        // On stderr, so that the result alone is on stdout.
        let mut told = |what: Told| eprintln!("{what}");
        let served = match (self.recover, elevator, &self.backing) {
            (Some(number), elevator, _) => goodness_ublk::recover(number, elevator, &mut told),
            (None, Some(elevator), Some(backing)) => {
                goodness_ublk::serve(&self.options(elevator, backing.clone()), &mut told)
            }
            _ => return Err(Failure::usage("name an elevator and a file or device, or --recover N. See --help.")),
        };
        show(&served.map_err(failure)?, &self.json, &self.tables)
    }

    fn options(&self, elevator: &str, backing: PathBuf) -> Options {
        Options {
            elevator: elevator.to_string(),
            backing,
            depth: self.depth,
            tags: self.tags,
            cpus: self.cpus.clone().map(|CpuList(cpus)| cpus),
            rotational: self.rotational.map(|answer| matches!(answer, YesOrNo::Yes)),
            probes: self.probes,
        }
    }
}

fn failure(error: ElevateError) -> Failure {
    Failure { code: error.exit_code(), sentence: error.to_string() }
}

fn show_status(device: Option<u32>, json: &Json, tables: &Tables) -> Result<u8, Failure> {
    output::check_tables(&[], tables)?;
    show(&goodness_ublk::status(device).map_err(failure)?, json, tables)
}

fn show(report: &Report, json: &Json, tables: &Tables) -> Result<u8, Failure> {
    json.show(&report.document(), |_| report.to_string())?;
    let written = tables.write(|| std::iter::once(report.values()))?;
    if !json.is_stdout() {
        output::say_written(&written);
    }
    Ok(exit::OK)
}

fn list(json: &Json) -> Result<u8, Failure> {
    let devices = goodness_ublk::list().map_err(failure)?;
    json.show(&devices, |width| table(&devices, width))?;
    Ok(exit::OK)
}
