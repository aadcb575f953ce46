//! Memory that a recording needs, estimated from its beginning before it is read.

use crate::memory::gigabytes;
use crate::refusal::Refusal;
use goodness_core::Span;
use goodness_trace::{Excerpt, Input, Summary, summarise};
use std::cell::Cell;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;
use std::rc::Rc;

/// Memory per event at most while a recording is read, recovered and simulated, in bytes. Measured: docs/robustness.md.
const AN_EVENT: u64 = 100;
/// Smaller files are not estimated. A choice: compressed 60 to 1, this is 2 million events.
const SMALL: u64 = 4 << 20;
/// Text that is read for the estimate, in bytes. A choice: 0.1 s of reading.
const SAMPLE: u64 = 16 << 20;

/// Refuses the recording at `path` if its events in `window` need more than the `free` bytes, where those are known.
/// The reader decides where nothing can be estimated.
///
/// # Errors
/// It needs more.
pub(super) fn check(path: &Path, window: Excerpt, free: Option<u64>) -> Result<(), Refusal> {
    let Some((free, events)) = free.and_then(|free| Some((free, events(path, window)?))) else { return Ok(()) };
    let needed = events.saturating_mul(AN_EVENT);
    if needed <= free {
        return Ok(());
    }
    let what = format!(
        "its about {} million events need {} of memory, and {} are free",
        events.div_ceil(1_000_000),
        gigabytes(needed),
        gigabytes(free)
    );
    let shorter = if window == Excerpt::WHOLE { "a part" } else { "less" };
    let remedy =
        format!("read {shorter} of it with a window such as 10s..20s, or cut the file if the command takes no window");
    Err(Refusal::usage(what).at(path.display().to_string()).remedy(remedy))
}

/// The number of events in `window` of the recording at `path`, if it is a large file. Its beginning stands for all.
pub(super) fn events(path: &Path, window: Excerpt) -> Option<u64> {
    let size = fs::metadata(path).ok().filter(|file| file.is_file() && file.len() >= SMALL)?.len();
    let read = Rc::new(Cell::new(0));
    let file = Counted { file: File::open(path).ok()?, read: Rc::clone(&read) };
    let text = Input::reader("", file).ok()?.take(SAMPLE);
    let sample = Input::reader("", text).and_then(|input| summarise(input).map_err(io::Error::other)).ok()?;
    let whole = u128::from(sample.events) * u128::from(size) / u128::from(read.get().clamp(1, size));
    let whole = u64::try_from(whole).ok()?;
    let behind = whole.saturating_sub(within(&sample, window.from));
    Some(window.length().map_or(behind, |length| behind.min(within(&sample, length))))
}

/// The number of events in a window of this length, at the sample's rate.
fn within(sample: &Summary, length: Span) -> u64 {
    let events = u128::from(sample.events_per_s.unwrap_or(u64::MAX)) * u128::from(length.0) / 1_000_000_000;
    u64::try_from(events).unwrap_or(u64::MAX)
}

/// A file, and the bytes that were read from it.
struct Counted {
    file: File,
    read: Rc<Cell<u64>>,
}

impl Read for Counted {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(into)?;
        self.read.set(self.read.get() + read as u64);
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt::Write as _;

    /// A text of `events` switches, 10 us apart.
    fn switches(events: u64) -> String {
        let mut text = String::from("# tracer: nop\n");
        for n in 0..events {
            let (prev, next, us) = (1 + n % 2, 1 + (n + 1) % 2, 10 * n);
            let _ = writeln!(
                text,
                "              t{prev}-{prev}       [000] d..2. {:>5}.{:06}: sched_switch: prev_comm=t{prev} \
                 prev_pid={prev} prev_prio=120 prev_state=R ==> next_comm=t{next} next_pid={next} next_prio=120",
                us / 1_000_000,
                us % 1_000_000
            );
        }
        text
    }

    #[test]
    fn a_file_that_needs_more_than_is_free_is_refused_and_a_window_of_it_is_not() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("big.txt");
        fs::write(&path, switches(40_000)).expect("it is written");
        let is_refused = |window: Excerpt, free| check(&path, window, free).is_err();
        let first = Excerpt::parse("100ms").expect("a window");
        assert!(is_refused(Excerpt::WHOLE, Some(40_000 * AN_EVENT - 1_000_000)));
        assert!(!is_refused(Excerpt::WHOLE, Some(40_000 * AN_EVENT + 1_000_000)));
        assert!(!is_refused(Excerpt::WHOLE, None), "unknown");
        assert!(!is_refused(first, Some(2_000_000)), "10 000 events");
        assert!(is_refused(first, Some(900_000)));
        let [most, none] = ["100ms..", "2s.."].map(|text| Excerpt::parse(text).expect("a window"));
        assert!(!is_refused(most, Some(3_100_000)) && is_refused(most, Some(2_900_000)), "30 000 events");
        assert!(!is_refused(none, Some(0)), "behind the end; the reader says so");
        let sentence = check(&path, Excerpt::WHOLE, Some(100_000)).expect_err("too large").to_string();
        assert!(sentence.contains("a window such as 10s..20s") && sentence.contains("0.0 GB of memory"), "{sentence}");
    }

    #[test]
    fn the_beginning_of_a_large_file_stands_for_all() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("big.txt");
        let text = switches(150_000);
        fs::write(&path, &text).expect("it is written");
        assert!(text.len() as u64 > SAMPLE, "only the beginning is read");
        let found = events(&path, Excerpt::WHOLE).expect("it is large");
        assert!((148_000..152_000).contains(&found), "{found}");
        fs::write(&path, &text[..1_000_000]).expect("it is written");
        assert_eq!(events(&path, Excerpt::WHOLE), None, "it is small");
        fs::write(&path, vec![b'x'; 5 << 20]).expect("it is written");
        assert_eq!(events(&path, Excerpt::WHOLE), None, "it is no trace");
    }
}
