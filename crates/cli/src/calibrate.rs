//! `goodness calibrate`: measures the scheduling costs of this machine, or a disk, and writes a machine or device file.

use crate::failure::{Failure, exit};
use crate::tables::Tables;
use crate::verbosity::Quiet;
use crate::{output, progress};
use clap::Args;
use goodness::calibrate::Calibration;
use goodness_report::{atomic, json};
use std::path::PathBuf;

/// Measure the scheduling costs of this machine, for --machine, or a disk, for --device.
///
/// Measures switches, wake-ups and migrations of tasks, sleeps, caches, tick and topology, in three seconds and without
/// root (docs/machines.md). Figures are medians; other work makes them too high. Costs that cannot be measured are left
/// out. --device fits a device to a disk in 25 to 45 s and tries it on loads it was not fitted to (docs/devices.md).
#[derive(Args)]
#[command(after_help = "\
Examples:
  goodness calibrate                           print the machine file
  goodness calibrate -o this.toml              write it
  goodness compare mixed --machine this.toml   use it
  sudo goodness calibrate --device /dev/sda -o disk.toml

Exit codes: 0 measured, 1 failure, 2 bad output or disk, 3 the device misses a load that it was not fitted to.")]
pub struct Calibrate {
    /// Disk or file of 64 MiB or more to measure instead; only read, without --allow-writes.
    #[arg(long, value_name = "PATH")]
    device: Option<PathBuf>,
    /// Measure writes, too: what was read is written back. Nobody else may write to the disk or file meanwhile.
    #[arg(long, requires = "device")]
    allow_writes: bool,
    /// File to write; standard output by default.
    #[arg(short, long, value_name = "FILE.toml")]
    output: Option<PathBuf>,
    /// Write JSON (goodness.calibrate/1, of disks calibrate-disk/1); without FILE, or with `-`, to standard output
    /// alone.
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-")]
    json: Option<PathBuf>,
    #[command(flatten)]
    tables: Tables,
    #[command(flatten)]
    quiet: Quiet,
}

impl Calibrate {
    /// Measures, and writes or prints the file.
    ///
    /// # Errors
    /// An output that cannot be written, or what cannot be measured.
    pub fn run(&self) -> Result<u8, Failure> {
        self.quiet.begin();
        if let Some(path) = self.output.as_deref().filter(|path| path.extension().is_none_or(|end| end != "toml")) {
            let shown = path.display();
            return Err(Failure::usage(format!("{shown}: machine and device files are TOML; use -o {shown}.toml")));
        }
        output::check_with(&[], &self.tables, &[(&self.output, "--output"), (&self.json, "--json")])?;
        let bar = progress::bar(Calibration::steps(self.device.is_some(), self.allow_writes), "measuring");
        let step = |what| bar.clone().with_message(what).inc(1);
        let found = Calibration::measured(self.device.as_deref(), self.allow_writes, step);
        bar.finish_and_clear();
        let found = found?;
        let (file, option) = found.file();
        let mut written = Vec::new();
        written.extend(output::write(output::file(&self.json), || json::text(&found))?);
        written.extend(self.tables.write(|| std::iter::once(found.table()))?);
        let to_stdout = output::is_stdout(&self.json);
        match &self.output {
            None if to_stdout => output::say_json(&found),
            None => say!("{}", file.trim_end()),
            Some(path) => {
                atomic::write(path, file.as_bytes()).map_err(Failure::usage)?;
                output::show(to_stdout, &found, |width| found.text(width));
                if !to_stdout {
                    say!("\nwrote {0}; use it with {option} {0}", path.display());
                }
                output::say_unless_json(&self.json, &written);
            }
        }
        Ok(if found.is_trusted() { exit::OK } else { exit::INCONCLUSIVE })
    }
}
