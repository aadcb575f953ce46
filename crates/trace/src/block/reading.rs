//! Stages between a source of records and its user: order, time base, response times.

use super::format::BlockFormat;
use super::pairs::Pairs;
use super::record::{BlockRecord, BlockStage};
use super::source::{About, Numbered, Source};
use crate::error::TraceError;
use crate::reorder::{Reorder, check_order};
use crate::repairs::Repair;
use goodness_core::Time;

/// Reads the records of a trace one by one.
pub trait BlockReader {
    /// The next record, in order of time. `None` at the end, and after an error.
    ///
    /// # Errors
    /// One sentence. Damage that leaves usable parts is repaired and counted. An error at the end means that
    /// nothing was usable, or that too much was out of order.
    fn next(&mut self) -> Result<Option<BlockRecord>, TraceError>;

    /// Facts about the trace so far.
    fn about(&self) -> &About;
}

/// A trace of block I/O, read from beginning to end in constant memory.
pub struct BlockTrace<'a> {
    name: String,
    format: &'static BlockFormat,
    source: Box<dyn Source + 'a>,
    order: Reorder<Numbered>,
    pairs: Pairs,
    about: About,
    /// Time of the first record, if times are relative to it.
    base: Option<u64>,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Reading,
    /// The source has ended; some records wait in order.
    Draining,
    Ended,
}

impl<'a> BlockTrace<'a> {
    pub(crate) fn new(name: String, format: &'static BlockFormat, source: Box<dyn Source + 'a>) -> BlockTrace<'a> {
        let about = About { format: format.name, carries: format.carries, ..About::default() };
        let base = if format.from_first { None } else { Some(0) };
        BlockTrace {
            name,
            format,
            source,
            order: Reorder::default(),
            pairs: Pairs::default(),
            about,
            base,
            state: State::Reading,
        }
    }

    fn give(&mut self, mut numbered: Numbered) -> BlockRecord {
        let record = &mut numbered.record;
        let base = *self.base.get_or_insert(record.at.ns());
        record.at = Time(record.at.ns().saturating_sub(base));
        self.pairs.follow(record, numbered.place, &mut self.about.repairs);
        self.about.records += 1;
        self.about.responses += u64::from(record.response.is_some());
        self.about.begun += u64::from(matches!(record.stage, BlockStage::Queue | BlockStage::Issue));
        *record
    }

    /// Final check: fails if nothing was usable, or too much was out of order.
    fn verdict(&mut self) -> Result<(), TraceError> {
        self.about.bytes = self.source.bytes();
        let path = self.name.clone();
        if self.about.begun + self.about.responses == 0 {
            let place = self.source.reached();
            return Err(TraceError::NoBlockIo { path, place, how: self.format.how_to_record });
        }
        check_order(&path, self.about.records, &self.about.repairs)?;
        let lost = self.about.repairs.of(Repair::LostEvents).count;
        if lost > 0 {
            self.about.warnings.push(format!("{lost} events were lost while recording; record with larger buffers"));
        }
        Ok(())
    }
}

impl BlockReader for BlockTrace<'_> {
    fn next(&mut self) -> Result<Option<BlockRecord>, TraceError> {
        while self.state == State::Reading {
            match self.source.next(&mut self.about) {
                Ok(Some(numbered)) => {
                    if let Some(earliest) = self.order.push(numbered, &mut self.about.repairs) {
                        return Ok(Some(self.give(earliest)));
                    }
                }
                Ok(None) => self.state = State::Draining,
                Err(error) => {
                    self.state = State::Ended;
                    return Err(error);
                }
            }
        }
        if self.state == State::Draining {
            if let Some(earliest) = self.order.pop() {
                return Ok(Some(self.give(earliest)));
            }
            self.state = State::Ended;
            self.verdict()?;
        }
        Ok(None)
    }

    fn about(&self) -> &About {
        &self.about
    }
}
