//! Options that mean something only together: verification, strides, flows, common ends, sizes of files.

use super::job::{Ends, FioJob, Flow, Verify};
use super::units::{self, Amount, Kilo, on_or_off};
use goodness_core::Span;

/// The largest weight in a flow: fio's.
const WEIGHT_MAX: u64 = 1000;

/// The values so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Gathered {
    verify: bool,
    do_verify: Option<bool>,
    backlog: Option<u64>,
    file_size: Option<u64>,
    fill_device: bool,
    /// `zonemode`, if given.
    is_strided: Option<bool>,
    zone_size: Option<u64>,
    zone_range: Option<u64>,
    zone_skip: u64,
    flow: Option<u64>,
    flow_id: u64,
    flow_sleep: Span,
    exit_all: bool,
    exit_what: Option<Ends>,
}

impl Gathered {
    /// Parses an option; `None` if it is not one of these.
    pub fn take(&mut self, name: &str, value: Option<&str>, kilo: Kilo) -> Option<Result<(), String>> {
        if let Some(switch) = self.switch(name) {
            return Some(on_or_off(value).map(|is_on| switch(self, is_on)));
        }
        let value = value.unwrap_or_default();
        let bytes = || units::size(value, kilo);
        Some(match name {
            "verify" => {
                self.verify = !matches!(value, "0" | "none");
                Ok(())
            }
            "verify_backlog" => bytes().map(|n| self.backlog = Some(n).filter(|n| *n > 0)),
            "filesize" if value.contains('-') => Err("a range of sizes is not honoured; write one".into()),
            "filesize" => bytes().map(|n| self.file_size = Some(n)),
            "zonemode" => match value {
                "none" | "strided" => {
                    self.is_strided = Some(value == "strided");
                    Ok(())
                }
                "zbd" => Err("disks with zones are not modelled".into()),
                _ => Err(format!("{value:?} is none of none, strided, zbd")),
            },
            "zonesize" => bytes().map(|n| self.zone_size = Some(n)),
            "zonerange" => bytes().map(|n| self.zone_range = Some(n)),
            "zoneskip" => bytes().map(|n| self.zone_skip = n),
            "flow" => bytes().and_then(weight).map(|n| self.flow = Some(n).filter(|n| *n > 0)),
            "flow_id" => bytes().map(|n| self.flow_id = n),
            "flow_sleep" => units::time(value, Span::from_us(1)).map(|span| self.flow_sleep = span),
            "exit_what" => match value {
                "all" => Ok(Some(Ends::All)),
                "group" | "stonewall" => Ok(Some(Ends::Wave)),
                _ => Err(format!("{value:?} is none of group, stonewall, all")),
            }
            .map(|what| self.exit_what = what),
            _ => return None,
        })
    }

    /// The option that is on or off.
    fn switch(&self, name: &str) -> Option<fn(&mut Gathered, bool)> {
        Some(match name {
            "do_verify" => |it, is_on| it.do_verify = Some(is_on),
            "fill_device" => |it, is_on| it.fill_device = is_on,
            "exitall" => |it, is_on| it.exit_all = is_on,
            _ => return None,
        })
    }

    /// Completes the job.
    pub fn finish(&self, job: &mut FioJob) -> Result<(), String> {
        if let Some(bytes) = self.file_size {
            in_files_of(bytes, job);
        }
        if self.fill_device {
            job.size = None;
        }
        if self.verify && self.do_verify != Some(false) && job.does()[1] {
            job.verify = Some(self.backlog.map_or(Verify::AtEnd, Verify::After));
        }
        job.strides = self.strides(job.pattern.random)?;
        job.flow = self.flow.map(|weight| Flow { id: self.flow_id, weight, sleep: self.flow_sleep });
        if self.exit_all {
            job.ends = self.exit_what.unwrap_or(Ends::Wave);
        }
        Ok(())
    }

    /// Zone and gap. A `zonesize` without `zonemode` makes strides, as in fio before it had `zonemode`.
    fn strides(&self, is_random: bool) -> Result<Option<(u64, u64)>, String> {
        let zone = match (self.is_strided, self.zone_size.filter(|zone| *zone > 0)) {
            (Some(true), None) => return Err("zonemode=strided needs a zonesize; write zonesize=64k".into()),
            (Some(false), Some(_)) => return Err("zonesize contradicts zonemode=none; leave one of them out".into()),
            (_, None) => return Ok(None),
            (_, Some(zone)) => zone,
        };
        if is_random {
            return Err("zones of a random job are not honoured, only of a sequential one".into());
        }
        let range = self.zone_range.unwrap_or(zone);
        let gap = range.checked_sub(zone).ok_or_else(|| format!("zonerange is {range}, and zonesize {zone}"))?;
        Ok(Some((zone, gap.saturating_add(self.zone_skip))))
    }
}

/// Each file has `bytes`, and the job's part is all behind its offset. As in fio, a `size` in bytes is what it moves
/// there, and a share makes the part smaller.
fn in_files_of(bytes: u64, job: &mut FioJob) {
    let files = job.files.len() as u64;
    // Shares are of the file, not of the disk that it is on.
    let [offset, increment] = [job.offset, job.offset_increment].map(|it| it.of(bytes));
    (job.offset, job.offset_increment) = (Amount::Bytes(offset), Amount::Bytes(increment));
    let begins = offset.saturating_add(increment.saturating_mul(job.clone.into()));
    let room = bytes.saturating_sub(begins).saturating_mul(files);
    let part = match job.size {
        Some(share @ Amount::Percent(_)) => share.of(bytes.saturating_mul(files)).min(room),
        Some(Amount::Bytes(moved)) => {
            job.io_size = job.io_size.or((moved < room).then_some(Amount::Bytes(moved)));
            room
        }
        None => room,
    };
    job.size = Some(Amount::Bytes(part));
}

fn weight(n: u64) -> Result<u64, String> {
    if n > WEIGHT_MAX { Err(format!("{n} is more than {WEIGHT_MAX}")) } else { Ok(n) }
}
