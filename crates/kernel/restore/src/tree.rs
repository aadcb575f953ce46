//! Removing a private folder with all in it, without allocating.

use goodness_sys::errno;

use super::line::Text;

/// Limit of nested folders. A choice: far above any server's data folder.
const DEEPEST: u32 = 64;
/// Buffer size for directory entries, bytes.
const PIECE: usize = 2048;
/// Offsets of an entry's length, kind and name in `linux_dirent64`.
const LENGTH_AT: usize = 16;
const KIND_AT: usize = 18;
const NAME_AT: usize = 19;
const FOLDER_FLAGS: libc::c_int = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_NOFOLLOW | libc::O_CLOEXEC;

/// Removes the folder at `path`. Symbolic links are removed, not followed. A mounted file system in it is not entered;
/// then the folder stays.
pub fn remove(path: &Text) -> bool {
    // SAFETY: a NUL-terminated string; the descriptor is ours until it is closed.
    unsafe {
        let folder = libc::open(path.pointer(), FOLDER_FLAGS);
        if folder < 0 {
            return errno() == libc::ENOENT;
        }
        if let Some(device) = device_of(folder) {
            empty(folder, device, DEEPEST);
        }
        libc::close(folder);
        libc::rmdir(path.pointer()) == 0 || errno() == libc::ENOENT
    }
}

/// The file system of a descriptor.
fn device_of(descriptor: libc::c_int) -> Option<libc::dev_t> {
    // SAFETY: plain memory for which all zeroes is valid; the kernel fills it.
    unsafe {
        let mut found: libc::stat = std::mem::zeroed();
        (libc::fstat(descriptor, &raw mut found) == 0).then_some(found.st_dev)
    }
}

/// Removes the contents of the open `folder`, as far as possible.
///
/// # Safety
/// `folder` must be an open folder.
unsafe fn empty(folder: libc::c_int, device: libc::dev_t, deeper: u32) {
    loop {
        let mut removed = false;
        // SAFETY: `folder` is open.
        unsafe { libc::lseek(folder, 0, libc::SEEK_SET) };
        let mut piece = [0u8; PIECE];
        loop {
            // SAFETY: the buffer has the length given.
            let got = unsafe { libc::syscall(libc::SYS_getdents64, folder, piece.as_mut_ptr(), PIECE) };
            let Some(length) = usize::try_from(got).ok().filter(|length| *length > 0) else { break };
            let mut at = 0;
            while at + NAME_AT < length.min(PIECE) {
                let size = usize::from(u16::from_ne_bytes([piece[at + LENGTH_AT], piece[at + LENGTH_AT + 1]]));
                // SAFETY: the kernel ends each name with a NUL within the entry.
                removed |= unsafe { remove_entry(folder, &piece[at..length], device, deeper) };
                at += size.max(NAME_AT);
            }
        }
        // Removing moves the other entries, so passes repeat until one removes nothing.
        if !removed {
            return;
        }
    }
}

/// Removes one entry; true if it was removed.
///
/// # Safety
/// `entry` must begin with a `linux_dirent64` of the open `folder`.
unsafe fn remove_entry(folder: libc::c_int, entry: &[u8], device: libc::dev_t, deeper: u32) -> bool {
    let name = entry[NAME_AT..].as_ptr().cast::<libc::c_char>();
    let is_dots = matches!(entry[NAME_AT..], [b'.', 0, ..] | [b'.', b'.', 0, ..]);
    if is_dots {
        return false;
    }
    // SAFETY: the name is NUL-terminated; descriptors are ours until closed.
    unsafe {
        let is_folder = entry[KIND_AT] == libc::DT_DIR;
        if !is_folder && libc::unlinkat(folder, name, 0) == 0 {
            return true;
        }
        // Some file systems do not report entry types; unlink has then refused a folder.
        let inner = libc::openat(folder, name, FOLDER_FLAGS);
        if inner < 0 {
            return false;
        }
        if deeper > 0 && device_of(inner) == Some(device) {
            empty(inner, device, deeper - 1);
        }
        libc::close(inner);
        libc::unlinkat(folder, name, libc::AT_REMOVEDIR) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::ffi::OsStrExt;

    #[test]
    fn a_deep_and_wide_folder_goes_and_what_its_links_name_stays() {
        let scratch = tempfile::tempdir().expect("scratch");
        let (tree, precious) = (scratch.path().join("goodness-1"), scratch.path().join("precious"));
        fs::create_dir_all(&precious).expect("scratch");
        fs::write(precious.join("file"), "keep").expect("scratch");
        fs::create_dir_all(tree.join("a/b/c/d")).expect("scratch");
        for number in 0..500 {
            fs::write(tree.join(format!("a/b/a-file-with-a-long-name-{number}")), "x").expect("scratch");
        }
        std::os::unix::fs::symlink(&precious, tree.join("a/link")).expect("scratch");
        let path = Text::of(tree.as_os_str().as_bytes()).expect("short");
        assert!(remove(&path) && !tree.exists());
        assert!(precious.join("file").exists());
        assert!(remove(&path), "gone already is as good");
    }
}
