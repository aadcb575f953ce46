//! The inputs that the fuzzer keeps, which reach every part of the readers: what each is read as, or the sentence that
//! refuses it. Recordings are recovered and replayed, too; simulations are simulated.

use super::draw::{Bytes, Drawn, SMALL};
use super::outcome::{Outcome, contender, values};
use super::{hold, line, reported, told};
use goodness::{Contender, OpenOptions, Refusal, open, unwatched};
use goodness_core::{Seed, Span, WorkloadSource};
use goodness_replay::{Arrivals, Ends, History, Others, ReplayOptions, machine_of, recover};
use goodness_trace::block::{BlockReader, read_block};
use goodness_trace::{Input, load_input, summarise};
use goodness_work::experiment::Experiment;
use goodness_work::fio::{self, FioStream, Outside};
use goodness_work::machine::parse_machine;
use goodness_work::models::BuiltIn;
use goodness_work::rtapp::{Options, RtApp};
use std::collections::BTreeMap;
use std::io::Read;

/// Progress messages, of at most 1024 events each, after which a simulation is left.
const PATIENCE: u64 = 32;
/// Bytes of each file of a fio job.
const FILE: u64 = 1 << 20;

/// The kept inputs of each fuzz target.
fn kept() -> BTreeMap<String, Vec<Vec<u8>>> {
    let packed = include_bytes!("../../../../fuzz/corpora.tar.xz");
    let mut archive = tar::Archive::new(Input::bytes("corpora", packed).expect("it is whole"));
    let mut kept = BTreeMap::<String, Vec<Vec<u8>>>::new();
    for entry in archive.entries().expect("it is whole") {
        let mut entry = entry.expect("it is whole");
        let path = entry.path().expect("a plain path").to_str().expect("a plain path").to_string();
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).expect("it is whole");
        match path.split('/').collect::<Vec<_>>()[..] {
            [_, target, name] if !name.is_empty() => kept.entry(target.into()).or_default().push(bytes),
            _ => {}
        }
    }
    kept
}

/// A trace of scheduling: its summary, its records, and the work recovered from it.
fn scheduling(head: &[u8], bytes: &[u8]) -> String {
    let text = [head, bytes].concat();
    let input = || Input::bytes("kept", &text);
    let (first, second) = match (input(), input()) {
        (Ok(first), Ok(second)) => (first, second),
        (Err(why), _) | (_, Err(why)) => return why.to_string(),
    };
    let recording = match load_input(first) {
        Ok(recording) => recording,
        Err(why) => return why.to_string(),
    };
    let history = History::of(&recording);
    let recovered = recover(&history, ReplayOptions::default());
    let turned = ReplayOptions { arrivals: Arrivals::Recorded, others: Others::LeftOut, ends: Ends::Recorded };
    let other = recover(&history, turned);
    let machine = machine_of(&recording, &history, recovered.grid);
    format!("{}\n{recording:?}\n{}\n{recovered:?}\n{other:?}", told(summarise(second)), told(machine))
}

/// A replay of this file's block I/O.
fn replayed(bytes: &[u8]) -> Result<String, Refusal> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("kept");
    std::fs::write(&path, bytes).expect("the folder can be written to");
    let path = path.to_str().expect("a plain path");
    let told = open(path, &OpenOptions::default(), &unwatched).and_then(|work| {
        let policy = Contender::policy(work.standard_policy()?);
        reported(&work, policy)
    });
    let folder = folder.path().to_str().expect("a plain path");
    told.map(|it| format!("{it:?}").replace(folder, ""))
        .map_err(|it| Refusal::usage(it.to_string().replace(folder, "")))
}

/// A trace of block I/O: its records and what is known of it, and the replay of one that is a single file.
fn block(parts: &[Vec<u8>]) -> String {
    let inputs = parts.iter().map(|it| Input::bytes("kept", it)).collect::<Result<Vec<_>, _>>();
    let mut trace = match inputs.map(read_block) {
        Ok(Ok(trace)) => trace,
        Ok(Err(why)) => return why.to_string(),
        Err(why) => return why.to_string(),
    };
    let mut records = Vec::new();
    let end = loop {
        match trace.next() {
            Ok(Some(record)) => records.push(record),
            Ok(None) => break String::new(),
            Err(why) => break why.to_string(),
        }
    };
    let replay = if let [whole] = parts { told(replayed(whole)) } else { String::new() };
    format!("{records:?} {:?} {end} {replay}", trace.about())
}

/// As the fuzz target reads them: version and byte order in the first byte, one file or two.
fn blktrace(bytes: &[u8]) -> String {
    let (choice, rest) = bytes.split_first().unwrap_or((&0, &[]));
    let mut magic = [7 + (choice & 1), b't', b'a', b'e'];
    if choice & 2 != 0 {
        magic.reverse();
    }
    let (first, second) = rest.split_at(rest.len() / 2);
    let of = |parts: &[&[u8]]| block(&Vec::from_iter(parts.iter().map(|it| [&magic[..], it].concat())));
    of(&[rest]) + &of(&[first, second])
}

/// Jobs, and behind them the log that they may replay.
fn fio_jobs(text: &str) -> String {
    let (text, log) = text.split_at(text.find("fio version").unwrap_or(text.len()));
    let file = |_: &str| Ok(log.to_string());
    let jobs = match fio::read("kept.fio", text, &Outside { variable: &|_| None, file: &file }) {
        Ok(jobs) => jobs,
        Err(why) => return why,
    };
    let streams = jobs.iter().take(4).map(|job| {
        let stream = FioStream::new(job, &vec![FILE; job.files.len()], Seed(1));
        stream.map(|it| format!("{:?}", Vec::from_iter(it.take(64)))).unwrap_or_else(|why| format!("{why:?}"))
    });
    format!("{jobs:?} {}", streams.collect::<String>())
}

fn experiment(text: &str) -> String {
    let machine = (text.contains('=') && !text.contains('/')).then(|| told(parse_machine(text)));
    let (model, span) = (told(BuiltIn::parse(text).map(|it| it.name().to_string())), told(Span::parse(text)));
    format!("{} {machine:?} {model} {span}", told(Experiment::read("kept.toml", text)))
}

fn rt_app(text: &str) -> String {
    let read = |lenient| RtApp::read("kept.json", text, Options { lenient });
    told(read(false)) + &told(read(true))
}

fn simulation(bytes: &[u8]) -> String {
    let drawn = Drawn::from(&mut Bytes(bytes), &SMALL);
    let contender = match contender(&drawn) {
        Ok(contender) => contender,
        Err(why) => return why.to_string(),
    };
    match values(&drawn, &contender, PATIENCE) {
        Err(Outcome::Broken(why)) => panic!("{why}\ngoodness run FILE {}\n{}", drawn.words(), drawn.experiment),
        outcome => format!("{outcome:?}"),
    }
}

/// The text that an input of this fuzz target comes to; `None` for targets whose code has other tests.
fn of(target: &str, bytes: &[u8]) -> Option<String> {
    let text = || String::from_utf8_lossy(bytes).into_owned();
    let after = |line: &str| block(&[[line.as_bytes(), bytes].concat()]);
    Some(match target {
        "ftrace" | "replay" => scheduling(b"# tracer: nop\n", bytes),
        "trace_cmd" => scheduling(b"cpus=2\n", bytes),
        "perf_script" => scheduling(b"# captured on    : now\n", bytes),
        "any_trace" => scheduling(b"", bytes),
        "blktrace" => blktrace(bytes),
        "block_trace" => block(&[bytes.into()]),
        "blkparse" => after("  8,0    1        1     0.000001000   697  Q  WS 2048 + 8 [x]\n"),
        "block_events" => after(" dd-9 [000] d..1.  1.000001: block_rq_issue: 8,0 R 4096 () 8 + 8 [dd]\n"),
        "disksim" => after("0.0 0 1234 8 1\n"),
        "disksim_validate" => after("W Hit 100 4 663.0 45422.0\n"),
        "msr" => after("128166372003061629,usr,0,Read,4096,512,41286\n"),
        "spc" => after("0,20,8192,W,0.5\n"),
        "fio_iolog" if bytes.first().is_some_and(|it| it & 1 != 0) => after("fio version 2 iolog\n"),
        "fio_iolog" => after("fio version 3 iolog\n"),
        "fio_job" => fio_jobs(&text()),
        "experiment" => experiment(&text()),
        "machine" => told(parse_machine(&text())),
        "rt_app" => rt_app(&text()),
        "simulated" => simulation(bytes),
        _ => return None,
    })
}

#[test]
fn kept_inputs_come_to_what_the_ledger_says() {
    let lines = kept().into_iter().filter_map(|(target, inputs)| {
        let texts: Vec<String> = inputs.iter().filter_map(|it| of(&target, it)).collect();
        (!texts.is_empty()).then(|| line("kept", &target, &texts))
    });
    hold("kept", &Vec::from_iter(lines));
}
