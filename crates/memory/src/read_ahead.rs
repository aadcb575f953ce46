//! Read-ahead of one open file, as in Linux since 2.6.23: a window that doubles while reading is sequential. The next
//! window is fetched when the reader reaches a mark in the current one, so that disk and reader work in parallel.
//!
//! Source: the kernel's documented on-demand read-ahead. Left out: context read-ahead for interleaved readers of one
//! open file, and shrinking windows under memory pressure.

/// The state of one open file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadAhead {
    /// First page of the window fetched last.
    start: u32,
    /// Its pages; 0 for none yet.
    size: u32,
    /// Reaching this page requests the next window.
    mark: u32,
    /// The page after the one read last.
    expected: u32,
}

impl ReadAhead {
    /// End of the pages that should be in memory when `count` pages from `first` are read: at least those, plus
    /// read-ahead. `max` is the largest window; the file has `pages` pages.
    pub fn plan(&mut self, first: u32, count: u32, pages: u32, max: u32) -> u32 {
        let end = first.saturating_add(count).min(pages);
        let is_sequential = first == self.expected || first.checked_add(1) == Some(self.expected);
        self.expected = end;
        if max == 0 || !is_sequential {
            self.size = 0;
            return end;
        }
        if self.size == 0 || first >= self.start.saturating_add(self.size) {
            self.start = first;
            self.size = initial(count, max);
            self.mark = first.saturating_add(count.min(self.size));
        } else if (first..end).contains(&self.mark) {
            self.start = self.start.saturating_add(self.size);
            self.size = next(self.size, max);
            self.mark = self.start;
        } else {
            return end;
        }
        end.max(self.start.saturating_add(self.size).min(pages))
    }
}

/// The first window for a request of `count` pages.
fn initial(count: u32, max: u32) -> u32 {
    if count >= max {
        return max;
    }
    let size = count.next_power_of_two();
    let wanted = if size <= max / 32 {
        size * 4
    } else if size <= max / 4 {
        size * 2
    } else {
        max
    };
    wanted.min(max)
}

/// The window after one of `size` pages.
fn next(size: u32, max: u32) -> u32 {
    if size < max / 16 { (4 * size).min(max) } else { (2 * size).min(max) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_grow_to_the_largest_and_are_asked_for_one_ahead() {
        let mut it = ReadAhead::default();
        let mut fetched = 0;
        let mut sizes = Vec::new();
        for page in 0..200 {
            let end = it.plan(page, 1, 10_000, 32);
            if end > fetched {
                sizes.push(end - fetched);
                fetched = end;
            }
            assert!(fetched > page, "what is read was asked for");
        }
        assert_eq!(sizes[..5], [4, 8, 16, 32, 32]);
        assert!(fetched > 200, "the disk works ahead of the reader");
    }

    #[test]
    fn random_reads_fetch_only_what_they_read() {
        let mut it = ReadAhead::default();
        for page in [700, 20, 9000, 4, 333] {
            assert_eq!(it.plan(page, 2, 10_000, 32), page + 2);
        }
    }

    #[test]
    fn nothing_is_asked_for_past_the_end() {
        assert_eq!(ReadAhead::default().plan(0, 8, 10, 32), 10);
    }

    #[test]
    fn the_end_of_the_largest_file_is_read_as_any_other_place() {
        let (pages, mut it) = (u32::MAX, ReadAhead::default());
        for page in pages - 100..pages {
            let end = it.plan(page, 1, pages, 32);
            assert!((page + 1..=pages).contains(&end), "{page}: {end}");
        }
        assert_eq!(ReadAhead::default().plan(0, u32::MAX, pages, 32), pages);
    }

    /// Window sizes of Linux, at their bounds: four times a request up to a 32nd of the largest window, twice up to a
    /// quarter; then four times the last window below a 16th, and twice from there.
    #[test]
    fn windows_have_the_sizes_of_the_kernel_at_each_bound() {
        assert_eq!(
            [1, 4, 5, 32, 33, 127, 128, 129].map(|count| initial(count, 128)),
            [4, 16, 16, 64, 128, 128, 128, 128]
        );
        assert_eq!([1, 2, 8, 9].map(|count| initial(count, 32)), [4, 4, 16, 32]);
        assert_eq!([7, 8, 63, 64, 65, 128].map(|size| next(size, 128)), [28, 16, 126, 128, 128, 128]);
    }
}
