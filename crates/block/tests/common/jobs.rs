//! Jobs that keep a number of I/Os in flight, on a disk that their groups share.

use goodness_block::{Disk, Out, Outcome, QueueOptions, by_name_around};
use goodness_core::{Group, GroupId, Groups, Io, Rng, Seed, Submitter, Time};

/// I/O of 4 KiB at random places: its group, its number in flight, and what it is.
#[derive(Clone, Copy)]
pub struct Job {
    pub group: u32,
    pub depth: u32,
    pub io: fn(Submitter, u64, u32) -> Io,
}

/// Random reads.
pub const fn reads(group: u32, depth: u32) -> Job {
    Job { group, depth, io: Io::read }
}

/// The disk, and what is counted.
pub struct Setup<'a> {
    pub device: &'a str,
    pub elevator: &'a str,
    pub requests: Option<u32>,
    /// Weight and parent of each group.
    pub groups: &'a [(u64, u32)],
    /// From here on it is counted, and until then.
    pub window: (Time, Time),
}

/// The jobs on their disk.
pub struct Load {
    disk: Box<dyn Disk>,
    out: Out,
    now: Time,
    window: (Time, Time),
    jobs: Vec<Job>,
    /// By job: I/Os that it has to submit, and those that wait for a slot; while any does, it submits none.
    due: Vec<(u32, u32)>,
    /// By tag: its job.
    of: Vec<usize>,
    free: Vec<usize>,
    done: Vec<u64>,
    rng: Rng,
    /// Most requests that had a slot at once.
    most: u32,
}

impl Load {
    pub fn new(setup: &Setup, jobs: &[Job]) -> Load {
        let mut all = Groups::default();
        for (number, (weight, parent)) in setup.groups.iter().enumerate() {
            let io_weight = Some(*weight);
            all.add(Group { io_weight, ..Group::new(&format!("g{number}"), GroupId(*parent)) });
        }
        let device = goodness_device::by_name(setup.device, Seed(1)).unwrap();
        let options = QueueOptions { requests: setup.requests, ..QueueOptions::default() };
        let disk = by_name_around(setup.elevator, &options, device, |mut made| {
            made.elevator.share(&all);
            made
        });
        Load {
            disk: disk.unwrap(),
            out: Out::with_events(),
            now: Time::ZERO,
            window: setup.window,
            jobs: jobs.to_vec(),
            due: jobs.iter().map(|job| (job.depth, 0)).collect(),
            of: Vec::new(),
            free: Vec::new(),
            done: vec![0; jobs.len()],
            rng: Seed(3).rng(),
            most: 0,
        }
    }

    /// Each job submits what it has to, one I/O after the other, until one has to wait for a slot.
    fn submit(&mut self) {
        for job in 0..self.jobs.len() {
            while self.due[job].0 > 0 && self.due[job].1 == 0 {
                let tag = self.free.pop().unwrap_or(self.of.len());
                self.of.resize(self.of.len().max(tag + 1), 0);
                self.of[tag] = job;
                self.due[job].0 -= 1;
                let (sector, Job { group, io, .. }) = (self.rng.below(1 << 20) * 8, self.jobs[job]);
                let io = Io { group: GroupId(group), tag: tag as u64, ..io(Submitter(job as u32), sector, 8) };
                self.disk.submit(self.now, &[io], &mut self.out);
                self.heed();
            }
        }
        let without_slot: u32 = self.due.iter().map(|(_, waiting)| waiting).sum();
        self.most = self.most.max(self.disk.in_flight() + self.disk.waiting() - without_slot);
    }

    fn heed(&mut self) {
        let told: Vec<Outcome> = self.out.outcomes.drain(..).collect();
        for outcome in told {
            match outcome {
                Outcome::Waiting { tag } => self.due[self.of[tag as usize]].1 += 1,
                Outcome::Admitted { tag } => self.due[self.of[tag as usize]].1 -= 1,
                Outcome::Done { tag } => {
                    let job = self.of[tag as usize];
                    self.due[job].0 += 1;
                    self.done[job] += u64::from(self.now >= self.window.0);
                    self.free.push(tag as usize);
                }
            }
        }
        self.out.clear();
    }

    /// I/Os done by each job, and the most requests that had a slot.
    pub fn run(mut self) -> (Vec<u64>, u32) {
        self.submit();
        while self.now < self.window.1 {
            self.now = self.disk.next_event();
            assert!(self.now < Time::NEVER, "somebody waits, and nothing will wake it");
            self.disk.advance(self.now, &mut self.out);
            self.heed();
            self.submit();
        }
        (self.done, self.most)
    }

    /// I/Os of each group that has jobs, by the first job in it.
    pub fn by_group(self) -> Vec<f64> {
        let jobs = self.jobs.clone();
        let mut groups: Vec<(u32, f64)> = Vec::new();
        for (Job { group, .. }, done) in jobs.iter().zip(self.run().0) {
            match groups.iter_mut().find(|it| it.0 == *group) {
                Some(it) => it.1 += done as f64,
                None => groups.push((*group, done as f64)),
            }
        }
        groups.into_iter().map(|it| it.1).collect()
    }
}

/// True if the parts are to each other as `shares`, within a part of `slack` hundredths.
#[track_caller]
pub fn expect_shares(parts: &[f64], shares: &[f64], slack: f64) {
    let (all, whole) = (parts.iter().sum::<f64>(), shares.iter().sum::<f64>());
    for (part, share) in parts.iter().zip(shares) {
        let off = part / all / (share / whole) - 1.0;
        assert!(off.abs() <= slack / 100.0, "{parts:?} for {shares:?}");
    }
}
