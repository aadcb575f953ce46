//! fio: a user's job file on a private loop device, or on files in the race's folder.

use super::fio_job;
use super::process::Process;
use super::{About, Load, Program, Registered};
use crate::load_error::LoadError;
use crate::measure::{Better, Measure};
use crate::parameter::FilePath;
use crate::role::Role;
use crate::subprocess::Launcher;
use crate::workspace::Workspace;
use goodness_core::{Seed, Span, choices, tunables};
use goodness_ublk::disks::LoopDisk;
use serde_json::Value;
use std::fs;
use std::process::Command;
use std::time::Duration;

choices! {
    /// Target of the I/O.
    pub enum On { Folder = "folder", Loop = "loop" }
}

tunables! {
    pub struct Settings {
        /// The job file, without a target for the I/O.
        job: FilePath = FilePath::default();
        /// Target: a private loop device, whose I/O scheduler arms can set, or files in the race's folder.
        on: On = On::Loop;
        /// Size of the loop device in MiB.
        size: u64 = 1024, in 16 => 1_048_576;
        /// Time limit of the job.
        limit: Span = Span::from_s(600), in Span::from_s(1) => Span::from_s(36_000);
    }
}

const FIO: Program = Program { name: "fio", package: "fio" };

/// fio with a job.
#[derive(Debug)]
pub struct Fio {
    settings: Settings,
    disk: Option<LoopDisk>,
}

impl Registered for Fio {
    const ABOUT: About = About {
        name: "fio",
        summary: "fio runs your job file on files, or on a loop device whose I/O scheduler arms can set.",
        needs: &[FIO],
        measures: &["iops", "bandwidth", "io_latency_mean"],
    };
    type Settings = Settings;

    fn new(settings: Settings, _launcher: Launcher) -> Result<Self, LoadError> {
        Ok(Fio { settings, disk: None })
    }
}

impl Load for Fio {
    fn check(&self) -> Result<(), LoadError> {
        match self.settings.on {
            On::Folder => Ok(()),
            On::Loop => super::for_root("fio on a loop device (on = folder needs none)"),
        }
    }

    fn prepare(&mut self, workspace: &Workspace) -> Result<(), LoadError> {
        FIO.find()?;
        let file = &self.settings.job.0;
        if file.as_os_str().is_empty() {
            return Err(LoadError("fio has no job; name a job file with job = \"FILE\"".into()));
        }
        let text = fs::read_to_string(file).map_err(|why| LoadError(format!("{}: {why}", file.display())))?;
        let folder = workspace.folder().join("files");
        fs::create_dir_all(&folder).map_err(|why| LoadError(format!("{}: {why}", folder.display())))?;
        let where_to = match self.settings.on {
            On::Folder => format!("directory={}", folder.display()),
            On::Loop => {
                let disk = LoopDisk::make(workspace.folder(), self.settings.size << 20);
                let disk = disk.map_err(|why| LoadError(why.to_string()))?;
                let device = disk.device();
                workspace.add_disk(&device.file_name().unwrap_or_default().to_string_lossy());
                self.disk = Some(disk);
                // On a device a job would take all of it, and more where it says so itself.
                format!("filename={}", device.display())
            }
        };
        let made = fio_job::placed(&file.display().to_string(), &text, &where_to)?;
        let own = workspace.folder().join("job.fio");
        fs::write(&own, made).map_err(|why| LoadError(format!("{}: {why}", own.display())))
    }

    fn run(&mut self, workspace: &Workspace, seed: Seed) -> Result<Vec<Measure>, LoadError> {
        let output = workspace.folder().join("fio.json");
        let _ = fs::remove_file(&output);
        let mut command = Command::new(FIO.find()?);
        command.current_dir(workspace.folder()).args(["--output-format=json", "--eta=never"]);
        command.arg(format!("--output={}", output.display())).arg(format!("--randseed={}", seed.0 >> 1));
        let fio = Process::start(workspace, Role::Server, "fio", command.arg("job.fio"), None)?;
        fio.finish(Duration::from_nanos(self.settings.limit.ns()))?;
        let text = fs::read_to_string(&output).map_err(|why| LoadError(format!("{}: {why}", output.display())))?;
        measures(&text)
    }
}

/// Totals of all jobs, then each job by name.
fn measures(text: &str) -> Result<Vec<Measure>, LoadError> {
    // Warnings come before the object.
    let object = text.find('{').map_or("", |start| &text[start..]);
    let read: Value =
        serde_json::from_str(object).map_err(|why| LoadError(format!("fio's output is no JSON: {why}")))?;
    let jobs = read["jobs"].as_array().filter(|jobs| !jobs.is_empty()).ok_or_else(|| lacks("jobs"))?;
    let mut sums = Sums::default();
    let mut each = Vec::new();
    for job in jobs {
        let name = job["jobname"].as_str().ok_or_else(|| lacks("jobname"))?;
        if job["error"].as_i64() != Some(0) {
            return Err(LoadError(format!("fio's job {name} failed with error {}", job["error"])));
        }
        for direction in ["read", "write", "trim"] {
            each.extend(one_way(&job[direction], &format!("{}_{direction}", plain(name)), &mut sums)?);
        }
    }
    if sums.done == 0.0 {
        return Err(LoadError("fio did no I/O; give the job more time or a size".into()));
    }
    let mut all = vec![
        Measure::new("iops", "1/s", Better::Higher, sums.iops),
        Measure::new("bandwidth", "bytes/s", Better::Higher, sums.bandwidth),
        Measure::new("io_latency_mean", "ns", Better::Lower, sums.waited / sums.done),
    ];
    all.extend(numbered(each));
    Ok(all)
}

fn lacks(what: &str) -> LoadError {
    LoadError(format!("fio's output has no {what}; is it fio 3?"))
}

/// Totals of all jobs.
#[derive(Default)]
struct Sums {
    iops: f64,
    bandwidth: f64,
    /// Total latency of the I/Os.
    waited: f64,
    done: f64,
}

/// Measures of a job in one direction; empty if it did no I/O.
fn one_way(job: &Value, prefix: &str, sums: &mut Sums) -> Result<Vec<Measure>, LoadError> {
    let figure = |path: &str| job.pointer(path).and_then(Value::as_f64);
    let must = |path: &str| figure(path).ok_or_else(|| lacks(&format!("{prefix}{path}")));
    let count = must("/total_ios")?;
    if count == 0.0 {
        return Ok(Vec::new());
    }
    let (iops, bandwidth, mean) = (must("/iops")?, must("/bw_bytes")?, must("/lat_ns/mean")?);
    (sums.iops, sums.bandwidth) = (sums.iops + iops, sums.bandwidth + bandwidth);
    (sums.waited, sums.done) = (sums.waited + count * mean, sums.done + count);
    let latency = |part: &str, ns: f64| Measure::new(&format!("{prefix}_latency_{part}"), "ns", Better::Lower, ns);
    let mut all = vec![
        Measure::new(&format!("{prefix}_iops"), "1/s", Better::Higher, iops),
        Measure::new(&format!("{prefix}_bandwidth"), "bytes/s", Better::Higher, bandwidth),
        latency("mean", mean),
        latency("max", must("/lat_ns/max")?),
    ];
    // Completion times: fio has percentiles of these unless told otherwise.
    for (part, key) in [("p50", "50.000000"), ("p99", "99.000000")] {
        all.extend(figure(&format!("/clat_ns/percentile/{key}")).map(|ns| latency(part, ns)));
    }
    Ok(all)
}

/// A job's name as part of a measure's.
fn plain(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' };
    name.chars().take(40).map(plain).collect()
}

/// Copies of a job have one name: the second becomes `job_2`.
fn numbered(each: Vec<Measure>) -> Vec<Measure> {
    let mut seen = std::collections::BTreeMap::new();
    let number = |measure: Measure| {
        let count = seen.entry(measure.name.clone()).or_insert(0u32);
        *count += 1;
        let name = if *count == 1 { measure.name } else { format!("{}_{count}", measure.name) };
        Measure { name, ..measure }
    };
    each.into_iter().map(number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::value;

    /// In the format of `fio --output-format=json`, 3.33: a job of random reads and two copies of one that writes, with
    /// the parsed keys and round figures, so that sums can be checked.
    const OUTPUT: &str = include_str!("../../tests/recorded/fio.json");

    #[test]
    fn jobs_are_summed_and_copies_are_numbered() {
        let all = measures(OUTPUT).unwrap();
        assert_eq!(value(&all, "iops"), 4000.0 + 300.0 + 100.0);
        assert_eq!(value(&all, "bandwidth"), 16_384_000.0 + 19_660_800.0 + 6_553_600.0);
        let mean = (4000.0 * 1.0e6 + 300.0 * 2.0e6 + 100.0 * 6.0e6) / 4400.0;
        assert!((value(&all, "io_latency_mean") - mean).abs() < 1e-6);
        assert_eq!(value(&all, "rand_read_read_latency_p99"), 9_371_648.0);
        assert_eq!(value(&all, "writer_write_iops"), 300.0);
        assert_eq!(value(&all, "writer_write_iops_2"), 100.0);
        assert!(all.iter().all(|measure| !measure.name.contains("trim")));
    }

    #[test]
    fn output_that_lacks_a_figure_or_tells_of_a_failure_is_refused() {
        assert!(measures("").is_err() && measures("{}").is_err() && measures("{\"jobs\":[]}").is_err());
        assert!(measures(&OUTPUT[..OUTPUT.len() / 2]).unwrap_err().0.contains("no JSON"));
        assert!(measures(&OUTPUT.replacen("\"error\": 0", "\"error\": 28", 1)).unwrap_err().0.contains("error 28"));
        assert!(measures(&OUTPUT.replacen("lat_ns", "latency", 1)).unwrap_err().0.contains("lat_ns"));
        assert!(measures(&OUTPUT.replacen("total_ios", "ios", 1)).unwrap_err().0.contains("total_ios"));
    }
}
