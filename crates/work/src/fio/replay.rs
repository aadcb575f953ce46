//! The I/O of a log in place of a job's own (`read_iolog`).
//!
//! As fio 3.33 does on its null engine: what a job says about directions, sizes, places, rates and its end has no
//! effect; `thinktime`, `startdelay`, `runtime` and `end_fsync` have. `replay_skip` has none: fio heeds it for blktrace
//! alone.

use super::ini::Outside;
use super::io::{FioIo, FioOp};
use super::units::{self, Kilo, on_or_off};
use goodness_core::{HORIZON_MAX, Operation, Span};
use goodness_trace::block::{IologIo, read_iolog};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A log that a job replays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replay {
    /// Names of the files.
    pub files: Vec<String>,
    /// Bytes that the I/Os need of each file.
    pub ends: Vec<u64>,
    /// I/Os in their order, with the earliest time of each unless `replay_no_stall`.
    pub ios: Vec<FioIo>,
}

/// Logs by their names.
pub(super) type Known = BTreeMap<String, Arc<Replay>>;

/// Options about the log.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    /// Files with `:` between them, one for each clone.
    logs: Option<String>,
    no_stall: bool,
    redirect: Option<String>,
    /// Speed in hundredths.
    time_scale: u64,
    /// Offsets are divided by this.
    scale: u64,
    /// Offsets are multiples of this.
    align: u64,
}

impl Default for Asked {
    fn default() -> Asked {
        Asked { logs: None, no_stall: false, redirect: None, time_scale: 100, scale: 1, align: 1 }
    }
}

impl Asked {
    /// Parses an option; `None` if it is not one of these.
    pub fn take(&mut self, name: &str, value: Option<&str>, kilo: Kilo) -> Option<Result<(), String>> {
        let text = value.unwrap_or_default();
        // As in fio, 0 has no effect.
        let number = |usual: u64| units::size(text, kilo).map(|n| if n == 0 { usual } else { n });
        Some(match name {
            "replay_no_stall" => on_or_off(value).map(|is_on| self.no_stall = is_on),
            "read_iolog" | "replay_redirect" if text.split(':').any(str::is_empty) => {
                Err("it has no value; name a file".into())
            }
            "read_iolog" => {
                self.logs = Some(text.into());
                Ok(())
            }
            "replay_redirect" => {
                self.redirect = Some(text.into());
                Ok(())
            }
            "replay_time_scale" => units::size(text, kilo).and_then(|n| {
                self.time_scale = n;
                if n > 0 { Ok(()) } else { Err("0 is no speed; 100 is that of the log".into()) }
            }),
            "replay_scale" => number(1).map(|n| self.scale = n),
            "replay_align" => number(1).and_then(|n| {
                self.align = n;
                if n.is_power_of_two() { Ok(()) } else { Err(format!("{n} is no power of two")) }
            }),
            _ => return None,
        })
    }

    /// The log of a clone of the job, if there is one. `known` has those that clones before it read.
    pub fn of_clone(&self, clone: u32, known: &mut Known, outside: &Outside) -> Result<Option<Arc<Replay>>, String> {
        let Some(logs) = &self.logs else { return Ok(None) };
        let logs: Vec<&str> = logs.split(':').collect();
        let log = logs[clone as usize % logs.len()];
        if let Some(replay) = known.get(log) {
            return Ok(Some(Arc::clone(replay)));
        }
        let replay = Arc::new(self.read(log, outside)?);
        known.insert(log.into(), Arc::clone(&replay));
        Ok(Some(replay))
    }

    fn read(&self, log: &str, outside: &Outside) -> Result<Replay, String> {
        let text = (outside.file)(log).map_err(|why| format!("read_iolog: {why}"))?;
        let log = read_iolog(log, &text).map_err(|why| format!("read_iolog: {why}"))?;
        if let Some(last) = log.ios.iter().filter_map(|io| self.io(io, false).due).max().filter(|at| *at > HORIZON_MAX)
        {
            return Err(format!(
                "read_iolog: the log lasts {last}, and a run {HORIZON_MAX} at most; write replay_no_stall=1, or \
                 replay_time_scale=1000 for ten times the speed"
            ));
        }
        let is_one = self.redirect.is_some();
        let files = self.redirect.clone().map_or(log.files, |file| vec![file]);
        let ios: Vec<FioIo> = log.ios.iter().map(|io| self.io(io, is_one)).collect();
        let mut ends = vec![0; files.len()];
        for io in &ios {
            ends[io.file] = io.offset.saturating_add(io.bytes).max(ends[io.file]);
        }
        Ok(Replay { files, ends, ios })
    }

    fn io(&self, io: &IologIo, is_one: bool) -> FioIo {
        let op = match io.op {
            Operation::Read => FioOp::Read,
            Operation::Write => FioOp::Write,
            Operation::Discard => FioOp::Trim,
            Operation::Flush if io.of_data => FioOp::DataSync,
            Operation::Flush => FioOp::Sync,
        };
        let at = u128::from(io.at.0) * 100 / u128::from(self.time_scale);
        let due = (!self.no_stall).then(|| Span(u64::try_from(at).unwrap_or(u64::MAX)));
        let offset = io.offset / self.scale / self.align * self.align;
        FioIo { op, file: if is_one { 0 } else { io.file }, offset, bytes: io.bytes, due, pause: None }
    }
}
