//! Binary traces are written and read back, damaged, cut and merged; arbitrary bytes are read.

use super::*;
use crate::reorder::Reorder;
use crate::repairs::{Repair, Repairs};
use goodness_core::{DiskId, Operation, Span, Time};
use proptest::prelude::*;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use std::fs;

const LAYOUTS: [(BlktraceVersion, ByteOrder); 4] = [
    (BlktraceVersion::Seven, ByteOrder::Little),
    (BlktraceVersion::Seven, ByteOrder::Big),
    (BlktraceVersion::Eight, ByteOrder::Little),
    (BlktraceVersion::Eight, ByteOrder::Big),
];

fn disks() -> Disks {
    let mut disks = Disks::default();
    disks.numbered(DeviceNumber { major: 8, minor: 0 });
    disks.numbered(DeviceNumber { major: 253, minor: 70_000 });
    disks
}

/// One record of each kind, 1 us apart.
fn samples() -> Vec<BlockRecord> {
    let base = BlockRecord { pid: 697, cpu: 1, ..BlockRecord::queue(Time(0), DiskId(0), Operation::Write, 2048, 8) };
    let stages = [
        BlockStage::Queue,
        BlockStage::GetRequest,
        BlockStage::Sleep,
        BlockStage::BackMerge,
        BlockStage::FrontMerge,
        BlockStage::Insert,
        BlockStage::Issue,
        BlockStage::Requeue,
        BlockStage::Issue,
        BlockStage::Complete { error: 5 },
        BlockStage::Split { at: 2050 },
        BlockStage::Bounce,
        BlockStage::Remap { from: DiskId(1), sector: 63 },
        BlockStage::Abort,
    ];
    let mut records: Vec<BlockRecord> = stages.into_iter().map(|stage| BlockRecord { stage, ..base }).collect();
    records[9].response = Some(Span(1_000));
    let flags = BlockFlags::SYNC.with(BlockFlags::META).with(BlockFlags::DURABLE).with(BlockFlags::FLUSH_BEFORE);
    records.push(BlockRecord { flags, ..base });
    records.push(BlockRecord { flags: BlockFlags::READ_AHEAD, op: Operation::Read, disk: DiskId(1), ..base });
    records.push(BlockRecord { op: Operation::Discard, ..base });
    let bare = BlockRecord { op: Operation::Flush, sector: 0, sectors: 0, ..base };
    records.push(bare);
    records.push(BlockRecord { stage: BlockStage::Plug, op: Operation::Read, ..bare });
    let unplug = BlockStage::Unplug { requests: 3, timer: true };
    records.push(BlockRecord { stage: unplug, op: Operation::Read, ..bare });
    for (at, record) in records.iter_mut().enumerate() {
        record.at = Time(at as u64 * 1_000);
    }
    records
}

fn written(records: &[BlockRecord], version: BlktraceVersion, order: ByteOrder) -> Vec<u8> {
    let mut writer = BlktraceWriter::new(Vec::new(), version, order);
    writer.process(697, "jbd2/sda1").expect("memory");
    for record in records {
        writer.write(record, &disks()).expect("memory");
    }
    writer.finish().expect("memory")
}

#[test]
fn what_was_written_reads_back_in_every_version_and_byte_order() {
    for (version, order) in LAYOUTS {
        let bytes = written(&samples(), version, order);
        let read = load_block_bytes("t", &bytes).expect("a trace");
        assert_eq!(read.records, samples(), "{version:?} {order:?}");
        assert!(read.about.repairs.is_empty(), "{:?}", read.about.repairs);
        assert_eq!(read.about.processes.name(697).map(|n| n.to_string()).as_deref(), Some("jbd2/sda1"));
        assert_eq!(read.about.disks.name(DiskId(1)), Some("253:70000"));
        assert_eq!(read.about.bytes, bytes.len() as u64);
    }
}

#[test]
fn both_versions_may_stand_in_one_file() {
    let (first, second) = (&samples()[..3], &samples()[3..]);
    let mut bytes = written(first, BlktraceVersion::Seven, ByteOrder::Big);
    bytes.extend(written(second, BlktraceVersion::Eight, ByteOrder::Big));
    assert_eq!(load_block_bytes("t", &bytes).expect("a trace").records, samples());
}

#[test]
fn a_version_that_is_not_read_is_named() {
    let mut bytes = written(&samples(), BlktraceVersion::Seven, ByteOrder::Little);
    bytes[0] = 5;
    let sentence = load_block_bytes("t", &bytes).expect_err("an old version").to_string();
    assert_eq!(sentence, "t, byte 0: these are blktrace records of version 5, and versions 7 and 8 are read");
}

#[test]
fn junk_between_records_is_passed_over_and_named() {
    let records = samples();
    let mut bytes = written(&records[..5], BlktraceVersion::Seven, ByteOrder::Little);
    let at = bytes.len();
    bytes.extend([0xa5; 1000]);
    // A magic without a record behind it.
    bytes.extend([7, 0x74, 0x61, 0x65].iter().chain(&[0xff; 60]));
    let mut rest = written(&records[5..], BlktraceVersion::Seven, ByteOrder::Little);
    // The second writer began anew; its numbers go on where the first's ended.
    rest.drain(..64);
    bytes.extend(rest);
    let read = load_block_bytes("t", &bytes).expect("a trace");
    assert_eq!(read.records, records);
    assert_eq!(read.about.repairs.of(Repair::DamagedBytes).count, 1);
    assert!(read.about.warnings[0].starts_with(&format!("t, byte {at}: ")), "{:?}", read.about.warnings);
}

#[test]
fn junk_before_the_first_record_is_passed_over() {
    for (version, order) in LAYOUTS {
        let mut bytes = vec![0; 77];
        bytes.extend(written(&samples(), version, order));
        let read = load_block_bytes("t", &bytes).expect("a trace");
        assert_eq!(read.records, samples());
        assert_eq!(read.about.repairs.of(Repair::DamagedBytes).count, 1);
    }
}

#[test]
fn a_wrong_payload_length_swallows_no_record() {
    let mut bytes = written(&samples(), BlktraceVersion::Seven, ByteOrder::Little);
    // The first notice (48 + 16 bytes) is followed by a record whose payload claims 300 bytes.
    bytes[64 + 46..64 + 48].copy_from_slice(&300u16.to_le_bytes());
    let read = load_block_bytes("t", &bytes).expect("a trace");
    assert_eq!(read.records, samples());
}

#[test]
fn a_file_cut_anywhere_gives_what_came_before() {
    let bytes = written(&samples(), BlktraceVersion::Seven, ByteOrder::Little);
    for len in 0..bytes.len() {
        match load_block_bytes("t", &bytes[..len]) {
            Ok(read) => assert!(samples().starts_with(&read.records), "{len}"),
            Err(error) => assert!(len < 64 + 48, "{len}: {error}"),
        }
    }
    let cut = load_block_bytes("t", &bytes[..bytes.len() - 1]).expect("a trace");
    assert_eq!(cut.about.repairs.of(Repair::TruncatedEnd).count, 1);
}

#[test]
fn missing_sequence_numbers_are_losses() {
    let bytes = written(&samples()[..6], BlktraceVersion::Seven, ByteOrder::Little);
    // Without its third and fourth record.
    let mut cut = bytes[..64 + 2 * 48].to_vec();
    cut.extend(&bytes[64 + 4 * 48..]);
    let read = load_block_bytes("t", &cut).expect("a trace");
    assert_eq!(read.about.repairs.of(Repair::LostEvents).count, 2);
    assert!(read.about.warnings.iter().any(|w| w.contains("2 events were lost")));
}

#[test]
fn each_cpu_of_a_disk_counts_its_own_records() {
    let bytes = written(&[samples()[0]; 4], BlktraceVersion::Seven, ByteOrder::Little);
    let losses = |cpus: [u32; 4], sequences: [u32; 4]| {
        let mut bytes = bytes.clone();
        for (record, (cpu, sequence)) in bytes[64..].chunks_mut(48).zip(cpus.into_iter().zip(sequences)) {
            record[4..8].copy_from_slice(&sequence.to_le_bytes());
            record[40..44].copy_from_slice(&cpu.to_le_bytes());
        }
        load_block_bytes("t", &bytes).expect("a trace").about.repairs.of(Repair::LostEvents).count
    };
    assert_eq!(losses([0, 1, 0, 1], [1, 101, 2, 102]), 0);
    assert_eq!(losses([0, 1, 0, 1], [1, 101, 4, 103]), 3);
}

#[test]
fn negative_times_odd_bytes_and_passed_through_commands_are_counted() {
    let mut bytes = written(&samples()[..6], BlktraceVersion::Seven, ByteOrder::Little);
    let record = |n: usize| 64 + n * 48;
    bytes[record(1) + 8..][..8].copy_from_slice(&(-5i64).to_le_bytes());
    bytes[record(2) + 24..][..4].copy_from_slice(&1000u32.to_le_bytes());
    bytes[record(3) + 31] |= 2;
    bytes[record(4) + 16..][..8].copy_from_slice(&u64::MAX.to_le_bytes());
    bytes[record(5) + 28] = 23;
    let read = load_block_bytes("t", &bytes).expect("a trace");
    assert_eq!(read.records.len(), 2);
    assert_eq!(read.records[1].sectors, 2);
    let count = |kind| read.about.repairs.of(kind).count;
    assert_eq!((count(Repair::ImpossibleTime), count(Repair::PartialSector)), (1, 1));
    assert_eq!((count(Repair::OtherCommand), count(Repair::ImpossibleExtent)), (2, 1));
}

/// A folder with the samples divided into files of three CPUs.
fn folder_of(name: &str) -> std::path::PathBuf {
    let folder = std::env::temp_dir().join(format!("goodness-{name}-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    for cpu in 0..3 {
        let own: Vec<BlockRecord> = samples().into_iter().skip(cpu).step_by(3).collect();
        let bytes = written(&own, BlktraceVersion::Seven, ByteOrder::Little);
        fs::write(folder.join(format!("sda.blktrace.{cpu}")), bytes).expect("a file");
    }
    // Nothing happened on the fourth CPU; the last file is of another device.
    fs::write(folder.join("sda.blktrace.3"), b"").expect("a file");
    let other = BlockRecord { disk: DiskId(1), ..samples()[0] };
    let other = written(&[other], BlktraceVersion::Seven, ByteOrder::Little);
    fs::write(folder.join("sdb.blktrace.0"), compress_to_vec(&other[..], CompressionLevel::Fastest)).expect("a file");
    folder
}

#[test]
fn one_file_stands_for_its_run_and_a_folder_for_all_runs_in_it() {
    let folder = folder_of("one-file");
    let one = load_block(&[folder.join("sda.blktrace.1")]).expect("a trace");
    assert_eq!(
        one.records.iter().map(|r| (r.at, r.stage)).collect::<Vec<_>>(),
        samples().iter().map(|r| (r.at, r.stage)).collect::<Vec<_>>()
    );
    assert!(one.records.iter().all(|r| one.about.disks.name(r.disk).is_some()));
    let all = load_block(std::slice::from_ref(&folder)).expect("a trace");
    assert_eq!(all.records.len(), samples().len() + 1);
    let two = [folder.join("sda.blktrace.0"), folder.join("sda.blktrace.2")];
    let two = load_block(&two).expect("a trace");
    assert_eq!(two.records.len(), samples().len() - samples().iter().skip(1).step_by(3).count());
    fs::remove_dir_all(folder).expect("its own folder");
}

#[test]
fn what_does_not_belong_together_is_refused_by_name() {
    let folder = folder_of("not-together");
    let text = folder.join("t.txt");
    fs::write(&text, "0 0 1 8 1\n").expect("a file");
    let sentence = |paths: &[PathBuf]| load_block(paths).expect_err("two kinds").to_string();
    let blktrace = folder.join("sda.blktrace.0");
    assert!(sentence(&[text.clone(), blktrace.clone()]).contains("only files of blktrace can be read together"));
    assert!(sentence(&[blktrace, text]).contains("t.txt, byte 0: this is no file of blktrace"));
    let empty = folder.join("empty");
    fs::create_dir(&empty).expect("a folder");
    assert!(sentence(&[empty]).contains("without files named DEVICE.blktrace.N"));
    assert!(sentence(&[folder.join("sda.blktrace.3"), folder.join("sda.blktrace.3")]).contains("empty"));
    fs::remove_dir_all(folder).expect("its own folder");
}

#[test]
fn a_record_that_comes_too_late_gets_the_time_of_those_given_before() {
    let (mut reorder, mut repairs) = (Reorder::default(), Repairs::default());
    let mut given = Vec::new();
    for (at, place) in (10_000..12_000).chain(0..10).zip(1..) {
        let record = BlockRecord::queue(Time(at), DiskId(0), Operation::Read, 0, 8);
        given.extend(reorder.push(source::Numbered { record, place }, &mut repairs));
    }
    given.extend(std::iter::from_fn(|| reorder.pop()));
    assert_eq!((given.len(), repairs.of(Repair::ClockBackwards).count), (2010, 10));
    assert!(given.is_sorted_by_key(|it| it.record.at), "{given:?}");
}

#[test]
fn equal_times_are_ordered_by_their_sequence() {
    let at = |sector| BlockRecord { sector, ..samples()[0] };
    let mut late = BlktraceWriter::new(Vec::new(), BlktraceVersion::Seven, ByteOrder::Little);
    let mut early = BlktraceWriter::new(Vec::new(), BlktraceVersion::Seven, ByteOrder::Little);
    for sector in [8, 16] {
        early.write(&at(sector), &disks()).expect("memory");
    }
    for sector in [1, 24] {
        late.write(&at(sector), &disks()).expect("memory");
    }
    let (late, early) = (late.finish().expect("memory"), early.finish().expect("memory"));
    // Without the first record of `late`, what is left has the sequence number 2.
    let inputs = [&late[48..], &early[..]].map(|bytes| Input::bytes("t", bytes).expect("memory"));
    let read = keep(read_block(inputs.into()).expect("blktrace")).expect("a trace");
    assert_eq!(read.records.iter().map(|r| r.sector).collect::<Vec<_>>(), [8, 24, 16]);
}

#[test]
fn compressed_input_is_read_and_perf_data_is_told_how_to_be_printed() {
    let bytes = written(&samples(), BlktraceVersion::Seven, ByteOrder::Little);
    let packed = compress_to_vec(&bytes[..], CompressionLevel::Fastest);
    assert_eq!(load_block_bytes("t", &packed).expect("a trace").records, samples());
    let sentence = load_block_bytes("t", b"PERFILE2\0\0\0").expect_err("perf's").to_string();
    assert!(sentence.contains("perf script"), "{sentence}");
}

#[test]
fn a_reversed_trace_is_refused() {
    let mut records: Vec<BlockRecord> = (0..5_000).map(|n| BlockRecord { at: Time(n), ..samples()[0] }).collect();
    records.reverse();
    let bytes = written(&records, BlktraceVersion::Seven, ByteOrder::Little);
    assert!(matches!(load_block_bytes("t", &bytes), Err(TraceError::OutOfOrder { .. })));
}

/// Invariants for any input.
fn holds(bytes: &[u8]) {
    match load_block_bytes("t", bytes) {
        Ok(read) => {
            assert!(read.records.is_sorted_by_key(|r| r.at));
            assert_eq!(read.about.records, read.records.len() as u64);
            for record in &read.records {
                assert!(record.sector.checked_add(record.sectors.into()).is_some());
                assert!(record.disk == BlockRecord::NO_DISK || read.about.disks.name(record.disk).is_some());
            }
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

const TEXTS: [&str; 8] = [
    "fio version 2 iolog\nf add\nf read 0 512\nf wait 200 0\nf write 512 512\n",
    "fio version 3 iolog\n0 f add\n5 f read 0 512\n9 f sync 0 0\n",
    " dd-9 [000] d..1.  1.000001: block_rq_issue: 8,0 R 4096 () 8 + 8 [dd]\n dd-9 [000] d..1.  1.000002: \
        block_rq_complete: 8,0 R () 8 + 8 [0]\n",
    "  8,0    1        1     0.000001000   697  Q  WS 2048 + 8 [x]\n  8,0    1        2     0.000002000   697  A  W 1 \
        + 8 <- (8,1) 0\n",
    "128166372003061629,usr,0,Read,7014609920,24576,41286\n128166372003061639,usr,0,Write,0,512,1\n",
    "0, 20, 8192, W, 0.551706\n0,20,8192,r,0.6\n",
    "W Hit    4583176   4    663.00000  45422.00000\nR Miss 1 4 663.0 45422.0\n",
    "0.000000 0 1234 8 1\n1.5 1 99 8 0\n",
];

proptest! {
    #[test]
    fn random_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        holds(&bytes);
    }

    #[test]
    fn mutated_traces_are_read_or_refused(
        which in 0usize..12,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0u8..4), 1..20),
    ) {
        let mut bytes = match TEXTS.get(which) {
            Some(text) => text.as_bytes().to_vec(),
            None => written(&samples(), LAYOUTS[which - 8].0, LAYOUTS[which - 8].1),
        };
        for (at, byte, way) in changes {
            if bytes.is_empty() {
                break;
            }
            let at = at.index(bytes.len());
            match way {
                0 => bytes[at] = byte,
                1 => bytes.insert(at, byte),
                2 => { bytes.remove(at); }
                _ => bytes.truncate(at.max(bytes.len() / 2)),
            }
        }
        holds(&bytes);
    }
}
