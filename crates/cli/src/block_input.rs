//! A trace of block I/O as an input, and what stands in a file that may be such a trace or one of scheduling.

use crate::failure::Failure;
use crate::input::{BlockEvents, Input, InputOptions, machine, no_such_input, sha256};
use crate::patience::Patience;
use crate::shipped;
use goodness_report::model::{self, Counted, Details, InputKind};
use goodness_trace::block::{BLOCK_FORMATS, BlockTrace, open_block, read_block};
use goodness_trace::{FORMATS, Input as Bytes, Recording, Repair, TraceError, load_input};
use goodness_workload::block_replay::{BlockReplay, Events, Options};
use std::io::Read;
use std::path::{Path, PathBuf};

/// Bytes of a pipe that show whether it is a trace. A choice: far more than the readers look at.
const HEAD: u64 = 1 << 20;

/// A trace that can be read again and again.
pub struct Held {
    name: String,
    /// What is no file: standard input, a pipe. It can be read once only.
    bytes: Option<Vec<u8>>,
}

impl Held {
    /// The trace called `text`: a file, a folder, standard input (`-`), or a recording shipped with the program.
    ///
    /// # Errors
    /// Nothing of that name, a pipe that cannot be read.
    pub fn of(text: &str) -> Result<Held, Failure> {
        let name = text.to_string();
        if let Some(shipped) = shipped::find(text) {
            return Ok(Held { name, bytes: Some(shipped.bytes.to_vec()) });
        }
        let path = Path::new(text);
        if text != "-" && matches!(path.try_exists(), Ok(false)) {
            return Err(no_such_input(text));
        }
        if text != "-" && (path.is_file() || path.is_dir()) {
            return Ok(Held { name, bytes: None });
        }
        let _patience = Patience::with(text);
        let cannot = |why: std::io::Error| Failure::usage(format!("{text} cannot be read: {why}"));
        let mut source: Box<dyn Read> = match text {
            "-" => Box::new(std::io::stdin()),
            _ => Box::new(std::fs::File::open(path).map_err(cannot)?),
        };
        let mut head = Vec::new();
        source.by_ref().take(HEAD).read_to_end(&mut head).map_err(cannot)?;
        let mut held = Held { name, bytes: Some(head) };
        // What is no trace may have no end.
        let is_trace = !matches!(held.recording(), Err(TraceError::NotATrace { .. })) || held.block().is_ok();
        if let Some(bytes) = held.bytes.as_mut().filter(|_| is_trace) {
            source.read_to_end(bytes).map_err(cannot)?;
        }
        Ok(held)
    }

    fn input<'a>(&self, bytes: &'a [u8]) -> Result<Bytes<'a>, TraceError> {
        Bytes::bytes(&self.name, bytes).map_err(|source| TraceError::Open { path: self.name.clone(), source })
    }

    /// Reads it as a recording of scheduling.
    ///
    /// # Errors
    /// What is no such recording.
    pub fn recording(&self) -> Result<Recording, TraceError> {
        match &self.bytes {
            Some(bytes) => self.input(bytes).and_then(load_input),
            None => Bytes::open(Path::new(&self.name)).and_then(load_input),
        }
    }

    fn block(&self) -> Result<BlockTrace<'_>, TraceError> {
        match &self.bytes {
            Some(bytes) => read_block(vec![self.input(bytes)?]),
            None => open_block(&[PathBuf::from(&self.name)]),
        }
    }

    fn hash(&self) -> Option<String> {
        match &self.bytes {
            Some(_) => None,
            None => std::fs::read(&self.name).ok().map(|bytes| sha256(&bytes)),
        }
    }
}

/// What is no recording of scheduling, for the reason `why`, as a trace of block I/O.
///
/// # Errors
/// The sentence that fits better: why it is no usable trace of block I/O, if it is one, else `why`.
pub fn instead(held: &Held, options: &InputOptions, why: TraceError) -> Result<Input, Failure> {
    let is_other = matches!(why, TraceError::NotATrace { .. } | TraceError::NoSwitches { .. });
    if !is_other {
        return Err(Failure::usage(why.to_string()));
    }
    match (held.block(), why) {
        (Ok(_), _) => open(held, options),
        (Err(TraceError::NotATrace { .. }), TraceError::NotATrace { path, begins, remedy, .. }) => {
            let known = FORMATS.iter().map(|f| f.name).chain(BLOCK_FORMATS.iter().map(|f| f.name));
            let formats = known.collect::<Vec<_>>().join(", ");
            Err(Failure::usage(TraceError::NotATrace { path, formats, begins, remedy }.to_string()))
        }
        (Err(why), TraceError::NotATrace { .. }) | (Err(_), why) => Err(Failure::usage(why.to_string())),
    }
}

/// A trace of block I/O as work.
///
/// # Errors
/// What cannot be read or replayed, a machine or a device that cannot be.
pub fn open(held: &Held, options: &InputOptions) -> Result<Input, Failure> {
    let replay = Options {
        arrivals: options.replay().arrivals,
        events: match options.block_events.unwrap_or_default() {
            BlockEvents::Queue => Events::Queue,
            BlockEvents::Issue => Events::Issue,
        },
        device: options.device.clone(),
    };
    let source = BlockReplay::read(&held.name, || held.block(), &replay).map_err(Failure::usage)?;
    let lost = source.about.repairs.of(Repair::LostEvents).count;
    let about = model::Input {
        kind: InputKind::Trace,
        name: held.name.clone(),
        sha256: held.hash(),
        lost_events: source.about.carries.stages.then_some(lost),
    };
    let counted = |what: &str, count| Counted { what: what.into(), count };
    let details = Details {
        workload_notes: source.notes.clone(),
        warnings: source.about.warnings.clone(),
        repairs: source.about.repairs.iter().map(|(kind, n)| counted(kind.meaning(), n.count)).collect(),
        unknowns: source
            .lost
            .counted()
            .into_iter()
            .filter(|(_, count)| *count > 0)
            .map(|(what, count)| counted(what, count))
            .collect(),
        ..Details::default()
    };
    let machine = machine(options, "ideal")?;
    Ok(Input { source: Box::new(source), machine, about, details, recorded: None })
}
