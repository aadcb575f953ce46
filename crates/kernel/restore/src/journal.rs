//! The journal of one process: a text file of changes to undo, each written before the change is made.
//!
//! The first line names format, boot and process. Then follow `0 own RESOURCE` for each resource no other process may
//! change, one line per change, and `NUMBER done` for each change undone. The file is locked while its process or guard
//! lives, so liveness never depends on a process id.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use super::action::Action;
use super::line::{self, Parts};
use super::undo::MARK;
use goodness_sys as sys;

/// Start of a journal's first line, before the version.
const FORMAT: &str = "goodness-journal/";
/// Version written: `goodness-journal/2 BOOT PROCESS SINCE COMMAND`. Version 1 ended after the process, and had neither
/// owners nor written values.
const VERSION: u32 = 2;
/// Ends the name of a journal.
pub const ENDING: &str = "journal";
/// Suffix of a journal without its first line, where the file system has no files without a name.
const UNBORN: &str = "new";
/// Names that are tried for a journal.
const NAMES_TRIED: u32 = 100;
/// A journal is read up to this size; ours stay far below.
const LONGEST: u64 = 16 << 20;

/// An open, locked journal.
#[derive(Debug)]
pub struct Journal {
    /// Path.
    pub path: PathBuf,
    /// The open file. Child processes may inherit its lock.
    pub file: File,
    length: u64,
    is_named: bool,
}

impl Journal {
    /// Makes a new journal in `folder`, to be [published](Journal::publish) once its guard lives. A process that is
    /// killed before that leaves nothing.
    ///
    /// # Errors
    /// The error of making the folder or the file.
    pub fn make(folder: &Path) -> io::Result<Journal> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let mut options = OpenOptions::new();
        options.read(true).append(true).mode(0o600);
        let Ok(file) = options.clone().custom_flags(libc::O_TMPFILE).open(folder) else {
            return Journal::make_named(folder, options.create_new(true));
        };
        file.lock()?;
        let free = (0..NAMES_TRIED).map(|_| name(folder, ENDING)).find(|path| !path.exists());
        let mut journal = Journal { path: free.ok_or_else(taken)?, file, length: 0, is_named: false };
        journal.append(&first_line(std::process::id()))?;
        Ok(journal)
    }

    /// Likewise where a file has a name from its beginning.
    fn make_named(folder: &Path, options: &OpenOptions) -> io::Result<Journal> {
        // Another command may remove a file that is not locked yet; then it is created again.
        for _ in 0..NAMES_TRIED {
            let unborn = name(folder, UNBORN);
            let path = unborn.with_extension(ENDING);
            if path.exists() {
                // An earlier process with the same id left it; do not overwrite it.
                continue;
            }
            let file = options.open(&unborn)?;
            file.lock()?;
            let mut journal = Journal { path, file, length: 0, is_named: true };
            journal.append(&first_line(std::process::id()))?;
            if fs::rename(&unborn, &journal.path).is_ok() {
                return Ok(journal);
            }
        }
        Err(taken())
    }

    /// Lets others see it, and returns when its name is on disk.
    ///
    /// # Errors
    /// The error of naming the file.
    pub fn publish(&mut self) -> io::Result<()> {
        if !std::mem::replace(&mut self.is_named, true) {
            sys::name_file(&self.file, &self.path)?;
        }
        File::open(self.path.parent().unwrap_or(Path::new("/")))?.sync_all()
    }

    /// Appends `line`, and returns when it is on disk.
    ///
    /// # Errors
    /// The error of the write.
    pub fn append(&mut self, line: &[u8]) -> io::Result<()> {
        self.note(line)?;
        self.file.sync_data()
    }

    /// Appends `line`. If it is lost in a crash, a change may be undone twice, which is harmless.
    ///
    /// # Errors
    /// The error of writing.
    pub fn note(&mut self, line: &[u8]) -> io::Result<()> {
        self.length += line.len() as u64;
        if self.length > LONGEST {
            return Err(io::Error::other("the journal is full; run fewer runs in one go"));
        }
        self.file.write_all(line)
    }
}

/// A name for a journal of this process that it has not used.
fn name(folder: &Path, ending: &str) -> PathBuf {
    static USED: AtomicU32 = AtomicU32::new(0);
    folder.join(format!("{MARK}{}-{}.{ending}", std::process::id(), USED.fetch_add(1, Ordering::Relaxed)))
}

fn taken() -> io::Error {
    io::Error::other("somebody keeps taking the journal away")
}

/// The first line of a journal of this process, ended.
fn first_line(pid: u32) -> Vec<u8> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let mut line = format!("{FORMAT}{VERSION} {} {pid} {since} ", boot()).into_bytes();
    line::encode(goodness_sys::program::name().as_bytes(), &mut line);
    line.push(b'\n');
    line
}

/// Parsed contents of a journal.
#[derive(Debug)]
pub struct Contents {
    /// Format version. For a version above [`VERSION`], `lines` is empty.
    pub version: u32,
    /// The program that wrote it, with its first argument.
    pub command: String,
    /// Start in seconds since 1970; 0 if missing.
    pub since: i64,
    /// Resources its process owns.
    pub owned: Vec<PathBuf>,
    /// The boot it was written in.
    pub boot: String,
    /// The process that wrote it.
    pub pid: u32,
    /// Entries not yet undone, oldest first, without line ends.
    pub lines: Vec<Vec<u8>>,
}

impl Contents {
    /// Resources its process owns or has changed.
    pub fn resources(&self) -> Vec<PathBuf> {
        let changed = self.lines.iter().filter_map(|line| Action::read(line)?.1.resource());
        let mut all: Vec<PathBuf> = self.owned.iter().cloned().chain(changed).collect();
        all.sort();
        all.dedup();
        all
    }
}

/// Reads an open journal; `None` when it is none.
pub fn read(file: &File) -> Option<Contents> {
    let mut text = Vec::new();
    file.take(LONGEST).read_to_end(&mut text).ok()?;
    // A line without its end was never completely on disk, so its change was not made.
    let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let mut lines = text[..whole].split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let first = String::from_utf8(lines.next()?.to_vec()).ok()?;
    let mut words = first.split(' ');
    let version = words.next()?.strip_prefix(FORMAT)?.parse().ok()?;
    let (boot, pid) = (words.next()?.to_string(), words.next()?.parse().ok()?);
    let since = words.next().and_then(|word| word.parse().ok()).unwrap_or(0);
    let text = |field: &str| line::decoded(field.as_bytes()).map(|text| String::from_utf8_lossy(&text).into_owned());
    let command = words.next().and_then(text).unwrap_or_else(|| "goodness".into());
    let mut contents = Contents { version, command, since, owned: Vec::new(), boot, pid, lines: Vec::new() };
    if version <= VERSION {
        (contents.owned, contents.lines) = entries(lines);
    }
    Some(contents)
}

/// The owned resources, and the lines not yet undone.
fn entries<'a>(lines: impl Iterator<Item = &'a [u8]>) -> (Vec<PathBuf>, Vec<Vec<u8>>) {
    let mut live: Vec<(u64, Vec<u8>)> = Vec::new();
    let mut owned = Vec::new();
    for line in lines {
        match Parts::of(line) {
            Some(parts) if parts.verb == b"own" => {
                owned
                    .extend(parts.field(0).and_then(line::decoded).map(|path| PathBuf::from(OsString::from_vec(path))));
            }
            Some(parts) if parts.verb == b"done" => live.retain(|(number, _)| *number != parts.number),
            Some(parts) => live.push((parts.number, line.to_vec())),
            None => {}
        }
    }
    (owned, live.into_iter().map(|(_, line)| line).collect())
}

/// The line that claims `resource`.
pub fn own_line(resource: &Path) -> Vec<u8> {
    let mut line = b"0 own ".to_vec();
    line::encode(resource.as_os_str().as_bytes(), &mut line);
    line.push(b'\n');
    line
}

/// True if the journal's format is newer than this program.
pub fn is_newer(contents: &Contents) -> bool {
    contents.version > VERSION
}

/// Names this boot of the machine.
pub fn boot() -> String {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    if id.trim().is_empty() { "unknown".to_string() } else { id.trim().to_string() }
}

/// Folder of the journals: on disk, so that they survive a reboot, and writable by this user only.
pub fn folder() -> PathBuf {
    if sys::effective_user() != 0 {
        let home = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".local/state"));
        let state = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from).or(home);
        return state.unwrap_or_else(std::env::temp_dir).join("goodness/journal");
    }
    let lasting = PathBuf::from("/var/lib/goodness/journal");
    // With a read-only disk, a reboot undoes all changes anyway.
    if fs::DirBuilder::new().recursive(true).mode(0o700).create(&lasting).is_ok() { lasting } else { fleeting() }
}

/// Folder of the journals if no disk is writable.
pub fn fleeting() -> PathBuf {
    runtime().join("journal")
}

/// Folder for temporary mount points and the like: `/run` if it exists.
pub fn runtime() -> PathBuf {
    let run = Path::new("/run");
    if run.is_dir() { run.join("goodness") } else { std::env::temp_dir().join("goodness-run") }
}

/// The journals of this user in `folder`, opened.
pub fn opened(folder: &Path) -> Vec<(PathBuf, File)> {
    let mut found = Vec::new();
    for path in goodness_sys::listed(folder) {
        let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        let mut options = OpenOptions::new();
        options.read(true).append(true).custom_flags(libc::O_NOFOLLOW);
        let Some(file) = matches!(ending, ENDING | UNBORN).then(|| options.open(&path).ok()).flatten() else {
            continue;
        };
        if is_ours(&file) {
            found.push((path, file));
        }
    }
    found
}

fn is_ours(file: &File) -> bool {
    file.metadata().is_ok_and(|it| it.uid() == sys::effective_user() && it.nlink() > 0)
}

/// The journals in a folder. Each is looked at once: one that dies between two looks would be missing from both lists.
#[derive(Debug)]
pub struct Found {
    /// Those whose processes and guards are dead, locked.
    pub stale: Vec<(PathBuf, File)>,
    /// Those in use.
    pub in_use: Vec<(PathBuf, File)>,
}

impl Found {
    /// Those of this user in `folder`.
    pub fn of(folder: &Path) -> Found {
        let (mut stale, in_use): (Vec<_>, _) =
            opened(folder).into_iter().partition(|(_, file)| file.try_lock().is_ok());
        // Checked again under the lock: its process may have removed it meanwhile.
        stale.retain(|(_, file)| is_ours(file));
        Found { stale, in_use }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_journal_in_use_is_not_stale_and_one_that_nobody_holds_is() {
        let scratch = tempfile::tempdir().expect("scratch");
        let mut journal = Journal::make(scratch.path()).expect("made");
        journal.publish().expect("published");
        journal.append(b"1 rmdir /a\n").expect("written");
        journal.append(b"2 rmdir /b\n").expect("written");
        journal.note(b"1 done\n3 rmdir /c").expect("written");
        assert!(Found::of(scratch.path()).stale.is_empty());
        drop(journal);
        let left = Found::of(scratch.path()).stale;
        let read = read(&left[0].1).expect("a journal");
        assert_eq!((read.pid, read.boot), (std::process::id(), boot()));
        assert_eq!(read.lines, [b"2 rmdir /b".to_vec()], "done is done, and a half line was never made");
    }

    #[test]
    fn a_journal_without_a_guard_yet_is_nothing_in_the_folder_and_none_is_published_twice() {
        let scratch = tempfile::tempdir().expect("scratch");
        let [mut first, other] = [(); 2].map(|()| Journal::make(scratch.path()).expect("made"));
        assert_ne!(first.path, other.path);
        if !first.is_named {
            assert!(sys::listed(scratch.path()).is_empty());
            drop(other);
            [(); 2].iter().for_each(|()| first.publish().expect("published"));
        }
        let found = opened(scratch.path());
        assert!(found.iter().all(|(_, file)| read(file).is_some_and(|it| it.pid == std::process::id())));
        assert!(found.iter().any(|(path, _)| *path == first.path));
    }

    #[test]
    fn a_journal_has_a_name_from_its_beginning_where_it_must() {
        let scratch = tempfile::tempdir().expect("scratch");
        let mut options = OpenOptions::new();
        options.read(true).append(true).create_new(true).mode(0o600);
        let mut journal = Journal::make_named(scratch.path(), &options).expect("made");
        journal.publish().expect("published");
        assert_eq!(sys::listed(scratch.path()), [journal.path.clone()]);
        let mut other = Journal::make(scratch.path()).expect("made");
        other.publish().expect("published");
        let modes = [journal, other].map(|it| fs::metadata(it.path).expect("there").mode() & 0o777);
        assert_eq!(modes, [0o600; 2], "for this user alone, either way");
    }

    #[test]
    fn other_files_are_no_journals() {
        let scratch = tempfile::tempdir().expect("scratch");
        fs::write(scratch.path().join("goodness-1.journal"), "1 tree /\n").expect("scratch");
        fs::write(scratch.path().join("precious.txt"), "keep").expect("scratch");
        let left = Found::of(scratch.path()).stale;
        assert_eq!(left.len(), 1);
        assert!(read(&left[0].1).is_none());
    }
}
