//! Lines of a stream, in a buffer that is used again and again.

use memchr::memchr;
use std::io::{self, Read};

/// Bytes read at a time.
const BLOCK: usize = 1 << 18;

/// The longest line that is kept whole: the header of a machine with thousands of CPUs.
const LONGEST: usize = 4 << 20;

/// The next line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line<'a> {
    /// A line, without its end.
    Whole(&'a [u8]),
    /// The last line, which has no end.
    Last(&'a [u8]),
    /// A line longer than any event; its text is dropped.
    Overlong,
    /// End of the input.
    End,
}

/// Cuts a stream into lines.
pub(crate) struct Lines<R> {
    from: R,
    buffer: Vec<u8>,
    start: usize,
    /// No line end before this position; avoids searching long lines again.
    searched: usize,
    end: usize,
    at_end: bool,
    skipping: bool,
    /// Bytes of text handed out.
    pub bytes: u64,
    /// Lines handed out.
    pub count: u64,
}

impl<R: Read> Lines<R> {
    pub fn new(from: R) -> Lines<R> {
        Lines {
            from,
            buffer: vec![0; BLOCK],
            start: 0,
            searched: 0,
            end: 0,
            at_end: false,
            skipping: false,
            bytes: 0,
            count: 0,
        }
    }

    /// Up to `len` bytes from the beginning, without consuming them.
    pub fn peek(&mut self, len: usize) -> io::Result<&[u8]> {
        while self.end - self.start < len && !self.at_end {
            self.fill()?;
        }
        Ok(&self.buffer[self.start..self.end.min(self.start + len)])
    }

    /// The next line.
    pub fn next(&mut self) -> io::Result<Line<'_>> {
        loop {
            if let Some(found) = memchr(b'\n', &self.buffer[self.searched..self.end]) {
                let line = self.start..self.searched + found;
                self.bytes += (line.len() + 1) as u64;
                self.count += 1;
                self.start = line.end + 1;
                self.searched = self.start;
                if std::mem::take(&mut self.skipping) {
                    return Ok(Line::Overlong);
                }
                let line = &self.buffer[line];
                return Ok(Line::Whole(line.strip_suffix(b"\r").unwrap_or(line)));
            }
            self.searched = self.end;
            if self.at_end {
                return Ok(self.last());
            }
            if self.end - self.start > LONGEST {
                self.bytes += (self.end - self.start) as u64;
                self.start = self.end;
                self.skipping = true;
            }
            self.fill()?;
        }
    }

    fn last(&mut self) -> Line<'_> {
        let line = self.start..self.end;
        self.start = self.end;
        if std::mem::take(&mut self.skipping) {
            self.count += 1;
            return Line::Overlong;
        }
        if line.is_empty() {
            return Line::End;
        }
        self.bytes += line.len() as u64;
        self.count += 1;
        Line::Last(&self.buffer[line])
    }

    fn fill(&mut self) -> io::Result<()> {
        if self.start > 0 && self.buffer.len() - self.end < BLOCK / 2 {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.searched -= self.start;
            self.start = 0;
        }
        if self.buffer.len() == self.end {
            self.buffer.resize(self.buffer.len() * 2, 0);
        }
        loop {
            match self.from.read(&mut self.buffer[self.end..]) {
                Ok(0) => self.at_end = true,
                Ok(n) => self.end += n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                Err(e) => {
                    self.at_end = true;
                    return Err(e);
                }
            }
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_any_length_come_out_whole_or_are_counted() {
        let long = "x".repeat(BLOCK * 3);
        let text = format!("a\r\n\n{long}\n{}\nlast", "y".repeat(LONGEST * 2));
        let mut lines = Lines::new(text.as_bytes());
        assert_eq!(lines.peek(2).expect("memory"), b"a\r");
        assert_eq!(lines.next().expect("memory"), Line::Whole(b"a"));
        assert_eq!(lines.next().expect("memory"), Line::Whole(b""));
        assert_eq!(lines.next().expect("memory"), Line::Whole(long.as_bytes()));
        assert_eq!(lines.next().expect("memory"), Line::Overlong);
        assert_eq!(lines.next().expect("memory"), Line::Last(b"last"));
        assert_eq!(lines.next().expect("memory"), Line::End);
        assert_eq!(lines.count, 5);
        assert_eq!(lines.bytes, text.len() as u64);
        assert!(lines.buffer.len() <= LONGEST * 4, "{}", lines.buffer.len());
    }
}
