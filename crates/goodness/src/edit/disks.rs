//! Edits of disks: `disk.service=75%`, it takes three quarters of the time for everything; `disk.wbt_lat=2ms`, its
//! write-back is throttled for reads that take longer.

use super::apart::Percent;
use super::{matches, wrong};
use crate::refusal::Refusal;
use goodness_core::spelling::suggest;
use goodness_core::{DiskSpec, Span, Workload};

/// The keys.
pub(super) const KEYS: [&str; 2] = ["service", "wbt_lat"];

/// A change of a disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DiskChange {
    /// Less or more time for everything.
    Service(Percent),
    /// Latency of reads for which write-back is throttled; `None`: it is not.
    WriteBack(Option<Span>),
}

impl DiskChange {
    /// `value` of `key`; `None` if that is not a key of a disk.
    pub(super) fn parse(text: &str, key: &str, value: &str) -> Result<Option<DiskChange>, Refusal> {
        Ok(Some(match key {
            "service" => DiskChange::Service(Percent::parse(text, value)?),
            "wbt_lat" => {
                let latency = Span::parse(value).map_err(|why| wrong(text, &why))?;
                DiskChange::WriteBack(DiskSpec::throttled_for(latency).map_err(|why| wrong(text, why))?)
            }
            _ => return Ok(None),
        }))
    }

    /// The key that it sets.
    pub(super) fn key(&self) -> &'static str {
        KEYS[usize::from(matches!(self, DiskChange::WriteBack(_)))]
    }

    fn set(&self, disk: &mut DiskSpec) {
        match self {
            DiskChange::Service(part) => {
                disk.service = (disk.service.saturating_mul(part.0) / DiskSpec::AS_MODELLED).max(1);
            }
            DiskChange::WriteBack(latency) => disk.wbt_lat = *latency,
        }
    }
}

/// Changes the disks that `whom` means.
pub(super) fn apply(text: &str, (whom, change): (&str, &DiskChange), work: &mut Workload) -> Result<(), Refusal> {
    let disks = &mut work.storage.disks;
    if disks.is_empty() {
        return Err(wrong(text, "the work has no disks").remedy("files with [[disk]] have, and traces of block I/O"));
    }
    if !disks.iter().any(|disk| matches(whom, &disk.name)) {
        let near = suggest(whom, disks.iter().map(|disk| disk.name.as_str()));
        return Err(wrong(text, &format!("no disk is called \"{whom}\"")).remedy(near));
    }
    disks.iter_mut().filter(|disk| matches(whom, &disk.name)).for_each(|disk| change.set(disk));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::{Edit, work};
    use goodness_core::{DiskSpec, Seed, Span, Workload, WorkloadSource};

    /// Two disks, sda and sdb, after an edit.
    fn disks(text: &str) -> Result<Vec<DiskSpec>, String> {
        let source = goodness_work::models::BuiltIn::parse("sleepers:duration=300ms").unwrap();
        let disk = |name: &str| DiskSpec::of(name, "null");
        let mut tasks: Workload = source.build(Seed(1), 0);
        tasks.storage.disks = ["sda", "sdb"].map(disk).into();
        let edit = |text| Edit::parse(text).map_err(|why| why.to_string()).map(|it| it.expect("an edit"));
        let edits = text.split(' ').map(edit).collect::<Result<Vec<Edit>, String>>()?;
        work(&edits, &mut tasks, &source, (1, 1)).map_err(|why| why.to_string())?;
        Ok(tasks.storage.disks)
    }

    fn edited(text: &str) -> Result<Vec<u32>, String> {
        Ok(disks(text)?.iter().map(|disk| disk.service).collect())
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

    #[test]
    fn write_back_is_throttled_on_the_disks_that_an_edit_names() {
        let throttled = |text| disks(text).unwrap().iter().map(|disk| disk.wbt_lat).collect::<Vec<_>>();
        assert_eq!(throttled("sdb.wbt_lat=2ms"), [None, Some(Span::from_ms(2))]);
        assert_eq!(throttled("*.wbt_lat=75ms sda.wbt_lat=0ms"), [None, Some(Span::from_ms(75))], "0 turns it off");
        for wrong in ["sda.wbt_lat=2", "sda.wbt_lat=1h", "sdc.wbt_lat=2ms"] {
            assert!(disks(wrong).unwrap_err().contains(wrong), "{wrong}");
        }
    }
}
