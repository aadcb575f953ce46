//! Disks of a trace, numbered by first appearance, and names of processes.

use crate::tasks::Comm;
use goodness_core::DiskId;
use std::collections::BTreeMap;

/// More disks than this are not kept apart: a trace that names more is damaged.
pub const DISKS_MAX: usize = 4096;
/// The longest name of a disk: that of a path component.
const NAME_MAX: usize = 255;
/// Most process names kept.
const NAMES_MAX: usize = 1 << 16;

/// A device number as Linux shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeviceNumber {
    /// Number of the driver.
    pub major: u32,
    /// Number of the device within the driver.
    pub minor: u32,
}

/// The disks of a trace by [`DiskId`], in order of appearance.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Disks {
    names: Vec<(String, Option<DeviceNumber>)>,
    by_number: BTreeMap<DeviceNumber, DiskId>,
    by_name: BTreeMap<String, DiskId>,
    /// Cache of the last lookup, as traces repeat device numbers.
    last: Option<(DeviceNumber, DiskId)>,
}

impl Disks {
    /// Number of disks.
    #[must_use]
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// True if the table is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Name: `major:minor`, or the trace's own.
    #[must_use]
    pub fn name(&self, disk: DiskId) -> Option<&str> {
        self.names.get(usize::from(disk.0)).map(|(name, _)| name.as_str())
    }

    /// Device number, if the trace has one.
    #[must_use]
    pub fn number(&self, disk: DiskId) -> Option<DeviceNumber> {
        self.names.get(usize::from(disk.0)).and_then(|(_, number)| *number)
    }

    /// All disks with their names.
    pub fn iter(&self) -> impl Iterator<Item = (DiskId, &str)> {
        self.names.iter().enumerate().map(|(at, (name, _))| (DiskId(at as u16), name.as_str()))
    }

    /// The disk with this number, added if new; `None` if there are too many.
    pub fn numbered(&mut self, number: DeviceNumber) -> Option<DiskId> {
        if let Some((last, disk)) = self.last
            && last == number
        {
            return Some(disk);
        }
        let disk = match self.by_number.get(&number) {
            Some(disk) => *disk,
            None => {
                let disk = self.add(format!("{}:{}", number.major, number.minor), Some(number))?;
                self.by_number.insert(number, disk);
                disk
            }
        };
        self.last = Some((number, disk));
        Some(disk)
    }

    /// The disk with this name, added if new; `None` if there are too many or the name is too long.
    pub fn named(&mut self, name: &str) -> Option<DiskId> {
        if let Some(disk) = self.by_name.get(name) {
            return Some(*disk);
        }
        if name.len() > NAME_MAX {
            return None;
        }
        let disk = self.add(name.into(), None)?;
        self.by_name.insert(name.into(), disk);
        Some(disk)
    }

    fn add(&mut self, name: String, number: Option<DeviceNumber>) -> Option<DiskId> {
        if self.names.len() >= DISKS_MAX {
            return None;
        }
        self.names.push((name, number));
        Some(DiskId((self.names.len() - 1) as u16))
    }
}

/// Names of processes by id: the first name seen of each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Processes {
    names: BTreeMap<u32, Comm>,
    last: u32,
}

impl Processes {
    /// The name of the process with this id.
    #[must_use]
    pub fn name(&self, pid: u32) -> Option<Comm> {
        self.names.get(&pid).copied()
    }

    /// All ids with their names, by id.
    pub fn iter(&self) -> impl Iterator<Item = (u32, Comm)> {
        self.names.iter().map(|(pid, name)| (*pid, *name))
    }

    /// Notes that `pid` is called `name`.
    pub(crate) fn note(&mut self, pid: u32, name: &[u8]) {
        if pid == 0 || pid == self.last || name.is_empty() {
            return;
        }
        self.last = pid;
        if self.names.len() < NAMES_MAX {
            self.names.entry(pid).or_insert_with(|| Comm::new(name));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disks_are_numbered_in_order_of_appearance_and_are_bounded() {
        let mut disks = Disks::default();
        let sda = DeviceNumber { major: 8, minor: 0 };
        assert_eq!(disks.named("usr.0"), Some(DiskId(0)));
        assert_eq!(disks.numbered(sda), Some(DiskId(1)));
        assert_eq!(disks.numbered(DeviceNumber { minor: 16, ..sda }), Some(DiskId(2)));
        assert_eq!(disks.numbered(sda), Some(DiskId(1)));
        assert_eq!((disks.name(DiskId(1)), disks.number(DiskId(1))), (Some("8:0"), Some(sda)));
        assert_eq!(disks.number(DiskId(0)), None);
        assert_eq!(disks.named(&"x".repeat(300)), None);
        for minor in 0..10_000 {
            disks.numbered(DeviceNumber { major: 9, minor });
        }
        assert_eq!(disks.len(), DISKS_MAX);
        assert_eq!(disks.named("one more"), None);
    }

    #[test]
    fn the_first_name_of_a_process_is_kept() {
        let mut processes = Processes::default();
        processes.note(5, b"dd");
        processes.note(6, b"cp");
        processes.note(5, b"other");
        processes.note(0, b"idle");
        assert_eq!(processes.name(5), Some(Comm::new(b"dd")));
        assert_eq!(processes.iter().count(), 2);
    }
}
