//! Writes that are read again (`verify`): in the order in which they were written.

use super::job::Verify;
use std::collections::VecDeque;

/// What was written: file, first byte, bytes.
pub(super) type Written = (u32, u64, u64);

/// Writes to read again.
#[derive(Clone, Debug, Default)]
pub(super) struct Verifying {
    written: VecDeque<Written>,
    /// Writes that are read now, before anything else is done.
    now: usize,
}

impl Verifying {
    /// This was written.
    pub fn wrote(&mut self, file: usize, offset: u64, bytes: u64) {
        self.written.push_back((file as u32, offset, bytes));
    }

    /// All is written. True if reading begins with that.
    pub fn end(&mut self) -> bool {
        let begins = self.now < self.written.len();
        self.now = self.written.len();
        begins
    }

    /// What is read next, if it is time for that.
    pub fn next(&mut self, verify: Option<Verify>) -> Option<Written> {
        if let Some(Verify::After(backlog)) = verify
            && self.written.len() as u64 >= backlog
        {
            self.now = self.now.max(self.written.len());
        }
        if self.now == 0 {
            return None;
        }
        self.now -= 1;
        self.written.pop_front()
    }
}
