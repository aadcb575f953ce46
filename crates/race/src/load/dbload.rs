//! A bulk load of a database, after H. Kuehnemund (2006): 34 files by 5 loaders, on a loop device whose I/O scheduler
//! the arms set.
//!
//! The tables are on the raw device, as InnoDB's system tablespace, without a file system; the transaction log is in
//! the race's folder, as the original had a separate volume for it. Departures: MariaDB's `LOAD DATA` instead of
//! R3load, megabytes instead of 73 GB, and write-back when memory is short and at server shutdown (included in the
//! time), instead of after each table.

use super::mariadb_server::{DATABASE, Home, INSTALL, SERVER};
use super::process::Process;
use super::{About, Load, Program, Registered};
use crate::load_error::LoadError;
use crate::measure::{Better, Measure};
use crate::role::Role;
use crate::subprocess::Launcher;
use crate::workspace::Workspace;
use goodness_core::{Rng, Seed, tunables};
use goodness_ublk::disks::LoopDisk;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

tunables! {
    pub struct Settings {
        /// Number of files, one per table; sizes fall with the rank.
        files: u64 = 34, in 1 => 100;
        /// Loaders, each of which takes one file after the other.
        loaders: u64 = 5, in 1 => 64;
        /// Rows of all files together, of some 200 bytes.
        rows: u64 = 200_000, in 1000 => 100_000_000;
        /// Size of the loop device in MiB.
        size: u64 = 512, in 64 => 1_048_576;
        /// Memory for table pages in MiB; less than the data, so that pages are written and read during the load.
        buffer_pool: u64 = 16, in 5 => 1_048_576;
    }
}

const IMPORT: Program = Program { name: "mariadb-import", package: "mariadb-client" };
/// Time limit of a load.
const TIMEOUT: Duration = Duration::from_secs(3600);

/// The database, its device and its files.
#[derive(Debug)]
pub struct DbLoad {
    settings: Settings,
    made: Option<(LoopDisk, Home)>,
}

impl Registered for DbLoad {
    const ABOUT: About = About {
        name: "dbload",
        summary: "Five loaders fill the tables of a MariaDB on a loop device, whose I/O scheduler arms can set.",
        needs: &[SERVER, INSTALL, IMPORT],
        measures: &["completion_time", "throughput"],
    };
    type Settings = Settings;

    fn new(settings: Settings, _launcher: Launcher) -> Result<Self, LoadError> {
        // A row takes about twice its bytes with its indexes, the undo log, and half-filled pages.
        let needed = (settings.rows * 400) >> 20;
        if needed + 32 > settings.size {
            return Err(LoadError(format!(
                "dbload: {} rows need about {} MiB and size is {}; raise size or take fewer rows",
                settings.rows,
                needed + 32,
                settings.size
            )));
        }
        Ok(DbLoad { settings, made: None })
    }
}

impl Load for DbLoad {
    fn check(&self) -> Result<(), LoadError> {
        super::for_root("dbload makes a loop device, which")
    }

    fn prepare(&mut self, workspace: &Workspace) -> Result<(), LoadError> {
        Self::ABOUT.needs.iter().try_for_each(|program| program.find().map(|_| ()))?;
        let disk =
            LoopDisk::make(workspace.folder(), self.settings.size << 20).map_err(|why| LoadError(why.to_string()))?;
        workspace.add_disk(&disk.device().file_name().unwrap_or_default().to_string_lossy());
        let mut home = Home::new(workspace, workspace.folder().join("mariadb"), self.options(disk.device(), "newraw"))?;
        home.install(workspace)?;
        home.options = self.options(disk.device(), "raw");
        write_files(workspace.folder(), &self.settings)?;
        self.made = Some((disk, home));
        Ok(())
    }

    fn run(&mut self, workspace: &Workspace, _seed: Seed) -> Result<Vec<Measure>, LoadError> {
        let (disk, home) = self.made.as_ref().ok_or_else(|| LoadError("dbload was not prepared".into()))?;
        let server = home.start_with(workspace, &tables(&self.settings))?;
        let (before, begun) = (written(&disk.device()), Instant::now());
        let mut command = Command::new(IMPORT.find()?);
        command.args(["--no-defaults", "--local", "--silent", "--user=root"]);
        command.arg(format!("--use-threads={}", self.settings.loaders));
        command.arg(format!("--socket={}", home.socket.display())).arg(DATABASE);
        command.args((0..self.settings.files).map(|file| workspace.folder().join(file_name(file))));
        let import = Process::start(workspace, Role::Client, IMPORT.name, &mut command, None)?;
        let loaded = import.finish(TIMEOUT);
        let took = begun.elapsed();
        loaded.map_err(|why| server.error(&format!("was running when this happened: {why}")))?;
        server.stop_within(TIMEOUT)?;
        let all = begun.elapsed();
        let rows: u64 = (0..self.settings.files).map(|file| rows_of(file, &self.settings)).sum();
        let bytes = written(&disk.device()).saturating_sub(before);
        Ok(vec![
            Measure::new("completion_time", "ns", Better::Lower, all.as_nanos() as f64),
            Measure::new("time_to_load", "ns", Better::Lower, took.as_nanos() as f64),
            Measure::new("throughput", "1/s", Better::Higher, rows as f64 / all.as_secs_f64()),
            Measure::new("bandwidth", "bytes/s", Better::Higher, bytes as f64 / all.as_secs_f64()),
        ])
    }
}

impl DbLoad {
    fn options(&self, device: PathBuf, raw: &str) -> Vec<String> {
        let Settings { size, buffer_pool, .. } = self.settings;
        vec![
            "--innodb-data-home-dir=".into(),
            // A little stays free: the device must not end before the tablespace.
            format!("--innodb-data-file-path={}:{}M{raw}", device.display(), size - 16),
            "--innodb-file-per-table=0".into(),
            "--innodb-flush-method=O_DIRECT".into(),
            format!("--innodb-buffer-pool-size={buffer_pool}M"),
            "--innodb-log-file-size=64M".into(),
            "--local-infile=1".into(),
        ]
    }
}

/// Statements that create the empty tables, one per line.
fn tables(settings: &Settings) -> String {
    let mut text = format!("DROP DATABASE IF EXISTS {DATABASE};\nCREATE DATABASE {DATABASE};\n");
    for table in 0..settings.files {
        let _ = writeln!(
            text,
            "CREATE TABLE {DATABASE}.t{table} (id INT PRIMARY KEY, code INT, words VARCHAR(180), KEY (code)) \
                ENGINE=InnoDB;"
        );
    }
    text
}

fn file_name(file: u64) -> String {
    format!("t{file}.txt")
}

/// Rows of a file, falling with its rank as in the model of the same name.
fn rows_of(file: u64, settings: &Settings) -> u64 {
    let harmonic: f64 = (1..=settings.files).map(|rank| 1.0 / rank as f64).sum();
    ((settings.rows as f64 / harmonic / (file + 1) as f64) as u64).max(1)
}

fn write_files(folder: &Path, settings: &Settings) -> Result<(), LoadError> {
    let mut rng = Seed(1).stream("dbload", 0).rng();
    for file in 0..settings.files {
        let path = folder.join(file_name(file));
        let written = fs::write(&path, rows(rows_of(file, settings), &mut rng));
        written.map_err(|why| LoadError(format!("{} could not be written: {why}", path.display())))?;
    }
    Ok(())
}

fn rows(count: u64, rng: &mut Rng) -> String {
    let mut text = String::new();
    for id in 0..count {
        let _ = write!(text, "{id}\t{}\t", rng.below(1 << 30));
        (0..11).for_each(|_| {
            let _ = write!(text, "{:016x}", rng.bits());
        });
        text.push('\n');
    }
    text
}

/// Bytes written to `device` since its creation, from the seventh figure of its `stat`, in sectors of 512.
fn written(device: &Path) -> u64 {
    let name = device.file_name().unwrap_or_default().to_string_lossy();
    let stat = fs::read_to_string(format!("/sys/block/{name}/stat")).unwrap_or_default();
    stat.split_whitespace().nth(6).and_then(|sectors| sectors.parse::<u64>().ok()).unwrap_or(0) * 512
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_of_34_files_has_a_quarter_of_the_rows() {
        let settings = Settings::default();
        let all: Vec<u64> = (0..34).map(|file| rows_of(file, &settings)).collect();
        let sum: u64 = all.iter().sum();
        assert!((199_900..=200_000).contains(&sum), "{sum}");
        // The 34th harmonic number is 4.1182.
        assert_eq!(all[0], 48_564);
        assert!(all.is_sorted_by(|a, b| a >= b));
    }

    #[test]
    fn a_device_that_is_too_small_is_refused() {
        let small = Settings { rows: 2_000_000, ..Settings::default() };
        assert!(DbLoad::new(small, Launcher::of("x".into())).unwrap_err().0.contains("raise size"));
    }
}
