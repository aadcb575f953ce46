//! Shares of groups: closed loops on the test host. Weights are kept within a tenth: a turn is 16 384 sectors at most,
//! 1.5 % of what the lighter of two gets in 50 s and 6 % of what the lightest of three does, and one may be cut at each
//! end.

use super::{facts, fair};
use crate::bfq::Bfq;
use crate::parts::testbed::{Disk, Job, Testbed};
use goodness_core::{Elevator, Group, GroupId, Groups, Io, QueueFacts, Span, Submitter, Time};

/// From here on it is counted.
const SINCE: Time = Time(10_000_000_000);
const ROOT: GroupId = GroupId::ROOT;

/// The test disk behind bfq with groups of these weights and parents, numbered from 1.
fn bed(groups: &[(Option<u64>, GroupId)]) -> Testbed<Bfq> {
    let mut all = Groups::default();
    for (number, (io_weight, parent)) in groups.iter().enumerate() {
        all.add(Group { io_weight: *io_weight, ..Group::new(&format!("g{number}"), *parent) });
    }
    let mut bed = Testbed::new(QueueFacts { requests: 256, ..facts() }, fair(), Disk::default());
    bed.driver.call(|bfq: &mut Bfq, _| bfq.share(&all));
    bed
}

/// Groups of 100 and 300.
fn light_and_heavy() -> Testbed<Bfq> {
    bed(&[(Some(100), ROOT), (Some(300), ROOT)])
}

/// A sequential reader of its own region, in a group.
fn reader(number: u32, group: u32) -> Job {
    let job = Job::reader(Submitter(number), u64::from(number) << 24, Span::from_us(100));
    Job { group: GroupId(group), ..job }
}

fn random(number: u32, group: u32) -> Job {
    let from = u64::from(number) << 24;
    Job { group: GroupId(group), ..Job::random_reader(Submitter(number), from, from + (1 << 24)) }
}

fn writer(number: u32, group: u32) -> Job {
    Job { group: GroupId(group), ..Job::writer(Submitter(number), u64::from(number) << 24, 32) }
}

/// Sectors of each job in 50 s.
fn sectors(bed: &mut Testbed<Bfq>, jobs: Vec<Job>) -> Vec<u64> {
    let jobs: Vec<usize> = jobs.into_iter().map(|job| bed.add(job)).collect();
    bed.run(Span::from_s(60));
    jobs.iter().map(|job| bed.done_since(*job, SINCE).sectors).collect()
}

/// True if the parts are to each other as `shares`, within a tenth.
#[track_caller]
fn expect_shares(parts: &[u64], shares: &[u64]) {
    let (all, whole) = (parts.iter().sum::<u64>(), shares.iter().sum::<u64>());
    for (part, share) in parts.iter().zip(shares) {
        let (got, expected) = (10 * part * whole, 10 * share * all);
        assert!(got.abs_diff(expected) <= expected / 10, "{parts:?} for {shares:?}");
    }
}

#[test]
fn groups_of_100_and_300_share_1_to_3_whatever_their_processes_do() {
    for job in [reader, random, writer] {
        let parts = sectors(&mut light_and_heavy(), vec![job(0, 1), job(1, 2)]);
        expect_shares(&parts, &[1, 3]);
    }
}

/// The control: without a weight there are no groups, and all are alike.
#[test]
fn groups_without_weights_share_nothing() {
    for job in [reader, random] {
        let parts = sectors(&mut bed(&[(None, ROOT), (None, ROOT)]), vec![job(0, 1), job(1, 2), job(2, 2)]);
        expect_shares(&parts, &[1, 1, 1]);
    }
}

#[test]
fn a_group_within_a_group_has_its_share_of_that_ones() {
    let groups = [(Some(100), ROOT), (Some(300), ROOT), (Some(100), GroupId(1)), (Some(300), GroupId(1))];
    let parts = sectors(&mut bed(&groups), vec![reader(0, 3), reader(1, 4), reader(2, 2)]);
    expect_shares(&parts, &[1, 3, 12]);
}

/// Eight readers in one group beside one; the control is the same load without groups.
#[test]
fn a_group_of_many_processes_gets_no_more_than_one_of_one() {
    for (weight, shares) in [(Some(100), [1, 1]), (None, [8, 1])] {
        let mut bed = bed(&[(weight, ROOT), (weight, ROOT)]);
        let jobs = (0..9).map(|number| reader(number, if number < 8 { 1 } else { 2 })).collect();
        let parts = sectors(&mut bed, jobs);
        expect_shares(&[parts[..8].iter().sum(), parts[8]], &shares);
        expect_shares(&parts[..8], &[1; 8]);
    }
}

#[test]
fn a_process_in_no_group_weighs_40_beside_a_group() {
    let parts = sectors(&mut bed(&[(Some(100), ROOT)]), vec![reader(0, 0), reader(1, 1)]);
    expect_shares(&parts, &[40, 100]);
}

#[test]
fn what_an_idle_group_leaves_goes_to_the_others() {
    let alone = |group| {
        let mut bed = light_and_heavy();
        let job = bed.add(reader(0, group));
        bed.run(Span::from_s(20));
        bed.done(job)
    };
    assert_eq!(alone(1), alone(0), "as without groups");
    let mut bed = light_and_heavy();
    let [light, heavy] = [bed.add(reader(0, 1)), bed.add(Job { count: 1000, ..reader(1, 2) })];
    bed.run(Span::from_s(60));
    assert_eq!(bed.done(heavy).requests, 1000);
    let end = bed.log.iter().filter(|served| served.job == heavy).map(|served| served.completed).max().unwrap();
    let per_second = |from: Time, to: Time| {
        let served = bed.log.iter().filter(|it| it.job == light && it.completed >= from && it.completed < to);
        served.map(|it| u64::from(it.sectors)).sum::<u64>() * 1000 / (to.since(from).0 / 1_000_000)
    };
    let (before, after) = (per_second(Time::ZERO, end), per_second(end, bed.driver.now()));
    assert!(after > 3 * before, "{before} and {after} sectors a second");
}

#[test]
fn requests_of_two_groups_do_not_merge_and_have_queues_of_their_own() {
    let mut bed = light_and_heavy();
    let of = |group, io| Io { group: GroupId(group), ..io };
    let driver = &mut bed.driver;
    let write = driver.insert(of(1, Io::write(Submitter(0), 0, 8)));
    let read = driver.insert(of(1, Io::read(Submitter(0), 64, 8)));
    let mut ask = |request, io| driver.call(|bfq, cx| bfq.allows_merge(cx, request, &io));
    let [next_write, next_read] =
        [Io::write(Submitter(1), 8, 8), Io::read(Submitter(0), 72, 8)];
    assert_eq!([ask(write, of(1, next_write)), ask(write, of(2, next_write))], [true, false]);
    assert_eq!([ask(read, of(1, next_read)), ask(read, of(2, next_read))], [true, false]);
}

#[test]
fn a_process_that_moves_takes_its_waiting_requests_along() {
    let mut bed = light_and_heavy();
    let read = |group, sector| Io {
        group: GroupId(group),
        ..Io::read(Submitter(0), sector, 8)
    };
    let first = bed.driver.insert(read(1, 0));
    let queue = bed.driver.elevator().owner[first.index()];
    assert_eq!(bed.driver.elevator().schedule.group(queue), 1);
    let second = bed.driver.insert(read(2, 64));
    let elevator = bed.driver.elevator();
    assert_eq!(elevator.owner[second.index()], queue);
    assert_eq!((elevator.schedule.group(queue), elevator.owner[first.index()]), (2, queue));
    assert_eq!(bed.driver.drain(), [0, 64]);
}
