//! The disk's buffer, bus and queue where several commands meet.

mod common;

use common::{one, request, run_until};
use goodness_core::{Device, Operation, RequestId, Span, Time};
use goodness_device::Hdd;
use goodness_device::hdd::geometry::Arm;
use goodness_device::hdd::parameters::{Parameters, Settings};
use goodness_device::hdd::presets::{atlas_10k, cheetah_4lp, cheetah_9lp, ibm_18es};

const FOREVER: Time = Time(u64::MAX - 1);

fn drive(parameters: Parameters, depth: u64, change: impl FnOnce(&mut Settings)) -> Hdd {
    let mut settings = Settings { depth: Some(depth), ..Settings::default() };
    change(&mut settings);
    Hdd::new(parameters.with(&settings).expect("these settings are possible"))
}

/// Starts the commands together at `at`. Returns their completion times.
fn together(disk: &mut Hdd, at: Time, commands: &[(Operation, u64, u32)]) -> Vec<u64> {
    let mut done = Vec::new();
    run_until(disk, at, &mut done);
    for (number, (op, sector, sectors)) in commands.iter().enumerate() {
        disk.start(at, RequestId(number as u32), &request(*op, *sector, *sectors));
    }
    run_until(disk, FOREVER, &mut done);
    done.sort_by_key(|(_, id)| *id);
    done.iter().map(|(at, _)| at.ns()).collect()
}

#[test]
fn what_was_written_is_read_from_the_buffer_where_the_drive_allows_it() {
    for (parameters, hits) in [(atlas_10k::parameters(), 1), (ibm_18es::parameters(), 0)] {
        let mut disk = drive(parameters, 1, |_| ());
        one(&mut disk, Time(0), &request(Operation::Write, 9_000_000, 8));
        one(&mut disk, Time(100_000_000), &request(Operation::Read, 9_000_000, 8));
        assert_eq!(disk.statistics().whole_hits, hits);
    }
}

#[test]
fn what_passes_after_it_was_overwritten_is_not_kept() {
    let passed = |written: u64| {
        let mut disk = drive(ibm_18es::parameters(), 2, |_| ());
        // While 8 sectors are sent, 0.8 ms, the next 37 pass.
        let commands = [(Operation::Read, 0, 8), (Operation::Write, written, 8)];
        let done = together(&mut disk, Time(0), &commands);
        one(&mut disk, Time(done[0].max(done[1]) + 50_000_000), &request(Operation::Read, 20, 8));
        disk.statistics().whole_hits
    };
    assert_eq!((passed(20), passed(9_000_000)), (0, 1));
}

#[test]
fn an_overhead_depends_on_the_command_before() {
    let mut disk = drive(cheetah_4lp::parameters(), 1, |_| ());
    let mut time = |at: u64, op, sector| one(&mut disk, Time(at), &request(op, sector, 4)).ns() - at;
    time(0, Operation::Read, 0);
    let bus = 4 * 106_000;
    // The following sectors were read ahead and replaced the ones read before.
    assert_eq!(time(100_000_000, Operation::Read, 4), 68_000 + bus);
    assert_eq!(time(200_000_000, Operation::Write, 5_000_000), 474_000 + bus);
    assert_eq!(time(300_000_000, Operation::Read, 8), 309_000 + bus);
}

#[test]
fn the_bus_carries_one_command_at_a_time() {
    let mut disk = drive(atlas_10k::parameters(), 2, |_| ());
    let at = Time(one(&mut disk, Time(0), &request(Operation::Read, 0, 8)).ns() + 50_000_000);
    let done = together(&mut disk, at, &[(Operation::Read, 0, 8), (Operation::Read, 0, 8)]);
    assert_eq!([done[0] - at.ns(), done[1] - done[0]], [184_000 + 792_000, 792_000]);
}

#[test]
fn a_flush_does_not_wait_for_the_reads_that_wait_for_the_arm() {
    let mut disk = drive(atlas_10k::parameters(), 10, |_| ());
    // The first read has the arm when the write comes.
    let mut commands =
        vec![(Operation::Read, 9_000_000, 8), (Operation::Write, 5_000_000, 8), (Operation::Flush, 0, 0)];
    commands.extend((0..7).map(|n| (Operation::Read, n * 2_000_000, 8)));
    let done = together(&mut disk, Time(0), &commands);
    assert!(done[2] < done[3], "the flush completed at {}, the next read at {}", done[2], done[3]);
}

#[test]
fn a_write_behind_the_flush_that_joins_one_before_it_does_not_let_the_flush_go_earlier() {
    let flushed = |behind: &[(Operation, u64, u32)]| {
        let mut disk = drive(atlas_10k::parameters(), 10, |_| ());
        let mut commands =
            vec![(Operation::Read, 9_000_000, 8), (Operation::Write, 5_000_000, 8), (Operation::Flush, 0, 0)];
        commands.extend(behind);
        together(&mut disk, Time(0), &commands)[2]
    };
    assert!(flushed(&[(Operation::Write, 5_000_008, 8)]) >= flushed(&[]));
}

#[test]
fn the_media_cannot_be_written_before_the_bus_has_brought_the_data() {
    let mut disk = drive(atlas_10k::parameters(), 1, |s| s.write_cache = Some(false));
    let done = one(&mut disk, Time(0), &request(Operation::Write, 0, 256));
    assert!(done.ns() >= 344_920 + 256 * 99_000, "{done}");
}

#[test]
fn the_arm_stays_until_the_last_read_that_counts_on_it_has_its_data() {
    let far = 9_000_000;
    for gap in 0..10 {
        let mut disk = drive(cheetah_9lp::parameters(), 3, |s| {
            (s.bus, s.near_hits, s.preseek) = (Some(Span(1600)), Some(true), Some(true));
        });
        let first = one(&mut disk, Time(gap * 600_000), &request(Operation::Read, 0, 8));
        let at = Time(first.ns() + 200_000);
        let reads = [(Operation::Read, 8, 50), (Operation::Read, 12, 180), (Operation::Read, far, 8)];
        let done = together(&mut disk, at, &reads);
        let arm = disk.mechanics().geometry.locate(far).arm;
        let seek = disk.mechanics().seek(Arm::default(), arm, false);
        // The second read's data are there before they are sent, a sector at least.
        assert!(done[2] >= done[1] - 180 * 1600 + seek, "{} is less than {} and {seek}", done[2], done[1]);
    }
}
