//! Disks and the volumes on them.
//!
//! An I/O to a volume is split along the disks and is done when all parts are. Elevators belong to the disks; nothing
//! is sorted or merged above. A mirror reads from the disk whose last read ended where this one starts, else from the
//! least busy one if no disk seeks, else from the one with the nearest position (as md, without its exceptions). A
//! write to a RAID 5 waits for earlier writes to its row; its reads and writes are internal, so its submitter does not
//! sleep for them. A flush goes to every disk. A discard to a RAID 5 is not passed on (md's default) and completes at
//! once.

use crate::disk::{Disk, Out, Outcome};
use crate::jobs::{Desk, Job, Step};
use crate::volume::Volume;
use goodness_core::storage::{Layout, Piece, VolumeId, VolumeSpec};
use goodness_core::{DiskId, Io, Operation, Submitter, Time};
use goodness_referee::Refusal;
use std::collections::BTreeMap;

/// The disks and volumes of a machine: a state machine without a clock, used like a [`Disk`].
pub struct Storage {
    disks: Vec<Box<dyn Disk>>,
    pub(crate) volumes: Vec<Volume>,
    pub(crate) desk: Desk,
    /// Last job writing to each row, by volume and row. Never iterated.
    pub(crate) rows: BTreeMap<(u16, u64), u32>,
    /// Writes to rows that wait for others.
    pub(crate) rows_waiting: u32,
    /// Output of the disks before translation.
    said: Out,
}

impl Storage {
    /// These disks with these volumes.
    ///
    /// # Errors
    /// A sentence about a volume that cannot be.
    pub fn new(disks: Vec<Box<dyn Disk>>, volumes: &[VolumeSpec]) -> Result<Storage, String> {
        let capacities: Vec<u64> = disks.iter().map(|disk| disk.facts().sectors).collect();
        let volumes = volumes.iter().map(|spec| Volume::new(spec, &capacities)).collect::<Result<_, _>>()?;
        Ok(Storage {
            volumes,
            desk: Desk::new(disks.len()),
            rows: BTreeMap::new(),
            rows_waiting: 0,
            said: Out::default(),
            disks,
        })
    }

    /// One disk, all of it as volume 0.
    #[must_use]
    pub fn single(disk: Box<dyn Disk>) -> Storage {
        let whole = Piece { disk: DiskId(0), sector: 0, sectors: disk.facts().sectors };
        let spec = VolumeSpec { name: "disk".into(), layout: Layout::Linear, pieces: vec![whole] };
        Storage::new(vec![disk], &[spec]).expect("a whole disk is a volume")
    }

    /// The disks.
    #[must_use]
    pub fn disks(&self) -> &[Box<dyn Disk>] {
        &self.disks
    }

    /// First invalid answer of an elevator, which ends the run.
    #[must_use]
    pub fn refusal(&self) -> Option<&Refusal> {
        self.disks.iter().find_map(|disk| disk.refusal())
    }

    /// Number of volumes; they are numbered from 0.
    #[must_use]
    pub fn volumes(&self) -> usize {
        self.volumes.len()
    }

    /// Sectors of `volume`.
    #[must_use]
    pub fn sectors(&self, volume: VolumeId) -> u64 {
        self.volumes[usize::from(volume.0)].sectors
    }

    /// Requests in all devices.
    #[must_use]
    pub fn in_flight(&self) -> u32 {
        self.disks.iter().map(|disk| disk.in_flight()).sum()
    }

    /// I/Os waiting at all disks, plus row writes waiting for others.
    #[must_use]
    pub fn waiting(&self) -> u32 {
        self.disks.iter().map(|disk| disk.waiting()).sum::<u32>() + self.rows_waiting
    }

    /// [`Disk::submit`] for `volume`. The caller must keep within its capacity.
    pub fn submit(&mut self, now: Time, volume: VolumeId, ios: &[Io], out: &mut Out) {
        for io in ios {
            assert!(io.end() <= self.sectors(volume), "sector {} is beyond the end of volume {}", io.end(), volume.0);
            self.cut(volume, io, out);
        }
        self.send(now, out);
        self.translate(now, out);
    }

    /// [`Disk::unplug`] for the disks of `volume`.
    pub fn unplug(&mut self, now: Time, volume: VolumeId, out: &mut Out) {
        for place in 0..self.volumes[usize::from(volume.0)].pieces.len() {
            let disk = self.volumes[usize::from(volume.0)].pieces[place].disk;
            self.ask(disk.0, out, |disk, said| disk.unplug(now, said));
        }
        self.translate(now, out);
    }

    /// See [`Disk::next_event`].
    #[must_use]
    pub fn next_event(&self) -> Time {
        self.disks.iter().map(|disk| disk.next_event()).min().unwrap_or(Time::NEVER)
    }

    /// See [`Disk::advance`].
    pub fn advance(&mut self, now: Time, out: &mut Out) {
        for disk in 0..self.disks.len() {
            if self.disks[disk].next_event() <= now {
                self.ask(disk as u16, out, |disk, said| disk.advance(now, said));
            }
        }
        self.translate(now, out);
    }

    /// [`Disk::exit`] at every disk.
    pub fn exit(&mut self, now: Time, submitter: Submitter, out: &mut Out) {
        for disk in 0..self.disks.len() {
            self.ask(disk as u16, out, |disk, said| disk.exit(now, submitter, said));
        }
        self.translate(now, out);
    }

    /// Runs `verb` on a disk. Events and work go to `out` unchanged; outcomes are kept for translation.
    fn ask(&mut self, disk: u16, out: &mut Out, verb: impl FnOnce(&mut dyn Disk, &mut Out)) {
        let swap = |said: &mut Out, out: &mut Out| {
            std::mem::swap(&mut said.events, &mut out.events);
            std::mem::swap(&mut said.work, &mut out.work);
        };
        swap(&mut self.said, out);
        verb(&mut *self.disks[usize::from(disk)], &mut self.said);
        swap(&mut self.said, out);
    }

    /// Cuts `io` along the disks of `volume` into their batches.
    fn cut(&mut self, volume: VolumeId, io: &Io, out: &mut Out) {
        let job = self.desk.begin(io, None);
        let layout = self.volumes[usize::from(volume.0)].layout;
        match (layout, io.op) {
            (_, Operation::Flush) => self.flush_all(volume, job, io),
            (Layout::Mirrored, Operation::Read) => {
                let disk = self.best_mirror(volume, io.sector);
                self.on_mirror(volume, disk, job, io);
            }
            (Layout::Mirrored, _) => {
                for disk in 0..self.volumes[usize::from(volume.0)].pieces.len() {
                    self.on_mirror(volume, disk, job, io);
                }
            }
            (Layout::Parity { .. }, Operation::Write) => self.write_rows(volume, job, io),
            (Layout::Parity { .. }, Operation::Discard) => {
                self.desk.end(job);
                out.outcomes.push(Outcome::Done { tag: io.tag });
            }
            _ => {
                let volume = &self.volumes[usize::from(volume.0)];
                volume.parts(io.sector, io.sectors, |part| self.desk.add(volume, part, job, io));
            }
        }
    }

    /// A flush for each disk of `volume`, once.
    fn flush_all(&mut self, volume: VolumeId, job: u32, io: &Io) {
        let pieces = &self.volumes[usize::from(volume.0)].pieces;
        for disk in 0..self.disks.len() {
            if pieces.iter().any(|piece| usize::from(piece.disk.0) == disk) {
                self.desk.push(disk, *io, job);
            }
        }
    }

    fn on_mirror(&mut self, volume: VolumeId, place: usize, job: u32, io: &Io) {
        let mirrors = &self.volumes[usize::from(volume.0)];
        let sector = mirrors.pieces[place].sector + io.sector;
        self.desk.add(mirrors, (place, sector, io.sectors), job, io);
    }

    /// The mirror that reads from `sector`.
    fn best_mirror(&self, volume: VolumeId, sector: u64) -> usize {
        let pieces = &self.volumes[usize::from(volume.0)].pieces;
        let head = |piece: &Piece| self.desk.heads[usize::from(piece.disk.0)];
        if let Some(reads_on) = pieces.iter().position(|piece| head(piece) == piece.sector + sector) {
            return reads_on;
        }
        let disk = |piece: &Piece| &self.disks[usize::from(piece.disk.0)];
        let load = |piece: &Piece| {
            let about_to = self.desk.batches[usize::from(piece.disk.0)].len() as u64;
            u64::from(disk(piece).waiting()) + u64::from(disk(piece).in_flight()) + about_to
        };
        let seeks = pieces.iter().any(|piece| disk(piece).facts().rotational);
        let cost = |piece: &Piece| if seeks { head(piece).abs_diff(piece.sector + sector) } else { load(piece) };
        (0..pieces.len()).min_by_key(|place| cost(&pieces[*place])).expect("a mirror has disks")
    }

    /// Sends the collected batches to the disks.
    fn send(&mut self, now: Time, out: &mut Out) {
        for disk in 0..self.disks.len() {
            if self.desk.batches[disk].is_empty() {
                continue;
            }
            let mut batch = std::mem::take(&mut self.desk.batches[disk]);
            self.ask(disk as u16, out, |disk, said| disk.submit(now, &batch, said));
            batch.clear();
            self.desk.batches[disk] = batch;
        }
    }

    /// Translates the disks' outcomes into outcomes of the submitted I/Os, and submits the next steps.
    fn translate(&mut self, now: Time, out: &mut Out) {
        while !self.said.outcomes.is_empty() {
            let mut outcomes = std::mem::take(&mut self.said.outcomes);
            // Sleeps first: of a piece on several disks one may be admitted before another says that it waits.
            for outcome in &outcomes {
                if let Outcome::Waiting { tag } = outcome {
                    self.waits(*tag as usize, out);
                }
            }
            for outcome in outcomes.drain(..) {
                match outcome {
                    Outcome::Waiting { .. } => {}
                    Outcome::Admitted { tag } => self.admitted(tag as usize, out),
                    Outcome::Done { tag } => self.part_done(tag as u32, out),
                }
            }
            self.said.outcomes = outcomes;
            self.send(now, out);
        }
    }

    fn waits(&mut self, job: usize, out: &mut Out) {
        self.desk.jobs[job].unadmitted += 1;
        if self.desk.jobs[job].unadmitted == 1 && self.desk.jobs[job].row.is_none() {
            out.outcomes.push(Outcome::Waiting { tag: self.desk.jobs[job].io.tag });
        }
    }

    fn admitted(&mut self, job: usize, out: &mut Out) {
        self.desk.jobs[job].unadmitted -= 1;
        if self.desk.jobs[job].unadmitted == 0 && self.desk.jobs[job].row.is_none() {
            out.outcomes.push(Outcome::Admitted { tag: self.desk.jobs[job].io.tag });
        }
    }

    /// A part of `job` is done.
    fn part_done(&mut self, job: u32, out: &mut Out) {
        let about = &mut self.desk.jobs[job as usize];
        about.left -= 1;
        if about.left > 0 {
            return;
        }
        let Job { io, row, .. } = *about;
        let Some(row) = row else {
            self.desk.end(job);
            return out.outcomes.push(Outcome::Done { tag: io.tag });
        };
        if row.step == Step::Reading {
            return self.step_row(job, Step::Writing);
        }
        self.desk.end(job);
        self.start_next(row);
        self.part_done(row.of, out);
    }
}
