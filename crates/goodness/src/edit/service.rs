//! Edits of disks: `disk.service=75%`, it takes three quarters of the time for everything.

use super::apart::Percent;
use super::{matches, wrong};
use crate::refusal::Refusal;
use goodness_core::spelling::suggest;
use goodness_core::{DiskSpec, Workload};

/// The key.
pub(super) const KEY: &str = "service";

/// Makes the disks that `whom` means faster or slower.
pub(super) fn apply(text: &str, (whom, service): (&str, Percent), work: &mut Workload) -> Result<(), Refusal> {
    let disks = &mut work.storage.disks;
    if disks.is_empty() {
        return Err(wrong(text, "the work has no disks").remedy("files with [[disk]] have, and traces of block I/O"));
    }
    if !disks.iter().any(|disk| matches(whom, &disk.name)) {
        let near = suggest(whom, disks.iter().map(|disk| disk.name.as_str()));
        return Err(wrong(text, &format!("no disk is called \"{whom}\"")).remedy(near));
    }
    for disk in disks.iter_mut().filter(|disk| matches(whom, &disk.name)) {
        disk.service = (disk.service.saturating_mul(service.0) / DiskSpec::AS_MODELLED).max(1);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::{Edit, work};
    use goodness_core::{DiskSpec, Seed, Workload, WorkloadSource};

    /// The percentages of two disks, sda and sdb, after an edit.
    fn edited(text: &str) -> Result<Vec<u32>, String> {
        let source = goodness_work::models::BuiltIn::parse("sleepers:duration=300ms").unwrap();
        let disk = |name: &str| DiskSpec {
            name: name.into(),
            device: "null".into(),
            sample: None,
            elevator: None,
            service: DiskSpec::AS_MODELLED,
        };
        let mut tasks: Workload = source.build(Seed(1), 0);
        tasks.storage.disks = ["sda", "sdb"].map(disk).into();
        let edit = |text| Edit::parse(text).map_err(|why| why.to_string()).map(|it| it.expect("an edit"));
        let edits = text.split(' ').map(edit).collect::<Result<Vec<Edit>, String>>()?;
        work(&edits, &mut tasks, &source, (1, 1)).map_err(|why| why.to_string())?;
        Ok(tasks.storage.disks.iter().map(|disk| disk.service).collect())
    }

    #[test]
    fn the_disks_that_an_edit_names_are_faster_and_no_others() {
        assert_eq!(edited("sdb.service=75%").unwrap(), [100, 75]);
        assert_eq!(edited("*.service=200%").unwrap(), [200, 200]);
        assert_eq!(edited("sda.service=200% *.service=95%").unwrap(), [190, 95], "edits multiply");
        assert_eq!(edited("sda.service=1% *.service=50%").unwrap(), [1, 50], "no disk takes no time");
        assert!(edited("sdc.service=75%").unwrap_err().contains("no disk is called \"sdc\""));
        assert!(edited("sda.service=fast").unwrap_err().contains("1% to 1000%"));
    }
}
