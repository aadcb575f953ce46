//! Reads a trace piece by piece, in memory that grows with the number of tasks but not of events.

use crate::compress::Input;
use crate::error::TraceError;
use crate::event::Record;
use crate::excerpt::Excerpt;
use crate::kept::Kept;
use crate::load::with_facts;
use crate::read::{TraceFacts, read_excerpt};
use crate::record_consumer::RecordConsumer;
use crate::recording::Recording;
use crate::tasks::Tasks;
use std::collections::BTreeSet;
use std::ops::Range;

/// Events that are held at a time. A choice: they take 50 to 100 MB.
pub const PIECE: usize = 1 << 20;

/// Reads a part of a trace, of which `piece` events are held at a time, and passes on its records in order of time.
/// They are repaired as in a [`Recording`], but for repairs that depend on what comes more than a quarter of a piece
/// later.
///
/// # Errors
/// See [`read_excerpt`].
pub fn read_pieces(
    input: Input,
    excerpt: Excerpt,
    piece: usize,
    each: impl FnMut(&[Record]),
) -> Result<TraceFacts, TraceError> {
    let mut pieces = Pieces { kept: Kept::default(), piece: piece.max(4), passed: 0, each };
    let facts = read_excerpt(input, excerpt, &mut pieces)?;
    pieces.pass_on(0, facts.tasks.len());
    Ok(facts)
}

/// Reads what tells who took part in a part of a trace: all its facts, its first `piece` events, the first ones of each
/// task on each CPU, and the last one.
///
/// # Errors
/// See [`read_excerpt`].
pub fn read_sample(input: Input, excerpt: Excerpt, piece: usize) -> Result<Recording, TraceError> {
    let name = input.name.clone();
    let (mut records, mut last) = (Vec::new(), None);
    let mut seen = BTreeSet::new();
    let facts = read_pieces(input, excerpt, piece, |more| {
        for record in more {
            let places = record.event.tasks().map(|task| (task, record.cpu));
            let is_new = places.fold(false, |is_new, place| seen.insert(place) | is_new);
            if records.len() < piece || is_new {
                records.push(*record);
            }
        }
        last = more.last().copied().or(last);
    })?;
    records.extend(last.filter(|last| records.last() != Some(last)));
    Ok(Recording { records, ..with_facts(name, facts) })
}

/// Keeps records until a piece is full.
struct Pieces<F> {
    kept: Kept,
    piece: usize,
    /// Number of the kept records that were passed on, and tell the state of tasks at those behind.
    passed: usize,
    each: F,
}

impl<F: FnMut(&[Record])> Pieces<F> {
    /// Passes on all records but the last `open`, whose places depend on what comes.
    fn pass_on(&mut self, open: usize, tasks: usize) {
        let until = self.kept.records.len() - open;
        let mut placed = self.kept.clone();
        placed.place(tasks);
        let from = if self.passed == 0 { 0 } else { self.kept.before(self.passed) };
        (self.each)(&placed.records[from..self.kept.before(until)]);
        let forgotten = until.saturating_sub(open);
        self.kept.forget(forgotten);
        self.passed = until - forgotten;
    }
}

impl<F: FnMut(&[Record])> RecordConsumer for Pieces<F> {
    fn record(&mut self, record: &Record, tasks: &Tasks) {
        if self.kept.records.len() >= self.piece {
            self.pass_on(self.piece / 4, tasks.len());
        }
        self.kept.push(record);
    }

    fn late(&mut self, record: &Record, place: Range<u64>, _: &Tasks) {
        self.kept.push_late(record, place);
    }
}
