//! Opens written work: built-in workloads, experiments, rt-app and fio files.

use super::{OpenOptions, judged};
use crate::progress::{Progress, Watch};
use crate::refusal::{Refusal, See};
use crate::work::Work;
use goodness_report::model::{self, Details, InputKind};
use goodness_work::experiment::Experiment;
use goodness_work::fio::{self, FioWork};
use goodness_work::models::{BuiltIn, WORKLOADS};
use goodness_work::rtapp::{self, RtApp};
use goodness_work::text_file;
use sha2::{Digest, Sha256};
use std::io::{self, Read};
use std::path::Path;

/// A built-in workload, with settings.
pub(super) fn built_in(text: &str, options: &OpenOptions) -> Result<Work, Refusal> {
    let name = text.split(':').next();
    let name = WORKLOADS.iter().map(|model| model.name).find(|known| name == Some(known));
    let source = BuiltIn::parse(text).map_err(|why| Refusal::usage(why).see(See::Workloads(name)))?;
    let (machine, about) = (options.machine_or_ideal()?, about(InputKind::Workload, text, None));
    if options.judge.is_empty() {
        return Ok(Work::of(source, machine, about));
    }
    let (judged, details) = judge(text, &source.task_names(), options)?;
    Ok(Work { details, ..Work::of(source.with_judged(judged), machine, about) })
}

/// The tasks that the options judge, of those with these names, and what the report says of it.
fn judge(text: &str, names: &[String], options: &OpenOptions) -> Result<(Vec<bool>, Details), Refusal> {
    let tasks: Vec<(&str, u64)> = names.iter().map(String::as_str).zip(1..).collect();
    let judged = judged::meant(text, &tasks, &options.judge)?;
    let count = judged.iter().filter(|is| **is).count();
    let workload_notes = vec![format!("{count} of {} tasks belong to the judged work", tasks.len())];
    Ok((judged, Details { workload_notes, ..Details::default() }))
}

pub(super) fn experiment(text: &str, options: &OpenOptions, watch: &Watch) -> Result<Work, Refusal> {
    let content = read(text, watch)?;
    let source = Experiment::read(text, &content).map_err(Refusal::usage)?;
    let machine = match (&options.machine, source.machine()) {
        (None, Some(machine)) => machine.clone(),
        _ => options.machine_or_ideal()?,
    };
    source.check_faults(machine.cpu_count()).map_err(Refusal::usage)?;
    let about = about(InputKind::Experiment, text, Some(&content));
    if options.judge.is_empty() {
        return Ok(Work::of(source, machine, about));
    }
    let names: Vec<String> = source.task_names().map(ToString::to_string).collect();
    let (judged, details) = judge(text, &names, options)?;
    Ok(Work { details, ..Work::of(source.with_judged(judged), machine, about) })
}

pub(super) fn rt_app(text: &str, options: &OpenOptions, watch: &Watch) -> Result<Work, Refusal> {
    let content = read(text, watch)?;
    let rt_options = rtapp::Options { lenient: options.lenient };
    let source = RtApp::read(text, &content, rt_options).map_err(Refusal::usage)?;
    let warnings = source.not_honoured.iter().map(|key| format!("not honoured: {key}")).collect();
    let work = Work::of(source, options.machine_or_ideal()?, about(InputKind::RtApp, text, Some(&content)));
    Ok(Work { details: Details { warnings, ..Details::default() }, ..work })
}

pub(super) fn fio_jobs(text: &str, options: &OpenOptions, watch: &Watch) -> Result<Work, Refusal> {
    let content = read(text, watch)?;
    let device = options.device.clone().unwrap_or_else(|| fio::DEFAULT_DEVICE.into());
    let cost = options.io_cost.unwrap_or(fio::DEFAULT_COST);
    let folder = Path::new(text).parent().unwrap_or(Path::new(""));
    let file = |name: &str| included(folder, name, watch);
    let outside = fio::Outside { variable: &|name| std::env::var(name).ok(), file: &file };
    let source = FioWork::read(text, &content, &fio::Options { device, cost }, &outside).map_err(Refusal::usage)?;
    let details = Details {
        workload_notes: source.notes.clone(),
        ranked_by: source.ranked_by().map(Into::into),
        ..Details::default()
    };
    let work = Work::of(source, options.machine_or_ideal()?, about(InputKind::Fio, text, Some(&content)));
    Ok(Work { details, ..work })
}

/// The text of a file that a job file in `folder` includes: beside it, else where the program was called, as for fio.
fn included(folder: &Path, name: &str, watch: &Watch) -> Result<String, String> {
    let beside = folder.join(name);
    let path = if beside.is_file() { beside } else { name.into() };
    read(&path.to_string_lossy(), watch).map_err(|refusal| refusal.to_string())
}

fn about(kind: InputKind, name: &str, content: Option<&String>) -> model::Input {
    let sha256 = content.map(|content| sha256(content.as_bytes()));
    model::Input { kind, name: name.into(), sha256, lost_events: None }
}

/// The text of a file that describes work.
fn read(path: &str, watch: &Watch) -> Result<String, Refusal> {
    let _ = watch(Progress::Opening(path));
    let content = text_file::read(path, text_file::WORK_MAX).map_err(Refusal::usage);
    let _ = watch(Progress::Opened);
    content
}

/// The hash of a file's bytes, in hexadecimal.
pub(super) fn sha256(bytes: &[u8]) -> String {
    hexadecimal(&Sha256::digest(bytes))
}

/// The same for a file that need not fit into memory.
pub(super) fn hash_of(mut file: impl Read) -> io::Result<String> {
    let (mut hash, mut block) = (Sha256::new(), vec![0; 1 << 16]);
    loop {
        match file.read(&mut block)? {
            0 => return Ok(hexadecimal(&hash.finalize())),
            read => hash.update(&block[..read]),
        }
    }
}

pub(super) fn hexadecimal(digest: &[u8]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_the_same_hash_block_by_block() {
        let bytes: Vec<u8> = (0..200_000u32).map(|n| (n % 251) as u8).collect();
        assert_eq!(hash_of(&bytes[..]).ok(), Some(sha256(&bytes)));
        assert_eq!(sha256(b"").get(..8), Some("e3b0c442"));
    }
}
