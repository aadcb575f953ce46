//! Parses the prefix of a line: task, CPU, flags, time. The three text formats differ only in how they write the task.

use crate::event::Context;
use crate::scan::{Stamp, cpu_number, stamp};
use memchr::memchr;

/// Longest prefix in bytes; anything further is the event's own text.
pub(crate) const LONGEST_PREFIX: usize = 256;

/// The beginning of an event line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Prefix<'a> {
    /// Text before the CPU.
    pub who: &'a [u8],
    pub cpu: u32,
    pub at: u64,
    pub context: Context,
    /// True if the CPU was about to switch.
    pub resched: bool,
    /// The event's name and fields.
    pub event: &'a [u8],
}

/// Reason the prefix is unusable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unusable {
    /// It is not an event line.
    NoEvent,
    /// The time is a count.
    NotSeconds,
    /// The time is negative or too large.
    ImpossibleTime,
    /// The CPU number is too large.
    ImpossibleCpu,
}

/// Parses `who [cpu] flags? time: event`. Names may contain brackets, so the CPU is in the first bracket after which
/// the remaining text fits.
pub(crate) fn prefix(line: &[u8]) -> Result<Prefix<'_>, Unusable> {
    let mut from = 0;
    let mut why = Unusable::NoEvent;
    let front = &line[..line.len().min(LONGEST_PREFIX)];
    while let Some(open) = memchr(b'[', &front[from..]).map(|at| at + from) {
        match after_bracket(line, open) {
            Ok(found) => return Ok(found),
            Err(Unusable::NoEvent) => {}
            Err(reason) => {
                if why == Unusable::NoEvent {
                    why = reason;
                }
            }
        }
        from = open + 1;
    }
    Err(why)
}

fn after_bracket(line: &[u8], open: usize) -> Result<Prefix<'_>, Unusable> {
    let rest = &line[open + 1..];
    let digits = rest.iter().take_while(|b| b.is_ascii_digit()).count();
    if digits == 0 || rest.get(digits) != Some(&b']') || !matches!(rest.get(digits + 1), Some(b' ' | b'\t')) {
        return Err(Unusable::NoEvent);
    }
    let mut tail = rest[digits + 1..].trim_ascii_start();
    let (mut context, mut resched) = (Context::Unknown, false);
    if !matches!(tail.first(), Some(b'0'..=b'9' | b'-')) {
        let end = memchr(b' ', &tail[..tail.len().min(8)]).ok_or(Unusable::NoEvent)?;
        (context, resched) = flags(&tail[..end]).ok_or(Unusable::NoEvent)?;
        tail = tail[end..].trim_ascii_start();
    }
    let colon = memchr(b':', &tail[..tail.len().min(64)]).ok_or(Unusable::NoEvent)?;
    let at = match stamp(&tail[..colon]) {
        Stamp::Ns(ns) => ns,
        Stamp::Impossible => return Err(Unusable::ImpossibleTime),
        Stamp::Count => return Err(Unusable::NotSeconds),
        Stamp::No => return Err(Unusable::NoEvent),
    };
    let cpu = cpu_number(&rest[..digits]).ok_or(Unusable::ImpossibleCpu)?;
    Ok(Prefix {
        who: line[..open].trim_ascii(),
        cpu,
        at,
        context,
        resched,
        event: tail[colon + 1..].trim_ascii_start(),
    })
}

/// Context, and whether a switch is due, from a flags column of three to six characters: the second shows need-resched,
/// the third a hard or soft interrupt.
pub(crate) fn flags(text: &[u8]) -> Option<(Context, bool)> {
    if !(3..=6).contains(&text.len())
        || !text.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'?' | b'#'))
    {
        return None;
    }
    let context = match text[2] {
        b'h' | b'H' | b'z' | b'Z' => Context::HardIrq,
        b's' => Context::SoftIrq,
        _ => Context::Task,
    };
    Some((context, text[1].is_ascii_alphabetic()))
}

/// The event's name, without perf's subsystem prefix, and its fields.
pub(crate) fn name_and_args(event: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut start = 0;
    loop {
        let colon = memchr(b':', &event[start..])? + start;
        match event.get(colon + 1) {
            None => return Some((&event[start..colon], b"")),
            Some(b' ' | b'\t') => return Some((&event[start..colon], event[colon + 1..].trim_ascii_start())),
            Some(_) if start == 0 => start = colon + 1,
            Some(_) => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_in_names_do_not_confuse_the_cpu() {
        let line = b"  a [000] b-12 [003] d.h1.  5.000001: sched_waking: x";
        let found = prefix(line).expect("an event line");
        assert_eq!((found.who, found.cpu, found.at), (&b"a [000] b-12"[..], 3, 5_000_001_000));
        assert_eq!(found.context, Context::HardIrq);
        assert_eq!(name_and_args(found.event), Some((&b"sched_waking"[..], &b"x"[..])));
    }

    #[test]
    fn the_third_flag_is_the_context() {
        assert_eq!(flags(b"d..2."), Some((Context::Task, false)));
        assert_eq!(flags(b"dNs4."), Some((Context::SoftIrq, true)));
        assert_eq!(flags(b"d.H3"), Some((Context::HardIrq, false)));
        assert_eq!(flags(b"d"), None);
        assert_eq!(flags(b"(1 2)"), None);
    }

    #[test]
    fn unusable_lines_say_why() {
        assert_eq!(prefix(b"x-1 [000] 123456: a: b"), Err(Unusable::NotSeconds));
        assert_eq!(prefix(b"x-1 [000] -1.000000: a: b"), Err(Unusable::ImpossibleTime));
        assert_eq!(prefix(b"x-1 [99999] 1.000000: a: b"), Err(Unusable::ImpossibleCpu));
        assert_eq!(prefix(b"x-1 [8192] 1.000000: a: b"), Err(Unusable::ImpossibleCpu));
        assert!(prefix(b"x-1 [8191] 1.000000: a: b").is_ok(), "the last CPU of the largest machine");
        assert_eq!(prefix(b"hello [world]"), Err(Unusable::NoEvent));
        let long = b"[1] 1".repeat(1 << 20);
        assert_eq!(prefix(&long), Err(Unusable::NoEvent));
    }

    #[test]
    fn perf_puts_the_subsystem_before_the_name() {
        assert_eq!(name_and_args(b"sched:sched_switch: a"), Some((&b"sched_switch"[..], &b"a"[..])));
        assert_eq!(name_and_args(b"sched_switch: a:b"), Some((&b"sched_switch"[..], &b"a:b"[..])));
        assert_eq!(name_and_args(b"a:b:c d"), None);
    }
}
