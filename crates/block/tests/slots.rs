//! Slots for requests under elevators that limit them. Groups under bfq with limits on slots: who asks for more than
//! its part starves beside one who does not, unless the limits are off or there are slots for all
//! (docs/fidelity/elevators.md).

#[path = "common/jobs.rs"]
mod jobs;

use goodness_core::{Io, Time};
use jobs::{Job, Load, Setup, expect_shares, reads};

/// Reads of each group of jobs on `nvme` with one hardware queue, in a second.
fn load(groups: &[(u64, u32)], settings: &str, requests: u32, jobs: &[Job]) -> Vec<f64> {
    let elevator = format!("bfq:low_latency=off{settings}");
    let window = (Time(500_000_000), Time(1_500_000_000));
    let setup = Setup { device: "nvme:queues=1", elevator: &elevator, requests: Some(requests), groups, window };
    Load::new(&setup, jobs).by_group()
}

const FLAT: [(u64, u32); 3] = [(100, 0), (300, 0), (100, 0)];
const NESTED: [(u64, u32); 4] = [(100, 0), (300, 0), (100, 1), (300, 1)];
const FOUR_AND_ONE: [Job; 5] = [reads(1, 64), reads(1, 64), reads(1, 64), reads(1, 64), reads(3, 64)];
const INNER_AND_OUTER: [Job; 3] = [reads(3, 64), reads(4, 64), reads(2, 64)];

/// Each process has a queue of its own: of its group's half, a quarter.
#[test]
fn four_jobs_of_a_group_starve_beside_one_if_their_queues_ask_for_more_than_their_parts() {
    let parts = |settings, requests| load(&FLAT, settings, requests, &FOUR_AND_ONE);
    let starved = parts(",slot_limits=on,stable_merge=off", 256);
    assert!(starved[1] > 10.0 * starved[0], "{starved:?}");
    let free = parts(",stable_merge=off", 256);
    assert!(free[1] < 2.0 * free[0], "{free:?}");
    expect_shares(&parts(",slot_limits=on,stable_merge=off", 1024), &[1.0, 1.0], 15.0);
}

/// The job that remains within the part of the queue they share gets what all would.
#[test]
fn four_jobs_that_share_a_queue_have_their_share_since_one_of_them_stays_within_its_part() {
    let parts = load(&FLAT, ",slot_limits=on", 256, &FOUR_AND_ONE);
    expect_shares(&parts, &[1.0, 1.0], 15.0);
}

#[test]
fn groups_within_a_group_starve_where_their_parts_of_its_slots_are_small() {
    let parts = |settings, requests| load(&NESTED, settings, requests, &INNER_AND_OUTER);
    let starved = parts(",slot_limits=on", 256);
    assert!(starved[0] == 0.0 || starved[1] == 0.0, "{starved:?}");
    expect_shares(&parts("", 256), &[1.0, 3.0, 12.0], 15.0);
    expect_shares(&parts(",slot_limits=on", 1024), &[1.0, 3.0, 12.0], 15.0);
}

#[test]
fn groups_that_ask_for_less_than_their_parts_share_by_weight() {
    let parts = |jobs: &[Job]| load(&FLAT, ",slot_limits=on", 256, jobs);
    expect_shares(&parts(&[reads(1, 64), reads(2, 64)]), &[1.0, 3.0], 10.0);
    expect_shares(&parts(&[reads(1, 1), reads(2, 1)]), &[1.0, 1.0], 20.0);
}

/// Whoever has its part may still take the first slot when it is free.
#[test]
fn jobs_that_all_ask_for_more_than_their_parts_go_on_with_the_first_slot() {
    let parts = load(&FLAT, ",slot_limits=on", 8, &[reads(1, 64), reads(2, 64), reads(3, 64)]);
    assert!(parts.iter().all(|reads| *reads > 1000.0), "{parts:?}");
}

/// I/Os of these jobs in a second on `ssd`, which has 64 slots, and the most slots in use.
fn on_ssd(elevator: &str, jobs: &[Job]) -> (Vec<u64>, u32) {
    let window = (Time::ZERO, Time(1_000_000_000));
    Load::new(&Setup { device: "ssd", elevator, requests: None, groups: &[], window }, jobs).run()
}

/// Readers that want twice as many slots as there are leave a writer those among the first that they free.
#[test]
fn who_may_have_the_first_slots_alone_gets_one_beside_others_that_hold_all() {
    let writes = |depth| Job { group: 0, depth, io: Io::write };
    let [all, three_quarters] = ["mq-deadline", "kyber"].map(|elevator| on_ssd(elevator, &[writes(100)]).1);
    assert_eq!([all, three_quarters], [64, 48], "slots of a writer alone");
    for elevator in ["kyber", "bfq:low_latency=off", "mq-deadline:async_depth=16", "mq-deadline"] {
        let (done, most) = on_ssd(elevator, &[reads(0, 63), reads(0, 63), writes(1)]);
        assert!(done[2] > 100 && most == 64, "{elevator}: {done:?} with {most}");
    }
}
