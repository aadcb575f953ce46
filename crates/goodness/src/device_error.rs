//! The error of fitted devices, which their files carry: how far each was off on loads that it was not fitted to.

use goodness_core::StorageSpec;
use goodness_device::fitted::{self, Tried};
use goodness_report::figure;

/// The models of the disks of `storage`, each once.
pub(crate) fn devices(storage: &StorageSpec) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for disk in &storage.disks {
        let device = figure::printable(&disk.device).to_string();
        if !found.contains(&device) {
            found.push(device);
        }
    }
    found
}

/// A disk whose device was fitted to a real one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FittedDisk {
    /// The device file.
    file: String,
    /// Its error on other loads, if the file states it.
    tried: Option<Tried>,
}

impl FittedDisk {
    /// The disks of `storage` whose devices are files, each file once.
    pub(crate) fn all(storage: &StorageSpec) -> Vec<FittedDisk> {
        let mut found: Vec<FittedDisk> = Vec::new();
        for disk in storage.disks.iter().filter(|disk| disk.sample.is_none() && fitted::is_file(&disk.device)) {
            let is_known = found.iter().any(|it| it.file == disk.device);
            if let (false, Ok(model)) = (is_known, fitted::read(&disk.device)) {
                found.push(FittedDisk { file: disk.device.clone(), tried: model.tried });
            }
        }
        found
    }

    /// The error in `metric` as a factor less 1. `None` for what the device does not decide, and if the file has none.
    pub(crate) fn error(&self, metric: &str) -> Option<f64> {
        let tried = self.tried?;
        let is_latency = ["io_latency_", "io_read_latency_", "io_write_latency_"];
        match metric {
            "iops" | "bandwidth" | "completion_time" => Some(Tried::factor(tried.iops_per_mille) - 1.0),
            _ if is_latency.iter().any(|family| metric.starts_with(family)) => {
                Some(Tried::factor(tried.p99_per_mille) - 1.0)
            }
            _ => None,
        }
    }

    /// The error in a sentence.
    pub(crate) fn sentence(&self) -> String {
        let FittedDisk { file, tried } = self;
        let file = figure::printable(file);
        match tried {
            None => format!("{file} does not state how near it is to its disk; `goodness calibrate --device` does."),
            Some(tried) => {
                let [iops, p99] = tried.in_words();
                format!(
                    "{file} was tried on {} loads that it was not fitted to: at most {iops} in IOPS, {p99} in p99.",
                    tried.loads
                )
            }
        }
    }

    /// The reason not to trust simulations of the disk, if there is one.
    pub(crate) fn doubt(&self) -> Option<String> {
        let tried = self.tried.filter(|tried| !tried.is_accepted())?;
        let [iops, p99] = tried.in_words();
        let file = figure::printable(&self.file);
        Some(format!("{file} is {iops} off in IOPS and {p99} in p99 on loads that it was not fitted to"))
    }
}
