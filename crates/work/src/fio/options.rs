//! Builds a job from its options, in order. Later ones override earlier ones.

use super::coverage::{self, Coverage};
use super::distribution::Distribution;
use super::gathered::Gathered;
use super::ini::{Entry, Place};
use super::job::{Arrivals, Direction, Durability, Engine, FioJob, Pattern, Share, Sizes};
use super::replay::Asked;
use super::units::{self, Kilo, on_or_off};
use goodness_core::spelling::suggest;
use goodness_core::{IoClass, IoPriority, Span};

/// Sizes of a split that are kept apart; fio has as many.
const SPLIT_MAX: usize = 64;
/// The deepest queue.
const DEPTH_MAX: u64 = 1 << 16;
/// The largest single I/O: fio's.
const SIZE_MAX: u64 = 1 << 31;
/// Clones of one job.
pub(super) const CLONES_MAX: u64 = 4096;
/// Files of one job.
const FILES_MAX: usize = 4096;

/// A job under construction, with options that concern more than one process.
#[derive(Clone, Debug)]
pub(super) struct Draft {
    pub job: FioJob,
    pub clones: u64,
    pub stonewall: bool,
    pub new_group: bool,
    pub group_reporting: bool,
    filename: Option<String>,
    directory: Option<String>,
    files: u64,
    batch_min: Option<u64>,
    batch_max: Option<u64>,
    depth_low: Option<u64>,
    class: Option<u64>,
    level: Option<u64>,
    kilo: Kilo,
    gathered: Gathered,
    /// Options about a log to replay.
    pub replay: Asked,
    /// The job that this one waits for, by its name.
    pub wait_for: Option<String>,
}

impl Draft {
    /// The options of a job at a place before any are given.
    pub fn new(place: Place) -> Draft {
        Draft {
            job: FioJob::new("", place),
            clones: 1,
            stonewall: false,
            new_group: false,
            group_reporting: false,
            filename: None,
            directory: None,
            files: 1,
            batch_min: None,
            batch_max: None,
            depth_low: None,
            class: None,
            level: None,
            kilo: Kilo::Binary,
            gathered: Gathered::default(),
            replay: Asked::default(),
            wait_for: None,
        }
    }

    /// Applies one option.
    pub fn take(&mut self, entry: &Entry) -> Result<(), String> {
        let Some(key) = coverage::find(&entry.key) else {
            return Err(format!("there is no option \"{}\"; {}", entry.key, suggest(&entry.key, coverage::names())));
        };
        match key.coverage {
            Coverage::NoEffect => {
                self.job.unstopped.extend(coverage::STOPS.iter().find(|name| **name == key.name));
                return Ok(());
            }
            Coverage::NotHonoured => return Err(format!("\"{}\" is not honoured: {}", entry.key, key.meaning)),
            Coverage::Honoured => {}
        }
        let value = entry.value.as_deref();
        if let Some(done) = self.switches(key.name, value) {
            return done.map_err(|why| format!("{}: {why}", entry.key));
        }
        if let Some(done) = self.gathered.take(key.name, value, self.kilo) {
            return done.map_err(|why| format!("{}: {why}", entry.key));
        }
        if let Some(done) = self.replay.take(key.name, value, self.kilo) {
            return done.map_err(|why| format!("{}: {why}", entry.key));
        }
        let Some(value) = value.filter(|v| !v.is_empty()) else {
            return Err(format!("\"{}\" has no value; write {}=VALUE", entry.key, entry.key));
        };
        let taken =
            self.load(key.name, value).or_else(|| self.pace(key.name, value)).or_else(|| self.place(key.name, value));
        match taken {
            Some(done) => done.map_err(|why| format!("{}: {why}", entry.key)),
            None => Err(format!("\"{}\" is listed as honoured and is not known here", entry.key)),
        }
    }

    /// Options whose value may be omitted.
    fn switches(&mut self, name: &str, value: Option<&str>) -> Option<Result<(), String>> {
        let mut is_on = false;
        let place = match name {
            "direct" => &mut self.job.direct,
            "buffered" => &mut is_on,
            "end_fsync" => &mut self.job.syncs.at_end,
            "time_based" => &mut self.job.time_based,
            "stonewall" => &mut self.stonewall,
            "group_reporting" => &mut self.group_reporting,
            "new_group" => &mut self.new_group,
            "randrepeat" => &mut self.job.chance.places_repeat,
            "allrandrepeat" => &mut self.job.chance.all_repeats,
            "norandommap" => &mut self.job.no_map,
            _ => return None,
        };
        match on_or_off(value) {
            Ok(value) => *place = value,
            Err(why) => return Some(Err(why)),
        }
        if name == "buffered" {
            self.job.direct = !is_on;
        }
        Some(Ok(()))
    }

    /// Parses an option about data directions and block sizes.
    fn load(&mut self, name: &str, value: &str) -> Option<Result<(), String>> {
        let kilo = self.kilo;
        let job = &mut self.job;
        Some(match name {
            "rw" => pattern(value, kilo).map(|p| job.pattern = p),
            "rwmixread" => within(value, 100).map(|n| job.read_percent = n as u8),
            "rwmixwrite" => within(value, 100).map(|n| job.read_percent = 100 - n as u8),
            "bs" => units::three(value, &job.sizes, |t| block(t, kilo).map(Sizes::Fixed)).map(|s| job.sizes = s),
            "bsrange" => units::three(value, &job.sizes, |t| range(t, kilo)).map(|s| job.sizes = s),
            "bssplit" => units::three(value, &job.sizes, |t| split(t, kilo)).map(|s| job.sizes = s),
            "size" => units::amount(value, kilo).map(|a| job.size = Some(a)),
            "io_size" => units::amount(value, kilo).map(|a| job.io_size = Some(a)),
            "number_ios" => number(value).map(|n| job.number_ios = Some(n)),
            "loops" => number(value).map(|n| job.loops = n),
            "blockalign" => block(value, kilo).map(|bytes| job.align = bytes),
            "offset" => units::amount(value, kilo).map(|a| job.offset = a),
            "offset_increment" => units::amount(value, kilo).map(|a| job.offset_increment = a),
            "kb_base" => worth(value).map(|k| self.kilo = k),
            "random_distribution" => Distribution::parse(value, kilo).map(|d| job.distribution = d),
            "percentage_random" => units::three(value, &job.onward.new_percent, |t| within(t, 100).map(|n| n as u8))
                .map(|all| job.onward.new_percent = all),
            "rw_sequencer" => {
                only(value, &["sequential", "identical"]).map(|()| job.onward.repeats = value == "identical")
            }
            "file_service_type" => only(value, &["roundrobin"]),
            "io_submit_mode" => only(value, &["inline", "offload"]).map(|()| job.is_offloaded = value == "offload"),
            "randseed" => number(value).map(|n| job.chance.seed = Some(n)),
            _ => return None,
        })
    }

    /// Options for time, queue depth and priority.
    fn pace(&mut self, name: &str, value: &str) -> Option<Result<(), String>> {
        let (second, micro) = (Span::from_s(1), Span::from_us(1));
        let kilo = self.kilo;
        let job = &mut self.job;
        Some(match name {
            "ioengine" => engine(value).map(|e| job.engine = e),
            "iodepth" => depth(value).map(|n| job.depth = n as u32),
            "iodepth_batch" => depth(value).map(|n| job.batch = n as u32),
            "iodepth_batch_complete_min" => within(value, DEPTH_MAX).map(|n| self.batch_min = Some(n)),
            "iodepth_batch_complete_max" => depth(value).map(|n| self.batch_max = Some(n)),
            "iodepth_low" => depth(value).map(|n| self.depth_low = Some(n)),
            "sync" => durability(value).map(|d| job.durability = d),
            "fsync" => whole(value).map(|n| job.syncs.fsync = n),
            "fdatasync" => whole(value).map(|n| job.syncs.fdatasync = n),
            "thinktime" => units::time(value, micro).map(|t| job.think.time = t),
            "thinktime_spin" => units::time(value, micro).map(|t| job.think.spin = t),
            "thinktime_blocks" => number(value).map(|n| job.think.blocks = n),
            "rate" => units::three(value, &job.rate, |t| units::size(t, kilo)).map(|r| job.rate = r),
            "rate_iops" => units::three(value, &job.rate_iops, |t| units::size(t, kilo)).map(|r| job.rate_iops = r),
            "rate_process" => arrivals(value).map(|a| job.arrivals = a),
            "prio" => within(value, 7).map(|n| self.level = Some(n)),
            "prioclass" => within(value, 3).map(|n| self.class = Some(n)),
            "runtime" => units::time(value, second).map(|t| job.runtime = Some(t).filter(|t| *t > Span::ZERO)),
            "ramp_time" => units::time(value, second).map(|t| job.ramp_time = t),
            "startdelay" => units::time(value, second).map(|t| job.start_delay = t),
            "numjobs" => number(value).and_then(|n| up_to(n, CLONES_MAX)).map(|n| self.clones = n),
            _ => return None,
        })
    }

    /// Names.
    fn place(&mut self, name: &str, value: &str) -> Option<Result<(), String>> {
        match name {
            "name" => self.job.name = value.into(),
            "filename" => self.filename = Some(value.into()),
            "wait_for" => self.wait_for = Some(value.into()),
            "directory" => self.directory = Some(value.into()),
            "nrfiles" => return Some(number(value).and_then(|n| up_to(n, FILES_MAX as u64)).map(|n| self.files = n)),
            _ => return None,
        }
        Some(Ok(()))
    }

    /// Combines the options into the job.
    pub fn finish(&self) -> Result<FioJob, String> {
        let mut job = self.job.clone();
        job.files = self.named_files(&job.name)?;
        self.gathered.finish(&mut job)?;
        let smallest = FioJob { align: 0, ..job.clone() }.block();
        if job.pattern.random && job.align > 0 {
            // As in fio.
            job.no_map = true;
        }
        if job.pattern.random && job.align > 0 && job.align < smallest {
            return Err(format!("blockalign={} is honoured from the smallest size on, {smallest}", job.align));
        }
        let low = self.depth_low.unwrap_or(job.depth.into());
        if low > u64::from(job.depth) {
            return Err(format!("iodepth_low is {low}, and iodepth only {}", job.depth));
        }
        let depth = job.in_flight();
        job.depth_low = low.min(depth.into()) as u32;
        job.batch = job.batch.min(depth);
        let min = self.batch_min.unwrap_or(1).min(depth.into());
        let max = self.batch_max.unwrap_or(min.max(1)).min(depth.into());
        if max < min {
            return Err(format!("iodepth_batch_complete_max is {max}, and the min {min}"));
        }
        job.batch_complete = (min as u32, max as u32);
        job.priority = self.priority();
        job.think.spin = job.think.spin.min(job.think.time);
        if job.time_based && job.runtime.is_none() {
            return Err("time_based needs a runtime; write runtime=10s".into());
        }
        Ok(job)
    }

    fn priority(&self) -> Option<IoPriority> {
        let class = match (self.class, self.level) {
            (None | Some(0), None) | (Some(0), Some(_)) => return None,
            (Some(1), _) => IoClass::RealTime,
            (Some(3), _) => IoClass::Idle,
            // A level without a class is one of best effort.
            _ => IoClass::BestEffort,
        };
        Some(IoPriority { class, level: self.level.unwrap_or(0) as u8 })
    }

    fn named_files(&self, job: &str) -> Result<Vec<String>, String> {
        let bare: Vec<String> = match &self.filename {
            // A colon within a name is written `\:`.
            Some(names) => names.replace("\\:", "\0").split(':').map(|n| n.replace('\0', ":")).collect(),
            None => (0..self.files).map(|n| format!("{job}.{}.{n}", self.job.clone)).collect(),
        };
        if bare.len() > FILES_MAX || bare.iter().any(|name| name.is_empty()) {
            return Err(format!("filename: write one to {FILES_MAX} names with : between them"));
        }
        let Some(directory) = &self.directory else { return Ok(bare) };
        let directory = directory.trim_end_matches('/');
        let put = |name: String| if name.starts_with('/') { name } else { format!("{directory}/{name}") };
        Ok(bare.into_iter().map(put).collect())
    }
}

fn whole(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("{text:?} is no whole number"))
}

fn number(text: &str) -> Result<u64, String> {
    let n = units::size(text, Kilo::Binary)?;
    if n == 0 { Err("it must be at least 1".into()) } else { Ok(n) }
}

fn up_to(n: u64, most: u64) -> Result<u64, String> {
    if n > most { Err(format!("{n} is more than {most}")) } else { Ok(n) }
}

fn within(text: &str, most: u64) -> Result<u64, String> {
    whole(text).and_then(|n| up_to(n, most))
}

fn depth(text: &str) -> Result<u64, String> {
    number(text).and_then(|n| up_to(n, DEPTH_MAX))
}

fn only(value: &str, honoured: &[&str]) -> Result<(), String> {
    let says = || format!("{value:?} is not honoured, only {}", honoured.join(" and "));
    if honoured.contains(&value) { Ok(()) } else { Err(says()) }
}

fn worth(value: &str) -> Result<Kilo, String> {
    match value {
        "1024" => Ok(Kilo::Binary),
        "1000" => Ok(Kilo::Decimal),
        _ => Err(format!("{value:?} is neither 1024 nor 1000")),
    }
}

fn durability(value: &str) -> Result<Durability, String> {
    match value {
        "0" | "none" => Ok(Durability::Later),
        "1" | "sync" => Ok(Durability::Sync),
        "dsync" => Ok(Durability::DataSync),
        _ => Err(format!("{value:?} is none of 0, none, 1, sync, dsync")),
    }
}

fn arrivals(value: &str) -> Result<Arrivals, String> {
    match value {
        "linear" => Ok(Arrivals::Linear),
        "poisson" => Ok(Arrivals::Poisson),
        _ => Err(format!("{value:?} is neither linear nor poisson")),
    }
}

fn engine(value: &str) -> Result<Engine, String> {
    const SYNC: [&str; 7] = ["sync", "psync", "vsync", "pvsync", "pvsync2", "mmap", "splice"];
    const ASYNC: [&str; 5] = ["libaio", "io_uring", "posixaio", "windowsaio", "solarisaio"];
    if SYNC.contains(&value) {
        return Ok(Engine::Sync);
    }
    if ASYNC.contains(&value) {
        return Ok(Engine::Async);
    }
    let all = SYNC.into_iter().chain(ASYNC);
    Err(format!("the engine {value:?} is not honoured; {}", suggest(value, all)))
}

fn pattern(value: &str, kilo: Kilo) -> Result<Pattern, String> {
    let (word, number) = value.split_once(':').unwrap_or((value, ""));
    let (direction, random) = match word {
        "read" => (Direction::Read, false),
        "write" => (Direction::Write, false),
        "trim" => (Direction::Trim, false),
        "rw" | "readwrite" => (Direction::Mixed, false),
        "trimwrite" => (Direction::TrimWrite, false),
        "randread" => (Direction::Read, true),
        "randwrite" => (Direction::Write, true),
        "randtrim" => (Direction::Trim, true),
        "randrw" => (Direction::Mixed, true),
        "randtrimwrite" => (Direction::TrimWrite, true),
        _ => {
            let all = ["read", "write", "trim", "rw", "readwrite", "trimwrite"];
            let random = ["randread", "randwrite", "randtrim", "randrw", "randtrimwrite"];
            return Err(format!("there is no {word:?}; {}", suggest(word, all.into_iter().chain(random))));
        }
    };
    let number = match number.strip_prefix('-') {
        _ if number.is_empty() => 0,
        Some(_) if random => return Err(format!("{number:?} is no number of I/Os")),
        Some(back) => -signed(back, kilo)?,
        None => signed(number, kilo)?,
    };
    Ok(Pattern { direction, random, number })
}

fn signed(text: &str, kilo: Kilo) -> Result<i64, String> {
    let bytes = units::size(text, kilo)?;
    up_to(bytes, 1 << 60).map(|bytes| bytes as i64)
}

/// A size of one I/O.
fn block(text: &str, kilo: Kilo) -> Result<u64, String> {
    match units::size(text, kilo)? {
        0 => Err("a size must be at least 1".into()),
        bytes => up_to(bytes, SIZE_MAX),
    }
}

fn range(text: &str, kilo: Kilo) -> Result<Sizes, String> {
    let (low, high) = text.split_once('-').unwrap_or((text, text));
    let (low, high) = (block(low.trim(), kilo)?, block(high.trim(), kilo)?);
    Ok(if low == high { Sizes::Fixed(low) } else { Sizes::Range(low.min(high), low.max(high)) })
}

/// Parses `4k/60:64k/40`. Sizes without a weight share the rest of 100 equally.
fn split(text: &str, kilo: Kilo) -> Result<Sizes, String> {
    let mut shares: Vec<(u64, Option<u32>)> = Vec::new();
    for part in text.split(':') {
        if shares.len() >= SPLIT_MAX {
            return Err(format!("more than {SPLIT_MAX} sizes"));
        }
        let (bytes, percent) = part.split_once('/').unwrap_or((part, ""));
        let percent = if percent.is_empty() { None } else { Some(within(percent.trim_end_matches('%'), 100)? as u32) };
        shares.push((block(bytes.trim(), kilo)?, percent));
    }
    let given: u32 = shares.iter().filter_map(|(_, percent)| *percent).sum();
    let open = shares.iter().filter(|(_, percent)| percent.is_none()).count() as u32;
    if given > 100 || (open == 0 && given != 100) {
        return Err(format!("the shares add up to {given}, not to 100"));
    }
    // Weights are hundredths times the number of open shares, so that equal parts are whole.
    let scale = open.max(1);
    let weight = |percent: Option<u32>| percent.map_or(100 - given, |percent| percent * scale);
    let shares: Vec<Share> = shares.iter().map(|(bytes, p)| Share { bytes: *bytes, weight: weight(*p) }).collect();
    Ok(Sizes::Split(shares.into_iter().filter(|share| share.weight > 0).collect()))
}
