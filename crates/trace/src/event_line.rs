//! What becomes of a line once its front is read: the part that all text formats share.

use crate::args;
use crate::prefix::{Prefix, Unusable, name_and_args};
use crate::raw::{Parsed, Raw, RawWhat};
use crate::repairs::Repair;
use crate::tasks::Comm;

/// Who a line belongs to: name, thread id, process.
pub(crate) struct Who<'a> {
    pub comm: &'a [u8],
    pub pid: Option<u32>,
    pub tgid: Option<u32>,
}

/// An event line of a format that writes `who` its own way.
pub(crate) fn event_line<'a>(found: &Prefix<'a>, who: &Who<'a>) -> Parsed {
    let Some((name, fields)) = name_and_args(found.event) else {
        // A function-trace line has no colon; it still shows who ran.
        return Parsed::Event(raw(found, who, RawWhat::Other));
    };
    match args::event(name, fields) {
        Some(what) => Parsed::Event(raw(found, who, what)),
        None => Parsed::Unreadable(Repair::UnreadableEvent),
    }
}

fn raw(found: &Prefix<'_>, who: &Who<'_>, what: RawWhat) -> Raw {
    let known = !who.comm.starts_with(b"<") && who.pid.is_some_and(|p| p > 0);
    Raw {
        at: found.at,
        line: 0,
        cpu: found.cpu,
        current: who.pid,
        tgid: who.tgid,
        comm: if known { Comm::new(who.comm) } else { Comm::default() },
        context: found.context,
        resched: found.resched,
        what,
    }
}

/// What an unusable line is, when it is no header line either.
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
pub(crate) fn event_in(format: &crate::formats::Format, text: &str) -> Raw {
    match (format.line)(text.as_bytes(), &mut crate::metadata::Metadata::default()) {
        Parsed::Event(raw) => raw,
        other => panic!("{text}: {other:?}"),
    }
}
