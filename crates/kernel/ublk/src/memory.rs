//! Memory shared with the kernel: the tags' buffers and the table of their requests.

use super::abi::{self, Descriptor};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::ptr::{self, NonNull};

/// A mapping, unmapped when dropped.
struct Mapping {
    start: NonNull<u8>,
    bytes: usize,
}

impl Mapping {
    fn new(bytes: usize, protection: i32, flags: i32, file: i32, offset: i64) -> io::Result<Mapping> {
        // SAFETY: a new mapping at a place the kernel chooses; nothing that exists is touched.
        let start = unsafe { libc::mmap(ptr::null_mut(), bytes, protection, flags, file, offset) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast()).ok_or_else(|| io::Error::other("a mapping at address 0"))?;
        Ok(Mapping { start, bytes })
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: mapped by us with this length, and nobody has a pointer into it any more.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}

/// One buffer per tag. The kernel reads and fills them; we only pass their addresses.
pub struct Buffers {
    mapping: Mapping,
    each: usize,
}

impl Buffers {
    /// `count` buffers of `each` bytes, a whole number of pages. Pages are taken at their first use.
    ///
    /// # Errors
    /// No address space.
    pub fn new(count: usize, each: usize) -> io::Result<Buffers> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        let mapping = Mapping::new(count * each, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0)?;
        Ok(Buffers { mapping, each })
    }

    /// The address of byte `from` of the buffer of `tag`; `bytes` follow it there.
    ///
    /// # Panics
    /// They do not.
    pub fn address(&self, tag: usize, from: usize, bytes: usize) -> *mut u8 {
        let at = tag * self.each + from;
        assert!(from + bytes <= self.each && at + bytes <= self.mapping.bytes, "outside the buffer of tag {tag}");
        // SAFETY: within the mapping, as just checked.
        unsafe { self.mapping.start.as_ptr().add(at) }
    }
}

/// The kernel's table of I/O descriptors for the tags of queue 0.
pub struct Descriptors {
    mapping: Mapping,
}

impl Descriptors {
    /// Maps the table of the opened character device.
    ///
    /// # Errors
    /// The error of mmap(2).
    pub fn new(device: &File, tags: u16) -> io::Result<Descriptors> {
        let bytes = (usize::from(tags) * size_of::<Descriptor>()).next_multiple_of(page_bytes());
        let flags = libc::MAP_SHARED | libc::MAP_POPULATE;
        let mapping = Mapping::new(bytes, libc::PROT_READ, flags, device.as_raw_fd(), abi::DESCRIPTORS)?;
        Ok(Descriptors { mapping })
    }

    /// The request of `tag`, which the kernel has just announced.
    ///
    /// # Panics
    /// There is no such tag.
    pub fn of(&self, tag: usize) -> Descriptor {
        let at = tag * size_of::<Descriptor>();
        assert!(at + size_of::<Descriptor>() <= self.mapping.bytes, "there is no tag {tag}");
        // SAFETY: within the mapping and aligned; the kernel changes an entry only while its tag is free.
        unsafe { self.mapping.start.as_ptr().add(at).cast::<Descriptor>().read_volatile() }
    }
}

fn page_bytes() -> usize {
    // SAFETY: sysconf reads a constant.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_of_tags_lie_side_by_side_and_end_where_they_end() {
        let buffers = Buffers::new(4, 8192).unwrap();
        let distance = buffers.address(3, 512, 7680) as usize - buffers.address(0, 0, 1) as usize;
        assert_eq!(distance, 3 * 8192 + 512);
        let outside = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| buffers.address(0, 512, 8192)));
        assert!(outside.is_err());
    }
}
