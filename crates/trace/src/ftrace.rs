//! ftrace text, as tracefs' `trace` and `trace_pipe` show it, and as `goodness record` writes it.
//!
//! ```text
//!             bash-1977    (   1977) [000] d..2.  1201.386458: sched_waking: comm=…
//!             comm-tid      process   CPU  flags  seconds      event: fields
//! ```
//!
//! Process and flags columns are optional. The latency format is read too.

use crate::event_line::{comm_and_ids, event_line, unusable};
use crate::format::Format;
use crate::latency::latency;
use crate::line::Parsed;
use crate::lost::lost_line;
use crate::metadata::{HeaderLine, Metadata};
use crate::prefix::{Unusable, name_and_args, prefix};
use crate::repairs::Repair;
use crate::scan::{number, split_last};

/// The entry in the list of formats.
pub(crate) const FORMAT: Format = Format {
    name: "ftrace",
    summary: "ftrace text from tracefs, and the files of `goodness record`",
    reads: "sched_switch, sched_waking, sched_wakeup, sched_wakeup_new, sched_process_fork/exec/exit, \
            sched_migrate_task, markers, lost-event lines, # goodness: header lines; plain, .gz, .xz or .zst",
    how_to_record: "goodness record -o FILE -- COMMAND; or by hand: echo 1 > events/sched/enable in \
                    /sys/kernel/tracing, then cat trace_pipe > FILE",
    recognises,
    line,
};

fn recognises(line: &[u8]) -> bool {
    line.starts_with(b"# tracer:")
        || line.starts_with(b"# goodness: ")
        || line.starts_with(b"# entries-in-buffer")
        || prefix(line).is_ok_and(|found| comm_and_ids(found.who).pid.is_some() && name_and_args(found.event).is_some())
        || matches!(prefix(line), Err(Unusable::NotSeconds | Unusable::ImpossibleTime))
        || latency(line).is_some()
}

fn line(line: &[u8], about: &mut Metadata) -> Parsed {
    if line.starts_with(b"#") {
        return header(line, about);
    }
    match prefix(line) {
        Ok(found) => event_line(&found, &comm_and_ids(found.who)),
        Err(why) => rare(line, why),
    }
}

#[cold]
fn rare(line: &[u8], why: Unusable) -> Parsed {
    if line.trim_ascii().is_empty() || line.starts_with(b"#####") {
        return Parsed::Nothing;
    }
    if let Some(lost) = lost_line(line) {
        return Parsed::Event(lost);
    }
    if let Some((found, who)) = latency(line) {
        return event_line(&found, &who);
    }
    unusable(why)
}

/// Parses a comment line: `# goodness: {…}`, buffer counts, or a legend.
pub(crate) fn header(line: &[u8], about: &mut Metadata) -> Parsed {
    if let Some(json) = line.strip_prefix(b"# goodness: ") {
        return match serde_json::from_slice::<HeaderLine>(json) {
            Ok(found) => {
                if let Some(recording) = found.recording {
                    about.kernel = Some(recording.kernel.release.clone()).filter(|r| !r.is_empty());
                    let highest = recording.cpus.online.iter().max().map_or(0, |c| c.saturating_add(1));
                    about.raise_cpus(highest.into());
                    about.recording = Some(recording);
                }
                about.attributes.extend(found.task);
                about.groups.extend(found.group);
                Parsed::Nothing
            }
            Err(_) => Parsed::Unreadable(Repair::UnreadableHeader),
        };
    }
    if let Some(counts) = line.strip_prefix(b"# entries-in-buffer/entries-written: ") {
        buffer_counts(counts, about);
    }
    Parsed::Nothing
}

/// `2020/2020   #P:1`.
fn buffer_counts(text: &[u8], about: &mut Metadata) {
    let mut words = text.split(|b| *b == b' ').filter(|w| !w.is_empty());
    if let Some((held, written)) = words.next().and_then(|w| split_last(w, b"/")) {
        about.entries_in_buffer = number(held);
        about.entries_written = number(written);
    }
    if let Some(cpus) = words.next().and_then(|w| w.strip_prefix(b"#P:")).and_then(number) {
        about.raise_cpus(cpus);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Context, Wake};
    use crate::event_line::event_in;
    use crate::line::{Content, EventLine, LineEvent};
    use crate::tasks::Comm;

    fn event(text: &str) -> EventLine {
        event_in(&FORMAT, text)
    }

    const WAKING: &str = "sched_waking: comm=dpkg-deb pid=9080 prio=120 target_cpu=001";

    #[test]
    fn all_ages_of_columns_are_read() {
        for (columns, tgid, context, at) in [
            ("        dpkg-deb-9081    [001] d.s2.  1201.386458: ", None, Context::SoftIrq, 1_201_386_458_000),
            ("        dpkg-deb-9081    [001] d.s2  1201.386458: ", None, Context::SoftIrq, 1_201_386_458_000),
            ("        dpkg-deb-9081  [001]  1201.386458: ", None, Context::Unknown, 1_201_386_458_000),
            ("  dpkg-deb-9081    (  9079) [001] d..2.  1201.386458: ", Some(9079), Context::Task, 1_201_386_458_000),
            ("  dpkg-deb-9081    (-------) [001] d..2.  1201.386458: ", None, Context::Task, 1_201_386_458_000),
            ("  dpkg-deb-9081    [001] dNh4.  1201.386458123: ", None, Context::HardIrq, 1_201_386_458_123),
        ] {
            let raw = event(&format!("{columns}{WAKING}"));
            assert_eq!((raw.cpu, raw.current, raw.tgid), (1, Some(9081), tgid), "{columns}");
            assert_eq!((raw.context, raw.at, raw.comm), (context, at, Comm::new(b"dpkg-deb")), "{columns}");
            assert!(matches!(raw.content, Content::Sched(LineEvent::Waking(wake)) if wake.task.pid == 9080));
        }
    }

    #[test]
    fn odd_names_keep_all_their_bytes() {
        for name in ["a-b c", "x:y", "k=v", "[x]", "<x>", "(sd-pam)", "-7"] {
            let raw = event(&format!(
                "  {name}-12 [000] ..... 1.000000: sched_waking: comm={name} pid=5 prio=1 target_cpu=0"
            ));
            assert_eq!(raw.current, Some(12), "{name}");
            let Content::Sched(LineEvent::Waking(Wake { task, .. })) = raw.content else { panic!("{name}") };
            assert_eq!(task.comm, Comm::new(name.as_bytes()));
        }
    }

    #[test]
    fn a_lost_line_names_its_cpu() {
        let raw = event("CPU:1 [LOST 412 EVENTS]");
        assert_eq!((raw.cpu, raw.content), (1, Content::Sched(LineEvent::Lost { count: 412 })));
    }

    #[test]
    fn headers_tell_of_the_machine() {
        let mut about = Metadata::default();
        line(b"# entries-in-buffer/entries-written: 20/2020   #P:4", &mut about);
        assert_eq!((about.entries_in_buffer, about.entries_written, about.cpus), (Some(20), Some(2020), 4));
        let kernel = r#"{"release":"6.12","hz":250,"config":null}"#;
        let json = format!(r#"# goodness: {{"recording": {{"version":1,"kernel":{kernel},"members":[4]}}}}"#);
        assert_eq!(line(json.as_bytes(), &mut about), Parsed::Nothing);
        assert_eq!((about.hz(), about.members()), (Some(250), &[4][..]));
        line(br#"# goodness: {"task": {"pid":4,"comm":"ab","nice":-5,"affinity":null}}"#, &mut about);
        assert_eq!(about.attributes_of(4).and_then(|a| a.nice), Some(-5));
        assert_eq!(line(b"# goodness: {", &mut about), Parsed::Unreadable(Repair::UnreadableHeader));
    }

    #[test]
    fn a_marker_keeps_its_text() {
        let raw = event("  bash-9 [000] .....  1.000000: tracing_mark_write: hello = [x]: y");
        assert_eq!(raw.content, Content::Marker("hello = [x]: y".into()));
    }
}
