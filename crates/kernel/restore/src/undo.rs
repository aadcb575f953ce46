//! Undoes one journal line using only system calls. It runs in a child forked from a process with threads, which may
//! not allocate, lock or unwind. The owner and `doctor` use the same code.

use std::ffi::CStr;

use goodness_sys::errno;

use super::line::{MOST, Parts, Text, number_of};
use super::tree;

/// Prefix of the names of everything we create.
pub const MARK: &str = "goodness-";
/// Removes a loop device that is neither open nor attached.
const LOOP_CTL_REMOVE: libc::c_ulong = 0x4C81;
const LOOP_CONTROL: &CStr = c"/dev/loop-control";
/// Folders of the kernel's settings.
const SETTINGS: [&[u8]; 2] = [b"/proc/sys/", b"/sys/"];
/// Number of attempts on a busy resource, and the pause between them in ns: 5 s in all. A dying owner's descriptors
/// close one by one.
const TRIES: u32 = 500;
const PAUSE_NS: i64 = 10_000_000;

/// Restart of the machine since the line was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Since {
    /// No: the machine is as the owner left it.
    SameBoot,
    /// Yes: only changes on disk remain.
    Reboot,
}

/// Result of undoing a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Undone completely.
    Undone,
    /// Left alone, because someone else has changed it since.
    LeftAlone,
    /// Not possible, or not allowed.
    Stuck,
}

impl End {
    fn of(undone: bool) -> End {
        if undone { End::Undone } else { End::Stuck }
    }
}

/// Undoes the change of `line`.
pub fn undo(line: &[u8], since: Since) -> End {
    let Some(parts) = Parts::of(line) else { return End::Stuck };
    let outlives_a_reboot = matches!(parts.verb, b"rmdir" | b"unlink" | b"tree");
    if since == Since::Reboot && !outlives_a_reboot {
        return End::Undone;
    }
    let first = parts.field(0).and_then(Text::of);
    let second = parts.field(1).and_then(Text::of);
    match (parts.verb, first, second) {
        (b"put", Some(file), Some(value)) => {
            let written = parts.field(2).and_then(Text::of);
            if may_be_set(&file) { put_back(&file, &value, written.as_ref()) } else { End::Stuck }
        }
        (b"loop", Some(number), Some(image)) => End::of(is_ours(&image) && remove_loop(number.bytes(), &image)),
        (b"group", Some(leader), Some(started)) => End::of(kill_group(leader.bytes(), started.bytes())),
        (b"cgroup", Some(path), _) => End::of(is_in_ours(&path) && remove_cgroup(&path)),
        (verb, Some(path), _) => End::of(is_ours(&path) && remove(verb, &path)),
        _ => End::Stuck,
    }
}

/// Writes `value` back, unless the file holds neither `value` nor `written`.
fn put_back(file: &Text, value: &Text, written: Option<&Text>) -> End {
    let mut room = [0u8; MOST];
    if let (Some(written), Some(length)) = (written, read(file, &mut room)) {
        match chosen(&room[..length]) {
            found if found == value.bytes() => return End::Undone,
            found if found != written.bytes() => return End::LeftAlone,
            _ => {}
        }
    }
    End::of(put(file, value.bytes()))
}

/// The selected word of a file such as `none [bfq] kyber` or `voluntary (full)`; for other files the whole text without
/// its line end.
pub fn chosen(text: &[u8]) -> &[u8] {
    let is_marked = |word: &&[u8]| matches!(word, [b'[', .., b']'] | [b'(', .., b')']);
    match text.split(u8::is_ascii_whitespace).find(is_marked) {
        Some(word) => &word[1..word.len() - 1],
        None => &text[..text.len() - text.iter().rev().take_while(|byte| **byte == b'\n').count()],
    }
}

fn remove(verb: &[u8], path: &Text) -> bool {
    match verb {
        b"rmdir" => rmdir(path),
        b"unlink" => is_done(unsafe_unlink(path)),
        b"tree" => tree::remove(path),
        b"unmount" => unmount(path),
        b"instance" => {
            // The kernel refuses while its files are open elsewhere; switched off, the instance costs nothing
            // meanwhile.
            let _ = path.with(b"/tracing_on").is_some_and(|switch| put(&switch, b"0"));
            patiently(|| rmdir(path))
        }
        _ => false,
    }
}

/// True if the last component of a path starts with our mark, optionally after a dot, and the path is plain.
pub fn is_ours(path: &Text) -> bool {
    let bytes = path.bytes();
    let name = bytes.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    is_plain(bytes) && has_mark(name)
}

/// True if it is plain, and it or a folder around it starts with our mark.
fn is_in_ours(path: &Text) -> bool {
    let bytes = path.bytes();
    is_plain(bytes) && bytes.split(|byte| *byte == b'/').any(has_mark)
}

fn has_mark(name: &[u8]) -> bool {
    name.strip_prefix(b".").unwrap_or(name).starts_with(MARK.as_bytes())
}

/// Absolute, and without `..`.
fn is_plain(path: &[u8]) -> bool {
    path.first() == Some(&b'/') && !path.split(|byte| *byte == b'/').any(|name| name == b"..")
}

fn may_be_set(file: &Text) -> bool {
    let bytes = file.bytes();
    let settings = SETTINGS.iter().any(|folder| bytes.starts_with(folder));
    is_in_ours(file) || (is_plain(bytes) && settings)
}

/// Success, or the object is already gone.
fn is_done(answer: libc::c_int) -> bool {
    answer == 0 || matches!(errno(), libc::ENOENT | libc::ENODEV)
}

fn rmdir(path: &Text) -> bool {
    // SAFETY: a NUL-terminated string.
    is_done(unsafe { libc::rmdir(path.pointer()) })
}

fn unsafe_unlink(path: &Text) -> libc::c_int {
    // SAFETY: a NUL-terminated string.
    unsafe { libc::unlink(path.pointer()) }
}

fn unmount(path: &Text) -> bool {
    // SAFETY: a NUL-terminated string. Not mounted any more is as good as unmounted.
    unsafe { libc::umount2(path.pointer(), libc::MNT_DETACH) };
    rmdir(path)
}

/// Writes `value` in a single call, as kernel files require. A missing file counts as success.
fn put(file: &Text, value: &[u8]) -> bool {
    // SAFETY: a NUL-terminated string; the buffer has the length given.
    unsafe {
        let opened = libc::open(file.pointer(), libc::O_WRONLY | libc::O_TRUNC | libc::O_CLOEXEC);
        if opened < 0 {
            return is_done(-1);
        }
        let written = libc::write(opened, value.as_ptr().cast(), value.len());
        libc::close(opened);
        written == value.len() as isize
    }
}

/// Reads the start of a file into `room`. Returns the number of bytes.
fn read(file: &Text, room: &mut [u8]) -> Option<usize> {
    // SAFETY: a NUL-terminated string; the buffer has the length given.
    let got = unsafe {
        let opened = libc::open(file.pointer(), libc::O_RDONLY | libc::O_CLOEXEC);
        if opened < 0 {
            return None;
        }
        let got = libc::read(opened, room.as_mut_ptr().cast(), room.len());
        libc::close(opened);
        got
    };
    usize::try_from(got).ok()
}

/// Tries until it is done, for at most 5 s.
fn patiently(mut done: impl FnMut() -> bool) -> bool {
    for _ in 0..TRIES {
        if done() {
            return true;
        }
        let pause = libc::timespec { tv_sec: 0, tv_nsec: PAUSE_NS };
        // SAFETY: `pause` outlives the call.
        unsafe { libc::nanosleep(&raw const pause, std::ptr::null_mut()) };
    }
    false
}

/// Kills all processes of the group and removes it. `cgroup.kill` kills at once, forks included (Linux 5.14, version
/// 2).
fn remove_cgroup(folder: &Text) -> bool {
    patiently(|| {
        let at_once = folder.with(b"/cgroup.kill").is_some_and(|file| put_if_there(&file, b"1"));
        if !at_once {
            kill_listed(folder);
        }
        rmdir(folder)
    })
}

fn put_if_there(file: &Text, value: &[u8]) -> bool {
    // SAFETY: a NUL-terminated string.
    let there = unsafe { libc::access(file.pointer(), libc::F_OK) == 0 };
    there && put(file, value)
}

fn kill_listed(folder: &Text) {
    let mut room = [0u8; MOST];
    let Some(list) = folder.with(b"/cgroup.procs") else { return };
    let length = read(&list, &mut room).unwrap_or(0);
    for process in room[..length].split(|byte| *byte == b'\n') {
        if let Some(process) = number_of(process).and_then(|id| libc::pid_t::try_from(id).ok()).filter(|id| *id > 1) {
            // SAFETY: no pointers.
            unsafe { libc::kill(process, libc::SIGKILL) };
        }
    }
}

fn kill_group(leader: &[u8], started: &[u8]) -> bool {
    let since = number_of(started);
    let Some(process) = number_of(leader).and_then(|id| libc::pid_t::try_from(id).ok()).filter(|id| *id > 1) else {
        return false;
    };
    let stat = Text::of(b"/proc/").and_then(|text| text.with(leader)).and_then(|text| text.with(b"/stat"));
    let mut room = [0u8; 1024];
    let now = stat.and_then(|stat| read(&stat, &mut room)).and_then(|length| start_of(&room[..length]));
    if now.is_some() && now == since {
        // SAFETY: no pointers. A process that made itself a leader of another group is still reached by its id.
        unsafe {
            libc::kill(-process, libc::SIGKILL);
            libc::kill(process, libc::SIGKILL);
        }
    }
    true
}

/// The start time in a line of `/proc/PID/stat`, in ticks since boot. Counts fields after the name, which may contain
/// spaces and parentheses.
pub fn start_of(stat: &[u8]) -> Option<u64> {
    let name = stat.iter().rposition(|byte| *byte == b')')?;
    let mut fields = stat[name + 1..].split(|byte| *byte == b' ').filter(|field| !field.is_empty());
    number_of(fields.nth(19)?)
}

/// Removes the loop device unless it is attached to a file that is not ours. It detaches when its last user closes it
/// (LO_FLAGS_AUTOCLEAR).
fn remove_loop(digits: &[u8], image: &Text) -> bool {
    let Some(number) = number_of(digits).and_then(|number| libc::c_long::try_from(number).ok()) else { return false };
    let device = Text::of(b"/dev/loop").and_then(|text| text.with(digits));
    let backing = Text::of(b"/sys/block/loop").and_then(|text| text.with(digits));
    let backing = backing.and_then(|text| text.with(b"/loop/backing_file"));
    let (Some(device), Some(backing)) = (device, backing) else { return false };
    patiently(|| {
        // SAFETY: NUL-terminated strings; the argument of the ioctl is a number.
        unsafe {
            if libc::access(device.pointer(), libc::F_OK) != 0 {
                return true;
            }
            let mut attached = [0u8; MOST];
            let length = read(&backing, &mut attached).unwrap_or(0);
            if length > 0 && !attached[..length].starts_with(image.bytes()) {
                return true;
            }
            let control = libc::open(LOOP_CONTROL.as_ptr(), libc::O_RDWR | libc::O_CLOEXEC);
            let removed = libc::ioctl(control, LOOP_CTL_REMOVE, number);
            let why = errno();
            libc::close(control);
            removed >= 0 || why == libc::ENODEV
        }
    })
}
