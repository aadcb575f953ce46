//! Reads a trace: [`read`] passes on one event after the other, [`crate::load`] keeps all in memory.

use crate::compress::Input;
use crate::error::TraceError;
use crate::event::{Context, Record};
use crate::excerpt::Excerpt;
use crate::format::Format;
use crate::formats::{FORMATS, HEAD, recognise, remedy};
use crate::line::{Content, EventLine, LineEvent, Parsed};
use crate::lines::{Line, Lines};
use crate::metadata::Metadata;
use crate::record_consumer::RecordConsumer;
use crate::reorder::{Reorder, check_order};
use crate::repair::Repairer;
use crate::repairs::{Repair, Repairs};
use crate::tasks::Tasks;
use goodness_core::{Span, Time};
use std::io;

/// Most switches, in percent, that may be inserted or corrected without a warning. A choice: recordings that lose a
/// page of events now and then stay below.
const REPAIRED_PERCENT_MAX: u64 = 20;

/// Facts about a trace that has been read.
#[derive(Clone, Debug, Default)]
pub struct TraceFacts {
    /// Metadata.
    pub metadata: Metadata,
    /// Tasks.
    pub tasks: Tasks,
    /// Repairs.
    pub repairs: Repairs,
    /// Warnings about missing information, as sentences.
    pub warnings: Vec<String>,
    /// Lines read.
    pub lines: u64,
    /// Bytes of text read, after decompression.
    pub bytes: u64,
    /// Start of the window that was read, if it is not the whole trace.
    pub cut_from: Option<Time>,
    /// End of the window that was read, if the trace goes on behind it.
    pub cut_at: Option<Time>,
}

/// Position of the reader relative to the excerpt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    /// No event so far.
    Unseen,
    /// Before it; the trace began at the first time, and the last event was at the second.
    Before(u64, u64),
    /// In it; the trace began at this time.
    Within(u64),
    /// Behind it; the trace began at this time.
    Behind(u64),
}

/// The stages between the text and the consumer.
struct Reading<'a> {
    name: String,
    format: &'static Format,
    about: Metadata,
    order: Reorder,
    repairer: Repairer,
    excerpt: Excerpt,
    progress: Progress,
    /// Events read, without those before the excerpt.
    events: u64,
    /// True if a switch came before the excerpt.
    switched_before: bool,
    /// Problems with single lines; joined with the repairer's at the end.
    repairs: Repairs,
    /// First line without a CPU, or with a time that is a count.
    refusal: Option<TraceError>,
    cut: Option<String>,
    lines: Lines<Input<'a>>,
}

/// Reads a trace in memory that grows with the number of tasks but not of events.
///
/// # Errors
/// See [`TraceError`]. Only a trace without any usable part fails.
pub fn read(input: Input, consumer: &mut impl RecordConsumer) -> Result<TraceFacts, TraceError> {
    read_excerpt(input, Excerpt::WHOLE, consumer)
}

/// Reads a trace up to the end of `excerpt`, and passes on the events in it. Each CPU's running task is switched in at
/// its start.
///
/// # Errors
/// As [`read`], and if no switch is in the excerpt.
pub fn read_excerpt(
    input: Input,
    excerpt: Excerpt,
    consumer: &mut impl RecordConsumer,
) -> Result<TraceFacts, TraceError> {
    let name = input.name.clone();
    let mut lines = Lines::new(input);
    let head = match lines.peek(HEAD) {
        Ok(head) => head,
        Err(source) => return Err(TraceError::Read { path: name, line: 1, source }),
    };
    if head.trim_ascii().is_empty() {
        return Err(TraceError::Empty { path: name });
    }
    let Some(format) = recognise(head) else {
        return Err(TraceError::NotATrace {
            path: name,
            formats: FORMATS.iter().map(|f| f.name).collect::<Vec<_>>().join(", "),
            begins: head[..head.len().min(32)].escape_ascii().to_string(),
            remedy: remedy(head),
        });
    };
    let mut reading = Reading {
        name,
        format,
        about: Metadata { format: format.name, ..Metadata::default() },
        order: Reorder::default(),
        repairer: Repairer::new(),
        excerpt,
        progress: Progress::Unseen,
        events: 0,
        switched_before: false,
        repairs: Repairs::default(),
        refusal: None,
        cut: None,
        lines,
    };
    reading.run(consumer);
    reading.finish(consumer)
}

impl Reading<'_> {
    /// All lines, up to the end or to the first that cannot be read at all.
    fn run(&mut self, consumer: &mut impl RecordConsumer) {
        while !matches!(self.progress, Progress::Behind(_)) {
            let number = self.lines.count + 1;
            let (parsed, is_last) = match self.lines.next() {
                Ok(Line::Whole(line)) => ((self.format.line)(line, &mut self.about), false),
                Ok(Line::Last(line)) => ((self.format.line)(line, &mut self.about), true),
                Ok(Line::Overlong) => (Parsed::Unreadable(Repair::OverlongLine), false),
                Ok(Line::End) => return,
                Err(source) => {
                    self.stop(number, source);
                    return;
                }
            };
            match parsed {
                Parsed::Event(line) => self.event(line, number, consumer),
                Parsed::Nothing => {}
                Parsed::Unreadable(_) if is_last => self.repairs.add(Repair::TruncatedEnd, 1, number),
                Parsed::Unreadable(kind) => self.repairs.add(kind, 1, number),
                Parsed::NotSeconds => {
                    self.repairs.add(Repair::ImpossibleTime, 1, number);
                    let path = self.name.clone();
                    self.refusal.get_or_insert(TraceError::NotSeconds { path, line: number });
                }
                Parsed::NoCpu => {
                    self.repairs.add(Repair::UnreadableLine, 1, number);
                    let (path, how) = (self.name.clone(), self.format.how_to_record);
                    self.refusal.get_or_insert(TraceError::NoCpu { path, line: number, how });
                }
            }
        }
    }

    #[inline]
    fn event(&mut self, mut line: EventLine, number: u64, consumer: &mut impl RecordConsumer) {
        line.line = number;
        self.events += 1;
        if matches!(line.content, Content::Sched(LineEvent::Lost { .. })) && line.at == u64::MAX {
            line.at = self.order.previous();
        }
        self.about.has_flags |= line.context != Context::Unknown;
        if let Some(earliest) = self.order.push(line, &mut self.repairs) {
            self.pass(earliest, consumer);
        }
    }

    /// Handles the next line in order of time: what is before the excerpt only changes the state.
    #[inline]
    fn pass(&mut self, line: EventLine, consumer: &mut impl RecordConsumer) {
        let at = line.at;
        let begin = match self.progress {
            Progress::Unseen => at,
            Progress::Before(begin, _) | Progress::Within(begin) => begin,
            Progress::Behind(_) => return,
        };
        let since = Span(at - begin);
        if since >= self.excerpt.from && matches!(self.progress, Progress::Before(..)) {
            self.switched_before = self.repairer.switches > 0;
            (self.events, self.repairs) = (1, Repairs::default());
            self.repairer.begin_anew(begin.saturating_add(self.excerpt.from.ns()), consumer);
        }
        if since >= self.excerpt.to {
            self.progress = Progress::Behind(begin);
        } else if since < self.excerpt.from {
            self.progress = Progress::Before(begin, at);
            self.repairer.line(line, &mut Nothing);
        } else {
            self.progress = Progress::Within(begin);
            self.repairer.line(line, consumer);
        }
    }

    /// Handles a read error in the middle: the events before it are kept.
    #[cold]
    fn stop(&mut self, line: u64, source: io::Error) {
        self.repairs.add(Repair::TruncatedEnd, 1, line);
        if line == 1 {
            self.refusal = Some(TraceError::Read { path: self.name.clone(), line, source });
            return;
        }
        // Decoders say it in words of their own.
        let is_cut = source.kind() == io::ErrorKind::UnexpectedEof || source.to_string().contains("UnexpectedEof");
        let what = match is_cut {
            true => format!("the file is cut off at line {line}"),
            false => format!("reading stopped at line {line}: {source}"),
        };
        self.cut = Some(format!("{what}; what comes after it is missing"));
    }

    fn finish(mut self, consumer: &mut impl RecordConsumer) -> Result<TraceFacts, TraceError> {
        while let Some(line) = self.order.pop() {
            self.pass(line, consumer);
        }
        self.repairs.join(&self.repairer.repairs);
        let begin = match self.progress {
            Progress::Within(begin) | Progress::Behind(begin) if self.repairer.switches > 0 => begin,
            _ => return Err(self.refuse()),
        };
        let starts = begin.saturating_add(self.excerpt.from.ns());
        let cut_from = (self.excerpt != Excerpt::WHOLE).then(|| {
            self.about.cut(starts);
            Time(starts)
        });
        let cut_at = match self.progress {
            Progress::Behind(begin) => Some(Time(begin.saturating_add(self.excerpt.to.ns()))),
            _ => None,
        };
        check_order(&self.name, self.events, &self.repairs)?;
        self.about.cpus = self.about.cpus.max(self.repairer.cpus_seen.count());
        self.about.attributes.sort_by_key(|a| a.pid);
        let warnings = self.warnings();
        Ok(TraceFacts {
            metadata: self.about,
            tasks: self.repairer.tasks,
            repairs: self.repairs,
            warnings,
            lines: self.lines.count,
            bytes: self.lines.bytes,
            cut_from,
            cut_at,
        })
    }

    /// The error for a trace without any switch that is kept.
    fn refuse(self) -> TraceError {
        if self.switched_before || self.repairer.switches > 0 {
            return self.outside();
        }
        let impossible = self.repairs.of(Repair::ImpossibleTime);
        let unreadable = self.repairs.of(Repair::UnreadableEvent);
        if self.refusal.is_none()
            && impossible.count + unreadable.count == 0
            && matches!(self.progress, Progress::Behind(_))
        {
            return self.outside();
        }
        let (path, how) = (self.name, self.format.how_to_record);
        match self.refusal {
            Some(refusal) => refusal,
            None if impossible.count > 0 => TraceError::ImpossibleTime { path, line: impossible.first_line },
            None if unreadable.count > 0 => {
                TraceError::UnreadableEvents { path, line: unreadable.first_line, count: unreadable.count, how }
            }
            None => TraceError::NoSwitches { path, line: self.lines.count, how },
        }
    }

    fn outside(self) -> TraceError {
        let (path, excerpt) = (self.name, self.excerpt);
        let why = match self.progress {
            Progress::Before(begin, last) => format!("the recording is {} long", Span(last - begin)),
            _ => "no sched_switch event is in it".into(),
        };
        TraceError::Outside { path, excerpt, why }
    }

    fn warnings(&self) -> Vec<String> {
        let mut warnings: Vec<String> = self.cut.iter().cloned().collect();
        if self.repairer.wakings == 0 {
            warnings
                .push("the trace has no sched_waking events, so wakers are unknown; record sched_waking, too".into());
        }
        if !self.about.has_flags {
            warnings.push(
                "the lines have no flags column, so wakings by interrupts look like wakings by tasks; record ftrace \
                 text with the option irq-info, or print trace-cmd's with -l"
                    .into(),
            );
        }
        if let (Some(held), Some(written)) = (self.about.entries_in_buffer, self.about.entries_written)
            && held < written
        {
            warnings.push(format!(
                "the ring buffer wrapped: the first {} of {written} events are gone; record with a larger buffer",
                written - held
            ));
        }
        warnings.extend(self.repairer.cpus_seen.warning());
        let repaired: u64 = [Repair::MissingSwitch, Repair::SelfSwitch, Repair::TwoPlaces]
            .map(|kind| self.repairs.of(kind).count)
            .iter()
            .sum();
        let switches = self.repairer.switches;
        if repaired.saturating_mul(100) > switches.saturating_mul(REPAIRED_PERCENT_MAX) {
            warnings.push(format!(
                "{repaired} switches were put in or corrected beside {switches} that were read, more than \
                 {REPAIRED_PERCENT_MAX} in 100: figures describe the repairs as much as the machine; record again with \
                 a larger buffer, and check that the lines are in order"
            ));
        }
        let lost = self.repairs.of(Repair::LostEvents);
        if lost.count > 0 {
            warnings.push(format!(
                "{} events were lost while recording, first at line {}; record with a larger buffer",
                lost.count, lost.first_line
            ));
        }
        warnings
    }
}

/// Keeps nothing.
struct Nothing;

impl RecordConsumer for Nothing {
    fn record(&mut self, _: &Record, _: &Tasks) {}
}
