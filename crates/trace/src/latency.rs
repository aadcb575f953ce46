//! The latency format, written by tracefs and trace-cmd on request, in which the flags follow the CPU without a space:
//!
//! ```text
//! comm-tid   1d.h3.   345us+: event: fields
//! ```
//!
//! The time is in microseconds, or in seconds with trace-cmd's `-l`. Names are cut to 8 bytes and so are not used.

use crate::event_line::{LineTask, comm_and_ids};
use crate::prefix::{LONGEST_PREFIX, Prefix, flags};
use crate::scan::{Stamp, cpu_number, number, split_last, stamp};
use memchr::memmem;

/// The front of a line in the latency format, if it is in it.
pub(crate) fn latency(line: &[u8]) -> Option<(Prefix<'_>, LineTask<'_>)> {
    let front = &line[..line.len().min(LONGEST_PREFIX)];
    memmem::find_iter(front, b": ").find_map(|colon| up_to(line, colon))
}

fn up_to(line: &[u8], colon: usize) -> Option<(Prefix<'_>, LineTask<'_>)> {
    let front = match &line[..colon] {
        // A mark of the delay follows the unit.
        [rest @ .., b' ' | b'+' | b'!' | b'#' | b'*' | b'@' | b'$'] => rest,
        rest => rest,
    };
    let (before, time) = split_last(front, b" ")?;
    let at = match time.strip_suffix(b"us") {
        Some(digits) => number(digits)?.checked_mul(1_000)?,
        None => match stamp(time) {
            Stamp::Ns(at) => at,
            _ => return None,
        },
    };
    let (names, place) = split_last(before.trim_ascii_end(), b" ")?;
    let digits = place.iter().take_while(|b| b.is_ascii_digit()).count();
    let cpu = cpu_number(&place[..digits])?;
    let (context, resched) = flags(&place[digits..])?;
    let mut who = comm_and_ids(names.trim_ascii());
    who.comm = b"<cut>";
    let event = line[colon + 1..].trim_ascii_start();
    Some((Prefix { who: names, cpu, at, context, resched, event }, who))
}

#[cfg(test)]
mod tests {
    use crate::event::Context;
    use crate::event_line::event_in;
    use crate::ftrace::FORMAT;

    const WAKING: &str = "sched_waking: comm=dpkg-deb pid=9080 prio=120 target_cpu=001";

    #[test]
    fn the_latency_format_is_read() {
        for (front, current, at) in [
            ("  <idle>-0         1d.h3.    345us+: ", 0, 345_000),
            (" cc1plus-1387      1dNh2. 82224us : ", 1387, 82_224_000),
            ("opt 7xo0-1609      1d.h2. 82224us#: ", 1609, 82_224_000),
            ("opt cgu.-2658    1d.H2.  6701.806314307: ", 2658, 6_701_806_314_307),
        ] {
            let raw = event_in(&FORMAT, &format!("{front}{WAKING}"));
            assert_eq!((raw.cpu, raw.current, raw.at), (1, Some(current), at), "{front}");
            assert_eq!((raw.context, raw.comm.is_empty()), (Context::HardIrq, true), "{front}");
        }
    }
}
