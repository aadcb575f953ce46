//! What must hold of any trace of block I/O, shared by its targets.

use goodness_core::Time;
use goodness_trace::Input;
use goodness_trace::block::{BlktraceVersion, BlktraceWriter, BlockReader, BlockRecord, ByteOrder, read_block};

/// Reads `inputs` as one trace: no panic, records in order, each with a disk, as many as were counted.
pub fn read(inputs: &[&[u8]]) {
    let inputs = inputs.iter().map(|bytes| Input::bytes("fuzz", bytes)).collect::<Result<Vec<_>, _>>();
    let mut trace = match inputs.map(read_block) {
        Ok(Ok(trace)) => trace,
        Ok(Err(error)) => return assert!(!error.to_string().is_empty()),
        Err(_) => return,
    };
    let (mut now, mut count) = (Time::ZERO, 0);
    let mut writer = BlktraceWriter::new(std::io::sink(), BlktraceVersion::Eight, ByteOrder::Big);
    loop {
        match trace.next() {
            Ok(Some(record)) => {
                assert!(record.at >= now, "{} after {now}", record.at);
                assert!(record.sector.checked_add(record.sectors.into()).is_some());
                assert!(record.disk == BlockRecord::NO_DISK || trace.about().disks.name(record.disk).is_some());
                // A record of 4 GiB has no place in blktrace.
                let _ = writer.write(&record, &trace.about().disks);
                (now, count) = (record.at, count + 1);
            }
            Ok(None) => break,
            Err(error) => {
                assert!(error.to_string().contains("fuzz"), "{error} names no file");
                break;
            }
        }
    }
    assert_eq!(trace.about().records, count);
    assert!(matches!(trace.next(), Ok(None)), "the end is the end");
}
