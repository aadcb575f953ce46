//! The list of trace formats. Adding one is a file and a line in [`FORMATS`].

use crate::metadata::Metadata;
use crate::prefix::{Prefix, Unusable, name_and_args};
use crate::raw::{Parsed, Raw, RawWhat};
use crate::repairs::Repair;
use crate::tasks::{Comm, PID_MAX};
use crate::{args, ftrace, perf_script, trace_cmd};

/// One trace format.
#[derive(Clone, Copy)]
pub struct Format {
    /// Registered name.
    pub name: &'static str,
    /// One sentence.
    pub summary: &'static str,
    /// What is read of it.
    pub reads: &'static str,
    /// How to record it.
    pub how_to_record: &'static str,
    /// Whether a line shows that the text is in this format.
    pub(crate) recognises: fn(&[u8]) -> bool,
    /// Reads one line. Header lines go to the metadata.
    pub(crate) line: fn(&[u8], &mut Metadata) -> Parsed,
}

/// Every format, in the order in which they are tried on each line.
pub const FORMATS: &[Format] = &[perf_script::FORMAT, trace_cmd::FORMAT, ftrace::FORMAT];

/// How many bytes at the beginning decide about the format.
pub(crate) const HEAD: usize = 64 << 10;

/// The format of a text that begins with `head`.
pub(crate) fn recognise(head: &[u8]) -> Option<&'static Format> {
    head.split(|b| *b == b'\n').find_map(|line| FORMATS.iter().find(|f| (f.recognises)(line)))
}

/// What to do with a file that is in none of the formats.
pub(crate) fn remedy(head: &[u8]) -> String {
    if head.starts_with(b"PERFILE") {
        return "It is perf's binary file: print it with `perf script --ns -i FILE` and read that".into();
    }
    if head.starts_with(b"\x17\x08\x44tracing") {
        return "It is trace-cmd's binary file: print it with `trace-cmd report -t -l FILE` and read that".into();
    }
    "Record one with `goodness record`, or see `goodness list formats`".into()
}

/// Who a line belongs to: name, thread id, process.
pub(crate) struct Who<'a> {
    pub comm: &'a [u8],
    pub pid: Option<u32>,
    pub tgid: Option<u32>,
}

/// A thread id in the front of a line.
pub(crate) fn thread_id(text: &[u8]) -> Option<u32> {
    crate::scan::number(text).filter(|n| *n <= u64::from(PID_MAX)).map(|n| n as u32)
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

/// `CPU:1 [LOST 412 EVENTS]`, as ftrace and trace-cmd write it.
pub(crate) fn lost(line: &[u8]) -> Option<(u32, u32)> {
    let rest = line.strip_prefix(b"CPU:")?;
    let (cpu, what) = rest.split_at(rest.iter().position(|b| *b == b' ')?);
    let cpu = crate::scan::number(cpu).filter(|c| *c <= 0xffff)? as u32;
    let what = what.trim_ascii();
    if what == b"[EVENTS DROPPED]" {
        return Some((cpu, 0));
    }
    let count = what.strip_prefix(b"[LOST ")?.strip_suffix(b"EVENTS]")?.trim_ascii();
    let count = if count.is_empty() { 0 } else { crate::scan::number(count)? };
    Some((cpu, u32::try_from(count).unwrap_or(u32::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_has_a_name_of_its_own_and_says_how_to_record_it() {
        for (at, format) in FORMATS.iter().enumerate() {
            assert!(!format.how_to_record.is_empty() && !format.reads.is_empty());
            assert!(FORMATS[..at].iter().all(|f| f.name != format.name));
        }
    }

    #[test]
    fn lost_lines_are_read_with_and_without_a_number() {
        assert_eq!(lost(b"CPU:1 [LOST 412 EVENTS]"), Some((1, 412)));
        assert_eq!(lost(b"CPU:0 [LOST EVENTS]"), Some((0, 0)));
        assert_eq!(lost(b"CPU:3 [EVENTS DROPPED]"), Some((3, 0)));
        assert_eq!(lost(b"CPU:3 is empty"), None);
    }
}
