//! fio job files: INI text into typed jobs, and the stream of I/O of each.
//!
//! Source: the manual of fio 3 and the fact sheet on block I/O, section 13. [`coverage`] lists option by option what is
//! honoured. Departures from fio: chance is this program's own (equal seeds do not give fio's places), a job's `size`
//! is that of the disk unless given, variables and `include` are not replaced. An option fio does not know is refused
//! with the nearest, one that would change the load and is not honoured is refused too.
//!
//! | module | holds |
//! |---|---|
//! | [`coverage`] | every option |
//! | `ini` | sections and lines |
//! | `units` | sizes, times, values for three directions |
//! | `options` | one option after the other makes a job |
//! | `job` | [`FioJob`] |
//! | `stream` | [`FioStream`]: the I/O of one job |
//! | `region` | the job's part of a file |
//! | `map` | which places were used |
//! | `work` | [`FioWork`]: all jobs as tasks on a disk |
//! | `wave` | how a wave of jobs waits for the one before (`stonewall`) |
//! | `player` | the behaviour of a job |

pub mod coverage;
mod ini;
mod job;
mod map;
mod options;
mod player;
mod region;
mod stream;
#[cfg(test)]
mod tests;
mod units;
mod wave;
mod work;

pub use job::{Arrivals, Chance, Direction, Durability, Engine, FioJob, Pattern, Share, Sizes, Think};
pub use stream::{FioIo, FioOp, FioStream, Pause};
pub use units::Amount;
pub use work::{DEFAULT_COST, DEFAULT_DEVICE, FioWork, Options};

use options::Draft;

/// Jobs of one file, clones counted.
const JOBS_MAX: usize = 1 << 16;

/// Parses the jobs of a file in order, clones one after the other; errors name the file as `file`.
///
/// # Errors
/// One sentence with file, line and remedy.
pub fn read(file: &str, text: &str) -> Result<Vec<FioJob>, String> {
    let at = |line: usize, why: String| format!("{file}, line {line}: {why}");
    let sections = ini::parse(text).map_err(|(line, why)| at(line, why))?;
    let mut global = Draft::new();
    let mut jobs: Vec<FioJob> = Vec::new();
    let (mut wave, mut group, mut was_grouped) = (0, 0, false);
    for section in &sections {
        let is_global = section.name == "global";
        let mut draft = global.clone();
        if !is_global {
            draft.job.name = section.name.clone();
            draft.job.line = section.line;
        }
        for entry in &section.entries {
            draft.take(entry).map_err(|why| at(entry.line, why))?;
        }
        if is_global {
            global = draft;
            continue;
        }
        // A job that others wait for begins a wave, unless it is the first of all.
        let is_later = !jobs.is_empty();
        wave += u32::from(draft.stonewall && is_later);
        let begins_group = draft.new_group || draft.stonewall || !(was_grouped && draft.group_reporting);
        group += u32::from(begins_group && is_later);
        was_grouped = draft.group_reporting;
        for clone in 0..draft.clones {
            if jobs.len() >= JOBS_MAX {
                return Err(at(section.line, format!("with this job there are more than {JOBS_MAX}")));
            }
            draft.job.clone = clone as u32;
            let mut job = draft.finish().map_err(|why| at(section.line, why))?;
            group += u32::from(clone > 0 && !draft.group_reporting);
            (job.number, job.wave, job.group) = (jobs.len() as u32, wave, group);
            jobs.push(job);
        }
    }
    if jobs.is_empty() {
        return Err(format!("{file}: there is no job; write [NAME] and its options"));
    }
    Ok(jobs)
}
