//! The files behind an input or a machine.

use super::held::refusal;
use crate::refusal::Refusal;
use crate::shipped;
use goodness_trace::block;
use goodness_work::models::WORKLOADS;
use goodness_work::text_file::{self, WORK_MAX};
use std::path::PathBuf;

/// The files whose content decides what the input or machine called `text` is: the file itself, the machine file that
/// an experiment names, and all files of a blktrace run. None for what is built in.
///
/// # Errors
/// A folder that cannot be listed, or that holds no trace.
pub fn files_of(text: &str) -> Result<Vec<PathBuf>, Refusal> {
    let name = text.split(':').next().unwrap_or(text);
    let path = PathBuf::from(text);
    let is_built_in = WORKLOADS.iter().any(|model| model.name == name) || shipped::find(text).is_some();
    if is_built_in || !(path.is_file() || path.is_dir()) {
        return Ok(Vec::new());
    }
    match path.extension().and_then(|end| end.to_str()) {
        Some("toml") => Ok(std::iter::once(path).chain(machine_file(text)).collect()),
        Some("json" | "fio") => Ok(vec![path]),
        _ => block::files_of(&[path]).map_err(|why| refusal(&why)),
    }
}

/// The machine file that the experiment at `path` names. What is no experiment names none, and is refused when it is
/// opened.
fn machine_file(path: &str) -> Option<PathBuf> {
    let table: toml::Table = toml::from_str(&text_file::read(path, WORK_MAX).ok()?).ok()?;
    Some(PathBuf::from(table.get("machine")?.as_str()?)).filter(|named| named.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_that_an_input_reads_is_listed_and_nothing_for_what_is_built_in() {
        let folder = tempfile::tempdir().unwrap();
        let put = |name: &str, content: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, content).unwrap();
            path
        };
        let (machine, plain) = (put("m.toml", "cpus = 2\n"), put("plain.toml", "machine = \"ideal\"\n"));
        let experiment = put("e.toml", &format!("machine = \"{}\"\n", machine.display()));
        let parts = [put("sda.blktrace.0", ""), put("sda.blktrace.1", "")];
        let files = |path: &PathBuf| files_of(path.to_str().unwrap()).unwrap();
        assert_eq!(files(&experiment), [experiment.clone(), machine.clone()]);
        assert_eq!((files(&machine), files(&plain)), (vec![machine.clone()], vec![plain.clone()]));
        assert_eq!(files(&folder.path().into()), parts, "a folder");
        assert_eq!(files(&parts[1]), parts, "one file of a run");
        for built_in in ["mixed", "mixed:hogs=3", "apache-ab-c32-1cpu", "cpus=2", "ideal", "no/such.toml"] {
            assert_eq!(files_of(built_in).unwrap(), Vec::<PathBuf>::new(), "{built_in}");
        }
    }
}
