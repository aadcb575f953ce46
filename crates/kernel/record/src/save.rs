//! Writes the file from the pages in two passes: the first collects the tasks, the second writes the events.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use goodness_sys::Signals;

use super::cast::{Cast, Privacy};
use super::drain::Record;
use super::event::Decoder;
use super::header::{self, CommandLine, Cpus, Header, Loss, Selected};
use super::machine::{self, Kernel};
use super::output::Output;
use super::stage::Tape;
use super::text::{self, Place};
use super::{Options, Progress, RecordError, Recorded, tracefs};

/// Events between two looks at signals and two reports of progress.
const STRIDE: u64 = 65_536;

/// Writes the recording.
pub fn save(
    options: &Options,
    mut tape: Tape,
    output: Output,
    signals: &mut Signals,
    progress: &mut dyn FnMut(Progress),
) -> Result<Recorded, RecordError> {
    let decoder =
        Decoder::new(&tape.formats).map_err(|problem| RecordError::Format { path: "events/sched".into(), problem })?;
    let (mut cast, total) = meet_everybody(options, &mut tape, &decoder)?;
    let header = header_of(options, &tape, &cast);
    let head = head_of(&header, &tape, &cast, total)?;
    cast.rewind(&tape.census);
    let path = options.output.clone();
    let bytes = output.finish(|out| {
        let failed = |error: std::io::Error| RecordError::Output { path: path.clone(), reason: error.to_string() };
        out.write_all(&head).map_err(failed)?;
        let mut line = Vec::with_capacity(512);
        let mut done = 0;
        tape.spools.walk(|record| {
            line.clear();
            match record {
                Record::Lost { cpu, lost } => text::write_lost(cpu, lost, &mut line),
                Record::Event { time_ns, cpu, bytes } => {
                    let Some(event) = decoder.decode(bytes) else {
                        return Ok(());
                    };
                    text::write_event(Place { time_ns, cpu }, &event, &decoder.states, &cast, &mut line);
                    cast.learn(&event);
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
    Ok(recorded(options, &tape, &header, bytes, total))
}

/// First pass: collects all tasks and their last names, and counts the events.
fn meet_everybody(options: &Options, tape: &mut Tape, decoder: &Decoder) -> Result<(Cast, u64), RecordError> {
    let privacy = if options.anonymize { Privacy::Anonymous } else { Privacy::Open };
    let command = tape.command.map(|(pid, _)| pid as i32);
    let mut cast = Cast::new(&tape.census, command, std::mem::take(&mut tape.selected), privacy);
    let mut total = 0;
    tape.spools.walk(|record| {
        if let Record::Event { bytes, .. } = record
            && let Some(event) = decoder.decode(bytes)
        {
            cast.meet(&event);
            cast.learn(&event);
            total += 1;
        }
        Ok(())
    })?;
    cast.name_strangers(&tape.census);
    Ok((cast, total))
}

/// The comment lines above the events.
fn head_of(header: &Header, tape: &Tape, cast: &Cast, total: u64) -> Result<Vec<u8>, RecordError> {
    let mut head = b"# tracer: nop\n".to_vec();
    let value = serde_json::to_value(header)
        .map_err(|error| RecordError::System { what: "writing the header", source: error.into() })?;
    header::write_line("recording", value, &mut head);
    // Called while `cast` still has the names of the recording's end, which task lines carry.
    header::write_tasks(&tape.census, cast, &mut head);
    let lost: u64 = tape.lost.iter().map(Loss::total).sum();
    let counts =
        format!("#\n# entries-in-buffer/entries-written: {total}/{}   #P:{}\n#\n", total + lost, tape.cpus.len());
    head.extend(counts.bytes());
    head.extend(text::LEGEND.bytes());
    Ok(head)
}

fn header_of(options: &Options, tape: &Tape, cast: &Cast) -> Header {
    let mut unreadable = Vec::new();
    let tunables = machine::tunables(&mut unreadable);
    let kernel = Kernel::read(&tunables, &mut unreadable);
    Header {
        version: header::VERSION,
        tool: concat!("goodness ", env!("CARGO_PKG_VERSION")).to_string(),
        kernel,
        cpus: Cpus { online: tape.cpus.clone(), topology: machine::topology(&tape.cpus) },
        clock: tracefs::CLOCK,
        time: tape.window,
        stopped_by: tape.stopped_by.name(),
        anonymized: options.anonymize,
        recorder: std::process::id(),
        command: tape.command.map(|(pid, exit)| CommandLine {
            name: base_name(&options.command[0]),
            arguments: (!options.anonymize)
                .then(|| options.command[1..].iter().map(|word| word.to_string_lossy().into_owned()).collect()),
            pid,
            confined_to: options.confine_to.clone(),
            exit,
        }),
        selected: Selected { pids: options.pids.clone(), comms: options.comms.clone() },
        members: cast.members(),
        events: tape.events.clone(),
        lost: tape.lost.clone(),
        steal: tape.cpu_time.clone(),
        autogroup: machine::trimmed("/proc/sys/kernel/sched_autogroup_enabled").and_then(|text| text.parse().ok()),
        same_group: tape.census.same_group(),
        tunables,
        unreadable,
    }
}

fn base_name(command: &OsString) -> String {
    let name = Path::new(command).file_name().unwrap_or(command);
    name.to_string_lossy().into_owned()
}

fn recorded(options: &Options, tape: &Tape, header: &Header, bytes: u64, events: u64) -> Recorded {
    Recorded {
        path: options.output.clone(),
        bytes,
        events,
        lost: tape.lost.clone(),
        duration: Duration::from_nanos(tape.window.end_ns - tape.window.start_ns),
        stopped_by: tape.stopped_by,
        exit: tape.command.and_then(|(_, exit)| exit),
        members: header.members.len(),
        cpu_time: tape.cpu_time.clone(),
        unreadable: header.unreadable.iter().map(|part| format!("{}: {}.", part.what, part.why)).collect(),
    }
}
