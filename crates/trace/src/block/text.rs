//! Formats of one record a line: the loop over lines that they share.

use super::record::{BlockRecord, Extent};
use super::source::{About, Numbered, Source};
use crate::compress::Input;
use crate::error::TraceError;
use crate::lines::{Line, Lines};
use crate::repairs::Repair;
use goodness_core::DiskId;
use std::io;

/// Reason a line yields no record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Skipped and counted.
    Left(Repair),
    /// The whole file cannot be used, for this reason.
    Refused(String),
}

impl From<Repair> for Fault {
    fn from(repair: Repair) -> Fault {
        Fault::Left(repair)
    }
}

/// State used to parse a line.
pub(crate) struct LineContext<'a> {
    pub about: &'a mut About,
    /// Its number, from 1.
    pub line: u64,
}

impl LineContext<'_> {
    /// The extent, if there is one; counts rounding.
    pub fn extent(&mut self, extent: Option<Extent>) -> Result<Extent, Fault> {
        let extent = extent.ok_or(Fault::Left(Repair::ImpossibleExtent))?;
        if !extent.is_exact {
            self.about.repairs.add(Repair::PartialSector, 1, self.line);
        }
        Ok(extent)
    }

    /// The disk of this name.
    pub fn disk(&mut self, name: &[u8]) -> Result<DiskId, Fault> {
        let name = str::from_utf8(name).map_err(|_| Fault::Left(Repair::UnreadableLine))?;
        self.about.disks.named(name).ok_or(Fault::Left(Repair::TooManyDisks))
    }
}

/// A format of one record a line.
pub(crate) trait TextFormat {
    /// Parses one line. `None`: a valid line without a record.
    fn line(&mut self, line: &[u8], cx: &mut LineContext) -> Result<Option<BlockRecord>, Fault>;
}

/// All lines of an input.
pub(crate) struct Text<'a> {
    pub name: String,
    pub lines: Lines<Input<'a>>,
    pub format: Box<dyn TextFormat>,
}

impl Source for Text<'_> {
    fn next(&mut self, about: &mut About) -> Result<Option<Numbered>, TraceError> {
        loop {
            let place = self.lines.count + 1;
            let (line, is_last) = match self.lines.next() {
                Ok(Line::Whole(line)) => (line, false),
                Ok(Line::Last(line)) => (line, true),
                Ok(Line::Overlong) => {
                    about.repairs.add(Repair::OverlongLine, 1, place);
                    continue;
                }
                Ok(Line::End) => return Ok(None),
                Err(source) => return stopped(&self.name, place, source, about),
            };
            match self.format.line(line, &mut LineContext { about, line: place }) {
                Ok(Some(record)) => return Ok(Some(Numbered { record, place })),
                Ok(None) => {}
                Err(Fault::Left(Repair::UnreadableLine | Repair::UnreadableEvent)) if is_last => {
                    about.repairs.add(Repair::TruncatedEnd, 1, place);
                }
                Err(Fault::Left(kind)) => about.repairs.add(kind, 1, place),
                Err(Fault::Refused(what)) => {
                    return Err(TraceError::Refused { path: self.name.clone(), place: format!("line {place}"), what });
                }
            }
        }
    }

    fn bytes(&self) -> u64 {
        self.lines.bytes
    }

    fn reached(&self) -> String {
        format!("line {}", self.lines.count.max(1))
    }
}

/// Handles a read error in the middle: the records before it are kept.
#[cold]
fn stopped(path: &str, line: u64, source: io::Error, about: &mut About) -> Result<Option<Numbered>, TraceError> {
    about.repairs.add(Repair::TruncatedEnd, 1, line);
    if line == 1 {
        return Err(TraceError::Read { path: path.into(), line, source });
    }
    about.warnings.push(format!("reading {path} stopped at line {line}: {source}; what comes after it is missing"));
    Ok(None)
}
