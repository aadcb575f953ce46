//! Disks, volumes, files, and the steps that use them. Their keys: `keys/storage.rs`.

use super::keys::{ACCESS, DISK, FILE, PIECE, VOLUME, only};
use super::{Places, Reading};
use crate::script::{Access, Op, Place, Plan, Script, Target};
use goodness_core::spelling::suggest;
use goodness_core::{
    Device, DiskId, DiskSpec, FileId, FileSpec, IoClass, IoPriority, IoStep, Layout, PAGE_BYTES, Piece, SECTOR_BYTES,
    Seed, Step, VolumeId, VolumeSpec,
};
use toml::{Table, Value};

const LAYOUTS: &[&str] = &["linear", "striped", "mirrored", "parity"];

/// Default size of the page cache: 256 MiB. A choice.
const CACHE: u64 = 256 << 20;
/// The most disks, volumes or files of a run. A choice.
const MOST: usize = 10_000;

/// The most memory for pages of files, 64 GiB. A choice: the simulator remembers each page.
const CACHE_MAX: u64 = 64 << 30;
/// Most fragments of all files in a run. A choice, as the simulator keeps the place of each.
const PIECES_MAX: u64 = 1 << 22;
/// The most bytes of one step: what Linux moves in one call (`MAX_RW_COUNT`).
const STEP_MAX: u64 = (1 << 31) - PAGE_BYTES;

/// A volume or file, and how large it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extent {
    target: Target,
    /// In units of the target.
    units: u64,
    /// The cursor of sequential accesses, numbered as targets are.
    cursor: u16,
}

/// True if a step reads, writes, syncs or awaits.
pub(super) fn is_access(step: &Table) -> bool {
    ["read", "write", "sync", "await"].iter().any(|verb| step.contains_key(*verb))
}

/// Sectors of the device that `text` names.
fn capacity(text: &str) -> Result<u64, String> {
    Ok(goodness_device::by_name(text, Seed(1))?.facts().sectors)
}

/// Number of fragments of a file of `pages` pages.
fn cuts(pages: u32, fragments: Option<(u32, u32)>) -> u64 {
    fragments.map_or(0, |(piece, _)| u64::from(pages.div_ceil(piece)))
}

/// Parses a size: `4096`, `64KiB`, `2GB`; decimal and binary units.
///
/// # Errors
/// The expected format, as a sentence.
pub fn bytes(text: &str) -> Result<u64, String> {
    const UNITS: &[(&str, u64)] = &[
        ("", 1),
        ("B", 1),
        ("kB", 1000),
        ("MB", 1_000_000),
        ("GB", 1_000_000_000),
        ("TB", 1_000_000_000_000),
        ("KiB", 1 << 10),
        ("MiB", 1 << 20),
        ("GiB", 1 << 30),
        ("TiB", 1 << 40),
    ];
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = (&text[..digits], text[digits..].trim());
    let factor = UNITS.iter().find(|(name, _)| *name == unit).map(|(_, factor)| *factor);
    let size = number.parse::<u64>().ok().zip(factor).and_then(|(number, factor)| number.checked_mul(factor));
    size.filter(|size| *size < 1 << 60)
        .ok_or_else(|| format!("\"{text}\" is no size; write \"64KiB\", \"4GiB\" or \"500MB\""))
}

impl Reading<'_> {
    /// Reads the disks, volumes and files of the experiment.
    pub(super) fn storage(&self, table: &Table, plan: &mut Plan, places: &mut Places) -> Result<(), String> {
        for disk in self.tables(table, "disk")? {
            self.disk(disk, plan)?;
        }
        for volume in self.tables(table, "volume")? {
            self.volume(volume, plan)?;
        }
        if plan.storage.volumes.len() > MOST {
            return Err(self.wrong("disk", &format!("{MOST} disks and volumes are the most of a run")));
        }
        for (number, volume) in plan.storage.volumes.iter().enumerate() {
            let target = Target::Volume(VolumeId(number as u16));
            self.enter_target(&volume.name, target, volume.sectors(), places)?;
        }
        let mut ends = vec![0; plan.storage.volumes.len()];
        for file in self.tables(table, "file")? {
            self.file(file, plan, places, &mut ends)?;
        }
        let cache = table.get("cache").map_or(Ok(CACHE), |value| self.bytes("cache", value))?;
        if !(16 * PAGE_BYTES..=CACHE_MAX).contains(&cache) {
            return Err(self.wrong("cache", "memory for pages of files is 64KiB at least and 64GiB at most"));
        }
        plan.storage.cache_pages = (cache / PAGE_BYTES) as u32;
        Ok(())
    }

    fn enter_target(&self, name: &str, target: Target, units: u64, places: &mut Places) -> Result<(), String> {
        let cursor = places.targets.len();
        let cursor = u16::try_from(cursor).ok().filter(|cursor| usize::from(*cursor) < MOST);
        let cursor = cursor.ok_or_else(|| self.wrong("file", &format!("{MOST} files are the most of a run")))?;
        match places.targets.insert(name.into(), Extent { target, units, cursor }) {
            None => Ok(()),
            Some(_) => Err(self.wrong("name", &format!("\"{name}\" is the name of two disks, volumes or files"))),
        }
    }

    fn bytes(&self, key: &str, value: &Value) -> Result<u64, String> {
        let written = value.to_string();
        match value {
            Value::Integer(number) if *number >= 0 => Ok(*number as u64),
            Value::String(text) => bytes(text).map_err(|why| self.wrong_value(key, &written, &why)),
            _ => Err(self.wrong_value(key, &written, "a size is needed, such as \"64KiB\"")),
        }
    }

    /// A size in whole units of `unit` bytes.
    fn whole(&self, key: &str, value: &Value, unit: u64) -> Result<u64, String> {
        let bytes = self.bytes(key, value)?;
        if bytes.is_multiple_of(unit) {
            return Ok(bytes / unit);
        }
        Err(self.wrong_value(key, &value.to_string(), &format!("a multiple of {unit} bytes is needed")))
    }

    fn named<'v>(&self, table: &'v Table, what: &str) -> Result<&'v str, String> {
        self.name(table.get("name").ok_or_else(|| self.wrong(what, "it needs a name"))?)
    }

    fn disk(&self, table: &Table, plan: &mut Plan) -> Result<(), String> {
        self.known(table, DISK)?;
        let name = self.named(table, "disk")?;
        let device = table
            .get("device")
            .ok_or_else(|| self.wrong("disk", "it needs device = \"NAME\", the name of a device model"))?;
        let device = self.text("device", device)?;
        // Making a device may take long; equal ones have equal capacities.
        let known = plan.storage.disks.iter().position(|disk| disk.device == device);
        let sectors = known.map_or_else(|| capacity(device), |disk| Ok(plan.storage.volumes[disk].sectors()));
        let sectors = sectors.map_err(|why| self.wrong("device", &why))?;
        let elevator = table.get("elevator").map(|value| self.text("elevator", value)).transpose()?;
        elevator.map_or(Ok(()), goodness_elevators::check).map_err(|why| self.wrong("elevator", &why))?;
        let wbt_lat = table.get("wbt_lat").map(|value| self.span("wbt_lat", value)).transpose()?;
        let wbt_lat = wbt_lat.map_or(Ok(None), DiskSpec::throttled_for).map_err(|why| self.wrong("wbt_lat", why))?;
        let number = DiskId(plan.storage.disks.len() as u16);
        plan.storage.disks.push(DiskSpec {
            elevator: elevator.map(str::to_string),
            wbt_lat,
            ..DiskSpec::of(name, device)
        });
        let whole = Piece { disk: number, sector: 0, sectors };
        plan.storage.volumes.push(VolumeSpec { name: name.into(), layout: Layout::Linear, pieces: vec![whole] });
        Ok(())
    }

    fn volume(&self, table: &Table, plan: &mut Plan) -> Result<(), String> {
        self.known(table, VOLUME)?;
        let name = self.named(table, "volume")?;
        let chunk = table.get("chunk").map_or(Ok(128), |value| self.whole("chunk", value, SECTOR_BYTES))?;
        let chunk = u32::try_from(chunk).ok().filter(|chunk| *chunk > 0);
        let chunk = chunk.ok_or_else(|| self.wrong("chunk", "it is 512 bytes at least and 2TB at most"))?;
        let layout = table.get("layout").map_or(Ok("linear"), |value| self.text("layout", value))?;
        let layout = match layout {
            "linear" => Layout::Linear,
            "striped" => Layout::Striped { chunk },
            "mirrored" => Layout::Mirrored,
            "parity" => Layout::Parity { chunk },
            other => {
                let near = suggest(other, LAYOUTS.iter().copied());
                return Err(self.wrong("layout", &format!("\"{other}\" is no layout; {near}")));
            }
        };
        let how = |_| self.wrong("pieces", "write pieces = [ { disk = \"NAME\", from = \"1GiB\", size = \"2GiB\" } ]");
        let pieces = self.tables(table, "pieces").map_err(how)?;
        let pieces = pieces.into_iter().map(|piece| self.piece(piece, plan)).collect::<Result<Vec<_>, _>>()?;
        let volume = VolumeSpec { name: name.into(), layout, pieces };
        volume.check().map_err(|why| self.wrong("pieces", &why))?;
        plan.storage.volumes.push(volume);
        Ok(())
    }

    fn piece(&self, table: &Table, plan: &Plan) -> Result<Piece, String> {
        self.known(table, PIECE)?;
        let name = table.get("disk").ok_or_else(|| self.wrong("pieces", "each needs disk = \"NAME\""))?;
        let name = self.text("disk", name)?;
        let disks = &plan.storage.disks;
        let Some(disk) = disks.iter().position(|disk| disk.name == name) else {
            let near = suggest(name, disks.iter().map(|disk| disk.name.as_str()));
            return Err(self.wrong("disk", &format!("there is no [[disk]] \"{name}\"; {near}")));
        };
        // Volumes begin with one for each disk.
        let all = plan.storage.volumes[disk].sectors();
        let sector = table.get("from").map_or(Ok(0), |value| self.whole("from", value, SECTOR_BYTES))?;
        let rest = all.saturating_sub(sector);
        let sectors = table.get("size").map_or(Ok(rest), |value| self.whole("size", value, SECTOR_BYTES))?;
        if sectors == 0 || sectors > rest {
            return Err(
                self.wrong("pieces", &format!("\"{name}\" has {} bytes; the piece does not fit", all * SECTOR_BYTES))
            );
        }
        Ok(Piece { disk: DiskId(disk as u16), sector, sectors })
    }

    fn file(&self, table: &Table, plan: &mut Plan, places: &mut Places, ends: &mut [u64]) -> Result<(), String> {
        self.known(table, FILE)?;
        let name = self.named(table, "file")?;
        let on =
            self.text("volume", table.get("volume").ok_or_else(|| self.wrong("file", "it needs volume = \"NAME\""))?)?;
        let volumes = &plan.storage.volumes;
        let Some(volume) = volumes.iter().position(|volume| volume.name == on) else {
            let near = suggest(on, volumes.iter().map(|volume| volume.name.as_str()));
            return Err(self.wrong("volume", &format!("there is no disk or volume \"{on}\"; {near}")));
        };
        let size = table.get("size").ok_or_else(|| self.wrong("file", "it needs size = \"64MiB\""))?;
        let pages = self.whole("size", size, PAGE_BYTES)?;
        let pages = u32::try_from(pages).ok().filter(|pages| *pages > 0);
        let pages = pages.ok_or_else(|| self.wrong("size", "a file has 4KiB at least and 16TiB at most"))?;
        let sector = table.get("at").map_or(Ok(ends[volume]), |value| self.whole("at", value, SECTOR_BYTES))?;
        let spread = table.get("spread").map_or(Ok(1), |value| self.integer("spread", value, 1, 1000))? as u32;
        let fragments = match table.get("pieces") {
            None if table.contains_key("spread") => return Err(self.wrong("spread", "it needs pieces = \"64KiB\"")),
            None => None,
            Some(value) => {
                let piece = u32::try_from(self.whole("pieces", value, PAGE_BYTES)?).ok().filter(|piece| *piece > 0);
                Some((piece.ok_or_else(|| self.wrong("pieces", "a piece has 4KiB at least"))?, spread))
            }
        };
        let room = fragments.map_or(u64::from(pages), |(piece, spread)| {
            u64::from(pages.div_ceil(piece)) * u64::from(piece) * u64::from(spread)
        });
        let before = plan.storage.files.iter().map(|file| cuts(file.pages, file.fragments)).sum::<u64>();
        if before + cuts(pages, fragments) > PIECES_MAX {
            return Err(self.wrong("pieces", &format!("{PIECES_MAX} are the most of a run; make them larger")));
        }
        let end = sector.saturating_add(room * (PAGE_BYTES / SECTOR_BYTES));
        if end > volumes[volume].sectors() {
            return Err(self.wrong("size", &format!("file \"{name}\" does not fit on \"{on}\"")));
        }
        ends[volume] = end;
        let number = FileId(plan.storage.files.len() as u32);
        self.enter_target(name, Target::File(number), pages.into(), places)?;
        let volume = VolumeId(volume as u16);
        plan.storage.files.push(FileSpec { name: name.into(), volume, sector, pages, fragments });
        Ok(())
    }

    /// Reads a step of the kind read, write, sync or await.
    pub(super) fn access(&self, step: &Table, script: &mut Script, places: &Places) -> Result<(), String> {
        if let Some(value) = step.get("await") {
            self.known(step, only("await"))?;
            if places.targets.is_empty() {
                return Err(self.wrong("await", "there is no disk to wait for; add a [[disk]]"));
            }
            let at_most = self.integer("await", value, 0, 1_000_000)? as u32;
            script.ops.push(Op::Do(Step::Io(IoStep::Await { at_most })));
            return Ok(());
        }
        let verb = ["read", "write"].into_iter().find(|verb| step.contains_key(*verb));
        let Some(verb) = verb else {
            self.known(step, only("sync"))?;
            let Extent { target: Target::File(file), .. } = self.target("sync", step, places)? else {
                return Err(self.wrong("sync", "a file is needed; direct writes to a volume are not cached"));
            };
            script.ops.push(Op::Do(Step::Io(IoStep::Sync { file })));
            return Ok(());
        };
        self.known(step, ACCESS)?;
        if step.contains_key("read") && step.contains_key("write") {
            return Err(self.wrong("write", "a step reads or writes, not both"));
        }
        let extent = self.target(verb, step, places)?;
        let access = self.one_access(verb, step, &extent)?;
        script.cursors = script.cursors.max(extent.cursor + 1);
        script.ops.push(Op::Access(access));
        let waits = step.get("wait").map_or(Ok(true), |value| self.switch("wait", value))?;
        match extent.target {
            Target::Volume(_) if waits => script.ops.push(Op::Do(Step::Io(IoStep::Await { at_most: 0 }))),
            Target::File(_) if !waits => {
                return Err(self.wrong("wait", "only accesses to a volume go on without waiting"));
            }
            _ => {}
        }
        Ok(())
    }

    fn one_access(&self, verb: &str, step: &Table, extent: &Extent) -> Result<Access, String> {
        let unit = if matches!(extent.target, Target::File(_)) { PAGE_BYTES } else { SECTOR_BYTES };
        let size = step.get("size").ok_or_else(|| self.wrong(verb, "it needs size = \"4KiB\""))?;
        let units = self.whole("size", size, unit)?;
        if units == 0 || units > extent.units {
            let most = extent.units * unit;
            return Err(self.wrong("size", &format!("it is 0, or past the {most} bytes of what is accessed")));
        }
        if units > STEP_MAX / unit {
            return Err(self.wrong("size", "a step moves less than 2GiB, as a call of Linux does; write several"));
        }
        let units = units as u32;
        let place = match step.get("at").and_then(Value::as_str) {
            None if step.contains_key("at") => Place::At(self.whole("at", &step["at"], unit)?),
            None | Some("next") => Place::Next(extent.cursor),
            Some("random") => Place::Random,
            Some(_) => Place::At(self.whole("at", &step["at"], unit)?),
        };
        if let Place::At(first) = place
            && first.saturating_add(u64::from(units)) > extent.units
        {
            return Err(self.wrong("at", "it is past the end of what is accessed"));
        }
        let sync = step.get("sync").map_or(Ok(false), |value| self.switch("sync", value))?;
        Ok(Access { target: extent.target, extent: extent.units, place, units, write: verb == "write", sync })
    }

    fn switch(&self, key: &str, value: &Value) -> Result<bool, String> {
        value.as_bool().ok_or_else(|| self.wrong(key, "true or false is needed"))
    }

    fn target(&self, verb: &str, step: &Table, places: &Places) -> Result<Extent, String> {
        let name = self.text(verb, &step[verb])?;
        places.targets.get(name).copied().ok_or_else(|| {
            let near = suggest(name, places.targets.keys().map(String::as_str));
            self.wrong(verb, &format!("there is no disk, volume or file \"{name}\"; {near}"))
        })
    }

    /// `io_priority = "rt-0"`, `"be-7"`, `"idle"`, as in ionice.
    pub(super) fn io_priority(&self, table: &Table) -> Result<Option<IoPriority>, String> {
        let Some(value) = table.get("io_priority") else { return Ok(None) };
        let text = self.text("io_priority", value)?;
        let (class, level) = text.split_once('-').unwrap_or((text, "4"));
        let class = match class {
            "rt" => Some(IoClass::RealTime),
            "be" => Some(IoClass::BestEffort),
            "idle" => Some(IoClass::Idle),
            _ => None,
        };
        let level = level.parse::<u8>().ok().filter(|level| *level <= 7);
        let priority = class.zip(level).map(|(class, level)| IoPriority { class, level });
        priority
            .map(Some)
            .ok_or_else(|| self.wrong("io_priority", "write \"rt-0\" to \"rt-7\", \"be-0\" to \"be-7\", or \"idle\""))
    }
}
