//! Transfers between the tags' buffers and the backing, as io_uring operations.
//!
//! A durable write carries `RWF_DSYNC`: it completes once it is durable. A flush is an `fdatasync`. A discard punches a
//! hole; zeroes that must stay allocated become a zeroed range. A short transfer continues with the rest.

use super::host::{Transfer, bytes};
use super::memory::Buffers;
use goodness_core::{Operation, RequestId, SECTOR_BYTES};
use io_uring::{opcode, squeue, types};

/// Parts of a tag's request that the elevator does not need.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tag {
    /// Its first sector.
    pub sector: u64,
    /// True for zeroes whose space must stay allocated.
    pub keeps_space: bool,
}

/// One transfer in flight.
#[derive(Debug)]
struct UnderWay {
    op: Operation,
    durable: bool,
    keeps_space: bool,
    /// Byte offset of the remaining part in the backing.
    at: u64,
    /// Bytes not yet moved.
    remaining: u64,
    /// Memory; the kernel reads this list when the operation is submitted.
    memory: Vec<libc::iovec>,
    /// First entry of `memory` not yet fully moved.
    first: usize,
}

/// Meaning of a completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// All is moved, or it failed with an error number.
    Over(Result<(), i32>),
    /// Submit the remaining part.
    Again,
}

/// All transfers, by request.
#[derive(Debug, Default)]
pub struct Transfers(Vec<UnderWay>);

impl Transfers {
    /// Starts a transfer. [`Transfers::entry`] builds its io_uring operation.
    pub fn begin(&mut self, transfer: &Transfer, tags: &[Tag], buffers: &Buffers) {
        let index = transfer.request.index();
        while self.0.len() <= index {
            let memory = Vec::new();
            let (op, durable, keeps_space) = (Operation::Flush, false, false);
            self.0.push(UnderWay { op, durable, keeps_space, at: 0, remaining: 0, memory, first: 0 });
        }
        let it = &mut self.0[index];
        (it.op, it.durable, it.first) = (transfer.op, transfer.durable, 0);
        (it.at, it.remaining) = (transfer.sector * SECTOR_BYTES, bytes(transfer.sectors) as u64);
        it.keeps_space = transfer.parts.first().is_some_and(|part| tags[part.tag as usize].keeps_space);
        it.memory.clear();
        if !matches!(transfer.op, Operation::Read | Operation::Write) {
            return;
        }
        for part in transfer.parts {
            let from = bytes((part.sector - tags[part.tag as usize].sector) as u32);
            let address = buffers.address(part.tag as usize, from, bytes(part.sectors));
            it.memory.push(libc::iovec { iov_base: address.cast(), iov_len: bytes(part.sectors) });
        }
    }

    /// The io_uring operation for the rest of `request`. It points into this table, so the request must not be started
    /// again before it completes.
    pub fn entry(&self, request: RequestId, file: i32) -> squeue::Entry {
        let it = &self.0[request.index()];
        let (file, memory) = (types::Fd(file), &it.memory[it.first..]);
        let (list, count) = (memory.as_ptr(), memory.len() as u32);
        match it.op {
            Operation::Read => opcode::Readv::new(file, list, count).offset(it.at).build(),
            Operation::Write => {
                let flags = if it.durable { libc::RWF_DSYNC } else { 0 };
                opcode::Writev::new(file, list, count).offset(it.at).rw_flags(flags).build()
            }
            Operation::Flush => opcode::Fsync::new(file).flags(types::FsyncFlags::DATASYNC).build(),
            Operation::Discard => {
                let kind = if it.keeps_space { libc::FALLOC_FL_ZERO_RANGE } else { libc::FALLOC_FL_PUNCH_HOLE };
                let mode = kind | libc::FALLOC_FL_KEEP_SIZE;
                opcode::Fallocate::new(file, it.remaining).offset(it.at).mode(mode).build()
            }
        }
    }

    /// The kernel has answered with `result`, as in the completion queue.
    pub fn step(&mut self, request: RequestId, result: i32) -> Step {
        let it = &mut self.0[request.index()];
        match result {
            _ if result == -libc::EAGAIN || result == -libc::EINTR => Step::Again,
            ..0 => Step::Over(Err(-result)),
            _ if !matches!(it.op, Operation::Read | Operation::Write) => Step::Over(Ok(())),
            // The backing has become shorter since it was opened.
            0 => Step::Over(Err(libc::EIO)),
            moved => {
                it.moved(moved as u64);
                if it.remaining == 0 { Step::Over(Ok(())) } else { Step::Again }
            }
        }
    }
}

impl UnderWay {
    /// Records that `moved` more bytes are moved.
    fn moved(&mut self, mut moved: u64) {
        self.at += moved;
        self.remaining = self.remaining.saturating_sub(moved);
        while let Some(memory) = self.memory.get_mut(self.first).filter(|_| moved > 0) {
            let here = moved.min(memory.iov_len as u64);
            // Only the address is used; the memory is not read here.
            memory.iov_base = memory.iov_base.cast::<u8>().wrapping_add(here as usize).cast();
            memory.iov_len -= here as usize;
            moved -= here;
            self.first += usize::from(memory.iov_len == 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::Part;

    fn begun(op: Operation, parts: &[Part]) -> (Transfers, Buffers) {
        let buffers = Buffers::new(2, 8192).unwrap();
        let sectors = parts.iter().map(|part| part.sectors).sum();
        let sector = parts.first().map_or(0, |part| part.sector);
        let mut transfers = Transfers::default();
        let tags = [Tag { sector: 8, keeps_space: false }, Tag { sector: 12, keeps_space: false }];
        let transfer = Transfer { request: RequestId(0), op, sector, sectors, durable: false, parts };
        transfers.begin(&transfer, &tags, &buffers);
        (transfers, buffers)
    }

    #[test]
    fn a_transfer_that_stopped_half_way_goes_on_with_the_rest_of_its_memory() {
        let parts = [Part { tag: 0, sector: 8, sectors: 4 }, Part { tag: 1, sector: 12, sectors: 4 }];
        let (mut transfers, buffers) = begun(Operation::Write, &parts);
        assert_eq!(transfers.step(RequestId(0), 2048 + 512), Step::Again);
        let rest = &transfers.0[0];
        assert_eq!((rest.at, rest.remaining, rest.first), (8 * 512 + 2560, 1536, 1));
        assert_eq!(rest.memory[1].iov_base.cast::<u8>(), buffers.address(1, 512, 1));
        assert_eq!(transfers.step(RequestId(0), 1536), Step::Over(Ok(())));
    }

    #[test]
    fn errors_are_passed_on_and_an_interruption_is_none() {
        let parts = [Part { tag: 0, sector: 8, sectors: 4 }];
        let (mut transfers, _buffers) = begun(Operation::Read, &parts);
        assert_eq!(transfers.step(RequestId(0), -libc::EINTR), Step::Again);
        assert_eq!(transfers.step(RequestId(0), -libc::ENOSPC), Step::Over(Err(libc::ENOSPC)));
        assert_eq!(transfers.step(RequestId(0), 0), Step::Over(Err(libc::EIO)), "the backing has become shorter");
        let (mut transfers, _buffers) = begun(Operation::Flush, &[]);
        assert_eq!(transfers.step(RequestId(0), 0), Step::Over(Ok(())));
    }
}
