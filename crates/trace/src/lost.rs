//! Lines about lost events, which carry no time.

use crate::event::Context;
use crate::line::{Content, EventLine, LineEvent};
use crate::scan::{cpu_number, number};
use crate::tasks::Comm;

/// Parses `CPU:1 [LOST 412 EVENTS]`, as written by ftrace and trace-cmd.
pub(crate) fn lost_line(line: &[u8]) -> Option<EventLine> {
    cpu_and_count(line).map(|(cpu, count)| lost_event(cpu, count))
}

fn cpu_and_count(line: &[u8]) -> Option<(u32, u32)> {
    let rest = line.strip_prefix(b"CPU:")?;
    let (cpu, what) = rest.split_at(rest.iter().position(|b| *b == b' ')?);
    let cpu = cpu_number(cpu)?;
    let what = what.trim_ascii();
    if what == b"[EVENTS DROPPED]" {
        return Some((cpu, 0));
    }
    let count = what.strip_prefix(b"[LOST ")?.strip_suffix(b"EVENTS]")?.trim_ascii();
    let count = if count.is_empty() { 0 } else { number(count)? };
    Some((cpu, u32::try_from(count).unwrap_or(u32::MAX)))
}

/// A loss. The line has no time; the reader fills it in.
pub(crate) fn lost_event(cpu: u32, count: u32) -> EventLine {
    EventLine {
        at: u64::MAX,
        line: 0,
        cpu,
        current: None,
        tgid: None,
        comm: Comm::default(),
        context: Context::Unknown,
        resched: false,
        content: Content::Sched(LineEvent::Lost { count }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lost_lines_are_read_with_and_without_a_number() {
        assert_eq!(cpu_and_count(b"CPU:1 [LOST 412 EVENTS]"), Some((1, 412)));
        assert_eq!(cpu_and_count(b"CPU:0 [LOST EVENTS]"), Some((0, 0)));
        assert_eq!(cpu_and_count(b"CPU:3 [EVENTS DROPPED]"), Some((3, 0)));
        assert_eq!(cpu_and_count(b"CPU:3 is empty"), None);
    }
}
