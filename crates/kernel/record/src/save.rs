//! Writes the file from the pages in two passes: the first collects the tasks, the second writes the events.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use goodness_sys::Signals;

use super::drain::Record;
use super::event::{Decoder, What};
use super::header::{self, CommandLine, Cpus, Header, Loss, Selected, TaskFacts};
use super::histories::Histories;
use super::machine::{self, Kernel, Unreadable};
use super::output::Output;
use super::participants::{Participants, Privacy};
use super::session::Captured;
use super::text::{self, Place};
use super::{Options, Progress, RecordError, Recorded, tracefs};

/// Events between two checks for signals and two progress reports.
const STRIDE: u64 = 65_536;

/// Writes the recording.
pub fn save(
    options: &Options,
    mut captured: Captured,
    output: Output,
    signals: &mut Signals,
    progress: &mut dyn FnMut(Progress),
) -> Result<Recorded, RecordError> {
    let decoder = Decoder::new(&captured.formats)
        .map_err(|problem| RecordError::Format { path: "events/sched".into(), problem })?;
    let (mut participants, histories, total) = note_participants(options, &mut captured, &decoder)?;
    let header = header_of(options, &captured, &participants, &histories);
    let head = head_of(&header, &captured, &participants, &histories, total)?;
    participants.rewind(&captured.census);
    let path = options.output.clone();
    let bytes = output.finish(|out| {
        let failed = |error: std::io::Error| RecordError::Output { path: path.clone(), reason: error.to_string() };
        out.write_all(&head).map_err(failed)?;
        let mut line = Vec::with_capacity(512);
        let mut done = 0;
        captured.spools.walk(|record| {
            line.clear();
            match record {
                Record::Lost { cpu, lost } => text::write_lost(cpu, lost, &mut line),
                Record::Event { time_ns, cpu, bytes } => {
                    let Some(event) = decoder.decode(bytes) else {
                        return Ok(());
                    };
                    text::write_event(Place { time_ns, cpu }, &event, &decoder.states, &participants, &mut line);
                    participants.learn_names(&event);
                    done += 1;
                    if done % STRIDE == 0 {
                        progress(Progress::Writing { done, total });
                        if let Some(signal) = signals.take() {
                            return Err(RecordError::Interrupted { path: path.clone(), signal });
                        }
                    }
                }
            }
            out.write_all(&line).map_err(failed)
        })
    })?;
    Ok(recorded(options, &captured, &header, bytes, total))
}

/// First pass: collects all tasks, their last names and attributes, and counts the events.
fn note_participants(
    options: &Options,
    captured: &mut Captured,
    decoder: &Decoder,
) -> Result<(Participants, Histories, u64), RecordError> {
    let privacy = if options.anonymize { Privacy::Anonymous } else { Privacy::Open };
    let command = captured.command.map(|(pid, _)| pid as i32);
    let mut participants =
        Participants::new(&captured.census, command, std::mem::take(&mut captured.selected), privacy);
    let mut total = 0;
    let mut histories = Histories::new(captured.window.start_ns, std::mem::take(&mut captured.at_start).into_iter());
    let mut changes = captured.changes.list.iter().peekable();
    captured.spools.walk(|record| {
        if let Record::Event { bytes, time_ns, .. } = record
            && let Some(event) = decoder.decode(bytes)
        {
            while let Some(change) = changes.next_if(|change| change.at_ns <= time_ns) {
                histories.change(change);
            }
            if let What::Fork { parent, child } = event.what {
                histories.fork(time_ns, parent.pid, child.pid);
            }
            participants.note(&event);
            participants.learn_names(&event);
            total += 1;
        }
        Ok(())
    })?;
    changes.for_each(|change| histories.change(change));
    participants.name_strangers(&captured.census);
    Ok((participants, histories, total))
}

/// The comment lines above the events.
fn head_of(
    header: &Header,
    captured: &Captured,
    participants: &Participants,
    histories: &Histories,
    total: u64,
) -> Result<Vec<u8>, RecordError> {
    let mut head = b"# tracer: nop\n".to_vec();
    let value = serde_json::to_value(header)
        .map_err(|error| RecordError::System { what: "writing the header", source: error.into() })?;
    header::write_line("recording", value, &mut head);
    let aliases = header.anonymized.then(|| captured.groups.aliases());
    let group_name = |path: &str| aliases.as_ref().map_or(path, |known| known.get(path).map_or("", |name| name)).into();
    captured.groups.lines(&group_name).for_each(|group| header::write_line("group", group, &mut head));
    // Called while `participants` still has the names of the recording's end, which task lines carry.
    let facts = TaskFacts { census: &captured.census, participants, histories, group_name: &group_name };
    header::write_tasks(&facts, &mut head);
    let lost: u64 = captured.lost.iter().map(Loss::total).sum();
    let counts =
        format!("#\n# entries-in-buffer/entries-written: {total}/{}   #P:{}\n#\n", total + lost, captured.cpus.len());
    head.extend(counts.bytes());
    head.extend(text::LEGEND.bytes());
    Ok(head)
}

fn header_of(options: &Options, captured: &Captured, participants: &Participants, histories: &Histories) -> Header {
    let mut unreadable = unseen_changes(captured, histories);
    let tunables = machine::tunables(&mut unreadable);
    let kernel = Kernel::read(&tunables, &mut unreadable);
    Header {
        version: header::VERSION,
        tool: concat!("goodness ", env!("CARGO_PKG_VERSION")).to_string(),
        kernel,
        cpus: Cpus { online: captured.cpus.clone(), topology: machine::topology(&captured.cpus) },
        clock: tracefs::CLOCK,
        time: captured.window,
        stopped_by: captured.stopped_by.name(),
        anonymized: options.anonymize,
        recorder: std::process::id(),
        command: captured.command.map(|(pid, exit)| CommandLine {
            name: base_name(&options.command[0]),
            arguments: (!options.anonymize)
                .then(|| options.command[1..].iter().map(|word| word.to_string_lossy().into_owned()).collect()),
            pid,
            confined_to: options.confine_to.clone(),
            exit,
        }),
        selected: Selected { pids: options.pids.clone(), comms: options.comms.clone() },
        members: participants.members(),
        events: captured.events.clone(),
        lost: captured.lost.clone(),
        steal: captured.cpu_time.clone(),
        autogroup: machine::trimmed(goodness_sys::AUTOGROUP).and_then(|text| text.parse().ok()),
        same_group: captured.census.same_group(),
        connections: captured.connections.list(),
        tunables,
        unreadable,
    }
}

/// Changes of scheduling attributes that are not in the recording.
fn unseen_changes(captured: &Captured, histories: &Histories) -> Vec<Unreadable> {
    let told = |count: u64, what: &str, why: &str| {
        let what = if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") };
        (count > 0).then(|| Unreadable { what, why: why.to_string() })
    };
    let blind = captured.changes.blind.then(|| Unreadable {
        what: "events/syscalls".to_string(),
        why: "this kernel cannot trace system calls, so changes of class, nice and affinity show at the end only"
            .into(),
    });
    let missed = "change of scheduling attributes";
    [
        blind,
        told(histories.missed, missed, "the thread ended before they could be read"),
        told(captured.changes.skipped, missed, "there were too many to follow"),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn base_name(command: &OsString) -> String {
    let name = Path::new(command).file_name().unwrap_or(command);
    name.to_string_lossy().into_owned()
}

fn recorded(options: &Options, captured: &Captured, header: &Header, bytes: u64, events: u64) -> Recorded {
    Recorded {
        path: options.output.clone(),
        bytes,
        events,
        lost: captured.lost.clone(),
        duration: Duration::from_nanos(captured.window.end_ns - captured.window.start_ns),
        stopped_by: captured.stopped_by,
        exit: captured.command.and_then(|(_, exit)| exit),
        members: header.members.len(),
        cpu_time: captured.cpu_time.clone(),
        unreadable: header.unreadable.iter().map(|part| format!("{}: {}.", part.what, part.why)).collect(),
    }
}
