//! Writes that are read again (`verify`): in the order in which they were written.

use super::job::Verify;
use super::stream::{FioIo, FioOp};
use std::collections::VecDeque;

/// Writes to read again.
#[derive(Clone, Debug, Default)]
pub(super) struct Verifying {
    written: VecDeque<(u32, u64, u64)>,
    /// Writes that are read now, before anything else is done.
    now: usize,
}

impl Verifying {
    /// This was written.
    pub fn wrote(&mut self, file: usize, offset: u64, bytes: u64) {
        self.written.push_back((file as u32, offset, bytes));
    }

    /// All is written.
    pub fn end(&mut self) {
        self.now = self.written.len();
    }

    /// The next read, if it is time for one.
    pub fn next(&mut self, verify: Option<Verify>) -> Option<FioIo> {
        if let Some(Verify::After(backlog)) = verify
            && self.written.len() as u64 >= backlog
        {
            self.now = self.now.max(self.written.len());
        }
        if self.now == 0 {
            return None;
        }
        self.now -= 1;
        let (file, offset, bytes) = self.written.pop_front()?;
        Some(FioIo { op: FioOp::Read, file: file as usize, offset, bytes, due: None, pause: None })
    }
}
