//! Groups under bfq with limits on slots: who asks for more than its part starves beside one who does not, unless the
//! limits are off or there are slots for all (docs/fidelity/elevators.md).

use goodness_block::{Disk, Out, Outcome, QueueOptions, by_name_around};
use goodness_core::{Group, GroupId, Groups, Io, Rng, Seed, Submitter, Time};
use std::collections::VecDeque;

/// From here on it is counted, and until then.
const FROM: Time = Time(500_000_000);
const END: Time = Time(1_500_000_000);

/// A job of random reads of 4 KiB: its group, and the reads that it keeps in flight.
type Job = (u32, u32);

/// Jobs on `nvme` with one hardware queue.
struct Load {
    disk: Box<dyn Disk>,
    out: Out,
    now: Time,
    jobs: Vec<Job>,
    /// By job: reads that it has to submit, and those that wait for a slot; while any does, it submits none.
    due: Vec<(u32, u32)>,
    /// By tag: its job.
    of: Vec<usize>,
    free: Vec<usize>,
    done: Vec<u64>,
    rng: Rng,
}

impl Load {
    fn new(groups: &[(u64, u32)], settings: &str, requests: u32, jobs: &[Job]) -> Load {
        let mut all = Groups::default();
        for (number, (weight, parent)) in groups.iter().enumerate() {
            let io_weight = Some(*weight);
            all.add(Group { io_weight, ..Group::new(&format!("g{number}"), GroupId(*parent)) });
        }
        let device = goodness_device::by_name("nvme:queues=1", Seed(1)).unwrap();
        let options = QueueOptions { requests: Some(requests), ..QueueOptions::default() };
        let elevator = format!("bfq:low_latency=off{settings}");
        let disk = by_name_around(&elevator, &options, device, |mut made| {
            made.elevator.share(&all);
            made
        });
        Load {
            disk: disk.unwrap(),
            out: Out::with_events(),
            now: Time::ZERO,
            jobs: jobs.to_vec(),
            due: jobs.iter().map(|(_, depth)| (*depth, 0)).collect(),
            of: Vec::new(),
            free: Vec::new(),
            done: vec![0; jobs.len()],
            rng: Seed(3).rng(),
        }
    }

    /// Each job submits what it has to, one read after the other, until one has to wait for a slot.
    fn submit(&mut self) {
        for job in 0..self.jobs.len() {
            while self.due[job].0 > 0 && self.due[job].1 == 0 {
                let tag = self.free.pop().unwrap_or(self.of.len());
                self.of.resize(self.of.len().max(tag + 1), 0);
                self.of[tag] = job;
                self.due[job].0 -= 1;
                let sector = self.rng.below(1 << 20) * 8;
                let read = Io::read(Submitter(job as u32), sector, 8);
                let io = Io { group: GroupId(self.jobs[job].0), tag: tag as u64, ..read };
                self.disk.submit(self.now, &[io], &mut self.out);
                self.heed();
            }
        }
    }

    fn heed(&mut self) {
        let told: VecDeque<Outcome> = self.out.outcomes.drain(..).collect();
        for outcome in told {
            match outcome {
                Outcome::Waiting { tag } => self.due[self.of[tag as usize]].1 += 1,
                Outcome::Admitted { tag } => self.due[self.of[tag as usize]].1 -= 1,
                Outcome::Done { tag } => {
                    let job = self.of[tag as usize];
                    self.due[job].0 += 1;
                    self.done[job] += u64::from(self.now >= FROM);
                    self.free.push(tag as usize);
                }
            }
        }
        self.out.clear();
    }

    /// Reads of each group that has jobs, by the first job in it.
    fn run(mut self) -> Vec<f64> {
        self.submit();
        while self.now < END {
            self.now = self.disk.next_event();
            assert!(self.now < Time::NEVER, "somebody waits, and nothing will wake it");
            self.disk.advance(self.now, &mut self.out);
            self.heed();
            self.submit();
        }
        let mut groups: Vec<(u32, f64)> = Vec::new();
        for ((group, _), done) in self.jobs.iter().zip(&self.done) {
            match groups.iter_mut().find(|it| it.0 == *group) {
                Some(it) => it.1 += *done as f64,
                None => groups.push((*group, *done as f64)),
            }
        }
        groups.into_iter().map(|it| it.1).collect()
    }
}

const FLAT: [(u64, u32); 3] = [(100, 0), (300, 0), (100, 0)];
const NESTED: [(u64, u32); 4] = [(100, 0), (300, 0), (100, 1), (300, 1)];
const FOUR_AND_ONE: [Job; 5] = [(1, 64), (1, 64), (1, 64), (1, 64), (3, 64)];
const INNER_AND_OUTER: [Job; 3] = [(3, 64), (4, 64), (2, 64)];

/// True if the parts are to each other as `shares`, within a part of `slack` hundredths.
#[track_caller]
fn expect_shares(parts: &[f64], shares: &[f64], slack: f64) {
    let (all, whole) = (parts.iter().sum::<f64>(), shares.iter().sum::<f64>());
    for (part, share) in parts.iter().zip(shares) {
        let off = part / all / (share / whole) - 1.0;
        assert!(off.abs() <= slack / 100.0, "{parts:?} for {shares:?}");
    }
}

/// Each process has a queue of its own: of its group's half, a quarter.
#[test]
fn four_jobs_of_a_group_starve_beside_one_if_their_queues_ask_for_more_than_their_parts() {
    let parts = |settings, requests| Load::new(&FLAT, settings, requests, &FOUR_AND_ONE).run();
    let starved = parts(",slot_limits=on,stable_merge=off", 256);
    assert!(starved[1] > 10.0 * starved[0], "{starved:?}");
    let free = parts(",stable_merge=off", 256);
    assert!(free[1] < 2.0 * free[0], "{free:?}");
    expect_shares(&parts(",slot_limits=on,stable_merge=off", 1024), &[1.0, 1.0], 15.0);
}

/// The job that remains within the part of the queue they share gets what all would.
#[test]
fn four_jobs_that_share_a_queue_have_their_share_since_one_of_them_stays_within_its_part() {
    let parts = Load::new(&FLAT, ",slot_limits=on", 256, &FOUR_AND_ONE).run();
    expect_shares(&parts, &[1.0, 1.0], 15.0);
}

#[test]
fn groups_within_a_group_starve_where_their_parts_of_its_slots_are_small() {
    let parts = |settings, requests| Load::new(&NESTED, settings, requests, &INNER_AND_OUTER).run();
    let starved = parts(",slot_limits=on", 256);
    assert!(starved[0] == 0.0 || starved[1] == 0.0, "{starved:?}");
    expect_shares(&parts("", 256), &[1.0, 3.0, 12.0], 15.0);
    expect_shares(&parts(",slot_limits=on", 1024), &[1.0, 3.0, 12.0], 15.0);
}

#[test]
fn groups_that_ask_for_less_than_their_parts_share_by_weight() {
    let parts = |jobs: &[Job]| Load::new(&FLAT, ",slot_limits=on", 256, jobs).run();
    expect_shares(&parts(&[(1, 64), (2, 64)]), &[1.0, 3.0], 10.0);
    expect_shares(&parts(&[(1, 1), (2, 1)]), &[1.0, 1.0], 20.0);
}

/// Whoever has its part may still take the first slot when it is free.
#[test]
fn jobs_that_all_ask_for_more_than_their_parts_go_on_with_the_first_slot() {
    let parts = Load::new(&FLAT, ",slot_limits=on", 8, &[(1, 64), (2, 64), (3, 64)]).run();
    assert!(parts.iter().all(|reads| *reads > 1000.0), "{parts:?}");
}
