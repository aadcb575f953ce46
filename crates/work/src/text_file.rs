//! Reads small text files up to a limit; rejects devices.

use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The longest description of a machine, in bytes. A choice: a machine has some thirty keys.
pub const MACHINE_MAX: u64 = 1 << 20;
/// The longest description of work, in bytes. A choice: beyond any that a person or a generator writes.
pub const WORK_MAX: u64 = 64 << 20;

/// The text of the file at `path`, which may have at most `longest` bytes.
///
/// # Errors
/// It cannot be read, is a device, is too long, or is not text.
pub fn read(path: &str, longest: u64) -> Result<String, String> {
    let cannot = |why: std::io::Error| format!("{path} cannot be read: {why}");
    refuse_devices(path)?;
    let mut bytes = Vec::new();
    File::open(path).and_then(|file| file.take(longest + 1).read_to_end(&mut bytes)).map_err(cannot)?;
    if bytes.len() as u64 > longest {
        return Err(format!("{path} is longer than {} MiB, which a text of this kind never is", longest >> 20));
    }
    String::from_utf8(bytes).map_err(|_| format!("{path} is not UTF-8 text"))
}

/// Refuses devices, which may be endless or block forever. A pipe ends when its writer closes it.
#[cfg(unix)]
fn refuse_devices(path: &str) -> Result<(), String> {
    use std::os::unix::fs::FileTypeExt;
    let is_device =
        |found: std::fs::Metadata| found.file_type().is_char_device() || found.file_type().is_block_device();
    match std::fs::metadata(Path::new(path)).is_ok_and(is_device) {
        true => Err(format!("{path} is a device, not a text; name a file")),
        false => Ok(()),
    }
}

#[cfg(not(unix))]
fn refuse_devices(_: &str) -> Result<(), String> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs `check` on a temporary file with this content.
    fn with_file<T>(name: &str, content: &[u8], check: impl Fn(&str) -> T) -> T {
        let path = std::env::temp_dir().join(format!("goodness-text-{}-{name}", std::process::id()));
        std::fs::write(&path, content).unwrap();
        let found = check(path.to_str().unwrap());
        std::fs::remove_file(path).unwrap();
        found
    }

    #[test]
    fn a_text_is_read_up_to_its_limit_and_not_beyond() {
        assert_eq!(with_file("short", b"abcd", |path| read(path, 4)).unwrap(), "abcd");
        assert!(with_file("long", b"abcde", |path| read(path, 4)).unwrap_err().contains("is longer than"));
        assert!(with_file("bytes", b"\xff\xfe", |path| read(path, 4)).unwrap_err().contains("is not UTF-8"));
        assert!(read("/no/such/file", 4).unwrap_err().contains("cannot be read"));
    }

    #[cfg(unix)]
    #[test]
    fn a_link_to_a_device_without_end_is_refused_unread() {
        let link = std::env::temp_dir().join(format!("goodness-text-{}-link.toml", std::process::id()));
        std::os::unix::fs::symlink("/dev/zero", &link).unwrap();
        let refused = read(link.to_str().unwrap(), u64::MAX - 1);
        std::fs::remove_file(&link).unwrap();
        assert!(refused.unwrap_err().contains("is a device"));
    }
}
