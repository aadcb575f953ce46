//! A timeline packed for an HTML page: columns of varints, deflated, in base64.
//!
//! Slices are grouped by CPU and ordered by start. Columns: `gap` since the end of the CPU's previous slice, `length`,
//! `waited` (all in ns), `task`, `flags` (low three bits: reason the slice ended; bit 3: was woken) and `waker` (0:
//! none or an interrupt, else the waking task plus one). Times out of quota are columns of their own: `task`, `gap`
//! since the begin of the one before, and `length`.

use crate::offline::Offline;
use crate::throttled::Throttled;
use crate::timeline::{Slice, Timeline, Woken};
use flate2::Compression;
use flate2::write::ZlibEncoder;
use goodness_core::Off;
use serde::Serialize;
use std::io::Write;

/// The packed form; the page's script unpacks it.
#[derive(Serialize)]
pub struct Packed<'a> {
    /// End of the timeline in ns.
    pub end: u64,
    /// Slices omitted from the timeline.
    pub left_out: u64,
    /// Names and numbers of the tasks.
    pub tasks: Vec<PackedTask<'a>>,
    /// Slices of each CPU.
    pub counts: Vec<usize>,
    /// The columns, each base64 of zlib of varints.
    pub columns: Columns,
    /// Times out of quota; missing without any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub throttled: Option<PackedThrottled>,
    /// CPU, begin and end of each time in which a CPU was offline; missing without any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub offline: Vec<[u64; 3]>,
}

/// The times out of quota of a packed timeline.
#[derive(Serialize)]
pub struct PackedThrottled {
    count: usize,
    task: String,
    gap: String,
    length: String,
}

impl PackedThrottled {
    fn of(all: &[Throttled]) -> Option<PackedThrottled> {
        let begins = std::iter::once(0).chain(all.iter().map(|it| it.from));
        (!all.is_empty()).then(|| PackedThrottled {
            count: all.len(),
            task: column(all.iter().map(|it| u64::from(it.task.0))),
            gap: column(all.iter().zip(begins).map(|(it, before)| it.from - before)),
            length: column(all.iter().map(|it| it.to - it.from)),
        })
    }
}

/// A task of a packed timeline.
#[derive(Serialize)]
pub struct PackedTask<'a> {
    name: &'a str,
    id: u64,
}

/// Text of each column.
#[derive(Serialize, Default)]
pub struct Columns {
    gap: String,
    length: String,
    task: String,
    waited: String,
    flags: String,
    waker: String,
}

/// Packs a timeline.
#[must_use]
pub fn pack(timeline: &Timeline) -> Packed<'_> {
    let rows = timeline.rows();
    let ordered = || rows.iter().flatten();
    let gaps = rows.iter().flat_map(|row| {
        let ends = std::iter::once(0).chain(row.iter().map(|s| s.end));
        row.iter().zip(ends).map(|(s, end)| s.start - end)
    });
    let columns = Columns {
        gap: column(gaps),
        length: column(ordered().map(|s| s.end - s.start)),
        task: column(ordered().map(|s| u64::from(s.task.0))),
        waited: column(ordered().map(|s| s.waited)),
        flags: column(ordered().map(|s| flags(s))),
        waker: column(ordered().map(|s| waker(s))),
    };
    let tasks = timeline.tasks.iter().map(|t| PackedTask { name: &t.name, id: t.id }).collect();
    let counts = rows.iter().map(Vec::len).collect();
    let throttled = PackedThrottled::of(&timeline.throttled);
    let triple = |it: &Offline| [u64::from(it.cpu.0), it.from, it.to];
    let offline = timeline.offline.iter().map(triple).collect();
    Packed { end: timeline.end, left_out: timeline.left_out, tasks, counts, columns, throttled, offline }
}

fn flags(slice: &Slice) -> u64 {
    let off = match slice.off {
        None => 0,
        Some(Off::Preempted) => 1,
        Some(Off::Yielded) => 2,
        Some(Off::Sleeping) => 3,
        Some(Off::Uninterruptible | Off::DirtyMemory) => 4,
        Some(Off::Exited) => 5,
    };
    off | u64::from(slice.woken.is_some()) << 3
}

fn waker(slice: &Slice) -> u64 {
    match slice.woken {
        Some(Woken::By(task)) => u64::from(task.0) + 1,
        Some(Woken::ByInterrupt) | None => 0,
    }
}

fn column(values: impl Iterator<Item = u64>) -> String {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    let mut bytes = Vec::new();
    for value in values {
        put_varint(&mut bytes, value);
        if bytes.len() > 1 << 16 {
            encoder.write_all(&bytes).expect("a Vec takes all bytes");
            bytes.clear();
        }
    }
    encoder.write_all(&bytes).expect("a Vec takes all bytes");
    base64(&encoder.finish().expect("a Vec takes all bytes"))
}

/// LEB128: seven bits per byte, lowest first; the eighth bit marks that more follow.
pub fn put_varint(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 128 {
        bytes.push(value as u8 | 128);
        value >>= 7;
    }
    bytes.push(value as u8);
}

/// RFC 4648, section 4, with padding.
#[must_use]
pub fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let word = chunk.iter().fold(0u32, |w, b| w << 8 | u32::from(*b)) << (8 * (3 - chunk.len()));
        for place in 0..4 {
            let digit = DIGITS[(word >> (18 - 6 * place) & 63) as usize];
            text.push(if place <= chunk.len() { digit as char } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use goodness_core::{CpuId, TaskId};
    use std::io::Read;

    fn unbase64(text: &str) -> Vec<u8> {
        let digit = |c: u8| match c {
            b'A'..=b'Z' => c - b'A',
            b'a'..=b'z' => c - b'a' + 26,
            b'0'..=b'9' => c - b'0' + 52,
            b'+' => 62,
            _ => 63,
        };
        let mut bytes = Vec::new();
        for four in text.as_bytes().chunks(4) {
            let kept = four.iter().filter(|c| **c != b'=').count();
            let word = four.iter().fold(0u32, |w, c| w << 6 | u32::from(digit(*c) & 63));
            bytes.extend(&word.to_be_bytes()[1..kept]);
        }
        bytes
    }

    fn numbers(column: &str) -> Vec<u64> {
        let mut bytes = Vec::new();
        flate2::read::ZlibDecoder::new(&unbase64(column)[..]).read_to_end(&mut bytes).unwrap();
        let (mut numbers, mut value, mut shift) = (Vec::new(), 0u64, 0);
        for byte in bytes {
            value |= u64::from(byte & 127) << shift;
            shift += 7;
            if byte < 128 {
                numbers.push(value);
                (value, shift) = (0, 0);
            }
        }
        numbers
    }

    #[test]
    fn base64_agrees_with_the_examples_of_rfc_4648() {
        let examples = [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")];
        for (plain, coded) in examples {
            assert_eq!(base64(plain.as_bytes()), coded);
        }
    }

    #[test]
    fn columns_hold_each_cpu_in_turn_with_gaps_and_lengths() {
        let slice = |cpu, task, start, end| Slice {
            task: TaskId(task),
            cpu: CpuId(cpu),
            start,
            end,
            waited: u64::from(task),
            woken: (task == 300).then_some(Woken::By(TaskId(7))),
            off: Some(Off::Preempted),
        };
        let slices = vec![slice(1, 300, 5, 10), slice(0, 1, 0, 1 << 40), slice(1, 2, 17, 18)];
        let timeline = Timeline { cpus: 2, slices, ..Timeline::default() };
        let packed = pack(&timeline);
        assert_eq!(packed.counts, [1, 2]);
        assert_eq!(numbers(&packed.columns.gap), [0, 5, 7]);
        assert_eq!(numbers(&packed.columns.length), [1 << 40, 5, 1]);
        assert_eq!(numbers(&packed.columns.task), [1, 300, 2]);
        assert_eq!(numbers(&packed.columns.waited), [1, 300, 2]);
        assert_eq!(numbers(&packed.columns.flags), [1, 9, 1]);
        assert_eq!(numbers(&packed.columns.waker), [0, 8, 0]);
        assert!(packed.throttled.is_none(), "pages of runs without quotas are as before");
    }

    #[test]
    fn times_out_of_quota_follow_each_other_by_their_begins() {
        let at = |task, from, to| Throttled { task: TaskId(task), from, to };
        let timeline = Timeline { end: 100, ..Timeline::default() };
        let packed = pack(&timeline.with_throttled(vec![at(2, 30, 90), at(1, 5, 10), at(1, 30, 31)])).throttled;
        let packed = packed.unwrap();
        assert_eq!((packed.count, numbers(&packed.task)), (3, vec![1, 1, 2]));
        assert_eq!((numbers(&packed.gap), numbers(&packed.length)), (vec![5, 25, 0], vec![5, 1, 60]));
    }
}
