//! Decodes the pages of `per_cpu/cpuN/trace_pipe_raw`: the kernel's ring buffer as it is in memory.
//!
//! A page costs one copy and no formatting while the recording runs. Its times are in nanoseconds; `trace_pipe` rounds
//! to microseconds. Sources: `Documentation/trace/ring-buffer-design.rst` and the self-description in
//! `events/header_page` and `events/header_event`.
//!
//! A page is a 64-bit time, a commit word, then events back to back. An event starts with a 32-bit word: five bits of
//! type and length, 27 bits of time since the previous event.

/// Event types above the largest length that fits the five bits (28, in words of four bytes).
const PADDING: u32 = 29;
const TIME_EXTEND: u32 = 30;
const TIME_STAMP: u32 = 31;
/// Bits of the time delta in the first word.
const DELTA_BITS: u32 = 27;
/// Commit-word flag: events were lost before this page.
const MISSED: u64 = 1 << 31;
/// Commit-word flag: their number is stored behind the committed bytes.
const MISSED_STORED: u64 = 1 << 30;
/// The commit word's bits that hold a length.
const LENGTH_MASK: u64 = (1 << 27) - 1;
/// An absolute time stamp has 59 bits; the rest comes from the page's own time.
const STAMP_BITS: u32 = 59;

/// Offsets within a page, from `events/header_page`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Layout {
    commit_offset: usize,
    commit_size: usize,
    payload_offset: usize,
    /// Bytes of a whole page, header included.
    pub page_size: usize,
}

impl Layout {
    /// Reads the text of `events/header_page`.
    ///
    /// # Errors
    /// Names the field that is missing.
    pub fn parse(text: &str) -> Result<Self, String> {
        let field = |name: &str| {
            let found = text.lines().filter_map(super::format::Field::parse).find(|(field, _)| field == name);
            found.map(|(_, field)| field).ok_or_else(|| format!("it describes no field `{name}`"))
        };
        let (commit, payload) = (field("commit")?, field("data")?);
        if field("timestamp")?.size != 8 || !matches!(commit.size, 4 | 8) {
            return Err("a page's time or commit word has an unknown size".to_string());
        }
        Ok(Self {
            commit_offset: commit.offset,
            commit_size: commit.size,
            payload_offset: payload.offset,
            page_size: payload.offset + payload.size,
        })
    }
}

/// Number of events the kernel dropped before a page because its buffer was full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lost {
    /// This many.
    Known(u64),
    /// Some; the kernel did not report how many.
    Unknown,
}

/// Time and position of one event in its page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawEvent {
    /// Nanoseconds on the trace clock.
    pub time_ns: u64,
    /// Offset of its first byte in the page.
    pub start: usize,
    /// Offset one past its last byte.
    pub end: usize,
}

/// Contents of one page.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// Loss just before the first event.
    pub lost: Option<Lost>,
    /// In the order written, which is the order of time.
    pub events: Vec<RawEvent>,
    /// True if the page contradicted itself; events before that point are good.
    pub damaged: bool,
}

/// Splits one page into events. If the page contradicts itself, only the events before that point are returned.
pub fn split(layout: &Layout, bytes: &[u8], page: &mut Page) {
    page.events.clear();
    page.lost = None;
    page.damaged = bytes.len() < layout.payload_offset;
    if page.damaged {
        return;
    }
    let commit = match layout.commit_size {
        8 => word64(bytes, layout.commit_offset),
        _ => u64::from(word32(bytes, layout.commit_offset)),
    };
    let end = layout.payload_offset + (commit & LENGTH_MASK) as usize;
    if end > bytes.len() {
        page.damaged = true;
        return;
    }
    if commit & MISSED != 0 {
        let stored = commit & MISSED_STORED != 0 && end + layout.commit_size <= bytes.len();
        page.lost = Some(match (stored, layout.commit_size) {
            (false, _) => Lost::Unknown,
            (true, 8) => Lost::Known(word64(bytes, end)),
            (true, _) => Lost::Known(u64::from(word32(bytes, end))),
        });
    }
    walk(&bytes[..end], layout.payload_offset, page);
}

/// Walks the committed part of a page from `at`, appending its events.
fn walk(bytes: &[u8], mut at: usize, page: &mut Page) {
    let mut now = word64(bytes, 0);
    while at + 4 <= bytes.len() {
        let head = word32(bytes, at);
        let (kind, delta) = kind_and_delta(head);
        let extra = if at + 8 <= bytes.len() { Some(word32(bytes, at + 4)) } else { None };
        let next = match (kind, extra) {
            (PADDING, _) if delta == 0 => return,
            (PADDING, Some(length)) => {
                // A discarded event; one that never had a delta carries the mark 1 instead.
                now += if delta == 1 { 0 } else { u64::from(delta) };
                at + 4 + length as usize
            }
            (TIME_EXTEND, Some(high)) => {
                now += (u64::from(high) << DELTA_BITS) + u64::from(delta);
                at + 8
            }
            (TIME_STAMP, Some(high)) => {
                let stamp = (u64::from(high) << DELTA_BITS) + u64::from(delta);
                now = (now >> STAMP_BITS << STAMP_BITS) | stamp;
                at + 8
            }
            (0, Some(length)) if length >= 4 => {
                now += u64::from(delta);
                push(page, now, at + 8, at + 4 + length as usize)
            }
            (1..=28, _) => {
                now += u64::from(delta);
                push(page, now, at + 4, at + 4 + kind as usize * 4)
            }
            _ => usize::MAX,
        };
        if next > bytes.len() {
            page.damaged = true;
            page.events.retain(|event| event.end <= bytes.len());
            return;
        }
        at = next.next_multiple_of(4);
    }
}

fn push(page: &mut Page, time_ns: u64, start: usize, end: usize) -> usize {
    page.events.push(RawEvent { time_ns, start, end });
    end
}

/// The five-bit type and 27-bit delta of an event's first word. C bit fields start at the low end on little-endian
/// machines and at the high end on big-endian ones.
fn kind_and_delta(head: u32) -> (u32, u32) {
    if cfg!(target_endian = "little") {
        (head & 31, head >> 5)
    } else {
        (head >> DELTA_BITS, head & ((1 << DELTA_BITS) - 1))
    }
}

fn word32(bytes: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

fn word64(bytes: &[u8], at: usize) -> u64 {
    u64::from_ne_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER_PAGE: &str = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\
        \tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n\
        \tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n\
        \tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n";

    fn head(kind: u32, delta: u32) -> u32 {
        if cfg!(target_endian = "little") { kind | (delta << 5) } else { (kind << 27) | delta }
    }

    fn page_of(time: u64, flags: u64, words: &[u32], behind: &[u64]) -> Vec<u8> {
        let mut bytes = time.to_ne_bytes().to_vec();
        bytes.extend(((words.len() * 4) as u64 | flags).to_ne_bytes());
        words.iter().for_each(|word| bytes.extend(word.to_ne_bytes()));
        behind.iter().for_each(|word| bytes.extend(word.to_ne_bytes()));
        bytes.resize(4096, 0);
        bytes
    }

    fn split_page(bytes: &[u8]) -> Page {
        let mut page = Page::default();
        split(&Layout::parse(HEADER_PAGE).expect("a good description"), bytes, &mut page);
        page
    }

    fn times(page: &Page) -> Vec<u64> {
        page.events.iter().map(|event| event.time_ns).collect()
    }

    #[test]
    fn the_layout_comes_from_the_kernels_description() {
        let layout = Layout::parse(HEADER_PAGE).expect("a good description");
        assert_eq!((layout.page_size, layout.payload_offset, layout.commit_size), (4096, 16, 8));
        assert_eq!(Layout::parse("nothing"), Err("it describes no field `commit`".to_string()));
    }

    #[test]
    fn deltas_add_up_from_the_pages_own_time() {
        let page = split_page(&page_of(1_000, 0, &[head(1, 0), 7, head(2, 50), 8, 9, head(1, 25), 1], &[]));
        assert_eq!(times(&page), [1_000, 1_050, 1_075]);
        assert_eq!((page.events[1].start, page.events[1].end), (16 + 12, 16 + 20));
        assert!(!page.damaged && page.lost.is_none());
    }

    #[test]
    fn a_time_extension_carries_the_high_bits_of_a_long_gap() {
        let page = split_page(&page_of(5, 0, &[head(TIME_EXTEND, 3), 2, head(1, 1), 0], &[]));
        assert_eq!(times(&page), [5 + (2 << 27) + 3 + 1]);
    }

    #[test]
    fn an_absolute_stamp_keeps_the_top_bits_of_the_page() {
        let page = split_page(&page_of((1 << 60) | 77, 0, &[head(TIME_STAMP, 9), 1, head(1, 0), 0], &[]));
        assert_eq!(times(&page), [(1 << 60) | ((1 << 27) + 9)]);
    }

    #[test]
    fn a_long_event_stores_its_length_in_the_second_word() {
        let mut words = vec![head(0, 4), 4 + 120];
        words.extend([0; 30]);
        words.extend([head(1, 1), 0]);
        let page = split_page(&page_of(0, 0, &words, &[]));
        assert_eq!(times(&page), [4, 5]);
        assert_eq!(page.events[0].end - page.events[0].start, 120);
    }

    #[test]
    fn a_discarded_event_is_skipped_and_empty_padding_ends_the_page() {
        let words = [head(PADDING, 10), 4, head(1, 1), 0, head(PADDING, 0), 0, head(1, 1), 0];
        let page = split_page(&page_of(100, 0, &words, &[]));
        assert_eq!(times(&page), [111]);
    }

    #[test]
    fn lost_events_are_counted_where_the_kernel_counted_them() {
        let page = split_page(&page_of(0, MISSED | MISSED_STORED, &[head(1, 1), 0], &[412]));
        assert_eq!(page.lost, Some(Lost::Known(412)));
        assert_eq!(times(&page), [1]);
        assert_eq!(split_page(&page_of(0, MISSED, &[head(1, 1), 0], &[])).lost, Some(Lost::Unknown));
    }

    #[test]
    fn a_page_that_contradicts_itself_yields_what_came_before() {
        let page = split_page(&page_of(0, 0, &[head(1, 1), 0, head(20, 1), 0], &[]));
        assert_eq!(times(&page), [1]);
        assert!(page.damaged);
        assert!(split_page(&[0; 7]).damaged);
    }
}
