//! fio job files: INI text into typed jobs, and the stream of I/O of each.
//!
//! Source: the manual of fio 3 and the fact sheet on block I/O, section 13. [`coverage`] lists option by option what is
//! honoured. Departures from fio: chance is this program's own (equal seeds do not give fio's places), a job's `size`
//! is that of the disk unless given. An option fio does not know is refused with the nearest, one that would change the
//! load and is not honoured is refused too.
//!
//! | module | holds |
//! |---|---|
//! | [`coverage`] | every option |
//! | `ini` | sections and lines |
//! | `distribution` | random offsets by zipf, pareto, normal, zones |
//! | `gathered` | options that mean something only together |
//! | `units` | sizes, times, values for three directions |
//! | `options` | one option after the other makes a job |
//! | `job` | [`FioJob`] |
//! | `io` | [`FioIo`]: one I/O |
//! | `stream` | [`FioStream`]: the I/O of one job |
//! | `region` | the job's part of a file |
//! | `replay` | the I/O of a log (`read_iolog`) |
//! | `map` | which places were used |
//! | `work` | [`FioWork`]: all jobs as tasks on a disk |
//! | `verifying` | which writes are read again |
//! | `together` | jobs that end together or share a flow |
//! | `wave` | how a wave of jobs waits for the one before (`stonewall`) |
//! | `player` | the behaviour of a job |

pub mod coverage;
mod distribution;
mod gathered;
mod ini;
mod io;
mod job;
mod map;
mod options;
mod player;
mod region;
mod replay;
mod stream;
#[cfg(test)]
mod tests;
mod together;
mod units;
mod verifying;
mod wave;
mod work;

pub use distribution::Distribution;
pub use ini::{Outside, Place};
pub use io::{FioIo, FioOp, Pause};
pub use job::{
    Arrivals, Chance, Direction, Durability, Ends, Engine, FioJob, Flow, Onward, Pattern, Share, Sizes, Syncs, Think,
    Verify,
};
pub use replay::Replay;
pub use stream::FioStream;
pub use units::Amount;
pub use work::{DEFAULT_COST, DEFAULT_DEVICE, FioWork, Options};

use options::Draft;

/// Jobs of one file, clones counted.
const JOBS_MAX: usize = 1 << 16;

/// Parses the jobs of a file in order, clones one after the other; errors name the file as `file`. Variables and
/// included files come from `outside`.
///
/// # Errors
/// One sentence with file, line and remedy.
pub fn read(file: &str, text: &str, outside: &Outside) -> Result<Vec<FioJob>, String> {
    let sections = ini::parse(file, text, outside)?;
    let mut global = Draft::new(Place { file: file.into(), line: 0 });
    let mut jobs: Vec<FioJob> = Vec::new();
    let (mut wave, mut group, mut was_grouped, mut was_waiting) = (0, 0, false, false);
    for section in &sections {
        let is_global = section.name == "global";
        let mut draft = global.clone();
        if !is_global {
            draft.job.name = section.name.clone();
            draft.job.place = section.place.clone();
        }
        for entry in &section.entries {
            draft.take(entry).map_err(|why| entry.place.says(&why))?;
        }
        if is_global {
            global = draft;
            continue;
        }
        // A job that others wait for begins a wave, unless it is the first of all.
        let is_later = !jobs.is_empty();
        let waits = waits_for_all(&draft, &jobs, was_waiting).map_err(|why| section.place.says(&why))?;
        (was_waiting, wave) = (waits, wave + u32::from((draft.stonewall || waits) && is_later));
        let begins_group = draft.new_group || draft.stonewall || !(was_grouped && draft.group_reporting);
        group += u32::from(begins_group && is_later);
        was_grouped = draft.group_reporting;
        let mut logs = replay::Known::new();
        for clone in 0..draft.clones {
            if jobs.len() >= JOBS_MAX {
                return Err(section.place.says(&format!("with this job there are more than {JOBS_MAX}")));
            }
            draft.job.clone = clone as u32;
            let mut job = draft.finish().map_err(|why| section.place.says(&why))?;
            let replay = draft.replay.of_clone(clone as u32, &mut logs, outside);
            if let Some(replay) = replay.map_err(|why| section.place.says(&why))? {
                job.does_as_logged(replay).map_err(|why| section.place.says(&why))?;
            }
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

/// True if a job begins when another has ended (`wait_for`). Waves allow that where the other is all of the last wave.
/// `others_wait` tells that the job above waited.
fn waits_for_all(draft: &Draft, above: &[FioJob], others_wait: bool) -> Result<bool, String> {
    let Some(name) = &draft.wait_for else {
        return if others_wait && !draft.stonewall {
            Err("the job above has wait_for, and this one has not; write wait_for or stonewall".into())
        } else {
            Ok(false)
        };
    };
    let Some(last) = above.last().map(|job| job.wave) else {
        return Err(format!("wait_for: there is no job {name:?} above"));
    };
    let is_all = above.iter().filter(|job| job.wave == last).all(|job| job.name == *name);
    if is_all { Ok(true) } else { Err(format!("wait_for={name} is honoured where {name} is the job right above")) }
}
