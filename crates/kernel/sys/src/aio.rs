//! Asynchronous I/O (io_submit(2)), as much of it as a load needs.

use std::io;

/// `struct iocb` of `linux/aio_abi.h`, little endian.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct Command {
    data: u64,
    key: u32,
    flags: u32,
    opcode: u16,
    priority: i16,
    file: u32,
    buffer: u64,
    bytes: u64,
    offset: i64,
    reserved: u64,
    more_flags: u32,
    event: u32,
}

/// `struct io_event`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct Completion {
    data: u64,
    object: u64,
    result: i64,
    second: i64,
}

/// Buffer alignment required by direct I/O.
const ALIGNMENT: usize = 4096;

/// Slots for concurrent I/Os, and memory for their data.
pub struct Ring {
    context: libc::c_ulong,
    memory: Vec<u8>,
    first: usize,
    file: i32,
    commands: Vec<Command>,
    pointers: Vec<*mut Command>,
    completions: Vec<Completion>,
}

/// One I/O operation.
#[derive(Clone, Copy, Debug)]
pub struct Piece {
    /// Its slot.
    pub slot: usize,
    /// Its first byte of the memory; aligned as direct I/O needs it.
    pub at: usize,
    /// Its length in bytes.
    pub bytes: usize,
    /// True if it reads.
    pub reads: bool,
    /// From which byte of the file on.
    pub offset: u64,
}

impl Ring {
    /// `depth` slots for `file`, and `bytes` bytes of memory.
    ///
    /// # Errors
    /// The error of io_setup(2).
    pub fn new(file: i32, depth: usize, bytes: usize) -> io::Result<Ring> {
        let mut context: libc::c_ulong = 0;
        // SAFETY: `context` is zero, as asked, and outlives the call.
        let made = unsafe { libc::syscall(libc::SYS_io_setup, depth as libc::c_long, &raw mut context) };
        if made < 0 {
            return Err(io::Error::last_os_error());
        }
        let memory = vec![0u8; bytes + ALIGNMENT];
        let first = memory.as_ptr().align_offset(ALIGNMENT);
        Ok(Ring {
            context,
            memory,
            first,
            file,
            commands: vec![Command::default(); depth],
            pointers: Vec::with_capacity(depth),
            completions: vec![Completion::default(); depth],
        })
    }

    /// The memory, between I/Os.
    pub fn memory(&mut self) -> &mut [u8] {
        &mut self.memory[self.first..]
    }

    /// Submits `pieces` in one call, which plugs them together. Their slots must be free.
    ///
    /// # Errors
    /// The error of io_submit(2).
    ///
    /// # Panics
    /// A piece is outside of the memory.
    pub fn submit(&mut self, pieces: &[Piece]) -> io::Result<()> {
        self.pointers.clear();
        for piece in pieces {
            let at = self.first + piece.at;
            assert!(at + piece.bytes <= self.memory.len(), "{piece:?} is outside of the memory");
            self.commands[piece.slot] = Command {
                data: piece.slot as u64,
                opcode: u16::from(!piece.reads),
                file: self.file as u32,
                buffer: self.memory.as_mut_ptr().wrapping_add(at) as u64,
                bytes: piece.bytes as u64,
                offset: piece.offset as i64,
                ..Command::default()
            };
            self.pointers.push(&raw mut self.commands[piece.slot]);
        }
        let mut sent = 0;
        while sent < pieces.len() {
            let rest = &mut self.pointers[sent..];
            let count = rest.len() as libc::c_long;
            // SAFETY: pointers to live commands, whose buffers live until they complete: `drop` waits for them.
            let took = unsafe { libc::syscall(libc::SYS_io_submit, self.context, count, rest.as_mut_ptr()) };
            if took <= 0 {
                return Err(io::Error::last_os_error());
            }
            sent += took as usize;
        }
        Ok(())
    }

    /// Waits for at least one completion, takes at most `most`, and calls `done` with the slot of each.
    ///
    /// # Errors
    /// The error of io_getevents(2) or of an I/O; one that ends early is an error, too.
    pub fn wait(&mut self, most: usize, mut done: impl FnMut(usize)) -> io::Result<()> {
        let most = most.clamp(1, self.completions.len()) as libc::c_long;
        let into = self.completions.as_mut_ptr();
        let forever = std::ptr::null_mut::<libc::timespec>();
        let one: libc::c_long = 1;
        // SAFETY: `into` has room for `most`.
        let got = unsafe { libc::syscall(libc::SYS_io_getevents, self.context, one, most, into, forever) };
        if got < 0 {
            let why = io::Error::last_os_error();
            return if why.kind() == io::ErrorKind::Interrupted { Ok(()) } else { Err(why) };
        }
        for completion in &self.completions[..got as usize] {
            let slot = completion.data as usize;
            if completion.result != self.commands[slot].bytes as i64 {
                let code = i32::try_from(-completion.result).unwrap_or(libc::EIO);
                return Err(io::Error::from_raw_os_error(if code > 0 { code } else { libc::EIO }));
            }
            done(slot);
        }
        Ok(())
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // Waits until no I/O is in flight.
        // SAFETY: the context is ours.
        unsafe { libc::syscall(libc::SYS_io_destroy, self.context) };
    }
}
