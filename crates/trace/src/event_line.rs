//! Parses the rest of a line after its prefix: the part common to all text formats.

use crate::args;
use crate::line::{Content, EventLine, Parsed};
use crate::prefix::{Prefix, Unusable, name_and_args};
use crate::repairs::Repair;
use crate::scan::{split_last, thread_id};
use crate::tasks::Comm;

/// The task of a line: name, thread id, process.
pub(crate) struct LineTask<'a> {
    pub comm: &'a [u8],
    pub pid: Option<u32>,
    pub tgid: Option<u32>,
}

/// `comm-tid`, perhaps followed by `(tgid)`. The last dash before the number separates.
pub(crate) fn comm_and_ids(text: &[u8]) -> LineTask<'_> {
    let mut rest = text;
    let mut tgid = None;
    if let Some(inside) = rest.strip_suffix(b")")
        && let Some((before, number)) = split_last(inside, b"(")
        && number.trim_ascii().iter().all(|b| b.is_ascii_digit() || *b == b'-')
    {
        tgid = thread_id(number.trim_ascii());
        rest = before.trim_ascii_end();
    }
    match split_last(rest, b"-") {
        Some((comm, id)) if thread_id(id).is_some() => LineTask { comm, pid: thread_id(id), tgid },
        _ => LineTask { comm: rest, pid: None, tgid },
    }
}

/// Parses an event line of a format with its own notation of `who`.
pub(crate) fn event_line<'a>(found: &Prefix<'a>, who: &LineTask<'a>) -> Parsed {
    let Some((name, fields)) = name_and_args(found.event) else {
        // A function-trace line has no colon; it still shows the running task.
        return Parsed::Event(line(found, who, Content::Other));
    };
    match args::event(name, fields, found.context) {
        Some(content) => Parsed::Event(line(found, who, content)),
        None => Parsed::Unreadable(Repair::UnreadableEvent),
    }
}

fn line(found: &Prefix<'_>, who: &LineTask<'_>, content: Content) -> EventLine {
    let known = !who.comm.starts_with(b"<") && who.pid.is_some_and(|p| p > 0);
    EventLine {
        at: found.at,
        line: 0,
        cpu: found.cpu,
        current: who.pid,
        tgid: who.tgid,
        comm: if known { Comm::new(who.comm) } else { Comm::default() },
        context: found.context,
        resched: found.resched,
        content,
    }
}

/// Classifies an unusable line that is not a header either.
pub(crate) fn unusable(why: Unusable) -> Parsed {
    match why {
        Unusable::NoEvent => Parsed::Unreadable(Repair::UnreadableLine),
        Unusable::NotSeconds => Parsed::NotSeconds,
        Unusable::ImpossibleTime => Parsed::Unreadable(Repair::ImpossibleTime),
        Unusable::ImpossibleCpu => Parsed::Unreadable(Repair::ImpossibleCpu),
    }
}

/// The event that `text` is in `format`.
#[cfg(test)]
pub(crate) fn event_in(format: &crate::format::Format, text: &str) -> EventLine {
    match (format.line)(text.as_bytes(), &mut crate::metadata::Metadata::default()) {
        Parsed::Event(line) => line,
        other => panic!("{text}: {other:?}"),
    }
}
