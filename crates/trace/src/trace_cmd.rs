//! `trace-cmd report` text.
//!
//! ```text
//! cpus=2
//!           <idle>-0     [001]  1042.218400: sched_switch: swapper/1:0 [120] R ==> ab:840 [120]
//! ```
//!
//! Fields have the kernel's form or that of trace-cmd's plugins. With `-l` there is a flags column, which distinguishes
//! interrupts from tasks.

use crate::event_line::{comm_and_ids, event_line, unusable};
use crate::format::Format;
use crate::latency::latency;
use crate::line::Parsed;
use crate::lost::lost_line;
use crate::metadata::Metadata;
use crate::prefix::prefix;
use crate::scan::number;
use memchr::memmem;

/// The entry in the list of formats.
pub(crate) const FORMAT: Format = Format {
    name: "trace-cmd",
    summary: "text of `trace-cmd report`",
    reads: "the same events as ftrace, in the kernel's and in the plugins' rendering, lost-event lines",
    how_to_record: "trace-cmd record -C mono -e sched_switch -e sched_waking -e sched_wakeup_new \
                    -e sched_process_fork -e sched_process_exec -e sched_process_exit -e sched_migrate_task COMMAND; \
                    trace-cmd report -t -l > FILE",
    recognises,
    line,
};

fn recognises(line: &[u8]) -> bool {
    let is_count = |rest: &[u8]| number(rest.trim_ascii()).is_some();
    line.strip_prefix(b"cpus=").is_some_and(is_count)
        || line.strip_prefix(b"version = ").is_some_and(is_count)
        || line.strip_prefix(b"version=").is_some_and(is_count)
        || (line.starts_with(b"CPU ") && line.trim_ascii_end().ends_with(b" is empty"))
}

fn line(line: &[u8], about: &mut Metadata) -> Parsed {
    match prefix(line) {
        Ok(found) => {
            let mut who = comm_and_ids(found.who);
            if memmem::find(who.comm, b": ").is_some() {
                // A buffer's name stands before the thread's; other lines name the thread alone.
                who.comm = b"<buffer>";
            }
            event_line(&found, &who)
        }
        Err(why) => {
            if let Some((found, who)) = latency(line) {
                return event_line(&found, &who);
            }
            if let Some(lost) = lost_line(line) {
                return Parsed::Event(lost);
            }
            if let Some(cpus) = line.strip_prefix(b"cpus=").and_then(|n| number(n.trim_ascii())) {
                about.raise_cpus(cpus);
                return Parsed::Nothing;
            }
            if is_remark(line) {
                return Parsed::Nothing;
            }
            unusable(why)
        }
    }
}

/// True if a line is a remark between events.
fn is_remark(line: &[u8]) -> bool {
    recognises(line)
        || line.trim_ascii().is_empty()
        || line.starts_with(b"CPU:")
        || line.starts_with(b"#")
        || line.starts_with(b"trace-cmd")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Context;
    use crate::event_line::event_in;
    use crate::line::{Content, EventLine, LineEvent};
    use crate::prev_state::PrevState;

    fn event(text: &str) -> EventLine {
        event_in(&FORMAT, text)
    }

    #[test]
    fn both_renderings_with_and_without_flags_are_read() {
        for text in [
            "          <idle>-0     [001]  1042.218400: sched_switch:         swapper/1:0 [120] R ==> ab:840 [120]",
            "          <idle>-0     [001] d..2.  1042.218400: sched_switch:   prev_comm=swapper/1 prev_pid=0 \
                prev_prio=120 prev_state=R ==> next_comm=ab next_pid=840 next_prio=120",
            "          <idle>-0       [001] 1042.218400000: sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 \
                prev_state=0x0 ==> next_comm=ab next_pid=840 next_prio=120",
        ] {
            let raw = event(text);
            assert_eq!((raw.at, raw.cpu, raw.current), (1_042_218_400_000, 1, Some(0)), "{text}");
            let Content::Sched(LineEvent::Switch { prev: None, next: Some(next), prev_state, .. }) = raw.content else {
                panic!("{text}")
            };
            assert_eq!((next.pid, prev_state), (840, PrevState::RUNNABLE), "{text}");
        }
        let latency =
            event("tracey: opt cgu.-2658    1d.h2.  6701.806314307: sched_waking: comm=x pid=3 prio=1 target_cpu=0");
        assert_eq!((latency.context, latency.current, latency.cpu), (Context::HardIrq, Some(2658), 1));
        assert!(event("tracey:     bash-2781  [000]  6701.806273: sched_wakeup: x:3 [120] CPU:001").comm.is_empty());
        assert_eq!(event("x-1 [001]  1.5: sched_wakeup_new: y:2 [120] CPU:001").context, Context::Unknown);
    }

    #[test]
    fn remarks_between_events_are_no_garbage() {
        let mut about = Metadata::default();
        for text in ["version = 7", "CPU 1 is empty", "cpus=2", "CPU:1 [SUBBUFFER START]", ""] {
            assert_eq!(line(text.as_bytes(), &mut about), Parsed::Nothing, "{text}");
        }
        assert_eq!(about.cpus, 2);
        assert_eq!(event("CPU:1 [EVENTS DROPPED]").content, Content::Sched(LineEvent::Lost { count: 0 }));
    }
}
