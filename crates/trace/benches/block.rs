//! Streaming read speed of block-I/O traces, in MB per second of CPU time.
//!
//! `cargo bench -p goodness-trace --bench block [-- FILE…]`; without FILE, 10 million made-up events as blktrace of one
//! CPU and of four, and a tenth of them as blkparse text.

use goodness_core::{DiskId, Operation, Time};
use goodness_trace::Input;
use goodness_trace::block::{
    BlktraceVersion, BlktraceWriter, BlockReader, BlockRecord, BlockStage, ByteOrder, DeviceNumber, Disks, open_block,
    read_block,
};
use std::fmt::Write;
use std::hint::black_box;
use std::path::PathBuf;
use std::time::Instant;

/// Events in the synthetic trace.
const EVENTS: u64 = 10_000_000;

fn main() {
    let files: Vec<PathBuf> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).map(PathBuf::from).collect();
    if !files.is_empty() {
        return report("files", || open_block(&files).expect("a trace"));
    }
    let whole = blktrace(1);
    report("blktrace, one CPU", || {
        read_block(vec![Input::bytes("bench", &whole[0]).expect("memory")]).expect("a trace")
    });
    drop(whole);
    let parts = blktrace(4);
    report("blktrace, four CPUs", || {
        let inputs = parts.iter().map(|part| Input::bytes("bench", part).expect("memory"));
        read_block(inputs.collect()).expect("a trace")
    });
    drop(parts);
    let text = blkparse(EVENTS / 10);
    report("blkparse", || read_block(vec![Input::bytes("bench", text.as_bytes()).expect("memory")]).expect("a trace"));
}

/// Reads three times and prints each.
fn report<R: BlockReader>(what: &str, open: impl Fn() -> R) {
    for _ in 0..3 {
        let (begun, cpu_before) = (Instant::now(), cpu_ns());
        let mut trace = open();
        while let Some(record) = trace.next().expect("a trace") {
            black_box(&record);
        }
        let wall = begun.elapsed().as_secs_f64();
        let seconds = cpu_before.zip(cpu_ns()).map_or(wall, |(before, after)| (after - before) as f64 / 1e9);
        let about = trace.about();
        println!(
            "{what}: {:.0} MB/s and {:.2} M events/s of CPU time ({:.0} MB/s of wall time), {} events, {} with a \
                response",
            about.bytes as f64 / 1e6 / seconds,
            about.records as f64 / 1e6 / seconds,
            about.bytes as f64 / 1e6 / wall,
            about.records,
            about.responses,
        );
    }
}

/// CPU time of this single-threaded process so far, if available.
fn cpu_ns() -> Option<u64> {
    std::fs::read_to_string("/proc/self/schedstat").ok()?.split(' ').next()?.parse().ok()
}

/// Requests of four processes on two disks, thirty-two at a time, with five stages each.
fn events(count: u64) -> impl Iterator<Item = BlockRecord> {
    let stages = [
        (BlockStage::Queue, 0),
        (BlockStage::GetRequest, 1),
        (BlockStage::Insert, 2),
        (BlockStage::Issue, 3),
        (BlockStage::Complete { error: 0 }, 32),
    ];
    (0..count).map(move |n| {
        let (round, stage) = (n / 5, (n % 5) as usize);
        let request = round.saturating_sub(stages[stage].1);
        let op = if request.is_multiple_of(3) { Operation::Write } else { Operation::Read };
        let sector = request.wrapping_mul(0x9e37_79b9) % (1 << 30);
        let record = BlockRecord::queue(Time(n * 700), DiskId((request % 2) as u16), op, sector, 8);
        BlockRecord { stage: stages[stage].0, pid: 700 + (request % 4) as u32, cpu: (round % 4) as u16, ..record }
    })
}

fn blktrace(cpus: u16) -> Vec<Vec<u8>> {
    let mut disks = Disks::default();
    disks.numbered(DeviceNumber { major: 8, minor: 0 });
    disks.numbered(DeviceNumber { major: 8, minor: 16 });
    let writer = |_| BlktraceWriter::new(Vec::new(), BlktraceVersion::Seven, ByteOrder::Little);
    let mut writers: Vec<_> = (0..cpus).map(writer).collect();
    for record in events(EVENTS) {
        writers[usize::from(record.cpu % cpus)].write(&record, &disks).expect("memory");
    }
    writers.into_iter().map(|w| w.finish().expect("memory")).collect()
}

fn blkparse(count: u64) -> String {
    let mut text = String::new();
    for (n, record) in events(count).enumerate() {
        let action = match record.stage {
            BlockStage::Queue => "Q",
            BlockStage::GetRequest => "G",
            BlockStage::Insert => "I",
            BlockStage::Issue => "D",
            _ => "C",
        };
        let (s, ns) = (record.at.ns() / 1_000_000_000, record.at.ns() % 1_000_000_000);
        let letters = if record.op == Operation::Read { "R" } else { "WS" };
        let _ = writeln!(
            text,
            "  8,{:<3} {:4} {:8} {s:5}.{ns:09} {:5} {action:>2} {letters:>3} {} + {} [{}]",
            record.disk.0 * 16,
            record.cpu,
            n + 1,
            record.pid,
            record.sector,
            record.sectors,
            if action == "C" { "0" } else { "worker" },
        );
    }
    text
}
