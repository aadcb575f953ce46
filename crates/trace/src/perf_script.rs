//! `perf script` text.
//!
//! ```text
//! swapper     0 [001]  1042.218400123: sched:sched_switch: prev_comm=swapper/1 … ==> …
//! ab    840/841 [001]  1042.218401:    1 sched:sched_waking: comm=…
//! ```
//!
//! Name, thread id, process id and period are optional (`-F`); CPU, time and event are needed. Callchains are skipped.

use crate::event_line::{LineTask, event_line, unusable};
use crate::format::Format;
use crate::line::Parsed;
use crate::lost::lost_event;
use crate::metadata::Metadata;
use crate::prefix::{Unusable, prefix};
use crate::scan::{number, split_last, thread_id};
use memchr::memmem;

/// The entry in the list of formats.
pub(crate) const FORMAT: Format = Format {
    name: "perf-script",
    summary: "text of `perf script` for sched tracepoints",
    reads: "the same events as ftrace, with or without name, thread id, process id and --ns; lost-event records",
    how_to_record: "perf record -a -m 16M -e sched:sched_switch,sched:sched_waking,sched:sched_wakeup_new,\
                    sched:sched_process_fork,sched:sched_process_exec,sched:sched_process_exit,\
                    sched:sched_migrate_task -- COMMAND; \
                    perf script --ns -F comm,pid,tid,cpu,time,event,trace > FILE",
    recognises,
    line,
};

fn recognises(line: &[u8]) -> bool {
    line.starts_with(b"# ========")
        || line.starts_with(b"# captured on")
        || without_cpu(line)
        || prefix(line).is_ok_and(|found| subsystem_first(without_period(found.event)))
}

/// True if the text starts with `subsystem:name:`.
fn subsystem_first(event: &[u8]) -> bool {
    let mut parts = event.splitn(3, |b| *b == b':');
    let is_word = |w: Option<&[u8]>| {
        w.is_some_and(|w| !w.is_empty() && w.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-')))
    };
    is_word(parts.next()) && is_word(parts.next()) && parts.next().is_some()
}

/// The event without the count of the period before it.
fn without_period(event: &[u8]) -> &[u8] {
    let digits = event.iter().take_while(|b| b.is_ascii_digit()).count();
    match event.get(digits) {
        Some(b' ') if digits > 0 => event[digits..].trim_ascii_start(),
        _ => event,
    }
}

fn without_cpu(line: &[u8]) -> bool {
    prefix(line) == Err(Unusable::NoEvent)
        && !line.starts_with(b"#")
        && memmem::find(line, b": sched:sched_").or_else(|| memmem::find(line, b" sched:sched_")).is_some()
}

fn line(line: &[u8], about: &mut Metadata) -> Parsed {
    match prefix(line) {
        Ok(mut found) => {
            found.event = without_period(found.event);
            if let Some(lost) = found.event.strip_prefix(b"PERF_RECORD_LOST") {
                return lost_record(found.cpu, found.at, lost);
            }
            event_line(&found, &who(found.who))
        }
        Err(why) => rare(line, why, about),
    }
}

/// `comm tid` or `comm pid/tid`, each part optional.
fn who(text: &[u8]) -> LineTask<'_> {
    let (comm, ids) = split_last(text, b" ").unwrap_or((b"", text));
    let comm = comm.trim_ascii_end();
    if let Some((pid, tid)) = split_last(ids, b"/")
        && let (Some(pid), Some(tid)) = (thread_id(pid), thread_id(tid))
    {
        return LineTask { comm, pid: Some(tid), tgid: Some(pid) };
    }
    match thread_id(ids) {
        Some(tid) => LineTask { comm, pid: Some(tid), tgid: None },
        None => LineTask { comm: text, pid: None, tgid: None },
    }
}

fn lost_record(cpu: u32, at: u64, rest: &[u8]) -> Parsed {
    let count = rest.split(|b| *b == b' ').find_map(number).unwrap_or(0);
    let mut event = lost_event(cpu, u32::try_from(count).unwrap_or(u32::MAX));
    event.at = at;
    Parsed::Event(event)
}

#[cold]
fn rare(line: &[u8], why: Unusable, about: &mut Metadata) -> Parsed {
    if let Some(comment) = line.strip_prefix(b"# ") {
        header(comment, about);
        return Parsed::Nothing;
    }
    let text = line.trim_ascii();
    if text.is_empty() || line.starts_with(b"#") {
        return Parsed::Nothing;
    }
    // A callchain entry is indented and begins with a hexadecimal address.
    let address = text.iter().take_while(|b| b.is_ascii_hexdigit()).count();
    if why == Unusable::NoEvent && address >= 4 && text.get(address) == Some(&b' ') && line[0].is_ascii_whitespace() {
        return if without_cpu(line) { Parsed::NoCpu } else { Parsed::Nothing };
    }
    if without_cpu(line) {
        return Parsed::NoCpu;
    }
    unusable(why)
}

/// Parses `# os release : 6.18`, `# nrcpus online : 2`.
fn header(comment: &[u8], about: &mut Metadata) {
    let Some((key, value)) = split_once(comment) else { return };
    match key {
        b"os release" => about.kernel = Some(String::from_utf8_lossy(value).into()),
        b"nrcpus online" => about.raise_cpus(number(value).unwrap_or(0)),
        _ => {}
    }
}

fn split_once(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = text.iter().position(|b| *b == b':')?;
    Some((text[..at].trim_ascii(), text[at + 1..].trim_ascii()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event_line::event_in;
    use crate::line::{Content, EventLine, LineEvent};
    use crate::tasks::Comm;

    fn event(text: &str) -> EventLine {
        event_in(&FORMAT, text)
    }

    const SWITCH: &str = "sched:sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=R ==> \
        next_comm=my ab next_pid=841 next_prio=120";

    #[test]
    fn all_choices_of_columns_are_read() {
        for (front, pid, tgid, at) in [
            ("swapper     0 [001]  1042.218400:      ", Some(0), None, 1_042_218_400_000),
            (":-1    -1 [001]  1042.218400:  ", None, None, 1_042_218_400_000),
            ("my ab   840/841   [001]  1042.218400123:          1 ", Some(841), Some(840), 1_042_218_400_123),
            ("    841 [001]  1042.218400123: ", Some(841), None, 1_042_218_400_123),
            ("[001]  1042.218400123: ", None, None, 1_042_218_400_123),
        ] {
            let text = format!("{front}{SWITCH}");
            assert!(recognises(text.as_bytes()), "{text}");
            let raw = event(&text);
            assert_eq!((raw.cpu, raw.current, raw.tgid, raw.at), (1, pid, tgid, at), "{text}");
            let Content::Sched(LineEvent::Switch { next: Some(next), .. }) = raw.content else { panic!("{text}") };
            assert_eq!(next.comm, Comm::new(b"my ab"), "{text}");
        }
        let pretty = event("ab 840 [001] 1.000000: sched:sched_switch: ab:840 [120] S ==> swapper/1:0 [120]");
        assert!(
            matches!(pretty.content, Content::Sched(LineEvent::Switch { prev: Some(prev), .. }) if prev.pid == 840)
        );
    }

    #[test]
    fn a_line_without_cpu_is_named_as_such() {
        let text = format!("swapper     0  1042.218400: {SWITCH}");
        assert!(recognises(text.as_bytes()));
        assert_eq!(line(text.as_bytes(), &mut Metadata::default()), Parsed::NoCpu);
    }

    #[test]
    fn callchains_headers_and_blanks_are_skipped() {
        let mut about = Metadata::default();
        for text in [
            "\tffffffff81c0 __schedule+0x2a ([kernel.kallsyms])",
            "",
            "# ========",
            "# os release : 6.1",
            "# nrcpus online : 8",
        ] {
            assert_eq!(line(text.as_bytes(), &mut about), Parsed::Nothing, "{text}");
        }
        assert_eq!((about.kernel.as_deref(), about.cpus), (Some("6.1"), 8));
    }

    #[test]
    fn a_loss_keeps_its_time_and_number() {
        let raw = event("ab   840 [001]  1042.218400: PERF_RECORD_LOST lost 123");
        assert_eq!((raw.at, raw.content), (1_042_218_400_000, Content::Sched(LineEvent::Lost { count: 123 })));
    }
}
